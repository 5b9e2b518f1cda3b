/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs as text and as JSON. */
#include <string.h>

#include "base/hostlist.h"
#include "base/size.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "cluster/job/request.h"
#include "show/job_ids.h"
#include "show/job_set.h"
#include "show/job_state.h"
#include "show/names.h"
#include "show/record.h"

struct job_view {
    const Pb__JobRecord *job;
    const Pb__JobSpec *spec;
    const Pb__JobLive *live;
    int64_t now;
    struct show_style style;
    struct str *out;
};

/* A reason is one word on a line of pairs. */
static void put_reason(const struct job_view *v)
{
    size_t start = v->out->len + strlen(" Reason=");
    bool held_up = v->live->held_up && *v->live->held_up;
    record_pair(v->out, " Reason", held_up ? v->live->held_up : job_state_sentence(v->live));
    for (size_t i = start; i < v->out->len; i++)
        if (v->out->data[i] == ' ')
            v->out->data[i] = '_';
}

/* "ArrayJobId=7 ArrayTaskId=5-20%3 ArrayTaskThrottle=3" of a job array. */
static void put_array(const struct job_view *v)
{
    if (!v->live->has_array_job_id)
        return;
    str_printf(v->out, " ArrayJobId=%u ArrayTaskId=", v->live->array_job_id);
    job_ids_put_tasks(v->live, v->out);
    if (v->live->array_throttle)
        str_printf(v->out, " ArrayTaskThrottle=%u", v->live->array_throttle);
}

static void put_head(const struct job_view *v)
{
    const Pb__JobSpec *s = v->spec;
    str_printf(v->out, "JobId=%u", v->live->job_id);
    put_array(v);
    show_set_put_id(v->live, v->out);
    record_pair(v->out, " JobName", s->name);
    record_break(v->style, v->out);
    show_set_put_line(s, v->live, v->style, v->out);
    record_pair(v->out, "UserId", s->user_name ? s->user_name : names_user(s->uid));
    str_printf(v->out, "(%u)", s->uid);
    record_pair(v->out, " GroupId", s->group_name ? s->group_name : names_group(s->gid));
    str_printf(v->out, "(%u) MCS_label=N/A", s->gid);
    record_break(v->style, v->out);
    str_printf(v->out, "Priority=%u Nice=%d", v->live->priority, s->nice);
    record_pair(v->out, " Account", s->account);
    record_pair(v->out, " QOS", s->qos);
    if (s->wckey)
        record_pair(v->out, " WCKey", s->wckey);
    record_break(v->style, v->out);
    record_pair(v->out, "JobState", job_state_word(v->live));
    put_reason(v);
    record_pair(v->out, " Dependency", v->live->dependency);
    record_break(v->style, v->out);
    str_printf(v->out, "Requeue=%d Restarts=%u BatchFlag=%d Reboot=%d ExitCode=",
               s->has_requeue ? s->requeue : 1, v->live->restarts, job_state_is_batch(v->job),
               s->reboot);
    job_state_put_exit(v->live->exit_status, v->out);
    if (v->style.details) {
        record_break(v->style, v->out);
        str_puts(v->out, "DerivedExitCode=");
        job_state_put_exit(v->live->derived_status, v->out);
    }
}

/* A job that has started may be preempted after PreemptExemptTime. */
static void put_preemption(const struct job_view *v)
{
    const Pb__JobLive *l = v->live;
    bool may_be = v->style.preempts && l->start_at && l->state != PB__JOB_STATE__PENDING;
    int64_t exempt_sec = v->style.preempt_exempt_sec > 0 ? v->style.preempt_exempt_sec : 0;
    if (!may_be && !l->preempted_at)
        return;
    record_break(v->style, v->out);
    if (may_be)
        record_date(v->out, "PreemptEligibleTime", l->start_at + exempt_sec, "Unknown");
    record_date(v->out, may_be ? " PreemptTime" : "PreemptTime", l->preempted_at, "None");
}

