/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The set of triggers, their records, and reconfigurations. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/pb.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/event/trigger.h"
#include "control/internal.h"

void trigger_free(struct trigger *t)
{
    free(t->nodes);
    free(t->program);
    free(t->argument);
    bitset_free(t->of);
    bitset_free(t->fired);
    hostlist_free(t->hit);
    str_done(&t->newer);
    free(t);
}

static void seen_done(struct trigger_seen *s)
{
    free(s->flags);
    free(s->quiet);
    free(s->idle_ms);
    *s = (struct trigger_seen){0};
}

void trigger_done(struct triggers *s)
{
    vec_foreach (&s->all, t)
        trigger_free(*t);
    vec_done(&s->all);
    idmap_done(&s->jobs);
    seen_done(&s->seen);
}

static void count_job(struct triggers *s, uint32_t job_id, int by)
{
    uint32_t count = 0;
    if (!job_id)
        return;
    (void)idmap_get(&s->jobs, job_id, &count);
    count += (uint32_t)by;
    if (count)
        idmap_set(&s->jobs, job_id, count);
    else
        idmap_remove(&s->jobs, job_id);
}

/* Ids rise, unless records are restored in another order. */
void trigger_add(struct control *c, struct trigger *t)
{
    struct triggers *s = c->triggers;
    vec_push(&s->all, t);
    for (size_t i = s->all.len; i-- > 1 && s->all.data[i - 1]->id > t->id;) {
        s->all.data[i] = s->all.data[i - 1];
        s->all.data[i - 1] = t;
    }
    count_job(s, t->job_id, 1);
    s->types |= t->types;
    s->stale = true;
    if (t->id > s->last_id)
        s->last_id = t->id;
}

void trigger_drop(struct control *c, struct trigger *t)
{
    struct triggers *s = c->triggers;
    size_t at = 0;
    c->env->del(c->env->ctx, RECORD_TRIGGER, t->id, NULL);
    s->types = 0;
    for (size_t i = 0; i < s->all.len; i++)
        if (s->all.data[i] == t)
            at = i;
        else
            s->types |= s->all.data[i]->types;
    vec_remove(&s->all, at);
    count_job(s, t->job_id, -1);
    trigger_free(t);
    s->stale = true;
    if (!s->all.len)
        seen_done(&s->seen);
}

/* Cleared triggers with running programs are counted; otherwise a user could run any number of
 * programs. */
void trigger_clear(struct control *c, struct trigger *t)
{
    if (!t->argument) {
        trigger_drop(c, t);
        return;
    }
    c->env->del(c->env->ctx, RECORD_TRIGGER, t->id, NULL);
    t->cleared = true;
    t->changed = false;
    t->types = t->hits = 0;
    t->due_ms = 0;
    hostlist_free(take_ptr(t->hit));
    c->triggers->stale = true;
}

/* --- records -----------------------------------------------------------------------------------
 */

static int64_t wall_of(const struct control *c, int64_t mono_ms)
{
    return c->env->wall_ms(c->env->ctx) + mono_ms - control_mono(c);
}

/* By the clock of this boot; an impossible time becomes now. */
static int64_t mono_of(const struct control *c, int64_t wall_ms)
{
    int64_t by = wall_ms - c->env->wall_ms(c->env->ctx);
    bool can_be = llabs(by) <= (int64_t)TRIGGER_OFFSET_MAX * 2000;
    int64_t at = control_mono(c) + (can_be ? by : 0);
    return at > 0 ? at : 1;
}

void trigger_fill(const struct trigger *t, Pb__TriggerRecord *m)
{
    pb__trigger_record__init(m);
    SET(m, id, t->id);
    SET(m, uid, t->uid);
    SET(m, gid, t->gid);
    m->types = t->types;
    SET(m, flags, t->flags);
    SET(m, offset_sec, t->offset_sec);
    if (t->job_id)
        SET(m, job_id, t->job_id);
    if (t->task != ARRAY_NO_TASK)
        SET(m, array_task, t->task);
    if (t->leader_only)
        SET(m, set_offset, 0);
    m->nodes = t->nodes;
    m->program = t->program;
}

static void format_nodes(const struct control *c, const struct bitset *set, struct str *out)
{
    struct hostlist *list = hostlist_new();
    bitset_foreach (set, i)
        hostlist_push(list, c->cluster->nodes.data[i]->name);
    hostlist_format(list, out);
    hostlist_free(list);
}

