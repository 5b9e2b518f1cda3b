/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/event/job_event.h"
#include "control/core/facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "control/internal.h"

enum field {
    USER = 1,
    PARTITION = 2,
    NAME = 4,
    STATE = 8,
    EXIT = 16,
    BY = 32,
    NODES = 64,
    CPUS = 128,
    RESTARTS = 256,
    REASON = 512,
};

static const struct {
    const char *word;
    unsigned fields;
} events[] = {
#define JOB_EVENT(id, word, fields) [JOB_EVENT_##id] = {word, fields},
#include "control/event/job_event.def"
#undef JOB_EVENT
};

static const char *state_name(enum _Pb__JobState state)
{
    return protobuf_c_enum_descriptor_get_value(&pb__job_state__descriptor, (int)state)->name;
}

/* A user chose it: a line of the log stays one line. */
static void put_text(struct str *out, const char *text)
{
    for (; text && *text; text++)
        str_putc(out, (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
}

/* The log never waits for the name service: without a name the uid stands alone. */
static const char *known_name(const struct control *c, uint32_t uid)
{
    return c->env->user_name_if_known ? c->env->user_name_if_known(c->env->ctx, uid) : NULL;
}

static void put_user(struct str *out, const char *name, uint32_t uid)
{
    str_printf(out, name ? "%s(%u)" : "%.0s%u", name ? name : "", uid);
}

/* The name of the submission, when the name service has not answered yet. */
static void put_owner(const struct control *c, const struct job *j, struct str *out)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const char *name = known_name(c, j->uid);
    if (!name) {
        const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
        name = spec ? spec->user_name : NULL;
    }
    put_user(out, name, j->uid);
}

/* "12", of an element of an array "10_3(12)". */
static void put_id(const struct job *j, struct str *out)
{
    if (j->array && j->task != ARRAY_NO_TASK)
        str_printf(out, "%u_%u(%u)", j->array->id, j->task, j->id);
    else
        str_printf(out, "%u", j->id);
}

static int exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static int exit_signal(int status)
{
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void put_name(const struct job *j, struct str *out)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    str_puts(out, " name=");
    put_text(out, spec ? spec->name : NULL);
}

static void put_nodes(const struct control *c, const struct job *j, struct str *out)
{
    _cleanup_str_ struct str nodes = STR_INIT;
    job_format_nodes(c->cluster, j, &nodes);
    if (nodes.len)
        str_printf(out, " nodes=%s", str_cstr(&nodes));
}

static void put_fields(const struct control *c, const struct job *j, unsigned fields,
                       struct str *out)
{
    if (fields & PARTITION)
        str_printf(out, " partition=%s", j->part ? j->part->conf.name : j->part_name);
    if (fields & NAME)
        put_name(j, out);
    if (fields & STATE)
        str_printf(out, " state=%s", state_name(j->state));
    if (fields & EXIT)
        str_printf(out, " exit=%d:%d", exit_code(attempt_of(j)->exit_status),
                   exit_signal(attempt_of(j)->exit_status));
    if (fields & BY) {
        str_puts(out, " by=");
        put_user(out, known_name(c, attempt_of(j)->cancelled_by), attempt_of(j)->cancelled_by);
    }
    if (fields & NODES)
        put_nodes(c, j, out);
    if (fields & CPUS)
        str_printf(out, " cpus=%u", job_alloc_cpus(j));
    if (fields & RESTARTS)
        str_printf(out, " restarts=%u%s", j->restarts, j->held || j->admin_hold ? " held" : "");
    if (fields & REASON && j->reason && j->reason != REASON_CLEANING)
        str_printf(out, " reason=%s", job_reason_word(j));
}

static enum job_event event_of(const struct transition *t)
{
    switch (t->kind) {
    case TRANSITION_SUBMITTED:
        return JOB_EVENT_SUBMITTED;
    case TRANSITION_STARTED:
        return JOB_EVENT_STARTED;
    case TRANSITION_SUSPENDED:
        return JOB_EVENT_SUSPENDED;
    case TRANSITION_RESUMED:
        return JOB_EVENT_RESUMED;
    case TRANSITION_REQUEUED:
        return JOB_EVENT_REQUEUED;
    default:
        return t->to == PB__JOB_STATE__CANCELLED && str_eq(t->detail, "CANCELLED")
                   ? JOB_EVENT_CANCELLED
                   : JOB_EVENT_ENDED;
    }
}

static void log_event(struct control *c, const struct job *j, enum job_event event, const char *why)
{
    _cleanup_str_ struct str out = STR_INIT;
    str_puts(&out, "job ");
    put_id(j, &out);
    str_printf(&out, " %s: user=", events[event].word);
    put_owner(c, j, &out);
    put_fields(c, j, events[event].fields, &out);
    if (why)
        str_printf(&out, " (%s)", why);
    c->env->log(c->env->ctx, LOG_LVL_INFO, "control", str_cstr(&out));
}

void job_event_log(struct control *c, const struct transition *t)
{
    enum job_event event = event_of(t);
    const char *why = event == JOB_EVENT_CANCELLED ? NULL : t->detail; /* it is the word */
    log_event(c, t->job, event, why);
}

void job_event_requeue_requested(struct control *c, const struct job *j, uint32_t uid)
{
    _cleanup_str_ struct str out = STR_INIT;
    str_puts(&out, "job ");
    put_id(j, &out);
    str_puts(&out, " requeue requested: user=");
    put_owner(c, j, &out);
    str_puts(&out, " by=");
    put_user(&out, known_name(c, uid), uid);
    c->env->log(c->env->ctx, LOG_LVL_INFO, "control", str_cstr(&out));
}

char *job_event_describe_attempt(const struct control *c, const struct job *j)
{
    _cleanup_str_ struct str nodes = STR_INIT;
    job_format_nodes(c->cluster, j, &nodes);
    const char *reason = j->reason && j->reason != REASON_CLEANING ? job_reason_word(j)
                         : j->state == PB__JOB_STATE__CANCELLED    ? "REQUEUE"
                                                                   : state_name(j->state);
    const char *detail = j->reason_detail;
    return mem_printf("after %s%s%s%s%s", reason, nodes.len ? " on " : "", str_cstr(&nodes),
                      detail ? ": " : "", detail ? detail : "");
}

/* --- the completion store ------------------------------------------------------------------------
 */

static char *format_resources(const struct job *j, struct arena *arena)
{
    return arena_printf(arena, "cpu=%u,node=%u", job_alloc_cpus(j),
                        (unsigned)attempt_of(j)->alloc.len);
}

static void record_end(struct control *c, const struct job *j)
{
    if (!c->env->job_ended || str_eq(c->conf->job_comp_type, "jobcomp/none"))
        return;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct env_job_end end = {
        .job_id = j->id,
        .uid = j->uid,
        .gid = j->gid,
        .state = attempt_of(j)->requeue_after ? "REQUEUED" : state_name(j->state),
        .facts = facts_make(c, j, &arena),
        .limit_sec = j->limit_sec,
        .submit_at = j->submit_at,
        .eligible_at = j->eligible_at,
        .start_at = attempt_of(j)->start_at,
        .end_at = attempt_of(j)->end_at,
        .cpus = job_alloc_cpus(j),
        .tres = format_resources(j, &arena),
        .exit_status = attempt_of(j)->exit_status,
        .derived_status = attempt_of(j)->derived_status,
    };
    c->env->job_ended(c->env->ctx, &end);
    control_debug(c, job_comp, "job %u: the completion record is queued", j->id);
}

void job_event_record(struct control *c, const struct transition *t)
{
    record_end(c, t->job);
}

void job_event_requeue_withdrawn(struct control *c, const struct job *j)
{
    log_event(c, j, JOB_EVENT_CANCELLED, NULL);
    record_end(c, j);
}

/* --- DebugFlags ----------------------------------------------------------------------------------
 */

bool control_debug_wants(const struct control *c, enum conf_debug flag)
{
    return c->debug >> flag & 1;
}

void control_debug_log(struct control *c, enum conf_debug flag, const char *fmt, ...)
{
    _cleanup_str_ struct str name = STR_INIT;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    conf_debug_format(UINT64_C(1) << flag, &name);
    c->env->log(c->env->ctx, LOG_LVL_INFO, str_cstr(&name), text);
}

void control_sched_log(struct control *c, const char *fmt, ...)
{
    _cleanup_str_ struct str text = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    c->env->log_sched(c->env->ctx, str_cstr(&text));
}

void control_set_sched_log(struct control *c, bool on)
{
    c->sched_log = on && c->conf->slurm_sched_log_file && c->env->log_sched;
}

bool control_get_sched_log(const struct control *c)
{
    return c->sched_log;
}

void control_set_debug(struct control *c, uint64_t flags)
{
    c->debug = flags;
}

uint64_t control_get_debug(const struct control *c)
{
    return c->debug;
}
