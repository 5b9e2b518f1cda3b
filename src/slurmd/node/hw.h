/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What this machine has. Processors come from hwloc, asked by a short-lived child, so that neither
 * the library nor its memory stays with the daemon.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define HW_CPUS_MAX 4096 /* of which we know where they are */

struct hw_cpu {
    uint16_t number, numa; /* the kernel's, below HW_CPUS_MAX; of the memory that is near */
};

struct hw {
    uint32_t cpus, boards, sockets, cores, threads; /* cores per socket, threads per core */
    uint64_t real_memory_mib, tmp_disk_mib;
    long online;                    /* processors the kernel counts; may be more than are ours */
    uint32_t mapped;                /* of cpus: */
    struct hw_cpu cpu[HW_CPUS_MAX]; /* by sockets, cores and threads */
};

int hw_detect(const char *tmp_fs, struct hw *hw, struct err *err);

/* The cheap part again; true when something has changed, and hw_detect() is due. */
bool hw_changed(const char *tmp_fs, const struct hw *hw);

/* "NodeName=HOST CPUs=.. ..." and "UpTime=D-HH:MM:SS", as "slurmd -C" prints them. */
void hw_format(const struct hw *hw, const char *host, int64_t up_sec, struct str *out);

int64_t hw_up_sec(void);
void hw_load(uint64_t *free_mem_mib, uint32_t *cpu_load_centi);
