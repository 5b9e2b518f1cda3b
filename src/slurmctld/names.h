/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of users and groups, and who is in a group, remembered so that the loop does not ask the
 * name service again and again (it may be a network away). An entry is looked up when first asked
 * for and again when it is older than NAMES_MAX_AGE_MS.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NAMES_MAX_AGE_MS 600000
#define NAMES_MAX 8192 /* entries of each sort; then all are forgotten */

struct names;

struct names *names_new(void);
void names_free(struct names *n);
void names_forget(struct names *n); /* a new configuration: look again */

/* Borrowed until the next call for another id of the same sort; NULL: unknown. */
const char *names_user(struct names *n, uint32_t uid);
const char *names_group(struct names *n, uint32_t gid);

/* By primary group (the caller's, or that of the user's account) or by the group's list. An unknown
 * group has nobody. */
bool names_in_group(struct names *n, uint32_t uid, uint32_t gid, const char *group);
