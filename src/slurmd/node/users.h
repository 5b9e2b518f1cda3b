/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who a uid is on this node: name, home, shell, supplementary groups. A process of its own, this
 * program with USERS_OPTION, asks the directory service, which may be slow, and whose libraries the
 * daemon need not carry; the answer is kept for USERS_TTL_MS.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "loop/loop.h"

#define USERS_TTL_MS 10000
#define USERS_LIMIT_SEC 60
#define USERS_GROUPS_MAX 65536
#define USERS_OPTION "look-up-user" /* =UID:GID */

struct user {
    uid_t uid;
    gid_t gid;
    char *name, *home, *shell;
    gid_t *groups;
    size_t group_count;
};

struct user_cache;
struct user_cache *users_new(struct loop *l, const char *program);
void users_free(struct user_cache *c);

/* Calls done once, at once or later, with the user (borrowed until it returns) or NULL and why. */
typedef void users_fn(void *ctx, uint64_t tag, const struct user *user, const struct err *err);
void users_ask(struct user_cache *c, uid_t uid, gid_t gid, users_fn *done, void *ctx, uint64_t tag);

/* The process of its own: prints the answer; returns its exit status. who: "UID:GID". */
int users_look_up(const char *who);

/* Takes such an answer apart; 'u' holds the uid. Its texts and groups are the caller's then. */
int users_parse(const char *text, size_t len, struct user *u, struct err *err);
