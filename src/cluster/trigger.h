/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an event trigger (strigger) is made of: its types, their words, and what one can be asked
 * for. What becomes of triggers is control/event/trigger.h's. Commands check with the same
 * function.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "proto/trigger.pb-c.h"

#define TRIGGER_PROGRAM_MAX 1024         /* bytes of a program's path and arguments */
#define TRIGGER_OFFSET_MAX (365 * 86400) /* seconds, either way */

enum trigger_type {
#define TRIGGER(id, bit, word, of, raised) TRIGGER_##id = 1u << (bit),
#include "cluster/trigger.def"
#undef TRIGGER
};
enum trigger_of { /* what it happens to */
                  TRIGGER_OF_NODES = 1,
                  TRIGGER_OF_JOBS = 2,
                  TRIGGER_OF_BOTH = 3,
                  TRIGGER_OF_CTLD = 4,
                  TRIGGER_OF_DBD = 8,
                  TRIGGER_OF_DB = 16,
                  TRIGGER_OF_BB = 32,
};
enum trigger_flag {
    TRIGGER_PERM = 1,      /* it stays after it has fired */
    TRIGGER_FRONT_END = 2, /* of front end nodes, which there are none of */
};
#define TRIGGER_OF_A_NODE (TRIGGER_UP | TRIGGER_DOWN | TRIGGER_FAIL | TRIGGER_DRAINED)

uint32_t trigger_find_type(const char *word);               /* 0: there is none */
uint32_t trigger_types_of(unsigned of);                     /* that can happen to any of these */
void trigger_format_types(uint32_t types, struct str *out); /* "down,up" */
bool trigger_is_raised(uint32_t types, uint32_t flags);     /* whether any of them ever happens */
/* RES_TYPE of a listing. */
const char *trigger_resource(uint32_t types, uint32_t flags, bool of_job);

/* What can be known of a request without the cluster; -ERR_PARSE, -ERR_RANGE. */
int trigger_check(const Pb__TriggerRecord *m, struct err *err);
