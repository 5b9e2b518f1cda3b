/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/victims.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/job/license_tied.h"
#include "sched/plan/joint.h"
#include "sched/plan/node_free.h"
#include "sched/plan/preempt.h"
#include "sched/select/resv.h"
#include "sched/select/select.h"

#define LEAVING_SEC 60 /* beyond KillWait: a job that takes longer to end may never end */
#define SPARED_MOST 64 /* maximum victims that are tried to be spared */
#define IDEAL_MOST 64  /* number of youngest jobs examined among those that suffice alone */
#define FEW 3          /* while FEW jobs have a share of 1/FEW, or three times as many, */
#define FEW_MOST 9     /* jobs with less than the share are not examined */
#define SINGLES_MOST 8 /* number of first candidates that are tried alone */
#define TRY_WORK 200   /* besides the visited nodes */
#define GATHER_WORK 2  /* per running job, in visited nodes */

struct victim {
    const struct job *job;
    int64_t tier, start_at;
    uint32_t priority;
    uint64_t useful; /* CPUs that the preemptor can use after its end */
    uint32_t cpus;   /* at its start */
    bool licensed;   /* it returns licences that the preemptor lacks */
    bool spared;
};

struct victim_search {
    struct plan *p;
    const struct cluster *c;
    const struct job *j;
    struct joint *joint; /* of the preemptor's set; NULL: an ordinary job */
    int64_t tier;        /* only jobs of a lower tier can be victims */
    const struct bitset *allowed;
    const struct bitset *scope; /* allowed nodes and the rest of their leaves, which matter too */
    struct bitset *leaves;      /* owned if it is 'scope'; NULL: leaves do not matter */
    struct free_view view;      /* free resources after the end of the victims */
    struct unit_use **use;      /* by node: the copies that view.use points to */
    struct bitset **busy;       /* by node: the copies that view.busy points to */
    uint32_t *gone;             /* by node: number of its jobs that count as ended */
    uint64_t *returned;         /* by pool: licences of these jobs; NULL: they are not reclaimed */
    /* Nodes on which the view differs from the present; among all other nodes,. */
    VEC(uint32_t) touched;
    struct bitset *useful; /* those on which a task of the job fits; NULL: not computed */
    VEC(const struct job *) leaving;
    VEC(struct victim) victims;
    size_t seen, ideal; /* number of running jobs examined, youngest first; number of ideal ones */
    /* Candidates with fewer CPUs, or not of the lowest tier, are skipped; 0: none. */
    uint32_t least_cpus;
    int64_t look_at; /* time from which more jobs can be victims; 0: none */
};

/* --- hypothetical free resources ----------------------------------------------------------------
 */

/* Whether a job has exclusive leaves of the network, or this job needs some. */
static bool depends_on_leaves(const struct victim_search *h)
{
    bool depends = leaf_matters(h->c, h->j);
    for (size_t i = 0; h->joint && i < h->joint->parts.len; i++)
        depends = depends || leaf_matters(h->c, h->joint->parts.data[i].job);
    return depends;
}

static void find_scope(struct victim_search *h)
{
    h->scope = h->allowed;
    if (!depends_on_leaves(h))
        return;
    h->scope = h->leaves = bitset_dup(h->allowed);
    leaf_widen(h->c, h->leaves);
}

static void init_victim_search(struct victim_search *h, struct plan *p, const struct job *j,
                               const struct bitset *allowed)
{
    size_t n = p->cluster->nodes.len;
    *h = (struct victim_search){
        .p = p, .c = p->cluster, .j = j, .tier = preempt_tier(j), .allowed = allowed};
    pool_view_copy(&h->view, &p->cluster->pool.now, n, p->cluster->pool.gres_kinds);
    h->view.present = true; /* jobs of its own partition stay */
    h->use = mem_new_array(struct unit_use *, n + 1);
    h->view.busy = h->busy = mem_new_array(struct bitset *, n + 1);
    h->gone = mem_new_array(uint32_t, n + 1);
}

static void reset_view(struct victim_search *h)
{
    const struct free_view *now = &h->c->pool.now;
    size_t kinds = h->c->pool.gres_kinds;
    vec_foreach (&h->touched, node) {
        uint32_t i = *node;
        node_free_copy(node_free_in(&h->view, i, kinds), node_free_in(now, i, kinds), kinds);
        h->view.whole[i] = now->whole[i];
        h->view.users[i] = now->users[i];
        h->view.use[i] = now->use[i];
        free(take_ptr(h->use[i]));
        bitset_free(take_ptr(h->busy[i]));
        h->gone[i] = 0;
    }
    vec_clear(&h->touched);
    if (h->returned)
        memset(h->returned, 0, h->c->licenses.list.len * sizeof(*h->returned));
}

