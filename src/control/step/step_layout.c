/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/step/step_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "cluster/job/step_nodes.h"
#include "cluster/job/whole_cores.h"
#include "cluster/resource/gres_link.h"
#include "conf/conf_sets.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/step/step.h"

#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

static int use_named(struct control *c, struct step_layout *l, const char *expr, bool use,
                     struct err *err)
{
    struct bitset *set = NULL;
    int rc = cluster_node_set(c->cluster, expr, &set, err);
    if (rc != 0)
        return rc;
    size_t inside = 0;
    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++)
        if (bitset_test(set, attempt_of(l->j)->alloc.data[i].node)) {
            l->usable[i] = use;
            inside++;
        }
    bool all_inside = inside == bitset_count(set);
    bitset_free(set);
    return use && !all_inside ? control_set_error(err, ERR_STEP_CONFIG, expr) : 0;
}

/* Slurm's words first. */
static int refuse_shared(const struct control *c, const struct step_layout *l, size_t at,
                         struct err *err)
{
    const char *node = c->cluster->nodes.data[attempt_of(l->j)->alloc.data[at].node]->name;
    char wording[ERR_TEXT_MAX];
    snprintf(wording, sizeof wording, "%s: required node %s overlaps with excluded %s",
             err_text(ERR_STEP_CONFIG), node, node);
    int rc = conf_sets_refuse(c->conf, CONF_SETS_one_node, -ERR_STEP_CONFIG, wording, err);
    return rc ? rc
              : err_set(err, -ERR_STEP_CONFIG,
                        "%s: parts of a step that ask for generic resources have nodes of their "
                        "own",
                        wording);
}

/* Parts in one job have different nodes where that will do. Those with generic resources always. */
static int exclude_before(struct control *c, struct step_layout *l, struct err *err)
{
    for (const struct step_layout *b = l->before; b; b = b->before)
        for (size_t i = 0; b->j == l->j && i < attempt_of(l->j)->alloc.len; i++) {
            bool may = l->shares && !l->gres.own && !b->gres.own;
            if (!b->tasks[i] || may)
                continue;
            if (l->usable[i] && l->nodes_given)
                return refuse_shared(c, l, i, err);
            l->usable[i] = false;
        }
    return 0;
}

static int find_usable(struct control *c, struct step_layout *l, struct err *err)
{
    const Pb__StepSpec *s = l->spec;
    size_t n = attempt_of(l->j)->alloc.len;
    bool named = s->nodes && *s->nodes;
    l->nodes_given = named || s->n_relative_nodes;
    for (size_t i = 0; i < n; i++)
        l->usable[i] = !l->nodes_given;
    int rc = named ? use_named(c, l, s->nodes, true, err) : 0;
    for (size_t i = 0; i < s->n_relative_nodes && rc == 0; i++) {
        if (s->relative_nodes[i] >= n)
            return control_set_error(err, ERR_NODE_COUNT, "a relative node beyond the job's");
        l->usable[s->relative_nodes[i]] = true;
    }
    if (rc == 0 && s->exc_nodes && *s->exc_nodes)
        rc = use_named(c, l, s->exc_nodes, false, err);
    if (rc == 0)
        rc = exclude_before(c, l, err);
    l->count = 0;
    for (size_t i = 0; i < n; i++) {
        l->usable[i] = l->usable[i] && !attempt_of(l->j)->alloc.data[i].released;
        l->count += l->usable[i];
    }
    return rc == 0 && l->count == 0 ? control_set_error(err, ERR_STEP_CONFIG, "no node is left")
                                    : rc;
}

