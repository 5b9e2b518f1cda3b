/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/finish.h"

#include "base/mem.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/run.h"
#include "launch/alloc.h"
#include "rpc/client.h"
#include "show/job_ids.h"

#define WATCH_AFTER_MS 1000 /* short runs do not subscribe */
#define RETRY_MS 200

struct finish {
    struct run *run;
    struct rpc_async *watch, *report;
    struct loop_timer *watch_timer, *retry_timer;
    int64_t give_up_at_ms;
    uint64_t seen; /* time of the last message to this srun */
    int wait_status;
    bool reporting;
};

/* The job has ended for a reason other than its tasks: srun's own job ends together with the step
 * in the other states, while the last output may still be under way. */
static bool is_violent(const struct Pb__JobEnd *end)
{
    return end->state != PB__JOB_STATE__COMPLETED && end->state != PB__JOB_STATE__FAILED &&
           end->state != PB__JOB_STATE__OUT_OF_MEMORY;
}

static void ask_job(struct finish *f);

static void on_job_end(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct finish *f = ctx;
    struct run *run = f->run;

    (void)err;
    f->watch = NULL;
    if (code < 0 && alloc_is_transient(code)) {
        loop_timer_set(f->watch_timer, WATCH_AFTER_MS);
        return;
    }
    if (code == 0 && ((const struct Pb__JobEnd *)reply)->notice != NULL) {
        const struct Pb__JobEnd *m = (const struct Pb__JobEnd *)reply;

        say_info("%s", m->notice);
        f->seen = m->notice_number;
        if (!f->reporting)
            ask_job(f);
        return;
    }
    if (code < 0 || f->reporting || run->phase != RUN_RUNNING ||
        !is_violent((const struct Pb__JobEnd *)reply))
        return;
    const struct Pb__JobEnd *end = (const struct Pb__JobEnd *)reply;
    if (end->failed_node != NULL) {
        run->on->node_failed(run, end->failed_node);
        return;
    }
    _cleanup_str_ struct str name = STR_INIT;
    job_ids_put_asked(&(Pb__StepId){.job_id = run->job_id}, &name);
    say_info("Force Terminated job %s", str_cstr(&name));
    run->on->abort(run, end->why);
}

static void ask_job(struct finish *f)
{
    struct Pb__JobIdRequest m = PB__JOB_ID_REQUEST__INIT;

    m.job_id = f->run->job_id;
    m.has_notices_seen = m.has_of_job = 1;
    m.notices_seen = f->seen;
    m.of_job = f->run->own_job;
    if (f->run->step != NULL) {
        m.has_step_id = 1;
        m.step_id = f->run->step_id;
    }
    f->watch = rpc_async_controller(f->run->loop, f->run->conf, RPC_JOB_WAIT_END, &m.base,
                                    RPC_WAIT_FOREVER, on_job_end, f);
    rpc_async_keep(f->watch, &f->run->controller);
}

static void on_watch_timer(void *ctx)
{
    ask_job(ctx);
}

static void send_report(struct finish *f);

static void on_report_reply(void *ctx, int code, const ProtobufCMessage *reply,
                            const struct err *err)
{
    struct finish *f = ctx;

    (void)reply;
    f->report = NULL;
    if (code < 0 && alloc_is_transient(code) && loop_mono_ms() < f->give_up_at_ms) {
        loop_timer_set(f->retry_timer, RETRY_MS);
        return;
    }
    if (code < 0 && alloc_is_transient(code))
        say_debug("The controller could not be told: %s", err->text);
    f->run->on->reported(f->run); /* refused: the controller knows of the end already */
}

static void on_retry(void *ctx)
{
    struct finish *f = ctx;

    if (f->run->options->no_allocate)
        f->run->on->reported(f->run);
    else
        send_report(f);
}

static void send_report(struct finish *f)
{
    struct run *run = f->run;
    struct Pb__StepComplete step = PB__STEP_COMPLETE__INIT;
    struct Pb__JobComplete job = PB__JOB_COMPLETE__INIT;

    step.job_id = job.job_id = run->job_id;
    step.step_id = run->step_id;
    step.exit_status = f->wait_status;
    if (run->step != NULL) {
        step.has_restarts = job.has_restarts = run->step->has_restarts;
        step.restarts = job.restarts = run->step->restarts;
    }
    job.has_exit_status = 1;
    job.exit_status = f->wait_status;
    job.step = run->step != NULL ? &step : NULL;
    if (run->own_job)
        f->report = rpc_async_controller(run->loop, run->conf, RPC_JOB_COMPLETE, &job.base,
                                         FINISH_TRY_MS, on_report_reply, f);
    else
        f->report = rpc_async_controller(run->loop, run->conf, RPC_STEP_COMPLETE, &step.base,
                                         FINISH_TRY_MS, on_report_reply, f);
    rpc_async_keep(f->report, &run->controller);
}

struct finish *finish_watch(struct run *run)
{
    struct finish *f = mem_new(struct finish);

    f->run = run;
    f->watch_timer = loop_timer_new(run->loop, on_watch_timer, f);
    f->retry_timer = loop_timer_new(run->loop, on_retry, f);
    if (!run->options->no_allocate)
        loop_timer_set(f->watch_timer, WATCH_AFTER_MS);
    return f;
}

void finish_report(struct finish *f, int wait_status)
{
    if (f->reporting)
        return;
    f->reporting = true;
    f->wait_status = wait_status;
    f->give_up_at_ms = loop_mono_ms() + FINISH_TRY_MS;
    loop_timer_set(f->watch_timer, -1);
    if (f->run->options->no_allocate) /* the controller does not wait for it */
        loop_timer_set(f->retry_timer, 0);
    else
        send_report(f);
}

void finish_free(struct finish *f)
{
    if (f == NULL)
        return;
    if (f->watch != NULL)
        rpc_async_drop(f->watch);
    if (f->report != NULL)
        rpc_async_drop(f->report);
    loop_timer_free(f->watch_timer);
    loop_timer_free(f->retry_timer);
    free(f);
}
