/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/records.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/signame.h"
#include "base/timefmt.h"
#include "conf/conf_freq.h"
#include "show/job_ids.h"
#include "show/job_state.h"
#include "show/json_out.h"
#include "show/names.h"
#include "show/node_state.h"

static void put(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

#define TEXT(s) json_out_text(s)
#define INT(n) json_integer(n)
#define BOOL(b) json_boolean(b)
#define NUM(n) json_out_number(true, false, n)
#define MAYBE(set, n) json_out_number(set, false, n)
#define UNSET() json_out_number(false, false, 0)

static void put_text(json_t *o, const char *key, const char *s)
{
    put(o, key, json_out_text(s));
}

static void put_int(json_t *o, const char *key, int64_t n)
{
    put(o, key, json_integer(n));
}

/* A time limit, in minutes as Slurm counts. */
static json_t *limit(bool set, int64_t sec)
{
    bool infinite = set && sec >= TIME_UNLIMITED;
    return json_out_number(set, infinite, infinite ? 0 : sec / 60);
}

static void put_upper(struct str *s)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->data[i] >= 'a' && s->data[i] <= 'z')
            s->data[i] = (char)(s->data[i] - 32);
}

json_t *records_exit_code(int32_t status)
{
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return json_pack("{s:[s], s:o, s:{s:o, s:s}}", "status",
                     signal ? "SIGNALED"
                     : code ? "ERROR"
                            : "SUCCESS",
                     "return_code", json_out_number(!signal, false, code), "signal", "id",
                     json_out_number(signal != 0, false, signal), "name",
                     signal ? signame_format(signal) : "");
}

/* The state, and behind it the flags that job_state_word() puts in its place. */
static json_t *job_states(const Pb__JobLive *live)
{
    Pb__JobLive base = *live;
    base.completing = base.configuring = base.special_exit = base.stopped = false;
    const struct {
        bool set;
        const char *name;
    } flags[] = {
        {live->completing, "COMPLETING"},
        {live->configuring, "CONFIGURING"},
        {live->special_exit && live->state == PB__JOB_STATE__PENDING, "SPECIAL_EXIT"},
        {live->stopped && live->state == PB__JOB_STATE__RUNNING, "STOPPED"},
    };
    json_t *states = json_array();
    json_array_append_new(states, json_string(job_state_word(&base)));
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (flags[i].set)
            json_array_append_new(states, json_string(flags[i].name));
    return states;
}

/* The sockets of the node are not known here. */
static json_t *allocated_node(const Pb__NodeAlloc *a, size_t index)
{
    return json_pack("{s:i, s:o, s:{s:i, s:i}, s:{s:i, s:I}, s:[]}", "index", (int)index, "name",
                     json_out_text(a->node), "cpus", "count", (int)a->cpus, "used", 0, "memory",
                     "used", 0, "allocated", (json_int_t)a->mem_mib, "sockets");
}

static json_t *job_resources(const Pb__JobRecord *job)
{
    const Pb__JobLive *live = job->live;
    json_t *nodes = json_array();
    for (size_t i = 0; i < live->n_alloc; i++)
        json_array_append_new(nodes, allocated_node(live->alloc[i], i));
    return json_pack(
        "{s:[], s:{s:i, s:[s], s:o, s:b, s:o}, s:i, s:o}", "select_type", "nodes", "count",
        (int)live->n_alloc, "select_type", live->alone ? "RESERVED" : "AVAILABLE", "list",
        json_out_text(live->nodes), "whole", (int)live->alone, "allocation", nodes, "cpus",
        (int)live->num_cpus, "threads_per_core",
        json_out_number(job->spec->has_threads_per_core, false, job->spec->threads_per_core));
}

static json_t *real_number(bool set, double value)
{
    return json_pack("{s:b, s:b, s:f}", "set", (int)set, "infinite", 0, "number", set ? value : 0);
}

static json_t *array_tasks(const Pb__JobLive *live)
{
    _cleanup_str_ struct str tasks = STR_INIT;
    if (live->array_tasks)
        job_ids_put_tasks(live, &tasks);
    return json_out_text(str_cstr(&tasks));
}

