/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interactive allocations: the requesting command waits for its nodes. */
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/finish.h"
#include "control/life/schedule.h"
#include "control/life/start.h"
#include "control/step/step.h"
#include "control/submit/submit.h"
#include "control/submit/submit_set.h"

static void keep_step(struct job *j, const Pb__StepSpec *step)
{
    str_free(take_ptr(j->alloc_step));
    if (!step)
        return;
    j->alloc_step = mem_new(struct str);
    pb_pack(&step->base, j->alloc_step);
}

/* One call waits for the allocation: an earlier call has lost its connection, or the request was
 * sent twice. */
static void await_nodes(struct control *c, struct job *j, uint64_t call)
{
    if (j->alloc_call)
        control_refuse_code(c, j->alloc_call, ERR_CLOSED, "the same request came again");
    j->alloc_call = call;
    j->gone_mono_ms = 0;
    control_hold(c, call, j);
}

/* Checks what can be known about its first step before the job begins. */
static int check_step(struct control *c, const Pb__StepSpec *step, size_t components,
                      struct err *err)
{
    int rc = step->n_parts ? 0 : step_ports_check(c, step, err);
    for (size_t i = 0; rc == 0 && i < step->n_parts; i++) {
        const Pb__StepSpec *part = step->parts[i];
        if (part->has_set_offset && part->set_offset >= components)
            return err_set(err, -ERR_COMPONENT, "%s: %u of %zu", err_text(ERR_COMPONENT),
                           part->set_offset, components);
        rc = step_ports_check(c, part, err);
    }
    return rc;
}

/* Queues a job, or all components of a set. Returns 0; negative: an error; positive: the call is
 * retried. */
static int submit_allocation(struct control *c, const struct caller *who, const Pb__AllocRequest *r,
                             uint64_t key, struct job **out, struct err *err)
{
    Pb__JobSpec spec = *r->spec;
    bool at_once = spec.has_immediate && spec.immediate;
    spec.has_batch = true;
    spec.batch = false;
    const struct set_request set = {.leader = &spec,
                                    .components = r->components,
                                    .n_components = r->n_components,
                                    .may_wait = !at_once};
    uint32_t uid = spec.has_uid ? spec.uid : who->uid;
    int rc = r->step ? step_check_launcher(r->step, uid, err) : 0;
    if (rc == 0 && r->step)
        rc = check_step(c, r->step, 1 + r->n_components, err);
    if (rc == 0)
        rc = submit_make_set(c, who, &set, out, err);
    for (uint32_t i = 0; rc == 0 && i < job_set_count(*out); i++)
        job_set_component(*out, i)->trial = at_once;
    if (rc == 0)
        submit_admit_set(c, *out, key);
    return rc;
}

void control_alloc(struct control *c, uint64_t call, const struct caller *who,
                   const Pb__AllocRequest *r)
{
    struct err err = {0};
    uint64_t key;
    if (r->has_test_only && r->test_only) { /* the reply is a SubmitReply */
        control_refuse_code(c, call, ERR_NOT_SUPPORTED, "test_only is for Submit");
        return;
    }
    struct job *j = submit_find_repeated(c, who, false, r->spec, &key);
    if (j && j->state != PB__JOB_STATE__PENDING) {
        start_reply_alloc(c, j, call, !job_is_final(j));
        return;
    }
    if (j)
        str_clear(&c->said); /* already delivered */
    if (!j) {
        str_clear(&c->said);
        int rc = submit_allocation(c, who, r, key, &j, &err);
        if (rc < 0)
            control_refuse(c, call, &err);
        if (rc != 0)
            return;
        keep_step(j, r->step);
    }
    await_nodes(c, j, call);
    char *said = c->said.len ? mem_strdup(str_cstr(&c->said)) : NULL;
    vec_push(&c->fresh, ((struct fresh){j->id, c->passes, said}));
}

/* The job may have started while its command was disconnected; the step requested with it then
 * starts now. */
static void grant_again(struct control *c, struct job *j, uint64_t call, const Pb__StepSpec *step)
{
    if (step && !attempt_of(j)->configuring && !j->batch) {
        keep_step(j, step);
        j->alloc_call = call;
        if (!start_step(c, j))
            return;
        j->alloc_call = 0;
    }
    start_reply_alloc(c, j, call, true);
}

void control_alloc_wait(struct control *c, uint64_t call, const struct caller *who,
                        const Pb__AllocWait *r)
{
    struct job *j = cluster_find_job(c->cluster, r->job_id);
    if (!j) {
        control_refuse_code(c, call, ERR_NO_JOB, NULL);
    } else if (!control_owns(who, j)) {
        control_refuse_code(c, call, control_denial(c, who, j), NULL);
    } else if (job_is_final(j)) {
        finish_refuse_ended(c, call, j);
    } else if (j->state != PB__JOB_STATE__PENDING && !(attempt_of(j)->configuring && r->ready)) {
        grant_again(c, j, call, r->step);
    } else {
        /* The first step is not stored with a pending job: its command sends it again. */
        keep_step(j, r->step);
        await_nodes(c, j, call);
        control_schedule(c, j);
    }
}

void control_alloc_info(struct control *c, uint64_t call, const struct caller *who,
                        const Pb__JobIdRequest *r)
{
    const Pb__StepId id = NAMED_JOB(r);
    bool by_set = r->has_set_offset || named_lost_leader(c, &id);
    struct job *j = by_set ? named_any(c, &id) : cluster_find_job(c->cluster, r->job_id);
    struct err err = {0};
    if (!j)
        control_refuse_code(c, call, ERR_NO_JOB, NULL);
    else if (!control_owns(who, j))
        control_refuse_code(c, call, control_denial(c, who, j), NULL);
    else if (by_set && named_component(c, &id, &j, &err) != 0)
        control_refuse(c, call, &err);
    else if (j->state == PB__JOB_STATE__PENDING)
        control_refuse_code(c, call, ERR_JOB_PENDING, NULL);
    else if (job_is_final(j))
        control_refuse_code(c, call, ERR_JOB_DONE, NULL);
    else
        start_reply_alloc(c, j, call, true);
}
