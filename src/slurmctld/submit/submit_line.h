/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's side of the helper in which job_submit plugins run (submitd.h). Questions wait
 * in a line; one is with the helper at a time, so that it is known which one a plugin crashed or
 * hung with: that one is refused, the helper is begun anew, and the others go on. Callers take
 * turns; who has hung comes behind all others.
 */
#pragma once

#include "loop/loop.h"
#include "proto/submit.pb-c.h"

#define SUBMIT_LINE_LIMIT_MS 5000      /* SLUICE_JOB_SUBMIT_SECONDS */
#define SUBMIT_LINE_AGAIN_MS 1000      /* before a helper that did not live long is replaced */
#define SUBMIT_LINE_RETRY_MS 10000     /* after one that crashed or hung while it began */
#define SUBMIT_LINE_MOST 10000         /* questions, */
#define SUBMIT_LINE_BYTES (128u << 20) /* and bytes of them; of one caller no more than */
#define SUBMIT_LINE_SHARE 4            /* the fourth part of either, but for a single one */

struct submit_line;

/* An answer belongs to the line until on_answer() returns. Never called from within a function
 * below. */
struct submit_line *submit_line_new(struct loop *loop, const Pb__SubmitSetup *setup,
                                    void (*on_answer)(void *ctx, const Pb__SubmitAnswer *a),
                                    void *ctx);
/* What was not answered never is. wait: the helper has ended when this returns. */
void submit_line_free(struct submit_line *l, bool wait);
/* Packed. false: too many wait, or too many of this caller. */
bool submit_line_ask(struct submit_line *l, const Pb__SubmitQuestion *q);
void submit_line_forget(struct submit_line *l, uint64_t number); /* nobody waits for it any more */