static void put_times(const struct job_view *v)
{
    char used[TIME_TEXT_MAX], limit[TIME_TEXT_MAX], least[TIME_TEXT_MAX];
    const Pb__JobLive *l = v->live;
    record_break(v->style, v->out);
    str_printf(v->out, "RunTime=%s TimeLimit=%s TimeMin=%s",
               time_format_limit(job_state_used_sec(l, v->now), used),
               l->has_time_limit_sec ? time_format_limit(l->time_limit_sec, limit)
                                     : "Partition_Limit",
               v->spec->time_min_sec ? time_format_limit(v->spec->time_min_sec, least) : "N/A");
    record_break(v->style, v->out);
    record_date(v->out, "SubmitTime", l->submit_at, "Unknown");
    record_date(v->out, " EligibleTime", job_state_eligible_at(v->job), "Unknown");
    record_break(v->style, v->out);
    record_date(v->out, "AccrueTime", job_state_accrue_at(l), "Unknown");
    record_break(v->style, v->out);
    record_date(v->out, "StartTime", job_state_start_at(v->job), "Unknown");
    record_date(v->out, " EndTime", job_state_end_at(v->job), "Unknown");
    if (v->spec->deadline_at_sec)
        record_date(v->out, " Deadline", v->spec->deadline_at_sec, "Unknown");
    else
        str_puts(v->out, " Deadline=N/A");
    put_preemption(v);
    record_break(v->style, v->out);
    if (l->suspended_at)
        record_date(v->out, "SuspendTime", l->suspended_at, "Unknown");
    else
        str_puts(v->out, "SuspendTime=None");
    str_printf(v->out, " SecsPreSuspend=%lld",
               (long long)(l->state == PB__JOB_STATE__SUSPENDED ? job_state_used_sec(l, v->now)
                                                                : l->ran_ms / 1000));
    record_date(v->out, " LastSchedEval", l->last_sched_at, "Unknown");
    str_printf(v->out, " Scheduler=%s", l->scheduled_by_backfill ? "Backfill" : "Main");
}

static void put_places(const struct job_view *v)
{
    record_break(v->style, v->out);
    record_pair(v->out, "Partition", v->live->partition ? v->live->partition : v->spec->partition);
    record_pair(v->out, " AllocNode:Sid", v->spec->alloc_host);
    str_printf(v->out, ":%u", v->spec->alloc_sid);
    record_break(v->style, v->out);
    record_pair(v->out, "ReqNodeList", v->spec->req_nodes);
    record_pair(v->out, " ExcNodeList", v->spec->exc_nodes);
    record_break(v->style, v->out);
    record_pair(v->out, "NodeList", v->live->nodes ? v->live->nodes : "");
    if (v->live->sched_nodes)
        record_pair(v->out, " SchedNodeList", v->live->sched_nodes);
    if (v->spec->batch_features) {
        record_break(v->style, v->out);
        record_pair(v->out, "BatchFeatures", v->spec->batch_features);
    }
    if (v->live->batch_host) {
        record_break(v->style, v->out);
        record_pair(v->out, "BatchHost", v->live->batch_host);
    }
}

static void put_or_star(struct str *out, uint32_t n)
{
    if (n)
        str_printf(out, "%u", n);
    else
        str_putc(out, '*');
}

static bool same_gres(const Pb__NodeAlloc *a, const Pb__NodeAlloc *b)
{
    _cleanup_str_ struct str x = STR_INIT, y = STR_INIT;
    job_state_put_node_gres(a, true, &x);
    job_state_put_node_gres(b, true, &y);
    return str_eq(str_cstr(&x), str_cstr(&y));
}

static bool has_unit(const Pb__NodeAlloc *a, size_t unit)
{
    return !a->cores.len || (a->cores.data[unit / 8] >> (unit % 8) & 1);
}

/* Writes the CPUs of the allocated units as "0-3,8". Units are cores or sockets. */
static void put_cpu_ids(const Pb__NodeAlloc *a, struct str *out)
{
    size_t each = a->has_cpus_per_core && a->cpus_per_core ? a->cpus_per_core : 1;
    size_t units = a->cores.len ? a->cores.len * 8 : a->cpus / each, shown = 0;
    for (size_t first = 0, end; first < units; first = end + 1) {
        for (end = first; end < units && has_unit(a, end); end++)
            ;
        if (end == first)
            continue;
        str_printf(out, shown++ ? ",%zu" : "%zu", first * each);
        if (end * each - first * each > 1)
            str_printf(out, "-%zu", end * each - 1);
    }
}

