/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cache of user names, group names and group members. The name service may be slow or
 * unavailable, so a worker thread queries it: callers first ask names_has_*(), and try again after
 * on_news(). Entries older than GroupUpdateTime are looked up again when they are needed, and stay
 * valid until then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop.h"

#define NAMES_MAX_AGE_MS 600000 /* until names_set_max_age() is called */
#define NAMES_MAX 8192          /* entries of each kind; when full, the whole cache is cleared */

struct names;

/* on_news is called on the loop when a lookup has finished; not after names_free(). */
struct names *names_new(struct loop *l, loop_fn *on_news, void *ctx);
void names_free(struct names *n);
void names_set_max_age(struct names *n, int64_t max_age_ms); /* 0: entries never expire */
/* For a new configuration: looks everything up again. */
void names_forget(struct names *n);

/* Whether the answer is in the cache; otherwise starts the lookup. */
bool names_has_user(struct names *n, uint32_t uid);
bool names_has_group(struct names *n, uint32_t gid);
bool names_has_members(struct names *n, const char *group);
bool names_has_ids(struct names *n, const char *user);

/* The result is valid until the next call for another id of the same kind; NULL: unknown. This
 * function and the next ones block for a lookup if names_has_*() was not used before. */
const char *names_user(struct names *n, uint32_t uid);
const char *names_group(struct names *n, uint32_t gid);
/* Returns false if there is no such user; the ids are unchanged then. */
bool names_ids(struct names *n, const char *user, uint32_t *uid, uint32_t *gid);

/* Whether the name service lists the user in the group, by the account's primary group or by the
 * group's member list. The gid of a process never counts. An unknown group has no members. */
bool names_in_group(struct names *n, uint32_t uid, const char *group);
