/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A change of a job as people say it, and the command that makes it. */
#include <stdio.h>
#include <string.h>

#include "base/timefmt.h"
#include "sched/why/relax_priv.h"

#define TASKS_SHOWN 64 /* bytes of the elements of an array in a command */

static void put_id(const struct job *j, struct str *out)
{
    _cleanup_str_ struct str tasks = STR_INIT;
    bool few = idset_cost(&j->tasks) <= TASKS_SHOWN;
    if (j->array && few)
        idset_format(&j->tasks, &tasks);
    if (!j->array)
        str_printf(out, "%u", j->id);
    else if (!j->tasks.count)
        str_printf(out, "%u_%u", j->array->id, j->task);
    else if (few && tasks.len <= TASKS_SHOWN)
        str_printf(out, "%u_[%s]", j->array->id, str_cstr(&tasks));
    else
        str_printf(out, "%u", j->array->id);
}

static void put_key(const struct job *j, const char *key, const char *value, struct str *command)
{
    str_puts(command, "scontrol update JobId=");
    put_id(j, command);
    str_printf(command, " %s=%s", key, value);
}

struct saying {
    const char *key, *value, *what;
};

static void say_number(const struct job *j, const Pb__JobSpec *spec, const struct relax *r,
                       unsigned long long n, struct str *what, struct str *command)
{
    const char *key = "TimeLimit", *plural = n == 1 ? "" : "s";
    char value[TIME_TEXT_MAX];
    snprintf(value, sizeof value, "%llu", n);
    if (r->kind == RELAX_TIME_LIMIT) {
        time_format_short((int64_t)n * 60, value);
        str_printf(what, "a time limit of %s", value);
    } else if (r->kind == RELAX_NODES) {
        key = "NumNodes";
        str_printf(what, "%llu node%s", n, plural);
    } else if (r->kind == RELAX_TASKS) {
        key = "NumTasks";
        str_printf(what, "%llu task%s", n, plural);
    } else if (r->kind == RELAX_CPUS) {
        key = "CPUsPerTask";
        str_printf(what, "%llu CPU%s for a task", n, plural);
    } else if (r->kind == RELAX_MEMORY) {
        key = spec->has_mem_per_node_mib ? "MinMemoryNode" : "MinMemoryCPU";
        str_printf(what, "%llu MiB of memory for a %s", n,
                   spec->has_mem_per_node_mib ? "node" : "CPU");
    } else {
        key = "Priority";
        str_printf(what, "a priority of %llu", n);
    }
    put_key(j, key, value, command);
    if (r->kind == RELAX_NODES && relax_counts_tasks(spec)) {
        uint32_t tasks = relax_tasks(j, spec, n);
        str_printf(what, " and %u task%s", tasks, tasks == 1 ? "" : "s");
        str_printf(command, " NumTasks=%u", tasks);
    }
}

/* Its words from there on without "gpu:", as the options for GPUs have them. */
static const char *of_gpus(const char *text)
{
    return str_starts(text, "gpu:") ? text + 4 : text;
}

/* As the options have it that it came from: --gpus-per-node is behind what --gres says. */
static void say_node_gres(const Pb__JobSpec *spec, const char *text, struct str *what)
{
    const char *gpus = spec->gpus_per_node && *spec->gpus_per_node ? relax_gres_last(text) : NULL;
    size_t len = gpus ? (size_t)(gpus - text) : strlen(text);
    if (len)
        str_printf(what, "--gres=%.*s", (int)(gpus ? len - 1 : len), text);
    if (gpus)
        str_printf(what, "%s--gpus-per-node=%s", len ? " " : "", of_gpus(gpus));
}

static void say_gres(const struct job *j, const Pb__JobSpec *spec, const struct relax *r,
                     uint64_t number, struct str *what, struct str *command)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (r->kind == RELAX_GPUS) {
        str_printf(what, "--gpus=%s", of_gpus(relax_gres_with(&arena, spec->tres_per_job, number)));
        return;
    }
    if (r->kind == RELAX_TASK_GRES) {
        const char *list = relax_gres_with(&arena, spec->tres_per_task, number);
        bool gpus = str_starts(list, "gpu:") && !strchr(list, ',');
        str_printf(what, gpus ? "--gpus-per-task=%s" : "--tres-per-task=gres/%s",
                   gpus ? of_gpus(list) : list);
        return;
    }
    const char *text = r->kind == RELAX_GRES_TYPE ? relax_gres_untyped(&arena, spec->gres)
                                                  : relax_gres_with(&arena, spec->gres, number);
    say_node_gres(spec, text, what);
    put_key(j, "Gres", text, command);
}

