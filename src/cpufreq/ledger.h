/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The note of cpufreq.h in memory and as text, of one boot of the machine:
 *
 *   sluice-cpufreq 1 BOOT
 *   cpu N MIN MAX SPEED GOVERNOR          as it was before any step
 *   step JOB RESTARTS STEP REQUEST N,M-L  in the order of their beginnings
 *
 * Between the files of this room.
 */
#pragma once

#include "base/idset.h"
#include "base/vec.h"
#include "cpufreq/cpufreq.h"
#include "cpufreq/kernel.h"

#define LEDGER_CPUS 65536 /* numbers of CPUs are below */

struct ledger_cpu {
    uint32_t cpu;
    struct kernel_setting was;
};

struct ledger_step {
    struct cpufreq_step who;
    struct conf_freq want;
    struct idset cpus;
};

struct ledger {
    VEC(struct ledger_cpu) cpus;
    VEC(struct ledger_step) steps;
};

void ledger_done(struct ledger *n);
/* Of another boot: empty. -ERR_PARSE: damaged, with its line; what is before that is there. */
int ledger_parse(const char *text, const char *boot, struct ledger *out, struct err *err);
void ledger_format(const struct ledger *n, const char *boot, struct str *out);

struct ledger_cpu *ledger_find_cpu(const struct ledger *n, uint32_t cpu);
long ledger_find_step(const struct ledger *n, const struct cpufreq_step *who); /* -1: none */
long ledger_last_on(const struct ledger *n, uint32_t cpu);                     /* the same */
void ledger_remove_step(struct ledger *n, size_t at);
void ledger_drop_unused(struct ledger *n); /* CPUs of no step */
