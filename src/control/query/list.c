/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Listings: the packed records, filtered here, in parts of bounded size. The cursor is the id (or
 * the index) of the next record, so that a listing continues correctly whatever changes between its
 * parts. The licences of the cluster, with the layers of hierarchical resources, are one part.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pb.h"
#include "base/step_id.h"
#include "cluster/node/node_list.h"
#include "control/core/counters.h"
#include "control/core/facts.h"
#include "control/core/filter.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/submit/access.h"

#define EPOCH_SHIFT 40
#define RESV_FIELD 63 /* field of NodeRecord: the node's reservation */
#define PLANNED_FIELD 73

static bool state_matches(const struct job *j, const Pb__JobFilter *f)
{
    if (f->has_all_states && f->all_states)
        return true;
    if (f->n_state == 0 && !f->has_completing)
        return !job_is_final(j) || attempt_of(j)->completing;
    for (size_t i = 0; i < f->n_state; i++)
        if (f->state[i] == j->state)
            return true;
    return f->has_completing && f->completing && attempt_of(j)->completing;
}

static void put_some(const struct job *j, const Pb__JobFilter *f, struct str *part, struct str *out)
{
    struct pb_fields spec = pb_fields_read(f->spec_fields, f->n_spec_fields),
                     live = pb_fields_read(f->live_fields, f->n_live_fields);
    pb_fields_put(&live, 1, true); /* job_id */
    pb_fields_put(&live, 2, true); /* state */
    str_clear(part);
    pb_pick_fields(j->spec.data, j->spec.len, &spec, part);
    pb_pack_field(1, part->data, part->len, out);
    str_clear(part);
    pb_pick_fields(j->live.data, j->live.len, &live, part);
    pb_pack_field(2, part->data, part->len, out);
}

/* Buffers for building a record before it is sent; reused. */
struct pieces {
    struct str record, part;
};

/* The stamp includes the start of the controller, so that stamps of different starts never
 * match. */
static int64_t stamp_now(const struct control *c)
{
    return (int64_t)((c->epoch << EPOCH_SHIFT) + c->cluster->stamp);
}

static void add_job(struct control *c, struct job *j, const Pb__JobFilter *f, struct pieces *pieces,
                    struct str *out)
{
    struct str *record = &pieces->record;
    if (j->dirty || j->sched_at != j->shown_sched_at)
        job_pack_live(c->cluster, j);
    str_clear(record);
    if (f->has_with_steps && f->with_steps) {
        job_pack_record(j, record);
    } else if (f->n_spec_fields || f->n_live_fields) {
        put_some(j, f, &pieces->part, record);
    } else {
        pb_pack_field(1, j->spec.data, j->spec.len, record);
        pb_pack_field(2, j->live.data, j->live.len, record);
    }
    pb_pack_field(1, record->data, record->len, out);
}

bool control_list_jobs(struct control *c, const struct caller *who, const Pb__JobFilter *f,
                       uint64_t *cursor, size_t budget, struct str *out)
{
    struct filter filter;
    struct pieces pieces = {STR_INIT, STR_INIT};
    Pb__JobList first = PB__JOB_LIST__INIT;
    if (!*cursor) { /* changes during the transfer count as changes since the stamp */
        SET(&first, stamp, stamp_now(c));
        pb_pack(&first.base, out);
    }
    filter_init(&filter, c->cluster, f);
    size_t start = out->len, i = filter_first_job(c->cluster, *cursor);
    for (; i < c->cluster->jobs.len && out->len - start <= budget; i++) {
        struct job *j = c->cluster->jobs.data[i];
        bool shown = !control_is_on_trial(j) && control_shows_job(c, who, j);
        if (shown && state_matches(j, f) && filter_matches(&filter, j) &&
            (!f->visible || access_shows_job(c, who, j)))
            add_job(c, j, f, &pieces, out);
        *cursor = (uint64_t)j->id + 1;
    }
    str_done(&pieces.record);
    str_done(&pieces.part);
    filter_done(&filter);
    if (i < c->cluster->jobs.len)
        return true;
    Pb__JobList last = PB__JOB_LIST__INIT;
    SET(&last, now, control_wall(c));
    SET(&last, last_backfill, (int64_t)c->counters->bf_when_last_cycle);
    pb_pack(&last.base, out);
    return false;
}

