/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a trigger is told, what, and what becomes of it then. */
#include <stdlib.h>
#include <string.h>

#include "control/internal.h"

/* --- what the time brings ----------------------------------------------------------------------
 */

/* Of one attempt; INT64_MAX: its limit is never reached, or was. */
static int64_t time_due_ms(const struct control *c, const struct trigger *t)
{
    const struct array *a = array_find(c->cluster, t->job_id);
    const struct job *j = a ? array_first(a) : cluster_find_job(c->cluster, t->job_id);
    int64_t first = INT64_MAX, before = t->offset_sec < 0 ? t->offset_sec * 1000 : 0;
    if (!(t->types & TRIGGER_TIME) || t->timed || t->spent)
        return INT64_MAX;
    for (; j; j = a ? array_after(j) : NULL) {
        if (j->state != PB__JOB_STATE__RUNNING || j->limit_sec == INT64_MAX)
            continue;
        int64_t at = attempt_of(j)->start_mono_ms + job_limit_sec(j) * 1000 + before;
        first = at < first ? at : first;
    }
    return first;
}

static bool is_told(const struct trigger *t, size_t node)
{
    return t->told && bitset_test(t->told, node);
}

/* Of the nodes that are idle now and that it has not fired for. */
static int64_t idle_due_ms(const struct control *c, const struct trigger *t)
{
    const struct trigger_seen *s = &c->triggers.seen;
    int64_t first = INT64_MAX, offset = t->offset_sec > 0 ? t->offset_sec * 1000 : 0;
    if (!(t->types & TRIGGER_IDLE) || s->of != c->cluster)
        return INT64_MAX;
    for (size_t i = 0; i < c->cluster->nodes.len; i++) {
        bool meant = s->idle_ms[i] >= 0 && (!t->of || bitset_test(t->of, i)) && !is_told(t, i);
        if (meant && s->idle_ms[i] + offset < first)
            first = s->idle_ms[i] + offset;
    }
    return first;
}

static void hit_idle(struct control *c, struct trigger *t)
{
    const struct trigger_seen *s = &c->triggers.seen;
    int64_t now = control_mono(c), offset = t->offset_sec > 0 ? t->offset_sec * 1000 : 0;
    for (size_t i = 0; i < c->cluster->nodes.len; i++) {
        bool meant = s->idle_ms[i] >= 0 && (!t->of || bitset_test(t->of, i)) && !is_told(t, i);
        if (!meant || s->idle_ms[i] + offset > now)
            continue;
        if (!t->told)
            t->told = bitset_new(c->cluster->nodes.len);
        bitset_set(t->told, i);
        trigger_hit(c, t, TRIGGER_IDLE, c->cluster->nodes.data[i]->name);
    }
}

/* --- firing ------------------------------------------------------------------------------------
 */

/* Of the names as many as one command line takes; the rest stays. */
static char *take_names(struct trigger *t)
{
    struct str text = STR_INIT;
    struct hostlist *rest = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    hostlist_uniq(t->hit);
    hostlist_format(t->hit, &text);
    while (text.len > TRIGGER_ARGUMENT_MAX) {
        struct hostlist *half = hostlist_new();
        size_t count = hostlist_count(t->hit);
        rest = rest ? rest : hostlist_new();
        for (size_t i = 0; i < count; i++)
            hostlist_push(i < count / 2 ? half : rest, hostlist_nth(t->hit, i, name));
        hostlist_free(t->hit);
        t->hit = half;
        str_clear(&text);
        hostlist_format(t->hit, &text);
    }
    hostlist_free(t->hit);
    t->hit = rest;
    return str_take(&text);
}

static char *take_argument(struct trigger *t)
{
    struct str text = STR_INIT;
    if (t->job_id)
        return mem_printf("%u", t->job_id);
    if (t->hit)
        return take_names(t);
    trigger_format_types(t->hits, &text);
    return str_take(&text);
}

