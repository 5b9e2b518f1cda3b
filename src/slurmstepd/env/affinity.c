/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/env/affinity.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "slurmstepd/env/bind.h"

#define BIND_MEMORY_MAX 1024 /* number of NUMA nodes that a kernel supports */

struct affinity {
    struct bind_set cpus;
    const Pb__Bind *cpu_bind; /* NULL: not specified */
    const Pb__CpuMap *map;
};

static const Pb__NodeShare *share_here(const struct step *step)
{
    for (size_t i = 0; i < step->granted->n_job_nodes; i++)
        if (str_eq(step->granted->job_nodes[i]->node, step->node))
            return step->granted->job_nodes[i];
    return NULL;
}

static ProtobufCBinaryData find_job_cpus(const struct step *step)
{
    const Pb__NodeShare *share = share_here(step);

    return share && share->has_cpu_set ? share->cpu_set : (ProtobufCBinaryData){0};
}

/* The step's own CPUs if it is exclusive or if each task gets its own CPUs; otherwise all CPUs of
 * its job on this node. */
static ProtobufCBinaryData find_usable_cpus(const struct step *step)
{
    const Pb__StepNode *here = step->granted->nodes[step->batch ? 0 : step->node_index];
    const Pb__Bind *b = step->launch ? step->launch->cpu_bind : NULL;
    bool each =
        b && (b->kind == PB__BIND_KIND__BIND_CORES || b->kind == PB__BIND_KIND__BIND_THREADS);

    if (here->has_cpu_set && step->launch && (step->granted->exact || each))
        return here->cpu_set;
    return find_job_cpus(step);
}

/* Sets the variables that describe the binding, under names that an srun inside the task does not
   take for a request of its user. */
static void put_variables(struct step *step, const struct affinity *a)
{
    _cleanup_str_ struct str list = STR_INIT, all = STR_INIT;
    const char *manner = a->cpu_bind && a->cpu_bind->verbose ? "verbose" : "quiet";

    for (uint32_t i = 0; a->cpus.bound && i < a->cpus.tasks; i++) {
        str_puts(&list, i ? "," : "");
        bind_format(a->cpus.cpus[i], &list);
    }
    str_printf(&all, "%s,%s%s", manner, a->cpus.bound ? "mask_cpu:" : "none", str_cstr(&list));
    envlist_set(&step->env, "SLURM_CPU_BIND", str_cstr(&all));
    envlist_set(&step->env, "SLUICE_CPU_BIND", str_cstr(&all));
    envlist_set(&step->env, "SLURM_CPU_BIND_VERBOSE", manner);
    envlist_set(&step->env, "SLURM_CPU_BIND_TYPE", a->cpus.bound ? "mask_cpu:" : "none");
    envlist_set(&step->env, "SLURM_CPU_BIND_LIST", str_cstr(&list));
}

/* The same for memory, if memory binding was requested. */
static void put_memory_variables(struct step *step)
{
    static const char *const types[] = {[PB__BIND_KIND__BIND_RANK] = "rank",
                                        [PB__BIND_KIND__BIND_MAP] = "map_mem:",
                                        [PB__BIND_KIND__BIND_MASK] = "mask_mem:",
                                        [PB__BIND_KIND__BIND_LOCAL] = "local"};
    const Pb__Bind *b = step->launch->mem_bind;
    _cleanup_str_ struct str list = STR_INIT;

    if (!b)
        return;
    bool known = b->kind < sizeof(types) / sizeof(types[0]) && types[b->kind];
    for (size_t i = 0; i < b->n_list; i++)
        str_printf(&list, "%s%s", i ? "," : "", b->list[i]);
    envlist_set(&step->env, "SLURM_MEM_BIND_TYPE", known ? types[b->kind] : "none");
    envlist_set(&step->env, "SLURM_MEM_BIND_LIST", str_cstr(&list));
    envlist_set(&step->env, "SLURM_MEM_BIND_VERBOSE", b->verbose ? "verbose" : "quiet");
    envlist_set(&step->env, "SLURM_MEM_BIND_PREFER", b->prefer ? "prefer" : "");
    envlist_set(&step->env, "SLURM_MEM_BIND_SORT", b->sort ? "sort" : "");
}

/* Converts the order in LaunchTasks: cyclic, block, fcyclic. */
static enum dist_order order_of(bool said, uint32_t order)
{
    return said ? (enum dist_order)(order % 3 + DIST_CYCLIC) : DIST_ANY;
}

int affinity_prepare(struct step *step, struct err *err)
{
    const Pb__StepdStart *start = step->start;

    const Pb__Bind *b = step->launch ? step->launch->cpu_bind : NULL;

    if (step->launch)
        put_memory_variables(step);
    if (!start->has_affinity || !start->affinity)
        return 0;
    struct affinity *a = arena_alloc(&step->arena, sizeof(*a));
    *a = (struct affinity){.map = start->cpus, .cpu_bind = b};
    if (!a->map) {
        step->affinity = b && b->has_kind && b->kind != PB__BIND_KIND__BIND_NONE ? a : NULL;
        return 0;
    }
    const struct bind_want want = {
        .map = start->cpus,
        .cpus = find_usable_cpus(step),
        .around = step->granted->exact ? (ProtobufCBinaryData){0} : find_job_cpus(step),
        .cpu_bind = a->cpu_bind,
        .sockets = step->launch ? order_of(true, step->launch->socket_order) : DIST_ANY,
        .cores = step->launch ? order_of(step->launch->has_core_order, step->launch->core_order)
                              : DIST_ANY,
        .tasks = (uint32_t)step->task_count,
        .cpus_per_task = step->launch ? step->launch->cpus_per_task : 1};
    int rc = bind_find(&want, &a->cpus, err);
    if (rc)
        return rc;
    step->affinity = a;
    if (step->launch)
        put_variables(step, a);
    return 0;
}

