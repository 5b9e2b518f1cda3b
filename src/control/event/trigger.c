/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The triggers there are, their records, and how they survive a new configuration. */
#include <stdlib.h>
#include <string.h>

#include "base/pb.h"
#include "control/internal.h"

void trigger_free(struct trigger *t)
{
    free(t->nodes);
    free(t->program);
    free(t->argument);
    bitset_free(t->of);
    bitset_free(t->told);
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

/* Ids rise, unless records are read in another order. */
void trigger_add(struct control *c, struct trigger *t)
{
    struct triggers *s = &c->triggers;
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
    struct triggers *s = &c->triggers;
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

/* Whoever clears his triggers could have any number of programs, were they not counted. */
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
    c->triggers.stale = true;
}

/* --- records -----------------------------------------------------------------------------------
 */

static int64_t wall_of(const struct control *c, int64_t mono_ms)
{
    return c->env->wall_ms(c->env->ctx) + mono_ms - control_mono(c);
}

/* By this boot's clock; what lies so far off that it cannot be is now. */
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

static void save(struct control *c, struct trigger *t)
{
    _cleanup_str_ struct str packed = STR_INIT, names = STR_INIT, told = STR_INIT;
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
    if (t->told && !bitset_empty(t->told)) {
        format_nodes(c, t->told, &told);
        m.told_nodes = (char *)str_cstr(&told);
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
    vec_foreach (&c->triggers.all, t)
        if ((*t)->changed && !(*t)->cleared)
            save(c, *t);
}

/* Of a host list those that are configured; the others may come back. */
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
    t->nodes = mem_strdup(m->nodes);
    t->program = mem_strdup(m->program);
    t->of = known_nodes(c, m->nodes);
    if (m->request_id.len == sizeof t->request_id)
        memcpy(t->request_id, m->request_id.data, sizeof t->request_id);
    return t;
}

static struct trigger *find(const struct control *c, uint32_t id)
{
    vec_foreach (&c->triggers.all, t)
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
    if (find(c, m->id))
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
    t->told = known_nodes(c, m->told_nodes);
    t->due_ms = m->has_due_at_ms ? mono_of(c, m->due_at_ms) : 0;
    t->fired_ms = m->has_fired_at_ms ? mono_of(c, m->fired_at_ms) : 0;
    t->argument = mem_strdup(m->argument);
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

/* What was seen stays: a node that the new configuration makes another is an event. */
static void carry_seen(struct control *c, const struct cluster *from)
{
    struct trigger_seen old = c->triggers.seen, *now = &c->triggers.seen;
    *now = (struct trigger_seen){0};
    trigger_watch(c);
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
    if (!c->triggers.all.len)
        return;
    carry_seen(c, from);
    vec_foreach (&c->triggers.all, at) {
        struct trigger *t = *at;
        struct bitset *told = t->told ? carry_set(c, from, t->told) : NULL;
        bitset_free(t->of);
        bitset_free(t->told);
        t->of = known_nodes(c, t->nodes);
        t->told = told;
    }
    vec_foreach (&c->cluster->nodes, n)
        trigger_node(c, *n);
    c->triggers.stale = true;
}

int trigger_check_all(const struct control *c, struct err *err)
{
    uint32_t last = 0, count;
    vec_foreach (&c->triggers.all, at) {
        const struct trigger *t = *at;
        if (t->id <= last || t->id > c->triggers.last_id)
            return err_set(err, -ERR_INTERNAL, "trigger %u is not in its place", t->id);
        if (t->job_id && !idmap_get(&c->triggers.jobs, t->job_id, &count))
            return err_set(err, -ERR_INTERNAL, "trigger %u: its job is not counted", t->id);
        if (t->due_ms && (t->spent || !t->hits))
            return err_set(err, -ERR_INTERNAL, "trigger %u is due for nothing", t->id);
        if (t->hits && !t->due_ms && !t->spent)
            return err_set(err, -ERR_INTERNAL, "trigger %u would never be told", t->id);
        last = t->id;
    }
    return 0;
}
