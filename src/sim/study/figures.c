/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/study/figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const struct { /* of nodes that a job has */
    uint32_t first;
    const char *name;
} classes[FIGURES_CLASSES] = {
    {1, "1"},       {2, "2-4"},        {5, "5-16"},         {17, "17-64"},
    {65, "65-256"}, {257, "257-1024"}, {1025, "1025-4096"}, {4097, "more"},
};

unsigned figures_class(uint32_t nodes)
{
    unsigned i = FIGURES_CLASSES - 1;
    while (i > 0 && nodes < classes[i].first)
        i--;
    return i;
}

const char *figures_class_name(unsigned class)
{
    return classes[class].name;
}

/* --- sets of jobs ------------------------------------------------------------------------------
 */

struct sample {
    VEC(double) waits;
    VEC(double) slows;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The smallest value that so many per cent are not above. */
static double quantile(const double *sorted, size_t n, unsigned per_cent)
{
    size_t at = (n * per_cent + 99) / 100;
    return sorted[at ? at - 1 : 0];
}

static double mean(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

static void make_set(struct sample *s, struct figures_set *set)
{
    size_t n = set->jobs = s->waits.len;
    if (n) {
        qsort(s->waits.data, n, sizeof(double), by_value);
        qsort(s->slows.data, n, sizeof(double), by_value);
        set->wait_mean_sec = mean(s->waits.data, n);
        set->wait_median_sec = quantile(s->waits.data, n, 50);
        set->wait_p95_sec = quantile(s->waits.data, n, 95);
        set->wait_max_sec = s->waits.data[n - 1];
        set->slow_mean = mean(s->slows.data, n);
        set->slow_median = quantile(s->slows.data, n, 50);
        set->slow_p95 = quantile(s->slows.data, n, 95);
        set->slow_max = s->slows.data[n - 1];
    }
    vec_done(&s->waits);
    vec_done(&s->slows);
}

static void add_sample(struct sample *s, double wait, double slow)
{
    vec_push(&s->waits, wait);
    vec_push(&s->slows, slow);
}

static double bounded_slowdown(const struct replay_job *j)
{
    double wait = (double)(j->start_sec - j->submit_sec);
    double ran = (double)(j->end_sec - j->start_sec);
    double slow = (wait + ran) / (ran > FIGURES_BOUND_SEC ? ran : FIGURES_BOUND_SEC);
    return slow > 1 ? slow : 1;
}

/* --- why some did not run ----------------------------------------------------------------------
 */

/* Reasons that differ behind their colon alone, in numbers and names, are one: the first is told.
 */
static void add_why(struct figures *f, const char *text, bool refused)
{
    size_t len = strcspn(text, ":");
    vec_foreach (&f->why, w)
        if (w->refused == refused && strcspn(w->text, ":") == len &&
            strncmp(w->text, text, len) == 0) {
            w->jobs++;
            return;
        }
    vec_push(&f->why, ((struct figures_why){text, 1, refused}));
}

static int by_count(const void *a, const void *b)
{
    const struct figures_why *x = a, *y = b;
    if (x->jobs != y->jobs)
        return x->jobs > y->jobs ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* --- all of it ---------------------------------------------------------------------------------
 */

static double share_used(const struct replay *r, int64_t until_sec)
{
    double had = 0;
    double all = (double)r->cpus * (double)(until_sec - r->first_sec);
    vec_foreach (&r->attempts, a) {
        int64_t end = a->end_sec < until_sec ? a->end_sec : until_sec;
        if (end > a->start_sec)
            had += (double)a->cpus * (double)(end - a->start_sec);
    }
    return all > 0 ? had / all : 0;
}

static void count(struct figures *f, const struct replay_job *j, struct sample *all,
                  struct sample *by_class)
{
    if (j->fate == REPLAY_REFUSED || j->fate == REPLAY_WAITS) {
        bool refused = j->fate == REPLAY_REFUSED;
        f->refused += refused;
        f->waiting += !refused;
        add_why(f, j->why ? j->why : "None", refused);
        return;
    }
    double wait = (double)(j->start_sec - j->submit_sec), slow = bounded_slowdown(j);
    f->killed += j->fate == REPLAY_KILLED;
    f->restarted += j->restarts > 0;
    add_sample(all, wait, slow);
    add_sample(&by_class[figures_class(j->nodes)], wait, slow);
}

void figures_make(const struct replay *r, const char *conf, struct figures *f)
{
    struct sample all = {0}, by_class[FIGURES_CLASSES] = {0};
    *f = (struct figures){.r = r, .conf = conf};
    for (size_t i = 0; i < r->trace->jobs.len; i++)
        count(f, &r->jobs[i], &all, by_class);
    make_set(&all, &f->all);
    for (unsigned i = 0; i < FIGURES_CLASSES; i++)
        make_set(&by_class[i], &f->classes[i]);
    f->makespan_sec = r->end_sec - r->first_sec;
    f->used = share_used(r, r->end_sec);
    f->used_while = share_used(r, r->last_submit_sec);
    if (f->why.len)
        qsort(f->why.data, f->why.len, sizeof *f->why.data, by_count);
}

void figures_done(struct figures *f)
{
    vec_done(&f->why);
}
