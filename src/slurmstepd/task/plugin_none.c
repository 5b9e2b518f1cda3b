/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For slurmstepd, which loads no plugins. */
#include <stdio.h>

#include "base/become.h"
#include "slurmstepd/task/plugin.h"

int plugin_limit_rights(const struct step *step, struct err *err)
{
    return step->uid == 0 ? 0 : become_limited(err);
}

int plugin_open(struct step *step, struct err *err)
{
    if (!step->start->n_spank_plugins)
        return 0;
    return err_set(err, -ERR_NODE_FAULT, "slurmstepd loads no plugins, slurmstepd-spank does");
}

int plugin_user_init(struct step *step, struct err *err)
{
    return 0;
}

int plugin_task_privileged(struct task *t, struct child_plan *plan, struct err *err)
{
    return 0;
}

int plugin_task_init(struct task *t, struct child_plan *plan, struct err *err)
{
    return 0;
}

const int *plugin_descriptors(const struct step *step, size_t *count)
{
    *count = 0;
    return NULL;
}

int plugin_task_forked(struct task *t, struct err *err)
{
    return 0;
}

void plugin_task_ended(struct task *t)
{
}

bool plugin_is_open(const struct step *step)
{
    return false;
}

void plugin_started(struct step *step)
{
}

void plugin_exit(struct step *step)
{
}

void plugin_done(struct step *step)
{
}

int plugin_script(int argc, char **argv)
{
    fputs("slurmstepd: error: slurmstepd-spank does this\n", stderr);
    return 1;
}
