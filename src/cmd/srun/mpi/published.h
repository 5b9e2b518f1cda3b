/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The name service of an MPI step and of the steps that its tasks have spawned: tasks publish names
 * with values, and other tasks look them up. A name belongs to the task that has published it; only
 * that task can unpublish it. Bounded. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/io.pb-c.h"

#define PUBLISHED_MAX 65536             /* names */
#define PUBLISHED_BYTES_MAX (64u << 20) /* of names and values */
#define PUBLISHED_WAITS_MAX 65536       /* maximum number of waiting lookups */

enum published_op { PUBLISHED_ADD = 1, PUBLISHED_REMOVE, PUBLISHED_FIND };

/* Sends a reply to a node; the reply's value is borrowed for the call. */
typedef void published_answer_fn(void *ctx, uint32_t node, const struct Pb__NameReply *reply);

struct published;
struct published *published_new(published_answer_fn *answer, void *ctx);
void published_free(struct published *p);

/* Each request gets one reply: at once, or for a waiting lookup when the name is published. */
void published_request(struct published *p, uint32_t node, const struct Pb__NameRequest *m);
