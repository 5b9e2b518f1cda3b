/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/env/gpus.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/ranges.h"
#include "base/vec.h"
#include "base/words.h"
#include "cgroup/cgroup.h"
#include "conf/conf.h"
#include "slurmstepd/env/affinity.h"
#include "slurmstepd/env/bind.h"

#define CORES_MAX BIND_KERNEL_MAX

struct numbers {
    VEC(uint32_t) list;
};

static void read_numbers(const char *text, struct numbers *out)
{
    words_foreach (text, w)
        vec_push(&out->list, (uint32_t)strtoul(w.at, NULL, 10));
}

/* Whether programs number the step's GPUs from 0 regardless of the device file names, because the
 * step cannot open any other GPU. */
static bool numbers_from_zero(const Pb__StepdStart *start)
{
    return start->cgroup && start->cgroup->parts & CGROUP_BIT(CGROUP_DEVICES);
}

/* Visible NULL: no GPU may be used. */
static void put_visible(struct envlist *env, const Pb__StepdStart *start, const char *visible)
{
    static const struct {
        unsigned flag;
        const char *name;
    } makers[] = {{CONF_GRES_NVIDIA, "CUDA_VISIBLE_DEVICES"},
                  {CONF_GRES_AMD, "ROCR_VISIBLE_DEVICES"},
                  {CONF_GRES_INTEL, "ZE_AFFINITY_MASK"},
                  {CONF_GRES_OPENCL, "GPU_DEVICE_ORDINAL"}};
    unsigned all = CONF_GRES_NVIDIA | CONF_GRES_AMD | CONF_GRES_INTEL | CONF_GRES_OPENCL;
    unsigned configured = start->gpu_env & (all | CONF_GRES_NO_ENV);

    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        if (!((configured ? configured : all) & makers[i].flag))
            continue;
        if (visible)
            envlist_set(env, makers[i].name, visible);
        else
            envlist_unset(env, makers[i].name);
    }
}

static void add_number(struct str *out, unsigned long number)
{
    str_printf(out, "%s%lu", out->len ? "," : "", number);
}

