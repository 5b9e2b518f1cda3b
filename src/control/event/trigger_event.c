/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events, and the triggers that they concern. Nodes are compared with their last observed
 * states: their flags whenever a node is saved, their use by jobs once in a turn.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pb.h"
#include "control/core/aside.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/event/job_event.h"
#include "control/event/record.h"
#include "control/event/trigger.h"
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
    return c->triggers->seen.quiet[i] && bitset_test(c->cluster->pool.usable, i);
}

/* --- marking -----------------------------------------------------------------------------------
 */

static int64_t due_after(const struct control *c, const struct trigger *t, uint32_t type)
{
    int64_t now = control_mono(c), at = now;
    /* The offset of other types is relative to the event. */
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
    c->triggers->stale = true;
}

/* Returns the next record: after the leader of a job set, which stands for the whole set, the other
 * components, and after an element of a job array the next element if the trigger is about all of
 * them. */
static struct job *next_record(const struct trigger *t, const struct job *j)
{
    const struct job *leader = job_set_component(j, 0);
    bool is_component = t->leader_only || (j->set_offset > 0 && j->id == t->job_id);
    struct job *next = is_component ? NULL : named_next(j);
    bool is_whole =
        leader && leader->array && leader->array->id == t->job_id && t->task == ARRAY_NO_TASK;
    return !next && is_whole && !t->leader_only ? array_after(leader) : next;
}

static bool job_has_node(const struct control *c, const struct trigger *t, uint32_t node)
{
    for (struct job *j = trigger_find_job(c, t); j; j = next_record(t, j))
        if (alloc_find(j, node))
            return true;
    return false;
}

/* A job that holds a drained node makes it DRAINING: this state is delivered. */
static uint32_t of_job(uint32_t types, uint8_t came)
{
    types &= ~(uint32_t)TRIGGER_DRAINED;
    return types | (came & SEEN_DRAIN ? TRIGGER_DRAINED : 0);
}

static void hit_triggers_of_node(struct control *c, const struct node *n, uint32_t types,
                                 uint8_t came)
{
    vec_foreach (&c->triggers->all, at) {
        struct trigger *t = *at;
        uint32_t meant = t->types & (t->job_id ? of_job(types, came) : types);
        if (!meant || t->flags & TRIGGER_FRONT_END)
            continue;
        if (t->job_id ? job_has_node(c, t, n->index) : !t->of || bitset_test(t->of, n->index))
            trigger_hit(c, t, meant, t->job_id ? NULL : n->name);
    }
}

static void hit_all_triggers(struct control *c, uint32_t type)
{
    vec_foreach (&c->triggers->all, t)
        if ((*t)->types & type)
            trigger_hit(c, *t, type, NULL);
}

/* --- nodes -------------------------------------------------------------------------------------
 */

void trigger_watch(struct control *c)
{
    struct trigger_seen *s = &c->triggers->seen;
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
    struct trigger_seen *s = &c->triggers->seen;
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
    hit_triggers_of_node(c, n, types, came);
    if ((old ^ now) & (uint8_t)~SEEN_DRAINED)
        hit_all_triggers(c, TRIGGER_RECONFIG);
}

static void not_idle(struct control *c, size_t i)
{
    c->triggers->seen.idle_ms[i] = -1;
    vec_foreach (&c->triggers->all, at) {
        struct trigger *t = *at;
        if (!t->fired || !bitset_test(t->fired, i))
            continue;
        bitset_unset(t->fired, i);
        t->changed = true;
    }
}

/* The planner's arrays show which nodes may have changed: few nodes are visited. */
void trigger_look(struct control *c)
{
    struct triggers *t = c->triggers;
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
    const struct job *j = trigger_find_job(c, t);
    if (!a && !j)
        return aside_holds(c, t->job_id);
    if (a && t->task == ARRAY_NO_TASK)
        return !array_is_over(a);
    if (!j)
        return a->missing > 0;
    return !job_is_final(j) || attempt_of(j)->requeue_after;
}

static void end_trigger(struct control *c, struct trigger *t, bool timed_out)
{
    uint32_t types = t->types & TRIGGER_FINI;
    if (timed_out && !t->timed)
        types |= t->types & TRIGGER_TIME;
    if (types)
        trigger_hit(c, t, types, NULL);
    else if (!t->hits && !t->argument)
        trigger_drop(c, t);
}

/* Marks triggers of the job or array; if a record of the array is given, of its elements
 * instead. */
static void over_by_id(struct control *c, uint32_t id, const struct job *elements, bool timed_out)
{
    uint32_t count;
    if (!idmap_get(&c->triggers->jobs, id, &count))
        return;
    for (size_t i = c->triggers->all.len; i-- > 0;) {
        struct trigger *t = c->triggers->all.data[i];
        bool is_whole = t->task == ARRAY_NO_TASK;
        if (t->job_id == id &&
            (elements ? !is_whole && array_record_has(elements, t->task) : is_whole))
            end_trigger(c, t, timed_out);
    }
}

