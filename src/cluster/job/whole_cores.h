/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole cores where CPUs are allocated individually (CR_CPU). A job that leaves threads of its
 * cores unused (--threads-per-core or --hint=nomultithread) gets all CPUs of these cores, so that
 * no other job gets the unused threads. With CR_Core every job has whole cores; jobs of a partition
 * with SelectTypeParameters=CR_Socket have whole sockets.
 */
#pragma once

#include <stdint.h>

#include "cluster/job/request.h"
#include "cluster/node/node.h"

/* Whether the job may be such a job on some nodes. */
static inline bool whole_cores_may_apply(const struct conf *conf, const struct request *r)
{
    return r->use_threads && !r->shared && conf->cr & CONF_CR_CPU;
}
/* Returns the number of units that such a job gets together: the CPUs of a core. 1: the job gets
 * single units, as does a job that shares its CPUs (OverSubscribe). */
uint32_t whole_cores_units(const struct request *r, uint32_t threads, uint32_t cpus_per_unit,
                           uint32_t units);
/* Returns the units of a socket for a job with whole sockets. 1: single units, also on nodes where
 * a socket has reserved cores, and with OverSubscribe. */
uint32_t whole_sockets_units(const struct request *r, uint32_t sockets, uint32_t units,
                             uint32_t spec_cpus);
/* Returns the number of units of the node that the job gets together, for either reason. */
uint32_t whole_units_on(const struct request *r, const struct node *n);
/* Returns how many of the job's 'cpus' CPUs on a node its tasks use. */
uint32_t whole_cores_usable_cpus(const struct request *r, const struct node *n, uint32_t cpus);
