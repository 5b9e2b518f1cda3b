/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of scontrol share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/job_arg.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"

#define ARGS_MANY 1000000

struct scontrol {
    bool all, details, dry_run, oneliner, quiet, json, yaml, future, leave;
    bool is_session; /* commands are read from standard input */
};
extern struct scontrol scontrol;

/* Commands: argv[0] is the first argument after the word. They print their errors and return the
 * status to exit with. */
typedef int scontrol_run(int argc, char **argv);
scontrol_run run_abort, run_check, run_create, run_delete, run_errnumstr, run_help, run_hold,
    run_ping, run_quit, run_reconfigure;
scontrol_run run_release, run_requeue, run_requeuehold, run_schedloglevel, run_setdebug,
    run_setdebugflags, run_show, run_shutdown;
scontrol_run run_getaddrs, run_getent, run_listjobs, run_listpids, run_liststeps, run_notify,
    run_pidinfo;
scontrol_run run_cancel_reboot, run_completing, run_reboot, run_resume, run_suspend, run_takeover,
    run_token, run_top, run_uhold, run_update, run_version, run_wait_job, run_write;

/* "scontrol show": a function for each entity, of the word behind it, or NULL. */
#define ENTITY(word, run, takes, help) int run(const char *id);
#define PLANNED(word, instead)
#include "cmd/scontrol/entities.def"
#undef ENTITY
#undef PLANNED
struct str;
void show_put_entities(struct str *out); /* the help */
/* "Partition foo not found", where the entity would be; as an error beside JSON and YAML. Returns
 * the status to exit with. */
int show_say_not_found(const char *what, const char *name);

/* The text of resources.yaml, to that file; NULL or "-": to standard output. The status to exit
 * with. */
int write_resources(const char *file);

/* Whether the controllers answer, a line each; full: with the leader of several, or all as JSON or
 * YAML. 0: at least one controller answers; 1: none does. */
int ping_print(bool full);

/* Jobs and elements of job arrays out of "1,2", "3", "4_[1-5,7]" and "JobName=NAME"; negative after
 * a message. */
int jobs_parse(int argc, char **argv, struct job_id_list *jobs);
/* Asks for the same for each job; one that fails does not spare the others, unless the controller
 * is not there. The status to exit with, after messages. */
int jobs_each(const struct job_id_list *jobs,
              int (*ask)(void *ctx, const Pb__StepId *job, struct err *err), void *ctx);
