/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes on which a request fits: candidates by configuration, the capacity of each node, a
 * choice among them (choose.c), and the deal of tasks to the chosen nodes.
 */
#include <string.h>

#include "sched/select/select.h"
#include "sched/select/select_memory.h"

void select_done(struct selection *s)
{
    vec_done(&s->shares);
    vec_done(&s->gres);
    vec_done(&s->payers);
}

void select_clear(struct selection *s)
{
    vec_clear(&s->shares);
    vec_clear(&s->gres);
    vec_clear(&s->payers);
}

void select_copy(struct selection *to, const struct selection *from)
{
    select_clear(to);
    vec_foreach (&from->shares, share)
        vec_push(&to->shares, *share);
    vec_foreach (&from->gres, amount)
        vec_push(&to->gres, *amount);
    vec_foreach (&from->payers, payer)
        vec_push(&to->payers, *payer);
}

/* --- configuration ------------------------------------------------------------------------------
 */

struct amounts select_least(const struct request *r, uint64_t cpus)
{
    struct amounts least;
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    least.member = select_##noun##_least(r, cpus);
#include "cluster/resource/resource_kind.def"
    return least;
}

/* Returns the amounts wanted on a node of the kind for this number of CPUs and GPUs in use. */
static struct amounts find_wanted(const struct request *r, const struct node_kind *k, uint32_t cpus,
                                  uint64_t gpus)
{
    struct amounts wanted;
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    wanted.member = select_##noun##_wanted(r, k, cpus, gpus);
#include "cluster/resource/resource_kind.def"
    return wanted;
}

/* Returns false if some amount does not suffice for any task. */
static bool find_served(const struct request *r, const struct node_kind *k,
                        const struct amounts *amounts, struct select_served *served)
{
    *served = (struct select_served){UINT64_MAX, GRES_COUNT_MAX};
    bool fits = true;
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    fits = fits && select_##noun##_fits(r, k, amounts->member, served);
#include "cluster/resource/resource_kind.def"
    return fits;
}

/* Returns the fewest CPUs that the request takes on any node. With --ntasks, --ntasks-per-node is a
 * maximum; with --overcommit a node has the CPUs of one task. */
static uint32_t least_cpus(const struct request *r)
{
    uint32_t tasks = r->ntasks_per_node && !r->tasks_given ? r->ntasks_per_node : 1;
    uint32_t cpus = (r->overcommit ? 1 : tasks) * r->cpus_per_task;
    return cpus > r->min_cpus ? cpus : r->min_cpus;
}

const uint64_t *select_gres_room(const struct request *r, const struct node_kind *k,
                                 const uint64_t *row, size_t kinds, uint64_t *out)
{
    if (!k->parts)
        return row;
    gres_parts_room(k->parts, &r->gres, UINT32_MAX, 0, row, kinds, out);
    return out;
}

/* Whether a node with all of its generic resources free satisfies the request per node. */
static bool kind_has_gres(const struct request *r, const struct node_kind *k, size_t gres_kinds)
{
    uint64_t left[GRES_KINDS_MAX];
    const uint64_t *room = select_gres_room(r, k, k->gres_total, gres_kinds, left);
    return gres_tasks(&r->gres, gres_kinds, room, left) > 0;
}

bool select_kind_could(const struct cluster *c, const struct job *j, const struct node_kind *k)
{
    const struct request *r = &j->want;
    uint32_t cpus = least_cpus(r);
    const struct amounts wanted = find_wanted(r, k, cpus, 0);
    return k->nodes && !k->future && k->cpus >= cpus &&
           select_part_cpus(&j->part->conf, r, k) >= cpus && k->sockets >= r->sockets &&
           k->cores >= r->cores &&
           (k->threads >= r->threads || (r->threads == 1 && k->threads == 1)) &&
           k->tmp_mib >= r->tmp_mib && amounts_are_within(&wanted, &k->amounts) &&
           (!r->constraint || constraint_match_any(r->constraint, k->features) ||
            (r->preferred && constraint_match_any(r->preferred, k->features))) &&
           (!r->gres.list.len || kind_has_gres(r, k, c->pool.gres_kinds));
}

