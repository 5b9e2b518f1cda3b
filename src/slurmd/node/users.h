/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Looks up the user of a uid on this node: name, home, shell, supplementary groups. A child
 * process, this program with USERS_OPTION, asks the directory service, which may be slow and needs
 * libraries that the daemon does not load. The answer is cached for USERS_TTL_MS.
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

/* Calls done once, at once or later, with the user (borrowed until done returns), or with NULL and
   the reason. */
typedef void users_fn(void *ctx, uint64_t tag, const struct user *user, const struct err *err);
void users_ask(struct user_cache *c, uid_t uid, gid_t gid, users_fn *done, void *ctx, uint64_t tag);

/* Main function of the child process: prints the answer and returns the exit status. who:
   "UID:GID". */
int users_look_up(const char *who);

/* Parses such an answer; 'u' has the uid. The caller owns the strings and groups in 'u'. */
int users_parse(const char *text, size_t len, struct user *u, struct err *err);
