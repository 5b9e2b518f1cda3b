/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is free when: running jobs give back what they hold at their limits at the latest, and jobs
 * that wait have planned starts, which nobody else may touch. All kinds of resources are in it.
 *
 * Two implementations answer the same questions. The timeline (timeline.h) holds any number of
 * planned starts and serves every job. The shadow (shadow.h) holds one planned start at a fraction
 * of the cost, and serves most jobs. shadow_test.c compares their answers; planned_start.c chooses.
 */
#pragma once

#include "sched/plan.h"

#define CALENDAR_NEVER INT64_MAX /* as a start: none can be foreseen */

struct calendar;

struct calendar_ops {
    const char *name;
    /* Whether it answers questions about the job. */
    bool (*serves)(const struct cluster *c, const struct job *j);
    /* The earliest start at or after 'not_before' beside what is planned, in the reservation that
     * the job waits for, and on which of these nodes; nothing is planned yet. False: it cannot
     * say. */
    bool (*find)(struct calendar *cal, const struct job *j, const struct bitset *allowed,
                 int64_t not_before, struct selection *where, int64_t *at_sec);
    /* The start is planned: nobody else gets this from then to the job's limit. An empty selection
     * plans nothing. */
    void (*reserve)(struct calendar *cal, const struct job *j, const struct selection *where,
                    int64_t at_sec);
    /* Without a look at the nodes. False: the job cannot begin at once. */
    bool (*might_fit)(const struct calendar *cal, const struct job *j);
    /* Whether the job can begin at once, in this reservation or (NULL) outside of all, and run to
     * its limit without touching what is planned. 'where' has the nodes where it would begin if
     * nothing were planned, and gets those where it can. */
    bool (*fits_now)(struct calendar *cal, const struct job *j, const struct resv *in,
                     const struct bitset *allowed, struct selection *where);
    /* The job has begun there now. */
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
