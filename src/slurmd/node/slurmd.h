/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The complete state of the node daemon. All code runs on the loop's thread, except look-ups of
 * users, which run on a worker with their own copy of the data.
 *
 * The spool directory (0755, ours):
 *   id          random, created once; together with the boot id it identifies the incarnation
 *   boot        the boot id at which the rest was written; a different boot id wipes the rest
 *   controller  the controller's last welcome: its public key and epoch
 *   events      events that the controller has not acknowledged, see events.h
 *   revoked     jobs that have ended, see revoked.h
 *   conf-cache/ the controller's slurm.conf, of a configless node, see configless.h (0755)
 *   usage       resource usage so far, see usage.h; survives a reboot
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
    const struct conf_node *node; /* our row in conf */
    char *name, *host;
    char *spool, *stepd_path, *stepd_spank_path; /* stepd_spank_path: the one that loads plugins */
    /* Process that forks shepherds, see shepherd.h; NULL: not started. */
    struct nursery *nursery;
    char *log_file; /* log file in use; NULL: none */
    char incarnation[96];
    int64_t started_at; /* wall-clock seconds */
    int null_fd, lock_fd;
    unsigned descriptors; /* our limit of open files at start, which tasks get as well */
    rlim_t core_limit;    /* our core file limit in bytes at start, which tasks get as well */
    unsigned verbose;
    /* The level was set by 'scontrol setdebug'; until the configuration is read again. */
    bool debug_given;
    uint32_t debug;
    /* The flags were set by 'scontrol setdebugflags nodes='; until then as well. */
    bool debug_flags_given;
    uint64_t debug_flags;
    char *log_file_given;      /* -L: overrides SlurmdLogFile; NULL: none */
    bool rebooted;             /* -b: report a reboot, with a new id */
    bool rebooting;            /* RebootProgram is running */
    bool named;                /* -N was given: several daemons may share this host */
    bool foreground, terminal; /* terminal: still attached to the caller's terminal */

    struct configless *configless; /* NULL: the host has its own slurm.conf */
    char *dynamic;                 /* -Z: node definition for the controller; NULL: none */
    char *extra;                   /* --extra: sent until the controller has it; NULL: none */
    char *parameters;              /* --parameters; NULL: none */
    char *own_line;                /* 'dynamic' with the node's name, appended to slurm.conf */
    char *conf_refused;  /* reason why the newest configuration is not in force; NULL: it is */
    int64_t timeout_sec; /* SlurmdTimeout in seconds, from the controller; negative: unknown yet */

    struct hw hw;
    bool cpus_told; /* the reason why tasks are not bound to CPUs was logged */
    bool freq_told; /* the reason why CpuFreqDef has no effect was logged */
    struct auth_key key;
    struct rpc_server *server;

    struct rpc_session *controller;
    struct loop_timer *beat;
    /* Checks that the controller's host has acknowledged the last heartbeat. */
    struct loop_timer *ear;
    struct run *scripts; /* running scripts, see script.c */
    /* Number of scripts of an earlier daemon; serial scripts wait for them. */
    unsigned old_scripts;
    bool have_public_key, welcome;
    uint8_t public_key[AUTH_CRED_KEY_SIZE];
    uint64_t epoch;
    Pb__NodeWelcome *welcomed; /* the last welcome, or the one in the file; NULL: none */

    struct contain *contain; /* control groups; NULL: unused */
    struct jobtmp *jobtmp;   /* per-job directories; NULL: not configured */
    struct stack *plugins;   /* SPANK plugins of the daemon; NULL: none */
    struct health *health;
    struct events *events;
    unsigned signals_reported; /* reported but unacknowledged */
    struct revoked *revoked;
    struct cancelled *cancelled;
    struct usage *usage;
    struct user_cache *users;
    struct attempt *attempts; /* by (id, restarts) */
    uint64_t next_launch;
    struct tree *trees; /* requests that are being passed on, see tree.h */
};