void gpus_put(struct envlist *env, const Pb__StepdStart *start, bool step)
{
    const char *mine = start->step_gpus ? start->step_gpus : "";
    _cleanup_str_ struct str visible = STR_INIT;
    struct numbers own = {0};

    if (!start->job_gpus)
        return;
    read_numbers(mine, &own);
    for (size_t i = 0; i < own.list.len; i++)
        add_number(&visible, numbers_from_zero(start) ? i : own.list.data[i]);
    envlist_set(env, "SLURM_JOB_GPUS", start->job_gpus);
    if (step && *mine)
        envlist_set(env, "SLURM_STEP_GPUS", mine);
    if (own.list.len)
        envlist_setf(env, "SLURM_GPUS_ON_NODE", "%zu", own.list.len);
    put_visible(env, start, own.list.len ? str_cstr(&visible) : NULL);
    vec_done(&own.list);
    if (!start->has_mps_percent)
        return;
    /* the only GPU of the MPS server */
    put_visible(env, start, "0");
    envlist_set(env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    envlist_setf(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "%u", start->mps_percent);
}

/* --- the choice ------------------------------------------------------------------------------- */

static bool is_near(const struct gpus_want *w, size_t i)
{
    return !w->cpus || !w->near || !w->near[i] || bitset_intersects(w->near[i], w->cpus);
}

/* Chooses all GPUs if none is near. */
static size_t choose_near(const struct gpus_want *w, struct bitset *chosen)
{
    for (size_t i = 0; i < w->count; i++)
        if (is_near(w, i))
            bitset_set(chosen, i);
    if (bitset_empty(chosen))
        bitset_fill(chosen);
    return bitset_count(chosen);
}

static void choose_single(const struct gpus_want *w, struct bitset *chosen)
{
    _cleanup_bitset_ struct bitset *near = bitset_new(w->count);
    size_t left = w->local / (w->bind->count ? w->bind->count : 1) % choose_near(w, near);
    long at = bitset_next(near, 0);

    for (; left > 0; left--)
        at = bitset_next(near, (size_t)at + 1);
    bitset_set(chosen, (size_t)at);
}

static void choose_next(const struct gpus_want *w, struct bitset *chosen)
{
    uint64_t first = (uint64_t)w->local * w->bind->count;

    for (size_t i = 0; i < w->bind->count && i < w->count; i++)
        bitset_set(chosen, (size_t)((first + i) % w->count));
}

static bool choose_number(const struct gpus_want *w, unsigned long number, struct bitset *chosen)
{
    for (size_t i = 0; i < w->count; i++)
        if ((w->relative ? i : w->numbers[i]) == number) {
            bitset_set(chosen, i);
            return true;
        }
    return false;
}

static int choose_listed(const struct gpus_want *w, bool mask, struct bitset *chosen,
                         struct err *err)
{
    const char *entry = w->bind->n_list ? w->bind->list[w->local % w->bind->n_list] : "";
    _cleanup_bitset_ struct bitset *bits = bitset_new(CORES_MAX);
    long long number;
    bool known = true;

    if (mask && bind_parse(entry, bits, err) == 0) {
        bitset_foreach (bits, i)
            known = choose_number(w, (unsigned long)i, chosen) && known;
    } else if (!mask && str_parse_i64(entry, 0, UINT32_MAX, &number) == 0) {
        known = choose_number(w, (unsigned long)number, chosen);
    } else {
        known = false;
    }
    if (known && !bitset_empty(chosen))
        return 0;
    bitset_fill(chosen);
    return err_set(err, -ERR_BIND,
                   "--gpu-bind: %s: not all of it are GPUs of this step; "
                   "the task may use all of the step's",
                   entry);
}

int gpus_choose(const struct gpus_want *w, struct bitset *chosen, struct err *err)
{
    bitset_zero(chosen);
    switch (w->bind ? w->bind->kind : PB__GPU_BIND_KIND__GPU_ALL) {
    case PB__GPU_BIND_KIND__GPU_PER_TASK:
        choose_next(w, chosen);
        break;
    case PB__GPU_BIND_KIND__GPU_SINGLE:
        choose_single(w, chosen);
        break;
    case PB__GPU_BIND_KIND__GPU_CLOSEST:
        choose_near(w, chosen);
        break;
    case PB__GPU_BIND_KIND__GPU_MAP:
        return choose_listed(w, false, chosen, err);
    case PB__GPU_BIND_KIND__GPU_MASK:
        return choose_listed(w, true, chosen, err);
    default:
        break;
    }
    if (bitset_empty(chosen))
        bitset_fill(chosen);
    return 0;
}

/* --- of a task -------------------------------------------------------------------------------- */

/* Converts "0-3,8", cores of the configuration, to the kernel's CPUs. NULL: near to all. */
static struct bitset *near_cpus(const Pb__CpuMap *map, const char *cores)
{
    uint32_t threads = map && map->threads ? map->threads : 1,
             each = map && map->each ? map->each : 1;
    struct bitset *out;

    if (!map || !cores || !*cores)
        return NULL;
    out = bitset_new(BIND_KERNEL_MAX);
    ranges_foreach (cores, r)
        for (size_t i = r.first * threads * each;
             i < (r.last + 1) * threads * each && i < map->n_number; i++)
            if (map->number[i] < out->size)
                bitset_set(out, map->number[i]);
    return out;
}

static bool is_bound(const struct step *step)
{
    const Pb__GpuBind *b = step->launch ? step->launch->gpu_bind : NULL;
    size_t tasks = 0;

    for (size_t i = 0; b && i < step->granted->n_nodes; i++)
        tasks += step->granted->nodes[i]->n_task_ids;
    return tasks > 1 && b->kind != PB__GPU_BIND_KIND__GPU_ALL && step->start->step_gpus &&
           *step->start->step_gpus;
}

static void put_variables(const struct task *t, const struct gpus_want *w,
                          const struct bitset *chosen, struct envlist *env, struct str *said)
{
    const Pb__StepdStart *start = t->step->start;
    _cleanup_str_ struct str visible = STR_INIT, own = STR_INIT;

    bitset_foreach (chosen, i) {
        assert(w->numbers);
        add_number(&visible, numbers_from_zero(start) ? (unsigned long)i : w->numbers[i]);
        add_number(&own, w->numbers[i]);
    }
    put_visible(env, start, str_cstr(&visible));
    if (w->bind->verbose)
        str_printf(said, "gpu-bind: %s, task %2u %2u: GPUs %s\n", start->node, t->id, t->local,
                   str_cstr(&own));
}

void gpus_bind(const struct task *t, struct envlist *env, struct str *said)
{
    const struct step *step = t->step;
    struct numbers own = {0};
    struct err err = {0};

    if (!is_bound(step))
        return;
    read_numbers(step->start->step_gpus, &own);
    _cleanup_free_ struct bitset **near = mem_new_array(struct bitset *, own.list.len + 1);
    _cleanup_bitset_ struct bitset *chosen = bitset_new(own.list.len);
    for (size_t i = 0; i < own.list.len && i < step->start->n_gpu_cores; i++)
        near[i] = near_cpus(step->start->cpus, step->start->gpu_cores[i]);
    const struct gpus_want want = {
        .bind = step->launch->gpu_bind,
        .numbers = own.list.data,
        .count = own.list.len,
        .near = near,
        .cpus = affinity_cpus(t),
        .local = t->local,
        .relative = numbers_from_zero(step->start),
    };
    if (gpus_choose(&want, chosen, &err) < 0)
        str_printf(said, "slurmstepd: error: %s\n", err.text);
    put_variables(t, &want, chosen, env, said);
    for (size_t i = 0; i < own.list.len; i++)
        bitset_free(near[i]);
    vec_done(&own.list);
}
