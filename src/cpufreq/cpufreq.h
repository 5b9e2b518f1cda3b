/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast CPUs of this machine run: the kernel's files ROOT/cpuN/cpufreq/, and a note of what was
 * in them before steps changed them (docs/adr/0031-what-a-frequency-was-is-on-disk.md).
 *
 * Steps that share CPUs: the one that has begun last decides; when it ends, those that are left get
 * what they asked for, and after the last one it is as it was. Kernels that join CPUs in one policy
 * set all of it at once: such CPUs are one here, called by the first of them.
 *
 * The note is SPOOL/cpufreq, of this boot of the machine; it is written before the kernel's files
 * are. A lock beside it makes calls of different processes follow one another; waiting for it takes
 * a second at most. Nothing here logs. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/err.h"
#include "conf/conf_freq.h"

#define CPUFREQ_ROOT "/sys/devices/system/cpu"
#define CPUFREQ_NOTE "cpufreq" /* in the spool directory; not there: nothing is changed */

struct cpufreq_place {
    const char *root;  /* absolute; links in it are followed, as the kernel has some */
    const char *spool; /* a directory that only root writes to */
};

struct cpufreq_step {
    uint32_t job_id, restarts, step_id;
};

/* Whether the frequency of this CPU can be set at all. */
bool cpufreq_has(const char *root, uint32_t cpu);

/* The CPUs, by the kernel's numbers, run as wanted until cpufreq_end(). A failure names the first
 * CPU where it could not be done; others may have been set, so that cpufreq_end() is due all the
 * same. -ENOENT: none of them can be set at all, and nothing is due. */
int cpufreq_begin(const struct cpufreq_place *place, const struct cpufreq_step *who,
                  const struct bitset *cpus, const struct conf_freq *want, struct err *err);

/* 0 when there is nothing of that step. */
int cpufreq_end(const struct cpufreq_place *place, const struct cpufreq_step *who, struct err *err);

/* Ends those that do not live any more. */
typedef bool cpufreq_lives_fn(void *ctx, const struct cpufreq_step *who);
int cpufreq_sweep(const struct cpufreq_place *place, cpufreq_lives_fn *lives, void *ctx,
                  struct err *err);
