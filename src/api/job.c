/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "api/record.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/pb.h"
#include "proto/job.pb-c.h"

#define ID_SIZE 16
#define BATCH_UMASK 022

/* --- submission ------------------------------------------------------------------------------- */

static size_t count_words(const char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

static int check_request(const struct sluice_submit *r, const char *cwd, struct err *err)
{
    if (!r->script || strncmp(r->script, "#!", 2) != 0)
        return err_set(err, -ERR_RANGE, "script: a text that begins with #!");
    if (r->time_limit_sec < 0)
        return err_set(err, -ERR_RANGE, "time_limit_sec is negative");
    if (r->work_dir ? *r->work_dir != '/' : !cwd)
        return err_set(err, -ERR_RANGE, "work_dir: an absolute path");
    return 0;
}

API int sluice_submit(struct sluice *s, const struct sluice_submit *r, uint32_t *job_id,
                      struct sluice_error *e)
{
    const char *const *env = r->env ? r->env : (const char *const *)environ;
    _cleanup_free_ char *cwd = getcwd(NULL, 0);
    uint8_t id[ID_SIZE];
    Pb__SubmitRequest request = PB__SUBMIT_REQUEST__INIT;
    Pb__SubmitReply *reply = NULL;
    Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    int rc = check_request(r, cwd, &err);
    if (rc == 0 && getrandom(id, sizeof(id), 0) != sizeof(id))
        rc = err_set(&err, -EIO, "getrandom: %s", strerror(errno));
    if (rc < 0)
        return api_fail(e, rc, &err);
    api_fill_spec(r, cwd, &spec);
    SET(&spec, request_id, ((ProtobufCBinaryData){sizeof(id), id}));
    SET(&payload, script, ((ProtobufCBinaryData){strlen(r->script), (uint8_t *)r->script}));
    payload.argv = (char **)r->args;
    payload.n_argv = count_words(r->args);
    payload.env = (char **)env;
    payload.n_env = count_words(env);
    SET(&payload, umask, BATCH_UMASK);
    request.spec = &spec;
    request.payload = &payload;
    rc = api_call(s, RPC_SUBMIT, &request.base, &arena, &reply, &err);
    if (rc == 0)
        *job_id = reply->job_id;
    return api_fail(e, rc, &err);
}

/* --- lists ------------------------------------------------------------------------------------ */

struct each_job {
    sluice_job_fn *fn;
    void *ctx;
    struct api_stamp stamp;
};

static void give_job(const struct each_job *each, const Pb__JobSpec *spec, const Pb__JobLive *live)
{
    _cleanup_str_ struct str full_id = STR_INIT;
    struct sluice_job job;

    api_fill_job(spec, live, &full_id, &job);
    each->fn(each->ctx, &job);
}

static int take_listed_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__JobList *part = (const Pb__JobList *)message;
    struct each_job *each = ctx;

    api_stamp_take(&each->stamp, part->has_stamp, part->stamp);
    for (size_t i = 0; i < part->n_jobs; i++)
        if (part->jobs[i]->spec && part->jobs[i]->live)
            give_job(each, part->jobs[i]->spec, part->jobs[i]->live);
    return 0;
}

API int sluice_jobs(struct sluice *s, uint32_t id, int64_t *stamp, sluice_job_fn *fn, void *ctx,
                    struct sluice_error *e)
{
    struct each_job each = {.fn = fn, .ctx = ctx};
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct err err = {0};

    SET(&filter, all_states, true);
    filter.job_id = &id;
    filter.n_job_id = id != 0;
    if (stamp && *stamp)
        SET(&filter, changed_since, *stamp);
    int rc = rpc_call_stream(s->client, RPC_JOB_LIST, &filter.base, take_listed_jobs, &each, &err);
    if (rc == 0 && stamp)
        *stamp = each.stamp.value;
    return api_fail(e, rc, &err);
}

struct each_step {
    sluice_step_fn *fn;
    void *ctx;
};

static int on_job_steps(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__StepList *part = (const Pb__StepList *)message;
    const struct each_step *each = ctx;

    for (size_t i = 0; i < part->n_steps; i++) {
        struct sluice_step step;

        api_fill_step(part->steps[i], &step);
        each->fn(each->ctx, &step);
    }
    return 0;
}

API int sluice_steps(struct sluice *s, uint32_t job_id, sluice_step_fn *fn, void *ctx,
                     struct sluice_error *e)
{
    struct each_step each = {fn, ctx};
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    Pb__StepId id = PB__STEP_ID__INIT, *ids = &id;
    struct err err = {0};

    id.job_id = job_id;
    filter.ids = &ids;
    filter.n_ids = job_id != 0;
    int rc = rpc_call_stream(s->client, RPC_STEP_LIST, &filter.base, on_job_steps, &each, &err);
    return api_fail(e, rc, &err);
}

/* --- signals, the end ------------------------------------------------------------------------- */

int api_check_elements(const char *elements, struct sluice_error *e)
{
    struct err err = {0};

    if (elements && *elements)
        return 0;
    return api_fail(e, err_set(&err, -ERR_RANGE, "elements: a list such as 4 or 0-7:2,9"), &err);
}

/* elements NULL: all elements. */
static int send_signal(struct sluice *s, uint32_t job_id, const char *elements, uint32_t step,
                       int signal, struct sluice_error *e)
{
    Pb__JobSignal request = PB__JOB_SIGNAL__INIT;
    Pb__JobSignalReply *reply = NULL;
    Pb__StepId id = PB__STEP_ID__INIT, *ids = &id;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    id.job_id = job_id;
    id.array_tasks = (char *)elements;
    if (step == SLUICE_BATCH)
        SET(&request, batch_only, true);
    else if (step != SLUICE_WHOLE_JOB)
        SET(&id, step_id, step);
    request.target = &ids;
    request.n_target = 1;
    if (signal || step == SLUICE_BATCH)
        SET(&request, signal, signal ? signal : SIGTERM);
    int rc = rpc_call(s->client, RPC_JOB_SIGNAL, &request.base, 0, &arena, &reply, &err);
    if (rc == 0 && reply->n_results && reply->results[0]->code)
        rc = err_set(&err, -reply->results[0]->code, "%s",
                     reply->results[0]->text ? reply->results[0]->text : "");
    else if (rc == 0 && reply->n_results && reply->results[0]->unreached)
        rc = err_set(&err, -ERR_NODES_DOWN, "%s: %s; the other nodes have the signal",
                     err_text(ERR_NODES_DOWN), reply->results[0]->unreached);
    return api_fail(e, rc, &err);
}

API int sluice_signal(struct sluice *s, uint32_t job_id, uint32_t step, int signal,
                      struct sluice_error *e)
{
    return send_signal(s, job_id, NULL, step, signal, e);
}

API int sluice_signal_elements(struct sluice *s, uint32_t array_job_id, const char *elements,
                               int signal, struct sluice_error *e)
{
    int rc = api_check_elements(elements, e);

    return rc ? rc : send_signal(s, array_job_id, elements, SLUICE_WHOLE_JOB, signal, e);
}

API int sluice_wait(struct sluice *s, uint32_t job_id, int *exit_status, struct sluice_error *e)
{
    Pb__JobIdRequest request = PB__JOB_ID_REQUEST__INIT;
    Pb__JobEnd *end = NULL;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    request.job_id = job_id;
    int rc = api_call_for(s, RPC_JOB_WAIT_END, &request.base, RPC_WAIT_FOREVER, &arena, &end, &err);
    if (rc == 0)
        *exit_status = end->exit_status;
    return api_fail(e, rc, &err);
}
