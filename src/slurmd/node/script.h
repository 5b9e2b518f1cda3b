/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The site's programs: as the daemon's own user, with an environment of their own (scriptenv.h), no
 * shell around them, a session of their own, and the time limit that the site has set.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "conf/conf.h"
#include "loop/loop.h"
#include "slurmd/node/slurmd.h"

#define SCRIPT_KILL_AFTER_MS 5000
#define SCRIPT_REMIND_MS 300000 /* of one that waits, or has no limit and still runs */

/* Called once with the wait status; text says in words what went wrong, NULL when it went well. */
typedef void script_fn(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                       const char *text);

/* It begins: called before it is started with 0, and after that with its number. */
typedef void script_begin_fn(void *ctx, uint32_t job_id, uint32_t restarts, pid_t pid);

/* It keeps its job waiting: it runs on without a limit, or waits for another; text names it, and is
 * NULL when that is over. Told once each, the end before 'done'. */
typedef void script_held_fn(void *ctx, uint32_t job_id, uint32_t restarts, const char *text);

struct script {
    const char *what, *path; /* what: "Prolog", for messages; path NULL: the plugins alone */
    const char *host;        /* runs the plugins and then it, see plugins.h; NULL: none */
    const char *verb;        /* what the host is to do with it */
    int64_t limit_sec;       /* then SIGTERM, and SIGKILL to the session later; 0: none */
    uint32_t job_id, restarts;
    bool serial;             /* not before all such ones that are due already have ended */
    script_begin_fn *begins; /* NULL: nobody cares */
    script_held_fn *held;    /* so, too */
    int64_t patience_sec;    /* until that; 0: 300 s */
};

/* Starts it, or has it wait; when it could not be started, done is called later all the same. The
 * environment is taken over. */
void script_run(struct slurmd *d, const struct script *script, char **env, script_fn *done,
                void *ctx);

/* One that an earlier daemon started has ended, or all such ones are known now: d->old_scripts has
 * become less. */
void script_old_ended(struct slurmd *d);

/* At the end of the daemon: scripts run on, and nobody is told how they ended. */
void script_forget_all(struct slurmd *d);

/* Of slurm.conf: the limit of prologs and of epilogs, 0 for none. */
int64_t script_limit_sec(const struct conf *c, bool is_epilog);

/* For oldscript.c: when one that has no limit is spoken of first; what is said of it, since: wall
 * seconds; and of one that has met its limit. The caller frees. */
int64_t script_patience_ms(const struct script *s);
char *script_say_runs(const struct script *s, pid_t pid, int64_t since);
char *script_say_late(const struct script *s);

/* Refuses one that others can change, or that names programs that others can change. Programs that
 * are not there are no matter yet: they are looked at again when they run. */
int script_check_conf(const struct conf *c, struct err *err);
