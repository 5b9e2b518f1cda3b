/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transitions of jobs and nodes, one per line. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "cluster/job/transition.h"
#include "show/job_ids.h"
#include "show/job_set.h"
#include "show/job_state.h"
#include "show/json_out.h"
#include "show/names.h"
#include "show/show.h"

/* --- words -------------------------------------------------------------------------------------
 */

static const char *find_word(const char *const *words, size_t count, uint32_t i)
{
    return i < count && words[i] ? words[i] : "UNKNOWN";
}

static const char *cause_word(uint32_t cause)
{
    static const char *const words[] = {
#define CAUSE(id) [CAUSE_##id] = #id,
#include "cluster/job/transition.def"
#undef CAUSE
    };
    return find_word(words, sizeof(words) / sizeof(words[0]), cause);
}

static const char *kind_word(uint32_t kind)
{
    static const char *const words[] = {
#define KIND(id, bit) [bit] = #id,
#include "cluster/job/transition.def"
#undef KIND
    };
    return find_word(words, sizeof(words) / sizeof(words[0]),
                     kind ? (uint32_t)__builtin_ctz(kind) : UINT32_MAX);
}

static const char *state_word(enum _Pb__JobState state)
{
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&pb__job_state__descriptor, (int)state);
    return value ? value->name : "UNKNOWN";
}

static void put_lower(const char *word, struct str *out)
{
    for (; *word; word++)
        str_putc(out, *word == '_' ? '-' : (char)tolower((unsigned char)*word));
}

/* "UP", "DOWN+DRAIN" */
static void put_flags(uint32_t flags, struct str *out)
{
    static const char *const words[] = {"DOWN", "DRAIN", "FAIL", "FUTURE"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (flags >> i & 1)
            str_printf(out, "%s%s", count++ ? "+" : "", words[i]);
    if (!count)
        str_puts(out, "UP");
}

/* --- text --------------------------------------------------------------------------------------
 */

static void put_value(const char *key, const char *text, struct str *out)
{
    if (!text || !*text)
        return;
    bool quoted = strpbrk(text, " \t\n\"") != NULL;
    str_printf(out, " %s=%s", key, quoted ? "\"" : "");
    text_escape(text, out);
    str_puts(out, quoted ? "\"" : "");
}

/* "5", or with the id of the record "5_1(6)", "5+1(6)" and "5_1+1(6)". */
static void put_job_name(const Pb__JobTransition *j, struct str *out)
{
    if (j->has_array_id && !j->has_task) {
        str_printf(out, "%u_[%s]", j->array_id, j->array_tasks ? j->array_tasks : "");
        return;
    }
    if (j->has_array_id)
        str_printf(out, "%u_%u", j->array_id, j->task);
    else
        str_printf(out, "%u", j->has_set_id ? j->set_id : j->job_id);
    if (j->has_set_id)
        str_printf(out, "+%u", j->set_offset);
    if (j->has_array_id || j->has_set_id)
        str_printf(out, "(%u)", j->job_id);
}

static void put_job(const Pb__JobTransition *j, struct str *out)
{
    str_puts(out, " job ");
    put_job_name(j, out);
    if (j->kind != TRANSITION_SUBMITTED)
        str_printf(out, " %s ->", state_word(j->from));
    str_printf(out, " %s cause=", state_word(j->to));
    put_lower(cause_word(j->cause), out);
    put_value("user", names_user(j->uid), out);
    if (j->attempt)
        str_printf(out, " attempt=%u", j->attempt);
    put_value("partition", j->partition, out);
    put_value("nodes", j->nodes, out);
    if (j->has_exit_status) {
        str_puts(out, " exit=");
        job_state_put_exit(j->exit_status, out);
    }
    put_value("reason", j->reason, out);
    put_value("detail", j->detail, out);
}

static void put_date(const char *key, int64_t at, struct str *out)
{
    char date[TIME_TEXT_MAX];
    if (at)
        str_printf(out, " %s=%s", key, time_format_date(at, "", date));
}

static void put_exit(const char *key, int32_t status, struct str *out)
{
    str_printf(out, " %s=", key);
    job_state_put_exit(status, out);
}

static void put_attempt(const Pb__JobRecord *job, struct str *out)
{
    const Pb__JobLive *live = job->live;
    str_puts(out, " attempt ");
    job_ids_put(live, out);
    str_printf(out, " %s", state_word(live->state));
    put_value("user", names_user(job->spec->uid), out);
    put_value("account", job->spec->account, out);
    if (live->restarts)
        str_printf(out, " attempt=%u", live->restarts);
    put_value("partition", live->partition, out);
    put_value("nodes", live->nodes, out);
    if (live->n_alloc)
        str_printf(out, " cpus=%u", live->num_cpus);
    put_date("start", live->start_at, out);
    put_date("end", live->end_at, out);
    if (live->suspended_sec)
        str_printf(out, " suspended=%" PRId64, live->suspended_sec);
    put_exit("exit", live->exit_status, out);
    put_exit("derived", live->derived_status, out);
    put_value("reason", live->reason, out);
}

static void put_step(const Pb__StepRecord *step, struct str *out)
{
    str_puts(out, " step ");
    show_put_step_id(step, out);
    if (step->restarts)
        str_printf(out, " attempt=%u", step->restarts);
    put_value("name", step->name, out);
    put_value("nodes", step->nodes, out);
    str_printf(out, " tasks=%u cpus=%u", step->num_tasks, step->num_cpus);
    put_date("start", step->start_at, out);
    put_date("end", step->end_at, out);
    put_exit("exit", step->exit_status, out);
    if (step->has_ended_with_job)
        put_value("ended_with_job", state_word(step->ended_with_job), out);
}

void show_event_text(const Pb__Event *e, struct str *out)
{
    char date[TIME_TEXT_MAX];
    str_printf(out, "%" PRIu64 " %s", e->number, time_format_date(e->at_ms / 1000, "", date));
    if (e->job) {
        put_job(e->job, out);
    } else if (e->attempt) {
        put_attempt(e->attempt, out);
    } else if (e->step) {
        put_step(e->step, out);
    } else {
        str_printf(out, " node %s ", e->node->name);
        put_flags(e->node->from, out);
        str_puts(out, " -> ");
        put_flags(e->node->to, out);
        put_value("reason", e->node->reason, out);
    }
    str_putc(out, '\n');
}

/* --- JSON --------------------------------------------------------------------------------------
 */

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_out_text(text) : json_null();
}