static void end_victim_search(struct victim_search *h)
{
    reset_view(h);
    vec_done(&h->touched);
    vec_done(&h->leaving);
    vec_done(&h->victims);
    bitset_free(h->useful);
    bitset_free(h->leaves);
    pool_view_done(&h->view);
    free(h->use);
    free(h->busy);
    free(h->gone);
    free(h->returned);
}

static struct bitset *busy_of(struct victim_search *h, const struct node *n)
{
    if (!h->busy[n->index])
        h->busy[n->index] = bitset_dup(n->busy);
    return h->busy[n->index];
}

/* A shared unit is free when its last job has ended. Returns how many units become free. */
static uint32_t free_units(struct victim_search *h, const struct node *n,
                           const struct alloc_node *a)
{
    uint32_t freed = 0;
    struct unit_use **use = &h->use[n->index];
    struct bitset *busy = busy_of(h, n);
    if (!n->use) {
        bitset_andnot(busy, a->busy);
        return a->units;
    }
    if (!*use)
        *use =
            memcpy(mem_new_array(struct unit_use, n->units + 1), n->use, n->units * sizeof(**use));
    h->view.use[n->index] = *use;
    bitset_foreach (a->busy, i)
        if (--(*use)[i].jobs == 0) {
            bitset_unset(busy, (size_t)i);
            freed++;
        }
    return freed;
}

static enum preempt_mode mode_of(const struct victim_search *h, const struct job *v)
{
    return v->set ? preempt_mode_of_job(h->c->conf, v) : preempt_mode_in(h->p, v->part);
}

/* Returns the component with this offset if it still has nodes to release; for an ordinary job the
 * job itself. */
static const struct job *find_component(const struct job *v, uint32_t offset)
{
    const struct job *j = job_set_component(v, offset);
    return j && !job_is_final(j) ? j : NULL;
}

/* Whether the victim keeps its memory and devices. */
static bool keeps_memory(const struct victim_search *h, const struct job *v)
{
    bool halts = attempt_has_units(v) && !attempt_of(v)->preempted_at && v->part &&
                 mode_of(h, v) == PREEMPT_SUSPEND;
    return attempt_is_parked(v) || halts;
}

static void give_back(struct victim_search *h, const struct job *v, const struct alloc_node *a)
{
    const struct node *n = h->c->nodes.data[a->node];
    size_t kinds = h->c->pool.gres_kinds;
    struct node_free left = node_free_in(&h->view, a->node, kinds);
    vec_push(&h->touched, a->node);
    if (n->exclusive && !a->parked) { /* in addition to what other jobs on the node have returned */
        node_free_open(left, n);
        bitset_zero(busy_of(h, n));
    } else if (!a->parked) {
        node_free_give_units(left, n, a, free_units(h, n, a));
    }
    if (!a->parked || attempt_of(v)->completing)
        h->view.whole[a->node] = n->jobs - n->parked == ++h->gone[a->node];
    if (keeps_memory(h, v))
        return;
    node_free_give_back(left, n, a);
    if (h->view.whole[a->node] && !n->parked)
        h->view.users[a->node] = (struct node_users){0};
}

/* Whether the job can get licences of the victim: a suspended victim keeps them. */
static bool add_licenses(const struct victim_search *h, const struct job *v, uint64_t *returned)
{
    return h->returned && attempt_has_units(v) && v->part && mode_of(h, v) != PREEMPT_SUSPEND &&
           license_add_returned(h->c, h->j, v, h->p->now_sec, returned);
}

static void give_back_all(struct victim_search *h, const struct job *v)
{
    add_licenses(h, v, h->returned);
    vec_foreach (&attempt_of(v)->alloc, a)
        if (!a->released && bitset_test(h->scope, a->node))
            give_back(h, v, a);
}

/* All components are preempted, or none. */
static void return_resources_of_set(struct victim_search *h, const struct job *leader)
{
    for (uint32_t i = 0; i < job_set_count(leader); i++)
        if (find_component(leader, i))
            give_back_all(h, find_component(leader, i));
}

