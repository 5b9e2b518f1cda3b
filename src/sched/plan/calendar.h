/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The free resources over time: running jobs release their resources at their time limits at the
 * latest, and pending jobs have planned starts, which other jobs must not delay. The calendar
 * covers all kinds of resources.
 *
 * Two implementations answer the same questions. The timeline (timeline.h) holds any number of
 * planned starts and serves every job. The shadow (shadow.h) holds one planned start at a fraction
 * of the cost and serves most jobs. shadow_test.c compares their answers; planned_start.c chooses.
 */
#pragma once

#include "sched/plan.h"

#define CALENDAR_NEVER INT64_MAX /* as a start: no start can be foreseen */

struct calendar;

struct calendar_ops {
    const char *name;
    /* Whether this implementation can answer questions about the job. */
    bool (*serves)(const struct cluster *c, const struct job *j);
    /* Finds the earliest start at or after 'not_before', in the reservation that the job waits for,
     * and its nodes among 'allowed'. Nothing may be planned yet. False: no answer is possible. */
    bool (*find)(struct calendar *cal, const struct job *j, const struct bitset *allowed,
                 int64_t not_before, struct selection *where, int64_t *at_sec);
    /* Reserves the resources of a planned start from that time to the job's limit. An empty
     * selection reserves nothing. */
    void (*reserve)(struct calendar *cal, const struct job *j, const struct selection *where,
                    int64_t at_sec);
    /* A check without a visit to the nodes. False: the job cannot begin at once. */
    bool (*might_fit)(const struct calendar *cal, const struct job *j);
    /* Whether the job can begin at once, in this reservation or (NULL) outside of all, and run to
     * its limit without delaying planned starts. 'where' has the nodes for a start without regard
     * to planned starts, and receives the actual nodes. */
    bool (*fits_now)(struct calendar *cal, const struct job *j, const struct resv *in,
                     const struct bitset *allowed, struct selection *where);
    /* Records that the job begins now on these nodes. */
    void (*start)(struct calendar *cal, const struct job *j, const struct selection *where);
    void (*done)(struct calendar *cal);
};

struct calendar { /* the first member of each implementation */
    const struct calendar_ops *ops;
    int64_t now_sec;
};

static inline bool calendar_find(struct calendar *cal, const struct job *j,
                                 const struct bitset *allowed, int64_t not_before,
                                 struct selection *where, int64_t *at_sec)
{
    return cal->ops->find(cal, j, allowed, not_before, where, at_sec);
}

static inline void calendar_reserve(struct calendar *cal, const struct job *j,
                                    const struct selection *where, int64_t at_sec)
{
    cal->ops->reserve(cal, j, where, at_sec);
}

static inline bool calendar_might_fit(const struct calendar *cal, const struct job *j)
{
    return cal->ops->might_fit(cal, j);
}

static inline bool calendar_fits_now(struct calendar *cal, const struct job *j,
                                     const struct resv *in, const struct bitset *allowed,
                                     struct selection *where)
{
    return cal->ops->fits_now(cal, j, in, allowed, where);
}

static inline void calendar_start(struct calendar *cal, const struct job *j,
                                  const struct selection *where)
{
    cal->ops->start(cal, j, where);
}

static inline void calendar_done(struct calendar *cal)
{
    cal->ops->done(cal);
}
