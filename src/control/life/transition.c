/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/life/transition.h"

#include "control/core/counters.h"
#include "control/event/event.h"
#include "control/event/job_event.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/cancel.h"
#include "control/life/depend.h"
#include "control/life/enqueue.h"
#include "control/life/finish.h"
#include "control/life/hook.h"
#include "control/life/mail.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/start.h"
#include "control/step/step.h"

static const struct {
    unsigned kinds;
    void (*hear)(struct control *c, const struct transition *t);
} subscribers[] = {
#define SUBSCRIBER(name, kinds, function) {kinds, function},
#include "control/life/transition.def"
#undef SUBSCRIBER
};

static void on_transition(void *ctx, const struct transition *emitted)
{
    struct control *c = ctx;
    struct transition t = *emitted;
    t.at_ms = c->env->wall_ms(c->env->ctx);
    for (size_t i = 0; i < sizeof(subscribers) / sizeof(subscribers[0]); i++)
        if (subscribers[i].kinds & t.kind)
            subscribers[i].hear(c, &t);
}

static const struct step_owner step_owner = {
    .job_ran = finish_ran,
    .end_step = cancel_step,
    .reschedule = control_schedule,
};

void transition_observe(struct control *c)
{
    c->step_owner = &step_owner;
    c->cluster->observer = (struct transition_observer){.fn = on_transition, .ctx = c};
}
