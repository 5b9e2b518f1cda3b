/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of accepted tokens, inside this room. */
#pragma once

#include <stdbool.h>

#include "auth/auth.h"

bool auth_replay_has(const struct auth_replay *r, const uint8_t nonce[AUTH_NONCE_SIZE]);

/* 0: first seen, and remembered now. -ERR_REPLAY: seen, or too old to know. -ERR_BUSY: the table,
 * or the share of this user, is full of live entries. */
int auth_replay_add(struct auth_replay *r, const uint8_t nonce[AUTH_NONCE_SIZE], uid_t uid,
                    int64_t minted_at_ms, int64_t ttl_ms, int64_t now_ms, struct err *err);
