/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What happens, and whom it concerns. Nodes are compared with what was seen of them last: their
 * flags whenever one is saved, whether jobs use them once in a turn.
 */
#include <stdlib.h>

#include "control/internal.h"

enum seen_flag { SEEN_DOWN = 1, SEEN_DRAIN = 2, SEEN_FAIL = 4, SEEN_DRAINED = 8, SEEN_FUTURE = 16 };

static uint8_t flags_of(const struct node *n)
{
    return (uint8_t)((n->down ? SEEN_DOWN : 0) | (n->drain ? SEEN_DRAIN : 0) |
                     (n->fail ? SEEN_FAIL : 0) | (n->drain && !n->jobs ? SEEN_DRAINED : 0) |
                     (n->future ? SEEN_FUTURE : 0));
}

static bool is_quiet(const struct node *n)
{
    return n->jobs == 0;
}

static bool is_idle(const struct control *c, size_t i)
{
    return c->triggers.seen.quiet[i] && bitset_test(c->cluster->pool.usable, i);
}

/* --- marking -----------------------------------------------------------------------------------
 */

static int64_t due_after(const struct control *c, const struct trigger *t, uint32_t type)
{
    int64_t now = control_mono(c), at = now;
    /* The others' offsets are in the moment of the event. */
    bool follows = !(type & TRIGGER_IDLE) && !(type & TRIGGER_TIME && t->offset_sec < 0);
    if (follows && t->offset_sec > 0)
        at += t->offset_sec * 1000;
    if (t->fired_ms && t->fired_ms + TRIGGER_EVERY_MS > at)
        at = t->fired_ms + TRIGGER_EVERY_MS;
    return at;
}

void trigger_hit(struct control *c, struct trigger *t, uint32_t type, const char *node)
{
    t->hits |= type;
    control_debug(c, triggers, "trigger %u is hit%s%s", t->id, node ? " by node " : "",
                  node ? node : "");
    if (node && !t->hit)
        t->hit = hostlist_new();
    if (node)
        hostlist_push(t->hit, node);
    if (!t->due_ms && !t->spent)
        t->due_ms = due_after(c, t, type);
    t->changed = true;
    c->triggers.stale = true;
}

static bool job_has_node(const struct control *c, uint32_t job_id, uint32_t node)
{
    const struct array *a = array_find(c->cluster, job_id);
    struct job *j = a ? array_first(a) : cluster_find_job(c->cluster, job_id);
    for (; j; j = a ? array_after(j) : NULL)
        if (alloc_find(j, node))
            return true;
    return false;
}

/* One that holds it as long as it is drained has it DRAINING: that is what it can be told. */
static uint32_t of_job(uint32_t types, uint8_t came)
{
    types &= ~(uint32_t)TRIGGER_DRAINED;
    return types | (came & SEEN_DRAIN ? TRIGGER_DRAINED : 0);
}

static void tell_node(struct control *c, const struct node *n, uint32_t types, uint8_t came)
{
    vec_foreach (&c->triggers.all, at) {
        struct trigger *t = *at;
        uint32_t meant = t->types & (t->job_id ? of_job(types, came) : types);
        if (!meant || t->flags & TRIGGER_FRONT_END)
            continue;
        if (t->job_id ? job_has_node(c, t->job_id, n->index)
                      : !t->of || bitset_test(t->of, n->index))
            trigger_hit(c, t, meant, t->job_id ? NULL : n->name);
    }
}

static void tell_all(struct control *c, uint32_t type)
{
    vec_foreach (&c->triggers.all, t)
        if ((*t)->types & type)
            trigger_hit(c, *t, type, NULL);
}

/* --- nodes -------------------------------------------------------------------------------------
 */

void trigger_watch(struct control *c)
{
    struct trigger_seen *s = &c->triggers.seen;
    size_t count = c->cluster->nodes.len;
    if (s->of == c->cluster)
        return;
    free(s->flags);
    free(s->quiet);
    free(s->idle_ms);
    s->of = c->cluster;
    s->flags = mem_new_array(uint8_t, count + 1);
    s->quiet = mem_new_array(bool, count + 1);
    s->idle_ms = mem_new_array(int64_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct node *n = c->cluster->nodes.data[i];
        s->flags[i] = flags_of(n);
        s->quiet[i] = is_quiet(n);
        s->idle_ms[i] = is_idle(c, i) ? control_mono(c) : -1;
    }
}

static bool is_resumed(uint8_t old, uint8_t now)
{
    return old & (SEEN_DRAIN | SEEN_FAIL) && !(now & (SEEN_DOWN | SEEN_DRAIN | SEEN_FAIL));
}