static json_t *job_flags(const Pb__JobRecord *job)
{
    const Pb__JobSpec *spec = job->spec;
    const struct {
        bool set;
        const char *name;
    } flags[] = {
        {spec->has_kill_invalid_dep && spec->kill_invalid_dep, "KILL_INVALID_DEPENDENCY"},
        {spec->has_kill_invalid_dep && !spec->kill_invalid_dep, "NO_KILL_INVALID_DEPENDENCY"},
        {spec->gres_flags && strstr(spec->gres_flags, "enforce-binding"), "GRES_BINDING_ENFORCED"},
        {spec->gres_flags && strstr(spec->gres_flags, "disable-binding"), "GRES_BINDING_DISABLED"},
        {spec->spread > 0, "SPREAD_JOB"},
        {spec->use_min_nodes, "PREFER_MINIMUM_NODE_COUNT"},
        {job->live->scheduled_by_backfill, "BACKFILL_ATTEMPTED"},
        {job->live->last_sched_at > 0, "SCHEDULING_ATTEMPTED"},
        {job->live->dependency && *job->live->dependency, "DEPENDENT"},
        {!spec->partition, "USING_DEFAULT_PARTITION"},
    };
    json_t *all = json_array();
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (flags[i].set)
            json_array_append_new(all, json_string(flags[i].name));
    return all;
}

/* "TIME_LIMIT_80" is "TIME=80%" there. */
static json_t *mail_types(const char *list)
{
    static const char limit[] = "TIME_LIMIT";
    json_t *words = json_out_list(list), *all = json_array(), *word;
    size_t i;
    json_array_foreach(words, i, word)
    {
        const char *text = json_string_value(word);
        _cleanup_str_ struct str name = STR_INIT;
        if (str_starts(text, limit))
            str_printf(&name, "TIME=%s%%", text[strlen(limit)] ? text + strlen(limit) + 1 : "100");
        else
            str_puts(&name, text);
        if (!str_case_eq(text, "NONE"))
            json_array_append_new(all, json_out_text(str_cstr(&name)));
    }
    json_decref(words);
    return all;
}

static json_t *shared(const Pb__JobSpec *spec)
{
    const char *word = spec->exclusive        ? "none"
                       : spec->exclusive_user ? "user"
                       : spec->oversubscribe  ? "oversubscribe"
                                              : NULL;
    return word ? json_pack("[s]", word) : json_array();
}

static json_t *per_gpu(uint64_t count)
{
    _cleanup_str_ struct str text = STR_INIT;
    if (count)
        str_printf(&text, "gres/gpu:%llu", (unsigned long long)count);
    return json_out_text(str_cstr(&text));
}

/* One text for each node: "gpu:a100:2(IDX:0-1)". */
static json_t *gres_detail(const Pb__JobLive *live)
{
    json_t *all = json_array();
    bool any = false;
    for (size_t i = 0; i < live->n_alloc; i++) {
        _cleanup_str_ struct str gres = STR_INIT;
        job_state_put_node_gres(live->alloc[i], true, &gres);
        any |= gres.len > 0;
        json_array_append_new(all, json_out_text(str_cstr(&gres)));
    }
    if (!any)
        json_array_clear(all);
    return all;
}

/* Only while a job waits in several partitions it has a priority in each of them. */
static json_t *part_priorities(const Pb__JobRecord *job)
{
    json_t *names = json_out_list(job->spec->partition), *all = json_array(), *name;
    size_t i;
    json_array_foreach(names, i, name)
    {
        if (i < job->live->n_part_priority)
            json_array_append_new(all, json_pack("{s:O, s:i}", "partition", name, "priority",
                                                 (int)job->live->part_priority[i]));
    }
    json_decref(names);
    return all;
}

/* The numbers of slurm.h for words and governors of --cpu-freq. */
static int64_t freq_number(uint32_t frequency)
{
    return frequency == CONF_FREQ_HIGH     ? 0x80000003
           : frequency == CONF_FREQ_HIGHM1 ? 0x80000004
                                           : frequency;
}

