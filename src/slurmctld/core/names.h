/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of users and groups, and who is in a group, remembered. The name service may be a network
 * away, or gone: a worker asks it, and whoever needs a name asks names_has_*() first and comes back
 * when there is news. What is older than GroupUpdateTime is looked up again when it is asked for,
 * and good until then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop.h"

#define NAMES_MAX_AGE_MS 600000 /* before names_set_max_age() is called */
#define NAMES_MAX 8192          /* entries of each sort; then all are forgotten */

struct names;

/* on_news: something that was not known is. Called on the loop; not after names_free(). */
struct names *names_new(struct loop *l, loop_fn *on_news, void *ctx);
void names_free(struct names *n);
void names_set_max_age(struct names *n, int64_t max_age_ms); /* 0: nothing is looked up again */
void names_forget(struct names *n);                          /* a new configuration: look again */

/* Whether it can be told at once; it is looked up otherwise. */
bool names_has_user(struct names *n, uint32_t uid);
bool names_has_group(struct names *n, uint32_t gid);
bool names_has_members(struct names *n, const char *group);
bool names_has_ids(struct names *n, const char *user);

/* Borrowed until the next call for another id of the same sort; NULL: unknown. These, and the next,
 * look up here and now what names_has_*() has not been asked for: the caller waits. */
const char *names_user(struct names *n, uint32_t uid);
const char *names_group(struct names *n, uint32_t gid);
/* False: no user has that name; the ids are untouched then. */
bool names_ids(struct names *n, const char *user, uint32_t *uid, uint32_t *gid);

/* Whether the name service has the user in the group: by the account's primary group or by the
 * group's list. A process's gid never counts. An unknown group has no members. */
bool names_in_group(struct names *n, uint32_t uid, const char *group);