bool control_unchanged_since(const struct control *c, int64_t stamp)
{
    return stamp == stamp_now(c);
}

/* --- steps ---------------------------------------------------------------------------------------
 */

static bool has_uid(const Pb__StepFilter *f, uint32_t uid)
{
    for (size_t i = 0; i < f->n_uid; i++)
        if (f->uid[i] == uid)
            return true;
    return f->n_uid == 0;
}

static bool step_matches(const struct job *j, uint32_t step_id, const Pb__StepFilter *f)
{
    bool found = f->n_ids == 0;
    for (size_t i = 0; i < f->n_ids; i++)
        found = found || (filter_names(f->ids[i], j) &&
                          (!f->ids[i]->has_step_id || f->ids[i]->step_id == step_id));
    return found;
}

/* Appends data of the job that the step's record lacks: its submission time, its run time, and its
 * array element or component of a job set. */
static void put_job_of_step(const struct control *c, const struct job *j, uint32_t step_id,
                            struct str *out)
{
    Pb__StepRecord r = PB__STEP_RECORD__INIT;
    job_name_step(j, &r);
    r.step_id = step_id;
    SET(&r, job_run_ms, control_ran_ms(c, j));
    if (j->state == PB__JOB_STATE__SUSPENDED)
        SET(&r, suspended, true);
    pb_pack(&r.base, out);
}

/* Adds a step without a record: the batch step or the extern step. */
static void add_implied_step(struct control *c, const struct job *j, uint32_t step_id,
                             struct str *out)
{
    bool batch = step_id == STEP_ID_BATCH;
    size_t count = batch ? 1 : attempt_of(j)->alloc.len;
    _cleanup_str_ struct str packed = STR_INIT, names = STR_INIT;
    _cleanup_arena_ struct arena arena;
    Pb__StepRecord r = PB__STEP_RECORD__INIT;
    arena_init(&arena, 0);
    r.layout = arena_alloc(&arena, sizeof(*r.layout) * (count + 1));
    SET(&r, num_cpus, 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct alloc_node *a = batch ? job_host(j) : &attempt_of(j)->alloc.data[i];
        const struct node *n = c->cluster->nodes.data[a->node];
        Pb__StepNode *where = arena_alloc(&arena, sizeof(*where));
        facts_put_node(n, where);
        where->cpus = a->cpus;
        SET(where, mem_mib, alloc_memory_mib(a));
        where->task_ids = arena_alloc(&arena, sizeof(uint32_t));
        where->task_ids[where->n_task_ids++] = i;
        r.layout[r.n_layout++] = where;
        r.num_cpus += where->cpus;
    }
    if (batch)
        str_puts(&names, r.layout[0]->node);
    else
        job_format_nodes(c->cluster, j, &names);
    r.job_id = j->id;
    r.step_id = step_id;
    r.name = (char *)(batch ? "batch" : "extern");
    SET(&r, state, PB__STEP_STATE__STEP_RUNNING);
    SET(&r, start_at, attempt_of(j)->start_at);
    r.nodes = (char *)str_cstr(&names);
    SET(&r, num_tasks, (uint32_t)count);
    SET(&r, num_nodes, (uint32_t)count);
    SET(&r, uid, j->uid);
    SET(&r, time_limit_sec, j->limit_sec);
    r.partition = j->part ? (char *)j->part->conf.name : NULL;
    pb_pack(&r.base, &packed);
    put_job_of_step(c, j, step_id, &packed);
    pb_pack_field(1, packed.data, packed.len, out);
}

/* With PrologFlags=Contain the extern step is on every node of the job from its begin to its
 * end. */
static bool has_extern(const struct control *c, const struct job *j)
{
    return c->conf->prolog_contain && !attempt_of(j)->configuring && attempt_of(j)->alloc.len;
}

static void add_step(const struct control *c, const struct job *j, const struct step *s,
                     struct str *out)
{
    _cleanup_str_ struct str packed = STR_INIT;
    job_pack_step(s, &packed);
    put_job_of_step(c, j, s->id, &packed);
    pb_pack_field(1, packed.data, packed.len, out);
}

