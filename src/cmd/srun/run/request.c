/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/request.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/opt.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/run.h"
#include "launch/alloc.h"
#include "rpc/client.h"
#include "show/job_ids.h"

#define TELL_AFTER_MS 1000 /* until srun reports that it waits for other steps */
#define TELL_MOST_MS 60000 /* longest time between messages that the job is still suspended */
#define RETRY_MS 500
#define PROBE_MS 2000

struct request {
    struct run *run;
    struct Pb__AllocRequest ask;
    struct alloc *alloc;
    struct rpc_async *step;
    struct rpc_async *probe;  /* the request that asks what the step waits for */
    struct loop_timer *tell;  /* expires if a step is not granted at once */
    int64_t tell_ms;          /* next timeout of 'tell', while the job is suspended */
    struct loop_timer *retry; /* repeats the request while the controller does not answer */
    struct loop_timer *limit; /* --immediate=SECONDS */
    int64_t give_up_at_ms;    /* when to give up a controller that does not answer */
    bool has_reported_wait, has_reported_suspension, has_reported_loss, queued, configuring,
        interrupted;
    int signal; /* that has interrupted it; 0: none */
};

/* A copy in the run's arena: replies live only until their callback returns. */
static void *copy_message(struct run *run, const ProtobufCMessage *message)
{
    struct str bytes = STR_INIT;
    void *copy;

    pb_pack(message, &bytes);
    copy = arena_unpack(&run->arena, message->descriptor, bytes.data, bytes.len);
    str_done(&bytes);
    return copy;
}

static void on_refused(struct request *r, const struct err *why)
{
    int code = opt_exit_status("SLURM_EXIT_ERROR", 1);
    bool is_busy = why->code == -ERR_NODES_BUSY || why->code == -ERR_JOB_SUSPENDED;

    if (is_busy && r->run->options->immediate_ms >= 0)
        code = opt_exit_status("SLURM_EXIT_IMMEDIATE", code);
    r->run->on->refused(r->run, code);
}

static void on_queued(void *ctx, const struct Pb__AllocReply *reply)
{
    struct request *r = ctx;

    r->queued = true;
    if (r->run->options->job->hold)
        say_info(ALLOC_HELD);
    else if (alloc_notice(reply->reason) != NULL)
        say_info("%s", alloc_notice(reply->reason));
    if (reply->message != NULL)
        say_info("%s", reply->message);
    say_info("job %u queued and waiting for resources", reply->job_id);
}

static void on_configuring(void *ctx, const struct Pb__AllocReply *reply)
{
    struct request *r = ctx;

    r->configuring = true;
    if (r->queued)
        say_info("job %u has been allocated resources", reply->job_id);
    say_info("Waiting for resource configuration");
}

static void ask_for_step(struct request *r);

/* The job has its nodes, but the step has to wait: for ports, or until the job is resumed. srun
 * requests the step as in any job. */
static void await_step(struct request *r)
{
    struct Pb__StepSpec *step = r->run->options->step;

    step->has_job_id = true;
    step->job_id = r->run->job_id;
    ask_for_step(r);
}

static void on_granted(void *ctx, const struct Pb__AllocReply *reply)
{
    struct request *r = ctx;
    struct run *run = r->run;

    if (r->configuring)
        say_info("Nodes %s are ready for job", reply->nodes != NULL ? reply->nodes : "");
    else if (r->queued)
        say_info("job %u has been allocated resources", reply->job_id);
    if (reply->message != NULL)
        say_info("%s", reply->message);
    run->job_id = reply->job_id;
    run->alloc = copy_message(run, &reply->base);
    run->step = run->alloc != NULL ? run->alloc->step : NULL;
    if (run->step == NULL)
        await_step(r);
    else
        run->on->step(run);
}

static void on_failed(void *ctx, uint32_t job_id, const struct err *why)
{
    struct request *r = ctx;

    if (r->interrupted) {
        if (job_id != 0) {
            say_info("Job allocation %u has been revoked", job_id);
            say_info("Force Terminated job %u", job_id);
        }
    } else {
        say_error("Unable to allocate resources: %s", why->text);
        if (r->configuring)
            say_info("Force Terminated job %u", job_id);
    }
    on_refused(r, why);
}

static void on_lost(void *ctx, const struct err *why)
{
    (void)ctx;
    say_info("The controller is away, the request is repeated until it answers (%s)", why->text);
}

