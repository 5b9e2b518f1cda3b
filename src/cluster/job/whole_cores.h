/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole cores where CPUs are handed out (CR_CPU). A job that leaves threads of its cores unused, by
 * --threads-per-core or --hint=nomultithread, has all CPUs of these cores: no other job gets the
 * threads that it leaves. With CR_Core every job has whole cores, and jobs of a partition with
 * SelectTypeParameters=CR_Socket whole sockets.
 */
#pragma once

#include <stdint.h>

#include "cluster/job/request.h"
#include "cluster/node/node.h"

/* Units of a node that such a job gets together: the CPUs of a core. 1: it gets single units. A job
 * that shares its CPUs with others (OverSubscribe) gets single ones. */
uint32_t whole_cores_units(const struct request *r, uint32_t threads, uint32_t cpus_per_unit,
                           uint32_t units);
/* Units of a socket, for a job that has whole sockets; 1: it gets single units. So it is on nodes
 * where a socket has cores that are kept for the system, and with OverSubscribe. */
uint32_t whole_sockets_units(const struct request *r, uint32_t sockets, uint32_t units,
                             uint32_t spec_cpus);
/* Units of the node that the job gets together, for either reason. */
uint32_t whole_units_on(const struct request *r, const struct node *n);
/* Of 'cpus' CPUs of a node that the job has, those that its tasks use. */
uint32_t whole_cores_usable_cpus(const struct request *r, const struct node *n, uint32_t cpus);
