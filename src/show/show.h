/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records of the controller in scontrol's format and as JSON: one pair of functions for each kind.
 *
 * Text has lines of Key=Value, or all of a record on one line. Each record ends with a newline; a
 * record of several lines is followed by an empty line. JSON is an object with the members of
 * Slurm's data parser, which the caller owns.
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
    bool preempts;              /* PreemptMode allows jobs of this cluster to be preempted */
    int64_t preempt_exempt_sec; /* PreemptExemptTime; negative: none */
};

/* The job must have spec and live. now: time of the listing in wall seconds. */
void show_job_text(const Pb__JobRecord *job, int64_t now, struct show_style style, struct str *out);
json_t *show_job_json(const Pb__JobRecord *job, const char *cluster);

/* The expected start of a job that is not submitted: the line that scripts parse, and a second line
 * with further details; if no start is known, only the latter. part: used if the reply names no
 * partition. */
void show_start_text(const Pb__SubmitReply *reply, const char *part,
                     void (*say)(const char *fmt, ...));

/* Appends the id as users write it: "5.0"; of a component of a job set "5+1.0"; of an array
 * "3_7.0", of a component of an array element "3_7+1.0". */
void show_put_step_id(const Pb__StepRecord *step, struct str *out);
void show_step_text(const Pb__StepRecord *step, struct show_style style, struct str *out);
json_t *show_step_json(const Pb__StepRecord *step, const char *cluster, int64_t now);

void show_node_text(const Pb__NodeRecord *node, struct show_style style, struct str *out);
json_t *show_node_json(const Pb__NodeRecord *node, const char *cluster);
json_t *show_node_states_json(const Pb__NodeRecord *node); /* ["IDLE", "DRAIN"] */

void show_part_text(const Pb__PartRecord *part, struct show_style style, struct str *out);
json_t *show_part_json(const Pb__PartRecord *part, const char *cluster);

void show_resv_text(const Pb__ResvRecord *resv, struct show_style style, struct str *out);
json_t *show_resv_json(const Pb__ResvRecord *resv);
/* Prints one line for each reservation, below a line of titles. */
void show_resv_list(const Pb__ResvRecord *const *resvs, size_t count, bool titles, struct str *out);

void show_license_text(const Pb__LicenseRecord *license, struct show_style style, struct str *out);
json_t *show_license_json(const Pb__LicenseRecord *license);
uint64_t show_license_unused(const Pb__LicenseRecord *license); /* UINT64_MAX: unlimited */

/* Explains the wait of a suspended job that waits for its turn. Returns false if the job waits for
 * something else. */
bool show_put_turn(const Pb__JobLive *live, struct str *out);

void show_burst_text(const Pb__BurstList *list, struct str *out);

/* Explains a job. why: the reply about a pending job; NULL: the job is not pending. component: the
 * job that the reply is about: 'job' itself, or another component of its set. */
void show_why_text(const Pb__JobRecord *job, const Pb__JobRecord *component,
                   const Pb__WhyReply *why, int64_t now, struct str *out);
/* Like show_why_text(), without "Job ID" at the start. */
void show_why_of(const Pb__JobRecord *job, const Pb__JobRecord *component, const Pb__WhyReply *why,
                 int64_t now, struct str *out);
json_t *show_why_json(const Pb__JobRecord *job, const Pb__WhyReply *why, int64_t now);
/* Explains a running step; if its job is suspended, the caller appends the text of show_why_text()
 * about the job. */
void show_why_step_text(const Pb__StepRecord *step, struct str *out);
json_t *show_why_step_json(const Pb__StepRecord *step);

/* The gates of a pending job, with the reason of each that is closed. */
void show_gates_text(const Pb__GatesReply *gates, struct show_style style, struct str *out);
json_t *show_gates_json(const Pb__GatesReply *gates);

/* Prints a transition of a job or of a node as one line. */
void show_event_text(const Pb__Event *event, struct str *out);
void show_event_json(const Pb__Event *event, struct str *out);

json_t *show_exit_code_json(int32_t wait_status);

/* Prints the usage of all processes of a node: a line for each user and each job, below the titles,
 * and a line about the node's CPUs. Sorts the rows. period: appends the number of the period to
 * that line. */
void show_node_usage_titles(struct str *out);
void show_node_usage_text(Pb__NodeUsage *usage, bool period, struct str *out);

/* Prints a line for each process of a step on a node, below the titles. */
void show_pids_titles(struct str *out);
void show_pids_text(const Pb__StepPids *step, struct str *out);
/* Prints the status of a node daemon; steps: comma-separated list of the steps on the node. */
void show_node_status_text(const Pb__NodeStatus *status, const char *steps, struct str *out);

/* --- the controllers ----------------------------------------------------------------------------
 */

enum show_diag_order {
    SHOW_DIAG_BY_COUNT,
    SHOW_DIAG_BY_NUMBER,
    SHOW_DIAG_BY_TOTAL,
    SHOW_DIAG_BY_AVERAGE
};
/* Replaces the numbers and names of RPCs by Slurm's if Slurm has them, and sorts the lists of RPCs
 * and users. The reply keeps the memory. The reply must have counters and stats. */
void show_diag_sort(Pb__DiagReply *reply, enum show_diag_order order);
void show_diag_text(const Pb__DiagReply *reply, struct str *out);
json_t *show_diag_json(const Pb__DiagReply *reply);

/* The reply of one of the configured controllers. Borrowed. */
struct show_ping {
    const char *host;
    size_t rank, count; /* rank among all controllers; 0: the primary */
    bool is_up;
    int64_t latency_us; /* until the reply or the timeout */
};
void show_ping_text(const struct show_ping *ping, struct str *out);
json_t *show_ping_json(const struct show_ping *ping);

/* A cluster and its daemons on this machine. Borrowed. */
struct show_status {
    const char *cluster, *place;
    pid_t controller; /* 0: not running */
    unsigned port;
    const Pb__CtlStats *stats; /* NULL: not running, or no reply: */
    const char *fault;
    size_t daemons, nodes; /* running node daemons, and nodes that should have a daemon */
};
void show_status_text(const struct show_status *status, struct str *out);