static uint32_t cap_u32(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Threads of a core that tasks use, where a step has whole cores for that; 0: all. */
static uint32_t used_threads(const struct step_layout *l, const struct node *n)
{
    uint32_t use = OR(l->spec, threads_per_core, l->j->want.use_threads);
    bool has_cores =
        n->cpus_per_unit >= n->threads ||
        whole_cores_units(&l->j->want, n->threads, n->cpus_per_unit, n->units) == n->threads;
    return use < n->threads && has_cores ? use : 0;
}

/* How many of 'cpus' CPUs of a node tasks may use: with --threads-per-core fewer. */
static uint32_t usable_cpus(const struct step_layout *l, const struct node *n, uint32_t cpus)
{
    uint32_t use = used_threads(l, n);
    return use ? cpus / n->threads * use : cpus;
}

/* Tasks that so many CPUs of a node hold. */
static uint32_t count_tasks_on(const struct step_layout *l, const struct node *n, uint32_t cpus)
{
    return usable_cpus(l, n, cpus) / l->cpus_per_task;
}

/* Without what a step that has all CPUs gets beside. */
static uint32_t cpus_of_tasks(const struct step_layout *l, const struct node *n, uint32_t tasks)
{
    uint32_t use = used_threads(l, n);
    uint64_t cpus = (uint64_t)tasks * l->cpus_per_task;
    return cap_u32(use ? (cpus + use - 1) / use * n->threads : cpus);
}

/* Of the CPUs of a node those that earlier parts of the step leave. */
static uint32_t leave_cpus(const struct step_layout *l, const struct node *n, size_t at,
                           uint32_t cpus)
{
    for (const struct step_layout *b = l->before; b; b = b->before) {
        uint32_t used = b->j == l->j ? cpus_of_tasks(b, n, b->tasks[at]) : 0;
        cpus = cpus > used ? cpus - used : 0;
    }
    return cpus;
}

static uint64_t leave_memory(const struct step_layout *l, const struct alloc_node *a, size_t at,
                             uint64_t mib)
{
    for (const struct step_layout *b = l->before; b; b = b->before) {
        uint64_t used = b->j == l->j ? step_layout_memory(b, a, b->tasks[at]) : 0;
        mib = mib > used ? mib - used : 0;
    }
    return mib;
}

/* -c without -n: the number of tasks for which the first nodes have CPUs. */
static uint32_t count_filling_tasks(const struct control *c, const struct step_layout *l)
{
    uint64_t sum = 0;
    for (size_t i = 0, nodes = 0; i < attempt_of(l->j)->alloc.len && nodes < l->wanted_nodes; i++) {
        const struct alloc_node *a = &attempt_of(l->j)->alloc.data[i];
        const struct node *n = c->cluster->nodes.data[a->node];
        uint32_t tasks = l->usable[i] ? count_tasks_on(l, n, leave_cpus(l, n, i, a->cpus)) : 0;
        nodes += tasks > 0;
        sum += tasks;
    }
    return cap_u32(sum);
}

static bool wants_filled_nodes(const struct step_layout *l, uint32_t per_node)
{
    const Pb__StepSpec *s = l->spec;
    return OR(s, exact, false) && OR(s, cpus_per_task, 0) && !per_node && !l->overcommit &&
           !s->has_spawned_by;
}

/* CPUs of the job's that a step could have now. */
static uint32_t idle_cpus(const struct step_layout *l, const struct alloc_node *a)
{
    if (l->overlap || a->step_cpus == 0)
        return a->cpus;
    return step_layout_is_whole(l) || a->cpus < a->step_cpus ? 0 : a->cpus - a->step_cpus;
}

uint64_t step_layout_memory(const struct step_layout *l, const struct alloc_node *a, uint32_t tasks)
{
    const Pb__StepSpec *s = l->spec;
    if (!alloc_memory_mib(a))
        return 0;
    if (s->has_mem_per_node_mib)
        return s->mem_per_node_mib == alloc_memory_mib(a) ? 0 : s->mem_per_node_mib;
    if (!s->has_mem_per_cpu_mib)
        return 0;
    uint64_t cpus = (uint64_t)tasks * l->cpus_per_task;
    if (l->overcommit && cpus > a->cpus)
        cpus = a->cpus; /* the job has no more of them, nor of memory */
    bool wraps = cpus && s->mem_per_cpu_mib > UINT64_MAX / cpus;
    return wraps ? UINT64_MAX : s->mem_per_cpu_mib * cpus;
}

bool step_layout_is_whole(const struct step_layout *l)
{
    return OR(l->spec, whole, false) || !OR(l->spec, exact, false);
}

uint64_t step_layout_granted_memory(const struct step_layout *l, const struct alloc_node *a,
                                    uint32_t tasks)
{
    uint64_t need = step_layout_memory(l, a, tasks);
    uint64_t left = l->overlap ? alloc_memory_mib(a) : alloc_memory_mib(a) - a->step_mem_mib;
    if (!need || l->spec->has_mem_per_node_mib || !step_layout_is_whole(l))
        return need;
    uint64_t of_all_cpus =
        l->spec->mem_per_cpu_mib * usable_cpus(l, l->cluster->nodes.data[a->node], a->cpus);
    if (of_all_cpus >= alloc_memory_mib(a))
        return 0;
    if (of_all_cpus > left)
        of_all_cpus = left;
    return of_all_cpus > need ? of_all_cpus : need;
}

/* How many of 'cap' tasks the free memory holds. */
static uint32_t memory_fits(const struct step_layout *l, const struct alloc_node *a,
                            uint64_t free_mib, uint32_t cap)
{
    uint64_t one = step_layout_memory(l, a, 1);
    if (one == 0 || cap == 0)
        return cap;
    if (step_layout_memory(l, a, cap) <= free_mib)
        return cap;
    if (l->spec->has_mem_per_node_mib)
        return 0;
    return free_mib / one < cap ? (uint32_t)(free_mib / one) : cap;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* -N2-4 without a number of tasks: as many nodes as the range lets, of those that could run a task,
 * or as many as --ntasks-per-node says, now. */
static uint32_t count_nodes_of_range(const struct control *c, const struct step_layout *l,
                                     uint32_t per_node)
{
    uint32_t least = per_node ? per_node : 1;
    uint32_t most = OR(l->spec, max_nodes, 0), nodes = 0;
    if (l->spec->job_size_str || most <= l->spec->min_nodes)
        return l->spec->min_nodes;
    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++) {
        const struct alloc_node *a = &attempt_of(l->j)->alloc.data[i];
        const struct node *n = c->cluster->nodes.data[a->node];
        uint32_t cpus = leave_cpus(l, n, i, idle_cpus(l, a));
        uint64_t left = leave_memory(
            l, a, i, l->overlap ? alloc_memory_mib(a) : alloc_memory_mib(a) - a->step_mem_mib);
        bool fits = l->overcommit || count_tasks_on(l, n, cpus) >= least;
        nodes += l->usable[i] && fits && memory_fits(l, a, left, least) == least;
    }
    nodes = nodes < most ? nodes : most;
    return nodes > l->spec->min_nodes ? nodes : l->spec->min_nodes;
}

static int find_counts(const struct control *c, struct step_layout *l, struct err *err)
{
    const Pb__StepSpec *s = l->spec;
    uint32_t per_node = OR(s, ntasks_per_node, l->gres.tasks_per_node);
    bool nodes_asked = s->has_min_nodes && s->min_nodes;
    l->wanted_nodes = nodes_asked ? s->min_nodes : l->gres.nodes ? l->gres.nodes : l->count;
    if (l->wanted_nodes > l->count)
        return control_set_error(err, ERR_NODE_COUNT, "more nodes than the job has");
    l->cpus_per_task = OR(s, cpus_per_task, l->j->want.cpus_per_task);
    l->cpus_per_task = l->cpus_per_task ? l->cpus_per_task : 1;
    if (nodes_asked && !OR(s, num_tasks, 0))
        l->wanted_nodes = count_nodes_of_range(c, l, per_node);
    uint32_t filling = wants_filled_nodes(l, per_node) ? count_filling_tasks(c, l) : 0;
    if (s->has_num_tasks && s->num_tasks)
        l->num_tasks = s->num_tasks;
    else if (filling)
        l->num_tasks = filling;
    else if (nodes_asked || l->nodes_given || per_node)
        l->num_tasks = cap_u32((uint64_t)l->wanted_nodes * (per_node ? per_node : 1));
    else
        l->num_tasks = l->j->want.tasks > l->wanted_nodes ? l->j->want.tasks : l->wanted_nodes;
    if (l->num_tasks < l->wanted_nodes)
        l->wanted_nodes = l->num_tasks;
    return 0;
}

static uint64_t count_taken_gpus(const struct step_layout *l, const struct alloc_node *a,
                                 uint32_t tasks);

/* --cpus-per-gpu: the CPUs of the GPUs that the step takes on a node, as far as they are idle. */
static uint32_t count_gpu_cpus(const struct step_layout *l, const struct alloc_node *a,
                               uint32_t tasks)
{
    uint64_t gpus = OR(l->spec, cpus_per_gpu, 0) ? count_taken_gpus(l, a, tasks) : 0;
    uint64_t cpus = gpus * OR(l->spec, cpus_per_gpu, 0);
    uint32_t idle = idle_cpus(l, a);
    return cpus < idle ? (uint32_t)cpus : idle;
}

uint32_t step_layout_cpus(const struct step_layout *l, const struct node *n,
                          const struct alloc_node *a, uint32_t tasks)
{
    uint32_t cpus = cpus_of_tasks(l, n, tasks), of_gpus = count_gpu_cpus(l, a, tasks);
    cpus = of_gpus > cpus ? of_gpus : cpus;
    return step_layout_is_whole(l) || cpus > a->cpus ? a->cpus : cpus;
}

struct step_cpus_way step_layout_way(const struct step_layout *l, const struct node *n)
{
    bool spreads = OR(l->spec, spread, false) && !OR(l->spec, exact, false) && !used_threads(l, n);
    return (struct step_cpus_way){.cyclic = l->dist.sockets ? l->dist.sockets != DIST_BLOCK
                                                            : l->j->want.cyclic,
                                  .spread = spreads ? min_u32(l->cpus_per_task, n->threads) : 0};
}

static void find_capacity(const struct control *c, struct step_layout *l, uint32_t most_tasks)
{
    uint32_t per_node = OR(l->spec, ntasks_per_node, UINT32_MAX);
    per_node = per_node && per_node < most_tasks ? per_node : most_tasks;
    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++) {
        const struct alloc_node *a = &attempt_of(l->j)->alloc.data[i];
        const struct node *n = c->cluster->nodes.data[a->node];
        uint32_t idle = leave_cpus(l, n, i, idle_cpus(l, a)), all = leave_cpus(l, n, i, a->cpus);
        uint32_t cap = l->overcommit ? l->num_tasks : count_tasks_on(l, n, idle);
        uint32_t most = l->overcommit ? l->num_tasks : count_tasks_on(l, n, all);
        uint64_t left = leave_memory(
            l, a, i, l->overlap ? alloc_memory_mib(a) : alloc_memory_mib(a) - a->step_mem_mib);
        l->cap[i] = !l->usable[i] ? 0 : cap < per_node ? cap : per_node;
        l->by_cpus[i] = !l->usable[i] ? 0 : most < per_node ? most : per_node;
        l->most[i] = memory_fits(l, a, leave_memory(l, a, i, alloc_memory_mib(a)), l->by_cpus[i]);
        l->cap[i] = memory_fits(l, a, left, l->cap[i]);
        l->by_gres[i] = min_u32(l->most[i], step_gres_fits(c, &l->gres, a, true));
        l->cap[i] = min_u32(l->cap[i], step_gres_fits(c, &l->gres, a, l->overlap));
    }
}