/* Returns the nodes that the job may use and on which a task fits at present. On a full cluster
 * most nodes contribute nothing to the many tries, except the nodes of victims. */
static struct bitset *useful_nodes(const struct victim_search *h)
{
    const struct pool *pool = &h->c->pool;
    struct bitset *set = bitset_dup(h->allowed);
    h->p->work += h->c->nodes.len;
    if (!h->j->want.shared)
        bitset_and(set, pool->spare.open);
    bitset_foreach (set, i) {
        uint32_t node = (uint32_t)i;
        struct select_room room =
            select_room_of(h->c, h->j, &pool->now, node, h->j->want.shared ? UINT32_MAX : 0);
        if (!select_tasks_fit(h->c, h->j, &pool->kinds.data[pool->kind[node]], &room, NULL))
            bitset_unset(set, node);
    }
    return set;
}

static bool fits_jointly(struct victim_search *h, struct selection *where)
{
    select_clear(where);
    h->p->work += TRY_WORK;
    if (!joint_fits_on(h->joint, &h->view))
        return false;
    vec_foreach (&h->joint->parts, part)
        vec_foreach (&part->where.shares, share)
            vec_push(&where->shares, ((struct share){.node = share->node, .units = share->units}));
    return true;
}

/* Whether the job fits when all leaving jobs, and the first 'count' victims that are not spared,
 * have ended. */
static bool fits_without(struct victim_search *h, size_t count, struct selection *where)
{
    reset_view(h);
    vec_foreach (&h->leaving, v)
        give_back_all(h, *v);
    for (size_t i = 0; i < count; i++)
        if (!h->victims.data[i].spared)
            return_resources_of_set(h, h->victims.data[i].job);
    if (h->joint)
        return fits_jointly(h, where);
    if (h->returned && !license_may_start_after(&h->p->claims, h->c, h->j, resv_home(h->j),
                                                h->p->now_sec, h->returned))
        return false;
    if (!h->useful)
        h->useful = useful_nodes(h);
    _cleanup_bitset_ struct bitset *set = bitset_dup(h->useful);
    vec_foreach (&h->touched, node)
        if (bitset_test(h->allowed, *node))
            bitset_set(set, *node);
    h->p->work += TRY_WORK + bitset_count(set);
    select_clear(where);
    const struct free_view *view =
        resv_view(h->p->resv, h->j, resv_home(h->j), h->p->now_sec, &h->view);
    _cleanup_(license_view_done) struct license_view v = {0};
    view = license_view_init(&v, &h->p->claims, h->c, h->j, resv_home(h->j), h->p->now_sec, view);
    return select_nodes(h->c, h->j, set, view, where) == 0;
}

/* --- candidates ---------------------------------------------------------------------------------
 */

static bool is_on(const struct job *v, const struct bitset *nodes)
{
    vec_foreach (&attempt_of(v)->alloc, a)
        if (!a->released && bitset_test(nodes, a->node))
            return true;
    return false;
}

/* Whether the job is ending and will be gone soon. */
static bool is_leaving(const struct victim_search *h, const struct job *v)
{
    if (attempt_of(v)->completing)
        return h->p->now_sec - attempt_of(v)->end_at <= h->c->conf->kill_wait_sec + LEAVING_SEC;
    if (attempt_has_units(v))
        return attempt_of(v)->preempted_at != 0;
    vec_foreach (&attempt_of(v)->alloc, a)
        if (!a->released && !a->parked)
            return true;
    return false;
}

static bool is_exempt(struct victim_search *h, const struct job *v)
{
    int64_t exempt = h->c->conf->preempt_exempt_time_sec;
    int64_t from = attempt_of(v)->start_at + attempt_of(v)->suspended_sec + exempt;
    if (exempt <= 0 || mode_of(h, v) == PREEMPT_SUSPEND || from <= h->p->now_sec)
        return false;
    if (!h->look_at || from < h->look_at)
        h->look_at = from;
    return true;
}

/* PreemptMode=PRIORITY: whether the priority of the preemptor suffices. */
static bool has_priority_over(struct victim_search *h, const struct job *v)
{
    bool has = h->j->priority > v->priority || !preempt_needs_priority(h->c->conf, &v->part->conf);
    h->p->lacks_priority = h->p->lacks_priority || !has;
    return has;
}

