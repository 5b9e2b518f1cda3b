/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records in the layout of "scontrol show": lines of Key=Value, or all of a record on one line.
 * Each ends with a newline, and with an empty line when it has several.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/resv.pb-c.h"
#include "proto/step.pb-c.h"

struct text_style {
    bool oneliner, details;
};

void text_job(const Pb__JobRecord *job, int64_t now, struct text_style style, struct str *out);
void text_step(const Pb__StepRecord *step, struct text_style style, struct str *out);
void text_node(const Pb__NodeRecord *node, struct text_style style, struct str *out);
void text_part(const Pb__PartRecord *part, struct text_style style, struct str *out);
void text_resv(const Pb__ResvRecord *resv, struct text_style style, struct str *out);

/* Between lines of a record, and after it. */
void text_break(struct text_style style, struct str *out);
void text_end(struct text_style style, struct str *out);
/* "KEY=value", NULL being "(null)", control characters escaped. */
void text_pair(struct str *out, const char *key, const char *value);
