/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/records.h"

#include <sys/wait.h>

#include "base/signame.h"
#include "base/step_id.h"
#include "base/timefmt.h"
#include "cmd/common/job_ids.h"
#include "cmd/common/job_state.h"
#include "cmd/common/json_out.h"
#include "cmd/common/names.h"
#include "cmd/common/node_state.h"

static void put(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

static void put_text(json_t *o, const char *key, const char *s)
{
    put(o, key, json_out_text(s));
}

static void put_int(json_t *o, const char *key, int64_t n)
{
    put(o, key, json_integer(n));
}

static void put_bool(json_t *o, const char *key, bool b)
{
    put(o, key, json_boolean(b));
}

static void put_number(json_t *o, const char *key, int64_t n)
{
    put(o, key, json_out_number(true, false, n));
}

static void put_maybe(json_t *o, const char *key, bool set, int64_t n)
{
    put(o, key, json_out_number(set, false, n));
}

/* A time limit, in minutes as Slurm counts. */
static void put_limit(json_t *o, const char *key, bool set, int64_t sec)
{
    bool infinite = set && sec >= TIME_UNLIMITED;
    put(o, key, json_out_number(set, infinite, infinite ? 0 : sec / 60));
}

static void put_upper(struct str *s)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->data[i] >= 'a' && s->data[i] <= 'z')
            s->data[i] = (char)(s->data[i] - 32);
}

static json_t *exit_code(int32_t status)
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

static json_t *job_states(const Pb__JobLive *live)
{
    Pb__JobLive base = *live;
    base.completing = false;
    json_t *states = json_array();
    json_array_append_new(states, json_string(job_state_word(&base)));
    if (live->completing)
        json_array_append_new(states, json_string("COMPLETING"));
    return states;
}

static json_t *job_resources(const Pb__JobLive *live)
{
    json_t *nodes = json_array();
    for (size_t i = 0; i < live->n_alloc; i++)
        json_array_append_new(nodes, json_pack("{s:o, s:i, s:I}", "name",
                                               json_out_text(live->alloc[i]->node), "cpus",
                                               (int)live->alloc[i]->cpus, "memory",
                                               (json_int_t)live->alloc[i]->mem_mib));
    return json_pack("{s:o, s:i, s:i, s:o}", "nodes", json_out_text(live->nodes), "node_count",
                     (int)live->num_nodes, "cpus", (int)live->num_cpus, "allocation", nodes);
}

static void put_job_request(json_t *o, const Pb__JobRecord *job)
{
    const Pb__JobSpec *spec = job->spec;
    put_text(o, "account", spec->account);
    put_bool(o, "batch_flag", spec->batch);
    put_text(o, "allocating_node", spec->alloc_host);
    put_text(o, "batch_features", spec->batch_features);
    put_text(o, "cluster_features", spec->cluster_features);
    put_text(o, "command", spec->command);
    put_text(o, "comment", spec->comment);
    put_bool(o, "contiguous", spec->contiguous);
    put_maybe(o, "cpus_per_task", spec->has_cpus_per_task, spec->cpus_per_task);
    put_text(o, "current_working_directory", spec->work_dir);
    put_text(o, "dependency", job->live->dependency);
    put_text(o, "excluded_nodes", spec->exc_nodes);
    put_text(o, "extra", spec->extra);
    put_text(o, "features", spec->features);
    put_text(o, "prefer", spec->prefer);
    put_int(o, "group_id", spec->gid);
    put_text(o, "group_name", spec->group_name ? spec->group_name : names_group(spec->gid));
    put_bool(o, "hold", spec->hold);
    put_text(o, "licenses", spec->licenses);
    put_maybe(o, "max_nodes", spec->has_max_nodes, spec->max_nodes);
    put_maybe(o, "memory_per_cpu", spec->has_mem_per_cpu_mib, (int64_t)spec->mem_per_cpu_mib);
    put_maybe(o, "memory_per_node", spec->has_mem_per_node_mib, (int64_t)spec->mem_per_node_mib);
    put_number(o, "minimum_cpus_per_node", spec->min_cpus_per_node);
    put_number(o, "minimum_tmp_disk_per_node", (int64_t)spec->tmp_per_node_mib);
    put_text(o, "name", spec->name);
    put_int(o, "nice", spec->nice);
    put_text(o, "qos", spec->qos);
    put_bool(o, "requeue", spec->has_requeue ? spec->requeue : spec->batch);
    put_text(o, "required_nodes", spec->req_nodes);
    put_text(o, "resv_name", job->live->reservation ? job->live->reservation : spec->reservation);
    put(o, "shared", spec->exclusive ? json_pack("[s]", "none") : json_array());
    put_text(o, "submit_line", spec->submit_line);
    put_maybe(o, "tasks_per_core", spec->has_ntasks_per_core, spec->ntasks_per_core);
    put_maybe(o, "tasks_per_node", spec->has_ntasks_per_node, spec->ntasks_per_node);
    put_maybe(o, "tasks_per_socket", spec->has_ntasks_per_socket, spec->ntasks_per_socket);
    put_maybe(o, "threads_per_core", spec->has_threads_per_core, spec->threads_per_core);
    put_limit(o, "time_minimum", spec->has_time_min_sec, spec->time_min_sec);
    put_text(o, "tres_per_node", spec->gres);
    put_text(o, "tres_per_job", spec->tres_per_job);
    put_text(o, "tres_per_socket", spec->tres_per_socket);
    put_text(o, "tres_per_task", spec->tres_per_task);
    put_int(o, "user_id", spec->uid);
    put_text(o, "user_name", spec->user_name ? spec->user_name : names_user(spec->uid));
    put_text(o, "wckey", spec->wckey);
}

