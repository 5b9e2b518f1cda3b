/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The node daemon's only state. Everything runs on the loop's thread; look-ups of users run on a
 * worker with a copy of their own.
 *
 * The spool directory (0755, ours):
 *   id          random, made once; with the boot id it is our incarnation
 *   boot        the boot id under which the rest was written; another one wipes it
 *   controller  the controller's last welcome: its public key and epoch
 *   events      what the controller has not acknowledged yet, see events.h
 *   revoked     jobs that are over, see revoked.h
 *   conf-cache/ the controller's slurm.conf, of a configless node, see configless.h (0755)
 *   usage       what processes have used so far, see usage.h; outlives the boot
 *   jobs/       a note per job, see note.h (0700)
 *   steps/      a shepherd's socket and exit file per step (0700)
 *   job00042/   the script of a batch job (0711), kept by its shepherd
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "auth/auth.h"
#include "conf/conf.h"
#include "loop/loop.h"
#include "proto/node.pb-c.h"
#include "rpc/server.h"
#include "rpc/session.h"
#include "slurmd/node/hw.h"

struct attempt;
struct cancelled;
struct configless;
struct contain;
struct events;
struct health;
struct jobtmp;
struct nursery;
struct revoked;
struct tree;
struct stack;
struct usage;
struct user_cache;

struct slurmd {
    struct loop *loop;
    struct conf *conf;
    const struct conf_node *node; /* our row, in conf */
    char *name, *host;
    char *spool, *stepd_path, *stepd_spank_path; /* the latter loads plugins */
    struct nursery *nursery;                     /* of shepherds, see shepherd.h; NULL: not yet */
    char *log_file;                              /* in use; NULL: none */
    char incarnation[96];
    int64_t started_at; /* wall seconds */
    int null_fd, lock_fd;
    unsigned descriptors; /* how many we were given; tasks have as many */
    rlim_t core_limit;    /* of core files, bytes, as it was given to us; that of tasks */
    unsigned verbose;
    bool debug_given; /* by 'scontrol setdebug', until the configuration is read again */
    uint32_t debug;
    bool debug_flags_given; /* by 'scontrol setdebugflags nodes=', as long */
    uint64_t debug_flags;
    char *log_file_given;      /* -L: in place of SlurmdLogFile; NULL: none */
    bool rebooted;             /* -b: reports a reboot, by a new id */
    bool rebooting;            /* RebootProgram runs */
    bool named;                /* by -N: several may share this host */
    bool foreground, terminal; /* terminal: the caller's is still ours */

    struct configless *configless; /* NULL: the host has a slurm.conf */
    char *dynamic;       /* -Z: what the controller is to create this node with; NULL: nothing */
    char *extra;         /* --extra: told until the controller has it; NULL: nothing */
    char *own_line;      /* the same with its name, behind the lines of slurm.conf */
    char *conf_refused;  /* why the newest configuration is not in force; NULL: it is */
    int64_t timeout_sec; /* SlurmdTimeout, as the controller has told it; negative: not yet */

    struct hw hw;
    bool cpus_told; /* why no task is bound to CPUs */
    bool freq_told; /* why CpuFreqDef has no effect */
    struct auth_key key;
    struct rpc_server *server;

    struct rpc_session *controller;
    struct loop_timer *beat;
    struct loop_timer *ear; /* whether the controller's host has the last beat */
    struct run *scripts;    /* those that run, see script.c */
    unsigned old_scripts;   /* of an earlier daemon: serial ones wait for them */
    bool have_public_key, welcome;
    uint8_t public_key[AUTH_CRED_KEY_SIZE];
    uint64_t epoch;
    Pb__NodeWelcome *welcomed; /* the last one, or that of the file; NULL: none */

    struct contain *contain; /* control groups; NULL: none are used */
    struct jobtmp *jobtmp;   /* directories of jobs; NULL: they have none of their own */
    struct stack *plugins;   /* of the site; NULL: none */
    struct health *health;
    struct events *events;
    unsigned signals_reported; /* and not acknowledged */
    struct revoked *revoked;
    struct cancelled *cancelled;
    struct usage *usage;
    struct user_cache *users;
    struct attempt *attempts; /* by (id, restarts) */
    uint64_t next_launch;
    struct tree *trees; /* requests that are passed on, see tree.h */
};