/* For one component, or an ordinary job. */
static bool may_be_displaced(struct victim_search *h, const struct job *v)
{
    if (!attempt_has_units(v) || attempt_of(v)->preempted_at || !v->part ||
        preempt_tier(v) >= h->tier || mode_of(h, v) == PREEMPT_OFF || !has_priority_over(h, v))
        return false;
    if (attempt_of(v)->configuring && mode_of(h, v) == PREEMPT_SUSPEND)
        return false;
    return v->priority < h->p->exempt_priority;
}

static bool is_set_on(const struct job *leader, const struct bitset *nodes)
{
    for (uint32_t i = 0; i < job_set_count(leader); i++)
        if (find_component(leader, i) && is_on(find_component(leader, i), nodes))
            return true;
    return false;
}

static bool is_set_licensed(const struct victim_search *h, const struct job *leader)
{
    for (uint32_t i = 0; h->returned && i < job_set_count(leader); i++)
        if (find_component(leader, i) && add_licenses(h, find_component(leader, i), NULL))
            return true;
    return false;
}

/* A job set is considered with its leader, if all of its components may be preempted. */
static bool may_be_victim(struct victim_search *h, const struct job *v)
{
    if (!job_set_is_leader(v) || job_is_final(v) ||
        !(is_set_on(v, h->scope) || is_set_licensed(h, v)))
        return false;
    for (uint32_t i = 0; i < job_set_count(v); i++)
        if (find_component(v, i) && !may_be_displaced(h, find_component(v, i)))
            return false;
    for (uint32_t i = 0; i < job_set_count(v); i++)
        if (find_component(v, i) && is_exempt(h, find_component(v, i)))
            return false;
    return true;
}

/* Adds what its nodes can contribute to the preemptor, limited to what the preemptor needs. */
static void add_gain_of_component(const struct victim_search *h, const struct job *v,
                                  struct victim *victim)
{
    const struct request *r = &h->j->want;
    uint64_t want = (uint64_t)r->tasks * r->cpus_per_task;
    for (size_t i = 0; i < attempt_of(v)->alloc.len && (r->exclusive || victim->useful < want);
         i++) {
        const struct alloc_node *a = &attempt_of(v)->alloc.data[i];
        const struct pool *pool = &h->c->pool;
        if (!a->released && bitset_test(h->allowed, a->node))
            victim->useful += a->cpus + (uint64_t)pool->now.units[a->node] *
                                            pool->kinds.data[pool->kind[a->node]].cpus_per_unit;
    }
    if (victim->useful > want && !r->exclusive)
        victim->useful = want;
}

static uint32_t count_cpus(const struct job *v)
{
    uint32_t cpus = 0;
    vec_foreach (&attempt_of(v)->alloc, a)
        cpus += a->cpus;
    return cpus;
}

static void compute_gain(const struct victim_search *h, struct victim *victim)
{
    for (uint32_t i = 0; i < job_set_count(victim->job); i++) {
        const struct job *v = find_component(victim->job, i);
        if (!v)
            continue;
        add_gain_of_component(h, v, victim);
        victim->tier = preempt_tier(v) > victim->tier ? preempt_tier(v) : victim->tier;
        victim->priority = v->priority > victim->priority ? v->priority : victim->priority;
        victim->cpus += i ? count_cpus(v) : 0;
    }
}

/* Whether it seems to suffice alone and is of the lowest tier. */
static bool is_ideal(const struct victim_search *h, const struct victim *victim)
{
    const struct request *r = &h->j->want;
    bool enough = r->exclusive ? attempt_of(victim->job)->alloc.len >= r->min_nodes
                               : victim->useful >= (uint64_t)r->tasks * r->cpus_per_task;
    return enough && victim->tier == h->p->victim_tier;
}

static void consider_victim(struct victim_search *h, const struct job *v, uint32_t cpus)
{
    if (!may_be_victim(h, v))
        return;
    struct victim victim = {.job = v,
                            .tier = preempt_tier(v),
                            .start_at = attempt_of(v)->start_at,
                            .priority = v->priority,
                            .cpus = cpus,
                            .licensed = is_set_licensed(h, v)};
    compute_gain(h, &victim);
    h->ideal += is_ideal(h, &victim);
    vec_push(&h->victims, victim);
}

