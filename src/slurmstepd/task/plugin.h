/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SPANK plugins around the step and its tasks. Only slurmstepd-spank, which slurmd starts
 * for steps whose start message names plugins, is linked with plugin.c; slurmstepd is linked with
 * plugin_none.c, whose functions do nothing (docs/adr/0020).
 *
 * A plugin is trusted like the shepherd and runs inside it: while a callback runs, the shepherd
 * does nothing else.
 */
#pragma once

#include "slurmstepd/task/child.h"

/* Drops the capabilities that the step daemon of an unprivileged user does not need. Site plugins
 * and PAM modules may need any capability. A step of root keeps them: a task that regained them by
 * executing its program would write no core file. */
int plugin_limit_rights(const struct step *step, struct err *err);

/* Loads the plugins and passes their options: init, init_post_opt. */
int plugin_open(struct step *step, struct err *err);
/* Before the first task is created: user_init, as the user. */
int plugin_user_init(struct step *step, struct err *err);

/* In the child, first as root; then as the user, when everything except the program is set up. */
int plugin_task_privileged(struct task *t, struct child_plan *plan, struct err *err);
int plugin_task_init(struct task *t, struct child_plan *plan, struct err *err);
/* Returns the descriptors that plugins have opened; they stay open in tasks until exec. */
const int *plugin_descriptors(const struct step *step, size_t *count);

/* In the shepherd, after the fork. */
int plugin_task_forked(struct task *t, struct err *err);
void plugin_task_ended(struct task *t);
bool plugin_is_open(const struct step *step);
void plugin_started(struct step *step); /* the tasks' streams are open */
void plugin_exit(struct step *step);    /* no process of the step is left; called once */
void plugin_done(struct step *step);

/* Main function of the program beside a site's script: "prolog" or "epilog", and the optional path
 * of the script. Returns the exit status. */
int plugin_script(int argc, char **argv);