static void ask_for_job(struct request *r)
{
    struct alloc_events events = {.on_queued = on_queued,
                                  .on_configuring = on_configuring,
                                  .on_granted = on_granted,
                                  .on_failed = on_failed,
                                  .on_lost = on_lost,
                                  .ctx = r,
                                  .kept = &r->run->controller};
    int64_t limit_ms = r->run->options->immediate_ms;

    pb__alloc_request__init(&r->ask);
    r->ask.spec = r->run->options->job;
    r->ask.step = r->run->options->step;
    r->ask.components = r->run->options->components;
    r->ask.n_components = r->run->options->component_count;
    r->run->own_job = true;
    r->alloc =
        alloc_start(r->run->loop, r->run->conf, &r->ask, limit_ms > 0 ? limit_ms : -1, &events);
}

static void send_step(struct request *r);

/* "7+1" if only that component was requested; "7_2" for an array element. */
static const char *put_asked_job(const struct request *r, struct str *out)
{
    const Pb__StepSpec *step = r->run->options->step;
    Pb__StepId id = PB__STEP_ID__INIT;
    JOB_IDS_COPY_NUMBERS(&id, step);
    id.job_id = r->run->job_id;
    job_ids_put_asked(&id, out);
    return str_cstr(out);
}

static void step_refused(struct request *r, const struct err *err)
{
    _cleanup_str_ struct str job = STR_INIT;
    (void)put_asked_job(r, &job);
    if (r->interrupted && r->signal != 0)
        say_info("Cancelled pending job step with signal %d", r->signal);
    else if (r->interrupted)
        say_info("Cancelled pending job step");
    else if (err->code == -ERR_NO_JOB) {
        say_error("Unable to confirm allocation for job %s: %s", str_cstr(&job), err->text);
        say_info("Check SLURM_JOB_ID environment variable. Expired or invalid job %s",
                 str_cstr(&job));
    } else if (err->code == -ERR_COMPONENT)
        say_error("%s", err->text);
    else
        say_error("Unable to create step for job %s: %s", str_cstr(&job), err->text);
    on_refused(r, err);
}

/* Stops the messages about waiting. */
static void stop_wait_messages(struct request *r)
{
    loop_timer_set(r->tell, -1);
    if (r->probe != NULL)
        rpc_async_drop(r->probe);
    r->probe = NULL;
}

static void take_step(struct request *r, const ProtobufCMessage *reply)
{
    struct run *run = r->run;
    _cleanup_str_ struct str job = STR_INIT;

    stop_wait_messages(r);
    loop_timer_set(r->limit, -1);
    if (r->has_reported_wait)
        say_info("Step created for job %s", put_asked_job(r, &job));
    else if (r->has_reported_suspension)
        say_info("Job step created");
    run->step = copy_message(run, reply);
    run->on->step(run);
}

/* In the words of Slurm's guides; the interval doubles with each message. */
static void report_suspension(struct request *r)
{
    say_info(r->has_reported_suspension ? "Job step creation still disabled, retrying"
                                        : "Job step creation temporarily disabled, retrying");
    r->has_reported_suspension = true;
    r->tell_ms = r->tell_ms < TELL_MOST_MS / 2 ? r->tell_ms * 2 : TELL_MOST_MS;
    loop_timer_set(r->tell, r->tell_ms);
}

/* The probe is the same request without waiting: the error says what the step waits for. If the
 * controller grants the probe, the granted step is used. */
static void on_probe(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct request *r = ctx;

    r->probe = NULL;
    if (code < 0 && alloc_is_transient(code)) {
        if (!r->has_reported_loss)
            on_lost(r, err);
        r->has_reported_loss = true;
        loop_timer_set(r->tell, TELL_AFTER_MS);
        return;
    }
    if (code == -ERR_JOB_SUSPENDED) {
        report_suspension(r);
        return;
    }
    if (code < 0) { /* the waiting request reports permanent errors */
        _cleanup_str_ struct str job = STR_INIT;
        r->has_reported_loss = false;
        r->has_reported_wait = true;
        say_info("Job %s step creation temporarily disabled, retrying (%s)", put_asked_job(r, &job),
                 err->text);
        return;
    }
    if (r->step != NULL)
        rpc_async_drop(r->step);
    r->step = NULL;
    take_step(r, reply);
}

static void on_tell(void *ctx)
{
    struct request *r = ctx;
    struct Pb__StepSpec now = *r->run->options->step;

    now.has_immediate = now.immediate = 1;
    if (r->step == NULL) /* the controller is down, and the request will be repeated */
        loop_timer_set(r->tell, TELL_AFTER_MS);
    else
        r->probe = rpc_async_controller(r->run->loop, r->run->conf, RPC_STEP_CREATE, &now.base,
                                        PROBE_MS, on_probe, r);
}

