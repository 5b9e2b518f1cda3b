/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/attempt.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cluster/cluster.h"

const struct attempt attempt_none;

struct attempt *attempt_make(struct job *j)
{
    if (!j->attempt) {
        j->attempt = mem_new(struct attempt);
        j->attempt->job = j;
    }
    return j->attempt;
}

int64_t attempt_ran_ms(const struct job *j, int64_t now_mono_ms)
{
    const struct attempt *t = attempt_of(j);
    bool stands = j->state == PB__JOB_STATE__SUSPENDED;
    return stands ? t->ran_ms : now_mono_ms - t->start_mono_ms;
}

bool attempt_has_units(const struct job *j)
{
    return j->state == PB__JOB_STATE__RUNNING ||
           (j->state == PB__JOB_STATE__SUSPENDED && attempt_awaits_turn(attempt_of(j)));
}

bool attempt_stands_by(const struct job *j)
{
    return attempt_awaits_turn(attempt_of(j));
}

bool attempt_is_parked(const struct job *j)
{
    return j->state == PB__JOB_STATE__SUSPENDED && !attempt_awaits_turn(attempt_of(j));
}

void attempt_drop(struct cluster *c, struct job *j)
{
    struct attempt *t = take_ptr(j->attempt);
    if (!t)
        return;
    order_remove(&c->ends, &t->ends);
    vec_foreach (&t->alloc, a)
        alloc_node_done(a);
    vec_foreach (&t->steps, s)
        job_step_done(s);
    vec_foreach (&t->waiting_steps, w)
        str_done(&w->spec);
    vec_done(&t->alloc);
    vec_done(&t->holds);
    vec_done(&t->steps);
    vec_done(&t->waiting_steps);
    vec_done(&t->late_ports);
    notice_board_free(t->board);
    str_free(t->usage);
    free(t->resv_name);
    free(t->held_up);
    free(t);
}
