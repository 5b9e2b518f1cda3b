/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets the frequencies of this machine's CPUs: the kernel's files ROOT/cpuN/cpufreq/, and a note
 * of their content before steps changed them (docs/adr/0031-the-previous-frequency-is-on-disk.md).
 *
 * If steps share CPUs, the step that began last decides; when it ends, the remaining steps get
 * their requests, and after the last one the original state is restored. If the kernel joins CPUs
 * in one policy, a setting applies to all of them: such CPUs are treated as one, named by the
 * first of them.
 *
 * The note is SPOOL/cpufreq, valid for this boot of the machine; it is written before the kernel's
 * files. A lock file beside it serialises calls of different processes; waiting for the lock is
 * limited to a second. Nothing here logs. May be called from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/err.h"
#include "conf/conf_freq.h"

#define CPUFREQ_ROOT "/sys/devices/system/cpu"
#define CPUFREQ_NOTE "cpufreq" /* in the spool directory; missing: nothing is changed */

struct cpufreq_place {
    const char *root;  /* absolute; symbolic links are followed, because the kernel uses some */
    const char *spool; /* a directory that only root can write to */
};

struct cpufreq_step {
    uint32_t job_id, restarts, step_id;
};

/* Whether the frequency of this CPU can be set at all. */
bool cpufreq_has(const char *root, uint32_t cpu);

/* Sets the CPUs, given by the kernel's numbers, as requested until cpufreq_end(). A failure names
 * the first CPU that could not be set; others may have been set, so cpufreq_end() must be called
 * in any case. -ENOENT: none of them can be set at all, and cpufreq_end() is not needed. */
int cpufreq_begin(const struct cpufreq_place *place, const struct cpufreq_step *who,
                  const struct bitset *cpus, const struct conf_freq *want, struct err *err);

/* Resets the CPUs that cpufreq_begin() set for the step. Returns 0 also if it set none. */
int cpufreq_end(const struct cpufreq_place *place, const struct cpufreq_step *who, struct err *err);

/* Calls cpufreq_end() for the steps that are no longer alive. */
typedef bool cpufreq_lives_fn(void *ctx, const struct cpufreq_step *who);
int cpufreq_sweep(const struct cpufreq_place *place, cpufreq_lives_fn *lives, void *ctx,
                  struct err *err);
