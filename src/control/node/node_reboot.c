/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/node/node_reboot.h"

#include <stdlib.h>

#include "control/core/log.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/node/node.h"

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
