/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPUs dealt to tasks: each gets as many as it needs, as the orders over sockets and cores have it;
 * then all there is of the core, socket or NUMA node that it touches. While there are enough, those
 * that are bound to no less than cores have cores of their own, unless cores are to be used up.
 */
#pragma once

#include "slurmstepd/env/bind.h"

struct deal {
    const Pb__CpuMap *map;
    const struct bitset *mine;      /* not empty */
    const struct bitset *around;    /* all that a core, socket or NUMA node may have */
    Pb__BindKind kind;              /* AUTO, THREADS, CORES, SOCKETS, LDOMS */
    enum dist_order sockets, cores; /* ANY: cyclic; as that of sockets */
    Pb__BindKind otherwise;         /* of AUTO where nothing matches; AUTO: all */
    uint32_t tasks, cpus_per_task;
};

void bind_deal_find(const struct deal *d, struct bitset **of_task);
