/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/job_columns.h"

#include <string.h>

#include "base/idset.h"
#include "base/pb.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "show/job_ids.h"
#include "show/job_set.h"
#include "show/job_state.h"
#include "show/listing_value.h"
#include "show/names.h"
#include "show/show.h"

#define DATE(value)                                                                                \
    (struct listing_value)                                                                         \
    {                                                                                              \
        .kind = LISTING_DATE, .number = (value)                                                    \
    }
#define DURATION(value)                                                                            \
    (struct listing_value)                                                                         \
    {                                                                                              \
        .kind = LISTING_SHORT, .number = (value)                                                   \
    }
#define ELAPSED(value)                                                                             \
    (struct listing_value)                                                                         \
    {                                                                                              \
        .kind = LISTING_SHORT, .number = (value), .whole = (value) < TIME_UNLIMITED                \
    }
#define LIMIT(known, value) ((known) ? ELAPSED(value) : RANKED("NOT_SET", 0))
/* A job beyond its limit has no time left; as in Slurm the value is then INVALID. */
#define LEFT(known, value) ((known) && (value) < 0 ? RANKED("INVALID", value) : LIMIT(known, value))
#define HOSTS(value) make_hosts_value(value)
#define EXPECTED(value)                                                                            \
    (struct listing_value)                                                                         \
    {                                                                                              \
        .kind = LISTING_TEXT, .text = (value), .whole = true                                       \
    }

/* squeue filters by these fields, even if it does not show them. */
#define SPEC_NEEDS "uid account qos licenses reservation"
#define LIVE_NEEDS                                                                                 \
    "state completing configuring special_exit stopped array_job_id array_task_id array_tasks "    \
    "array_throttle burst"

#define NONE_AFTER_SEC (365 * 86400) /* sort key of an end without limit, after the start */

static struct listing_value make_hosts_value(const char *list)
{
    bool none = !list || !*list;
    return (struct listing_value){
        .kind = LISTING_BLANK, .text = list, .key = none ? "" : list, .last = none, .whole = true};
}

static struct listing_value make_start_value(const Pb__JobRecord *job)
{
    int64_t at = job_state_start_at(job);
    return (struct listing_value){.kind = LISTING_DATE, .number = at, .last = at == 0};
}

static struct listing_value make_end_value(const Pb__JobRecord *job)
{
    int64_t start_at = job_state_start_at(job), end_at = job_state_end_at(job);
    if (!end_at && start_at)
        return RANKED("NONE", start_at + NONE_AFTER_SEC);
    return DATE(end_at);
}

/* The most nodes that the request allows. Without such a limit, the number of nodes of the job. */
static uint32_t max_nodes(const Pb__JobRecord *job)
{
    const Pb__JobSpec *spec = job->spec;
    uint32_t least = spec->min_nodes > spec->num_tasks ? spec->min_nodes : spec->num_tasks;
    if (!spec->max_nodes)
        return job->live->num_nodes;
    return spec->num_tasks && least < spec->max_nodes ? least : spec->max_nodes;
}

static bool keeps_units;

void job_columns_keep_units(void)
{
    keeps_units = true;
}

static const char *format_mib(uint64_t mib, struct str *out)
{
    char buf[SIZE_TEXT_MAX];
    if (mib && keeps_units)
        str_printf(out, "%lluM", (unsigned long long)mib);
    else
        str_puts(out, mib ? size_format_mib(mib, buf) : "0");
    return str_cstr(out);
}

static const char *format_memory(const Pb__JobSpec *spec, struct str *out)
{
    return format_mib(spec->has_mem_per_node_mib ? spec->mem_per_node_mib : spec->mem_per_cpu_mib,
                      out);
}

static const char *count_or_star(uint32_t count, struct str *out)
{
    if (!count)
        return "*";
    str_printf(out, "%u", count);
    return str_cstr(out);
}

static const char *count_or_na(uint32_t count, struct str *out)
{
    if (!count)
        return "N/A";
    str_printf(out, "%u", count);
    return str_cstr(out);
}

static const char *format_priority_fraction(uint32_t priority, struct str *out)
{
    str_printf(out, "%.14f", (double)priority / (double)UINT32_MAX);
    return str_cstr(out);
}

