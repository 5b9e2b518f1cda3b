/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removes the directories of ended jobs and steps as soon as the kernel allows it. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "slurmd/step/contain_priv.h"
#include "slurmd/step/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define REMOVE_MS 200    /* milliseconds between attempts */
#define REMOVE_TRIES 300 /* one minute of attempts */

/* A directory whose removal is pending. */
struct removal {
    uid_t uid;
    struct attempt_key attempt;
    bool one_step;
    uint32_t step_id;
    unsigned tries;
};

struct contain_over {
    struct contain *k;
    VEC(struct removal) list;
    struct loop_timer *timer;
};

static int remove_one(const struct contain *k, const struct removal *r)
{
    _cleanup_(cgroup_close) struct cgroup above = {0}, job = {0};
    const struct cgroup *in = &k->base;
    char name[CGROUP_NAME_MAX];
    int rc;

    if (r->one_step) {
        if (contain_job(k, r->uid, r->attempt, false, &job, NULL))
            return 0;
        return cgroup_remove(&job, cgroup_name_step(r->step_id, name));
    }
    if (k->base.version == CGROUP_V1) {
        if (contain_above(k, r->uid, false, &above, NULL))
            return 0;
        in = &above;
    }
    rc = cgroup_remove(in, cgroup_name_job(r->attempt.id, r->attempt.restarts, name));
    if (cgroup_remove(in, cgroup_name_stepd(r->attempt.id, r->attempt.restarts, name)))
        rc = -EBUSY;
    if (!rc && in == &above)
        /* Other jobs of the user may use it. */
        cgroup_remove_empty(&k->base, cgroup_name_uid(r->uid, name));
    return rc;
}

/* Whether a new step with the same name uses the directory now. */
static bool is_there_again(const struct contain *k, const struct removal *r)
{
    const struct attempt *a = attempt_find(k->d, r->attempt.id, r->attempt.restarts);

    return a && a->phase != ATTEMPT_GONE && (!r->one_step || step_find(a, r->step_id));
}

static void give_up_removal(const struct contain *k, const struct removal *r)
{
    char job[CGROUP_NAME_MAX], step[CGROUP_NAME_MAX];

    log_error("cgroup %s/%s%s%s cannot be removed: something is still in it; it goes when slurmd "
              "starts next",
              k->base.path, cgroup_name_job(r->attempt.id, r->attempt.restarts, job),
              r->one_step ? "/" : "", r->one_step ? cgroup_name_step(r->step_id, step) : "");
}

static void on_timer(void *ctx)
{
    struct contain_over *o = ctx;

    for (size_t i = 0; i < o->list.len;) {
        struct removal *r = &o->list.data[i];
        bool over = is_there_again(o->k, r) || !remove_one(o->k, r);

        if (!over && ++r->tries >= REMOVE_TRIES) {
            give_up_removal(o->k, r);
            over = true;
        }
        if (over)
            vec_remove(&o->list, i);
        else
            i++;
    }
    if (o->list.len)
        loop_timer_set(o->timer, REMOVE_MS);
}

static struct contain_over *over_get(struct contain *k)
{
    if (!k->over) {
        k->over = mem_new(struct contain_over);
        k->over->k = k;
        k->over->timer = loop_timer_new(k->d->loop, on_timer, k->over);
    }
    return k->over;
}

void contain_over_free(struct contain_over *o)
{
    if (!o)
        return;
    vec_done(&o->list);
    loop_timer_free(o->timer);
    free(o);
}

static void remove_soon(struct contain *k, struct removal r)
{
    struct contain_over *o;

    if (!remove_one(k, &r))
        return;
    o = over_get(k);
    vec_push(&o->list, r);
    if (o->list.len == 1)
        loop_timer_set(o->timer, REMOVE_MS);
}

void contain_step_over(struct attempt *a, uint32_t step_id)
{
    if (a->d->contain)
        remove_soon(a->d->contain,
                    (struct removal){(uid_t)a->note.about->uid, a->key, true, step_id});
}

void contain_job_over(struct attempt *a)
{
    if (a->d->contain)
        remove_soon(a->d->contain, (struct removal){(uid_t)a->note.about->uid, a->key, false, 0});
}

/* --- what earlier daemons have left ----------------------------------------------------------- */

struct sweep {
    const struct contain *k;
    const struct cgroup *in;
    struct attempt *attempt;
};

static void sweep_step(void *ctx, const char *name)
{
    struct sweep *s = ctx;

    for (size_t i = 0; i < s->attempt->steps.len; i++) {
        char own[CGROUP_NAME_MAX];

        if (!strcmp(name, cgroup_name_step(s->attempt->steps.data[i]->id, own)))
            return;
    }
    cgroup_remove(s->in, name); /* a non-empty directory stays; its step is being ended */
}

static void sweep_unknown(const struct sweep *s, const char *name)
{
    _cleanup_(cgroup_close) struct cgroup job = {0};
    struct cgroup_pids left = {0};

    if (!cgroup_remove(s->in, name) || cgroup_find(s->in, name, &job))
        return;
    cgroup_pids(&job, &left);
    log_error("cgroup %s holds %zu processes of a job that this node does not know; they are left "
              "alone",
              job.path, left.list.len);
    vec_done(&left.list);
}

static void sweep_job(void *ctx, const char *name)
{
    struct sweep *s = ctx;
    _cleanup_(cgroup_close) struct cgroup dir = {0};
    bool of_shepherds;
    uint32_t id, restarts;

    of_shepherds = !cgroup_parse_stepd(name, &id, &restarts);
    if (!of_shepherds && cgroup_parse_job(name, &id, &restarts))
        return;
    s->attempt = attempt_find(s->k->d, id, restarts);
    if (!s->attempt || s->attempt->phase == ATTEMPT_GONE) {
        sweep_unknown(s, name);
    } else if (!of_shepherds && !cgroup_find(s->in, name, &dir)) {
        struct sweep below = {.k = s->k, .in = &dir, .attempt = s->attempt};

        cgroup_each(&dir, sweep_step, &below);
    }
}

static void sweep_user(void *ctx, const char *name)
{
    struct sweep *s = ctx;
    _cleanup_(cgroup_close) struct cgroup dir = {0};
    struct sweep below = {.k = s->k, .in = &dir};

    if (!str_starts(name, "uid_") || cgroup_find(&s->k->base, name, &dir))
        return;
    cgroup_each(&dir, sweep_job, &below);
    cgroup_remove_empty(&s->k->base, name);
}

void contain_sweep(struct slurmd *d)
{
    struct sweep s = {.k = d->contain, .in = d->contain ? &d->contain->base : NULL};

    if (s.k)
        cgroup_each(s.in, s.in->version == CGROUP_V1 ? sweep_user : sweep_job, &s);
}