/* Gathers the leaving jobs: ended jobs come first among those that hold nodes. */
static void gather_leaving(struct victim_search *h)
{
    struct order_link *l = order_first(&h->c->ends);
    for (; l && l->key <= h->p->now_sec; l = order_next(l)) {
        const struct job *v = job_of_end(l);
        if (is_leaving(h, v))
            vec_push(&h->leaving, v);
        h->p->work += GATHER_WORK;
    }
    vec_foreach (&h->c->yielded, id) {
        const struct job *v = cluster_find_job(h->c, *id);
        if (v && is_leaving(h, v))
            vec_push(&h->leaving, v);
        h->p->work += GATHER_WORK;
    }
}

/* Gathers candidates from the youngest on, until there are enough to choose from. */
static void gather_victims(struct victim_search *h, size_t ideal)
{
    const struct begun *begun = &h->c->begun;
    for (; h->seen < begun->list.len && h->ideal < ideal; h->seen++) {
        const struct begun_job *b = &begun->list.data[begun->list.len - 1 - h->seen];
        if (b->cpus < h->least_cpus)
            continue;
        const struct job *v = begun_job(h->c, b);
        h->p->work += GATHER_WORK;
        if (v && (!h->least_cpus || preempt_tier(v) == h->p->victim_tier))
            consider_victim(h, v, b->cpus);
    }
}

/* Returns the share of CPUs for 'few' victims. If that many candidates suffice, they precede all
 * others of the lowest tier, in the order that applies by default; candidates with less than a
 * share are then not examined. */
static uint32_t share_of(const struct victim_search *h, uint32_t few)
{
    const struct request *r = &h->j->want;
    const struct conf *conf = h->c->conf;
    uint64_t want = r->exclusive ? r->min_nodes : (uint64_t)r->tasks * r->cpus_per_task;
    if (h->joint || few > FEW_MOST || preempt_has(conf, "strict_order") ||
        preempt_has(conf, "youngest_first"))
        return 0;
    return want / few < UINT32_MAX ? (uint32_t)(want / few) : UINT32_MAX;
}

static int by_tier(const struct victim *x, const struct victim *y)
{
    return (x->tier > y->tier) - (x->tier < y->tier);
}

static int by_youth(const struct victim *x, const struct victim *y)
{
    if (x->start_at != y->start_at)
        return x->start_at > y->start_at ? -1 : 1;
    return x->job->id > y->job->id ? -1 : x->job->id < y->job->id;
}

/* Orders within a tier: candidates whose licences are needed first, then the most useful ones, so
 * that few are needed; then those that lose least, then the youngest. */
static int most_useful(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;
    if (by_tier(x, y))
        return by_tier(x, y);
    if (x->licensed != y->licensed)
        return x->licensed ? -1 : 1;
    if (x->useful != y->useful)
        return x->useful > y->useful ? -1 : 1;
    if (x->cpus != y->cpus)
        return x->cpus < y->cpus ? -1 : 1;
    return by_youth(x, y);
}

static int by_tier_and_youth(const void *a, const void *b)
{
    return by_tier(a, b) ? by_tier(a, b) : by_youth(a, b);
}

static int least_priority(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;
    if (by_tier(x, y))
        return by_tier(x, y);
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    return by_youth(x, y);
}

static void sort_victims(struct victim_search *h)
{
    const struct conf *conf = h->c->conf;
    bool strict = preempt_has(conf, "strict_order"), young = preempt_has(conf, "youngest_first");
    qsort(h->victims.data, h->victims.len, sizeof(h->victims.data[0]),
          strict  ? least_priority
          : young ? by_tier_and_youth
                  : most_useful);
}

/* Returns how many of the first candidates suffice, 0: not even all. The number doubles, and the
 * last step is bisected. */
