/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that hold a secret, inside this room: opened once without following links, checked and read
 * through the same descriptor.
 */
#pragma once

#include "auth/auth.h"

/* At most max bytes; returns how many. Refuses what path_check_secret() refuses. */
int auth_secret_read(const char *path, uid_t owner, void *out, size_t max, struct err *err);

/* The same for a key of any bytes, from 32 to AUTH_KEY_MAX of them. The caller wipes 'secret', also
 * after a failure. -ERR_CONFIG: too few; -ERR_TOO_BIG: too many. */
int auth_secret_read_key(const char *path, uid_t owner, uint8_t secret[AUTH_KEY_MAX + 1],
                         struct err *err);

/* Makes the file, mode 0600, synced; -EEXIST when there is one. */
int auth_secret_create(const char *path, uid_t owner, gid_t group, const void *data, size_t len,
                       struct err *err);