/* Picks nodes in order until count and tasks are enough; 'cap' says what each takes. The number
 * picked; 0: they are not enough. */
static uint32_t pick_from(const struct step_layout *l, uint32_t wanted, const uint32_t *cap,
                          bool *picked)
{
    uint32_t nodes = 0, sum = 0;
    uint32_t most_nodes = OR(l->spec, max_nodes, 0) ? l->spec->max_nodes : UINT32_MAX;
    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++) {
        picked[i] = cap[i] && nodes < most_nodes && (nodes < wanted || sum < l->num_tasks);
        nodes += picked[i];
        sum += picked[i] ? cap[i] : 0;
    }
    return nodes >= wanted && sum >= l->num_tasks ? nodes : 0;
}

/* The smallest count of --nodes=1,3 that is enough. */
static bool pick_nodes(const struct step_layout *l, const uint32_t *cap, bool *picked)
{
    uint32_t nodes = pick_from(l, l->wanted_nodes, cap, picked);
    struct idset sizes = {0};
    if (!nodes || !l->spec->job_size_str ||
        request_parse_sizes(l->spec->job_size_str, &sizes, NULL) < 0)
        return nodes > 0;
    while (nodes && !idset_has(&sizes, nodes)) {
        int64_t next = idset_next(&sizes, nodes);
        bool fits = next > 0 && next <= l->num_tasks;
        nodes = fits ? pick_from(l, (uint32_t)next, cap, picked) : 0;
    }
    idset_done(&sizes);
    return nodes > 0;
}