static void save_trigger(struct control *c, struct trigger *t)
{
    _cleanup_str_ struct str packed = STR_INIT, names = STR_INIT, fired = STR_INIT;
    Pb__TriggerRecord m;
    trigger_fill(t, &m);
    m.has_request_id = true;
    m.request_id = (ProtobufCBinaryData){sizeof t->request_id, t->request_id};
    SET(&m, hits, t->hits);
    if (t->hit) {
        hostlist_uniq(t->hit);
        hostlist_format(t->hit, &names);
        m.hit_nodes = (char *)str_cstr(&names);
    }
    if (t->fired && !bitset_empty(t->fired)) {
        format_nodes(c, t->fired, &fired);
        m.told_nodes = (char *)str_cstr(&fired);
    }
    if (t->due_ms)
        SET(&m, due_at_ms, wall_of(c, t->due_ms));
    if (t->fired_ms)
        SET(&m, fired_at_ms, wall_of(c, t->fired_ms));
    m.argument = t->argument;
    SET(&m, spent, t->spent);
    SET(&m, timed, t->timed);
    pb_pack(&m.base, &packed);
    str_append(&packed, t->newer.data, t->newer.len);
    c->env->put(c->env->ctx, RECORD_TRIGGER, t->id, NULL, packed.data, packed.len);
    t->changed = false;
}

void trigger_save_changed(struct control *c)
{
    vec_foreach (&c->triggers->all, t)
        if ((*t)->changed && !(*t)->cleared)
            save_trigger(c, *t);
}

/* Returns the configured nodes of a host list; the others may return. */
static struct bitset *known_nodes(const struct control *c, const char *names)
{
    struct hostlist *list = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    if (!names || hostlist_parse(names, &list, NULL) != 0)
        return NULL;
    struct bitset *set = bitset_new(c->cluster->nodes.len);
    for (size_t i = 0; i < hostlist_count(list); i++) {
        const struct node *n = cluster_find_node(c->cluster, hostlist_nth(list, i, name));
        if (n)
            bitset_set(set, n->index);
    }
    hostlist_free(list);
    return set;
}

struct trigger *trigger_new(const struct control *c, const Pb__TriggerRecord *m)
{
    struct trigger *t = mem_new(struct trigger);
    t->types = m->types;
    t->flags = m->flags;
    t->offset_sec = m->offset_sec;
    t->job_id = m->job_id;
    t->task = m->has_array_task ? m->array_task : ARRAY_NO_TASK;
    t->nodes = mem_strdup(m->nodes);
    t->program = mem_strdup(m->program);
    t->of = known_nodes(c, m->nodes);
    if (m->request_id.len == sizeof t->request_id)
        memcpy(t->request_id, m->request_id.data, sizeof t->request_id);
    return t;
}

static struct job *find_element(const struct control *c, uint32_t job_id, uint32_t task)
{
    const struct array *a = array_find(c->cluster, job_id);
    return a ? array_element(c->cluster, a, task) : NULL;
}

struct job *trigger_find_job(const struct control *c, const struct trigger *t)
{
    const struct array *a = array_find(c->cluster, t->job_id);
    if (t->task != ARRAY_NO_TASK)
        return find_element(c, t->job_id, t->task);
    return a ? array_first(a) : cluster_find_job(c->cluster, t->job_id);
}

char *trigger_job_text(uint32_t job_id, uint32_t task, bool leader_only)
{
    const char *component = leader_only ? "+0" : "";
    return task == ARRAY_NO_TASK ? mem_printf("%u%s", job_id, component)
                                 : mem_printf("%u_%u%s", job_id, task, component);
}

static struct trigger *find_trigger(const struct control *c, uint32_t id)
{
    vec_foreach (&c->triggers->all, t)
        if ((*t)->id == id)
            return *t;
    return NULL;
}

static int check_record(const struct control *c, const Pb__TriggerRecord *m, uint64_t number,
                        struct err *err)
{
    struct err why = {0};
    if (!m)
        return err_set(err, -ERR_STORE_DAMAGED, "trigger %llu: its record does not decode",
                       (unsigned long long)number);
    if (!m->has_id || m->id != number || !m->id || !m->has_uid || !m->has_gid)
        return err_set(err, -ERR_STORE_DAMAGED, "trigger %llu: its record is not its own",
                       (unsigned long long)number);
    if (find_trigger(c, m->id))
        return err_set(err, -ERR_STORE_DAMAGED, "trigger %u: there are two records", m->id);
    if (trigger_check(m, &why) != 0)
        return err_set(err, -ERR_STORE_DAMAGED, "trigger %u: %s", m->id, why.text);
    return 0;
}

