/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/life/boot.h"

#include <stdlib.h>

#include "control/core/log.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/start.h"
#include "control/node/node_reboot.h"

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