json_t *records_freq(const char *text, enum records_freq which)
{
    static const int64_t governors[CONF_GOVERNORS] = {
        [CONF_GOVERNOR_CONSERVATIVE] = 0x88000000, [CONF_GOVERNOR_ONDEMAND] = 0x84000000,
        [CONF_GOVERNOR_PERFORMANCE] = 0x82000000,  [CONF_GOVERNOR_POWERSAVE] = 0x81000000,
        [CONF_GOVERNOR_SCHEDUTIL] = 0x80400000,    [CONF_GOVERNOR_USERSPACE] = 0x80800000,
    };
    struct conf_freq f = {0};
    if (!text || conf_freq_parse(text, &f, NULL) < 0)
        return UNSET();
    int64_t value = which == RECORDS_FREQ_MIN   ? freq_number(f.min)
                    : which == RECORDS_FREQ_MAX ? freq_number(f.max)
                                                : governors[f.governor];
    return MAYBE(value > 0, value);
}

static json_t *stream(const Pb__JobRecord *job, int which, enum job_path how)
{
    _cleanup_str_ struct str path = STR_INIT;
    job_state_put_path(job, which, how, &path);
    return json_out_text(str_cstr(&path));
}

static json_t *job_tres(const Pb__JobRecord *job, bool allocated)
{
    _cleanup_str_ struct str tres = STR_INIT;
    job_state_put_tres(job, allocated, &tres);
    return json_out_text(str_cstr(&tres));
}

json_t *records_job(const Pb__JobRecord *job, const char *cluster)
{
    const Pb__JobSpec *spec = job->spec;
    const Pb__JobLive *live = job->live;
    json_t *o = json_object();
#define MEMBER(name, status, value) put(o, name, value);
#include "show/job_members.def"
#undef MEMBER
    return o;
}

static json_t *node_spec_cpus(const Pb__NodeRecord *node)
{
    _cleanup_str_ struct str cpus = STR_INIT;
    node_state_put_spec_cpus(node, &cpus);
    return json_out_text(str_cstr(&cpus));
}

json_t *records_node_states(const Pb__NodeRecord *node)
{
    _cleanup_str_ struct str text = STR_INIT;
    node_state_put_flags(node, &text);
    put_upper(&text);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '+')
            text.data[i] = ',';
    return json_out_list(str_cstr(&text));
}

static json_t *node_tres(const Pb__NodeRecord *n, bool used)
{
    _cleanup_str_ struct str tres = STR_INIT;
    node_state_put_tres(n, used, &tres);
    return json_out_text(str_cstr(&tres));
}

static json_t *node_energy(void)
{
    return json_pack("{s:i, s:i, s:i, s:o, s:i, s:i}", "average_watts", 0, "base_consumed_energy",
                     0, "consumed_energy", 0, "current_watts", json_out_number(true, false, 0),
                     "previous_consumed_energy", 0, "last_collected", 0);
}

json_t *records_node(const Pb__NodeRecord *n, const char *cluster)
{
    json_t *o = json_object();
#define MEMBER(name, status, value) put(o, name, value);
#include "show/node_members.def"
#undef MEMBER
    return o;
}

static json_t *part_nodes(const Pb__PartRecord *p)
{
    return json_pack("{s:o, s:o, s:i}", "allowed_allocation", TEXT(p->alloc_nodes), "configured",
                     TEXT(p->nodes), "total", (int)p->total_nodes);
}

static json_t *part_tres(const Pb__PartRecord *p)
{
    _cleanup_str_ struct str tres = STR_INIT;
    if (p->total_nodes)
        str_printf(&tres, "cpu=%u,mem=%lluM,node=%u,billing=%u", p->total_cpus,
                   (unsigned long long)p->total_mem_mib, p->total_nodes, p->total_cpus);
    return json_pack("{s:o, s:o}", "billing_weights", TEXT(p->tres_billing_weights), "configured",
                     TEXT(str_cstr(&tres)));
}

