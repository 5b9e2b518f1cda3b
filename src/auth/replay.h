/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of accepted tokens, inside this room. */
#pragma once

#include "auth/auth.h"

/* 0: first seen, and remembered now. -ERR_REPLAY: seen, or too old to know. -ERR_BUSY: full of live
 * ones. */
int auth_replay_add(struct auth_replay *r, const uint8_t nonce[AUTH_NONCE_SIZE],
                    int64_t minted_at_ms, int64_t ttl_ms, int64_t now_ms, struct err *err);