/* --ntasks-per-gpu: the GPUs of a node limit its tasks, if the nodes hold all tasks in this way. */
static void limit_by_gpus(const struct control *c, const struct step_layout *l, uint32_t *cap)
{
    size_t n = attempt_of(l->j)->alloc.len;
    uint32_t per_gpu = OR(l->spec, ntasks_per_gpu, 0);
    _cleanup_free_ uint32_t *limited = mem_new_array(uint32_t, n);
    uint64_t sum = 0;
    if (!per_gpu || !l->gres.own)
        return;
    for (size_t i = 0; i < n; i++) {
        uint64_t gpus = step_gres_count_gpus(c, &attempt_of(l->j)->alloc.data[i], l->overlap);
        uint64_t tasks = gpus < UINT32_MAX ? gpus * per_gpu : UINT64_MAX;
        limited[i] = tasks < cap[i] ? (uint32_t)tasks : cap[i];
        sum += limited[i];
    }
    for (size_t i = 0; i < n && sum >= l->num_tasks; i++)
        cap[i] = limited[i];
}

static void deal_tasks(const struct control *c, struct step_layout *l, const bool *picked)
{
    size_t n = attempt_of(l->j)->alloc.len;
    _cleanup_free_ uint32_t *cap = mem_new_array(uint32_t, n);
    for (size_t i = 0; i < n; i++)
        cap[i] = picked[i] ? l->cap[i] : 0;
    limit_by_gpus(c, l, cap);
    dist_deal_tasks(&l->dist, dist_is_packed(&l->dist, l->j->want.pack), l->num_tasks, cap, n,
                    l->tasks);
}