static json_t *lower_case(const char *word)
{
    _cleanup_str_ struct str out = STR_INIT;
    put_lower(word, &out);
    return json_string(str_cstr(&out));
}

static json_t *flags_list(uint32_t flags)
{
    _cleanup_str_ struct str out = STR_INIT;
    put_flags(flags, &out);
    for (char *p = out.data; (p = strchr(p, '+'));)
        *p = ',';
    return json_out_list(str_cstr(&out));
}

static json_t *job_object(const Pb__JobTransition *j)
{
    json_t *o = json_pack(
        "{s:I, s:o, s:o, s:o, s:I, s:s, s:I, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}",
        "job_id", (json_int_t)j->job_id, "array_job_id",
        json_out_number(j->has_array_id, false, j->array_id), "array_task_id",
        json_out_number(j->has_task, false, j->task), "array_tasks", text_or_null(j->array_tasks),
        "user_id", (json_int_t)j->uid, "user_name", names_user(j->uid), "attempt",
        (json_int_t)j->attempt, "event", lower_case(kind_word(j->kind)), "from",
        state_word(j->from), "to", state_word(j->to), "cause", lower_case(cause_word(j->cause)),
        "partition", text_or_null(j->partition), "nodes", text_or_null(j->nodes), "exit_code",
        j->has_exit_status ? show_exit_code_json(j->exit_status) : json_null(), "reason",
        text_or_null(j->reason), "detail", text_or_null(j->detail));
    show_set_put_transition(j, o);
    return o;
}

static json_t *node_object(const Pb__NodeTransition *n)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "name", json_out_text(n->name), "from",
                     flags_list(n->from), "to", flags_list(n->to), "reason",
                     text_or_null(n->reason));
}

/* Usage of a job's attempt on its nodes, as far as the nodes reported it. */
static json_t *usage_object(const Pb__Usage *u)
{
    return json_pack("{s:I, s:I, s:I}", "user_usec", (json_int_t)(u ? u->user_usec : 0),
                     "system_usec", (json_int_t)(u ? u->sys_usec : 0), "max_rss_kib",
                     (json_int_t)(u ? u->max_rss_kib : 0));
}

/* The members of a job in a listing, and those that only rows of the archive have. */
static json_t *attempt_object(const Pb__JobRecord *job)
{
    const Pb__JobLive *live = job->live;
    json_t *o = show_job_json(job, NULL);
    json_object_set_new(o, "requeued",
                        json_boolean(live->has_requeue_after && live->requeue_after));
    json_object_set_new(o, "suspended_sec", json_integer(live->suspended_sec));
    json_object_set_new(o, "cancelled_by",
                        json_out_number(live->has_cancelled_by, false, live->cancelled_by));
    json_object_set_new(o, "usage", usage_object(live->usage));
    return o;
}

static json_t *step_object(const Pb__StepRecord *step)
{
    json_t *o = show_step_json(step, NULL, step->end_at);
    json_object_set_new(o, "restart_cnt", json_integer(step->restarts));
    show_set_put_step(step, o);
    json_object_set_new(o, "ended_with_job",
                        step->has_ended_with_job ? json_string(state_word(step->ended_with_job))
                                                 : json_null());
    json_object_set_new(o, "usage", usage_object(step->usage));
    return o;
}

/* Appends an object on one line. */
void show_event_json(const Pb__Event *e, struct str *out)
{
    json_t *o =
        json_pack("{s:I, s:I}", "number", (json_int_t)e->number, "time_ms", (json_int_t)e->at_ms);
    if (e->job)
        json_object_set_new(o, "job", job_object(e->job));
    else if (e->attempt)
        json_object_set_new(o, "attempt", attempt_object(e->attempt));
    else if (e->step)
        json_object_set_new(o, "step", step_object(e->step));
    else
        json_object_set_new(o, "node", node_object(e->node));
    _cleanup_free_ char *line = json_dumps(o, JSON_COMPACT);
    str_printf(out, "%s\n", line ? line : "");
    json_decref(o);
}
