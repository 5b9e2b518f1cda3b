/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice why: asks the controller about a pending job. The answer about other jobs is in their
 * records and in those of their steps. Several jobs get one block each, array elements one block
 * per distinct answer. */
#include <string.h>

#include "base/arena.h"
#include "base/idset.h"
#include "base/pb.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cmd/sluice/sluice.h"
#include "rpc/client.h"
#include "show/job_ids.h"
#include "show/job_state.h"
#include "show/json_out.h"
#include "show/show.h"

#define TRIES 3 /* a job may start between two requests */

struct found {
    struct arena arena;
    const Pb__JobRecord *job; /* the pending one, if any */
    int64_t now;
    struct str steps; /* text about the requested steps */
    json_t *json;     /* the same as JSON */
    bool is_suspended;
};

static const Pb__JobRecord *keep_record(struct arena *arena, const Pb__JobRecord *j)
{
    struct str bytes = STR_INIT;
    pb_pack(&j->base, &bytes); /* freed after the callback */
    const Pb__JobRecord *kept =
        arena_unpack(arena, &pb__job_record__descriptor, bytes.data, bytes.len);
    str_done(&bytes);
    return kept;
}

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
        f->job = keep_record(&f->arena, j);
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
        rc = job_arg_refuse(id, err);
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

/* Of a job set: finds the record of the component that the reply is about. */
static int find_answered_component(struct found *f, const Pb__WhyReply *why,
                                   const Pb__JobRecord **component, struct err *err)
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

/* Text about running steps includes the job if it is suspended, since the steps are suspended with
 * it. */
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

/* A step that waits for resources of its job has no number yet and cannot be named. For other
 * steps, the end of the job and its wait apply to the steps. */
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

/* Appends the answer to the output after earlier ones, or to 'all' unless that is NULL. */
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

/* --- elements of an array ------------------------------------------------------------------------
 */

#define NO_ELEMENTS 1
#define SOME_MISSING 2 /* some elements do not exist; the others are explained */

struct answer { /* one answer for several elements */
    char *text; /* without the ids */
    struct idset tasks;
};

struct elements {
    struct found f;
    const Pb__StepId *id;
    VEC(const Pb__JobRecord *) jobs; /* ordered by index */
    VEC(struct answer) answers;
};

static void elements_init(struct elements *e, const Pb__StepId *id)
{
    *e = (struct elements){.f = {.json = json_null()}, .id = id};
    arena_init(&e->f.arena, 0);
}

static void elements_done(struct elements *e)
{
    vec_foreach (&e->answers, a) {
        free(a->text);
        idset_done(&a->tasks);
    }
    vec_done(&e->answers);
    vec_done(&e->jobs);
    arena_done(&e->f.arena);
}

static void add_tasks(const Pb__JobLive *live, struct idset *out)
{
    struct idset tasks = {0};
    if (live->array_tasks && idset_parse(live->array_tasks, JOB_IDS_TASKS_BELOW, &tasks, NULL) == 0)
        idset_unite(out, &tasks);
    else
        idset_add(out, live->array_task_id);
    idset_done(&tasks);
}

static int compare_elements(const void *a, const void *b)
{
    int64_t x = job_ids_rank((*(Pb__JobRecord *const *)a)->live);
    int64_t y = job_ids_rank((*(Pb__JobRecord *const *)b)->live);
    return x < y ? -1 : x > y;
}

static bool waits_in_array(const Pb__JobLive *live, uint32_t array)
{
    return live->state == PB__JOB_STATE__PENDING && live->has_array_job_id &&
           live->array_job_id == array;
}

/* The leader stands for the components of an element that is a job set. The id of an array stands
 * for its pending elements. */
static int on_elements(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct elements *e = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    (void)err;
    for (size_t i = 0; i < part->n_jobs; i++) {
        Pb__JobLive *live = part->jobs[i]->live;
        if (!live || !part->jobs[i]->spec || !job_ids_is_leader(live) ||
            (!e->id->array_tasks && !waits_in_array(live, e->id->job_id)))
            continue;
        job_ids_trim(e->id, 1, live, &e->f.arena);
        vec_push(&e->jobs, keep_record(&e->f.arena, part->jobs[i]));
    }
    if (part->has_now)
        e->f.now = part->now;
    return 0;
}

static void add_answer(struct elements *e, struct str *text)
{
    vec_foreach (&e->answers, a)
        if (str_eq(a->text, str_cstr(text))) {
            add_tasks(e->f.job->live, &a->tasks);
            return;
        }
    struct answer new = {.text = mem_strdup(str_cstr(text))};
    add_tasks(e->f.job->live, &new.tasks);
    vec_push(&e->answers, new);
}

static int explain_element(struct elements *e, json_t *all, struct err *err)
{
    struct found *f = &e->f;
    Pb__WhyRequest request = PB__WHY_REQUEST__INIT;
    Pb__WhyReply *why = NULL;
    const Pb__JobRecord *component = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    int rc = 0;
    request.job_id = f->job->live->job_id;
    if (f->job->live->state == PB__JOB_STATE__PENDING)
        rc = cmd_call(RPC_JOB_WHY, &request.base, &why, err);
    if (rc == 0)
        rc = find_answered_component(f, why, &component, err);
    if (rc == 0 && all) {
        put_json(f, why, all);
    } else if (rc == 0) {
        show_why_of(f->job, component, why, f->now, &text);
        rc = sluice_put_turn(f->job, &text, err);
        add_answer(e, &text);
    }
    return rc;
}

/* Lists all elements at one moment. NO_ELEMENTS: the id is that of a job, or of an array without
 * pending elements. */
