/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's files of one CPU, which represents its whole policy. Private to src/cpufreq. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "conf/conf_freq.h"

#define KERNEL_GOVERNOR_MAX 32

struct kernel_setting {
    uint32_t min, max; /* kHz */
    uint32_t speed;    /* of "userspace"; 0: the frequency is chosen by another governor */
    char governor[KERNEL_GOVERNOR_MAX];
};

/* Finds the first CPU of its policy. -ENOENT: its frequency cannot be set. */
int kernel_find(int root, uint32_t cpu, uint32_t *first);
int kernel_read(int root, uint32_t cpu, struct kernel_setting *out, struct err *err);
int kernel_write(int root, uint32_t cpu, const struct kernel_setting *s, struct err *err);

/* Computes the setting for a request, given the previous setting. -ERR_RANGE: the CPU does not
   support the request. */
int kernel_resolve(int root, uint32_t cpu, const struct conf_freq *want,
                   const struct kernel_setting *was, struct kernel_setting *out, struct err *err);