void select_keep_kinds(const struct cluster *c, const bool *good, struct bitset *set)
{
    bool all = true;
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        all = all && (good[k] || c->pool.kinds.data[k].nodes == 0);
    if (all)
        return;
    bitset_foreach (set, i)
        if (!good[c->pool.kind[i]])
            bitset_unset(set, (size_t)i);
}

struct bitset *select_candidates(const struct cluster *c, const struct job *j)
{
    struct bitset *set = bitset_dup(j->part->nodes);
    _cleanup_free_ bool *good = mem_new_array(bool, c->pool.kinds.len + 1);
    if (j->want.exc)
        bitset_andnot(set, j->want.exc);
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        good[k] = select_kind_could(c, j, &c->pool.kinds.data[k]);
    select_keep_kinds(c, good, set);
    return set;
}

/* --- capacity -----------------------------------------------------------------------------------
 */

/* Returns the CPUs of 'units' free units that tasks may use. Units are whole, and their usable CPUs
 * count for memory and similar amounts. On a whole node all CPUs are taken, and memory limits the
 * CPUs with tasks. */
static uint32_t cpus_fit(const struct request *r, const struct node_kind *k,
                         const struct select_room *room, const struct select_served *served)
{
    uint32_t units = room->units;
    if (r->exclusive) {
        uint32_t cpus = k->units * select_cpus_used(r, k);
        uint64_t spec = (uint64_t)r->spec * (r->spec_in_threads ? 1 : k->threads);
        /* Beyond the reserved ones. */
        uint64_t more = spec > k->spec_cpus ? spec - k->spec_cpus : 0;
        cpus = cpus > more ? cpus - (uint32_t)more : 0;
        cpus = served->cpus < cpus ? (uint32_t)served->cpus : cpus;
        return room->cpus_left < k->cpus ? 0 : cpus;
    }
    if (room->cpus_left / k->cpus_per_unit < units)
        units = room->cpus_left / k->cpus_per_unit;
    if (served->cpus != UINT64_MAX) {
        uint64_t most = served->cpus / select_cpus_used(r, k);
        units = most < units ? (uint32_t)most : units;
    }
    return units * select_cpus_used(r, k);
}

/* Returns the GPUs for which this number of CPUs, and the other resources of the node, suffice. */
static uint64_t gpus_served(const struct request *r, uint32_t cpus,
                            const struct select_served *served)
{
    uint64_t by_cpus = r->cpus_per_gpu ? cpus / r->cpus_per_gpu : GRES_COUNT_MAX;
    return served->gpus < by_cpus ? served->gpus : by_cpus;
}

static uint64_t limit_by_gpus(const struct request *r, uint64_t tasks, uint64_t gpus)
{
    uint64_t most = gpus < UINT32_MAX ? gpus * r->tasks_per_gpu : UINT64_MAX;
    return r->tasks_per_gpu && most < tasks ? most : tasks;
}

/* Returns the tasks for which its generic resources, and resources per GPU, suffice; 0: none. */
static uint32_t gres_fit(const struct cluster *c, const struct request *r,
                         const struct node_kind *n, const struct select_room *room, uint32_t cpus,
                         const struct select_served *with, uint64_t *more)
{
    uint64_t left[GRES_KINDS_MAX], job = 0, wanted = 0;
    const uint64_t *have = select_gres_room(r, n, room->gres, c->pool.gres_kinds, left);
    uint64_t tasks = gres_tasks(&r->gres, c->pool.gres_kinds, have, left);
    vec_foreach (&r->gres.list, w)
        for (size_t k = 0; w->per_job && k < c->pool.gres_kinds; k++)
            job += w->mask >> k & 1 ? left[k] : 0;
    vec_foreach (&r->gres.list, w)
        wanted += w->per_job;
    uint64_t per_node = gres_wanted(&r->gres, "gpu", GRES_PER_NODE);
    uint64_t per_task = gres_wanted(&r->gres, "gpu", GRES_PER_TASK);
    uint64_t served = gpus_served(r, cpus, with);
    if (per_node > served)
        return 0;
    served -= per_node;
    job = served < job ? served : job;
    if (wanted && !job)
        return 0;
    job = job < wanted ? job : wanted;
    if (more)
        *more = job;
    uint64_t most = per_task ? served / per_task : tasks;
    return (uint32_t)limit_by_gpus(r, most < tasks ? most : tasks, per_node + job);
}