int trigger_restore(struct control *c, uint64_t number, const void *data, size_t len,
                    struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__TriggerRecord *m = arena_unpack(&arena, &pb__trigger_record__descriptor, data, len);
    int rc = check_record(c, m, number, err);
    if (rc)
        return rc;
    struct trigger *t = trigger_new(c, m);
    t->id = m->id;
    t->uid = m->uid;
    t->gid = m->gid;
    t->hits = m->hits;
    if (m->hit_nodes)
        (void)hostlist_parse(m->hit_nodes, &t->hit, NULL);
    t->fired = known_nodes(c, m->told_nodes);
    t->due_ms = m->has_due_at_ms ? mono_of(c, m->due_at_ms) : 0;
    t->fired_ms = m->has_fired_at_ms ? mono_of(c, m->fired_at_ms) : 0;
    t->argument = mem_strdup(m->argument);
    t->leader_only = m->has_set_offset;
    t->spent = m->spent;
    t->timed = m->timed;
    pb_pick_unknown(&m->base, &t->newer);
    trigger_add(c, t);
    return 0;
}

static struct bitset *carry_set(const struct control *c, const struct cluster *from,
                                const struct bitset *set)
{
    struct bitset *to = bitset_new(c->cluster->nodes.len);
    bitset_foreach (set, i) {
        const struct node *n = cluster_find_node(c->cluster, from->nodes.data[i]->name);
        if (n)
            bitset_set(to, n->index);
    }
    return to;
}

static bool has_seen(const struct trigger_seen *s)
{
    return s->flags && s->quiet && s->idle_ms;
}

/* Keeps the observed states: a node that the new configuration changes is an event. */
static void carry_seen(struct control *c, const struct cluster *from)
{
    struct trigger_seen old = c->triggers->seen, *now = &c->triggers->seen;
    *now = (struct trigger_seen){0};
    trigger_watch(c);
    assert(has_seen(&old) && has_seen(now)); /* with triggers the nodes are observed */
    vec_foreach (&c->cluster->nodes, at) {
        const struct node *n = *at, *before = cluster_find_node(from, n->name);
        if (!before)
            continue;
        now->flags[n->index] = old.flags[before->index];
        now->quiet[n->index] = old.quiet[before->index];
        now->idle_ms[n->index] = old.idle_ms[before->index];
    }
    seen_done(&old);
}

void trigger_carry(struct control *c, const struct cluster *from)
{
    if (!c->triggers->all.len)
        return;
    carry_seen(c, from);
    vec_foreach (&c->triggers->all, at) {
        struct trigger *t = *at;
        struct bitset *fired = t->fired ? carry_set(c, from, t->fired) : NULL;
        bitset_free(t->of);
        bitset_free(t->fired);
        t->of = known_nodes(c, t->nodes);
        t->fired = fired;
    }
    vec_foreach (&c->cluster->nodes, n)
        trigger_node(c, *n);
    c->triggers->stale = true;
}

int trigger_check_all(const struct control *c, struct err *err)
{
    uint32_t last = 0, count;
    vec_foreach (&c->triggers->all, at) {
        const struct trigger *t = *at;
        if (t->id <= last || t->id > c->triggers->last_id)
            return err_set(err, -ERR_INTERNAL, "trigger %u is not in its place", t->id);
        if (t->job_id && !idmap_get(&c->triggers->jobs, t->job_id, &count))
            return err_set(err, -ERR_INTERNAL, "trigger %u: its job is not counted", t->id);
        if (t->due_ms && (t->spent || !t->hits))
            return err_set(err, -ERR_INTERNAL, "trigger %u is due for nothing", t->id);
        if (t->hits && !t->due_ms && !t->spent)
            return err_set(err, -ERR_INTERNAL, "trigger %u would never be told", t->id);
        last = t->id;
    }
    return 0;
}

/* --- requests ------------------------------------------------------------------------------------
 * strigger's requests. The controller runs a trigger's program as the user who set it, so a
 * controller that is not root accepts triggers of SlurmUser only; root and SlurmUser may set any
 * trigger, other users only with SlurmctldParameters=allow_user_triggers, for nodes and for their
 * own jobs. Root and the owner may clear a trigger. */

