/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The note of cpufreq.h in memory and as text, for one boot of the machine:
 *
 *   sluice-cpufreq 1 BOOT
 *   cpu N MIN MAX SPEED GOVERNOR          the state before any step
 *   step JOB RESTARTS STEP REQUEST N,M-L  in order of their start
 *
 * Private to src/cpufreq.
 */
#pragma once

#include "base/idset.h"
#include "base/vec.h"
#include "cpufreq/cpufreq.h"
#include "cpufreq/kernel.h"

#define LEDGER_CPUS 65536 /* CPU numbers are smaller */

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
/* Parses a note; the note of another boot becomes empty. -ERR_PARSE: damaged, with the line
   number; the lines before it are returned. */
int ledger_parse(const char *text, const char *boot, struct ledger *out, struct err *err);
void ledger_format(const struct ledger *n, const char *boot, struct str *out);

struct ledger_cpu *ledger_find_cpu(const struct ledger *n, uint32_t cpu);
long ledger_find_step(const struct ledger *n, const struct cpufreq_step *who); /* -1: none */
long ledger_last_on(const struct ledger *n, uint32_t cpu);                     /* -1: none */
void ledger_remove_step(struct ledger *n, size_t at);
void ledger_drop_unused(struct ledger *n); /* drops CPUs without a step */
