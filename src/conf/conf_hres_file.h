/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of resources.yaml. Private to src/conf. */
#pragma once

#include "conf/conf_internal.h"

enum conf_hres_key {
    CONF_HRES_NAME,
    CONF_HRES_MODE,
    CONF_HRES_TOPOLOGY,
    CONF_HRES_VARIABLES,
    CONF_HRES_NODES,
    CONF_HRES_COUNT,
    CONF_HRES_BASE,
    CONF_HRES_KEYS
};

/* Parses an integer from 0 to CONF_HRES_COUNT_MAX; with may_be_unlimited also "-1" and
   "INFINITE". */
int conf_hres_parse_count(const char *text, bool may_be_unlimited, uint64_t *out);
