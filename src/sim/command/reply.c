/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies of controllers on their way back to the commands, and the loss of replies. */
#include "sim/command/command.h"

void sim_call_lose(struct sim *s, struct sim_call *call)
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
        if (copy.request == SIM_ANNOUNCE && !copy.waits) /* a call that waits may still be served */
            sim_act_lost(s);
        break;
    case SIM_OF_NOBODY:
        break; /* the command's user does not know the result */
    }
}

void sim_calls_lost(struct sim *s, uint64_t life)
{
    for (size_t i = 0; i < s->calls.len; i++)
        if (s->calls.data[i].open && s->calls.data[i].arrived && s->calls.data[i].life == life)
            sim_call_lose(s, &s->calls.data[i]);
}

void sim_call_give_up(struct sim *s, uint64_t number)
{
    struct sim_call *call = &s->calls.data[number - 1];
    bool held = call->arrived && !call->answered;
    if (!call->open)
        return;
    sim_call_lose(s, call);
    if (held)
        sim_push(s, 0, (struct sim_event){.kind = SIM_GONE, .ctl = call->ctl + 1, .value = number});
}

void sim_call_answered(struct sim *s, struct sim_event *e)
{
    struct sim_call *call = &s->calls.data[e->value - 1];
    if (!call->open)
        return;
    if (e->code == SIM_CODE_LOST) {
        sim_call_lose(s, call);
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