static bool is_trusted(const struct control *c, uint32_t uid)
{
    return uid == 0 || uid == c->conf->slurm_uid;
}

static int check_who(const struct control *c, const struct caller *who, struct err *err)
{
    const char *why = NULL;
    if (conf_list_has(c->conf->slurmctld_parameters, "disable_triggers"))
        why = "SlurmctldParameters=disable_triggers is set";
    else if (c->conf->slurm_uid != 0 && who->uid != c->conf->slurm_uid)
        why = "slurmctld does not run as root, so that triggers are for SlurmUser alone";
    else if (!is_trusted(c, who->uid) && !c->conf->allow_user_triggers)
        why = "triggers are for SlurmUser and root, unless SlurmctldParameters has "
              "allow_user_triggers";
    return why ? err_set(err, -ERR_ACCESS, "%s: %s", err_text(ERR_ACCESS), why) : 0;
}

static int check_job(struct control *c, const struct caller *who, const Pb__TriggerRecord *m,
                     struct err *err)
{
    const Pb__StepId named = NAMED_JOB(m);
    bool whole = !m->has_set_offset && !m->has_array_task;
    const struct array *a = whole ? array_find(c->cluster, m->job_id) : NULL;
    struct job *j =
        m->has_array_task ? find_element(c, m->job_id, m->array_task) : named_any(c, &named);
    _cleanup_free_ char *id =
        trigger_job_text(m->job_id, m->has_array_task ? m->array_task : ARRAY_NO_TASK, false);
    if (!j || (!control_shows_job(c, who, j) && !control_owns(who, j)))
        return err_set(err, -ERR_NO_JOB, "%s: %s", err_text(ERR_NO_JOB), id);
    if (!control_owns(who, j))
        return err_set(err, -ERR_ACCESS, "%s: job %s is another user's", err_text(ERR_ACCESS), id);
    int rc = m->has_array_task ? 0 : named_job(c, &named, &j, err);
    if (rc != 0)
        return rc;
    if (a ? array_is_over(a) : job_is_final(j) && !attempt_of(j)->requeue_after)
        return err_set(err, -ERR_JOB_DONE, "%s: %s", err_text(ERR_JOB_DONE),
                       m->has_set_offset ? JOB_ID_TEXT(j) : id);
    return 0;
}

static int check_room(const struct control *c, const struct caller *who, struct err *err)
{
    size_t own = 0;
    vec_foreach (&c->triggers->all, t)
        own += (*t)->uid == who->uid;
    if (c->triggers->all.len >= TRIGGER_MAX)
        return err_set(err, -ERR_LIMIT, "%s: there are %zu triggers: clear some first",
                       err_text(ERR_LIMIT), c->triggers->all.len);
    if (!is_trusted(c, who->uid) && c->triggers->all.len >= TRIGGER_MAX - TRIGGER_RESERVED)
        return err_set(err, -ERR_LIMIT,
                       "%s: there are %zu triggers, and the last %d are reserved for root and "
                       "SlurmUser: try again later",
                       err_text(ERR_LIMIT), c->triggers->all.len, TRIGGER_RESERVED);
    if (!is_trusted(c, who->uid) && own >= TRIGGER_MAX_OF_USER)
        return err_set(err, -ERR_LIMIT, "%s: you have %d triggers: clear some first",
                       err_text(ERR_LIMIT), TRIGGER_MAX_OF_USER);
    return 0;
}

static int check_nodes(const struct control *c, const Pb__TriggerRecord *m, struct err *err)
{
    struct bitset *set = NULL;
    int rc = m->nodes ? cluster_node_set(c->cluster, m->nodes, &set, err) : 0;
    bitset_free(set);
    return rc;
}

static bool is_alike(const struct trigger *t, const struct trigger *other)
{
    return t->uid == other->uid && t->types == other->types && t->job_id == other->job_id &&
           t->task == other->task && t->leader_only == other->leader_only &&
           t->offset_sec == other->offset_sec && str_eq(t->nodes, other->nodes) &&
           str_eq(t->program, other->program) &&
           ((t->flags ^ other->flags) & TRIGGER_FRONT_END) == 0;
}

static struct trigger *find_alike(const struct control *c, const struct trigger *as, bool spent)
{
    vec_foreach (&c->triggers->all, t)
        if (*t != as && (*t)->spent == spent && is_alike(*t, as))
            return *t;
    return NULL;
}

