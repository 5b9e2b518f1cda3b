/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that are 'configuring' until their nodes are ready.
 *
 * --wait-all-nodes=1, sbatch_wait_nodes and salloc_wait_nodes: until each of the nodes has reported
 * that it is up and its prolog has succeeded; the run time begins then. The reports are not stored:
 * after a restart the nodes are asked again.
 *
 * --reboot: until the nodes have run RebootProgram and registered again.
 */
#include <stdlib.h>

#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/ready.h"
#include "control/life/start.h"
#include "control/node/node.h"

static bool is_wanted(const struct control *c, const struct job *j)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    if (spec && spec->has_wait_all_nodes)
        return spec->wait_all_nodes;
    const struct job *leader = job_set_component(j, 0);
    j = leader ? leader : j; /* the leader's script or command waits */
    return j->batch ? c->conf->sched.sbatch_wait_nodes
                    : !j->alloc_step && c->conf->sched.salloc_wait_nodes;
}

/* A node daemon of an older version never reports. Its prolog runs nevertheless, and launches wait
 * for it. */
static bool lacks_ready_report(const struct node *n)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (!n->connected || !n->registered)
        return false; /* unknown: it is asked when it is connected again */
    const Pb__NodeRegister *seen =
        arena_unpack(&arena, &pb__node_register__descriptor, n->seen.data, n->seen.len);
    return seen && !seen->tells_prepared;
}

static bool ask_node(struct control *c, struct job *j, struct alloc_node *a)
{
    const struct node *n = c->cluster->nodes.data[a->node];
    start_send_prepare(c, j, a);
    if (!lacks_ready_report(n))
        return false;
    a->ready = true;
    control_log(c, LOG_LVL_INFO,
                "job %u: node %s counts as ready: its slurmd is older than --wait-all-nodes and "
                "does not tell of its prolog",
                j->id, n->name);
    return true;
}

/* Results that are known at once are processed in the next turn, after the caller has finished. */
static void send_ready_query(struct control *c, struct job *j)
{
    bool known = false;
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released && !a->ready)
            known = ask_node(c, j, a) || known;
    attempt_make(j)->repeat_mono_ms = control_mono(c) + (known ? 1 : CONTROL_REPEAT_MS);
}

bool ready_begin(struct control *c, struct job *j)
{
    if (!is_wanted(c, j))
        return false;
    attempt_make(j)->configuring = attempt_make(j)->readying = true;
    vec_foreach (&attempt_of(j)->alloc, a)
        a->touched = true;
    job_touch(c->cluster, j);
    send_ready_query(c, j);
    return true;
}

void ready_look(struct control *c, struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released && !a->ready)
            return;
    attempt_make(j)->readying = false;
    start_all_ready(c, j);
}

void ready_ask_again(struct control *c, struct job *j)
{
    send_ready_query(c, j);
    ready_look(c, j);
}

void ready_node(struct control *c, const struct node *n, const Pb__Prepared *m)
{
    struct job *j = cluster_find_job(c->cluster, m->job_id);
    struct alloc_node *a = j && j->restarts == m->restarts ? alloc_find(j, n->index) : NULL;
    if (!a || !attempt_of(j)->readying || job_is_final(j))
        return;
    a->ready = true;
    ready_look(c, j);
}

int boot_authorise(const struct caller *who, const Pb__JobSpec *spec, struct err *err)
{
    if (!spec->has_reboot || !spec->reboot || who->is_admin)
        return 0;
    return control_set_error(err, ERR_ACCESS, "only administrators may reboot the nodes of a job");
}

int boot_check_program(const struct control *c, const Pb__JobSpec *spec, struct err *err)
{
    if (!spec->has_reboot || !spec->reboot || c->conf->reboot_program)
        return 0;
    return err_set(err, -ERR_CONFIG,
                   "%s: nodes cannot be rebooted for a job: RebootProgram is not set in slurm.conf",
                   err_text(ERR_CONFIG));
}

static struct node *find_node(const struct control *c, const struct alloc_node *a)
{
    return c->cluster->nodes.data[a->node];
}

bool boot_begin(struct control *c, struct job *j)
{
    if (!j->want.reboots)
        return false;
    if (!c->conf->reboot_program) {
        control_log(c, LOG_LVL_ERROR,
                    "job %u begins without the reboot of its nodes: RebootProgram is no longer set",
                    j->id);
        return false;
    }
    attempt_make(j)->configuring = attempt_make(j)->rebooting = true;
    job_touch(c->cluster, j);
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released)
            node_issue_reboot(c, find_node(c, a), a->incarnation);
    return true;
}

bool boot_is_pending(const struct control *c, const struct job *j)
{
    if (attempt_of(j)->rebooting)
        vec_foreach (&attempt_of(j)->alloc, a)
            if (!a->released && find_node(c, a)->reboot.phase == NODE_REBOOT_ISSUED)
                return true;
    return false;
}

void boot_look(struct control *c, struct job *j)
{
    if (!attempt_of(j)->readying && !boot_is_pending(c, j))
        start_booted(c, j);
}

bool boot_awaits(const struct job *j, const struct node *n)
{
    return attempt_of(j)->rebooting && !job_is_final(j) && n->reboot.phase == NODE_REBOOT_ISSUED;
}

void boot_take_incarnation(struct control *c, struct job *j, const struct node *n)
{
    struct alloc_node *a = alloc_find(j, n->index);
    char *now = mem_strdup(n->incarnation);
    free(a->incarnation);
    a->incarnation = now;
    job_touch(c->cluster, j);
}
