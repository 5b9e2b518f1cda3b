/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which CPUs each task of a step is bound to on this node, as task/affinity and --cpu-bind have it.
 * Pure. CPUs are counted as in the node's configuration until the last moment; then the map says
 * what the kernel calls them.
 */
#pragma once

#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "cluster/resource/dist.h"
#include "proto/io.pb-c.h"
#include "proto/step.pb-c.h"

#define BIND_KERNEL_MAX 8192 /* the kernel's numbers of CPUs and NUMA nodes are below */

struct bind_want {
    const Pb__CpuMap *map;
    ProtobufCBinaryData cpus;       /* that are dealt, as in StepNode.cpu_set */
    ProtobufCBinaryData around;     /* that cores and sockets may have besides; none: no others */
    const Pb__Bind *cpu_bind;       /* NULL: as nobody said */
    enum dist_order sockets, cores; /* how they are dealt to tasks */
    uint32_t tasks, cpus_per_task;
};

struct bind_set { /* of the tasks, in order; the kernel's numbers */
    bool bound;   /* else they run where they like */
    struct bitset **cpus;
    uint32_t tasks;
    char *complaint; /* what could not be as it was asked for; NULL */
};

/* -ERR_*: a list that makes no sense, in words for the user. */
int bind_find(const struct bind_want *want, struct bind_set *out, struct err *err);
void bind_set_done(struct bind_set *set);

/* "0x3f": of a set. */
void bind_format(const struct bitset *cpus, struct str *out);
/* The same back, with or without 0x, into a set large enough; -ERR_* for what is none. */
int bind_parse(const char *text, struct bitset *out, struct err *err);
