/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much of its queues a pass has looked at behind jobs that wait; plan/depth.h counts. */
#pragma once

#include "cluster/index/idmap.h"

struct plan_part_depth { /* what was looked at in a partition behind jobs that wait, see depth.c */
    uint64_t looks;
    size_t places[2];   /* on the timeline, of the partition's jobs; [1]: that need licences */
    struct idmap users; /* uids to how many of theirs */
};

struct plan_depth {
    struct plan_part_depth in_part; /* the present one */
    uint64_t all;                   /* looks in all partitions */
    size_t licensed;                /* places of jobs that need licences, in all partitions */
    size_t components;              /* in two modes: places of components of job sets */
    size_t promised; /* how many of these there may be: of all components of some sets */
    struct idmap users;
};
