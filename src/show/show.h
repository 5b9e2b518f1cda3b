/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records of the controller as scontrol prints them and as JSON: one pair of functions for each
 * kind.
 *
 * Text is lines of Key=Value, or all of a record on one line. Each record ends with a newline, and
 * with an empty line when it has several. JSON is an object with the members of Slurm's data
 * parser, which the caller owns.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "proto/burst.pb-c.h"
#include "proto/ctl.pb-c.h"
#include "proto/event.pb-c.h"
#include "proto/job.pb-c.h"
#include "proto/license.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/resv.pb-c.h"
#include "proto/step.pb-c.h"
#include "proto/usage.pb-c.h"
#include "proto/why.pb-c.h"

struct show_style {
    bool oneliner, details;
    bool preempts;              /* PreemptMode displaces jobs of this cluster */
    int64_t preempt_exempt_sec; /* PreemptExemptTime; negative: none */
};

/* spec and live are there. now: wall seconds, the time of the listing. */
void show_job_text(const Pb__JobRecord *job, int64_t now, struct show_style style, struct str *out);
json_t *show_job_json(const Pb__JobRecord *job, const char *cluster);

/* When a job that is not submitted would start: the line that scripts know, and another one with
 * what is to be known of it; without a start that one alone. part: when the reply names none. */
void show_start_text(const Pb__SubmitReply *reply, const char *part,
                     void (*say)(const char *fmt, ...));

/* "5.0"; of a job array "3_7.0", of a component of its job sets "3_7+1.0". */
void show_put_step_id(const Pb__StepRecord *step, struct str *out);
/* The same, and of a component of any job set "5+1.0": the id that users know. */
void show_put_step_name(const Pb__StepRecord *step, struct str *out);
void show_step_text(const Pb__StepRecord *step, struct show_style style, struct str *out);
json_t *show_step_json(const Pb__StepRecord *step, const char *cluster, int64_t now);

void show_node_text(const Pb__NodeRecord *node, struct show_style style, struct str *out);
json_t *show_node_json(const Pb__NodeRecord *node, const char *cluster);
json_t *show_node_states_json(const Pb__NodeRecord *node); /* ["IDLE", "DRAIN"] */

void show_part_text(const Pb__PartRecord *part, struct show_style style, struct str *out);
json_t *show_part_json(const Pb__PartRecord *part, const char *cluster);

void show_resv_text(const Pb__ResvRecord *resv, struct show_style style, struct str *out);
json_t *show_resv_json(const Pb__ResvRecord *resv);
/* A line for each, below a line of titles. */
void show_resv_list(const Pb__ResvRecord *const *resvs, size_t count, bool titles, struct str *out);

void show_license_text(const Pb__LicenseRecord *license, struct show_style style, struct str *out);
json_t *show_license_json(const Pb__LicenseRecord *license);
uint64_t show_license_unused(const Pb__LicenseRecord *license); /* UINT64_MAX: without limit */

/* Of a suspended job that waits for others that share with it. False: it waits for something else.
 */
bool show_put_turn(const Pb__JobLive *live, struct str *out);

void show_burst_text(const Pb__BurstList *list, struct str *out);

/* What is known of a job. why: of a pending job; NULL: it is not pending. component: the job that
 * the answer is about; 'job' itself, or another component of its set. */
void show_why_text(const Pb__JobRecord *job, const Pb__JobRecord *component,
                   const Pb__WhyReply *why, int64_t now, struct str *out);
/* The same without "Job ID" at its beginning. */
void show_why_of(const Pb__JobRecord *job, const Pb__JobRecord *component, const Pb__WhyReply *why,
                 int64_t now, struct str *out);
json_t *show_why_json(const Pb__JobRecord *job, const Pb__WhyReply *why, int64_t now);
/* What is known of a step that runs; what show_why_text() says of its job belongs behind it when
 * the job is suspended. */
void show_why_step_text(const Pb__StepRecord *step, struct str *out);
json_t *show_why_step_json(const Pb__StepRecord *step);

/* The gates of a pending job, with the reason of each that is closed. */
void show_gates_text(const Pb__GatesReply *gates, struct show_style style, struct str *out);
json_t *show_gates_json(const Pb__GatesReply *gates);

/* A transition of a job or of a node, as one line. */
void show_event_text(const Pb__Event *event, struct str *out);
void show_event_json(const Pb__Event *event, struct str *out);

json_t *show_exit_code_json(int32_t wait_status);

/* What all processes of a node use: a line for each user and each job, below the titles, and a line
 * about the node's CPUs. Puts the rows in order. period: the line ends with the number of the
 * period. */
void show_node_usage_titles(struct str *out);
void show_node_usage_text(Pb__NodeUsage *usage, bool period, struct str *out);

/* A line for each process of a step on a node, below the titles. */
void show_pids_titles(struct str *out);
void show_pids_text(const Pb__StepPids *step, struct str *out);
/* A node daemon; steps: a comma list of those that run on the node. */
void show_node_status_text(const Pb__NodeStatus *status, const char *steps, struct str *out);

/* --- the controllers ----------------------------------------------------------------------------
 */

enum show_diag_order {
    SHOW_DIAG_BY_COUNT,
    SHOW_DIAG_BY_NUMBER,
    SHOW_DIAG_BY_TOTAL,
    SHOW_DIAG_BY_AVERAGE
};
/* Replaces the numbers and names of RPCs that Slurm has by Slurm's, and puts the lists of RPCs and
 * of users in order. The reply keeps the memory. counters and stats are there. */
void show_diag_sort(Pb__DiagReply *reply, enum show_diag_order order);
void show_diag_text(const Pb__DiagReply *reply, struct str *out);
json_t *show_diag_json(const Pb__DiagReply *reply);

/* The answer of one of the configured controllers. Borrowed. */
struct show_ping {
    const char *host;
    size_t rank, count; /* its place among all controllers; 0: the primary */
    bool is_up;
    int64_t latency_us; /* until it answered, or until it was given up */
};
void show_ping_text(const struct show_ping *ping, struct str *out);
json_t *show_ping_json(const struct show_ping *ping);

/* A cluster and the daemons on this machine. Borrowed. */
struct show_status {
    const char *cluster, *place;
    pid_t controller; /* 0: it does not run */
    unsigned port;
    const Pb__CtlStats *stats; /* NULL: it does not run, or does not answer: */
    const char *fault;
    size_t daemons, nodes; /* node daemons that run, and nodes that should have one */
};
void show_status_text(const struct show_status *status, struct str *out);