static int place_tasks(const struct control *c, struct step_layout *l, struct err *err)
{
    bool *picked = mem_new_array(bool, attempt_of(l->j)->alloc.len);
    int rc = 0;
    if (!pick_nodes(l, l->by_cpus, picked))
        rc = control_set_error(err, ERR_TOO_MANY_CPUS, NULL);
    else if (!pick_nodes(l, l->most, picked))
        rc = control_set_error(err, ERR_STEP_MEMORY, NULL);
    else if (!pick_nodes(l, l->by_gres, picked))
        rc = control_set_error(err, ERR_STEP_CONFIG,
                               "the job has fewer generic resources than the step requests");
    else if (!pick_nodes(l, l->cap, picked))
        rc = step_layout_busy(c, l, err);
    else
        deal_tasks(c, l, picked);
    free(picked);
    if (rc == 0 && !step_gres_total_fits(c, &l->gres, l->j, l->tasks, true))
        return control_set_error(err, ERR_STEP_CONFIG,
                                 "the job has fewer generic resources than the step requests");
    if (rc == 0 && !step_gres_total_fits(c, &l->gres, l->j, l->tasks, l->overlap))
        return control_set_error(err, ERR_NODES_BUSY, NULL);
    return rc;
}

/* -m arbitrary: the n-th task to the n-th node of the list, however many CPUs it has. */
static int place_listed(const struct control *c, struct step_layout *l, struct arena *arena,
                        struct err *err)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    int rc = cluster_parse_hosts(c->cluster, l->spec->nodes ? l->spec->nodes : "", &hosts, err);
    if (rc == 0 && hostlist_count(hosts) < l->num_tasks)
        rc = control_set_error(err, ERR_STEP_CONFIG, "fewer nodes are listed than there are tasks");
    if (rc != 0)
        return rc;
    l->order = arena_alloc(arena, sizeof(*l->order) * (l->num_tasks + (size_t)1));
    for (uint32_t t = 0; t < l->num_tasks; t++) {
        struct node *n = cluster_find_node(c->cluster, hostlist_nth(hosts, t, name));
        struct alloc_node *a = n ? alloc_find(l->j, n->index) : NULL;
        size_t at = a ? (size_t)(a - attempt_of(l->j)->alloc.data) : 0;
        if (!a || !l->usable[at])
            return control_set_error(err, ERR_STEP_CONFIG, name);
        l->tasks[at]++;
        l->order[t] = (uint32_t)at;
    }
    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++) {
        if (l->tasks[i] > l->most[i])
            return control_set_error(err, ERR_STEP_MEMORY, NULL);
        if (l->tasks[i] > l->by_gres[i])
            return control_set_error(err, ERR_STEP_CONFIG,
                                     "the job has fewer generic resources than the step requests");
        if (l->tasks[i] > l->cap[i])
            return step_layout_busy(c, l, err);
    }
    return 0;
}

int step_layout_find(struct control *c, struct job *j, const Pb__StepSpec *spec,
                     struct arena *arena, struct step_layout *l, struct err *err)
{
    size_t bytes = sizeof(uint32_t) * (attempt_of(j)->alloc.len + 1);
    *l = (struct step_layout){.cluster = c->cluster,
                              .j = j,
                              .spec = spec,
                              .overlap = OR(spec, overlap, 0),
                              .before = l->before,
                              .shares = l->shares};
    if (dist_parse(spec->distribution, &l->dist) < 0)
        return control_set_error(err, ERR_STEP_CONFIG, spec->distribution);
    bool listed = l->dist.nodes == DIST_ARBITRARY;
    l->overcommit = OR(spec, overcommit, 0) || j->want.overcommit || listed;
    l->usable = arena_alloc(arena, attempt_of(j)->alloc.len + 1);
    l->cap = arena_alloc(arena, bytes);
    l->most = arena_alloc(arena, bytes);
    l->by_cpus = arena_alloc(arena, bytes);
    l->by_gres = arena_alloc(arena, bytes);
    l->tasks = arena_alloc(arena, bytes);
    int rc = step_gres_read(c, spec, &l->gres, err);
    if (rc == 0)
        rc = find_usable(c, l, err);
    if (rc == 0)
        rc = find_counts(c, l, err);
    if (rc != 0)
        return rc;
    find_capacity(c, l, c->conf->max_tasks_per_node);
    return listed ? place_listed(c, l, arena, err) : place_tasks(c, l, err);
}

void step_layout_done(struct step_layout *l)
{
    gres_wants_done(&l->gres.wants);
}

