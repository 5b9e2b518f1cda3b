/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The only place that drops privileges, for node daemons and the controller's helper, which run
 * programs of users.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* With up to this number of groups, become_user() does not allocate. */
#define BECOME_GROUPS_FEW 256

/* Becomes the user permanently: sets groups, then group ids, then user ids, checks each call, and
 * reads the result back (getresuid, getresgid, getgroups, capget). A process without root
 * privileges can only become itself. On failure the caller must exit, because the process may be
 * in an inconsistent state. */
int become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count, struct err *err);

/* Drops the capabilities of root that a node daemon and its step daemons do not need (RELIABILITY
 * G15). Programs that the process starts as root, for example scripts of the site, regain all of
 * them. No effect unless the process is root. Returns 0 or -errno. */
int become_limited(struct err *err);
