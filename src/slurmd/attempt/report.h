/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What happened, as events for the controller.
 */
#pragma once

#include "proto/io.pb-c.h"
#include "proto/node.pb-c.h"
#include "slurmd/node/slurmd.h"

/* code: positive, 0 for a start. */
void report_launched(struct slurmd *d, uint32_t job_id, uint32_t restarts, int code,
                     const char *text, bool drain);
/* Not launched, for the time of its credential. */
void report_refused(struct slurmd *d, uint32_t job_id, uint32_t restarts, const struct err *why,
                    int64_t issued_at_ms);
void report_batch_ended(struct slurmd *d, const Pb__StepdEnded *m, bool gone);
void report_step_ended(struct slurmd *d, const Pb__StepdEnded *m);
/* text: what was wrong with the epilog; NULL when its status is 0, or not known. */
void report_job_gone(struct slurmd *d, uint32_t job_id, uint32_t restarts, int epilog_status,
                     const char *text);
void report_prolog_failed(struct slurmd *d, uint32_t job_id, uint32_t restarts, const char *text);
/* By a script of the site's; text NULL: not any more. */
void report_held_up(struct slurmd *d, uint32_t job_id, uint32_t restarts, const char *text);
void report_prepared(struct slurmd *d, uint32_t job_id, uint32_t restarts);
/* The order to stop, or to go on, has been carried out. */
void report_halted(struct slurmd *d, uint32_t job_id, uint32_t restarts, uint32_t number);
void report_trouble(struct slurmd *d, const char *reason);
/* That a signal was delivered is worth little, and users can have any number of them sent: of more
 * than these that the controller has not acknowledged none is reported. */
#define REPORT_SIGNALS_MAX 1024
void report_signal_done(struct slurmd *d, uint32_t job_id, uint64_t nonce, int code);

/* Whether the queue holds the end of this step, or of this job. */
bool report_pending_step(const struct slurmd *d, uint32_t job_id, uint32_t restarts,
                         uint32_t step_id);
bool report_pending_gone(const struct slurmd *d, uint32_t job_id, uint32_t restarts);