void step_layout_number(const struct step_layout *l, uint32_t first, Pb__StepNode **nodes,
                        const uint32_t *at, size_t count)
{
    bool rounds = l->dist.nodes == DIST_NODES_CYCLIC || l->dist.nodes == DIST_PLANE;
    uint32_t task = 0, most = rounds ? dist_round(&l->dist) : UINT32_MAX;
    for (size_t i = 0; l->order && i < count; i++)
        l->by_cpus[at[i]] = (uint32_t)i; /* done with; from the place in the job to that here */
    for (; l->order && task < l->num_tasks; task++) {
        Pb__StepNode *n = nodes[l->by_cpus[l->order[task]]];
        n->task_ids[n->n_task_ids++] = first + task;
    }
    while (task < l->num_tasks)
        for (size_t i = 0; i < count; i++)
            for (uint32_t n = 0; n < most && nodes[i]->n_task_ids < l->tasks[at[i]]; n++)
                nodes[i]->task_ids[nodes[i]->n_task_ids++] = first + task++;
}

/* --- step gres -----------------------------------------------------------------------------------
 * The generic resources of a job among its steps. A step that asks for some has them alone, as far
 * as other steps that ask go; one that does not sees all that the job has. */

static bool is_none(const char *text)
{
    return text && strcasecmp(text, "none") == 0;
}

static bool is_given(const char *text)
{
    return text && *text;
}

static int refuse_gres(struct err *err, const char *why)
{
    return err_set(err, -ERR_GRES, "%s: %s", err_text(ERR_GRES), why);
}

/* --gpus beside --gpus-per-node, or --gres, says how many nodes; beside --gpus-per-task it is that
 * of the tasks. */
static int divide_total(struct step_gres *g, struct err *err)
{
    uint64_t node = gres_wanted(&g->wants, "gpu", GRES_PER_NODE);
    uint64_t total = gres_wanted(&g->wants, "gpu", GRES_PER_JOB);
    bool shared = node || gres_wanted(&g->wants, "gpu", GRES_PER_TASK);
    if (!total || !shared)
        return 0;
    if (node && total % node)
        return refuse_gres(err,
                           "the GPUs of --gpus are not those of whole nodes (--gpus-per-node)");
    g->nodes = node ? cap_u32(total / node) : 0;
    vec_foreach (&g->wants.list, w)
        w->per_job = 0;
    return 0;
}

int step_gres_read(const struct control *c, const Pb__StepSpec *s, struct step_gres *g,
                   struct err *err)
{
    const struct cluster *cl = c->cluster;
    g->none = is_none(s->gres);
    int rc = gres_parse(cl, s->gres, GRES_PER_NODE, &g->wants, err);
    rc = rc == 0 ? gres_parse(cl, s->tres_per_task, GRES_PER_TASK, &g->wants, err) : rc;
    rc = rc == 0 ? gres_parse(cl, s->tres_per_step, GRES_PER_JOB, &g->wants, err) : rc;
    rc = rc == 0 ? gres_check_known(cl, &g->wants, err) : rc;
    rc = rc == 0 ? gres_join_views(&g->wants, &g->tasks_per_node, err) : rc;
    rc = rc == 0 ? divide_total(g, err) : rc;
    if (rc != 0)
        return rc;
    uint32_t per_gpu = s->has_ntasks_per_gpu ? s->ntasks_per_gpu : 0;
    if (per_gpu && gres_wanted(&g->wants, "gpu", GRES_PER_TASK))
        return refuse_gres(err, "--ntasks-per-gpu and --gpus-per-task exclude each other");
    vec_foreach (&g->wants.list, w)
        g->total += w->per_job;
    g->own = g->wants.list.len > 0;
    g->none = g->none || (!g->own && (is_given(s->gres) || is_given(s->tres_per_step) ||
                                      is_given(s->tres_per_task))); /* all of it zero */
    return 0;
}

/* What of the job's share of a node the step may choose from, by kind. */
static void have_of(const struct alloc_node *a, bool all, size_t kinds, uint64_t *have)
{
    memset(have, 0, kinds * sizeof(*have));
    vec_foreach (&a->gres, held)
        have[held->kind] = all ? held->count : held->count - held->step_count;
}

uint32_t step_gres_fits(const struct control *c, const struct step_gres *g,
                        const struct alloc_node *a, bool all)
{
    uint64_t have[GRES_KINDS_MAX], left[GRES_KINDS_MAX];
    size_t kinds = c->cluster->gres_kinds.len;
    if (!g->own)
        return UINT32_MAX;
    have_of(a, all, kinds, have);
    return gres_tasks(&g->wants, kinds, have, left);
}

