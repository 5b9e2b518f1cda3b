/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests on their way to a controller, its answers on their way back, and what is lost of both.
 */
#include "sim/world/parts.h"

uint64_t sim_call(struct sim *s, enum sim_owner owner, enum sim_request request, unsigned index,
                  struct rng *rng, const ProtobufCMessage *body)
{
    struct sim_call call = {.owner = owner, .request = request, .index = index, .open = true};
    call.asked_ms = s->now_ms;
    vec_push(&s->calls, call);
    struct sim_event event = {.kind = SIM_REQUEST, .index = index, .value = s->calls.len};
    event.ctl = 1;
    if (sim_net_loses(s)) {
        event.kind = SIM_REPLY;
        event.code = SIM_CODE_LOST;
    } else if (body) {
        pb_pack(body, &event.body);
    }
    sim_push(s, rng_between(rng, 0, 3) + sim_net_late_ms(s), event);
    return s->calls.len;
}

static void lose_call(struct sim *s, struct sim_call *call)
{
    struct sim_call copy = *call;
    call->open = false;
    switch (copy.owner) {
    case SIM_OF_CLIENT:
    case SIM_OF_WATCH:
        sim_client_lost(s, &copy);
        break;
    case SIM_OF_SRUN:
        s->sruns.data[copy.index].call = 0;
        sim_push(s, 500, (struct sim_event){.kind = SIM_SRUN, .index = copy.index});
        break;
    case SIM_OF_ACT:
        if (copy.request == SIM_ANNOUNCE && !copy.waits) /* else it may still be served */
            sim_announce_lost(s);
        break;
    case SIM_OF_NOBODY:
        break; /* whoever ran the command does not know what came of it */
    }
}

void sim_calls_lost(struct sim *s, uint64_t life)
{
    for (size_t i = 0; i < s->calls.len; i++)
        if (s->calls.data[i].open && s->calls.data[i].arrived && s->calls.data[i].life == life)
            lose_call(s, &s->calls.data[i]);
}

void sim_call_give_up(struct sim *s, uint64_t number)
{
    struct sim_call *call = &s->calls.data[number - 1];
    bool held = call->arrived && !call->answered;
    if (!call->open)
        return;
    lose_call(s, call);
    if (held)
        sim_push(s, 0, (struct sim_event){.kind = SIM_GONE, .ctl = call->ctl + 1, .value = number});
}

/* The controller whose turn it is has it, perhaps, and nobody waits for it. */
void sim_call_gone(struct sim *s, uint64_t number)
{
    struct sim_call *call = &s->calls.data[number - 1];
    bool loads = call->request == SIM_NODE_UPDATE || call->request >= SIM_RECONFIGURE;
    if (!call->arrived || call->answered || call->life != s->c->life || !s->c->control)
        return;
    if (loads) /* a worker may be reading for it: it is answered, to nobody */
        return;
    call->answered = true; /* it has nobody to answer */
    control_call_gone(s->c->control, number);
    sim_ctl_turn(s);
}

void sim_call_close(struct sim *s, uint64_t number)
{
    struct sim_call *call = &s->calls.data[number - 1];
    struct sim_ctl *of = &s->ctls[call->ctl], *before = s->c;
    call->open = false;
    if (sim_lead_is_paused(s, of)) {
        sim_push(s, 0, (struct sim_event){.kind = SIM_GONE, .ctl = call->ctl + 1, .value = number});
        return;
    }
    s->c = of;
    sim_call_gone(s, number);
    s->c = before;
}

static const struct caller *caller_of(struct sim *s, const struct sim_call *call)
{
    static const struct caller root = {
        .is_operator = true, .is_admin = true, .user_name = "root", .group_name = "root"};
    static struct caller user;
    unsigned client = call->index;
    if (call->owner == SIM_OF_ACT) {
        const struct sim_item *act = s->acts.data[call->index];
        long owner = act->root ? -1 : sim_client_find(s, act->id);
        if (owner < 0)
            return &root;
        client = (unsigned)owner;
    } else if (call->owner == SIM_OF_SRUN) {
        client = s->sruns.data[call->index].client;
    }
    uint32_t uid = (uint32_t)s->clients.data[client].item->uid;
    user = (struct caller){.uid = uid, .gid = uid, .user_name = "user", .group_name = "user"};
    return &user;
}