/* A new trigger takes over the events since the previous equal trigger fired, and its nodes and
 * time: a program that sets its trigger again is not run all the time. */
static void inherit_hits(struct control *c, struct trigger *t, struct trigger *before)
{
    t->fired = take_ptr(before->fired);
    t->fired_ms = before->fired_ms;
    if (!before->hits)
        return;
    t->hits = before->hits;
    t->hit = take_ptr(before->hit);
    t->due_ms = control_mono(c) +
                (t->offset_sec > 0 && !(t->types & TRIGGER_IDLE) ? t->offset_sec * 1000 : 0);
    if (t->due_ms < t->fired_ms + TRIGGER_EVERY_MS)
        t->due_ms = t->fired_ms + TRIGGER_EVERY_MS;
    before->hits = 0;
    before->changed = t->changed = true;
}

static void reply_set(struct control *c, uint64_t call, const struct trigger *t)
{
    _cleanup_str_ struct str note = STR_INIT;
    Pb__TriggerReply reply = PB__TRIGGER_REPLY__INIT;
    reply.has_id = true;
    reply.id = t->id;
    if (!trigger_is_raised(t->types, t->flags)) {
        str_printf(&note, "trigger %u is kept, and nothing will ever raise it: there is no %s here",
                   t->id,
                   t->types & TRIGGER_PRI_CTLD_ACCT_FULL
                       ? "accounting storage"
                       : trigger_resource(t->types, t->flags, t->job_id));
        reply.note = (char *)str_cstr(&note);
    }
    c->env->reply(c->env->ctx, call, &reply.base);
}

static void set_trigger(struct control *c, uint64_t call, const struct caller *who,
                        struct trigger *t)
{
    struct triggers *s = c->triggers;
    struct trigger *before = find_alike(c, t, true);
    t->id = s->last_id + 1;
    t->changed = true;
    trigger_add(c, t);
    trigger_watch(c);
    if (before)
        inherit_hits(c, t, before);
    control_save_meta(c); /* its id is not assigned again */
    control_log(c, LOG_LVL_INFO, "trigger %u set by uid %u: %s", t->id, who->uid, t->program);
    reply_set(c, call, t);
}

static int check_all(struct control *c, const struct caller *who, const Pb__TriggerRecord *m,
                     struct err *err)
{
    int rc = check_who(c, who, err);
    if (rc == 0)
        rc = trigger_check(m, err);
    if (rc == 0 && m->has_job_id)
        rc = check_job(c, who, m, err);
    if (rc == 0)
        rc = check_nodes(c, m, err);
    if (rc == 0)
        rc = check_room(c, who, err);
    return rc;
}

struct about {
    uint32_t job_id, task; /* as in struct trigger; job_id 0: the component does not exist */
    bool leader_only;
};

/* Returns what a trigger stores: for a component its own id. An element of a job array, or its
 * leader if the element is a job set, is stored as the element: its id may be the id of the
 * array. */
static struct about find_about(const struct control *c, const Pb__StepId *id, uint32_t task)
{
    struct job *j = NULL;
    if (!id->has_set_offset || task != ARRAY_NO_TASK)
        return (struct about){id->job_id, task, id->has_set_offset};
    if (named_component(c, id, &j, NULL) != 0)
        return (struct about){0, ARRAY_NO_TASK, false};
    if (j->array)
        return (struct about){j->array->id, j->task, true};
    return (struct about){j->id, ARRAY_NO_TASK, job_set_is_leader(j)};
}

void control_trigger_set(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__TriggerRecord *m)
{
    struct err err = {0};
    if (check_all(c, who, m, &err) != 0) {
        control_refuse(c, call, &err);
        return;
    }
    trigger_look(c); /* earlier events do not count */
    struct trigger *t = trigger_new(c, m);
    const Pb__StepId id = NAMED_JOB(m);
    struct about about = find_about(c, &id, t->task);
    t->job_id = about.job_id;
    t->task = about.task;
    t->leader_only = about.leader_only;
    t->uid = who->uid;
    t->gid = who->gid;
    const struct trigger *same = find_alike(c, t, false);
    bool again = same && m->request_id.len == sizeof t->request_id &&
                 memcmp(same->request_id, t->request_id, sizeof t->request_id) == 0;
    if (again)
        reply_set(c, call, same); /* its reply was lost */
    else if (same)
        control_refuse_code(c, call, ERR_TRIGGER_EXISTS, NULL);
    else
        set_trigger(c, call, who, take_ptr(t));
    if (t)
        trigger_free(t);
}