/* A limit of memory of zero is none. */
static void put_memory(json_t *o, uint64_t cpu_mib, uint64_t node_mib)
{
    put_int(o, "memory_per_cpu", (int64_t)(cpu_mib ? cpu_mib : node_mib));
    put(o, "partition_memory_per_cpu", MAYBE(cpu_mib > 0, (int64_t)cpu_mib));
    put(o, "partition_memory_per_node", MAYBE(node_mib > 0, (int64_t)node_mib));
}

static json_t *part_defaults(const Pb__PartRecord *p)
{
    _cleanup_str_ struct str job = STR_INIT;
    json_t *o = json_object();
    if (p->def_cpu_per_gpu)
        str_printf(&job, "DefCpuPerGPU=%u", p->def_cpu_per_gpu);
    if (p->def_mem_per_gpu_mib)
        str_printf(&job, "%sDefMemPerGPU=%llu", job.len ? "," : "",
                   (unsigned long long)p->def_mem_per_gpu_mib);
    put_memory(o, p->def_mem_per_cpu_mib, p->def_mem_per_node_mib);
    put(o, "time", limit(p->default_time_sec > 0, p->default_time_sec));
    put_text(o, "job", str_cstr(&job));
    return o;
}

/* At most so many, or infinitely many. */
static json_t *at_most(uint32_t count)
{
    return json_out_number(true, count == 0 || count == UINT32_MAX, count);
}

static json_t *part_maximums(const Pb__PartRecord *p)
{
    const char *jobs = p->share ? strchr(p->share, ':') : NULL;
    bool shares = p->share && (str_starts(p->share, "YES") || str_starts(p->share, "FORCE"));
    int count = jobs ? atoi(jobs + 1) : shares ? 4 : 1;
    json_t *o = json_object();
    put(o, "cpus_per_node", at_most(p->max_cpus_per_node));
    put(o, "cpus_per_socket", at_most(p->max_cpus_per_socket));
    put_memory(o, p->max_mem_per_cpu_mib, p->max_mem_per_node_mib);
    put(o, "nodes", at_most(p->has_max_nodes ? p->max_nodes : UINT32_MAX));
    put_int(o, "shares", count);
    put(o, "oversubscribe",
        json_pack("{s:i, s:o}", "jobs", count, "flags",
                  json_out_list(p->share && str_starts(p->share, "FORCE") ? "force" : NULL)));
    put(o, "time", limit(true, p->has_max_time_sec ? p->max_time_sec : TIME_UNLIMITED));
    put(o, "over_time_limit", limit(p->has_over_time_limit_sec, p->over_time_limit_sec));
    return o;
}

json_t *records_part(const Pb__PartRecord *p, const char *cluster)
{
    json_t *o = json_object();
#define MEMBER(name, status, value) put(o, name, value);
#include "show/part_members.def"
#undef MEMBER
    return o;
}

static json_t *core_specs(const Pb__ResvRecord *r)
{
    json_t *all = json_array();
    for (size_t i = 0; i < r->n_cores; i++) {
        _cleanup_str_ struct str ids = STR_INIT;
        str_puts(&ids, "0");
        if (r->cores[i]->count > 1)
            str_printf(&ids, "-%u", r->cores[i]->count - 1);
        json_array_append_new(all, json_pack("{s:o, s:o}", "node", json_out_text(r->cores[i]->node),
                                             "core", json_out_text(str_cstr(&ids))));
    }
    return all;
}

static json_t *resv_tres(const Pb__ResvRecord *r)
{
    _cleanup_str_ struct str tres = STR_INIT;
    if (r->total_cpus)
        str_printf(&tres, "cpu=%u", r->total_cpus);
    return json_out_text(str_cstr(&tres));
}

json_t *records_resv(const Pb__ResvRecord *r)
{
    json_t *o = json_object();
#define MEMBER(name, status, value) put(o, name, value);
#include "show/resv_members.def"
#undef MEMBER
    return o;
}
