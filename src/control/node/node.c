/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions on nodes. */
#include <stdlib.h>

#include "control/core/facts.h"
#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/node/node.h"

static void send_order(struct control *c, const char *node, Pb__NodeOrder *order)
{
    Pb__NodeOrders orders = PB__NODE_ORDERS__INIT;
    order->has_epoch = true;
    order->epoch = c->epoch;
    orders.orders = &order;
    orders.n_orders = 1;
    c->env->send(c->env->ctx, node, &orders);
}

void node_send_orders(struct control *c, const struct node *n, Pb__NodeOrder *order)
{
    if (order->attempt && !n->takes_attempt)
        facts_put_into_order(order);
    send_order(c, n->name, order);
}

/* Returns until when a rebooting node may be disconnected. */
static int64_t reboot_deadline_ms(const struct control *c, const struct node *n)
{
    int64_t most_sec = c->conf->resume_timeout_sec;
    int64_t left_sec = n->reboot.issued_at + most_sec - control_wall(c);
    left_sec = left_sec < 0 ? 0 : left_sec > most_sec ? most_sec : left_sec; /* the clock was set */
    return control_mono(c) + left_sec * 1000;
}

void node_heard(struct control *c, struct node *n)
{
    /* It has ResumeTimeout, even if it still sends messages. */
    if (n->reboot.phase == NODE_REBOOT_ISSUED) {
        order_move(&c->cluster->unresponsive, &n->silence, reboot_deadline_ms(c, n), n->index);
        return;
    }
    n->overdue = false;
    bool asleep = n->row->state == CONF_NODE_CLOUD && !n->registered; /* it is not started yet */
    if (n->future || asleep)
        return;
    if (c->conf->slurmd_timeout_sec > 0)
        order_move(&c->cluster->unresponsive, &n->silence,
                   control_mono(c) + c->conf->slurmd_timeout_sec * 1000, n->index);
    else /* the ResumeTimeout of a finished reboot */
        order_remove(&c->cluster->unresponsive, &n->silence);
}

void node_resume(struct control *c, struct node *n)
{
    n->drain = n->fail = n->down = n->admin_down = n->future = false;
    n->resume_at = 0;
    node_set_reason(n, NULL, 0, 0);
    if (!n->connected)
        node_heard(c, n); /* it has SlurmdTimeout to connect */
}

void node_send_banish_to(struct control *c, const char *node, uint32_t job_id, uint32_t restarts)
{
    const struct job *j = cluster_find_job(c->cluster, job_id);
    Pb__Terminate t = PB__TERMINATE__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    t.job_id = job_id;
    t.restarts = restarts;
    t.uid = j ? j->uid : 0;
    t.gid = j ? j->gid : 0;
    t.has_grace_sec = true;
    t.grace_sec = 0;
    order.terminate = &t;
    send_order(c, node, &order);
}

void node_send_banish(struct control *c, const struct node *n, uint32_t job_id, uint32_t restarts)
{
    node_send_banish_to(c, n->name, job_id, restarts);
}

bool node_has_orphan(const struct node *n, uint32_t job_id, uint32_t restarts)
{
    vec_foreach (&n->orphans, g)
        if (g->job_id == job_id && g->restarts == restarts)
            return true;
    return false;
}

void node_set_down(struct control *c, struct node *n, const char *reason)
{
    n->down = true;
    node_set_reason(n, reason, c->conf->slurm_uid, control_wall(c));
    control_save_node(c, n);
    control_log(c, LOG_LVL_ERROR, "node %s is DOWN: %s", n->name, reason);
    c->plan_wanted = true;
}

void node_drain(struct control *c, struct node *n, const char *reason)
{
    if (n->drain)
        return;
    n->drain = true;
    node_set_reason(n, reason, c->conf->slurm_uid, control_wall(c));
    control_save_node(c, n);
    control_log(c, LOG_LVL_ERROR, "node %s is drained: %s", n->name, reason);
}

void control_node_lost(struct control *c, const char *name)
{
    struct node *n = cluster_find_node(c->cluster, name);
    if (!n || !n->connected)
        return;
    n->connected = false;
    pool_update(c->cluster, n);
    c->cluster->stamp++;
}

bool control_awaits_node(const struct control *c, const char *name)
{
    const struct node *n = cluster_find_node(c->cluster, name);
    return n && !n->future && !n->down && n->row->state != CONF_NODE_CLOUD;
}

void control_shutdown_nodes(struct control *c)
{
    vec_foreach (&c->cluster->nodes, n) {
        Pb__Empty empty = PB__EMPTY__INIT;
        Pb__NodeOrder order = PB__NODE_ORDER__INIT;
        order.shutdown = &empty;
        node_send_orders(c, *n, &order);
    }
}

void node_add_to_reason(struct control *c, struct node *n, const char *text)
{
    _cleanup_free_ char *reason =
        mem_printf("%s : %s", n->reason ? n->reason : NODE_REBOOT_REASON, text);
    node_set_reason(n, reason, n->reason_uid, control_wall(c));
}

void node_send_reboot(struct control *c, const struct node *n)
{
    Pb__Empty empty = PB__EMPTY__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    order.reboot = &empty;
    if (n->connected)
        node_send_orders(c, n, &order);
}

void node_issue_reboot(struct control *c, struct node *n, const char *incarnation)
{
    n->reboot.phase = NODE_REBOOT_ISSUED;
    n->reboot.issued_at = control_wall(c);
    char *before = mem_strdup(incarnation);
    free(n->reboot.incarnation);
    n->reboot.incarnation = before;
    node_add_to_reason(c, n, "reboot issued");
    control_save_node(c, n);
    node_heard(c, n);
    node_send_reboot(c, n);
    control_log(c, LOG_LVL_INFO, "node %s is told to reboot", n->name);
}

void node_forget_reboot(struct node *n)
{
    free(n->reboot.incarnation);
    n->reboot = (struct node_reboot){0};
}
