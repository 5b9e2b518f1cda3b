/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files with a secret: opened once without following symbolic links, checked and read through the
 * same descriptor. Private to src/auth.
 */
#pragma once

#include "auth/auth.h"

/* Reads at most max bytes; returns their number. Refuses the same files as path_check_secret(). */
int auth_secret_read(const char *path, uid_t owner, void *out, size_t max, struct err *err);

/* The same for a key of arbitrary bytes, from 32 to AUTH_KEY_MAX of them. The caller wipes
 * 'secret', also after a failure. -ERR_CONFIG: too short; -ERR_TOO_BIG: too long. */
int auth_secret_read_key(const char *path, uid_t owner, uint8_t secret[AUTH_KEY_MAX + 1],
                         struct err *err);

/* Creates the file, mode 0600, synced; -EEXIST if it exists. */
int auth_secret_create(const char *path, uid_t owner, gid_t group, const void *data, size_t len,
                       struct err *err);
