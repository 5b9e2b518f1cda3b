/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of burst_buffer.conf. Private to src/conf. */
#pragma once

#include "conf/conf_beside.h"

enum conf_burst_key {
    CONF_BURST_MARK,
#define BURST(key, member, type, def, min, max, effect, help) CONF_BURST_KEY_##member,
#include "conf/conf_burst.def"
#undef BURST
    CONF_BURST_KEYS
};
extern const struct conf_key conf_burst_keys[CONF_BURST_KEYS]; /* the first key marks the row */

/* Prefix of lines for the controller only, which are not in the hash that nodes compare. */
#define CONF_BURST_PREFIX "BurstBufferConf=1 "
int conf_burst_build(struct conf_loader *l, struct err *err); /* sets conf->burst */