/* --- selection ----------------------------------------------------------------------------------
 */

static bool lists_number(const uint32_t *list, size_t count, uint32_t number)
{
    bool found = count == 0;
    for (size_t i = 0; i < count; i++)
        found = found || list[i] == number;
    return found;
}

static bool has_job(const struct control *c, const Pb__TriggerFilter *f, const struct trigger *t)
{
    bool found = f->n_job_id == 0;
    for (size_t i = 0; i < f->n_job_id && !found; i++) {
        Pb__StepId id = PB__STEP_ID__INIT;
        id.job_id = f->job_id[i];
        id.has_set_offset = f->has_set_offset;
        id.set_offset = f->set_offset;
        struct about about = find_about(c, &id, f->has_array_task ? f->array_task : ARRAY_NO_TASK);
        found = t->job_id && t->job_id == about.job_id && t->task == about.task &&
                t->leader_only == about.leader_only;
    }
    return found;
}

static bool is_meant(const struct control *c, const struct trigger *t, const Pb__TriggerFilter *f,
                     const struct bitset *nodes)
{
    return !t->spent && !t->cleared && lists_number(f->id, f->n_id, t->id) && has_job(c, f, t) &&
           lists_number(f->uid, f->n_uid, t->uid) && (!f->types || t->types & f->types) &&
           (!f->nodes || (!t->job_id && nodes && (!t->of || bitset_intersects(t->of, nodes))));
}

static bool is_trigger_shown(struct control *c, const struct caller *who, const struct trigger *t)
{
    if (t->uid == who->uid)
        return true;
    const struct job *j = t->job_id ? trigger_find_job(c, t) : NULL;
    if (t->job_id)
        return !control_hides(c, who, "jobs") || (j && j->uid == who->uid);
    return !control_hides(c, who, "nodes");
}

/* --- clearing -----------------------------------------------------------------------------------
 */

static bool may_clear(const struct caller *who, const struct trigger *t)
{
    return who->uid == 0 || who->uid == t->uid;
}

void control_trigger_clear(struct control *c, uint64_t call, const struct caller *who,
                           const Pb__TriggerFilter *f)
{
    struct triggers *s = c->triggers;
    Pb__TriggerReply reply = PB__TRIGGER_REPLY__INIT;
    size_t denied = 0;
    if (!f->n_id && !f->n_job_id && !f->n_uid) {
        control_refuse_code(c, call, ERR_PARSE, "--id, --jobid or --user says which to clear");
        return;
    }
    for (size_t i = s->all.len; i-- > 0;) {
        struct trigger *t = s->all.data[i];
        if (!is_meant(c, t, f, NULL) || !is_trigger_shown(c, who, t))
            continue;
        if (!may_clear(who, t)) {
            denied++;
            continue;
        }
        control_log(c, LOG_LVL_INFO, "trigger %u cleared by uid %u", t->id, who->uid);
        trigger_clear(c, t);
        reply.cleared++;
    }
    reply.has_cleared = true;
    if (reply.cleared)
        c->env->reply(c->env->ctx, call, &reply.base);
    else
        control_refuse_code(c, call, denied ? ERR_ACCESS : ERR_NO_TRIGGER, NULL);
}

/* --- listing ------------------------------------------------------------------------------------
 */

bool control_list_triggers(struct control *c, const struct caller *who, const Pb__TriggerFilter *f,
                           uint64_t *cursor, size_t budget, struct str *out)
{
    _cleanup_str_ struct str packed = STR_INIT;
    _cleanup_bitset_ struct bitset *nodes = NULL;
    size_t start = out->len;
    if (f->nodes)
        (void)cluster_node_set(c->cluster, f->nodes, &nodes, NULL);
    vec_foreach (&c->triggers->all, at) {
        const struct trigger *t = *at;
        Pb__TriggerRecord m;
        if (t->id <= *cursor || !is_meant(c, t, f, nodes) || !is_trigger_shown(c, who, t))
            continue;
        if (out->len - start > budget)
            return true;
        trigger_fill(t, &m);
        str_clear(&packed);
        pb_pack(&m.base, &packed);
        pb_pack_field(1, packed.data, packed.len, out);
        *cursor = t->id;
    }
    return false;
}
