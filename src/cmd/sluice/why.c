/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice why: of a pending job the controller is asked; all else is in its record, and in those of
 * the job's steps. Of several jobs there is one block for each. */
#include <string.h>

#include "base/arena.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cli/no_job.h"
#include "cmd/sluice/sluice.h"
#include "rpc/client.h"
#include "show/job_ids.h"
#include "show/job_state.h"
#include "show/json_out.h"
#include "show/show.h"

#define TRIES 3 /* a job may start between two questions */

struct found {
    struct arena arena;
    const Pb__JobRecord *job; /* a pending one, if there is one */
    int64_t now;
    struct str steps; /* what is said of the steps that were asked for */
    json_t *json;     /* the same */
    bool is_suspended;
};

static int on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct found *f = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobRecord *j = part->jobs[i];
        bool pending = j->live && j->live->state == PB__JOB_STATE__PENDING;
        if (!j->live || !j->spec ||
            (f->job && (!pending || f->job->live->state == PB__JOB_STATE__PENDING)))
            continue;
        struct str bytes = STR_INIT;
        pb_pack(&j->base, &bytes); /* it is gone when we return */
        f->job = arena_unpack(&f->arena, &pb__job_record__descriptor, bytes.data, bytes.len);
        str_done(&bytes);
    }
    if (part->has_now)
        f->now = part->now;
    return 0;
}

static int find_job(struct found *f, const Pb__StepId *id, struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    f->job = NULL;
    job_ids_filter(id, 1, &filter, &f->arena);
    filter.has_all_states = filter.all_states = true;
    int rc = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_jobs, f, err);
    if (rc == 0 && !f->job)
        rc = no_job_refuse(id, err);
    return rc;
}

static int ask_why(struct found *f, const Pb__StepId *id, const Pb__WhyReply **why, struct err *err)
{
    int rc = 0;
    for (int i = 0; i < TRIES; i++) {
        Pb__WhyRequest request = PB__WHY_REQUEST__INIT;
        Pb__WhyReply *reply = NULL;
        *why = NULL;
        rc = find_job(f, id, err);
        if (rc != 0 || f->job->live->state != PB__JOB_STATE__PENDING)
            return rc;
        request.job_id = f->job->live->job_id;
        rc = cmd_call(RPC_JOB_WHY, &request.base, &reply, err);
        *why = reply;
        if (rc != -ERR_TRANSITION && rc != -ERR_NO_JOB)
            break;
    }
    return rc;
}

/* Of a heterogeneous job: the record of the component that the answer is about. */
static int find_answered_component(struct found *f, const Pb__WhyReply *why, const Pb__JobRecord **component,
                          struct err *err)
{
    const Pb__JobRecord *asked = f->job;
    Pb__StepId id = PB__STEP_ID__INIT;
    *component = asked;
    if (!why || why->job_id == asked->live->job_id)
        return 0;
    id.job_id = why->job_id;
    int rc = find_job(f, &id, err);
    *component = f->job;
    f->job = asked;
    return rc;
}

static void put_json(const struct found *f, const Pb__WhyReply *why, json_t *all)
{
    json_t *answer = show_why_json(f->job, why, f->now);
    json_object_set(answer, "steps", f->json);
    json_array_append_new(all, answer);
}

/* Of steps that run the job is told when it is suspended: they are so with it. */
static int put_text(const struct found *f, const Pb__JobRecord *component, const Pb__WhyReply *why,
                    struct err *err)
{
    str_append(cmd_out(), str_cstr(&f->steps), f->steps.len);
    if (json_array_size(f->json) && !f->is_suspended)
        return 0;
    show_why_text(f->job, component, why, f->now, cmd_out());
    return sluice_put_turn(f->job, cmd_out(), err);
}

static int on_steps(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct found *f = ctx;
    const Pb__StepList *part = (const Pb__StepList *)message;
    for (size_t i = 0; i < part->n_steps; i++) {
        const Pb__StepRecord *step = part->steps[i];
        show_why_step_text(step, &f->steps);
        json_array_append_new(f->json, show_why_step_json(step));
        f->is_suspended = f->is_suspended || step->suspended;
    }
    return 0;
}

/* A step that waits for resources of its job has no number before it has them, so that no id names
 * it. The job's end and its wait are those of its steps. */
static int find_steps(struct found *f, const char *text, Pb__StepId *id, struct err *err)
{
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    const Pb__JobLive *live = f->job->live;
    bool has_steps = live->state != PB__JOB_STATE__PENDING && !job_state_is_final(live);
    filter.ids = &id;
    filter.n_ids = 1;
    int rc = has_steps
                 ? rpc_call_stream(cmd_client(), RPC_STEP_LIST, &filter.base, on_steps, f, err)
                 : 0;
    if (rc < 0)
        return rc;
    if (!has_steps)
        str_printf(&f->steps, "Step %s does not run: its job does not.\n", text);
    else if (!f->steps.len)
        return err_set(
            err, -ERR_NO_STEP,
            "no such step runs: \"squeue -s -j %.*s\" lists those that do, and the srun of "
            "a step that waits for resources of the job says what it waits for",
            (int)strcspn(text, "."), text);
    return 0;
}

/* Into the output, behind what was said of others, or as an element of 'all', unless that is NULL.
 */
static int explain_job(const char *text, const Pb__StepId *id, json_t *all, struct err *err)
{
    struct found f = {.steps = STR_INIT};
    const Pb__WhyReply *why = NULL;
    const Pb__JobRecord *component = NULL;
    Pb__StepId asked = *id;
    arena_init(&f.arena, 0);
    int rc = ask_why(&f, &asked, &why, err);
    if (rc == 0)
        rc = find_answered_component(&f, why, &component, err);
    f.json = asked.has_step_id ? json_array() : json_null();
    if (rc == 0 && asked.has_step_id)
        rc = find_steps(&f, text, &asked, err);
    if (rc == 0 && !all && cmd_out()->len)
        str_putc(cmd_out(), '\n');
    if (rc == 0 && all)
        put_json(&f, why, all);
    else if (rc == 0)
        rc = put_text(&f, component, why, err);
    json_decref(f.json);
    str_done(&f.steps);
    arena_done(&f.arena);
    return rc;
}

/* All that is wrong with the words is said before a question is asked. */
static int parse_ids(const char *const *operand, Pb__StepId *ids)
{
    int status = 0;
    for (size_t i = 0; operand[i]; i++) {
        ids[i] = (Pb__StepId)PB__STEP_ID__INIT;
        if (job_arg_parse(operand[i], &ids[i], NULL) == 0)
            continue;
        cmd_error("why: Invalid job id: %s", operand[i]);
        status = 1;
    }
    return status;
}

int sluice_why(const struct sluice_options *o, const char *const *operand)
{
    size_t count = 0;
    while (operand[count])
        count++;
    if (!count) {
        cmd_error("why: a job id is needed");
        return 1;
    }
    sluice_choose(o); /* names of components are looked up there */
    _cleanup_free_ Pb__StepId *ids = mem_new_array(Pb__StepId, count);
    int wrong = parse_ids(operand, ids), status = wrong;
    json_t *all = o->json ? json_array() : NULL;
    for (size_t i = 0; !wrong && i < count; i++) {
        struct err err = {0};
        if (explain_job(operand[i], &ids[i], all, &err) == 0)
            continue;
        cmd_error("why %s: %s", operand[i], err.text);
        status = 1;
    }
    if (json_array_size(all))
        json_out_print(cmd_source(), "why", all, false, cmd_out());
    else
        json_decref(all);
    return cmd_flush() ? 1 : status;
}
