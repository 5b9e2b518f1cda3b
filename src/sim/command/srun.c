/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Virtual sruns: each requests one step in an allocation, launches its tasks on the nodes, waits
 * for their end, and reports to the controller. The sruns of a batch script run on the script's
 * node and end with the script.
 */
#include <string.h>

#include "sim/command/command.h"

static void schedule_srun_action(struct sim *s, unsigned index, int64_t after_ms)
{
    sim_push(s, after_ms, (struct sim_event){.kind = SIM_SRUN, .index = index});
}

static struct rng *chance_of(struct sim *s, unsigned index)
{
    return &s->clients.data[s->sruns.data[index].client].rng;
}

void sim_srun_begin(struct sim *s, unsigned client, unsigned number, struct sim_key key, long node)
{
    struct sim_srun srun = {
        .client = client, .number = number, .node = node, .key = key, .script = key};
    const struct sim_item *item = s->clients.data[client].item;
    vec_push(&s->sruns, srun);
    schedule_srun_action(s, (unsigned)s->sruns.len - 1,
                         node < 0 ? 0 : (int64_t)number * item->step_ms / 2);
}

void sim_srun_begin_for(struct sim *s, struct sim_key script, unsigned number, uint32_t offset,
                        long node)
{
    const struct sim_watch *w = sim_watch_find(s, script.job_id + offset);
    if (!w || w->client == UINT32_MAX)
        return;
    sim_srun_begin(s, w->client, number, (struct sim_key){w->job_id, script.restarts}, node);
    vec_last(&s->sruns).script = script;
}

void sim_srun_spec(const struct sim *s, const struct sim_client *c, unsigned number,
                   Pb__StepSpec *step)
{
    *step = (Pb__StepSpec)PB__STEP_SPEC__INIT;
    step->name = (char *)"step";
    step->has_num_tasks = c->item->step_tasks > 0;
    step->num_tasks = (uint32_t)c->item->step_tasks;
    step->has_overlap = step->overlap = c->item->overlap != 0;
}

void sim_srun_begin_owner(struct sim *s, unsigned client, struct sim_key key)
{
    sim_srun_begin(s, client, 0, key, -1);
    vec_last(&s->sruns).owns_job = true;
}

static void create_step(struct sim *s, unsigned index)
{
    struct sim_srun *r = &s->sruns.data[index];
    Pb__StepSpec step;
    uint8_t id[16] = {1};
    uint32_t words[3] = {r->client, r->number, r->key.restarts};
    memcpy(id + 1, words, sizeof words);
    sim_srun_spec(s, &s->clients.data[r->client], r->number, &step);
    step.has_job_id = step.has_restarts = true;
    step.restarts = r->key.restarts;
    step.job_id = r->key.job_id;
    step.has_request_id = true;
    step.request_id = (ProtobufCBinaryData){sizeof id, id};
    r->call = sim_call(s, SIM_OF_SRUN, SIM_STEP_CREATE, index, chance_of(s, index), &step.base);
}

static void report_end(struct sim *s, unsigned index)
{
    struct sim_srun *r = &s->sruns.data[index];
    Pb__StepComplete step = PB__STEP_COMPLETE__INIT;
    Pb__JobComplete job = PB__JOB_COMPLETE__INIT;
    step.job_id = job.job_id = r->key.job_id;
    step.step_id = r->step_id;
    step.has_restarts = job.has_restarts = true;
    step.restarts = job.restarts = r->key.restarts;
    job.has_exit_status = true;
    job.exit_status = (int)s->clients.data[r->client].item->exit_code << 8;
    if (r->owns_job)
        sim_end_by_owner(s, r->key, job.exit_status);
    job.step = &step;
    r->call =
        r->owns_job
            ? sim_call(s, SIM_OF_SRUN, SIM_JOB_COMPLETE, index, chance_of(s, index), &job.base)
            : sim_call(s, SIM_OF_SRUN, SIM_STEP_COMPLETE, index, chance_of(s, index), &step.base);
}

