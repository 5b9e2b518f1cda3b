/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A running job gives nodes back: scontrol update JobId= NumNodes= or NodeList= (CORE-151). */
#include <signal.h>

#include "base/hostlist.h"
#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/life/finish.h"
#include "control/life/shrink.h"
#include "control/node/node.h"
#include "control/step/step.h"

#define WHY "JOB SIZE CHANGE" /* what the processes that end there are told */

static int refuse_change(struct err *err, int code, const char *why)
{
    return err_set(err, -code, "%s: %s", err_text(code), why);
}

/* The nodes of the list; each must be the job's. */
static int find_kept(const struct control *c, struct job *j, const char *nodes,
                     struct bitset *dropped, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    struct err why = {0};
    if (cluster_parse_hosts(c->cluster, nodes, &list, &why) != 0)
        return err_set(err, -ERR_NO_NODE, "%s: NodeList=%s: %s", err_text(ERR_NO_NODE), nodes,
                       why.text);
    if (hostlist_count(list) > attempt_of(j)->alloc.len)
        return refuse_change(err, ERR_NODE_COUNT, "more nodes than the running job has");
    for (size_t i = 0; i < hostlist_count(list); i++) {
        char name[HOSTLIST_NAME_MAX + 1];
        const struct node *n = cluster_find_node(c->cluster, hostlist_nth(list, i, name));
        const struct alloc_node *a = n ? alloc_find(j, n->index) : NULL;
        if (!a)
            return err_set(err, -ERR_NO_NODE, "%s: %s is not a node of the running job",
                           err_text(ERR_NO_NODE), name);
        bitset_unset(dropped, (size_t)(a - attempt_of(j)->alloc.data));
    }
    return 0;
}

static int check_resizable(const struct job *j, struct err *err)
{
    if (j->state == PB__JOB_STATE__RUNNING && !attempt_of(j)->configuring)
        return 0;
    return refuse_change(err, ERR_CANNOT_UPDATE, "only a running job gives nodes back");
}

int shrink_find(const struct control *c, struct job *j, const char *nodes, uint32_t count,
                struct bitset **out, struct err *err)
{
    int rc = check_resizable(j, err);
    if (rc != 0)
        return rc;
    if (!nodes && (count == 0 || count > attempt_of(j)->alloc.len))
        return refuse_change(err, ERR_NODE_COUNT,
                             "a running job can have fewer nodes, but at least one, and not more");
    struct bitset *dropped = bitset_new(attempt_of(j)->alloc.len);
    if (nodes) {
        bitset_fill(dropped);
        rc = find_kept(c, j, nodes, dropped, err);
    } else {
        bitset_set_range(dropped, count, attempt_of(j)->alloc.len - count);
        if (j->batch &&
            bitset_test(dropped, attempt_of(j)->host_at)) { /* in the place of the last one */
            bitset_unset(dropped, attempt_of(j)->host_at);
            bitset_set(dropped, count - 1);
        }
    }
    if (rc == 0 && bitset_count(dropped) == attempt_of(j)->alloc.len)
        rc = refuse_change(err, ERR_NODE_COUNT, "a running job keeps at least one node");
    if (rc == 0 && j->batch && bitset_test(dropped, attempt_of(j)->host_at))
        rc = refuse_change(err, ERR_CANNOT_UPDATE, "the node that runs the job's script is kept");
    if (rc == 0)
        *out = dropped;
    else
        bitset_free(dropped);
    return rc;
}

/* Its tasks there are killed; those elsewhere are their srun's to judge. */
static void end_steps_on(struct control *c, struct job *j, uint32_t node)
{
    for (size_t i = attempt_of(j)->steps.len; i-- > 0 && !job_is_final(j);)
        if (i < attempt_of(j)->steps.len)
            step_ended_on(c, j, attempt_of(j)->steps.data[i].id, node, SIGKILL);
}

/* The job continues without the node: it ends what it has of the job, and until it has it takes no
 * work. */
static void give_node_back(struct control *c, struct node *n, struct job *j, const char *why)
{
    if (node_has_orphan(n, j->id, j->restarts))
        return;
    vec_push(&n->orphans, ((struct node_orphan){j->id, j->restarts}));
    control_save_node(c, n);
    if (n->connected)
        finish_send_terminate_to(c, j, n, why, (uint32_t)c->conf->kill_wait_sec);
}

void shrink_job(struct control *c, struct job *j, const struct bitset *dropped)
{
    struct str names = STR_INIT;
    attempt_make(j)->shrinking = true;
    for (size_t at = dropped->size; at-- > 0 && !job_is_final(j);) {
        if (!bitset_test(dropped, at))
            continue;
        struct alloc_node *a = &attempt_of(j)->alloc.data[at];
        struct node *n = c->cluster->nodes.data[a->node];
        end_steps_on(c, j, a->node);
        if (job_is_final(j)) /* its only step was there: all nodes are told */
            break;
        if (!a->released)
            give_node_back(c, n, j, WHY);
        alloc_drop(c->cluster, j, (uint32_t)at);
        str_printf(&names, "%s%s", names.len ? "," : "", n->name);
    }
    if (names.len)
        control_log(c, LOG_LVL_INFO, "job %u gave back %s", j->id, str_cstr(&names));
    str_done(&names);
    job_touch(c->cluster, j);
    c->plan_wanted = true;
    attempt_make(j)->shrinking = false;
    step_retry_waiting(c, j);
}
