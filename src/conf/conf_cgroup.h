/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cgroup.conf, and the keys of slurm.conf about cgroups. Percentages are in hundredths of a
 * percent (10000: all). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CONF_MEMBER_CONF_T_PERCENT uint32_t

struct conf_cgroup {
#define CGROUP(key, member, type, def, min, max, effect, help) CONF_MEMBER_##type member;
#include "conf/conf_cgroup.def"
#undef CGROUP
    bool given;                /* the file exists */
    bool disabled;             /* CgroupPlugin */
    unsigned version;          /* 1 or 2; 0: as mounted */
    bool track, limit, gather; /* proctrack/cgroup, task/cgroup, jobacct_gather/cgroup */
};
