/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/counted.h"

#include "slurmd/attempt.h"
#include "slurmd/contain.h"

static struct job *job_of(struct slurmd *d, const struct tally_step *s)
{
    return d->contain && d->conf->cgroup.gather && s->shepherd ? job_find(d, s->job_id, s->restarts)
                                                               : NULL;
}

void counted_memory(struct slurmd *d, struct tally *t)
{
    vec_foreach (&t->steps, at) {
        struct tally_step *s = *at;
        struct job *j = job_of(d, s);

        s->counted = j && contain_memory(j, s->step_id, &s->counted_kib);
    }
}

void counted_time(struct slurmd *d, const struct tally_step *s, Pb__Usage *m)
{
    struct job *j = job_of(d, s);

    if (j)
        contain_time(j, s->step_id, m);
}
