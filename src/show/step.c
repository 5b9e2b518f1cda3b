/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps as text and as JSON. */
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/step_id.h"
#include "base/timefmt.h"
#include "cluster/job/step_nodes.h"
#include "conf/conf_freq.h"
#include "show/job_ids.h"
#include "show/job_set.h"
#include "show/job_state.h"
#include "show/names.h"
#include "show/record.h"

/* The distribution of a step that srun started, with a capital letter as in Slurm. Without
 * --distribution it is "Block" if the step has more tasks than nodes, else "Cyclic". */
static void put_distribution(const Pb__StepRecord *step, struct str *out)
{
    const char *usual = step->num_tasks > step->num_nodes ? "block" : "cyclic";
    str_puts(out, step->distribution && *step->distribution ? step->distribution : usual);
    if (out->data[0] >= 'a' && out->data[0] <= 'z')
        out->data[0] = (char)(out->data[0] - 'a' + 'A');
}

void show_put_step_id(const Pb__StepRecord *step, struct str *out)
{
    char name[STEP_ID_NAME_MAX];
    if (step->has_array_job_id)
        str_printf(out, "%u_%u", step->array_job_id, step->array_task_id);
    else
        str_printf(out, "%u", step->has_set_id ? step->set_id : step->job_id);
    if (step->has_set_id)
        str_printf(out, "+%u", step->set_offset);
    str_printf(out, ".%s", step_id_name(step->step_id, name));
}

void show_step_text(const Pb__StepRecord *step, struct show_style style, struct str *out)
{
    char limit[TIME_TEXT_MAX];
    str_puts(out, "StepId=");
    show_put_step_id(step, out);
    str_printf(out, " UserId=%u ", step->uid);
    record_date(out, "StartTime", step->start_at, "Unknown");
    str_printf(out, " TimeLimit=%s", time_format_limit(job_state_step_limit_sec(step), limit));
    record_break(style, out);
    str_printf(out, "State=%s ", job_state_of_step(step));
    record_pair(out, "Partition", step->partition);
    record_pair(out, " NodeList", step->nodes);
    record_break(style, out);
    str_printf(out, "Nodes=%u CPUs=%u Tasks=%u ", step->num_nodes, step->num_cpus, step->num_tasks);
    record_pair(out, "Name", step->name);
    record_pair(out, " Network", step->network);
    record_break(style, out);
    str_puts(out, "TRES=");
    if (!job_state_put_step_tres(step, out))
        str_puts(out, "(null)");
    record_break(style, out);
    str_puts(out, "ResvPorts=");
    step_ports_format(step->resv_ports, step->n_resv_ports, out);
    if (step->n_resv_ports == 0)
        str_puts(out, "(null)");
    record_break(style, out);
    record_pair(out, "CPUFreqReq", step->cpu_freq ? step->cpu_freq : "Default");
    if (step->srun_pid) {
        _cleanup_str_ struct str name = STR_INIT;
        put_distribution(step, &name);
        record_pair(out, " Dist", str_cstr(&name));
    }
    record_break(style, out);
    record_pair(out, "SrunHost:Pid", step->host);
    str_printf(out, ":%u", step->srun_pid);
    record_end(style, out);
}

/* Numbers that Slurm's accounting gives to the resources of every cluster. */
static const struct {
    const char *type;
    int id;
} tres_ids[] = {{"cpu", 1}, {"mem", 2}, {"node", 4}};

static json_t *cpu_time(uint64_t usec)
{
    return json_pack("{s:I, s:I}", "seconds", (json_int_t)(usec / 1000000), "microseconds",
                     (json_int_t)(usec % 1000000));
}

/* CPU time on the nodes where the step has ended. The limit is in minutes. */
static json_t *step_time(const Pb__StepRecord *step, int64_t now)
{
    const Pb__Usage *usage = step->usage;
    uint64_t user_usec = usage ? usage->user_usec : 0, sys_usec = usage ? usage->sys_usec : 0;
    int64_t end_at = step->has_end_at ? step->end_at : now;
    int64_t limit_sec = job_state_step_limit_sec(step);
    int64_t elapsed_sec = job_state_step_used_sec(step, now);
    int64_t since_sec = step->start_at && end_at > step->start_at ? end_at - step->start_at : 0;
    return json_pack(
        "{s:I, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "elapsed", (json_int_t)elapsed_sec, "end",
        json_out_number(true, false, step->end_at), "start",
        json_out_number(true, false, step->start_at), "limit",
        json_out_number(true, limit_sec >= TIME_UNLIMITED, limit_sec / 60), "suspended",
        (json_int_t)(since_sec > elapsed_sec ? since_sec - elapsed_sec : 0), "system",
        cpu_time(sys_usec), "total", cpu_time(sys_usec + user_usec), "user", cpu_time(user_usec));
}