bool control_list_steps(struct control *c, const struct caller *who, const Pb__StepFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    struct bitset *nodes = filter_nodes(c->cluster, f->nodes);
    size_t start = out->len, i = filter_first_job(c->cluster, *cursor);
    for (; i < c->cluster->jobs.len && out->len - start <= budget; i++) {
        const struct job *j = c->cluster->jobs.data[i];
        *cursor = (uint64_t)j->id + 1;
        if (!control_shows_job(c, who, j) || (f->visible && !access_shows_job(c, who, j)))
            continue;
        if (j->state == PB__JOB_STATE__PENDING || job_is_final(j) || !has_uid(f, j->uid) ||
            !filter_uses(j, nodes) ||
            !filter_has_word(f->partition, f->n_partition, j->part ? j->part->conf.name : NULL))
            continue;
        if (j->batch && step_matches(j, STEP_ID_BATCH, f))
            add_implied_step(c, j, STEP_ID_BATCH, out);
        if (has_extern(c, j) && step_matches(j, STEP_ID_EXTERN, f))
            add_implied_step(c, j, STEP_ID_EXTERN, out);
        vec_foreach (&attempt_of(j)->steps, s)
            if (step_matches(j, s->id, f))
                add_step(c, j, s, out);
    }
    bitset_free(nodes);
    if (i < c->cluster->jobs.len)
        return true;
    Pb__StepList last = PB__STEP_LIST__INIT;
    SET(&last, now, control_wall(c));
    pb_pack(&last.base, out);
    return false;
}

/* --- nodes and partitions ------------------------------------------------------------------------
 */

/* Returns the nodes that the request selects; NULL: all. The caller frees the set. */
static struct bitset *asked_nodes(const struct control *c, const Pb__NodeFilter *f)
{
    struct bitset *nodes = filter_nodes(c->cluster, f->nodes);
    if (!f->n_partition)
        return nodes;
    struct bitset *in_parts = bitset_new(c->cluster->nodes.len);
    vec_foreach (&c->cluster->parts, p)
        if (filter_has_word(f->partition, f->n_partition, (*p)->conf.name))
            bitset_or(in_parts, (*p)->nodes);
    if (nodes)
        bitset_and(in_parts, nodes);
    bitset_free(nodes);
    return in_parts;
}

/* All parts of a listing show the same planned nodes, unless a pass ends in between. */
static const struct bitset *find_planned_nodes(struct control *c, bool is_first)
{
    if (is_first)
        return plan_starts_find_nodes(&c->planned, c->cluster, control_wall(c), c->plan_work);
    bool fits = c->planned.nodes && c->planned.nodes->size == c->cluster->nodes.len;
    return fits ? c->planned.nodes : NULL;
}

bool control_list_nodes(struct control *c, const struct caller *who, const Pb__NodeFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    _cleanup_bitset_ struct bitset *nodes = asked_nodes(c, f);
    _cleanup_bitset_ struct bitset *blocked = leaf_find_blocked(c->cluster);
    struct node_query query = {
        .nodes = nodes,
        .blocked = blocked,
        .fields = pb_fields_read(f->fields, f->n_fields),
        .group = f->has_group && f->group,
    };
    if (pb_fields_have(&query.fields, PLANNED_FIELD))
        query.planned = find_planned_nodes(c, !*cursor);
    if (control_hides(c, who, "reservations"))
        pb_fields_put(&query.fields, RESV_FIELD, false);
    Pb__NodeList first = PB__NODE_LIST__INIT;
    if (!*cursor) {
        SET(&first, stamp, stamp_now(c));
        pb_pack(&first.base, out);
    }
    if (node_list(c->cluster, &query, cursor, budget, out))
        return true;
    Pb__NodeList last = PB__NODE_LIST__INIT;
    SET(&last, now, control_wall(c));
    pb_pack(&last.base, out);
    return false;
}

bool control_list_parts(struct control *c, const struct caller *who, const Pb__PartFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    struct str packed = STR_INIT;
    size_t start = out->len;
    for (; *cursor < c->cluster->parts.len && out->len - start <= budget; ++*cursor) {
        const struct part *p = c->cluster->parts.data[*cursor];
        if (!filter_has_word(f->name, f->n_name, p->conf.name) ||
            (f->visible && !access_shows_part(c, who, p)))
            continue;
        str_clear(&packed);
        part_pack(c->cluster, p, &packed);
        pb_pack_field(1, packed.data, packed.len, out);
    }
    str_done(&packed);
    if (*cursor < c->cluster->parts.len)
        return true;
    Pb__PartList last = PB__PART_LIST__INIT;
    SET(&last, now, control_wall(c));
    pb_pack(&last.base, out);
    return false;
}

