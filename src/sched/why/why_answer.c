/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was found out about a job that waits, as an answer. */
#include <stdlib.h>

#include "base/pb.h"
#include "cluster/job/license_tied.h"
#include "sched/common.h"
#include "sched/select/select.h"
#include "sched/why/why_state.h"

#define HOLDERS_MOST 10
#define BEFORE_MOST 10000 /* jobs before it that are counted */
#define RESVS_MOST 4      /* that are named */
#define CHANGES_MOST 6    /* that are told */
#define CHANGES_PARTS 2   /* of these, other partitions */

/* --- what it needs
 * ---------------------------------------------------------------------------------
 */

void why_put_need(struct why *w, const struct job *j)
{
    const struct request *r = &j->want;
    Pb__WhyReply *m = w->answer;
    m->job_id = j->id;
    const struct job *asked = w->q.guest ? j : cluster_find_job(w->cluster, w->q.job_id);
    m->reason = arena_strdup(&w->arena, asked && asked->reason ? job_reason_word(asked) : "None");
    m->rule = (char *)why_word(w->rule);
    SET(m, now, w->now_sec);
    SET(m, nodes, r->min_nodes);
    SET(m, tasks, r->tasks);
    SET(m, cpus_per_task, r->cpus_per_task);
    SET(m, mem_node_mib, r->mem_node_mib);
    SET(m, mem_cpu_mib, r->mem_cpu_mib);
    m->has_mem_node_mib = r->mem_node_mib && r->mem_node_mib != UINT64_MAX;
    m->has_mem_cpu_mib = r->mem_cpu_mib > 0;
    m->has_whole_nodes = m->whole_nodes = r->exclusive;
    m->has_starts_now = m->starts_now = w->rule == WHY_NOW;
}

void why_put_before(const struct why *w, const struct job *leader)
{
    const struct why_place *own = &w->places.data[0];
    uint32_t count = 0;
    for (struct order_link *l = own->part ? order_first(&own->part->queue) : NULL; l;
         l = order_next(l), count++)
        if (l->key > own->key || (l->key == own->key && l->tie >= leader->id) ||
            count == BEFORE_MOST)
            break;
    SET(w->answer, before, count);
    w->answer->has_before_more = w->answer->before_more = count == BEFORE_MOST;
}

void why_put_short(const struct why *w, const char *what, uint64_t have, uint64_t need)
{
    w->answer->resource = (char *)what;
    SET(w->answer, have, have);
    SET(w->answer, need, need);
}

/* The first to end come first. */
static void put_holders(struct why *w, const struct common_short *s)
{
    Pb__WhyReply *m = w->answer;
    m->holders = arena_alloc(&w->arena, HOLDERS_MOST * sizeof(*m->holders));
    for (struct order_link *l = order_first(&w->cluster->ends); l && m->n_holders < HOLDERS_MOST;
         l = order_next(l)) {
        const struct job *j = job_of_end(l);
        uint64_t count = s->kind->held(w->cluster, j, s->at);
        if (!count || job_is_final(j))
            continue;
        Pb__WhyHolder *h = arena_alloc(&w->arena, sizeof(*h));
        pb__why_holder__init(h);
        h->job_id = j->id;
        SET(h, uid, j->uid);
        SET(h, count, count);
        h->has_end_at = j->limit_sec != INT64_MAX;
        h->end_at = h->has_end_at ? job_ends_at(j, attempt_of(j)->start_at) : 0;
        m->holders[m->n_holders++] = h;
    }
}

/* Of what nodes have in common. False: jobs with the reason wait for something else. */
static bool put_common(struct why *w, const struct job *j, enum reason reason)
{
    struct common_short s;
    if (!common_find_short(w->cluster, j, reason, w->now_sec, &s))
        return false;
    why_put_short(w, arena_strdup(&w->arena, s.what), s.have, s.need);
    free(s.what);
    if (s.at >= 0)
        put_holders(w, &s);
    return true;
}

char *why_name_pool(struct why *w, const struct license_need *need, const struct license *l)
{
    _cleanup_free_ char *name = license_name_pool(w->cluster, need, l);
    return arena_strdup(&w->arena, name);
}

void why_put_lack(struct why *w, const struct str *text)
{
    w->answer->lack = arena_strdup(&w->arena, str_cstr(text));
}

/* A licence, a resource or a variable that the configuration no longer has. */
static void put_gone(struct why *w, const struct job *j)
{
    _cleanup_str_ struct str text = STR_INIT;
    vec_foreach (&j->want.licenses.list, need) {
        if (need->at >= 0)
            continue;
        license_format_gone(w->cluster, need, &text);
        w->answer->resource = why_name_pool(w, need, NULL);
        why_put_lack(w, &text);
        return;
    }
}

