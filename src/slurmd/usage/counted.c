/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/usage/counted.h"

#include "slurmd/attempt/attempt.h"
#include "slurmd/step/contain.h"

static struct attempt *job_of(struct slurmd *d, const struct tally_step *s)
{
    return d->contain && d->conf->cgroup.gather && s->shepherd
               ? attempt_find(d, s->job_id, s->restarts)
               : NULL;
}

void counted_memory(struct slurmd *d, struct tally *t)
{
    vec_foreach (&t->steps, at) {
        struct tally_step *s = *at;
        struct attempt *a = job_of(d, s);

        s->counted = a && contain_memory(a, s->step_id, &s->counted_kib);
    }
}

void counted_time(struct slurmd *d, const struct tally_step *s, Pb__Usage *m)
{
    struct attempt *a = job_of(d, s);

    if (a)
        contain_time(a, s->step_id, m);
}