/* Its program's words, and what it is told. */
static void run(struct control *c, struct trigger *t)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    char *env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                   arena_printf(&arena, "SLURM_CONF=%s", c->conf->path),
                   arena_printf(&arena, "SLURM_CLUSTER_NAME=%s", c->conf->cluster_name)};
    char *argv[TRIGGER_PROGRAM_MAX / 2 + 2], *save = NULL;
    char *words = arena_printf(&arena, "%s", t->program);
    m.kind = PB__SCRIPT_KIND__SCRIPT_TRIGGER;
    m.job_id = t->id;
    m.restarts = ++t->run;
    m.path = strtok_r(words, " ", &save);
    for (char *word = strtok_r(NULL, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[m.n_argv++] = word;
    argv[m.n_argv++] = t->argument;
    m.argv = argv;
    m.env = env;
    m.n_env = sizeof env / sizeof env[0];
    m.has_limit_sec = m.has_uid = m.has_gid = true;
    m.limit_sec = TRIGGER_LIMIT_SEC;
    m.uid = t->uid;
    m.gid = t->gid;
    c->env->run(c->env->ctx, &m);
}

static void fire(struct control *c, struct trigger *t)
{
    free(t->argument);
    t->argument = take_argument(t);
    t->fired_ms = control_mono(c);
    t->timed = t->timed || t->hits & TRIGGER_TIME;
    t->changed = true;
    c->triggers.stale = true;
    control_log(c, LOG_LVL_INFO, "trigger %u fires: %s %.200s", t->id, t->program, t->argument);
    if (t->hit) { /* what did not fit */
        t->due_ms = control_mono(c) + TRIGGER_EVERY_MS;
    } else {
        t->hits = 0;
        t->due_ms = 0;
        t->spent = !(t->flags & TRIGGER_PERM) || !trigger_may_happen(c, t);
    }
    if (c->env->run)
        run(c, t);
    else
        free(take_ptr(t->argument));
}

/* No user's programs keep those of others from running. */
static bool has_room(const struct control *c, const struct trigger *t)
{
    size_t all = 0, own = 0;
    vec_foreach (&c->triggers.all, at) {
        all += (*at)->argument != NULL;
        own += (*at)->argument && (*at)->uid == t->uid;
    }
    if (t->uid == 0 || t->uid == c->conf->slurm_uid)
        return all < TRIGGER_RUNS;
    return all < TRIGGER_RUNS / 2 && own < TRIGGER_RUNS_OF_USER;
}

static void expire(struct control *c)
{
    for (size_t i = c->triggers.all.len; i-- > 0;) {
        struct trigger *t = c->triggers.all.data[i];
        if (t->spent && !t->argument &&
            (t->job_id || control_mono(c) - t->fired_ms >= TRIGGER_EVERY_MS))
            trigger_drop(c, t);
    }
}

static void look_at_clock(struct control *c)
{
    int64_t now = control_mono(c);
    if (!c->triggers.stale && now < c->triggers.due_ms)
        return;
    vec_foreach (&c->triggers.all, at) {
        if (time_due_ms(c, *at) <= now) {
            (*at)->timed = true;
            trigger_hit(c, *at, TRIGGER_TIME, NULL);
        }
        if ((*at)->types & TRIGGER_IDLE && idle_due_ms(c, *at) <= now)
            hit_idle(c, *at);
    }
    expire(c);
}

void trigger_turn(struct control *c)
{
    int64_t now = control_mono(c);
    if (!c->triggers.all.len)
        return;
    trigger_look(c);
    look_at_clock(c);
    vec_foreach (&c->triggers.all, t)
        if ((*t)->due_ms && (*t)->due_ms <= now && !(*t)->argument && has_room(c, *t))
            fire(c, *t);
    trigger_save_changed(c);
}

static void earlier(int64_t *due, int64_t at, int64_t now)
{
    if (at > now && at < *due)
        *due = at;
}

/* What is due and waits for room is looked at when a program ends. */
int64_t trigger_due_ms(struct control *c)
{
    struct triggers *s = &c->triggers;
    int64_t now = control_mono(c), lead = trigger_lead_due_ms(c);
    if (!s->all.len)
        return lead;
    if (s->stale || s->due_ms <= now) {
        s->stale = false;
        s->due_ms = INT64_MAX;
        vec_foreach (&s->all, at) {
            const struct trigger *t = *at;
            earlier(&s->due_ms, t->due_ms, now);
            earlier(&s->due_ms, time_due_ms(c, t), now);
            earlier(&s->due_ms, idle_due_ms(c, t), now);
            if (t->spent)
                earlier(&s->due_ms, t->fired_ms + TRIGGER_EVERY_MS, now);
        }
    }
    return lead < s->due_ms ? lead : s->due_ms;
}

/* --- programs ----------------------------------------------------------------------------------
 */

void trigger_run_again(struct control *c)
{
    vec_foreach (&c->triggers.all, t)
        if ((*t)->argument && c->env->run)
            run(c, *t);
}

void trigger_ended(struct control *c, const Pb__ScriptEnded *m)
{
    struct trigger *t = NULL;
    vec_foreach (&c->triggers.all, at)
        if ((*at)->id == m->job_id && (*at)->run == m->restarts)
            t = *at;
    if (m->text)
        control_log(c, LOG_LVL_ERROR, "trigger %u: %s", m->job_id, m->text);
    if (!t || !t->argument)
        return;
    control_log(c, LOG_LVL_DEBUG, "trigger %u: its program has ended", t->id);
    free(take_ptr(t->argument));
    if (t->cleared) {
        trigger_drop(c, t);
        return;
    }
    t->spent = t->spent || (!t->hits && !trigger_may_happen(c, t));
    t->changed = true;
    c->triggers.stale = true;
}
