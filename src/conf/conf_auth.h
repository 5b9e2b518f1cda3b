/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Additional authentication methods: AuthAltTypes and AuthAltParameters. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conf_auth_alt {
    bool jwt, disable_token_creation;
    int64_t max_token_lifespan_sec; /* 0: unlimited */
    const char *jwt_key_path;
    const char *user_claim; /* NULL: "sun" or "username" */
};