/* Returns the sockets that are certainly free when only the number of units in use is known, so
 * that other jobs cannot prevent a planned start by their choice of cores. */
static uint32_t count_sure_sockets(const struct node_kind *k, const struct select_room *room,
                                   uint32_t sockets)
{
    uint32_t used = k->units > room->units ? k->units - room->units : 0;
    return used < sockets ? sockets - used : 0;
}

/* Converts the free resources to whole cores, or sockets, as units. In another view than the
 * present one only a timeline tells which cores are not entirely free. */
static struct select_room find_room_of_cores(const struct cluster *c, const struct job *j,
                                             const struct node_kind *k,
                                             const struct select_room *room, uint32_t together)
{
    struct select_room cores = *room;
    cores.units = room->units > room->broken ? (room->units - room->broken) / together : 0;
    cores.together = together;
    if (room->node) {
        _cleanup_free_ uint32_t *left = cores_part_left(c, j->part, room->node);
        _cleanup_bitset_ struct bitset *closed = select_closed_units(j, room->node, room->busy);
        const struct bitset *busy = closed ? closed : room->busy;
        uint32_t idle = cores_room(room->node, busy, 0, left, together) / together;
        cores.units = idle < cores.units ? idle : cores.units;
    } else if (j->want.whole_sockets) {
        cores.units = count_sure_sockets(k, room, k->units / together);
    }
    return cores;
}

uint32_t select_tasks_fit(const struct cluster *c, const struct job *j, const struct node_kind *k,
                          const struct select_room *room, uint64_t *more)
{
    const struct request *r = &j->want;
    const struct node_kind *given = k;
    struct node_kind kind_of_cores;
    struct select_room room_of_cores;
    struct select_served served;
    uint32_t together = select_units_together(r, k);
    if (together > 1) {
        kind_of_cores = select_kind_of_cores(r, k);
        room_of_cores = find_room_of_cores(c, j, k, room, together);
        k = &kind_of_cores;
        room = &room_of_cores;
    }
    if (room->units == 0 || (r->exclusive && !room->whole) ||
        !find_served(r, k, &room->amounts, &served))
        return 0;
    uint32_t cpus = cpus_fit(r, k, room, &served);
    if (cpus == 0 || cpus < r->min_cpus)
        return 0;
    uint32_t tasks = cpus / r->cpus_per_task;
    if (r->overcommit && tasks)
        tasks = r->tasks;
    uint32_t by_gres = r->gres.list.len ? gres_fit(c, r, k, room, cpus, &served, more) : tasks;
    tasks = by_gres < tasks ? by_gres : tasks;
    if (r->tasks_per_core || r->tasks_per_socket) {
        uint32_t by_cores = select_tasks_by_cores(c, j, k, room);
        tasks = by_cores < tasks ? by_cores : tasks;
        tasks = r->exclusive ? tasks : select_tasks_paid_for(c, j, k, room, cpus, tasks);
    }
    if (tasks && room->restricted)
        tasks = select_tasks_unrestricted(r, given, room, tasks, more ? *more : 0);
    if (tasks && room->like)
        tasks = select_tasks_bound(c, j, given, room, tasks, more);
    if (tasks > c->conf->max_tasks_per_node)
        tasks = c->conf->max_tasks_per_node;
    if (!r->ntasks_per_node || tasks < r->ntasks_per_node)
        return r->ntasks_per_node && !r->tasks_given ? 0 : tasks;
    return r->ntasks_per_node;
}

