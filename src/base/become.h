/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Giving up rights, in the one place that does it: node daemons and the controller's helper run
 * programs of users.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define BECOME_GROUPS_FEW 256 /* up to so many, becoming a user allocates nothing */

/* Becomes the user for good: groups, then group ids, then user ids, each call checked, and the
 * result read back (getresuid, getresgid, getgroups, capget). A process without root's rights can
 * only become itself. On failure the caller must end: nothing may run in a half-way state. */
int become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count, struct err *err);

/* Gives up the capabilities of root that a node daemon and its step daemons do not need themselves
 * (RELIABILITY G15). Programs that the process starts as root, scripts of the site among them, have
 * all of them again. Does nothing where the process is not root. 0, or -errno. */
int become_limited(struct err *err);