static void on_step(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct request *r = ctx;

    r->step = NULL;
    if (code < 0 && alloc_is_transient(code) && loop_mono_ms() < r->give_up_at_ms) {
        if (!r->has_reported_loss)
            on_lost(r, err);
        r->has_reported_loss = true;
        loop_timer_set(r->retry, RETRY_MS);
        return;
    }
    if (code >= 0) {
        take_step(r, reply);
        return;
    }
    stop_wait_messages(r);
    loop_timer_set(r->limit, -1);
    step_refused(r, err);
}

static void send_step(struct request *r)
{
    r->step = rpc_async_controller(r->run->loop, r->run->conf, RPC_STEP_CREATE,
                                   &r->run->options->step->base, RPC_WAIT_FOREVER, on_step, r);
    rpc_async_keep(r->step, &r->run->controller);
}

static void on_retry(void *ctx)
{
    send_step(ctx);
}

static void on_limit(void *ctx)
{
    struct request *r = ctx;
    struct err why = {0};

    if (r->step != NULL)
        rpc_async_drop(r->step);
    r->step = NULL;
    stop_wait_messages(r);
    loop_timer_set(r->retry, -1);
    if (r->has_reported_loss)
        err_set(&why, -ERR_CONNECT, "%s", err_text(ERR_CONNECT));
    else
        err_set(&why, -ERR_NODES_BUSY, "%s", err_text(ERR_NODES_BUSY));
    step_refused(r, &why);
}

static void on_nodes(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct request *r = ctx;
    struct run *run = r->run;

    r->step = NULL;
    if (code < 0) {
        say_error("Unable to run without an allocation: %s", err->text);
        on_refused(r, err);
        return;
    }
    run->step = copy_message(run, reply);
    run->job_id = run->step->job_id;
    run->on->step(run);
}

/* Requests a step without a job. The controller grants it at once or rejects it. */
static void ask_for_nodes(struct request *r)
{
    const struct run_options *o = r->run->options;
    struct Pb__Unallocated m = PB__UNALLOCATED__INIT;

    m.step = o->step;
    m.has_uid = o->job->has_uid;
    m.uid = o->job->uid;
    m.has_gid = o->job->has_gid;
    m.gid = o->job->gid;
    m.work_dir = (char *)o->work_dir;
    r->step = rpc_async_controller(r->run->loop, r->run->conf, RPC_STEP_UNALLOCATED, &m.base, 0,
                                   on_nodes, r);
}

static void ask_for_step(struct request *r)
{
    const struct run *run = r->run;

    r->give_up_at_ms = loop_mono_ms() + run->conf->slurmctld_timeout_sec * 1000;
    r->tell_ms = TELL_AFTER_MS;
    loop_timer_set(r->tell, r->tell_ms);
    if (run->options->immediate_ms > 0)
        loop_timer_set(r->limit, run->options->immediate_ms);
    send_step(r);
}

struct request *request_start(struct run *run)
{
    struct request *r = mem_new(struct request);
    struct loop *l = run->loop;

    r->run = run;
    r->tell = loop_timer_new(l, on_tell, r);
    r->retry = loop_timer_new(l, on_retry, r);
    r->limit = loop_timer_new(l, on_limit, r);
    if (!run->options->step->has_job_id && !run->options->no_allocate) {
        ask_for_job(r);
        return r;
    }
    if (run->options->no_allocate) {
        ask_for_nodes(r);
        return r;
    }
    run->job_id = run->options->step->job_id;
    ask_for_step(r);
    return r;
}

void request_interrupt(struct request *r, int signo)
{
    struct err why = {0};

    r->interrupted = true;
    r->signal = signo;
    if (r->alloc != NULL && r->run->alloc == NULL) {
        alloc_give_up(r->alloc);
        return;
    }
    if (r->step != NULL)
        rpc_async_drop(r->step);
    r->step = NULL;
    stop_wait_messages(r);
    loop_timer_set(r->retry, -1);
    loop_timer_set(r->limit, -1);
    err_set(&why, -ECANCELED, "interrupted");
    step_refused(r, &why);
}

void request_free(struct request *r)
{
    if (r == NULL)
        return;
    alloc_free(r->alloc);
    if (r->step != NULL)
        rpc_async_drop(r->step);
    if (r->probe != NULL)
        rpc_async_drop(r->probe);
    loop_timer_free(r->tell);
    loop_timer_free(r->retry);
    loop_timer_free(r->limit);
    free(r);
}