struct select_room select_room_of(const struct cluster *c, const struct job *j,
                                  const struct free_view *view, uint32_t node, uint32_t sharing)
{
    const struct node_kind *k = &c->pool.kinds.data[c->pool.kind[node]];
    struct select_room room = {view->units[node], select_part_cpus_left(j, k, view, node),
                               view->amounts[node], view->whole[node],
                               view->gres ? view->gres + node * c->pool.gres_kinds : NULL};
    room.busy = view->busy ? view->busy[node] : NULL;
    room.broken = view->broken ? view->broken[node] : 0;
    select_divide_units(c, j, k, &room);
    bool bound = request_is_bound(&j->want);
    bool together = select_units_together(&j->want, k) > 1;
    if (view->present && (j->want.tasks_per_socket || bound || together))
        room.node = c->nodes.data[node];
    if (bound)
        room.like = c->nodes.data[node];
    bool capped = j->part->conf.max_cpus_per_socket != UINT32_MAX;
    if (capped && view->present && !j->want.exclusive)
        room.units = select_part_units_left(c, j, node, room.busy, room.units);
    if (view->most && room.units > view->most[node]) {
        room.units = view->most[node];
        room.whole = false;
    }
    if (sharing && !capped) {
        uint32_t shared = share_room(k->units, view->use[node], j, sharing);
        room.units += shared;
        room.open += shared;
    }
    if (view->limit && room.units > view->limit[node]) {
        room.units = view->limit[node];
        room.whole = false;
    }
    if (j->want.exclusive && j->want.shared)
        room.whole = room.units == k->units;
    return room;
}

/* Returns how many tasks fit on the node in this view; 0: none. Includes units in use by at most
 * 'sharing' jobs. */
static uint32_t tasks_on(const struct cluster *c, const struct job *j, const struct free_view *view,
                         uint32_t node, uint32_t sharing, uint64_t *more)
{
    const struct node_kind *k = &c->pool.kinds.data[c->pool.kind[node]];
    if (view->users && !alloc_user_may(&view->users[node], j))
        return 0;
    struct select_room room = select_room_of(c, j, view, node, sharing);
    return select_tasks_fit(c, j, k, &room, more);
}

struct parcel { /* the share of one node */
    uint32_t node, tasks;
    uint64_t more; /* part of the job's total request */
};

/* Returns the GPUs that the request has there. */
static uint64_t gpus_of(const struct request *r, const struct parcel *p)
{
    return select_count_gpus(r, p->tasks, p->more);
}

/* Gives a job with a whole node all GRES except those that must be requested explicitly. */
static void fill_whole(const struct cluster *c, const uint64_t *have,
                       const struct gres_amount *asked, size_t n, uint64_t *out)
{
    memcpy(out, have, c->pool.gres_kinds * sizeof(*out));
    for (size_t k = 0; k < c->pool.gres_kinds; k++)
        if (c->gres_kinds.data[k].is_explicit)
            out[k] = 0;
    for (size_t i = 0; i < n; i++)
        if (c->gres_kinds.data[asked[i].kind].is_explicit)
            out[asked[i].kind] = asked[i].count;
}

/* A whole node includes all of it. */
static uint32_t add_gres(const struct cluster *c, const struct request *r,
                         const struct free_view *view, const struct parcel *p, uint32_t units,
                         struct selection *out)
{
    size_t kinds = c->pool.gres_kinds, n = 0;
    struct gres_amount amounts[GRES_KINDS_MAX];
    uint64_t rest[GRES_KINDS_MAX];
    if (kinds == 0)
        return 0;
    const uint64_t *have = view->gres + p->node * kinds;
    const struct gres_parts *parts = c->pool.kinds.data[c->pool.kind[p->node]].parts;
    if (parts)
        gres_parts_room(parts, &r->gres, p->tasks, p->more, have, kinds, rest);
    else
        memcpy(rest, have, kinds * sizeof(*rest));
    if (r->gres.list.len)
        n = gres_deal(&r->gres, kinds, rest, p->tasks, p->more, amounts);
    if (r->exclusive && !r->shared)
        fill_whole(c, have, amounts, n, rest);
    if (r->exclusive && !r->shared && parts) {
        n = gres_parts_add_rest(parts, rest, kinds, amounts, n);
    } else if (r->exclusive && !r->shared) {
        n = 0;
        for (uint32_t k = 0; k < kinds; k++)
            if (rest[k])
                amounts[n++] = (struct gres_amount){k, rest[k]};
    }
    n = parts ? gres_parts_add_locks(parts, have, amounts, n) : n;
    n = select_add_restricted(c, r, &c->pool.kinds.data[c->pool.kind[p->node]], have, units,
                              gpus_of(r, p), amounts, n);
    for (size_t i = 0; i < n; i++)
        vec_push(&out->gres, amounts[i]);
    return (uint32_t)n;
}

