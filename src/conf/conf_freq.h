/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What --cpu-freq, CpuFreqDef and CpuFreqGovernors say: a speed, a governor of the kernel, or a
 * range with or without one. Texts only; src/cpufreq has the files of the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum conf_governor {
    CONF_GOVERNOR_NONE,
    CONF_GOVERNOR_CONSERVATIVE,
    CONF_GOVERNOR_ONDEMAND,
    CONF_GOVERNOR_PERFORMANCE,
    CONF_GOVERNOR_POWERSAVE,
    CONF_GOVERNOR_SCHEDUTIL,
    CONF_GOVERNOR_USERSPACE,
    CONF_GOVERNORS
};

/* A frequency: kHz, or one of these, which mean something on a node only. 0: none. In this order
 * they rise. */
#define CONF_FREQ_WORD 0x80000000u
#define CONF_FREQ_LOW (CONF_FREQ_WORD + 1)
#define CONF_FREQ_MEDIUM (CONF_FREQ_WORD + 2)
#define CONF_FREQ_HIGHM1 (CONF_FREQ_WORD + 3) /* the next to the highest */
#define CONF_FREQ_HIGH (CONF_FREQ_WORD + 4)
#define CONF_FREQ_TEXT_MAX 64 /* bytes of a request as conf_freq_format() has it */

/* One of: max alone, a speed to be kept, with UserSpace between limits of the same speed; governor
 * alone; min and max, with another governor than UserSpace or without. */
struct conf_freq {
    uint32_t min, max;
    enum conf_governor governor;
};

/* P1[-P2][:P3] in any case. -ERR_PARSE, with what is valid; *out is untouched then. */
int conf_freq_parse(const char *text, struct conf_freq *out, struct err *err);
void conf_freq_format(const struct conf_freq *f, struct str *out); /* in one spelling */
void conf_freq_put(uint32_t frequency, struct str *out);           /* one of them; 0: nothing */

const char *conf_governor_name(enum conf_governor g); /* "OnDemand"; the kernel has no capitals */
enum conf_governor conf_governor_find(const char *word); /* any case; NONE: there is none */

/* The governor of CpuFreqDef is that of a range that has none. False: that names none that a range
 * can have. */
bool conf_freq_complete(struct conf_freq *f, const char *fallback);

/* Whether it sets governors of this list of CpuFreqGovernors only: a speed is kept by UserSpace.
 * -ERR_ACCESS, naming them. */
int conf_freq_allowed(const struct conf_freq *f, const char *governors, struct err *err);