bool control_list_resvs(struct control *c, const struct caller *who, const Pb__ResvFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    struct str packed = STR_INIT;
    size_t start = out->len;
    int64_t now = control_wall(c);
    for (; *cursor < c->cluster->resvs.len && out->len - start <= budget; ++*cursor) {
        const struct resv *r = c->cluster->resvs.data[*cursor];
        if (!filter_has_word(f->name, f->n_name, r->name) || !resv_is_shown(c, who, r))
            continue;
        str_clear(&packed);
        resv_pack_shown(c->cluster, r, now, &packed);
        pb_pack_field(1, packed.data, packed.len, out);
    }
    str_done(&packed);
    if (*cursor < c->cluster->resvs.len)
        return true;
    Pb__ResvList last = PB__RESV_LIST__INIT;
    last.has_now = true;
    last.now = now;
    pb_pack(&last.base, out);
    return false;
}

/* By reservations that are active. */
static uint64_t count_reserved(const struct control *c, int32_t at)
{
    uint64_t sum = 0;
    vec_foreach (&c->cluster->resvs, r)
        vec_foreach (&(*r)->stock, s)
            sum += s->at == at && resv_is_now(*r, control_wall(c)) ? s->count : 0;
    return sum;
}

/* "NAME:VALUE,..."; NULL: there are none. */
static char *format_amounts(const struct conf_hres_amount *list, size_t count, struct arena *arena)
{
    _cleanup_str_ struct str text = STR_INIT;
    for (size_t i = 0; i < count; i++)
        str_printf(&text, "%s%s:%llu", i ? "," : "", list[i].name,
                   (unsigned long long)list[i].value);
    return count ? arena_strdup(arena, str_cstr(&text)) : NULL;
}

static void put_layer(const struct control *c, const struct license *l, Pb__LicenseRecord *r,
                      struct arena *arena)
{
    if (!l->conf)
        return;
    const struct conf_hres *h = conf_hres_find(&c->conf->hres, l->name);
    if (l->pools && h) {
        r->variables = format_amounts(h->variables.data, h->variables.len, arena);
        r->topology = (char *)h->topology;
    }
    r->bases = format_amounts(l->conf->bases.data, l->conf->bases.len, arena);
    r->nodes = (char *)l->conf->nodes;
    SET(r, mode, l->mode);
    SET(r, count, l->count);
    SET(r, base_use, l->base);
    if (l->count != l->conf->count)
        SET(r, file_count, l->conf->count);
}

void control_fill_licenses(const struct control *c, struct arena *arena, Pb__LicenseList *list)
{
    list->licenses =
        arena_alloc(arena, sizeof(*list->licenses) * (c->cluster->licenses.list.len + 1));
    vec_foreach (&c->cluster->licenses.list, l) {
        Pb__LicenseRecord *r = arena_alloc(arena, sizeof(*r));
        pb__license_record__init(r);
        r->name = l->name;
        SET(r, total, l->total);
        SET(r, used, l->used);
        put_layer(c, l, r, arena);
        SET(r, reserved, count_reserved(c, (int32_t)(l - c->cluster->licenses.list.data)));
        list->licenses[list->n_licenses++] = r;
    }
}

struct numbered_license {
    Pb__LicenseRecord *record;
    size_t at;
};

/* By name. Those of one name stay in their order. */
static int compare_licenses(const void *a, const void *b)
{
    const struct numbered_license *x = a, *y = b;
    int order = strcmp(x->record->name, y->record->name);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void sort_licenses(Pb__LicenseList *list, struct arena *arena)
{
    struct numbered_license *all = arena_alloc(arena, sizeof(*all) * (list->n_licenses + 1));
    for (size_t i = 0; i < list->n_licenses; i++)
        all[i] = (struct numbered_license){list->licenses[i], i};
    qsort(all, list->n_licenses, sizeof(*all), compare_licenses);
    for (size_t i = 0; i < list->n_licenses; i++)
        list->licenses[i] = all[i].record;
}

void control_list_licenses(struct control *c, uint64_t call, const struct caller *who,
                           const Pb__Empty *r)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__LicenseList list = PB__LICENSE_LIST__INIT;
    control_fill_licenses(c, &arena, &list);
    sort_licenses(&list, &arena);
    c->env->reply(c->env->ctx, call, &list.base);
}
