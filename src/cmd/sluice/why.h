/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice why: what is known of a job, as text and as JSON. */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "proto/job.pb-c.h"
#include "proto/why.pb-c.h"

/* 'why': of a pending job; NULL: it is not pending. 'now': wall seconds of the controller. */
void why_put_text(const Pb__JobRecord *job, const Pb__WhyReply *why, int64_t now, struct str *out);
void why_put_json(const Pb__JobRecord *job, const Pb__WhyReply *why, int64_t now, struct str *out);
/* The sentence of a rule; NULL: unknown. */
const char *why_sentence(const char *rule);