/* The sort key is the order in which the planner considers jobs: first the tier of the partition,
 * if known, then the priority of the job. */
static int64_t rank_job(const struct job_columns_view *view)
{
    return (int64_t)((uint64_t)(view->tier & INT32_MAX) << 32 | view->job->live->priority);
}

static const char *format_decimal(uint32_t number, struct str *out)
{
    str_printf(out, "%u", number);
    return str_cstr(out);
}

static const char *get_partition_name(const Pb__JobRecord *job)
{
    return job->live->partition ? job->live->partition : job->spec->partition;
}

static const char *user_name(const Pb__JobSpec *spec)
{
    return spec->user_name ? spec->user_name : names_user(spec->uid);
}

static bool has_failed(const Pb__JobLive *live)
{
    switch (live->state) {
    case PB__JOB_STATE__FAILED:
    case PB__JOB_STATE__TIMEOUT:
    case PB__JOB_STATE__NODE_FAIL:
    case PB__JOB_STATE__BOOT_FAIL:
    case PB__JOB_STATE__DEADLINE:
    case PB__JOB_STATE__OUT_OF_MEMORY:
        return !live->completing;
    default:
        return false;
    }
}

static struct listing_value reason_list(const Pb__JobRecord *job, struct str *out)
{
    const Pb__JobLive *live = job->live;
    if (live->state != PB__JOB_STATE__PENDING && !has_failed(live))
        return HOSTS(live->nodes);
    str_putc(out, '(');
    str_puts(out, job_state_sentence(live));
    str_putc(out, ')');
    return BLANK(str_cstr(out));
}

/* The node of the batch script, also in the other components of the job; for an interactive job,
 * the host where the command runs. */
static const char *executing_host(const Pb__JobRecord *job)
{
    if (job->live->script_host)
        return job->live->script_host;
    if (!job->spec->batch && job->live->start_at)
        return job->spec->alloc_host;
    return job->live->batch_host ? job->live->batch_host : "n/a";
}

static const char *format_sockets_cores_threads(const Pb__JobSpec *spec, struct str *out)
{
    const uint32_t counts[] = {spec->sockets_per_node, spec->cores_per_socket,
                               spec->threads_per_core};
    for (size_t i = 0; i < 3; i++) {
        str_puts(out, i ? ":" : "");
        if (counts[i])
            str_printf(out, "%u", counts[i]);
        else
            str_putc(out, '*');
    }
    return str_cstr(out);
}

static const char *core_spec(const Pb__JobSpec *spec, struct str *out)
{
    if (spec->has_thread_spec)
        str_printf(out, "%u Threads", spec->thread_spec);
    else if (spec->has_core_spec)
        str_printf(out, "%u", spec->core_spec);
    else
        return "N/A";
    return str_cstr(out);
}

static int64_t pending_sec(const Pb__JobLive *live, int64_t now)
{
    int64_t until = live->state == PB__JOB_STATE__PENDING || !live->start_at ? now : live->start_at;
    return until > live->submit_at ? until - live->submit_at : 0;
}

static const char *format_stream_path(const struct job_columns_view *view, int stream,
                                      struct str *out)
{
    enum job_path how = view->expand_patterns ? JOB_PATH_FIRST : JOB_PATH_GIVEN;
    job_state_put_path(view->job, stream, how, out);
    return str_cstr(out);
}

static const char *step_stream_path(const struct job_columns_view *view, const char *pattern,
                                    struct str *out)
{
    if (!pattern || !view->expand_patterns)
        return pattern;
    job_state_put_step_path(view->step, pattern, out);
    return str_cstr(out);
}

static const char *exit_status(int32_t status, struct str *out)
{
    job_state_put_exit(status, out);
    return str_cstr(out);
}

static const char *per_gpu(uint64_t count, struct str *out)
{
    if (!count)
        return "N/A";
    str_printf(out, "gres:gpu:%llu", (unsigned long long)count);
    return str_cstr(out);
}

static const char *format_tres(const Pb__JobRecord *job, struct str *out)
{
    if (!job_state_put_tres(job, true, out))
        job_state_put_tres(job, false, out);
    return str_cstr(out);
}

static const char *job_id(const Pb__JobLive *live, struct str *out)
{
    job_ids_put(live, out);
    return str_cstr(out);
}

