/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of commands as they arrive at a controller. */
#include "sim/command/command.h"
#include "sim/controller/controller.h"

/* Tells the current controller that a caller is gone, if it has the call. */
void sim_call_gone(struct sim *s, uint64_t number)
{
    struct sim_call *call = &s->calls.data[number - 1];
    bool loads = call->request == SIM_NODE_UPDATE || call->request >= SIM_RECONFIGURE;
    if (!call->arrived || call->answered || call->life != s->c->life || !s->c->control)
        return;
    if (loads) /* a worker may be reading for the call; the reply is dropped later */
        return;
    call->answered = true; /* nobody waits for a reply */
    control_call_gone(s->c->control, number);
    sim_ctl_turn(s);
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
    HANDLER(SIM_LICENSE_UPDATE, control_license_update, pb__license_update__descriptor),
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
        sim_call_lose(s, call);
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
    /* The request waited in a socket, and its command has gone. */
    if (!s->calls.data[e->value - 1].open)
        sim_call_gone(s, e->value);
}