static void put_array(json_t *o, const Pb__JobLive *live)
{
    _cleanup_str_ struct str tasks = STR_INIT;
    put_int(o, "array_job_id", live->array_job_id); /* 0: it is in none */
    put(o, "array_task_id",
        live->has_array_task_id ? json_integer(live->array_task_id) : json_null());
    put_int(o, "array_max_tasks", live->array_throttle);
    if (live->array_tasks)
        job_ids_put_tasks(live, &tasks);
    put_text(o, "array_task_string", str_cstr(&tasks));
}

static void put_job_life(json_t *o, const Pb__JobRecord *job)
{
    const Pb__JobLive *live = job->live;
    put_int(o, "job_id", live->job_id);
    put_array(o, live);
    put(o, "job_state", job_states(live));
    put_text(o, "state_reason", job_state_reason(live));
    put_text(o, "state_description", live->reason_detail);
    put_text(o, "batch_host", live->batch_host);
    put_number(o, "cpus", live->num_cpus);
    put_number(o, "node_count", live->num_nodes);
    put_number(o, "tasks", live->num_tasks ? live->num_tasks : job->spec->num_tasks);
    put_text(o, "nodes", live->nodes);
    put_text(o, "scheduled_nodes", live->sched_nodes);
    put_text(o, "partition", live->partition ? live->partition : job->spec->partition);
    put_number(o, "priority", live->priority);
    put_int(o, "restart_cnt", live->restarts);
    put(o, "exit_code", exit_code(live->exit_status));
    put(o, "derived_exit_code", exit_code(live->derived_status));
    put_number(o, "submit_time", live->submit_at);
    put_number(o, "eligible_time", job_state_eligible_at(live));
    put_number(o, "accrue_time", job_state_eligible_at(live));
    put_number(o, "start_time", job_state_start_at(job));
    put_number(o, "end_time", job_state_end_at(job));
    put_number(o, "last_sched_evaluation", live->last_sched_at);
    put_limit(o, "time_limit", live->has_time_limit_sec, live->time_limit_sec);
    put_text(o, "system_comment", live->system_comment);
    put(o, "job_resources", job_resources(live));
}

