/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/whole_cores.h"

uint32_t whole_cores_units(const struct request *r, uint32_t threads, uint32_t cpus_per_unit,
                           uint32_t units)
{
    bool leaves_some = r->use_threads && r->use_threads < threads && !r->shared;
    return leaves_some && cpus_per_unit == 1 && units % threads == 0 ? threads : 1;
}

uint32_t whole_sockets_units(const struct request *r, uint32_t sockets, uint32_t units,
                             uint32_t spec_cpus)
{
    bool whole = r->whole_sockets && !r->shared && spec_cpus == 0;
    return whole && sockets && units % sockets == 0 ? units / sockets : 1;
}

uint32_t whole_units_on(const struct request *r, const struct node *n)
{
    uint32_t cpus = whole_cores_units(r, n->threads, n->cpus_per_unit, n->units);
    return cpus > 1 ? cpus : whole_sockets_units(r, n->sockets, n->units, n->spec_cpus);
}

uint32_t whole_cores_usable_cpus(const struct request *r, const struct node *n, uint32_t cpus)
{
    uint32_t together = whole_cores_units(r, n->threads, n->cpus_per_unit, n->units);
    return together > 1 ? cpus / together * r->use_threads
                        : node_usable_cpus(n, cpus, r->use_threads);
}
