/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the resources of nodes that a starting job gets, against the shares of other jobs, by the
 * records alone. */
#include <stdlib.h>
#include <string.h>

#include "sim/rule/rule.h"

struct sim_sharing { /* sharing options of a partition, as they are now */
    bool force, yes, exclusive;
    bool sockets;  /* its SelectTypeParameters say CR_Socket */
    unsigned most; /* maximum number of jobs on a core */
};

static const Pb__PartList *parts_now(struct sim *s, struct arena *arena)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    Pb__PartFilter filter = PB__PART_FILTER__INIT;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    while (control_list_parts(s->c->control, &root, &filter, &cursor, 1 << 20, &out))
        ;
    const Pb__PartList *list = arena_unpack(arena, &pb__part_list__descriptor, out.data, out.len);
    str_done(&out);
    return list;
}

static struct sim_sharing sharing_of(struct sim *s, const char *part)
{
    struct sim_sharing r = {.most = 1};
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__PartList *list = parts_now(s, &arena);
    for (size_t i = 0; list && i < list->n_parts; i++) {
        const Pb__PartRecord *p = list->parts[i];
        if (strcmp(p->name, part) != 0)
            continue;
        r.sockets = p->select_parameters && strncmp(p->select_parameters, "CR_Socket", 9) == 0;
        if (!p->share)
            continue;
        r.force = strncmp(p->share, "FORCE:", 6) == 0;
        r.yes = strncmp(p->share, "YES:", 4) == 0;
        r.exclusive = strcmp(p->share, "EXCLUSIVE") == 0;
        if (r.force || r.yes)
            r.most = (unsigned)strtoul(strchr(p->share, ':') + 1, NULL, 10);
    }
    return r;
}

static const struct sim_item *asked_by(const struct sim *s, const struct sim_watch *w)
{
    static const struct sim_item nothing;
    return w->client == UINT32_MAX ? &nothing : s->clients.data[w->client].item;
}

static bool may_share(const struct sim *s, const struct sim_watch *w, const struct sim_sharing *p)
{
    return p->force || (p->yes && asked_by(s, w)->shares && !asked_by(s, w)->exclusive);
}

static bool wants_all(const struct sim *s, const struct sim_watch *w, const struct sim_sharing *p)
{
    return p->exclusive || (asked_by(s, w)->exclusive && !p->force);
}

/* Whether the partition allows the job to share the cores that it has in common with the other job.
 */
static void check_shared(struct sim *s, const struct sim_watch *by, const struct sim_watch *other,
                         const struct sim_sharing *p, const struct sim_node *n)
{
    bool together = sim_turn_crosses_partitions(s); /* includes jobs of other partitions */
    bool apart = strcmp(by->view.part, other->view.part) != 0;
    const struct sim_sharing others = apart ? sharing_of(s, other->view.part) : *p;
    if ((apart && !together) || !may_share(s, by, p) ||
        (!s->shares_change && !may_share(s, other, &others)))
        sim_break(s, "a core is given away twice", "%s, job %u and job %u", n->name, other->job_id,
                  by->job_id);
}

/* A job that requests its nodes for its user alone has no job of another user on them. */
static void check_users(struct sim *s, const struct sim_watch *by, const struct sim_watch *other,
                        const struct sim_node *n)
{
    const struct sim_item *a = asked_by(s, by), *b = asked_by(s, other);
    if (a->uid != b->uid && (a->user_alone || (b->user_alone && !s->shares_change)))
        sim_break(s, "a node is not a user's alone", "%s, job %u and job %u", n->name,
                  other->job_id, by->job_id);
}