void trigger_node(struct control *c, const struct node *n)
{
    struct trigger_seen *s = &c->triggers.seen;
    if (s->of != c->cluster || c->preview)
        return;
    uint8_t old = s->flags[n->index], now = flags_of(n), came = now & (uint8_t)~old;
    s->flags[n->index] = now;
    if (old == now)
        return;
    uint32_t types = came & SEEN_DOWN ? TRIGGER_DOWN : 0;
    types |= old & SEEN_DOWN && !(now & SEEN_DOWN) ? TRIGGER_UP : 0;
    types |= came & SEEN_FAIL ? TRIGGER_FAIL : 0;
    types |= came & SEEN_DRAINED ? TRIGGER_DRAINED : 0;
    types |= came & SEEN_DRAIN && !(now & SEEN_DRAINED) ? TRIGGER_DRAINING : 0;
    types |= is_resumed(old, now) ? TRIGGER_RESUME : 0;
    tell_node(c, n, types, came);
    if ((old ^ now) & (uint8_t)~SEEN_DRAINED)
        tell_all(c, TRIGGER_RECONFIG);
}

static void not_idle(struct control *c, size_t i)
{
    c->triggers.seen.idle_ms[i] = -1;
    vec_foreach (&c->triggers.all, at) {
        struct trigger *t = *at;
        if (!t->told || !bitset_test(t->told, i))
            continue;
        bitset_unset(t->told, i);
        t->changed = true;
    }
}

/* The planner's arrays say where something may be another than it was: few nodes are touched. */
void trigger_look(struct control *c)
{
    struct triggers *t = &c->triggers;
    struct trigger_seen *s = &t->seen;
    if (s->of != c->cluster || !(t->types & (TRIGGER_DRAINED | TRIGGER_IDLE)))
        return;
    const bool *whole = c->cluster->pool.now.whole;
    for (size_t i = 0; i < c->cluster->nodes.len; i++) {
        if (whole[i] != s->quiet[i]) {
            const struct node *n = c->cluster->nodes.data[i];
            s->quiet[i] = is_quiet(n);
            trigger_node(c, n);
        }
        bool idle = is_idle(c, i);
        if (idle == (s->idle_ms[i] >= 0))
            continue;
        t->stale = true;
        if (idle)
            s->idle_ms[i] = control_mono(c);
        else
            not_idle(c, i);
    }
}

/* --- jobs --------------------------------------------------------------------------------------
 */

bool trigger_may_happen(const struct control *c, const struct trigger *t)
{
    if (!t->job_id)
        return true;
    const struct array *a = array_find(c->cluster, t->job_id);
    const struct job *j = cluster_find_job(c->cluster, t->job_id);
    if (!a && !j)
        return aside_holds(c, t->job_id);
    return a ? !array_is_over(a) : !job_is_final(j) || attempt_of(j)->requeue_after;
}

static void over(struct control *c, struct trigger *t, bool timed_out)
{
    uint32_t types = t->types & TRIGGER_FINI;
    if (timed_out && !t->timed)
        types |= t->types & TRIGGER_TIME;
    if (types)
        trigger_hit(c, t, types, NULL);
    else if (!t->hits && !t->argument)
        trigger_drop(c, t);
}

static void over_by_id(struct control *c, uint32_t id, bool timed_out)
{
    uint32_t count;
    if (!idmap_get(&c->triggers.jobs, id, &count))
        return;
    for (size_t i = c->triggers.all.len; i-- > 0;)
        if (c->triggers.all.data[i]->job_id == id)
            over(c, c->triggers.all.data[i], timed_out);
}

void trigger_job_over(struct control *c, const struct job *j)
{
    bool timed_out = j->state == PB__JOB_STATE__TIMEOUT;
    if (!c->triggers.jobs.count)
        return;
    if (j->array && array_is_over(j->array))
        over_by_id(c, j->array->id, timed_out);
    if (!j->array || j->id != j->array->id)
        over_by_id(c, j->id, timed_out);
}

void trigger_job_gone(struct control *c, uint32_t id)
{
    over_by_id(c, id, false);
}

/* --- the rest ----------------------------------------------------------------------------------
 */

void trigger_reconfigured(struct control *c)
{
    tell_all(c, TRIGGER_RECONFIG);
}

/* A job that is over, and whose triggers were not told so: its record is lost. */
static void tell_bereaved(struct control *c)
{
    for (size_t i = c->triggers.all.len; i-- > 0;) {
        struct trigger *t = c->triggers.all.data[i];
        if (!t->spent && !t->hits && !t->argument && !trigger_may_happen(c, t))
            over(c, t, false);
    }
}

void trigger_start(struct control *c)
{
    if (c->triggers.all.len)
        trigger_watch(c);
    trigger_lead_start(c);
    tell_bereaved(c);
    trigger_reconfigured(c);
    trigger_run_again(c);
}
