/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said to --test-only. */
#pragma once

#include "proto/job.pb-c.h"

/* The line that scripts know, and another one with what is to be known of it; without a start that
 * one alone. 'part': when the reply names none. */
void start_text_say(const Pb__SubmitReply *r, const char *part, void (*say)(const char *fmt, ...));