/* Sums the shares of all jobs on a node: of the job that has just started, and of the others. */
static void check_node_shares(struct sim *s, const struct sim_watch *by, unsigned node)
{
    const struct sim_share *own = sim_give_share(by, node);
    struct sim_sharing part = sharing_of(s, by->view.part);
    struct sim_node *n = &s->nodes.data[node];
    unsigned uses[8 * sizeof own->cores] = {0};
    uint64_t mem_mib = 0;
    uint32_t cpus = 0;
    bool shared = false, alone = wants_all(s, by, &part);
    for (size_t i = n->holders.len; i-- > 0;) {
        struct sim_watch *w = sim_watch_find(s, n->holders.data[i]);
        const struct sim_share *share = w && sim_give_holds(w) ? sim_give_share(w, node) : NULL;
        if (!share) {
            vec_remove(&n->holders, i);
            continue;
        }
        bool overlaps = false;
        if (share->parked) { /* a parked job keeps only its memory */
            mem_mib += share->mem_mib;
            continue;
        }
        for (size_t k = 0; k < 8 * sizeof own->cores; k++) {
            bool has = share->cores[k / 8] >> (k % 8) & 1;
            overlaps = overlaps || (has && own->cores[k / 8] >> (k % 8) & 1);
            uses[k] += has;
        }
        shared = shared || (overlaps && w != by);
        if (overlaps && w != by)
            check_shared(s, by, w, &part, n);
        if (w != by && (alone || (!s->shares_change && wants_all(s, w, &part) &&
                                  strcmp(w->view.part, by->view.part) == 0)))
            sim_break(s, "a node is not a job's alone", "%s, job %u and job %u", n->name, w->job_id,
                      by->job_id);
        if (w != by && !part.force && strcmp(w->view.part, by->view.part) == 0)
            check_users(s, by, w, n);
        mem_mib += share->mem_mib;
        cpus += share->cpus;
    }
    for (size_t k = 0; shared && k < 8 * sizeof own->cores; k++)
        if (own->cores[k / 8] >> (k % 8) & 1 && uses[k] > part.most)
            sim_break(s, "too many jobs share a core", "%s, job %u: %u of %u", n->name, by->job_id,
                      uses[k], part.most);
    if ((cpus > n->cpus && !s->share_most) || mem_mib > n->mem_mib)
        sim_break(s, "a node is over-allocated", "%s by job %u: %u CPUs, %llu MiB", n->name,
                  by->job_id, cpus, (unsigned long long)mem_mib);
}

static bool takes_leaves(struct sim *s, const struct sim_watch *w)
{
    const struct sim_sharing part = sharing_of(s, w->view.part);
    return asked_by(s, w)->topo_alone && !part.force;
}

static bool runs_on(const struct sim_watch *w, unsigned node)
{
    const struct sim_share *share = sim_give_holds(w) ? sim_give_share(w, node) : NULL;
    return share && !share->parked;
}

/* Checks the leaf switch of a node that the job has just got. */
static void check_leaf(struct sim *s, const struct sim_watch *by, unsigned node)
{
    unsigned nodes = sim_wish_leaf_nodes(s);
    if (!nodes || s->shares_change)
        return;
    unsigned first = node / nodes * nodes;
    for (unsigned i = first; i < first + nodes && i < s->nodes.len; i++)
        vec_foreach (&s->nodes.data[i].holders, id) {
            const struct sim_watch *w = sim_watch_find(s, *id);
            if (w && w != by && runs_on(w, i) && (takes_leaves(s, by) || takes_leaves(s, w)))
                sim_break(s, "a leaf of the network is not a job's alone", "%s, job %u and job %u",
                          s->nodes.data[i].name, w->job_id, by->job_id);
        }
}

static void add_holder(struct sim_node *n, uint32_t job_id)
{
    vec_foreach (&n->holders, id)
        if (*id == job_id)
            return;
    vec_push(&n->holders, job_id);
}

/* A job that has lost the node must have ended there before others get it, even if there is room
 * for both. */
