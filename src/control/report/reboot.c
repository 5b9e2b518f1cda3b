/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/report/reboot.h"

#include <assert.h>
#include <string.h>

#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/node/node.h"
#include "control/report/node_register.h"

#define REASON_ASAP "Reboot ASAP"

int reboot_check(const struct control *c, const struct node *n, const Pb__NodeUpdate *r,
                 struct err *err)
{
    bool known = !r->next_state || str_eq(r->next_state, "DOWN") || str_eq(r->next_state, "RESUME");
    if (str_eq(r->state, "CANCEL_REBOOT"))
        return n->reboot.phase == NODE_REBOOT_REQUESTED
                   ? 0
                   : err_set(err, -ERR_TRANSITION, "%s: no reboot of %s is pending",
                             err_text(ERR_TRANSITION), n->name);
    if (!c->conf->reboot_program)
        return err_set(err, -ERR_CONFIG, "%s: RebootProgram is not set in slurm.conf",
                       err_text(ERR_CONFIG));
    return known ? 0
                 : err_set(err, -ERR_PARSE, "invalid nextstate=%.64s: it is DOWN or RESUME",
                           r->next_state);
}

void reboot_request(struct control *c, struct node *n, const Pb__NodeUpdate *r, uint32_t uid)
{
    bool asap = r->has_reboot_asap && r->reboot_asap;
    bool force = r->has_reboot_force && r->reboot_force;
    if (n->future || (n->reboot.phase != NODE_REBOOT_NONE && !force))
        return;
    bool drained = n->reboot.drained; /* by an earlier request */
    node_forget_reboot(n);
    n->reboot.phase = NODE_REBOOT_REQUESTED;
    n->reboot.drained = drained;
    n->reboot.to_down = str_eq(r->next_state, "DOWN");
    n->reboot.to_resume = str_eq(r->next_state, "RESUME");
    if ((asap || force) && !n->drain)
        n->reboot.drained = n->drain = true;
    if (!r->reason && (asap || !n->reason))
        node_set_reason(n, asap ? REASON_ASAP : NODE_REBOOT_REASON, uid, control_wall(c));
    if (force)
        node_lose_jobs(c, n);
    c->reboots++;
    c->plan_wanted = true;
}

void reboot_cancel(struct control *c, struct node *n)
{
    assert(n->reboot.phase == NODE_REBOOT_REQUESTED);
    if (n->reboot.drained)
        n->drain = false;
    if (n->reboot.drained || str_eq(n->reason, NODE_REBOOT_REASON))
        node_set_reason(n, NULL, 0, 0);
    node_forget_reboot(n);
    c->plan_wanted = true;
}

void reboot_count(struct control *c)
{
    c->reboots = 0;
    vec_foreach (&c->cluster->nodes, n)
        c->reboots += (*n)->reboot.phase == NODE_REBOOT_REQUESTED;
}

void reboot_turn(struct control *c)
{
    if (!c->reboots || !c->plan_wanted) /* a node that becomes free requests a pass */
        return;
    reboot_count(c);
    vec_foreach (&c->cluster->nodes, at) {
        struct node *n = *at;
        if (n->reboot.phase == NODE_REBOOT_REQUESTED && n->connected && n->registered && !n->jobs &&
            !n->orphans.len) {
            node_issue_reboot(c, n, n->incarnation);
            c->reboots--;
        }
    }
}

static void complete_reboot(struct control *c, struct node *n)
{
    const struct node_reboot was = n->reboot;
    control_log(c, LOG_LVL_INFO, "node %s has rebooted", n->name);
    if (was.to_down) {
        node_add_to_reason(c, n, "reboot complete");
        n->down = n->admin_down = true;
    } else if (was.to_resume) {
        node_resume(c, n);
    } else {
        n->drain = n->drain && !was.drained;
        if (!n->drain && !n->fail && !n->down)
            node_set_reason(n, NULL, 0, 0);
    }
    node_forget_reboot(n);
    control_save_node(c, n);
    node_heard(c, n);
    c->plan_wanted = true;
}

void reboot_registered(struct control *c, struct node *n)
{
    if (n->reboot.phase != NODE_REBOOT_ISSUED)
        return;
    if (str_eq(n->reboot.incarnation, n->incarnation))
        node_send_reboot(c, n);
    else
        complete_reboot(c, n);
}

char *reboot_time_out(struct control *c, struct node *n)
{
    assert(n->reboot.phase == NODE_REBOOT_ISSUED);
    node_add_to_reason(c, n, "reboot timed out");
    node_forget_reboot(n);
    return mem_strdup(n->reason);
}
