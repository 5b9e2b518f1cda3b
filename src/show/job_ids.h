/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ids of jobs, of elements of job arrays and of components of job sets, as people write
 * and read them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"

#define JOB_IDS_TASKS_BELOW                                                                        \
    4000001u /* above all numbers of elements: the largest MaxArraySize is 4000001 */

/* Bytes of the first id of a list: to the next comma or blank that is not in brackets. */
size_t job_ids_word(const char *list);

/* A job, step or tasks as commands name them: "7", "7.2", "7.batch", and of a job array "7_4",
 * "7_[1-5,8]", "7_4.0", of a job set "7+2", "7+2.0". has_step_id, has_set_offset and
 * array_tasks, whose text lives as long as the process, tell which. */
int job_ids_parse(const char *text, Pb__StepId *id, struct err *err);

/* "123", "123_4", "123+4", "123_4+1", "123_[5-20%3]", "123_[5-20%3]+1": the last ones are cut at
 * SLURM_BITSTR_LEN bytes of numbers. */
void job_ids_put(const Pb__JobLive *live, struct str *out);
/* The same without an offset: all components. */
void job_ids_put_whole(const Pb__JobLive *live, struct str *out);
/* The part behind the "_" without brackets, "5-20%3"; false, nothing: it is in no array. */
bool job_ids_put_tasks(const Pb__JobLive *live, struct str *out);
/* From now on job_ids_put_asked() writes this job id as 'name': "6_2", for the id of the job that a
 * command was given by that name. */
void job_ids_remember(uint32_t job_id, const char *name);
/* As it was asked for: "123", "123_4", "123_[1-5,7]", "123+4", ".STEP" behind it when it has one.
 */
void job_ids_put_asked(const Pb__StepId *id, struct str *out);
/* The id of the job's set: of an ordinary job its own. */
uint32_t job_ids_set_id(const Pb__JobLive *live);
/* The job stands for its set, as an ordinary job does. */
bool job_ids_is_leader(const Pb__JobLive *live);
/* The id that means all components of the job's set: of an element of a job array its own, since
 * the leader's may be that of the array; in the arena. */
Pb__StepId job_ids_make_whole(const Pb__JobLive *live, struct arena *arena);
/* The id that means this record and no other, however its job id is the array's; in the arena. */
void job_ids_of(const Pb__JobLive *live, Pb__StepId *id, struct arena *arena);
/* Appends the SLUID of the job (base/sluid.h); returns the text of 'out'. */
const char *job_ids_sluid(uint32_t job_id, int64_t submit_at_sec, struct str *out);
/* For sorting: by array or job set, then by element or component. */
int64_t job_ids_rank(const Pb__JobLive *live);

/* Whether both name the same, in the same words. */
bool job_ids_are_equal(const Pb__StepId *a, const Pb__StepId *b);
/* Copies what names a job, or a component of a job set, between a Pb__StepId and a
 * message with the same fields, of whatever type; JOB_IDS_COPY() the elements of a job array, too.
 */
#define JOB_IDS_COPY_NUMBERS(to, from)                                                             \
    do {                                                                                           \
        (to)->job_id = (from)->job_id;                                                             \
        (to)->has_set_offset = (from)->has_set_offset;                                             \
        (to)->set_offset = (from)->set_offset;                                                     \
    } while (0)
#define JOB_IDS_COPY(to, from)                                                                     \
    do {                                                                                           \
        JOB_IDS_COPY_NUMBERS(to, from);                                                            \
        (to)->array_tasks = (from)->array_tasks;                                                   \
    } while (0)

/* Of an id with an offset; in the arena. */
Pb__JobComponent *job_ids_component(const Pb__StepId *id, struct arena *arena);
/* A filter for these jobs, elements and components; lives in the arena. */
void job_ids_filter(const Pb__StepId *ids, size_t count, Pb__JobFilter *f, struct arena *arena);
/* Of a record of several elements those that were asked for; the texts live in the arena. */
void job_ids_trim(const Pb__StepId *ids, size_t count, Pb__JobLive *live, struct arena *arena);
/* What of a record was asked for, one id for each, in the arena: the record, trimmed, when there
 * are no ids or any of them means all of it or elements, else the steps of it that are named; a
 * step of all components of a job set comes with the leader. Their number; 0: the ids
 * name other jobs. */
size_t job_ids_targets(const Pb__StepId *ids, size_t count, Pb__JobLive *live, struct arena *arena,
                       Pb__StepId **out);
/* Whether job_ids_targets() finds anything for this id alone. Allocates nothing that stays. */
bool job_ids_has_target(const Pb__StepId *id, const Pb__JobLive *live);