static void check_node_free(struct sim *s, const struct sim_watch *by, unsigned node)
{
    const struct sim_node *n = &s->nodes.data[node];
    vec_foreach (&n->jobs, j) {
        const struct sim_watch *w = sim_watch_find(s, j->key.job_id);
        bool has = w && w->view.restarts == j->key.restarts && sim_give_holds(w) &&
                   sim_give_share(w, node);
        if (!has && sim_node_runs(j))
            sim_break(s, "a node was given work before what it lost was over there",
                      "%s, job %u; it has job %u restart %u", n->name, by->job_id, j->key.job_id,
                      j->key.restarts);
    }
}

/* With select/linear a job has all CPUs of its nodes; with CR_Socket, of the cluster or of its
 * partition, it has whole sockets. */
static void check_units(struct sim *s, const struct sim_watch *w, const struct sim_share *share)
{
    const struct sim_item *n = s->nodes.data[share->node].item;
    const struct sim_sharing part = sharing_of(s, w->view.part);
    bool sockets = s->whole_sockets || (part.sockets && !may_share(s, w, &part));
    bool may_have_less = !n || asked_by(s, w)->core_spec || (!s->whole_nodes && !sockets);
    if (may_have_less)
        return;

    int64_t socket = n->cores * n->threads, unit = s->whole_nodes ? socket * n->sockets : socket;
    if (share->cpus % unit)
        sim_break(s, "a job has a part of what is given away as a whole", "%s, job %u: %u CPUs",
                  s->nodes.data[share->node].name, w->job_id, share->cpus);
}

void sim_give_check(struct sim *s, const struct sim_watch *w)
{
    const struct sim_view *v = &w->view;
    if (v->held || v->admin_held)
        sim_break(s, "a held job was started", "job %u", w->job_id);
    if (v->begin_at > sim_wall_ms(s) / 1000 && v->begin_at > s->latest_wall_ms / 1000)
        sim_break(s, "a job was started before its time", "job %u", w->job_id);
    vec_foreach (&w->shares, share) {
        struct sim_node *n = &s->nodes.data[share->node];
        const struct sim_node_view *view = &s->node_views.data[share->node];
        if (view->drain || view->fail || view->down)
            sim_break(s, "a node out of service was given new work", "%s, job %u", n->name,
                      w->job_id);
        if (!n->configured)
            sim_break(s, "a node that is not configured was given work", "%s, job %u", n->name,
                      w->job_id);
        else if (!n->at[s->c->index].session)
            sim_break(s, "a node without a session was given work", "%s, job %u", n->name,
                      w->job_id);
        add_holder(n, w->job_id);
        check_units(s, w, share);
        check_node_shares(s, w, share->node);
        check_leaf(s, w, share->node);
        check_node_free(s, w, share->node);
    }
    sim_wish_check(s, w);
}

static bool names_part(const char *parts, const char *part)
{
    size_t len = strlen(part);
    for (const char *at = parts; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == len && strncmp(at, part, len) == 0)
            return true;
    return false;
}

/* The highest tier of these partitions. */
static int64_t tier_of(const Pb__PartList *list, const char *parts)
{
    int64_t tier = -1;
    for (size_t i = 0; list && i < list->n_parts; i++)
        if (names_part(parts, list->parts[i]->name) && list->parts[i]->priority_tier > tier)
            tier = list->parts[i]->priority_tier;
    return tier;
}

void sim_give_check_displaced(struct sim *s, const struct sim_watch *w)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__PartList *list = parts_now(s, &arena);
    int64_t own = tier_of(list, w->view.part);
    for (const struct sim_watch *by = s->watches; by; by = by->hh.next)
        if (by->view.there &&
            (tier_of(list, by->view.part) > own || tier_of(list, by->view.asked_parts) > own) &&
            (by->view.state == PB__JOB_STATE__PENDING || by->view.state == PB__JOB_STATE__RUNNING ||
             by->put_at_ms == s->now_ms)) /* the job may have ended in the turn that started it */
            return;
    sim_break(s, "a job made room for nobody", "job %u of %s, tier %lld", w->job_id, w->view.part,
              (long long)own);
}
