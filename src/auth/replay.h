/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of accepted tokens. Private to src/auth. */
#pragma once

#include <stdbool.h>

#include "auth/auth.h"

bool auth_replay_has(const struct auth_replay *r, const uint8_t nonce[AUTH_NONCE_SIZE]);

/* Returns 0: the nonce is new and is now remembered. -ERR_REPLAY: known, or too old to tell.
 * -ERR_BUSY: the table, or this user's share, is full of unexpired entries. */
int auth_replay_add(struct auth_replay *r, const uint8_t nonce[AUTH_NONCE_SIZE], uid_t uid,
                    int64_t minted_at_ms, int64_t ttl_ms, int64_t now_ms, struct err *err);