static const char *task_id(const Pb__JobLive *live, struct str *out)
{
    if (!job_ids_put_tasks(live, out))
        return "N/A";
    return str_cstr(out);
}

static const char *id_of_step(const Pb__StepRecord *step, struct str *out)
{
    show_put_step_id(step, out);
    return str_cstr(out);
}

static int64_t step_rank(const Pb__StepRecord *step)
{
    return (int64_t)((uint64_t)(step->job_id & INT32_MAX) << 32 | step->step_id);
}

static const char *step_tres(const Pb__StepRecord *step, struct str *out)
{
    return job_state_put_step_tres(step, out) ? str_cstr(out) : NULL;
}

static const char *step_task_id(const Pb__StepRecord *step, struct str *out)
{
    if (!step->has_array_task_id)
        return "N/A";
    str_printf(out, "%u", step->array_task_id);
    return str_cstr(out);
}

static const char *step_ports(const Pb__StepRecord *step, struct str *out)
{
    struct idset ports = {0};
    if (!step->n_resv_ports)
        return NULL;
    for (size_t i = 0; i < step->n_resv_ports; i++)
        idset_add(&ports, step->resv_ports[i]);
    idset_format(&ports, out);
    idset_done(&ports);
    return str_cstr(out);
}

#define FIELD(id, name, letter, title, status, spec_needs, live_needs, value, help)                \
    static struct listing_value get_job_##id(const void *record, struct str *out)                  \
    {                                                                                              \
        const struct job_columns_view *view = record;                                              \
        const Pb__JobRecord *job = view->job;                                                      \
        const Pb__JobSpec *spec = job->spec;                                                       \
        const Pb__JobLive *live = job->live;                                                       \
        (void)out;                                                                                 \
        (void)spec;                                                                                \
        (void)live;                                                                                \
        return value;                                                                              \
    }
#include "show/job_columns.def"
#undef FIELD

static const struct listing_field job_fields[] = {
#define FIELD(id, name, letter, title, status, spec_needs, live_needs, value, help)                \
    {name, letter, title, get_job_##id, help},
#include "show/job_columns.def"
#undef FIELD
};
const struct listing_table job_columns = {job_fields, sizeof(job_fields) / sizeof(job_fields[0]),
                                          "job"};

#define ANY NULL

static const struct {
    const char *spec, *live;
} job_field_needs[] = {
#define FIELD(id, name, letter, title, status, spec_needs, live_needs, value, help)                \
    {spec_needs, live_needs},
#include "show/job_columns.def"
#undef FIELD
};

static bool add_needs(struct job_needs *n, const struct listing_field *field)
{
    size_t i = (size_t)(field - job_fields);
    if (!job_field_needs[i].spec)
        return false;
    pb_fields_add(&n->spec, &pb__job_spec__descriptor, job_field_needs[i].spec);
    pb_fields_add(&n->live, &pb__job_live__descriptor, job_field_needs[i].live);
    return true;
}

bool job_columns_needs(const struct listing *l, struct job_needs *out)
{
    *out = (struct job_needs){0};
    pb_fields_add(&out->spec, &pb__job_spec__descriptor, SPEC_NEEDS);
    pb_fields_add(&out->live, &pb__job_live__descriptor, LIVE_NEEDS);
    vec_foreach (&l->columns, c)
        if (c->field && !add_needs(out, c->field))
            return false;
    vec_foreach (&l->keys, key)
        if (!add_needs(out, key->field))
            return false;
    return true;
}

#define FIELD(id, name, letter, title, status, value, help)                                        \
    static struct listing_value get_step_##id(const void *record, struct str *out)                 \
    {                                                                                              \
        const struct job_columns_view *view = record;                                              \
        const Pb__StepRecord *step = view->step;                                                   \
        (void)out;                                                                                 \
        (void)step;                                                                                \
        return value;                                                                              \
    }
#include "show/step_columns.def"
#undef FIELD

static const struct listing_field step_fields[] = {
#define FIELD(id, name, letter, title, status, value, help)                                        \
    {name, letter, title, get_step_##id, help},
#include "show/step_columns.def"
#undef FIELD
};
const struct listing_table step_columns = {
    step_fields, sizeof(step_fields) / sizeof(step_fields[0]), "job step"};
