/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of commands on their way to a controller. */
#include "sim/command/command.h"

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
    s->call_gone(s, number);
    s->c = before;
}
