/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A step that nobody launches. Between being given a step and launching it its srun may die, and
 * the controller, which has no part in a launch, hears nothing of either. When the step's
 * credential is too old to start anything its nodes are asked once: one that has nothing of the
 * step says that it is over there.
 */
#include "control/internal.h"

#define ASK_AFTER_MS (CONTROL_CRED_MS + 10000) /* clocks of nodes may be a little behind */

static void ask(struct control *c, struct job *j, const struct alloc_node *a, uint32_t step_id)
{
    Pb__StepLook look = PB__STEP_LOOK__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    look.job_id = j->id;
    look.restarts = j->restarts;
    look.step_id = step_id;
    order.look = &look;
    node_send_orders(c, c->cluster->nodes.data[a->node], &order);
}

static bool is_old(const struct control *c, const struct step *s)
{
    return control_mono(c) >= s->made_mono_ms + ASK_AFTER_MS;
}

void step_watch(struct control *c, struct job *j, struct step *s)
{
    struct attempt *attempt = attempt_make(j);
    s->made_mono_ms = control_mono(c);
    s->asked = false;
    if (attempt->unlaunched_mono_ms == 0) {
        attempt->unlaunched_mono_ms = s->made_mono_ms + ASK_AFTER_MS;
        control_schedule(c, j);
    }
}

void step_ask_unlaunched(struct control *c, struct job *j)
{
    int64_t next = INT64_MAX;
    vec_foreach (&attempt_of(j)->steps, s) {
        if (!s->asked && is_old(c, s)) {
            s->asked = true;
            vec_foreach (&s->nodes, n)
                if (!n->ended)
                    ask(c, j, &attempt_of(j)->alloc.data[n->at], s->id);
        }
        if (!s->asked && s->made_mono_ms + ASK_AFTER_MS < next)
            next = s->made_mono_ms + ASK_AFTER_MS;
    }
    attempt_make(j)->unlaunched_mono_ms = next == INT64_MAX ? 0 : next;
}

static bool has(const Pb__Presence *p, uint32_t step_id)
{
    for (size_t i = 0; p && i < p->n_step_ids; i++)
        if (p->step_ids[i] == step_id)
            return true;
    return false;
}

void step_ask_again(struct control *c, struct job *j, const struct alloc_node *a,
                    const Pb__Presence *present)
{
    vec_foreach (&attempt_of(j)->steps, s)
        vec_foreach (&s->nodes, n)
            if (&attempt_of(j)->alloc.data[n->at] == a && !n->ended && is_old(c, s) &&
                !has(present, s->id))
                ask(c, j, a, s->id);
}
