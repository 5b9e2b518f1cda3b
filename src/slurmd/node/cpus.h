/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps the CPUs that the node's configuration counts by sockets, cores and threads, which
 * credentials use, to the kernel's CPU numbers.
 */
#pragma once

#include "base/arena.h"
#include "conf/conf.h"
#include "proto/io.pb-c.h"
#include "slurmd/node/hw.h"

struct slurmd;

/* Returns NULL and the reason if the machine has fewer CPUs than configured. A configured CPU may
 * be a core or a socket of the machine, with all of its threads. Allocated in the arena. */
Pb__CpuMap *cpus_map(const struct hw *hw, const struct conf_node_row *row, struct arena *arena,
                     struct err *err);

/* Fills in the CPU map for a shepherd; logs once why there is none. */
void cpus_fill(struct slurmd *d, Pb__StepdStart *m, struct arena *arena);
