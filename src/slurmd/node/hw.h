/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hardware of this machine. Processors are detected with hwloc in a short-lived child process,
 * so that the daemon keeps neither the library nor its memory. The CPUs that the node's
 * configuration counts by sockets, cores and threads, which credentials use, are mapped to the
 * kernel's CPU numbers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "proto/io.pb-c.h"

struct slurmd;

#define HW_CPUS_MAX 4096 /* CPUs whose position is recorded */

struct hw_cpu {
    uint16_t number, numa; /* the kernel's number, below HW_CPUS_MAX; the nearest NUMA node */
};

struct hw {
    uint32_t cpus, boards, sockets, cores, threads; /* cores per socket, threads per core */
    uint64_t real_memory_mib, tmp_disk_mib;
    /* Processors that the kernel counts; may be more than this process may use. */
    long online;
    uint32_t mapped;                /* number of entries in cpu: */
    struct hw_cpu cpu[HW_CPUS_MAX]; /* ordered by sockets, cores and threads */
};

/* 'parameters': SlurmdParameters, NULL: none. With numa_node_as_socket the parents of NUMA nodes,
   with l3cache_as_socket the level 3 caches count as sockets, if there are any. */
int hw_detect(const char *tmp_fs, const char *parameters, struct hw *hw, struct err *err);

/* Repeats the inexpensive part of the detection; true if something has changed and hw_detect() is
   due. */
bool hw_changed(const char *tmp_fs, const struct hw *hw);

/* "NodeName=HOST CPUs=.. ..." and "UpTime=D-HH:MM:SS", as printed by "slurmd -C". */
void hw_format(const struct hw *hw, const char *host, int64_t up_sec, struct str *out);

int64_t hw_up_sec(void);
void hw_load(uint64_t *free_mem_mib, uint32_t *cpu_load_centi);

/* Returns NULL and the reason if the machine has fewer CPUs than configured. A configured CPU may
 * be a core or a socket of the machine, with all of its threads. Allocated in the arena. */
Pb__CpuMap *hw_map_cpus(const struct hw *hw, const struct conf_node_row *row, struct arena *arena,
                        struct err *err);

/* Detects the hardware as SlurmdParameters, Parameters of the node and --parameters say. */
int hw_detect_node(struct slurmd *d, struct err *err);

/* Fills in the CPU map for a shepherd; logs once why there is none. */
void hw_fill_cpus(struct slurmd *d, Pb__StepdStart *m, struct arena *arena);
