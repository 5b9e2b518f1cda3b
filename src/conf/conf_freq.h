/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses --cpu-freq, CpuFreqDef and CpuFreqGovernors: a frequency, a governor of the kernel, or a
 * range with or without a governor. Text only; src/cpufreq accesses the kernel's files.
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

/* A frequency in kHz, or one of these words, which a node resolves. 0: none. In ascending order. */
#define CONF_FREQ_WORD 0x80000000u
#define CONF_FREQ_LOW (CONF_FREQ_WORD + 1)
#define CONF_FREQ_MEDIUM (CONF_FREQ_WORD + 2)
#define CONF_FREQ_HIGHM1 (CONF_FREQ_WORD + 3) /* the second highest */
#define CONF_FREQ_HIGH (CONF_FREQ_WORD + 4)
#define CONF_FREQ_TEXT_MAX 64 /* bytes of the text made by conf_freq_format() */

/* One of: max alone, a fixed frequency, with UserSpace between equal limits; governor alone; min
 * and max, without a governor or with one other than UserSpace. */
struct conf_freq {
    uint32_t min, max;
    enum conf_governor governor;
};

/* Parses P1[-P2][:P3], case-insensitive. -ERR_PARSE lists the valid forms, and *out is
   unchanged. */
int conf_freq_parse(const char *text, struct conf_freq *out, struct err *err);
void conf_freq_format(const struct conf_freq *f, struct str *out); /* in canonical form */
/* Formats one frequency; 0: nothing. */
void conf_freq_put(uint32_t frequency, struct str *out);

/* "OnDemand"; the kernel's names are in lower case */
const char *conf_governor_name(enum conf_governor g);
enum conf_governor conf_governor_find(const char *word); /* case-insensitive; NONE: unknown */

/* Sets the governor of a range without one to that of CpuFreqDef. False: CpuFreqDef has no
 * governor that a range can have. */
bool conf_freq_complete(struct conf_freq *f, const char *fallback);

/* Checks that it sets only governors in this CpuFreqGovernors list; a fixed frequency needs
 * UserSpace. -ERR_ACCESS names the allowed ones. */
int conf_freq_allowed(const struct conf_freq *f, const char *governors, struct err *err);
