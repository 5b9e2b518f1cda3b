/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ids of jobs, of elements of job arrays and of components of job sets, as users write and read
 * them. */
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
    4000001u /* above all element numbers: the largest MaxArraySize is 4000001 */

/* Returns the length of the first id of a list: up to a comma or blank outside brackets. */
size_t job_ids_word(const char *list);

/* Parses a job, a step or elements as in arguments of commands: "7", "7.2", "7.batch"; of a job
 * array "7_4", "7_[1-5,8]", "7_4.0"; of a job set "7+2", "7+2.0". has_step_id, has_set_offset and
 * array_tasks, whose text lives as long as the process, tell the form. */
int job_ids_parse(const char *text, Pb__StepId *id, struct err *err);

/* Appends "123", "123_4", "123+4", "123_4+1", "123_[5-20%3]" or "123_[5-20%3]+1"; a list of
 * elements is cut at SLURM_BITSTR_LEN bytes. */
void job_ids_put(const Pb__JobLive *live, struct str *out);
/* Like job_ids_put(), without the offset: means all components. */
void job_ids_put_whole(const Pb__JobLive *live, struct str *out);
/* Appends the part after "_" without brackets, "5-20%3"; returns false, without text, if the job is
 * in no array. */
bool job_ids_put_tasks(const Pb__JobLive *live, struct str *out);
/* From now on job_ids_put_asked() writes this job id as 'name': "6_2", for the job that a command
 * was given by that name. */
void job_ids_remember(uint32_t job_id, const char *name);
/* Appends the id as the user wrote it: "123", "123_4", "123_[1-5,7]", "123+4", each with ".STEP" if
 * it has one. */
void job_ids_put_asked(const Pb__StepId *id, struct str *out);
/* The id of the job's set; of an ordinary job its own id. */
uint32_t job_ids_set_id(const Pb__JobLive *live);
/* Whether the job is the leader of its set, or an ordinary job. */
bool job_ids_is_leader(const Pb__JobLive *live);
/* The id that means all components of the job's set. For an array element it is the element's own
 * id, since the leader's id may be that of the array. In the arena. */
Pb__StepId job_ids_make_whole(const Pb__JobLive *live, struct arena *arena);
/* The id that means only this record, even if its job id is that of the array; in the arena. */
void job_ids_of(const Pb__JobLive *live, Pb__StepId *id, struct arena *arena);
/* Appends the SLUID of the job (base/sluid.h); returns the text of 'out'. */
const char *job_ids_sluid(uint32_t job_id, int64_t submit_at_sec, struct str *out);
/* Sort key: by array or job set, then by element or component. */
int64_t job_ids_rank(const Pb__JobLive *live);

/* Whether both ids name the same object in the same form. */
bool job_ids_are_equal(const Pb__StepId *a, const Pb__StepId *b);
/* Copies the members that name a job or a component between a Pb__StepId and any message with the
 * same fields; JOB_IDS_COPY() also copies the elements of a job array. */
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

/* The component of an id with an offset; in the arena. */
Pb__JobComponent *job_ids_component(const Pb__StepId *id, struct arena *arena);
/* Makes a filter for these jobs, elements and components; lives in the arena. */
void job_ids_filter(const Pb__StepId *ids, size_t count, Pb__JobFilter *f, struct arena *arena);
/* Keeps only the requested elements of a record of several; the texts live in the arena. */
void job_ids_trim(const Pb__StepId *ids, size_t count, Pb__JobLive *live, struct arena *arena);
/* The ids of the requested parts of a record, in the arena: the trimmed record, if there are no ids
 * or one of them means the whole record or elements of it; otherwise its requested steps. A step of
 * all components of a job set is listed with the leader. Returns the number of ids; 0: the record
 * was not requested. */
size_t job_ids_targets(const Pb__StepId *ids, size_t count, Pb__JobLive *live, struct arena *arena,
                       Pb__StepId **out);
/* Whether job_ids_targets() finds anything for this id alone. Keeps no memory. */
bool job_ids_has_target(const Pb__StepId *id, const Pb__JobLive *live);