void trigger_job_over(struct control *c, const struct job *j)
{
    bool timed_out = j->state == PB__JOB_STATE__TIMEOUT;
    if (!c->triggers->jobs.count)
        return;
    if (j->array)
        over_by_id(c, j->array->id, j, timed_out);
    if (j->array && array_is_over(j->array))
        over_by_id(c, j->array->id, NULL, timed_out);
    if (!j->array || j->id != j->array->id)
        over_by_id(c, j->id, NULL, timed_out);
}

/* Delivers the end of jobs whose records are lost. */
static void hit_triggers_of_lost_jobs(struct control *c)
{
    for (size_t i = c->triggers->all.len; i-- > 0;) {
        struct trigger *t = c->triggers->all.data[i];
        if (!t->spent && !t->hits && !t->argument && !trigger_may_happen(c, t))
            end_trigger(c, t, false);
    }
}

void trigger_job_gone(struct control *c, uint32_t id)
{
    over_by_id(c, id, NULL, false);
    hit_triggers_of_lost_jobs(c);
}

/* --- the rest ----------------------------------------------------------------------------------
 */

void trigger_reconfigured(struct control *c)
{
    hit_all_triggers(c, TRIGGER_RECONFIG);
}

void trigger_start(struct control *c)
{
    if (c->triggers->all.len)
        trigger_watch(c);
    trigger_lead_start(c);
    hit_triggers_of_lost_jobs(c);
    trigger_reconfigured(c);
    trigger_run_again(c);
}

/* --- delivery ------------------------------------------------------------------------------------
 * When the program of a trigger is run, with which arguments, and what follows. */

/* --- times --------------------------------------------------------------------------------------
 */

/* For one attempt; INT64_MAX: its limit is never reached, or was reached. */
static int64_t time_due_ms(const struct control *c, const struct trigger *t)
{
    int64_t first = INT64_MAX, before = t->offset_sec < 0 ? t->offset_sec * 1000 : 0;
    if (!(t->types & TRIGGER_TIME) || t->timed || t->spent)
        return INT64_MAX;
    for (const struct job *j = trigger_find_job(c, t); j; j = next_record(t, j)) {
        if (j->state != PB__JOB_STATE__RUNNING || j->limit_sec == INT64_MAX)
            continue;
        int64_t at = attempt_of(j)->start_mono_ms + job_limit_sec(j) * 1000 + before;
        first = at < first ? at : first;
    }
    return first;
}

static bool has_fired_for_node(const struct trigger *t, size_t node)
{
    return t->fired && bitset_test(t->fired, node);
}

/* For idle nodes for which it has not fired. */
static int64_t idle_due_ms(const struct control *c, const struct trigger *t)
{
    const struct trigger_seen *s = &c->triggers->seen;
    int64_t first = INT64_MAX, offset = t->offset_sec > 0 ? t->offset_sec * 1000 : 0;
    if (!(t->types & TRIGGER_IDLE) || s->of != c->cluster)
        return INT64_MAX;
    for (size_t i = 0; i < c->cluster->nodes.len; i++) {
        bool meant =
            s->idle_ms[i] >= 0 && (!t->of || bitset_test(t->of, i)) && !has_fired_for_node(t, i);
        if (meant && s->idle_ms[i] + offset < first)
            first = s->idle_ms[i] + offset;
    }
    return first;
}

static void hit_idle(struct control *c, struct trigger *t)
{
    const struct trigger_seen *s = &c->triggers->seen;
    int64_t now = control_mono(c), offset = t->offset_sec > 0 ? t->offset_sec * 1000 : 0;
    for (size_t i = 0; i < c->cluster->nodes.len; i++) {
        bool meant =
            s->idle_ms[i] >= 0 && (!t->of || bitset_test(t->of, i)) && !has_fired_for_node(t, i);
        if (!meant || s->idle_ms[i] + offset > now)
            continue;
        if (!t->fired)
            t->fired = bitset_new(c->cluster->nodes.len);
        bitset_set(t->fired, i);
        trigger_hit(c, t, TRIGGER_IDLE, c->cluster->nodes.data[i]->name);
    }
}

/* --- firing ------------------------------------------------------------------------------------
 */

/* Takes as many names as fit on a command line; the rest stays. */
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
        return trigger_job_text(t->job_id, t->task, t->leader_only);
    if (t->hit)
        return take_names(t);
    trigger_format_types(t->hits, &text);
    return str_take(&text);
}

/* Runs its program with its arguments. */
static void run_program(struct control *c, struct trigger *t)
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

