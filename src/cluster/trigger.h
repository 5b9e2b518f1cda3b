/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Event triggers (strigger): their types, their words, and the checks of requests for them.
 * control/event/trigger.h stores and fires triggers. Commands use the same checks.
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
enum trigger_of { /* object of the event */
                  TRIGGER_OF_NODES = 1,
                  TRIGGER_OF_JOBS = 2,
                  TRIGGER_OF_BOTH = 3,
                  TRIGGER_OF_CTLD = 4,
                  TRIGGER_OF_DBD = 8,
                  TRIGGER_OF_DB = 16,
                  TRIGGER_OF_BB = 32,
};
enum trigger_flag {
    TRIGGER_PERM = 1,      /* remains after it has fired */
    TRIGGER_FRONT_END = 2, /* for front end nodes, which Sluice does not have */
};
#define TRIGGER_OF_A_NODE (TRIGGER_UP | TRIGGER_DOWN | TRIGGER_FAIL | TRIGGER_DRAINED)

uint32_t trigger_find_type(const char *word); /* 0: unknown word */
uint32_t trigger_types_of(unsigned of);       /* types that can happen to these objects */
void trigger_format_types(uint32_t types, struct str *out); /* "down,up" */
/* Whether any of these events is ever raised. */
bool trigger_is_raised(uint32_t types, uint32_t flags);
/* RES_TYPE of a listing. */
const char *trigger_resource(uint32_t types, uint32_t flags, bool of_job);

/* Checks everything in a request that does not depend on the cluster; -ERR_PARSE, -ERR_RANGE. */
int trigger_check(const Pb__TriggerRecord *m, struct err *err);