static json_t *step_nodes(const Pb__StepRecord *step)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    json_t *list = json_array();
    if (step->nodes && hostlist_parse(step->nodes, &hosts, NULL) == 0)
        for (size_t i = 0; i < hostlist_count(hosts); i++)
            json_array_append_new(list, json_out_text(hostlist_nth(hosts, i, name)));
    return json_pack("{s:i, s:o, s:o}", "count", (int)step->num_nodes, "range",
                     json_out_text(step->nodes), "list", list);
}

static json_t *step_pid(const Pb__StepRecord *step)
{
    _cleanup_str_ struct str pid = STR_INIT;
    if (step->srun_pid)
        str_printf(&pid, "%u", step->srun_pid);
    return json_out_text(str_cstr(&pid));
}

static json_t *step_frequency(const char *text)
{
    struct conf_freq want = {0};
    if (text && conf_freq_parse(text, &want, NULL) < 0)
        want = (struct conf_freq){0};
    return json_pack("{s:{s:o, s:o}, s:s}", "requested_frequency", "min",
                     record_freq(text, RECORD_FREQ_MIN), "max", record_freq(text, RECORD_FREQ_MAX),
                     "governor", want.governor ? conf_governor_name(want.governor) : "");
}

static json_t *step_statistics(void)
{
    return json_pack("{s:{s:i}, s:{s:o}}", "CPU", "actual_frequency", 0, "energy", "consumed",
                     json_out_number(false, false, 0));
}

/* "5.0" split into {"job_id": ..., "step_id": "0"}. */
static json_t *step_id(const Pb__StepRecord *step)
{
    char id[STEP_ID_TEXT_MAX];
    _cleanup_str_ struct str sluid = STR_INIT;
    const char *dot = strrchr(step_id_text(step->job_id, step->step_id, id), '.');
    return json_pack("{s:{s:s, s:o, s:o, s:s}, s:o}", "id", "sluid",
                     job_ids_sluid(step->job_id, step->submit_at, &sluid), "job_id",
                     json_out_number(true, false, step->job_id), SHOW_SET_OF_STEP,
                     json_out_number(step->has_set_id, false, step->set_offset), "step_id",
                     dot ? dot + 1 : id, "name", json_out_text(step->name));
}

static json_t *step_distribution(const Pb__StepRecord *step)
{
    _cleanup_str_ struct str name = STR_INIT;
    if (!step->srun_pid)
        return json_string("Unknown");
    put_distribution(step, &name);
    return json_out_text(str_cstr(&name));
}

/* "gres/gpu=2" as {"type": "gres", "name": "gpu", "id": 0, "count": 2}. Memory counts in MiB. */
static json_t *tres_item(const char *item)
{
    size_t type_len = strcspn(item, "/="), name_len = strcspn(item, "=");
    _cleanup_free_ char *type = mem_strndup(item, type_len), *name = NULL;
    uint64_t count = 0;
    int id = 0;
    name = type_len < name_len ? mem_strndup(item + type_len + 1, name_len - type_len - 1) : NULL;
    if (str_eq(type, "mem"))
        size_parse_mib(item + name_len + 1, &count, NULL);
    else
        size_parse_count(item + name_len + 1, UINT64_MAX / 2, &count, NULL);
    for (size_t i = 0; i < sizeof(tres_ids) / sizeof(tres_ids[0]); i++)
        if (str_eq(type, tres_ids[i].type))
            id = tres_ids[i].id;
    return json_pack("{s:o, s:o, s:i, s:I}", "type", json_out_text(type), "name",
                     json_out_text(name), "id", id, "count", (json_int_t)count);
}

/* The node daemons have the usage of a step: sstat asks them. */
static json_t *step_tres(const Pb__StepRecord *step)
{
    _cleanup_str_ struct str tres = STR_INIT;
    json_t *allocated = json_array(), *words, *word;
    size_t i;
    job_state_put_step_tres(step, &tres);
    words = json_out_list(str_cstr(&tres));
    json_array_foreach(words, i, word)
        json_array_append_new(allocated, tres_item(json_string_value(word)));
    json_decref(words);
    return json_pack("{s:{s:[], s:[], s:[], s:[]}, s:{s:[], s:[], s:[], s:[]}, s:o}", "requested",
                     "max", "min", "average", "total", "consumed", "max", "min", "average", "total",
                     "allocated", allocated);
}

static json_t *step_array(const Pb__StepRecord *step)
{
    return json_pack("{s:i, s:o}", "job_id", (int)step->array_job_id, "task_id",
                     json_out_number(step->has_array_task_id, false, step->array_task_id));
}

static json_t *step_ports(const Pb__StepRecord *step)
{
    _cleanup_str_ struct str ports = STR_INIT;
    step_ports_format(step->resv_ports, step->n_resv_ports, &ports);
    return json_out_text(str_cstr(&ports));
}

json_t *show_step_json(const Pb__StepRecord *step, const char *cluster, int64_t now)
{
    json_t *o = json_object();
#define MEMBER(name, status, value) json_object_set_new(o, name, value);
#include "show/step_members.def"
#undef MEMBER
    return o;
}