/* More than there is of a licence. */
static void put_too_few(struct why *w, const struct job *j)
{
    vec_foreach (&j->want.licenses.list, need) {
        if (need->at < 0)
            continue;
        const struct license *l = &w->cluster->licenses.list.data[need->at];
        bool tied = license_is_tied(w->cluster, need);
        if (tied && !license_need_is_possible(w->cluster, j, need) && why_put_raises(w, j))
            return;
        if (tied || need->count <= l->total)
            continue;
        why_put_short(w, why_name_pool(w, need, NULL), l->total, need->count);
        return;
    }
    put_common(w, j, REASON_LICENSES);
}

/* Generic resources that are wanted in all: of one kind by its name. */
static bool put_scarce_gres(struct why *w, const struct request *r)
{
    const struct gres_want *first = NULL;
    uint64_t wanted = 0;
    size_t count = 0;
    vec_foreach (&r->gres.list, want) {
        first = want->per_job && !first ? want : first;
        count += want->per_job > 0;
        wanted += want->per_job;
    }
    if (!first || w->nodes.free_gres >= wanted)
        return false;
    char *name = count > 1 ? arena_strdup(&w->arena, "generic resources")
                           : arena_printf(&w->arena, "gres/%s%s%s", first->name,
                                          first->type ? ":" : "", first->type ? first->type : "");
    why_put_short(w, name, w->nodes.free_gres, wanted);
    return true;
}

static void put_scarce_nodes(struct why *w, const struct job *j)
{
    const struct request *r = &j->want;
    uint32_t have = why_nodes_count(&w->nodes, WHY_FREE);
    if (w->rule == WHY_JOB_ARRAY_TASK_LIMIT && j->array)
        why_put_short(
            w, "elements of the array",
            j->array->throttle > j->array->running ? j->array->throttle - j->array->running : 0, 1);
    else if (w->rule > WHY_UNUSABLE)
        return;
    else if (have < r->min_nodes)
        why_put_short(w, why_nodes_scarce(&w->nodes), have, r->min_nodes);
    else if (!put_scarce_gres(w, r) && w->nodes.free_tasks < r->tasks && !r->overcommit)
        why_put_short(w, "places for tasks", w->nodes.free_tasks, r->tasks);
}

/* Of a job that does not wait for licences yet: what it will never have. */
static void put_never(struct why *w, const struct job *j)
{
    bool is_gone = false;
    vec_foreach (&j->want.licenses.list, need)
        is_gone = is_gone || need->at < 0;
    if (is_gone)
        put_gone(w, j);
    else
        put_too_few(w, j);
}

static void put_scarce(struct why *w, const struct job *j)
{
    bool is_told = w->answer->has_start_at;
    if (w->rule == WHY_BEGIN_TIME && !is_told && license_possible(w->cluster, j, NULL) != 0)
        put_never(w, j);
    else if (w->rule == WHY_TOO_FEW)
        put_too_few(w, j);
    else if (w->rule == WHY_LICENSE_GONE)
        put_gone(w, j);
    else if (w->rule == WHY_SYSTEM_FAILURE && j->set)
        why_put_short(w, "records of components", j->set->present, j->set->count);
    else if (!put_common(w, j, why_reason(w->rule)))
        put_scarce_nodes(w, j);
}

/* --- reservations
 * ------------------------------------------------------------------------------------
 */

static Pb__WhyResv *say_resv(struct why *w, const struct resv *r, bool own)
{
    struct arena *arena = &w->arena;
    Pb__WhyResv *m = arena_alloc(arena, sizeof *m);
    _cleanup_str_ struct str nodes = STR_INIT, kept = STR_INIT;
    struct resv_time t;
    pb__why_resv__init(m);
    if (resv_in_parts(r)) {
        resv_format_kept(w->cluster, r, &kept);
        m->keeps = arena_strdup(arena, str_cstr(&kept));
    }
    SET(m, own, own);
    m->name = arena_strdup(arena, r->name);
    resv_format_nodes(w->cluster, r, &nodes);
    m->nodes = arena_strdup(arena, str_cstr(&nodes));
    if (resv_occurs(r, w->now_sec, &t)) {
        SET(m, start_at, t.begin);
        SET(m, end_at, t.end);
    }
    return m;
}

/* Those that keep nodes from it which it could have, and its own where that keeps parts of nodes.
 */
