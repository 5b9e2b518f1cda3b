/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's side of the helper in which job_submit plugins run (submitd.h). Questions are
 * queued; only one at a time is in the helper, so that the question on which a plugin crashes or
 * hangs is known: that question is refused, the helper is restarted, and the others continue.
 * Callers take turns; a caller whose question hung is served after all others.
 */
#pragma once

#include "loop/loop.h"
#include "proto/submit.pb-c.h"

#define SUBMIT_LINE_LIMIT_MS 5000      /* SLUICE_JOB_SUBMIT_SECONDS */
#define SUBMIT_LINE_AGAIN_MS 1000      /* delay before a short-lived helper is replaced */
#define SUBMIT_LINE_RETRY_MS 10000     /* delay after a helper that crashed or hung at start */
#define SUBMIT_LINE_MOST 10000         /* queued questions */
#define SUBMIT_LINE_BYTES (128u << 20) /* bytes of queued questions; one caller may use at most */
#define SUBMIT_LINE_SHARE 4            /* this fraction of either, except for a single question */

struct submit_line;

/* The answer belongs to the line until on_answer() returns. on_answer() is never called from
 * within a function below. */
struct submit_line *submit_line_new(struct loop *loop, const Pb__SubmitSetup *setup,
                                    void (*on_answer)(void *ctx, const Pb__SubmitAnswer *a),
                                    void *ctx);
/* Unanswered questions stay unanswered. wait: the helper has ended when this function returns. */
void submit_line_free(struct submit_line *l, bool wait);
/* Packs the question. False: too many questions wait, in total or of this caller. */
bool submit_line_ask(struct submit_line *l, const Pb__SubmitQuestion *q);
/* The answer is no longer wanted. */
void submit_line_forget(struct submit_line *l, uint64_t number);
