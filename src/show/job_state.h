/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States, reasons, times and exit codes of jobs in Slurm's words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"

/* "RUNNING", "PD". */
const char *job_state_word(const Pb__JobLive *live);
const char *job_state_short(const Pb__JobLive *live);
bool job_state_is_final(const Pb__JobLive *live);
/* Whether the data of the job's burst buffer are being staged out. */
bool job_state_stages_out(const Pb__JobLive *live);

/* Adds a comma-separated list of states to a filter: long, short or older words ("RUN"), in any
 * case, including "all". */
struct job_states {
    uint32_t wanted; /* bit per Pb__JobState */
    bool completing, stage_out, configuring, special_exit, stopped, all;
};
int job_states_parse(const char *list, struct job_states *states, struct err *err);
/* All accepted words, separated by commas. */
void job_states_list(struct str *out);
/* As in Slurm: a job that is shown in the state of a flag, such as COMPLETING, does not match its
 * base state. */
bool job_states_match(const struct job_states *states, const Pb__JobLive *live);
/* Whether the filter has more than base states: "all", or the state of a flag, such as COMPLETING.
 */
bool job_states_has_flag(const struct job_states *states);
/* Whether the filter has any state. */
bool job_states_given(const struct job_states *states);

/* "Resources"; "None". */
const char *job_state_reason(const Pb__JobLive *live);
/* Like job_state_reason(), with more details of a pending job if there are some: "ReqNodeNotAvail,
 * UnavailableNodes:n1". */
const char *job_state_sentence(const Pb__JobLive *live);
/* The cause of failure of a job that has ended; NULL: unknown. */
const char *job_state_failure(const Pb__JobLive *live);
/* All reservations that the job requested, also while it runs in one of them; without a request the
 * reservation that it uses; NULL: none. */
const char *job_state_reservation(const Pb__JobSpec *spec, const Pb__JobLive *live);
/* "YES", "NO" or "OK": whether the job shares its resources. An exclusive job in a partition
 * with OverSubscribe=FORCE shares them like any other job there, as soon as it is pending. */
const char *job_state_oversubscribe(const Pb__JobSpec *spec, const Pb__JobLive *live);
/* "TOPO", "NODE", "USER" or "NO": who else may use the job's nodes, by its request and its
 * partition. */
const char *job_state_exclusive(const Pb__JobLive *live);
/* Licences held by a started job, including suspended ones; NULL: none. */
const char *job_state_licenses(const Pb__JobSpec *spec, const Pb__JobLive *live);

/* Times in wall seconds, as of 'now'. */
int64_t job_state_used_sec(const Pb__JobLive *live, int64_t now);
/* TIME_UNLIMITED; negative if the job runs, or ran, beyond its limit. */
int64_t job_state_left_sec(const Pb__JobLive *live, int64_t now);
/* 0: unknown; of a suspended job the end if it were not suspended now, which is the earliest
 * possible end. */
int64_t job_state_end_at(const Pb__JobRecord *job);
/* 0: unknown; of a pending job its expected start, or the time of --begin. */
int64_t job_state_start_at(const Pb__JobRecord *job);
int64_t job_state_accrue_at(const Pb__JobLive *live); /* 0: held, or waits for a dependency */
/* Like job_state_accrue_at(), but for a held job with a begin time, that time. */
int64_t job_state_eligible_at(const Pb__JobRecord *job);
/* For a step's record in a listing; excludes the time during which its job was suspended. */
int64_t job_state_step_used_sec(const Pb__StepRecord *step, int64_t now);
/* The step's own limit; TIME_UNLIMITED if the job's limit applies. */
int64_t job_state_step_limit_sec(const Pb__StepRecord *step);

/* "code:signal" of a wait status. */
void job_state_put_exit(int32_t status, struct str *out);

/* Whether it is a batch job, or a component of one. */
bool job_state_is_batch(const Pb__JobRecord *job);

/* The form of the path of a standard stream: as the user gave it; with known patterns expanded; or,
 * in addition, expanded for the first element of several. */
enum job_path { JOB_PATH_GIVEN, JOB_PATH_KNOWN, JOB_PATH_FIRST };

/* The path of a step's stream, for its first task. A pattern with %x stays, since the record of a
 * step lacks the job's name. */
void job_state_put_step_path(const Pb__StepRecord *step, const char *pattern, struct str *out);
/* The path of a standard stream of the job. stream: 0, 1, 2. */
void job_state_put_path(const Pb__JobRecord *job, int stream, enum job_path how, struct str *out);

/* Appends "cpu=2,mem=8000M,node=2,billing=2", as requested or as allocated. Returns false if there
 * is nothing. */
bool job_state_put_tres(const Pb__JobRecord *job, bool allocated, struct str *out);
/* The billing of the allocated resources; of a pending job that of its CPUs, memory and nodes. */
double job_state_find_billing(const Pb__JobRecord *job);
/* Returns the GPUs that a request on that many nodes and tasks asks for. */
uint64_t job_state_count_gpus(const Pb__JobSpec *spec, uint32_t nodes, uint32_t tasks);
/* Appends "cpu=4,mem=200M,node=2,gres/gpu=2": the step's resources on all of its nodes. Returns
 * false if there are none. */
bool job_state_put_step_tres(const Pb__StepRecord *step, struct str *out);
const char *job_state_of_step(const Pb__StepRecord *step); /* "RUNNING" */
/* "gpu:a100:2(IDX:0-1),nic:1": the generic resources of a job on one node. */
void job_state_put_node_gres(const Pb__NodeAlloc *node, bool devices, struct str *out);

/* The minimum number of CPUs of a node that the job can use. */
uint32_t job_state_min_cpus(const Pb__JobSpec *spec);
