/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Determines the CPUs that each task of a step is bound to on this node, for task/affinity and
 * --cpu-bind. Pure. CPUs are numbered as in the node's configuration and translated to the
 * kernel's numbers at the end.
 */
#pragma once

#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "cluster/resource/dist.h"
#include "proto/io.pb-c.h"
#include "proto/step.pb-c.h"

#define BIND_KERNEL_MAX 8192 /* limit of the kernel's numbers of CPUs and NUMA nodes */

struct bind_want {
    const Pb__CpuMap *map;
    ProtobufCBinaryData cpus; /* the CPUs to distribute, as in StepNode.cpu_set */
    /* Further CPUs of the same cores and sockets that may be used; empty: none. */
    ProtobufCBinaryData around;
    const Pb__Bind *cpu_bind;       /* NULL: not specified */
    enum dist_order sockets, cores; /* order of distribution to tasks */
    uint32_t tasks, cpus_per_task;
};

struct bind_set { /* one set per task, in order, by the kernel's numbers */
    bool bound;   /* otherwise the tasks are unbound */
    struct bitset **cpus;
    uint32_t tasks;
    char *complaint; /* the part of the request that is impossible; NULL: none */
};

/* Returns -ERR_* with a message for the user if a list is invalid. */
int bind_find(const struct bind_want *want, struct bind_set *out, struct err *err);
void bind_set_done(struct bind_set *set);

/* Formats a set as "0x3f". */
void bind_format(const struct bitset *cpus, struct str *out);
/* Parses the same format, with or without 0x, into a set that is large enough; -ERR_* if it is
   invalid. */
int bind_parse(const char *text, struct bitset *out, struct err *err);
