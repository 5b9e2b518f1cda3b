/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Detects the hardware of this machine. Processors are detected with hwloc in a short-lived child
 * process, so that the daemon keeps neither the library nor its memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

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

int hw_detect(const char *tmp_fs, struct hw *hw, struct err *err);

/* Repeats the inexpensive part of the detection; true if something has changed and hw_detect() is
   due. */
bool hw_changed(const char *tmp_fs, const struct hw *hw);

/* "NodeName=HOST CPUs=.. ..." and "UpTime=D-HH:MM:SS", as printed by "slurmd -C". */
void hw_format(const struct hw *hw, const char *host, int64_t up_sec, struct str *out);

int64_t hw_up_sec(void);
void hw_load(uint64_t *free_mem_mib, uint32_t *cpu_load_centi);