const struct bitset *affinity_cpus(const struct task *t)
{
    const struct affinity *a = t->step->affinity;

    return a && a->cpus.bound && t->local < a->cpus.tasks ? a->cpus.cpus[t->local] : NULL;
}

void affinity_done(struct step *step)
{
    if (step->affinity)
        bind_set_done(&take_ptr(step->affinity)->cpus);
}

/* The NUMA nodes near these CPUs. */
static void near_memory(const Pb__CpuMap *map, const struct bitset *cpus, struct bitset *nodes)
{
    for (size_t i = 0; i < map->n_number && i < map->n_numa; i++)
        if (map->number[i] < cpus->size && bitset_test(cpus, map->number[i]) &&
            map->numa[i] < nodes->size)
            bitset_set(nodes, map->numa[i]);
}

/* The n-th existing NUMA node, wrapping around. */
static void memory_by_rank(const Pb__CpuMap *map, uint32_t rank, struct bitset *nodes)
{
    _cleanup_bitset_ struct bitset *all = bitset_new(nodes->size);

    for (size_t i = 0; i < map->n_numa; i++)
        if (map->numa[i] < all->size)
            bitset_set(all, map->numa[i]);
    size_t count = bitset_count(all);
    long at = count ? bitset_next(all, 0) : -1;
    for (size_t left = count ? rank % count : 0; left > 0; left--)
        at = bitset_next(all, (size_t)at + 1);
    if (at >= 0)
        bitset_set(nodes, (size_t)at);
}

/* The NUMA nodes of the task, or of its list. Returns false if the task's memory is not to be
   bound. */
static bool find_task_memory(const struct task *t, const struct affinity *a, struct bitset *nodes)
{
    const Pb__Bind *b = t->step->launch ? t->step->launch->mem_bind : NULL;
    const char *entry = b && b->n_list ? b->list[t->local % b->n_list] : NULL;

    switch (b ? b->kind : PB__BIND_KIND__BIND_NONE) {
    case PB__BIND_KIND__BIND_LOCAL:
        if (a->cpus.bound)
            near_memory(a->map, a->cpus.cpus[t->local], nodes);
        return !bitset_empty(nodes);
    case PB__BIND_KIND__BIND_RANK:
        memory_by_rank(a->map, t->local, nodes);
        return !bitset_empty(nodes);
    case PB__BIND_KIND__BIND_MAP: {
        unsigned long number = entry ? strtoul(entry, NULL, 0) : nodes->size;
        if (number < nodes->size)
            bitset_set(nodes, number);
        return number < nodes->size;
    }
    case PB__BIND_KIND__BIND_MASK:
        return entry && bind_parse(entry, nodes, NULL) == 0 && !bitset_empty(nodes);
    default:
        return false;
    }
}

/* "cpu-bind=MASK - n1, task  0  0 [15425]: mask 0x1 set" */
static void describe_binding(const struct task *t, const char *what, const char *manner,
                             const struct bitset *set, bool bound, struct str *out)
{
    str_printf(out, "%s=%s - %s, task %2u %2u [%d]: mask ", what, manner, t->step->node, t->id,
               t->local, (int)getpid());
    bind_format(set, out);
    str_puts(out, bound ? " set\n" : "\n");
}

static void report_problem(struct str *said, const char *what, const struct bitset *set)
{
    int code = errno;

    str_printf(said, "slurmstepd: error: %s: cannot bind to ", what);
    bind_format(set, said);
    str_printf(said, ": %s\n", strerror(code));
}

static void bind_memory(const struct task *t, const struct affinity *a, struct str *said)
{
    const Pb__Bind *b = t->step->launch ? t->step->launch->mem_bind : NULL;
    _cleanup_bitset_ struct bitset *nodes = bitset_new(BIND_MEMORY_MAX);

    if (!b)
        return;
    bool bound = find_task_memory(t, a, nodes);
    if (b->verbose)
        describe_binding(t, "mem-bind", bound ? "MASK" : "NONE", nodes, bound, said);
    if (bound && syscall(SYS_set_mempolicy, b->prefer ? MPOL_PREFERRED_MANY : MPOL_BIND,
                         nodes->word, nodes->size + 1))
        report_problem(said, "mem-bind", nodes);
}

static void bind_cpus(const struct task *t, const struct affinity *a, struct str *said)
{
    const struct bitset *set = a->cpus.bound ? a->cpus.cpus[t->local] : NULL;
    _cleanup_bitset_ struct bitset *now = bitset_new(BIND_KERNEL_MAX);

    if (!set)
        sched_getaffinity(0, now->size / 8, (cpu_set_t *)now->word);
    if (a->cpu_bind && a->cpu_bind->verbose)
        describe_binding(t, "cpu-bind", set ? "MASK" : "NULL", set ? set : now, set != NULL, said);
    if (a->cpus.complaint && t->local == 0)
        str_printf(said, "slurmstepd: error: %s\n", a->cpus.complaint);
    if (set && sched_setaffinity(0, set->size / 8, (const cpu_set_t *)set->word))
        report_problem(said, "cpu-bind", set);
}

void affinity_apply(const struct task *t, struct str *said)
{
    const struct affinity *a = t->step->affinity;

    if (!a)
        return;
    if (!a->map) {
        str_puts(said, "slurmstepd: error: cpu-bind: tasks are not bound: this node has fewer CPUs "
                       "than are configured\n");
        return;
    }
    bind_cpus(t, a, said);
    bind_memory(t, a, said);
}