static size_t find_enough_victims(struct victim_search *h, struct selection *where)
{
    size_t low = 1, high = 1;
    while (!fits_without(h, high, where)) {
        if (high == h->victims.len)
            return 0;
        low = high + 1;
        high = high * 2 < h->victims.len ? high * 2 : h->victims.len;
    }
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (fits_without(h, middle, where))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* If several victims suffice, one of the first may suffice alone: it is then moved before them. */
static size_t prefer_single_victim(struct victim_search *h, size_t count, struct selection *where)
{
    struct victim first = h->victims.data[0];
    for (size_t i = 1; count > 1 && i < h->victims.len && i < SINGLES_MOST; i++) {
        h->victims.data[0] = h->victims.data[i];
        if (fits_without(h, 1, where)) {
            h->victims.data[i] = first;
            return 1;
        }
    }
    h->victims.data[0] = first;
    return count;
}

/* Spares victims that are not needed, the last chosen ones first. */
static void spare_victims(struct victim_search *h, size_t count, struct selection *where)
{
    _cleanup_bitset_ struct bitset *nodes = bitset_new(h->c->nodes.len);
    unsigned tries = 0;
    fits_without(h, count, where);
    if (count == 1) {
        vec_push(&h->p->victims, h->victims.data[0].job->id);
        return;
    }
    vec_foreach (&where->shares, share)
        bitset_set(nodes, share->node);
    for (size_t i = 0; i < count; i++) /* a job beside these nodes may block a leaf */
        h->victims.data[i].spared =
            !h->leaves && !h->victims.data[i].licensed && !is_set_on(h->victims.data[i].job, nodes);
    for (size_t i = count; i-- > 0;) {
        struct victim *victim = &h->victims.data[i];
        if (victim->spared || tries++ >= SPARED_MOST)
            continue;
        victim->spared = true;
        victim->spared = fits_without(h, count, where);
    }
    fits_without(h, count, where);
    for (size_t i = 0; i < count; i++)
        if (!h->victims.data[i].spared)
            vec_push(&h->p->victims, h->victims.data[i].job->id);
}

/* Returns the number of chosen victims; 0: even all do not suffice. */
static size_t choose_victims(struct victim_search *h, struct selection *where)
{
    if (!h->victims.len)
        return 0;
    sort_victims(h);
    size_t count = find_enough_victims(h, where);
    return count > 1 ? prefer_single_victim(h, count, where) : count;
}

static size_t choose_victims_among(struct victim_search *h, size_t ideal, struct selection *where)
{
    h->seen = h->ideal = 0;
    vec_clear(&h->victims);
    gather_victims(h, ideal);
    return choose_victims(h, where);
}

static bool find_nodes_by_victims(struct victim_search *h, struct selection *where)
{
    const struct job *j = h->j;
    bool known = plan_note(h->p, j)->unfit;
    h->p->work += h->c->nodes.len;
    if (!known &&
        fits_without(h, 0, where)) /* the job fits without victims: something else blocks it */
        return false;
    gather_leaving(h);
    if (h->leaving.len && fits_without(h, 0, where))
        return true;
    size_t count = h->returned ? choose_victims_among(h, SIZE_MAX, where) : 0;
    for (uint32_t few = FEW; !count && !h->returned; few *= FEW) {
        h->least_cpus = share_of(h, few);
        count = choose_victims_among(h, IDEAL_MOST, where);
        if (!h->least_cpus)
            break;
    }
    if (!count && h->seen < h->c->begun.list.len)
        count = choose_victims_among(h, SIZE_MAX, where);
    if (count)
        spare_victims(h, count, where);
    return count;
}

bool victims_find(struct plan *p, const struct job *j, const struct bitset *allowed, bool reclaims,
                  struct selection *where, int64_t *look_at)
{
    struct victim_search h;
    init_victim_search(&h, p, j, allowed);
    if (reclaims && (license_needs_tied(p->cluster, j) ||
                     !license_may_start(&p->claims, p->cluster, j, resv_home(j), p->now_sec)))
        h.view.returned = h.returned = mem_new_array(uint64_t, p->cluster->licenses.list.len + 1);
    find_scope(&h);
    bool found = find_nodes_by_victims(&h, where);
    *look_at = found ? 0 : h.look_at;
    end_victim_search(&h);
    return found;
}

/* Each component may preempt only what its own partition may: the lowest tier applies to all. */
static int64_t find_tier(const struct joint *joint)
{
    int64_t lowest = INT64_MAX;
    vec_foreach (&joint->parts, part)
        lowest = preempt_tier(part->job) < lowest ? preempt_tier(part->job) : lowest;
    return lowest;
}

bool victims_find_for_set(struct plan *p, const struct job *leader, struct joint *joint,
                          struct selection *where, int64_t *look_at)
{
    struct victim_search h;
    _cleanup_bitset_ struct bitset *allowed = joint_nodes(joint);
    init_victim_search(&h, p, leader, allowed);
    h.joint = joint;
    h.tier = find_tier(joint);
    find_scope(&h);
    bool found = find_nodes_by_victims(&h, where);
    *look_at = found ? 0 : h.look_at;
    end_victim_search(&h);
    return found;
}
