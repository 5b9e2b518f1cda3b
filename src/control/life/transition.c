/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/life/transition.h"

#include "control/internal.h"

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

void transition_observe(struct control *c)
{
    c->cluster->observer = (struct transition_observer){.fn = on_transition, .ctx = c};
}
