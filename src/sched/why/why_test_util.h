/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers for the tests of this room: queued jobs, and the reason why one of them waits. */
#pragma once

#include "sched/sched_test_util.h"
#include "sched/why/why.h"

/* Queues a job with a limit of 1000 seconds. Jobs with lower ids come first. */
static inline struct job *test_queue_job(struct cluster *c, uint32_t id, const char *words)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct job *j = test_job(c, id, words);
    Pb__JobSpec spec = test_spec(&arena, words);
    spec.has_time_limit_sec = true;
    spec.time_limit_sec = j->limit_sec = 1000;
    job_repack(&j->spec, &spec.base);
    j->priority = 100 - id;
    job_partitions_queue(j);
    return j;
}

/* Returns the answer about a job. It lives as long as *w, which the caller frees. */
static inline const Pb__WhyReply *test_ask_why(struct cluster *c, uint32_t id, int64_t now_sec,
                                               struct why **w)
{
    *w = why_new(c, &(struct why_question){.job_id = id, .backfill = true, .key = -(100 - id)});
    while (why_step(*w, now_sec))
        ;
    return why_answer(*w);
}
