/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The name service of an MPI step, and of those that its tasks have spawned: names that tasks
 * publish, each with a value, for the others to look up. A name belongs to the task that has
 * published it, and nobody else takes it back. All of it is bounded. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/io.pb-c.h"

#define PUBLISHED_MAX 65536             /* names */
#define PUBLISHED_BYTES_MAX (64u << 20) /* of names and values */
#define PUBLISHED_WAITS_MAX 65536       /* lookups that wait */

enum published_op { PUBLISHED_ADD = 1, PUBLISHED_REMOVE, PUBLISHED_FIND };

/* An answer to a node; the reply's value is borrowed for the call. */
typedef void published_answer_fn(void *ctx, uint32_t node, const struct Pb__NameReply *reply);

struct published;
struct published *published_new(published_answer_fn *answer, void *ctx);
void published_free(struct published *p);

/* Each request has one answer, at once or, of a lookup that waits, when the name is published. */
void published_request(struct published *p, uint32_t node, const struct Pb__NameRequest *m);
