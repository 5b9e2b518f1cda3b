/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations shared by the parts of scontrol. */
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

/* Commands: argv[0] is the first argument after the command word. They print their errors and
 * return the exit status. */
typedef int scontrol_run(int argc, char **argv);
scontrol_run run_abort, run_check, run_create, run_delete, run_errnumstr, run_help, run_hold,
    run_ping, run_quit, run_reconfigure;
scontrol_run run_release, run_requeue, run_requeuehold, run_schedloglevel, run_setdebug,
    run_setdebugflags, run_show, run_shutdown;
scontrol_run run_getaddrs, run_getent, run_listjobs, run_listpids, run_liststeps, run_notify,
    run_pidinfo;
scontrol_run run_cancel_reboot, run_completing, run_reboot, run_resume, run_suspend, run_takeover,
    run_token, run_top, run_uhold, run_update, run_version, run_wait_job, run_write;

/* "scontrol show": one function for each entity; 'id' is the word after the entity, or NULL. */
#define ENTITY(word, run, takes, help) int run(const char *id);
#define PLANNED(word, instead)
#include "cmd/scontrol/entities.def"
#undef ENTITY
#undef PLANNED
struct str;
void show_put_entities(struct str *out); /* the help text */
/* Prints "Partition foo not found" in place of the entity; as an error with JSON and YAML. Returns
 * the exit status. */
int show_say_not_found(const char *what, const char *name);

/* Writes the text of resources.yaml to the file; NULL or "-": standard output. Returns the exit
 * status. */
int write_resources(const char *file);

/* Prints a line for each controller with its availability. full: also the leader of several
 * controllers, or everything as JSON or YAML. Returns 0 if at least one controller answers,
 * otherwise 1. */
int ping_print(bool full);

/* Parses jobs and array elements such as "1,2", "3", "4_[1-5,7]" and "JobName=NAME"; negative after
 * a message. */
int jobs_parse(int argc, char **argv, struct job_id_list *jobs);
/* Appends the jobs or steps of one word. Below 0: invalid, which the caller reports; for a
 * component that does not exist, it has already been reported what exists. */
int jobs_parse_word(const char *word, struct job_id_list *jobs);
/* Sends the same request for each job. A failure does not stop the loop, unless the controller
 * cannot be reached. Returns the exit status, after messages. */
int jobs_each(const struct job_id_list *jobs,
              int (*ask)(void *ctx, const Pb__StepId *job, struct err *err), void *ctx);
