/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/cpus.h"

#include <string.h>

#define LOG_ROOM "slurmd"
#include "base/log.h"
#include "base/pb.h"
#include "slurmd/node/slurmd.h"

/* Returns how many CPUs of the machine form one configured CPU. */
static uint32_t in_one(const struct conf_node_row *row)
{
    uint32_t cores = row->sockets * row->cores;

    if (row->cpus == cores * row->threads)
        return 1;
    if (row->cpus == cores)
        return row->threads;
    return row->cpus == row->sockets ? row->cores * row->threads : 1;
}

Pb__CpuMap *cpus_map(const struct hw *hw, const struct conf_node_row *row, struct arena *arena,
                     struct err *err)
{
    uint32_t each = in_one(row);
    uint64_t count = (uint64_t)row->cpus * each;
    uint32_t whole = row->sockets * row->cores * row->threads;

    if (count == 0 || count > hw->mapped) {
        err_set(err, -ERR_NODE_CONFIG,
                "this machine has %u CPUs, and %llu are configured: no task is bound to any",
                hw->mapped, (unsigned long long)count);
        return NULL;
    }
    Pb__CpuMap *m = arena_alloc(arena, sizeof(*m));
    pb__cpu_map__init(m);
    m->number = arena_alloc(arena, count * sizeof(*m->number));
    m->numa = arena_alloc(arena, count * sizeof(*m->numa));
    m->n_number = m->n_numa = count;
    for (size_t i = 0; i < count; i++) {
        m->number[i] = hw->cpu[i].number;
        m->numa[i] = hw->cpu[i].numa;
    }
    SET(m, each, each);
    SET(m, threads, each == 1 && row->cpus == whole ? row->threads : 1);
    SET(m, per_socket, row->cpus / row->sockets);
    return m;
}

void cpus_fill(struct slurmd *d, Pb__StepdStart *m, struct arena *arena)
{
    bool affinity = strstr(d->conf->task_plugin, "affinity") != NULL;
    struct err err = {0};

    SET(m, affinity, affinity);
    m->cpus = cpus_map(&d->hw, &d->conf->node_rows.data[d->node->row], arena, &err);
    if (!m->cpus && affinity && !d->cpus_told)
        log_error("TaskPlugin: %s", err.text);
    d->cpus_told = d->cpus_told || (!m->cpus && affinity);
}