static uint64_t count_gpus(const struct cluster *c, const struct alloc_node *a, bool all)
{
    uint64_t have[GRES_KINDS_MAX], gpus = 0;
    size_t kinds = c->gres_kinds.len;
    uint64_t mask = gres_kinds_of(c, "gpu");
    have_of(a, all, kinds, have);
    for (size_t k = 0; k < kinds; k++)
        gpus += mask >> k & 1 ? have[k] : 0;
    return gpus;
}

uint64_t step_gres_count_gpus(const struct control *c, const struct alloc_node *a, bool all)
{
    return count_gpus(c->cluster, a, all);
}

/* The GPUs of a node that the step has with this number of tasks there: those that it requests, of
 * a total what is left of it, or all of the job. */
static uint64_t count_taken_gpus(const struct step_layout *l, const struct alloc_node *a,
                                 uint32_t tasks)
{
    const struct step_gres *g = &l->gres;
    uint64_t all = count_gpus(l->cluster, a, l->overlap || !g->own);
    if (g->none || !g->own)
        return g->none ? 0 : all;
    uint64_t taken = gres_wanted(&g->wants, "gpu", GRES_PER_NODE) +
                     gres_wanted(&g->wants, "gpu", GRES_PER_TASK) * tasks;
    uint64_t rest = gres_wanted(&g->wants, "gpu", GRES_PER_JOB);
    taken += rest < g->total ? rest : g->total;
    return taken < all ? taken : all;
}

/* Devices of the job's that no other step has. */
static void choose_devices(const struct node *n, struct gres_held *from, bool overlap,
                           struct gres_held *to)
{
    const struct gres_stock *s = gres_find(n, from->kind);
    if (!from->devices)
        return;
    _cleanup_bitset_ struct bitset *among = bitset_dup(from->devices);
    if (!overlap && from->step_devices)
        bitset_andnot(among, from->step_devices);
    size_t have = bitset_count(among);
    to->devices = bitset_new(from->devices->size);
    gres_link_choose(s ? s->conf : NULL, among, to->count < have ? (size_t)to->count : have,
                     to->devices);
}

void step_gres_take(const struct control *c, struct step_gres *g, struct alloc_node *a,
                    struct step_node *n, bool overlap)
{
    uint64_t have[GRES_KINDS_MAX], left[GRES_KINDS_MAX], total = 0;
    struct gres_amount amounts[GRES_KINDS_MAX];
    size_t kinds = c->cluster->gres_kinds.len;
    if (!g->own)
        return;
    have_of(a, overlap, kinds, have);
    gres_tasks(&g->wants, kinds, have, left);
    vec_foreach (&g->wants.list, w)
        for (size_t k = 0; w->per_job && k < kinds; k++)
            total += w->mask >> k & 1 ? left[k] : 0;
    total = total < g->total ? total : g->total;
    g->total -= total;
    size_t count = gres_deal(&g->wants, kinds, have, n->tasks, total, amounts);
    for (size_t i = 0; i < count; i++) {
        struct gres_held *job = gres_held_find(a, amounts[i].kind);
        struct gres_held step = {.kind = amounts[i].kind, .count = amounts[i].count};
        choose_devices(c->cluster->nodes.data[a->node], job, overlap, &step);
        if (!overlap)
            gres_held_step(job, &step);
        vec_push(&n->gres, step);
    }
}

bool step_gres_total_fits(const struct control *c, const struct step_gres *g, const struct job *j,
                          const uint32_t *tasks, bool all)
{
    uint64_t have[GRES_KINDS_MAX], left[GRES_KINDS_MAX], sum = 0;
    size_t kinds = c->cluster->gres_kinds.len;
    for (size_t i = 0; i < attempt_of(j)->alloc.len && g->total; i++) {
        if (!tasks[i])
            continue;
        have_of(&attempt_of(j)->alloc.data[i], all, kinds, have);
        if (!gres_tasks(&g->wants, kinds, have, left))
            continue;
        vec_foreach (&g->wants.list, w)
            for (size_t k = 0; w->per_job && k < kinds; k++)
                sum += w->mask >> k & 1 ? left[k] : 0;
    }
    return sum >= g->total;
}

/* --- step ports ----------------------------------------------------------------------------------
 * Which communication ports a step gets (srun --resv-ports). The free ports are computed at each
 * request from the ports of running steps, so a restart needs no record of them. All jobs share the
 * ports: steps that wait for some are tried again when any step returns its own. */