static bool add_share(const struct cluster *c, const struct job *j, const struct free_view *view,
                      const struct parcel *p, struct selection *out)
{
    const struct node_kind *n = &c->pool.kinds.data[c->pool.kind[p->node]];
    const struct request *r = &j->want;
    uint64_t gpus = r->cpus_per_gpu || r->mem_gpu_mib ? gpus_of(r, p) : 0;
    const struct cores_want cores = select_units(r, n, p->tasks, gpus);
    struct share s = {.node = p->node,
                      .units = cores.units,
                      .per_socket = cores.per_socket,
                      .beyond = cores.beyond};
    s.amounts = find_wanted(r, n, select_count_cpus_used(r, n, s.units), gpus);
    if (r->exclusive) { /* suspended jobs keep theirs */
        struct amounts none = {0};
        amounts_limit(&s.amounts, &view->amounts[p->node]);
        amounts_raise(&s.amounts, &none);
    }
    s.gres_at = (uint32_t)out->gres.len;
    s.gres_len = add_gres(c, r, view, p, s.units, out);
    vec_push(&out->shares, s);
    return !request_is_bound(r) || select_is_bound(c, j, view, &s, out);
}

/* Deals the job's total request: something to every node, then as much as each has. GPUs with tasks
 * of their own (--ntasks-per-gpu) are dealt first where the node takes these tasks. */
static void deal_more(const struct chooser *ch, const struct request *r, uint64_t *give)
{
    uint64_t left = ch->need_more;
    bitset_foreach (ch->chosen, i)
        if (left && ch->more[i]) {
            give[i] = 1;
            left--;
        }
    for (int pass = r->tasks_per_gpu ? 0 : 1; pass < 2; pass++)
        bitset_foreach (ch->chosen, i) {
            uint64_t used = pass == 0 ? ch->tasks[i] / r->tasks_per_gpu : UINT64_MAX;
            uint64_t most = ch->more[i] < used ? ch->more[i] : used;
            uint64_t n = most > give[i] ? most - give[i] : 0;
            n = n < left ? n : left;
            give[i] += n;
            left -= n;
        }
}

/* Limits each node to the tasks of the GPUs that it gets, if the nodes can hold all tasks then. */
static void limit_tasks_by_given(const struct chooser *ch, const struct request *r,
                                 const uint64_t *give)
{
    uint64_t per_node = gres_wanted(&r->gres, "gpu", GRES_PER_NODE), sum = 0;
    bitset_foreach (ch->chosen, i)
        sum += limit_by_gpus(r, ch->tasks[i], give[i] + per_node);
    if (sum < r->tasks)
        return;
    bitset_foreach (ch->chosen, i)
        ch->tasks[i] = (uint32_t)limit_by_gpus(r, ch->tasks[i], give[i] + per_node);
}

/* Gives tasks to each chosen node in order, until it has 'most' of them or all that it takes. */
static uint32_t fill_nodes(const struct chooser *ch, uint32_t most, uint32_t left, uint32_t *got)
{
    bitset_foreach (ch->chosen, i) {
        uint32_t limit = ch->tasks[i] < most ? ch->tasks[i] : most;
        uint32_t more = limit > got[i] ? limit - got[i] : 0;
        more = more < left ? more : left;
        got[i] += more;
        left -= more;
    }
    return left;
}

/* Gives every chosen node a task, and the tasks for its --mincpus. The other tasks fill one node
 * before the next; with --spread-job, and if jobs share CPUs, they are dealt in turn, so that more
 * jobs fit beside each other. */
static void count_tasks_of_nodes(const struct chooser *ch, const struct request *r, uint32_t *got)
{
    uint32_t left = r->tasks > ch->count ? r->tasks - ch->count : 0;
    uint32_t paid = r->overcommit ? 0 : r->min_cpus / r->cpus_per_task;
    bool in_turn = r->spread || r->shared;
    uint32_t level = paid && !in_turn ? paid : 1;
    bitset_foreach (ch->chosen, i)
        got[i] = r->ntasks_per_node && !r->tasks_given ? r->ntasks_per_node : 1;
    left = fill_nodes(ch, level, left, got);
    for (uint32_t before = 0; in_turn && left != before;) {
        before = left;
        left = fill_nodes(ch, ++level, left, got);
    }
    fill_nodes(ch, UINT32_MAX, left, got);
}

