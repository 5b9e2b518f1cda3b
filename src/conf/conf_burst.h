/* SPDX-License-Identifier: GPL-3.0-or-later */
/* burst_buffer.conf, beside slurm.conf on the controllers' hosts: settings of BurstBufferType. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct conf;
struct str;

#define CONF_BURST_TEARDOWN_FAILURE 1u /* bits of Flags */
#define CONF_BURST_DISABLE_PERSISTENT 2u
#define CONF_BURST_ENABLE_PERSISTENT 4u
#define CONF_BURST_EMULATE_CRAY 8u
#define CONF_BURST_PRIVATE_DATA 16u

struct conf_burst {
#define BURST(key, member, type, def, min, max, effect, help) CONF_MEMBER_##type member;
#include "conf/conf_burst.def"
#undef BURST
    bool enabled;       /* BurstBufferType=burst_buffer/lua */
    unsigned flags;     /* CONF_BURST_* */
    const uid_t *users; /* of AllowUsers or DenyUsers */
    size_t n_users;
    const char *script; /* absolute path of burst_buffer.lua; set even without BurstBufferType */
};

/* Whether AllowUsers and DenyUsers permit this user to use burst buffers. */
bool conf_burst_may_use(const struct conf_burst *b, uid_t uid);
void conf_burst_format_flags(const struct conf_burst *b, struct str *out);