/* Nodes with equal shares are one entry, as in "Nodes=n[1-2] CPU_IDs=0-1 Mem=100 GRES=". */
static void put_shares(const struct job_view *v)
{
    const Pb__JobLive *l = v->live;
    for (size_t i = 0; i < l->n_alloc;) {
        _cleanup_hostlist_ struct hostlist *nodes = hostlist_new();
        _cleanup_str_ struct str names = STR_INIT;
        const Pb__NodeAlloc *first = l->alloc[i];
        for (; i < l->n_alloc; i++) {
            const Pb__NodeAlloc *a = l->alloc[i];
            if (a->cpus != first->cpus || a->mem_mib != first->mem_mib ||
                a->cores.len != first->cores.len || !same_gres(a, first) ||
                (a->cores.len && memcmp(a->cores.data, first->cores.data, a->cores.len) != 0))
                break;
            hostlist_push(nodes, a->node);
        }
        hostlist_format(nodes, &names);
        record_break(v->style, v->out);
        record_pair(v->out, v->style.oneliner ? "Nodes" : "  Nodes", str_cstr(&names));
        str_puts(v->out, " CPU_IDs=");
        put_cpu_ids(first, v->out);
        str_printf(v->out, " Mem=%llu GRES=", (unsigned long long)first->mem_mib);
        job_state_put_node_gres(first, true, v->out);
    }
}

/* Writes the sum over all nodes for each kind, in the order of first occurrence. */
static void put_job_gres(const struct job_view *v)
{
    const Pb__JobLive *l = v->live;
    const Pb__GresAlloc *kinds[64];
    uint64_t sum[64];
    size_t len = 0;
    for (size_t i = 0; i < l->n_alloc; i++)
        for (size_t k = 0; k < l->alloc[i]->n_gres; k++) {
            const Pb__GresAlloc *g = l->alloc[i]->gres[k];
            size_t at = 0;
            while (at < len &&
                   (!str_eq(kinds[at]->name, g->name) || !str_eq(kinds[at]->type, g->type)))
                at++;
            if (at == 64)
                continue;
            sum[at] = at < len ? sum[at] + g->count : g->count;
            kinds[at] = at < len ? kinds[at] : g;
            len += at == len;
        }
    for (size_t i = 0; i < len; i++)
        str_printf(v->out, "%s%s%s%s:%llu", i ? "," : "", kinds[i]->name, kinds[i]->type ? ":" : "",
                   kinds[i]->type ? kinds[i]->type : "", (unsigned long long)sum[i]);
    if (!len)
        str_puts(v->out, "(null)");
}

static void put_node_count(const struct job_view *v)
{
    const Pb__JobSpec *s = v->spec;
    if (v->live->state == PB__JOB_STATE__PENDING && s->has_min_nodes && s->max_nodes)
        str_printf(v->out, "NumNodes=%u-%u", v->live->num_nodes, s->max_nodes);
    else
        str_printf(v->out, "NumNodes=%u", v->live->num_nodes);
}

static void put_resources(const struct job_view *v)
{
    const Pb__JobSpec *s = v->spec;
    _cleanup_str_ struct str asked = STR_INIT, got = STR_INIT;
    uint32_t tasks = v->live->num_tasks ? v->live->num_tasks : s->num_tasks;
    bool has_got = job_state_put_tres(v->job, true, &got);
    job_state_put_tres(v->job, false, &asked);
    record_break(v->style, v->out);
    put_node_count(v);
    str_printf(v->out, " NumCPUs=%u", v->live->num_cpus);
    if (v->live->state == PB__JOB_STATE__PENDING && s->max_cpus > v->live->num_cpus)
        str_printf(v->out, "-%u", s->max_cpus);
    str_printf(v->out, " NumTasks=%u CPUs/Task=%u ReqB:S:C:T=0:%u:", tasks ? tasks : 1,
               s->has_cpus_per_task ? s->cpus_per_task : 1, s->sockets_per_node);
    put_or_star(v->out, s->cores_per_socket);
    str_putc(v->out, ':');
    put_or_star(v->out, s->threads_per_core);
    record_break(v->style, v->out);
    record_pair(v->out, "ReqTRES", str_cstr(&asked));
    record_break(v->style, v->out);
    record_pair(v->out, "AllocTRES", has_got ? str_cstr(&got) : NULL);
    record_break(v->style, v->out);
    str_puts(v->out, "Socks/Node=");
    put_or_star(v->out, s->sockets_per_node);
    str_printf(v->out, " NtasksPerN:B:S:C=%u:0:", s->ntasks_per_node);
    put_or_star(v->out, s->ntasks_per_socket);
    str_putc(v->out, ':');
    put_or_star(v->out, s->ntasks_per_core);
    str_puts(v->out, s->thread_spec ? " ThreadSpec=" : " CoreSpec=");
    put_or_star(v->out, s->thread_spec ? s->thread_spec : s->core_spec);
    if (v->style.details) {
        record_break(v->style, v->out);
        str_puts(v->out, "JOB_GRES=");
        put_job_gres(v);
        put_shares(v);
    }
}

static void put_optional(const struct job_view *v, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    record_break(v->style, v->out);
    record_pair(v->out, key, value);
}

