/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What users read and write of job sets of several components, which they know as heterogeneous
 * jobs. Formats; a comment names the arguments.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

/* --- ids ------------------------------------------------------------------------------------- */

/* the offset, the job */
#define JOB_SET_TEXT_LOST "the record of component %u of job %s is missing"
/* the job */
#define JOB_SET_TEXT_ORDINARY "job %s is not a heterogeneous job"
/* the job, the largest offset */
#define JOB_SET_TEXT_OFFSETS "job %s has components 0 to %u"
/* the job, the id of the set */
#define JOB_SET_TEXT_MEMBER "job %s is a component of heterogeneous job %u"
/* the component's own id, its offset, the set, and the id that a request is to name instead */
#define JOB_SET_TEXT_OWN_ID "job %u is component %u of heterogeneous job %s: use %s"
/* the component, the set */
#define JOB_SET_TEXT_NO_SCRIPT "job %s has no script: that of heterogeneous job %s is its leader's"
/* an offset, the largest offset: Slurm's wording */
#define JOB_SET_TEXT_NO_STEP                                                                       \
    "Attempt to run a job step with het group value of %u, but the job allocation has maximum "    \
    "value of %u"
#define JOB_SET_TEXT_STEP_ID                                                                       \
    "JOB.STEP, JOB_ELEMENT.STEP of a job array, or JOB+OFFSET.STEP of a heterogeneous job"

/* --- submission ------------------------------------------------------------------------------ */

#define JOB_SET_TEXT_ONE_USER                                                                      \
    "a heterogeneous job has one user, but component %zu is of uid %u and component 0 of uid %u"
#define JOB_SET_TEXT_ONE_GROUP                                                                     \
    "a heterogeneous job has one group, but component %zu is of gid %u and component 0 of gid %u"
#define JOB_SET_TEXT_COUNT "a heterogeneous job has %zu components at most, not %zu"
/* the most, what begins one component too many */
#define JOB_SET_TEXT_EXCESS "a heterogeneous job has at most %d components: %s begins one more"
/* the two components */
#define JOB_SET_TEXT_LAYERS                                                                        \
    "components %u and %u request hierarchical resources: only one component of a heterogeneous "  \
    "job may"
#define JOB_SET_TEXT_MULTI_PROG "--multi-prog cannot span several components of a heterogeneous job"
#define JOB_SET_TEXT_BATCH "--batch takes one component: submit a heterogeneous job with sbatch"
#define JOB_SET_TEXT_NO_ALLOCATE "--no-allocate is not supported for heterogeneous jobs"

/* --- the queue ------------------------------------------------------------------------------- */

#define JOB_SET_TEXT_WAITS "the other components of the heterogeneous job start later"
#define JOB_SET_TEXT_PLACED                                                                        \
    "components of a heterogeneous job are placed together, by the scheduler alone"
/* the offset, the set */
#define JOB_SET_TEXT_MISSING                                                                       \
    "the record of component %u of the heterogeneous job %u is missing: cancel the job, and "      \
    "submit it again"
/* the job, and what its record says: the offset, the count, the set */
#define JOB_SET_TEXT_DAMAGED                                                                       \
    "job %u: its record makes it component %u of %u of the heterogeneous job %u"
/* DebugFlags=Hetjob */
#define JOB_SET_TEXT_STARTS "heterogeneous job %u: its %u components start"
#define JOB_SET_TEXT_DELAYED "heterogeneous job %u: component %u waits: %s, start in %lld s"
#define JOB_SET_TEXT_PASS "a pass over %zu heterogeneous jobs in mode %u is over"

/* --- scripts --------------------------------------------------------------------------------- */

/* Whether a line "#SBATCH WORD" begins the next component. */
static inline bool job_set_text_separates(const char *word, size_t len)
{
    static const char *const words[] = {"hetjob", "packjob"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == len && strncmp(word, words[i], len) == 0)
            return true;
    return false;
}