#define HANDLER(request, function, message)                                                        \
    [request] = {                                                                                  \
        (void (*)(struct control *, uint64_t, const struct caller *, const void *))function,       \
        &message}

static const struct {
    void (*call)(struct control *, uint64_t, const struct caller *, const void *);
    const ProtobufCMessageDescriptor *type;
} handlers[] = {
    HANDLER(SIM_SUBMIT, control_submit, pb__submit_request__descriptor),
    HANDLER(SIM_TEST_ONLY, control_submit, pb__submit_request__descriptor),
    HANDLER(SIM_ALLOC, control_alloc, pb__alloc_request__descriptor),
    HANDLER(SIM_ALLOC_WAIT, control_alloc_wait, pb__alloc_wait__descriptor),
    HANDLER(SIM_WAIT_END, control_job_wait_end, pb__job_id_request__descriptor),
    HANDLER(SIM_JOB_COMPLETE, control_job_complete, pb__job_complete__descriptor),
    HANDLER(SIM_STEP_CREATE, control_step_create, pb__step_spec__descriptor),
    HANDLER(SIM_STEP_COMPLETE, control_step_complete, pb__step_complete__descriptor),
    HANDLER(SIM_JOB_SIGNAL, control_job_signal, pb__job_signal__descriptor),
    HANDLER(SIM_JOB_SUSPEND, control_job_suspend, pb__job_suspend__descriptor),
    HANDLER(SIM_JOB_UPDATE, control_job_update, pb__job_update__descriptor),
    HANDLER(SIM_NODE_UPDATE, control_node_update, pb__node_update__descriptor),
    HANDLER(SIM_PART_UPDATE, control_part_update, pb__part_update__descriptor),
    HANDLER(SIM_RESV_UPDATE, control_resv_update, pb__resv_update__descriptor),
    HANDLER(SIM_RESV_DELETE, control_resv_delete, pb__resv_delete__descriptor),
    [SIM_ANNOUNCE] = {NULL, &pb__shutdown_request__descriptor},
};

static void handle_call(struct sim *s, const struct sim_call *call, const struct sim_event *e)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const void *body =
        arena_unpack(&arena, handlers[call->request].type, e->body.data, e->body.len);
    const Pb__NodeUpdate *update = call->request == SIM_NODE_UPDATE ? body : NULL;
    if (update && (update->create || update->remove))
        sim_load_nodes(s, e->value, update);
    else if (call->request == SIM_ANNOUNCE)
        sim_announce_take(s, e->value, body);
    else
        handlers[call->request].call(s->c->control, e->value, caller_of(s, call), body);
}

void sim_call_arrives(struct sim *s, struct sim_event *e)
{
    struct sim_call *call = &s->calls.data[e->value - 1];
    if (!call->open && !call->waits)
        return;
    if (s->count > 1 && !sim_lead_serves(s, e))
        return;
    if (!s->c->control || s->c->stopping) {
        lose_call(s, call);
        return;
    }
    call->arrived = true;
    call->arrived_ms = s->now_ms;
    call->life = s->c->life;
    if (call->request == SIM_RECONFIGURE || call->request == SIM_PREVIEW)
        sim_load_file(s, e->value, call->request == SIM_PREVIEW);
    else
        handle_call(s, call, e);
    sim_ctl_turn(s);
    if (!s->calls.data[e->value - 1].open) /* it has been in a socket, and its command has gone */
        sim_call_gone(s, e->value);
}

void sim_call_answered(struct sim *s, struct sim_event *e)
{
    struct sim_call *call = &s->calls.data[e->value - 1];
    if (!call->open)
        return;
    if (e->code == SIM_CODE_LOST) {
        lose_call(s, call);
        return;
    }
    call->open = false;
    struct sim_call copy = *call;
    if (copy.owner == SIM_OF_SRUN)
        sim_srun_reply(s, &copy, e);
    else if (copy.owner == SIM_OF_ACT)
        sim_act_reply(s, &copy, e);
    else
        sim_client_reply(s, &copy, e);
}