int step_ports_check(const struct control *c, const Pb__StepSpec *spec, struct err *err)
{
    const struct conf *conf = c->conf;
    uint32_t room = conf->mpi_port_high - conf->mpi_port_low + 1;
    if (!spec->has_resv_ports || spec->resv_ports == 0)
        return 0;
    if (!conf->mpi_port_low)
        return control_set_error(err, ERR_STEP_CONFIG,
                                 "--resv-ports needs MpiParams=ports=LOW-HIGH in slurm.conf");
    if (spec->resv_ports == STEP_PORTS_EACH || spec->resv_ports <= room)
        return 0;
    return err_set(err, -ERR_STEP_CONFIG,
                   "%s: --resv-ports=%u asks for more ports than MpiParams=%s has, which is %u",
                   err_text(ERR_STEP_CONFIG), spec->resv_ports, conf->mpi_params, room);
}

static uint32_t most_tasks(const struct step_layout *l)
{
    uint32_t most = 0;
    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++)
        most = l->tasks[i] > most ? l->tasks[i] : most;
    return most;
}

static bool has_node_of(const struct step_layout *l, const struct bitset *nodes)
{
    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++)
        if (l->tasks[i] && bitset_test(nodes, attempt_of(l->j)->alloc.data[i].node))
            return true;
    return false;
}

/* Those of other steps on the nodes of the layout, and of the parts before it that are there. */
static struct bitset *used_ports(const struct control *c, const struct step_layout *l)
{
    struct bitset *used = bitset_new(c->conf->mpi_port_high + 1);
    _cleanup_bitset_ struct bitset *nodes = bitset_new(c->cluster->nodes.len);
    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++)
        if (l->tasks[i])
            bitset_set(nodes, attempt_of(l->j)->alloc.data[i].node);
    step_ports_used(c->cluster, nodes, used);
    for (const struct step_layout *b = l->before; b; b = b->before)
        for (size_t i = 0; i < b->port_count && has_node_of(b, nodes); i++)
            bitset_set(used, b->ports[i]);
    return used;
}

int step_ports_find(const struct control *c, struct step_layout *l, struct arena *arena,
                    struct err *err)
{
    const struct conf *conf = c->conf;
    uint32_t wanted = l->spec->has_resv_ports ? l->spec->resv_ports : 0;
    Pb__StepSpec counted = *l->spec;
    if (wanted == STEP_PORTS_EACH)
        counted.resv_ports = wanted = most_tasks(l);
    int rc = step_ports_check(c, &counted, err);
    if (rc != 0 || wanted == 0)
        return rc;
    _cleanup_bitset_ struct bitset *used = used_ports(c, l);
    l->ports = arena_alloc(arena, sizeof(*l->ports) * wanted);
    l->port_count = 0;
    for (uint32_t p = conf->mpi_port_low; p <= conf->mpi_port_high && l->port_count < wanted; p++)
        if (!bitset_test(used, p))
            l->ports[l->port_count++] = p;
    if (l->port_count == wanted)
        return 0;
    return err_set(err, -ERR_NODES_BUSY,
                   "%s: %u %s asked for, and %zu of MpiParams=%s %s free on its nodes; "
                   "other steps have the rest",
                   err_text(ERR_NODES_BUSY), wanted, wanted == 1 ? "port is" : "ports are",
                   l->port_count, conf->mpi_params, l->port_count == 1 ? "is" : "are");
}

void step_ports_take(const struct step_layout *l, struct step *s)
{
    for (size_t i = 0; i < l->port_count; i++)
        vec_push(&s->ports, (uint16_t)l->ports[i]);
}

void step_ports_over(struct control *c, struct job *j, const struct step *s)
{
    if (!s->ports.len)
        return;
    if (!job_is_final(j)) {
        c->ports_freed = true;
        return;
    }
    vec_foreach (&s->ports, p)
        vec_push(&attempt_make(j)->late_ports, *p);
}

void step_ports_job_clean(struct control *c, struct job *j)
{
    if (!attempt_of(j)->late_ports.len)
        return;
    vec_clear(&j->attempt->late_ports);
    c->ports_freed = true;
}

bool step_ports_wanted(const Pb__StepSpec *spec)
{
    bool wanted = spec->has_resv_ports;
    for (size_t i = 0; i < spec->n_parts; i++)
        wanted |= spec->parts[i]->has_resv_ports;
    return wanted;
}

/* Once, though its steps are tried again whenever another one of the job ends. */
void step_ports_await(struct control *c, const struct job *j)
{
    vec_foreach (&c->ports_awaited, id)
        if (*id == j->id)
            return;
    vec_push(&c->ports_awaited, j->id);
}

void step_ports_turn(struct control *c)
{
    if (!c->ports_freed)
        return;
    c->ports_freed = false;
    for (size_t left = c->ports_awaited.len; left-- > 0;) {
        uint32_t id = c->ports_awaited.data[0];
        vec_remove(&c->ports_awaited, 0);
        struct job *j = cluster_find_job(c->cluster, id);
        if (j && j->attempt)
            step_retry_waiting(c, j);
    }
}
