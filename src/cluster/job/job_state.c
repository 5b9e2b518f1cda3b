/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The legal transitions of a job. A transition back to PENDING is a requeue, which control/
 * decides. */
#include <assert.h>

#include "cluster/cluster.h"

#define TO(state) (1u << PB__JOB_STATE__##state)

static const unsigned allowed[] = {
    [PB__JOB_STATE__PENDING] =
        TO(RUNNING) | TO(CANCELLED) | TO(FAILED) | TO(DEADLINE) | TO(BOOT_FAIL) | TO(NODE_FAIL),
    [PB__JOB_STATE__RUNNING] = TO(COMPLETED) | TO(CANCELLED) | TO(FAILED) | TO(TIMEOUT) |
                               TO(NODE_FAIL) | TO(PREEMPTED) | TO(BOOT_FAIL) | TO(DEADLINE) |
                               TO(OUT_OF_MEMORY) | TO(SUSPENDED) | TO(PENDING),
    [PB__JOB_STATE__SUSPENDED] = TO(RUNNING) | TO(COMPLETED) | TO(CANCELLED) | TO(FAILED) |
                                 TO(TIMEOUT) | TO(NODE_FAIL) | TO(PREEMPTED) | TO(DEADLINE) |
                                 TO(OUT_OF_MEMORY),
    [PB__JOB_STATE__CANCELLED] = TO(PENDING),
    [PB__JOB_STATE__COMPLETED] = TO(PENDING),
    [PB__JOB_STATE__FAILED] = TO(PENDING),
    [PB__JOB_STATE__TIMEOUT] = TO(PENDING),
    [PB__JOB_STATE__NODE_FAIL] = TO(PENDING),
    [PB__JOB_STATE__PREEMPTED] = TO(PENDING),
    [PB__JOB_STATE__BOOT_FAIL] = TO(PENDING),
    [PB__JOB_STATE__OUT_OF_MEMORY] = TO(PENDING),
    [PB__JOB_STATE__DEADLINE] = 0,
};

bool job_state_may_become(enum _Pb__JobState from, enum _Pb__JobState to)
{
    const unsigned known = sizeof(allowed) / sizeof(allowed[0]);
    return (unsigned)from < known && (unsigned)to < known && allowed[from] >> to & 1;
}

static bool is_begun(enum _Pb__JobState state)
{
    return state == PB__JOB_STATE__RUNNING || state == PB__JOB_STATE__SUSPENDED;
}

static void count_state(struct cluster *c, enum _Pb__JobState state, int by)
{
    assert(by > 0 || state != PB__JOB_STATE__PENDING || c->pending > 0);
    assert(by > 0 || !is_begun(state) || c->running > 0);
    if (state == PB__JOB_STATE__PENDING)
        c->pending += (size_t)by;
    if (is_begun(state))
        c->running += (size_t)by;
}

/* Counts the job in its array if it is in the lists of one. */
static void count_element(struct cluster *c, const struct job *j, int by)
{
    if (!j->array)
        return;
    array_count(j->array, j, by);
    c->folded += (size_t)by * array_to_come(j);
}

static void change_state(struct cluster *c, struct job *j, enum _Pb__JobState to)
{
    bool begins = is_begun(to) && !is_begun(j->state), ends = is_begun(j->state) && !is_begun(to);
    if (begins) {
        resource_take(c, j);
        begun_add(c, j);
    } else if (ends) {
        resource_give_back(c, j);
    }
    assert(!ends || !j->part || j->part->running > 0);
    if (j->part)
        j->part->running += (uint32_t)begins - (uint32_t)ends;
    count_state(c, j->state, -1);
    count_element(c, j, -1);
    j->state = to;
    count_state(c, to, 1);
    count_element(c, j, 1);
}

static enum transition_kind find_transition_kind(enum _Pb__JobState from, enum _Pb__JobState to)
{
    if (to == PB__JOB_STATE__PENDING)
        return from == to ? TRANSITION_SUBMITTED : TRANSITION_REQUEUED;
    if (to == PB__JOB_STATE__SUSPENDED)
        return TRANSITION_SUSPENDED;
    if (to == PB__JOB_STATE__RUNNING)
        return is_begun(from) ? TRANSITION_RESUMED : TRANSITION_STARTED;
    return is_begun(from) ? TRANSITION_ENDED : TRANSITION_WITHDRAWN;
}

static void emit_transition(struct cluster *c, struct job *j, enum _Pb__JobState from,
                            enum transition_cause cause, const char *detail)
{
    const struct transition t = {.job = j,
                                 .attempt = j->restarts,
                                 .from = from,
                                 .to = j->state,
                                 .kind = find_transition_kind(from, j->state),
                                 .cause = cause,
                                 .detail = detail};
    if (c->observer.fn)
        c->observer.fn(c->observer.ctx, &t);
}

int job_set_state(struct cluster *c, struct job *j, enum _Pb__JobState to,
                  enum transition_cause cause, const char *detail)
{
    enum _Pb__JobState from = j->state;
    if (!job_state_may_become(from, to))
        return -ERR_TRANSITION;
    change_state(c, j, to);
    if (!job_is_final(j)) /* otherwise when it is over, with all of its nodes */
        depend_place_name(c, j);
    job_touch(c, j);
    emit_transition(c, j, from, cause, detail);
    return 0;
}

void job_announce(struct cluster *c, struct job *j)
{
    assert(j->state == PB__JOB_STATE__PENDING);
    emit_transition(c, j, j->state, CAUSE_SUBMISSION, NULL);
}

void job_load_state(struct cluster *c, struct job *j, enum _Pb__JobState state)
{
    change_state(c, j, state);
    c->begun.mixed = c->begun.mixed || is_begun(state);
}

bool job_is_final(const struct job *j)
{
    return j->state != PB__JOB_STATE__PENDING && j->state != PB__JOB_STATE__RUNNING &&
           j->state != PB__JOB_STATE__SUSPENDED;
}