static void say_partition(const struct job *j, const Pb__JobSpec *spec, const struct relax *r,
                          struct str *what, struct str *command)
{
    char limit[TIME_TEXT_MAX];
    int64_t sec = relax_limit_sec(j, spec, r, 0);
    str_printf(what, "partition %s", r->part->conf.name);
    put_key(j, "Partition", r->part->conf.name, command);
    if (sec == j->limit_sec)
        return;
    time_format_short(sec, limit);
    str_printf(what, " and a time limit of %s", limit);
    str_printf(command, " TimeLimit=%s", limit);
}

/* What has no number. */
static const struct saying sayings[RELAX_KINDS] = {
    [RELAX_HOLD] = {NULL, NULL, "a release"},
    [RELAX_BEGIN] = {"StartTime", "now", "no time to begin at"},
    [RELAX_DEPENDENCY] = {"Dependency", "", "no dependency"},
    [RELAX_CONTIGUOUS] = {"Contiguous", "no", "nodes that need not be in a row"},
    [RELAX_SWITCHES] = {"ReqSwitch", "0", "any number of switches"},
    [RELAX_NODELIST] = {"ReqNodeList", "", "no node that it requires"},
    [RELAX_EXCLUDE] = {"ExcNodeList", "", RELAX_NO_EXCLUDE},
    [RELAX_FEATURES] = {"Features", "", "no feature that it requires"},
    [RELAX_EXCLUSIVE] = {"OverSubscribe", "YES", "nodes that it shares"},
    [RELAX_LICENSES] = {"Licenses", "", "no licences"},
    [RELAX_CORE_SPEC] = {NULL, NULL, "no cores kept for the system"},
    [RELAX_TASKS_PER] = {NULL, NULL, "any number of tasks on a node, a socket and a core"},
};

/* The shape that was asked for; --hint=nomultithread is one thread of a core. */
static void say_shape(const Pb__JobSpec *spec, struct str *what)
{
    const struct {
        bool given;
        const char *word;
    } parts[] = {
        {spec->has_sockets_per_node, "sockets"},
        {spec->has_cores_per_socket, "cores of a socket"},
        {spec->has_threads_per_core, "threads of a core"},
    };
    const char *comma = "any number of ";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].given) {
            str_printf(what, "%s%s", comma, parts[i].word);
            comma = ", ";
        }
}

void relax_say(const struct job *j, const Pb__JobSpec *spec, const struct relax *r, uint64_t number,
               struct str *what, struct str *command)
{
    const struct saying *s = &sayings[r->kind];
    if (s->what) {
        str_puts(what, s->what);
        if (s->key) {
            put_key(j, s->key, s->value, command);
        } else if (r->kind == RELAX_HOLD) {
            str_puts(command, "scontrol release ");
            put_id(j, command);
        }
    } else if (r->kind == RELAX_THROTTLE) {
        str_printf(what, "%u elements of the array at a time", j->array->throttle + 1);
        str_printf(command, "scontrol update JobId=%u ArrayTaskThrottle=%u", j->array->id,
                   j->array->throttle + 1);
    } else if (r->kind == RELAX_GPU_CPUS) {
        str_printf(what, "--cpus-per-gpu=%llu", (unsigned long long)number);
    } else if (r->kind == RELAX_SHAPE) {
        say_shape(spec, what);
    } else if (r->kind == RELAX_PARTITION) {
        say_partition(j, spec, r, what, command);
    } else if (r->kind == RELAX_GRES || r->kind == RELAX_GRES_TYPE || r->kind == RELAX_GPUS ||
               r->kind == RELAX_TASK_GRES) {
        say_gres(j, spec, r, number, what, command);
    } else {
        say_number(j, spec, r, number, what, command);
    }
}
