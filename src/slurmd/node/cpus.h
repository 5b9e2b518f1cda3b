/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel calls the CPUs that this node's configuration counts by sockets, cores and
 * threads: credentials number them so.
 */
#pragma once

#include "base/arena.h"
#include "conf/conf.h"
#include "proto/io.pb-c.h"
#include "slurmd/node/hw.h"

struct slurmd;

/* NULL, and why it cannot be told, when the machine has fewer than are configured. A CPU of the
 * configuration may be a core of the machine, or a socket, with all of its threads. Lives in the
 * arena. */
Pb__CpuMap *cpus_map(const struct hw *hw, const struct conf_node_row *row, struct arena *arena,
                     struct err *err);

/* What a shepherd is to know of them; logs once why they cannot be told. */
void cpus_fill(struct slurmd *d, Pb__StepdStart *m, struct arena *arena);
