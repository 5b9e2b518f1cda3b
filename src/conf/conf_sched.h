/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Typed SchedulerParameters: conf_sched.def has a row for each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conf_sched {
#define SCHED_FLAG(name, text) bool name;
#define SCHED_NUMBER(name, least, most, otherwise, text) int64_t name;
#define SCHED_CHOICE(name, words, text) int64_t name;
#define SCHED_NOTE(name, text)
#include "conf/conf_sched.def"
#undef SCHED_FLAG
#undef SCHED_NUMBER
#undef SCHED_CHOICE
#undef SCHED_NOTE
};