static void fire_trigger(struct control *c, struct trigger *t)
{
    free(t->argument);
    t->argument = take_argument(t);
    t->fired_ms = control_mono(c);
    t->timed = t->timed || t->hits & TRIGGER_TIME;
    t->changed = true;
    c->triggers->stale = true;
    control_log(c, LOG_LVL_INFO, "trigger %u fires: %s %.200s", t->id, t->program, t->argument);
    if (t->hit) { /* names that did not fit */
        t->due_ms = control_mono(c) + TRIGGER_EVERY_MS;
    } else {
        t->hits = 0;
        t->due_ms = 0;
        t->spent = !(t->flags & TRIGGER_PERM) || !trigger_may_happen(c, t);
    }
    if (c->env->run)
        run_program(c, t);
    else
        free(take_ptr(t->argument));
}

/* The programs of one user do not keep those of others from running. */
static bool has_program_room(const struct control *c, const struct trigger *t)
{
    size_t all = 0, own = 0;
    vec_foreach (&c->triggers->all, at) {
        all += (*at)->argument != NULL;
        own += (*at)->argument && (*at)->uid == t->uid;
    }
    if (t->uid == 0 || t->uid == c->conf->slurm_uid)
        return all < TRIGGER_RUNS;
    return all < TRIGGER_RUNS / 2 && own < TRIGGER_RUNS_OF_USER;
}

static void drop_spent_triggers(struct control *c)
{
    for (size_t i = c->triggers->all.len; i-- > 0;) {
        struct trigger *t = c->triggers->all.data[i];
        if (t->spent && !t->argument &&
            (t->job_id || control_mono(c) - t->fired_ms >= TRIGGER_EVERY_MS))
            trigger_drop(c, t);
    }
}

static void hit_timed_triggers(struct control *c)
{
    int64_t now = control_mono(c);
    if (!c->triggers->stale && now < c->triggers->due_ms)
        return;
    vec_foreach (&c->triggers->all, at) {
        if (time_due_ms(c, *at) <= now) {
            (*at)->timed = true;
            trigger_hit(c, *at, TRIGGER_TIME, NULL);
        }
        if ((*at)->types & TRIGGER_IDLE && idle_due_ms(c, *at) <= now)
            hit_idle(c, *at);
    }
    drop_spent_triggers(c);
}

void trigger_turn(struct control *c)
{
    int64_t now = control_mono(c);
    if (!c->triggers->all.len)
        return;
    trigger_look(c);
    hit_timed_triggers(c);
    vec_foreach (&c->triggers->all, t)
        if ((*t)->due_ms && (*t)->due_ms <= now && !(*t)->argument && has_program_room(c, *t))
            fire_trigger(c, *t);
    trigger_save_changed(c);
}

static void take_earlier(int64_t *due, int64_t at, int64_t now)
{
    if (at > now && at < *due)
        *due = at;
}

/* Due triggers that wait for a free program slot are retried when a program ends. */
int64_t trigger_due_ms(const struct control *c)
{
    struct triggers *s = c->triggers;
    int64_t now = control_mono(c), lead = trigger_lead_due_ms(c);
    if (!s->all.len)
        return lead;
    if (s->stale || s->due_ms <= now) {
        s->stale = false;
        s->due_ms = INT64_MAX;
        vec_foreach (&s->all, at) {
            const struct trigger *t = *at;
            take_earlier(&s->due_ms, t->due_ms, now);
            take_earlier(&s->due_ms, time_due_ms(c, t), now);
            take_earlier(&s->due_ms, idle_due_ms(c, t), now);
            if (t->spent)
                take_earlier(&s->due_ms, t->fired_ms + TRIGGER_EVERY_MS, now);
        }
    }
    return lead < s->due_ms ? lead : s->due_ms;
}

/* --- programs ----------------------------------------------------------------------------------
 */

void trigger_run_again(struct control *c)
{
    vec_foreach (&c->triggers->all, t)
        if ((*t)->argument && c->env->run)
            run_program(c, *t);
}

void trigger_ended(struct control *c, const Pb__ScriptEnded *m)
{
    struct trigger *t = NULL;
    vec_foreach (&c->triggers->all, at)
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
    c->triggers->stale = true;
}

/* --- controllers ---------------------------------------------------------------------------------
 * Changes of the leading controller, for triggers. A controller cannot report its own end: the next
 * leader does, using the records of the previous one. Backups report from time to time that they
 * are alive. */

#define RANKS 32

void control_set_rank(struct control *c, uint32_t rank)
{
    c->triggers->lead.rank = rank;
}

void trigger_lead_restore(struct control *c, const Pb__StoreMeta *m)
{
    struct trigger_lead *l = &c->triggers->lead;
    l->known = m->has_lead_rank;
    l->last = m->lead_rank;
    l->ended = m->lead_ended;
    l->primary_failed = m->primary_failed;
    l->unresponsive = m->silent_backups;
    c->triggers->last_id =
        m->last_trigger > c->triggers->last_id ? m->last_trigger : c->triggers->last_id;
}

