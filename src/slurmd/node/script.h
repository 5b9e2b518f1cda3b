/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the site's programs: as the daemon's user, with a separate environment (scriptenv.h),
 * without a shell, in a session of their own, and within the site's time limit.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "loop/loop.h"
#include "slurmd/node/slurmd.h"

#define SCRIPT_KILL_AFTER_MS 5000
/* Interval of reports about a script that waits, or runs without a limit. */
#define SCRIPT_REMIND_MS 300000

/* Called once with the wait status; text is the reason of a failure, or NULL on success. */
typedef void script_fn(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                       const char *text);

/* Called before the program is started with pid 0, and afterwards with its pid. */
typedef void script_begin_fn(void *ctx, uint32_t job_id, uint32_t restarts, pid_t pid);

/* The script delays its job: it runs long without a limit, or waits for another script. text names
 * that script, and is NULL when the delay has ended. Called once for each; the end precedes
 * 'done'. */
typedef void script_held_fn(void *ctx, uint32_t job_id, uint32_t restarts, const char *text);

struct script {
    const char *what, *path; /* what: "Prolog", for messages; path NULL: only the plugins run */
    /* Program that runs the plugins and then the script, see plugins.h; NULL: none. */
    const char *host;
    const char *verb;  /* the action for the host program */
    int64_t limit_sec; /* then SIGTERM to the session, later SIGKILL; 0: none */
    uint32_t job_id, restarts;
    bool serial;             /* waits until all earlier serial scripts have ended */
    script_begin_fn *begins; /* may be NULL */
    script_held_fn *held;    /* may be NULL */
    int64_t patience_sec;    /* seconds until the first report; 0: 300 */
};

/* Starts the script, or queues it. If it cannot be started, done is still called later. The
 * function takes ownership of env. */
void script_run(struct slurmd *d, const struct script *script, char **env, script_fn *done,
                void *ctx);

/* A script of an earlier daemon has ended, or all of them are now known: d->old_scripts has
 * decreased. */
void script_old_ended(struct slurmd *d);

/* At the end of the daemon: scripts continue to run, and their ends are not reported. */
void script_forget_all(struct slurmd *d);

/* The time limit of prologs or epilogs in slurm.conf; 0: none. */
int64_t script_limit_sec(const struct conf *c, bool is_epilog);

/* For oldscript.c: the time until the first report of a script without a limit; the text of that
 * report (since: wall-clock seconds); and the text for a script that has exceeded its limit. The
 * caller frees the texts. */
int64_t script_patience_ms(const struct script *s);
char *script_say_runs(const struct script *s, pid_t pid, int64_t since);
char *script_say_late(const struct script *s);

/* Refuses programs that other users can change, also indirectly through the programs they name.
 * Missing programs are accepted here; they are checked again when they run. */
int script_check_conf(const struct conf *c, struct err *err);
