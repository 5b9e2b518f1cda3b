/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPUs dealt to tasks: each gets as many as it needs, of cores of its own while there are enough,
 * of one socket where that goes; then all there is of the core, socket or NUMA node that it
 * touches.
 */
#pragma once

#include "slurmstepd/bind.h"

struct deal {
    const Pb__CpuMap *map;
    const struct bitset *mine; /* not empty */
    Pb__BindKind kind;         /* AUTO, THREADS, CORES, SOCKETS, LDOMS */
    enum bind_order sockets;
    uint32_t tasks, cpus_per_task;
};

void bind_deal_find(const struct deal *d, struct bitset **of_task);