/* Mail without --mail-user goes to the submitting user. */
static const char *find_mail_user(const Pb__JobSpec *s)
{
    unsigned mail;
    if ((s->mail_user && *s->mail_user) || !request_parse_mail(s->mail_type, &mail) || !mail)
        return s->mail_user;
    return s->user_name ? s->user_name : names_user(s->uid);
}

/* The events of the list, each by its own word. */
static void format_mail_types(const char *list, struct str *out)
{
    unsigned mail;
    if (request_parse_mail(list, &mail))
        request_format_mail(mail, out);
}

static void put_mail(const struct job_view *v)
{
    _cleanup_str_ struct str types = STR_INIT;
    format_mail_types(v->spec->mail_type, &types);
    put_optional(v, "MailUser", find_mail_user(v->spec));
    if (types.len)
        str_printf(v->out, " MailType=%s", str_cstr(&types));
}

static void put_request(const struct job_view *v)
{
    char size[SIZE_TEXT_MAX], tmp[SIZE_TEXT_MAX];
    const Pb__JobSpec *s = v->spec;
    bool per_cpu = s->has_mem_per_cpu_mib && !s->has_mem_per_node_mib;
    uint64_t mem = per_cpu ? s->mem_per_cpu_mib : s->mem_per_node_mib;
    record_break(v->style, v->out);
    str_printf(v->out, "MinCPUsNode=%u %s=%s MinTmpDiskNode=%s", job_state_min_cpus(s),
               per_cpu ? "MinMemoryCPU" : "MinMemoryNode", mem ? size_format_mib(mem, size) : "0",
               s->tmp_per_node_mib ? size_format_mib(s->tmp_per_node_mib, tmp) : "0");
    record_break(v->style, v->out);
    record_pair(v->out, "Features", s->features);
    str_puts(v->out, " DelayBoot=00:00:00");
    put_optional(v, "Prefer", s->prefer);
    const char *resv = job_state_reservation(s, v->live);
    if (resv) {
        record_break(v->style, v->out);
        record_pair(v->out, "Reservation", resv);
    }
    record_break(v->style, v->out);
    str_printf(v->out, "OverSubscribe=%s Exclusive=%s Contiguous=%d",
               job_state_oversubscribe(s, v->live), job_state_exclusive(v->live), s->contiguous);
    record_pair(v->out, " Licenses", s->licenses);
    record_pair(v->out, " Network", s->network);
    put_optional(v, "LicensesAlloc", v->live->licenses_alloc);
    put_optional(v, "CPUFreqReq", s->cpu_freq);
}

static void put_counted(const struct job_view *v, const char *key, uint64_t count)
{
    record_break(v->style, v->out);
    str_printf(v->out, "%s=gres:gpu:%llu", key, (unsigned long long)count);
}

static void put_segments(const struct job_view *v)
{
    if (!v->spec->segment_size)
        return;
    record_break(v->style, v->out);
    str_printf(v->out, "SegmentSize=%u", v->spec->segment_size);
}

static void put_switches(const struct job_view *v)
{
    char wait[TIME_TEXT_MAX];
    if (!v->spec->req_switches)
        return;
    record_break(v->style, v->out);
    str_printf(v->out, "Switches=%u@%s", v->spec->req_switches,
               time_format_limit(v->spec->wait_switch_sec, wait));
}

/* Writes the part of --gres-flags that concerns the binding of CPUs. */
static void put_binding(const struct job_view *v)
{
    const char *flags = v->spec->gres_flags ? v->spec->gres_flags : "";
    const char *yes = strcasestr(flags, "enforce-binding"),
               *no = strcasestr(flags, "disable-binding");
    if (yes || no)
        put_optional(v, "GresEnforceBind", yes > no ? "Yes" : "No"); /* the last flag wins */
}