void trigger_lead_fill(const struct control *c, Pb__StoreMeta *m)
{
    const struct trigger_lead *l = &c->triggers->lead;
    SET(m, lead_rank, l->rank);
    SET(m, lead_ended, l->stopped);
    SET(m, primary_failed, l->primary_failed);
    SET(m, silent_backups, l->unresponsive);
    SET(m, last_trigger, c->triggers->last_id);
}

static void mark_slurmctld_event(struct control *c, uint32_t type)
{
    vec_foreach (&c->triggers->all, t)
        if ((*t)->types & type)
            trigger_hit(c, *t, type, NULL);
}

/* Delivers the failure of the previous leader. */
static void hit_failure_triggers(struct control *c, struct trigger_lead *l)
{
    if (!l->known || l->ended)
        return;
    mark_slurmctld_event(c, l->last == 0 ? TRIGGER_PRI_CTLD_FAIL : TRIGGER_BU_CTLD_FAIL);
    if (l->last == 0)
        l->primary_failed = true;
    else if (l->last < RANKS)
        l->unresponsive |= 1u << l->last;
}

static bool clear_unresponsive(struct trigger_lead *l, uint32_t rank)
{
    bool was_unresponsive = rank < RANKS && l->unresponsive >> rank & 1;
    if (was_unresponsive)
        l->unresponsive &= ~(1u << rank);
    return was_unresponsive;
}

void trigger_lead_await(struct control *c)
{
    for (uint32_t i = 0; i < RANKS; i++)
        c->triggers->lead.heard_ms[i] = control_mono(c);
}

void trigger_lead_start(struct control *c)
{
    struct trigger_lead *l = &c->triggers->lead;
    hit_failure_triggers(c, l);
    if (l->rank == 0 && l->known && l->last != 0)
        mark_slurmctld_event(c, TRIGGER_PRI_CTLD_RES_CTRL);
    if (l->rank == 0 && l->primary_failed)
        mark_slurmctld_event(c, TRIGGER_PRI_CTLD_RES_OP);
    if (l->rank == 0)
        l->primary_failed = false;
    if (l->rank != 0 && clear_unresponsive(l, l->rank))
        mark_slurmctld_event(c, TRIGGER_BU_CTLD_RES_OP);
    if (l->rank != 0 && (!l->known || l->last != l->rank))
        mark_slurmctld_event(c, TRIGGER_BU_CTLD_AS_CTRL);
    trigger_lead_await(c);
    l->last = l->rank;
    l->known = true;
    l->ended = false;
}

/* --- backups -----------------------------------------------------------------------------------
 */

static bool is_awaited(const struct control *c, uint32_t rank)
{
    const struct trigger_lead *l = &c->triggers->lead;
    return rank != 0 && rank != l->rank && rank < RANKS && rank < c->conf->controllers.len &&
           !(l->unresponsive >> rank & 1);
}

static int64_t get_silence_limit_ms(const struct control *c)
{
    return c->conf->slurmctld_timeout_sec * 1000;
}

int64_t trigger_lead_due_ms(const struct control *c)
{
    int64_t first = INT64_MAX;
    for (uint32_t i = 1; i < c->conf->controllers.len && i < RANKS; i++) {
        int64_t at = c->triggers->lead.heard_ms[i] + get_silence_limit_ms(c);
        if (is_awaited(c, i) && at < first)
            first = at;
    }
    return first;
}

void trigger_lead_tick(struct control *c)
{
    struct trigger_lead *l = &c->triggers->lead;
    for (uint32_t i = 1; i < c->conf->controllers.len && i < RANKS; i++) {
        if (!is_awaited(c, i) || control_mono(c) < l->heard_ms[i] + get_silence_limit_ms(c))
            continue;
        l->unresponsive |= 1u << i;
        control_log(c, LOG_LVL_ERROR, "backup controller %s does not answer",
                    c->conf->controllers.data[i].name);
        mark_slurmctld_event(c, TRIGGER_BU_CTLD_FAIL);
        control_save_meta(c);
    }
}

void control_backup_heard(struct control *c, const char *name)
{
    struct trigger_lead *l = &c->triggers->lead;
    const struct conf_host *h = conf_find_controller(c->conf, name);
    if (!h || h->rank >= RANKS)
        return;
    l->heard_ms[h->rank] = control_mono(c);
    if (h->rank == 0 || !clear_unresponsive(l, h->rank))
        return;
    control_log(c, LOG_LVL_INFO, "backup controller %s answers again", h->name);
    mark_slurmctld_event(c, TRIGGER_BU_CTLD_RES_OP);
    control_save_meta(c);
}