void sim_srun_act(struct sim *s, unsigned index)
{
    struct sim_srun *r = &s->sruns.data[index];
    if (r->call)
        return;
    if (r->state == SIM_SRUN_CREATING)
        create_step(s, index);
    else if (r->state == SIM_SRUN_TELLING)
        report_end(s, index);
}

static void end_srun(struct sim *s, unsigned index)
{
    struct sim_srun *r = &s->sruns.data[index];
    if (r->state == SIM_SRUN_OVER)
        return;
    r->state = SIM_SRUN_OVER;
    if (r->node < 0 && s->clients.data[r->client].state == SIM_HOLDING)
        sim_push(s, 0, (struct sim_event){.kind = SIM_CLIENT, .index = r->client});
}

static void launch_step(struct sim *s, unsigned index, const Pb__StepReply *step)
{
    struct sim_srun *r = &s->sruns.data[index];
    r->state = SIM_SRUN_RUNNING;
    r->step_id = step->step_id;
    r->left = (unsigned)step->n_layout;
    for (size_t i = 0; i < step->n_layout; i++) {
        long node = sim_node_index(s, step->layout[i]->node);
        if (node < 0) {
            sim_break(s, "a step on an unknown node", "%s", step->layout[i]->node);
            return;
        }
        struct sim_event event = {.kind = SIM_STEP, .index = (unsigned)node, .value = index};
        if (!sim_net_loses(s)) /* an empty body means that the launch failed */
            pb_pack(&step->base, &event.body);
        sim_push(s, rng_between(chance_of(s, index), 0, 5) + sim_net_late_ms(s), event);
    }
}

void sim_srun_begin_launched(struct sim *s, unsigned client, struct sim_key key,
                             const Pb__StepReply *step)
{
    struct sim_srun srun = {
        .client = client, .node = -1, .key = key, .script = key, .owns_job = true};
    vec_push(&s->sruns, srun);
    launch_step(s, (unsigned)s->sruns.len - 1, step);
}

void sim_srun_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e)
{
    unsigned index = call->index;
    struct sim_srun *r = &s->sruns.data[index];
    r->call = 0;
    if (r->state == SIM_SRUN_OVER)
        return;
    /* Without its step the job is over. */
    if (e->code && r->owns_job && r->state == SIM_SRUN_CREATING) {
        r->state = SIM_SRUN_TELLING;
        schedule_srun_action(s, index, 0);
        return;
    }
    if (e->code || r->state == SIM_SRUN_TELLING) {
        if (!e->code && r->owns_job)
            sim_check_over(s, r->key.job_id, "its srun said that it is over");
        end_srun(s, index);
        return;
    }
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__StepReply *step =
        arena_unpack(&arena, &pb__step_reply__descriptor, e->body.data, e->body.len);
    if (!step || step->job_id != r->script.job_id || step->restarts != r->key.restarts)
        sim_break(s, "an answer about another job", "to a step of job %u", r->key.job_id);
    else
        launch_step(s, index, step);
}

/* The tasks on one node have ended, or their launch failed. */
void sim_srun_part_over(struct sim *s, unsigned index)
{
    struct sim_srun *r = &s->sruns.data[index];
    if (r->state != SIM_SRUN_RUNNING || r->left == 0 || --r->left > 0)
        return;
    r->state = SIM_SRUN_TELLING;
    schedule_srun_action(s, index, rng_between(chance_of(s, index), 0, 5));
}

void sim_srun_end_all(struct sim *s, struct sim_key key, long node)
{
    vec_foreach (&s->sruns, r) {
        if (r->node != node || r->script.job_id != key.job_id ||
            r->script.restarts != key.restarts || r->state == SIM_SRUN_OVER)
            continue;
        r->state = SIM_SRUN_OVER;
        if (r->call)
            sim_call_close(s, r->call);
        r->call = 0;
    }
}
