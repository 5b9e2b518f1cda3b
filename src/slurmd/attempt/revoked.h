/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that are over on this node: their credentials, though not yet expired, start nothing any
 * more, and a late order to end them runs no second epilog. The latest REVOKED_MAX are remembered,
 * in memory and in a file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define REVOKED_MAX 65536

struct revoked;

int revoked_open(const char *path, struct revoked **out, struct err *err);
void revoked_close(struct revoked *r);
void revoked_clear(struct revoked *r); /* the ids are those of another life of the cluster */
void revoked_add(struct revoked *r, uint32_t job_id, uint32_t restarts);
bool revoked_has(const struct revoked *r, uint32_t job_id, uint32_t restarts);