/* Turns the chosen nodes into shares. */
static int deal_tasks(const struct chooser *ch, const struct cluster *c, const struct job *j,
                      const struct free_view *view, struct selection *out)
{
    uint32_t *got = mem_new_array(uint32_t, ch->fits->size + 1);
    vec_reserve(&out->shares, out->shares.len + ch->count);
    _cleanup_free_ uint64_t *give =
        ch->need_more ? mem_new_array(uint64_t, ch->fits->size + 1) : NULL;
    if (give) {
        deal_more(ch, &j->want, give);
        limit_tasks_by_given(ch, &j->want, give);
    }
    count_tasks_of_nodes(ch, &j->want, got);
    bool good = true;
    bitset_foreach (ch->chosen, i) {
        const struct parcel p = {(uint32_t)i, got[i], give ? give[i] : 0};
        good = add_share(c, j, view, &p, out) && good;
    }
    free(got);
    if (!good)
        select_clear(out);
    return good ? 0 : -ERR_NODES_BUSY;
}

void select_bounds(const struct job *j, struct chooser *ch)
{
    const struct request *r = &j->want;
    const struct conf_part *p = &j->part->conf;
    ch->required = r->req;
    ch->contiguous = r->contiguous;
    ch->need = r->tasks;
    ch->min = r->min_nodes > p->min_nodes ? r->min_nodes : p->min_nodes;
    ch->max = r->max_nodes < p->max_nodes ? r->max_nodes : p->max_nodes;
    ch->good = r->good_nodes < ch->max ? r->good_nodes : ch->max;
    ch->good = ch->good > ch->min ? ch->good : ch->min;
    ch->sizes = r->sizes;
    ch->need_more = 0;
    vec_foreach (&r->gres.list, w)
        ch->need_more += w->per_job;
    vec_foreach (&r->gres.list, w) /* each node has at least one */
        ch->max = w->per_job && w->per_job < ch->max ? (uint32_t)w->per_job : ch->max;
    ch->good = ch->good < ch->max ? ch->good : ch->max;
}

struct neighbour { /* the input of the previous node, if it determines the result, and the result */
    bool known;
    uint32_t kind, units, most, tasks;
    struct amounts amounts;
    bool whole;
};

/* Whether nodes with the same numbers take the same number of tasks, which is false if it matters
 * which of their cores are free. */
static bool neighbours_take_the_same(const struct cluster *c, const struct job *j)
{
    const struct request *r = &j->want;
    return !r->tasks_per_socket && !r->use_threads && !r->whole_sockets && !r->gres.list.len &&
           !c->has_restricted_cores && j->part->conf.max_cpus_per_node == UINT32_MAX &&
           j->part->conf.max_cpus_per_socket == UINT32_MAX;
}

/* Neighbours are often equal: a node with the same numbers as the one before it is not examined. */
static uint32_t tasks_again(struct neighbour *last, const struct cluster *c, const struct job *j,
                            const struct free_view *view, uint32_t node)
{
    if (view->users && view->users[node].who != USERS_NONE &&
        !alloc_user_may(&view->users[node], j))
        return 0;
    uint32_t most = view->most ? view->most[node] : UINT32_MAX;
    if (view->limit && view->limit[node] < most)
        most = view->limit[node];
    if (!last->known || last->kind != c->pool.kind[node] || last->units != view->units[node] ||
        last->most != most || !amounts_equal(&last->amounts, &view->amounts[node]) ||
        last->whole != view->whole[node])
        *last = (struct neighbour){.known = true,
                                   .kind = c->pool.kind[node],
                                   .units = view->units[node],
                                   .most = most,
                                   .tasks = tasks_on(c, j, view, node, 0, NULL),
                                   .amounts = view->amounts[node],
                                   .whole = view->whole[node]};
    return last->tasks;
}