static void put_reservations(struct why *w, const struct job *j)
{
    int64_t until = job_ends_at(j, w->now_sec);
    Pb__WhyReply *m = w->answer;
    const struct resv *home = resv_home(j);
    bool is_of_others = w->rule == WHY_RESERVED || w->rule == WHY_REQ_NODE_NOT_AVAIL ||
                        why_nodes_count(&w->nodes, WHY_RESERVED_NODE);
    bool is_confined = home && resv_in_parts(home) && !why_is_before_nodes(w->rule);
    if (!is_of_others && !is_confined && w->rule != WHY_RESERVATION)
        return;
    _cleanup_bitset_ struct bitset *could = select_candidates(w->cluster, j);
    if (j->want.req)
        bitset_and(could, j->want.req);
    resv_restrict(home, could);
    m->reservations = arena_alloc(&w->arena, RESVS_MOST * sizeof(*m->reservations));
    vec_foreach (&w->cluster->resvs, at) {
        const struct resv *r = *at;
        bool own = home && r == home;
        if (m->n_reservations == RESVS_MOST)
            break;
        bool is_told =
            own ? is_confined || w->rule == WHY_RESERVATION
                : is_of_others && resv_is_over(r, home) && resv_overlaps(r, w->now_sec, until);
        if (is_told && bitset_intersects(r->nodes, could))
            m->reservations[m->n_reservations++] = say_resv(w, r, own);
    }
}

/* --- the answer
 * --------------------------------------------------------------------------------------
 */

static int by_worth(const void *a, const void *b)
{
    const struct why_trial *x = a, *y = b;
    if (x->now != y->now)
        return x->now ? -1 : 1;
    if (!x->now && x->start_at != y->start_at)
        return x->start_at && (!y->start_at || x->start_at < y->start_at) ? -1 : 1;
    return x->r.kind < y->r.kind ? -1 : x->r.kind > y->r.kind;
}

static bool is_worth(const struct why *w, const struct why_trial *t)
{
    const Pb__WhyReply *m = w->answer;
    bool told = why_is_foreseeable(w) && m->has_start_at;
    /* A shorter limit may leave a job what is reserved later: it does if there is a start. */
    bool may_lift = t->r.kind != RELAX_TIME_LIMIT || !why_is_of_common(w->rule);
    bool lifts = why_is_before_nodes(w->rule) && !told && may_lift;
    return t->now || lifts || (t->start_at && (!m->has_start_at || t->start_at < m->start_at));
}

static void put_change(struct why *w, const struct job *leader, const struct job *j,
                       const struct why_trial *t)
{
    _cleanup_str_ struct str what = STR_INIT, command = STR_INIT;
    Pb__WhyChange *m = arena_alloc(&w->arena, sizeof *m);
    pb__why_change__init(m);
    const struct job *of = t->r.kind == RELAX_PRIORITY ? leader : j; /* it is that of the set */
    relax_say(of, w->spec, &t->r, t->number, &what, &command);
    m->kind = (char *)relax_word(t->r.kind);
    m->what = arena_strdup(&w->arena, str_cstr(&what));
    m->command = arena_strdup(&w->arena, str_cstr(&command));
    m->has_now = m->now = t->now;
    m->has_start_at = t->now || t->start_at;
    m->start_at = t->now ? w->now_sec : t->start_at;
    m->has_by_operator = m->by_operator =
        relax_by_operator(t->r.kind) || (t->r.kind == RELAX_HOLD && w->rule == WHY_JOB_HELD_ADMIN);
    w->answer->changes[w->answer->n_changes++] = m;
}

/* Other counts of pools: whether the job starts then at once is not tried. */
static void put_count_change(struct why *w)
{
    if (!w->count_command)
        return;
    Pb__WhyChange *m = arena_alloc(&w->arena, sizeof *m);
    pb__why_change__init(m);
    m->kind = (char *)"count";
    m->what = w->count_what;
    m->command = w->count_command;
    SET(m, by_operator, true);
    w->answer->changes[w->answer->n_changes++] = m;
}

void why_finish(struct why *w, const struct job *leader, const struct job *j)
{
    size_t parts = 0;
    struct job_copy room;
    put_scarce(w, license_view_alternative(j, w->license, &room));
    if (j->part)
        put_reservations(w, j);
    why_nodes_put(&w->nodes, w->cluster, w->answer, &w->arena);
    w->answer->changes = arena_alloc(&w->arena, CHANGES_MOST * sizeof(*w->answer->changes));
    put_count_change(w);
    if (w->trials.len)
        qsort(w->trials.data, w->trials.len, sizeof(*w->trials.data), by_worth);
    vec_foreach (&w->trials, t) {
        bool part = t->r.kind == RELAX_PARTITION;
        if (!is_worth(w, t) || w->answer->n_changes == CHANGES_MOST ||
            (part && parts == CHANGES_PARTS))
            continue;
        parts += part;
        put_change(w, leader, j, t);
    }
}
