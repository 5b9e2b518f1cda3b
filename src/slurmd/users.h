/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who a uid is on this node: name, home, shell, supplementary groups. Asked on a worker, since a
 * directory service may be slow, and kept for USERS_TTL_MS.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "loop/loop.h"

#define USERS_TTL_MS 10000
#define USERS_GROUPS_MAX 65536

struct user {
    uid_t uid;
    gid_t gid;
    char *name, *home, *shell;
    gid_t *groups;
    size_t group_count;
};

struct user_cache;
struct user_cache *users_new(struct loop *l);
void users_free(struct user_cache *c);

/* Calls done once, at once or later, with the user (borrowed until it returns) or NULL and why. */
typedef void users_fn(void *ctx, uint64_t tag, const struct user *user, const struct err *err);
void users_ask(struct user_cache *c, uid_t uid, gid_t gid, users_fn *done, void *ctx, uint64_t tag);