static void put_command(const struct job_view *v)
{
    static const struct {
        const char *key;
        int stream;
    } streams[] = {{"StdErr", 2}, {"StdIn", 0}, {"StdOut", 1}};
    record_break(v->style, v->out);
    record_pair(v->out, "Command", v->spec->command);
    record_break(v->style, v->out);
    record_pair(v->out, "WorkDir", v->spec->work_dir);
    put_optional(v, "AdminComment", v->spec->admin_comment);
    put_optional(v, "Comment", v->spec->comment);
    put_optional(v, "SystemComment", v->live->system_comment);
    put_optional(v, "Extra", v->spec->extra);
    put_optional(v, "ReasonDetail", job_state_failure(v->live));
    for (size_t i = 0; i < 3 && job_state_is_batch(v->job); i++) {
        _cleanup_str_ struct str path = STR_INIT;
        job_state_put_path(v->job, streams[i].stream, JOB_PATH_KNOWN, &path);
        record_break(v->style, v->out);
        record_pair(v->out, streams[i].key, str_cstr(&path));
    }
    put_optional(v, "SpreadJob", v->spec->spread ? "Yes" : NULL);
    put_segments(v);
    put_switches(v);
    put_optional(v, "BurstBuffer", v->spec->burst_buffer);
    put_optional(v, "BurstBufferState", v->live->burst ? v->live->burst->state : NULL);
    if (v->spec->cpus_per_gpu)
        put_counted(v, "CpusPerTres", v->spec->cpus_per_gpu);
    if (v->spec->mem_per_gpu_mib)
        put_counted(v, "MemPerTres", v->spec->mem_per_gpu_mib);
    put_optional(v, "TresPerJob", v->spec->tres_per_job);
    put_optional(v, "TresPerNode", v->spec->gres);
    put_optional(v, "TresPerSocket", v->spec->tres_per_socket);
    put_optional(v, "TresPerTask", v->spec->tres_per_task);
    put_binding(v);
    put_mail(v);
}

void show_job_text(const Pb__JobRecord *job, int64_t now, struct show_style style, struct str *out)
{
    struct job_view v = {job, job->spec, job->live, now, style, out};
    put_head(&v);
    put_times(&v);
    put_places(&v);
    put_resources(&v);
    put_request(&v);
    put_command(&v);
    record_end(style, out);
}

/* The base state comes first. The flags follow that job_state_word() shows instead of the state. */
static json_t *job_states(const Pb__JobLive *live)
{
    Pb__JobLive base = *live;
    base.completing = base.configuring = base.special_exit = base.stopped = false;
    base.burst = NULL;
    const struct {
        bool set;
        const char *name;
    } flags[] = {
        {live->completing, "COMPLETING"},
        {job_state_stages_out(live), "STAGE_OUT"},
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

/* The record of the job does not tell which sockets the node has. */
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
        {spec->spread_segments, "SPREAD_SEGMENTS"},
        {spec->consolidate_segments, "CONSOLIDATE_SEGMENTS"},
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

/* JSON has "TIME=80%" where the option has "TIME_LIMIT_80". */
static json_t *mail_types(const char *list)
{
    static const char limit[] = "TIME_LIMIT";
    _cleanup_str_ struct str types = STR_INIT;
    format_mail_types(list, &types);
    json_t *words = json_out_list(str_cstr(&types)), *all = json_array(), *word;
    size_t i;
    json_array_foreach(words, i, word)
    {
        const char *text = json_string_value(word);
        _cleanup_str_ struct str name = STR_INIT;
        if (str_starts(text, limit))
            str_printf(&name, "TIME=%s%%", text[strlen(limit)] ? text + strlen(limit) + 1 : "100");
        else
            str_puts(&name, text);
        json_array_append_new(all, json_out_text(str_cstr(&name)));
    }
    json_decref(words);
    return all;
}

static json_t *pack_sharing(const Pb__JobSpec *spec, const Pb__JobLive *live)
{
    const char *word = live->topo_alone               ? "topo"
                       : live->alone && !live->shares ? "none"
                       : live->user_alone             ? "user"
                       : spec->oversubscribe          ? "oversubscribe"
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

/* The array has one text for each node, as "gpu:a100:2(IDX:0-1)". */
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

/* A job has a priority for each partition only while it waits in several partitions. */
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

static json_t *pack_stream_path(const Pb__JobRecord *job, int which, enum job_path how)
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

json_t *show_job_json(const Pb__JobRecord *job, const char *cluster)
{
    const Pb__JobSpec *spec = job->spec;
    const Pb__JobLive *live = job->live;
    json_t *o = json_object();
#define MEMBER(name, status, value) json_object_set_new(o, name, value);
#include "show/job_members.def"
#undef MEMBER
    return o;
}

void show_start_text(const Pb__SubmitReply *r, const char *part, void (*say)(const char *fmt, ...))
{
    char when[TIME_TEXT_MAX];
    if (r->has_start_at || !r->start_note)
        say("Job %u to start at %s using %u processors on nodes %s in partition %s", r->job_id,
            time_format_date(r->start_at, "N/A", when), r->num_cpus, r->nodes ? r->nodes : "(null)",
            r->partition ? r->partition : part);
    if (r->start_note)
        say("Job %u: %s%s", r->job_id,
            r->has_start_at ? "" : "no start can be foreseen: ", r->start_note);
}