static int list_elements(struct elements *e, struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    job_ids_filter(e->id, 1, &filter, &e->f.arena);
    filter.has_all_states = filter.all_states = true;
    int rc = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_elements, e, err);
    if (rc == 0 && !e->jobs.len)
        rc = e->id->array_tasks ? job_arg_refuse(e->id, err) : NO_ELEMENTS;
    if (rc == 0)
        qsort(e->jobs.data, e->jobs.len, sizeof(*e->jobs.data), compare_elements);
    return rc;
}

/* An element that has just started is looked up again. */
static int explain_elements(struct elements *e, json_t *all, struct err *err)
{
    int rc = list_elements(e, err);
    for (size_t i = 0; rc == 0 && i < e->jobs.len; i++) {
        e->f.job = e->jobs.data[i];
        rc = explain_element(e, all, err);
    }
    return rc;
}

/* Reports the requested elements that do not exist. Returns 0 or SOME_MISSING. */
static int refuse_missing(const struct elements *e)
{
    struct idset asked = {0}, known = {0}, both = {0};
    Pb__StepId id = *e->id;
    _cleanup_str_ struct str tasks = STR_INIT, name = STR_INIT;
    bool are_given =
        id.array_tasks && idset_parse(id.array_tasks, JOB_IDS_TASKS_BELOW, &asked, NULL) == 0;
    vec_foreach (&e->jobs, job)
        add_tasks((*job)->live, &known);
    idset_split(&asked, &known, &both);
    bool any = are_given && asked.count;
    if (any) {
        idset_format(&asked, &tasks);
        id.array_tasks = tasks.data;
        job_ids_put_asked(&id, &name);
        cmd_error("why %s: %s", str_cstr(&name), err_text(ERR_NO_JOB));
    }
    idset_done(&asked);
    idset_done(&known);
    idset_done(&both);
    return any ? SOME_MISSING : 0;
}

static void put_answers(const struct elements *e)
{
    vec_foreach (&e->answers, a) {
        _cleanup_str_ struct str tasks = STR_INIT;
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        idset_format(&a->tasks, &tasks);
        SET(&live, array_job_id, e->id->job_id);
        SET(&live, array_task_id, idset_first(&a->tasks));
        live.array_tasks = a->tasks.count > 1 ? tasks.data : NULL;
        str_puts(cmd_out(), cmd_out()->len ? "\nJob " : "Job ");
        job_ids_put_whole(&live, cmd_out());
        str_puts(cmd_out(), a->text);
    }
}

/* Prints each answer once, with its elements. */
static int explain_array(const Pb__StepId *id, json_t *all, struct err *err)
{
    int rc = -ERR_TRANSITION;
    for (int i = 0; i < TRIES && (rc == -ERR_TRANSITION || rc == -ERR_NO_JOB); i++) {
        struct elements e;
        json_t *some = all ? json_array() : NULL;
        elements_init(&e, id);
        rc = explain_elements(&e, some, err);
        if (rc == 0 && all)
            json_array_extend(all, some);
        else if (rc == 0)
            put_answers(&e);
        rc = rc == 0 ? refuse_missing(&e) : rc;
        json_decref(some);
        elements_done(&e);
    }
    return rc;
}

/* Explains the steps of these elements, as of jobs; elements that share a record are pending. */
static int explain_steps(const Pb__StepId *id, json_t *all, struct err *err)
{
    struct elements e;
    elements_init(&e, id);
    int rc = list_elements(&e, err), missing = rc == 0 ? refuse_missing(&e) : 0;
    for (size_t i = 0; rc == 0 && i < e.jobs.len; i++) {
        const Pb__JobLive *live = e.jobs.data[i]->live;
        _cleanup_str_ struct str tasks = STR_INIT, name = STR_INIT;
        struct err why = {0};
        Pb__StepId one = *id;
        if (live->array_tasks)
            str_puts(&tasks, live->array_tasks);
        else
            str_printf(&tasks, "%u", live->array_task_id);
        one.array_tasks = tasks.data;
        job_ids_put_asked(&one, &name);
        if (explain_job(str_cstr(&name), &one, all, &why) == 0)
            continue;
        cmd_error("why %s: %s", str_cstr(&name), why.text);
        missing = SOME_MISSING;
    }
    elements_done(&e);
    return rc ? rc : missing;
}

static bool names_several(const Pb__StepId *id)
{
    struct idset tasks = {0};
    bool several = id->array_tasks && !id->has_set_offset &&
                   idset_parse(id->array_tasks, JOB_IDS_TASKS_BELOW, &tasks, NULL) == 0 &&
                   tasks.count > 1;
    idset_done(&tasks);
    return several;
}

static int explain_id(const char *text, const Pb__StepId *id, json_t *all, struct err *err)
{
    int rc = NO_ELEMENTS;
    if (id->has_step_id && names_several(id))
        rc = explain_steps(id, all, err);
    else if (!id->has_step_id && !id->has_set_offset)
        rc = explain_array(id, all, err);
    return rc == NO_ELEMENTS ? explain_job(text, id, all, err) : rc;
}

/* Checks all words before the first request. */
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
    sluice_choose(o); /* component names are looked up in this cluster */
    _cleanup_free_ Pb__StepId *ids = mem_new_array(Pb__StepId, count);
    int wrong = parse_ids(operand, ids), status = wrong;
    json_t *all = o->json ? json_array() : NULL;
    for (size_t i = 0; !wrong && i < count; i++) {
        struct err err = {0};
        int rc = explain_id(operand[i], &ids[i], all, &err);
        if (rc < 0)
            cmd_error("why %s: %s", operand[i], err.text);
        status = rc ? 1 : status;
    }
    if (json_array_size(all))
        json_out_print(cmd_source(), "why", all, false, cmd_out());
    else
        json_decref(all);
    return cmd_flush() ? 1 : status;
}
