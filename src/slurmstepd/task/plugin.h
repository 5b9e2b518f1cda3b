/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SPANK plugins round the step and its tasks. Only slurmstepd-spank has them, which slurmd
 * starts for steps whose start message names plugins: plugin.c is linked there, and plugin_none.c,
 * where all of this is nothing, in slurmstepd (docs/adr/0020).
 *
 * A plugin is trusted like the shepherd itself, and runs in it: while a callback works, nothing
 * else is done for the step.
 */
#pragma once

#include "slurmstepd/task/child.h"

/* Gives up the capabilities that the step daemon of a user does not need itself. Plugins of the
 * site and modules of PAM may need any. A step of root keeps them: a task that got them back with
 * its program would write no core file. */
int plugin_limit_rights(const struct step *step, struct err *err);

/* Loads the plugins, hands them their options: init, init_post_opt. */
int plugin_open(struct step *step, struct err *err);
/* Before the first task is made: user_init, as the user. */
int plugin_user_init(struct step *step, struct err *err);

/* In the child, as root; then as the user, when all but its program is there. */
int plugin_task_privileged(struct task *t, struct child_plan *plan, struct err *err);
int plugin_task_init(struct task *t, struct child_plan *plan, struct err *err);
/* What plugins have opened, and their tasks find open until they run their programs. */
const int *plugin_descriptors(const struct step *step, size_t *count);

/* In the shepherd. */
int plugin_task_forked(struct task *t, struct err *err);
void plugin_task_ended(struct task *t);
bool plugin_is_open(const struct step *step);
void plugin_started(struct step *step); /* tasks have their streams */
void plugin_exit(struct step *step);    /* nothing of the step lives any more; once */
void plugin_done(struct step *step);

/* The program beside a site's script: "prolog" or "epilog", and the script's path, which may be
 * missing. Returns the exit status. */
int plugin_script(int argc, char **argv);