static int select_from(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                       const struct choose_counts *counts, const struct free_view *view,
                       uint32_t sharing, struct selection *out)
{
    struct chooser ch = {.counts = counts, .weight = c->pool.weight};
    select_bounds(j, &ch);
    _cleanup_bitset_ struct bitset *open = NULL;
    if (!select_tied_may_fit(c, j, view, allowed, ch.min, &open))
        return -ERR_NODES_BUSY;
    ch.fits = bitset_new(c->nodes.len);
    ch.chosen = bitset_new(c->nodes.len);
    ch.tasks = mem_realloc(NULL, sizeof(*ch.tasks) * (c->nodes.len + 1));
    _cleanup_(select_place_done) struct select_place place;
    select_place_init(&place, c, j, view, &ch);
    if (ch.need_more)
        ch.more = mem_new_array(uint64_t, c->nodes.len + 1);
    struct neighbour last = {0};
    bool plain = !sharing && neighbours_take_the_same(c, j);
    bitset_foreach (open ? open : allowed, i) {
        ch.tasks[i] =
            plain ? tasks_again(&last, c, j, view, (uint32_t)i)
                  : tasks_on(c, j, view, (uint32_t)i, sharing, ch.more ? &ch.more[i] : NULL);
        if (ch.tasks[i])
            bitset_set(ch.fits, (size_t)i);
    }
    int rc = select_choose_tied(c, j, view, &ch) ? 0 : -ERR_NODES_BUSY;
    if (rc == 0)
        rc = deal_tasks(&ch, c, j, view, out);
    if (rc == 0)
        license_choose_payers(c, j, view, out);
    bitset_free(ch.fits);
    bitset_free(ch.chosen);
    free(ch.tasks);
    free(ch.more);
    return rc;
}

/* Returns the greatest number of jobs on a shareable unit of these nodes. */
static uint32_t most_shared(const struct cluster *c, const struct job *j,
                            const struct bitset *allowed, const struct free_view *view)
{
    uint32_t most = 0, limit = j->part->conf.share_max - 1;
    bitset_foreach (allowed, i) {
        const struct unit_use *use = view->use[i];
        uint32_t units = use ? c->pool.kinds.data[c->pool.kind[i]].units : 0;
        for (uint32_t u = 0; u < units; u++)
            most = use[u].jobs > most ? use[u].jobs : most;
        if (most >= limit)
            return limit;
    }
    return most;
}

/* Selects free units first, shared units only if those do not suffice, and then units with the
 * fewest jobs first. */
static int select_shared(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                         const struct choose_counts *counts, const struct free_view *view,
                         struct selection *out)
{
    int rc = select_from(c, j, allowed, counts, view, 0, out);
    uint32_t most = rc != 0 && j->want.shared ? most_shared(c, j, allowed, view) : 0;
    for (uint32_t sharing = 1; rc != 0 && sharing <= most; sharing++)
        rc = select_from(c, j, allowed, counts, view, sharing, out);
    return rc;
}

/* Tries each alternative of the constraint in turn. 'narrow': some of the nodes may not match. */
static int select_constrained(const struct cluster *c, const struct job *j,
                              const struct constraint *con, bool narrow,
                              const struct bitset *allowed, const struct free_view *view,
                              struct selection *out)
{
    uint32_t alternatives = constraint_alternatives(con);
    _cleanup_(select_counts_done) struct select_counts counts;
    select_counts_init(&counts, c, con);
    if (alternatives == 1 && !narrow)
        return select_shared(c, j, allowed, counts.given, view, out);
    int rc = -ERR_NODES_BUSY;
    for (uint32_t which = 0; which < alternatives && rc != 0; which++) {
        _cleanup_bitset_ struct bitset *same = bitset_dup(allowed);
        select_keep_matching(c, con, which, same);
        rc = select_shared(c, j, same, counts.given, view, out);
    }
    return rc;
}

int select_nodes(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                 const struct free_view *view, struct selection *out)
{
    const struct request *r = &j->want;
    _cleanup_bitset_ struct bitset *narrowed = NULL;
    int rc = -ERR_NODES_BUSY;
    view = view ? view : &c->pool.now;
    if (leaf_matters(c, j)) {
        narrowed = bitset_dup(allowed);
        leaf_narrow(c, j, view, narrowed);
        allowed = narrowed;
    }
    if (r->preferred)
        rc = select_constrained(c, j, r->preferred, true, allowed, view, out);
    return rc != 0 ? select_constrained(c, j, r->constraint, r->preferred, allowed, view, out) : 0;
}
