/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts of tied pools that were changed live (scontrol update license): stored, and in force until
 * the configuration has another count than when they were set, or the pool is no more.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct cluster;
struct control;

int license_update_restore(struct control *c, const void *data, size_t len, struct err *err);
/* To the cluster that a new configuration has made; 'report' gets what is no longer valid. */
void license_update_carry(struct control *c, const struct cluster *from, struct str *report);