json_t *records_job(const Pb__JobRecord *job, const char *cluster)
{
    static const char *const streams[] = {"standard_input", "standard_output", "standard_error"};
    json_t *o = json_object();
    put_job_life(o, job);
    put_job_request(o, job);
    for (int i = 0; i < 3; i++) {
        _cleanup_str_ struct str path = STR_INIT;
        job_state_put_path(job, i, &path);
        put_text(o, streams[i], str_cstr(&path));
    }
    _cleanup_str_ struct str asked = STR_INIT, allocated = STR_INIT;
    job_state_put_tres(job, false, &asked);
    job_state_put_tres(job, true, &allocated);
    put_text(o, "tres_req_str", str_cstr(&asked));
    put_text(o, "tres_alloc_str", str_cstr(&allocated));
    put_text(o, "cluster", cluster);
    return o;
}

json_t *records_step(const Pb__StepRecord *step)
{
    char id[STEP_ID_TEXT_MAX];
    json_t *o = json_object();
    put_text(o, "id", step_id_text(step->job_id, step->step_id, id));
    put_int(o, "job_id", step->job_id);
    put_text(o, "name", step->name);
    put(o, "state",
        json_pack("[s]", step->state == PB__STEP_STATE__STEP_ENDED ? "COMPLETED" : "RUNNING"));
    put_number(o, "start_time", step->start_at);
    put_text(o, "nodes", step->nodes);
    put_int(o, "node_count", step->num_nodes);
    put_int(o, "task_count", step->num_tasks);
    put_int(o, "cpu_count", step->num_cpus);
    put_text(o, "partition", step->partition);
    put_int(o, "user_id", step->uid);
    put_text(o, "srun_host", step->host);
    put_int(o, "srun_pid", step->srun_pid);
    return o;
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

static void put_node_tres(json_t *o, const Pb__NodeRecord *n)
{
    _cleanup_str_ struct str all = STR_INIT, used = STR_INIT;
    node_state_put_tres(n, false, &all);
    node_state_put_tres(n, true, &used);
    put_text(o, "tres", str_cstr(&all));
    put_text(o, "tres_used", str_cstr(&used));
    put(o, "tres_weighted", json_real(0));
    put_text(o, "gres", n->gres);
    put_text(o, "gres_used", "");
    put_text(o, "gres_drained", "N/A");
}

json_t *records_node(const Pb__NodeRecord *n, const char *cluster)
{
    json_t *o = json_object();
    put_text(o, "name", n->name);
    put(o, "state", records_node_states(n));
    put_text(o, "architecture", n->arch);
    put_text(o, "address", n->addr);
    put_text(o, "hostname", n->hostname);
    put_text(o, "cluster_name", cluster);
    put_int(o, "cpus", n->cpus);
    put_int(o, "alloc_cpus", n->alloc_cpus);
    put_int(o, "alloc_idle_cpus", n->cpus > n->alloc_cpus ? n->cpus - n->alloc_cpus : 0);
    put_int(o, "idle_cpus", n->cpus > n->alloc_cpus ? n->cpus - n->alloc_cpus : 0);
    put_int(o, "effective_cpus", n->cpus);
    put_int(o, "boards", n->boards);
    put_int(o, "sockets", n->sockets);
    put_int(o, "cores", n->cores);
    put_int(o, "threads", n->threads);
    put_int(o, "real_memory", (int64_t)n->real_memory_mib);
    put_int(o, "alloc_memory", (int64_t)n->alloc_mem_mib);
    put_maybe(o, "free_mem", n->has_free_mem_mib, (int64_t)n->free_mem_mib);
    put_int(o, "cpu_load", n->cpu_load_centi);
    put_int(o, "temporary_disk", (int64_t)n->tmp_disk_mib);
    put_int(o, "weight", n->weight);
    put(o, "features", json_out_list(n->features));
    put(o, "active_features", json_out_list(node_state_active_features(n)));
    put_node_tres(o, n);
    put_text(o, "comment", n->comment);
    put_text(o, "extra", n->extra);
    put_text(o, "operating_system", n->os);
    put_text(o, "version", n->version);
    put_text(o, "slurmd_version", n->version);
    put(o, "partitions", json_out_list(n->partitions));
    put_int(o, "port", n->port);
    put_text(o, "reason", n->reason);
    put_number(o, "reason_changed_at", n->reason_at);
    put_text(o, "reason_set_by_user",
             n->reason && n->has_reason_uid ? names_user(n->reason_uid) : "");
    put_number(o, "boot_time", n->boot_at);
    put_number(o, "slurmd_start_time", n->daemon_start_at);
    put_number(o, "last_busy", n->last_busy_at);
    put_text(o, "mcs_label", n->mcs_label);
    put_text(o, "owner", n->owner);
    return o;
}

json_t *records_part(const Pb__PartRecord *p, const char *cluster)
{
    bool unlimited_nodes = !p->has_max_nodes || p->max_nodes == UINT32_MAX;
    json_t *o = json_object();
    put_text(o, "name", p->name);
    put_text(o, "cluster", cluster);
    put_text(o, "alternate", p->alternate);
    put(o, "nodes",
        json_pack("{s:o, s:o, s:i}", "allowed_allocation", json_out_text(p->alloc_nodes),
                  "configured", json_out_text(p->nodes), "total", (int)p->total_nodes));
    put(o, "accounts",
        json_pack("{s:o, s:o}", "allowed", json_out_text(p->allow_accounts), "deny",
                  json_out_text(p->deny_accounts)));
    put(o, "groups", json_pack("{s:o}", "allowed", json_out_text(p->allow_groups)));
    put(o, "qos",
        json_pack("{s:o, s:o, s:o}", "allowed", json_out_text(p->allow_qos), "deny",
                  json_out_text(p->deny_qos), "assigned", json_out_text(p->qos)));
    put(o, "cpus", json_pack("{s:i}", "total", (int)p->total_cpus));
    json_t *maximums = json_object(), *defaults = json_object();
    put(maximums, "nodes", json_out_number(true, unlimited_nodes, p->max_nodes));
    put_limit(maximums, "time", true, p->has_max_time_sec ? p->max_time_sec : TIME_UNLIMITED);
    put(maximums, "oversubscribe", json_pack("{s:o}", "flags", json_out_list(p->share)));
    put(o, "maximums", maximums);
    put_limit(defaults, "time", p->default_time_sec > 0, p->default_time_sec);
    put(o, "defaults", defaults);
    put(o, "minimums", json_pack("{s:i}", "nodes", (int)p->min_nodes));
    put(o, "priority",
        json_pack("{s:i, s:i}", "job_factor", (int)p->priority_job_factor, "tier",
                  (int)p->priority_tier));
    put(o, "partition", json_pack("{s:o}", "state", json_out_list(p->state)));
    put_bool(o, "default", p->is_default);
    put_bool(o, "hidden", p->hidden);
    put_bool(o, "req_resv", p->req_resv);
    put_bool(o, "root_only", p->root_only);
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

json_t *records_resv(const Pb__ResvRecord *r)
{
    _cleanup_str_ struct str tres = STR_INIT;
    json_t *o = json_object(), *purge = json_object();
    if (r->total_cpus)
        str_printf(&tres, "cpu=%u", r->total_cpus);
    put_text(o, "accounts", r->accounts);
    put_text(o, "burst_buffer", NULL);
    put_int(o, "core_count", r->total_cores);
    put(o, "core_specializations", core_specs(r));
    put(o, "end_time",
        json_out_number(true, r->end_at >= TIME_UNLIMITED,
                        r->end_at >= TIME_UNLIMITED ? 0 : r->end_at));
    put_text(o, "features", r->features);
    put(o, "flags", json_out_list(r->flags));
    put_text(o, "groups", r->groups);
    put_text(o, "licenses", r->licenses);
    put_int(o, "max_start_delay", r->max_start_delay_sec);
    put_text(o, "name", r->name);
    put_int(o, "node_count", r->node_count);
    put_text(o, "node_list", r->nodes);
    put_text(o, "partition", r->partition);
    put(purge, "time", json_out_number(r->has_purge_sec, false, r->purge_sec));
    put(o, "purge_completed", purge);
    put(o, "start_time", json_out_number(true, false, r->start_at));
    put(o, "watts", json_out_number(false, false, 0));
    put_text(o, "tres", str_cstr(&tres));
    put_text(o, "users", r->users);
    put_text(o, "state", r->active ? "ACTIVE" : "INACTIVE");
    return o;
}
