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
/* The data of its burst buffer are being staged out. */
bool job_state_stages_out(const Pb__JobLive *live);

/* A comma list of states, long, short or of 2002 ("RUN"), in any case, "all" included, added to a
 * filter. */
struct job_states {
    uint32_t wanted; /* bit per Pb__JobState */
    bool completing, stage_out, configuring, special_exit, stopped, all;
};
int job_states_parse(const char *list, struct job_states *states, struct err *err);
/* All words that it takes, separated by commas. */
void job_states_list(struct str *out);
/* As in Slurm: a job that is shown in the state of a flag, as COMPLETING, does not match its base
 * state. */
bool job_states_match(const struct job_states *states, const Pb__JobLive *live);
/* Whether it names more than base states: "all", or the state of a flag, as COMPLETING. */
bool job_states_has_flag(const struct job_states *states);
/* Whether it says anything at all. */
bool job_states_given(const struct job_states *states);

/* "Resources"; "None". */
const char *job_state_reason(const Pb__JobLive *live);
/* The same of a waiting job in more words where there are: "ReqNodeNotAvail, UnavailableNodes:n1".
 */
const char *job_state_sentence(const Pb__JobLive *live);
/* What exactly failed, of a job that has ended; NULL: nothing is known. */
const char *job_state_failure(const Pb__JobLive *live);
/* All reservations that the job asked for, also while it runs in one of them; without a request the
 * one that it is in; NULL: none. */
const char *job_state_reservation(const Pb__JobSpec *spec, const Pb__JobLive *live);
/* "YES", "NO" or "OK": whether the job shares its resources. An exclusive job in a partition
 * with OverSubscribe=FORCE shares them like any other job there, as soon as it is pending. */
const char *job_state_oversubscribe(const Pb__JobSpec *spec, const Pb__JobLive *live);
/* "TOPO", "NODE", "USER" or "NO": who else may have the job's nodes, by its request and its
 * partition. */
const char *job_state_exclusive(const Pb__JobLive *live);
/* What a job that has started holds, suspended ones too; NULL: no licenses. */
const char *job_state_licenses(const Pb__JobSpec *spec, const Pb__JobLive *live);

/* The times, wall seconds, as of 'now'. */
int64_t job_state_used_sec(const Pb__JobLive *live, int64_t now);
/* TIME_UNLIMITED; negative when the job runs, or ran, beyond its limit. */
int64_t job_state_left_sec(const Pb__JobLive *live, int64_t now);
/* 0: not known; of a suspended job when its time limit would have ended it without the suspension
 * that it is in, so the earliest end. */
int64_t job_state_end_at(const Pb__JobRecord *job);
/* 0: not known; of a pending job when it is expected, or what it asks for with --begin. */
int64_t job_state_start_at(const Pb__JobRecord *job);
int64_t job_state_accrue_at(const Pb__JobLive *live); /* 0: it is held, or was until it ended */
/* The same, but a held job with a begin time has that. */
int64_t job_state_eligible_at(const Pb__JobRecord *job);
/* Of its record in a listing, without the time in which its job was suspended. */
int64_t job_state_step_used_sec(const Pb__StepRecord *step, int64_t now);
/* The step's own limit: TIME_UNLIMITED where it has the job's. */
int64_t job_state_step_limit_sec(const Pb__StepRecord *step);

/* "code:signal" of a wait status. */
void job_state_put_exit(int32_t status, struct str *out);

/* A batch job, or a component of one. */
bool job_state_is_batch(const Pb__JobRecord *job);

/* How the path of a standard stream is written: as the user gave it; with patterns replaced where
 * they are known; or, in addition, with the first element of a job array that has several. */
enum job_path { JOB_PATH_GIVEN, JOB_PATH_KNOWN, JOB_PATH_FIRST };

/* The path a standard stream of the job goes to or comes from. stream: 0, 1, 2. */
/* A file of a stream of a step, for its first task. A pattern with %x stays: the record of a step
 * has no name of its job. */
void job_state_put_step_path(const Pb__StepRecord *step, const char *pattern, struct str *out);
void job_state_put_path(const Pb__JobRecord *job, int stream, enum job_path how, struct str *out);

/* "cpu=2,mem=8000M,node=2,billing=2" of what was asked for, or allocated. False: nothing is. */
bool job_state_put_tres(const Pb__JobRecord *job, bool allocated, struct str *out);
/* GPUs that a request on so many nodes, with so many tasks, asks for. */
uint64_t job_state_count_gpus(const Pb__JobSpec *spec, uint32_t nodes, uint32_t tasks);
/* "cpu=4,mem=200M,node=2,gres/gpu=2": what a step has on all of its nodes. False: nothing. */
bool job_state_put_step_tres(const Pb__StepRecord *step, struct str *out);
const char *job_state_of_step(const Pb__StepRecord *step); /* "RUNNING" */
/* "gpu:a100:2(IDX:0-1),nic:1": the generic resources of a job on one node. */
void job_state_put_node_gres(const Pb__NodeAlloc *node, bool devices, struct str *out);

/* The fewest CPUs of a node that the job can use. */
uint32_t job_state_min_cpus(const Pb__JobSpec *spec);
