/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queues events for the controller.
 *
 * A report of trouble drains the node, except when jobs have filled the spool directory: jobs
 * cannot start then, but users can fill the directory with scripts and with the directories of PMIx
 * servers, and that space becomes free when their jobs end. If the node were drained for that, any
 * user could drain it.
 */
#pragma once

#include "proto/io.pb-c.h"
#include "proto/node.pb-c.h"
#include "slurmd/node/slurmd.h"

/* code is positive, or 0 if the launch succeeded. */
void report_launched(struct slurmd *d, uint32_t job_id, uint32_t restarts, int code,
                     const char *text, bool drain);
/* Not launched because the credential is not yet valid or has expired. */
void report_refused(struct slurmd *d, uint32_t job_id, uint32_t restarts, const struct err *why,
                    int64_t issued_at_ms);
void report_batch_ended(struct slurmd *d, const Pb__StepdEnded *m, bool gone);
void report_step_ended(struct slurmd *d, const Pb__StepdEnded *m);
/* text is the reason why the epilog failed; NULL if its status is 0 or unknown. */
void report_job_gone(struct slurmd *d, uint32_t job_id, uint32_t restarts, int epilog_status,
                     const char *text);
void report_prolog_failed(struct slurmd *d, uint32_t job_id, uint32_t restarts, const char *text);
/* A script of the site holds up the job; text NULL: no longer. */
void report_held_up(struct slurmd *d, uint32_t job_id, uint32_t restarts, const char *text);
void report_prepared(struct slurmd *d, uint32_t job_id, uint32_t restarts);
/* The order to suspend or to resume has been carried out. */
void report_halted(struct slurmd *d, uint32_t job_id, uint32_t restarts, uint32_t number);
void report_trouble(struct slurmd *d, const char *reason);
/* Limit of unacknowledged reports of delivered signals. Such a report matters little, and users
 * can send any number of signals, so further ones are not reported. */
#define REPORT_SIGNALS_MAX 1024
void report_signal_done(struct slurmd *d, uint32_t job_id, uint64_t nonce, int code);

/* Whether the queue has the end of this step, or of this job. */
bool report_pending_step(const struct slurmd *d, uint32_t job_id, uint32_t restarts,
                         uint32_t step_id);
bool report_pending_gone(const struct slurmd *d, uint32_t job_id, uint32_t restarts);

/* Whether almost no space is left and a quarter or more of the occupied space belongs to jobs
 * on this node. Examines at most 10000 files. */
bool report_spool_is_of_jobs(const struct slurmd *d);
