/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sluice command: one command starts a private cluster on this machine, in one directory and
 * without privileges, and another one stops it. It writes an ordinary slurm.conf and starts the
 * ordinary daemons.
 *
 * In the directory: slurm.conf, slurm.key, log/, run/ (pid files, local sockets), spool/NODE/,
 * state/.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "proto/job.pb-c.h"

#define SLUICE_NODES_MAX 1000
#define SLUICE_START_MS 60000 /* time limit for the start of a cluster */
/* How long a node must be down with a reason before it counts as permanently down. */
#define SLUICE_SETTLE_MS 3000
#define SLUICE_STOP_MS 20000 /* time limit for daemons to end on request */
#define SLUICE_KILL_MS 5000  /* time limit after SIGTERM, and after SIGKILL */
#define SLUICE_LOG_LINES 12  /* of the log of a daemon that failed */

struct sluice_options {
    char *dir;             /* absolute */
    bool dir_given;        /* the user named the directory; otherwise it is the default one */
    unsigned nodes;        /* 0: not given */
    unsigned cpus;         /* of each node; 0: the machine's count */
    uint64_t memory_mib;   /* of each node; 0: an equal share of the machine's memory */
    unsigned port_base;    /* 0: any free ports */
    const char *cluster;   /* cluster name; NULL: "sluice" */
    VEC(const char *) set; /* additional lines of slurm.conf */
    bool renew;            /* write slurm.conf anew */
    bool clean;            /* delete the saved state */
    bool keep_jobs;        /* down: do not end running jobs */
    bool clear;            /* usage: reset the counters */
    bool json;             /* for verbs with output */
    unsigned iterate_sec;  /* refresh interval; 0: print once */
    bool names;            /* record: include user names */
    unsigned for_sec;      /* record: duration; 0: only the current jobs */
    const char *consumer;  /* events; NULL: the default consumer */
    bool attempts;         /* events: print rows of the archive */
    uint64_t since;        /* events: start after this number, if since_given */
    bool since_given, follow, forget;
    bool edited; /* state import: accept a file that was edited on purpose */
};

/* The verbs; each returns the exit status. 'operand' holds the words after the verb, with NULL for
 * each missing one; a verb with any number of operands has NULL after the last one. */
#define SLUICE_OPERANDS 2
#define SLUICE_ANY UINT_MAX
#define VERB(name, operands)                                                                       \
    int sluice_##name(const struct sluice_options *o, const char *const *operand);
#include "cmd/sluice/verbs.def"

/* Chooses the cluster for a verb that works with any cluster: that of --dir, otherwise of
 * SLURM_CONF, otherwise the one in the default directory. Sets SLURM_CONF. */
void sluice_choose(const struct sluice_options *o);

/* place.c */
char *place_default(void); /* the caller frees */
/* Resolves links and dots in the existing part of the path, so that a cluster has one name. The
 * caller frees it. */
char *place_real(const char *dir);
char *place_path(const char *dir, const char *name); /* DIR/NAME; the caller frees */
char *place_program(const char *name);               /* PREFIX/sbin/NAME; the caller frees */
bool place_has_cluster(const char *dir);
int place_load(const char *dir, struct conf **conf, struct conf_report *report, struct err *err);
/* Whether the node should run: FUTURE and CLOUD nodes should not. */
bool place_expects(const struct conf *conf, const struct conf_node *n);
size_t place_count(const struct conf *conf); /* the number of nodes that should run */
/* Rejects a directory that another user owns or may write to, since that user controls its
 * contents; for root also such parent directories. made_from: the first missing directory of the
 * path; NULL: all exist. */
int place_check(const char *dir, const char *made_from, struct err *err);
/* Rejects another user's cluster, whose daemons the caller cannot see; root can see all. */
int place_check_seen(const char *dir, struct err *err);
/* Only one command at a time, of the owner or of root, may work in a directory. Returns a
 * descriptor, or a negative error. */
int place_lock(const char *dir, struct err *err);
/* Call with the lock held, in a directory without a cluster. */
void place_lock_remove(const char *dir);
/* The first directory of the path that does not exist; NULL: all exist. The caller frees it. */
char *place_first_missing(const char *dir);
/* Removes everything that 'up' created, and the empty directories from DIR up to 'made_from' (may
 * be NULL). */
void place_remove(const char *dir, const char *made_from);

/* write.c: slurm.conf, slurm.key, and the directories beside them. */
int write_cluster(const struct sluice_options *o, struct err *err);

/* daemon.c */
struct daemon_start { /* a starting daemon; it is up when its first process exits with 0 */
    char *name;       /* "slurmctld", "slurmd n3" */
    pid_t pid;
    int said_fd; /* its standard error */
};
int daemon_spawn(const char *program, const char *dir, const char *node, bool clean,
                 struct daemon_start *d, struct err *err);
/* Returns 0, or err with the daemon's messages. */
int daemon_wait(struct daemon_start *d, struct err *err);
void daemon_start_done(struct daemon_start *d);
/* Node NULL: slurmctld; the caller frees it. */
char *daemon_log_tail(const char *dir, const char *node);

struct daemon_pid {
    pid_t pid;
    char *name; /* slurmctld, slurmd-n1 */
};
struct daemon_list {
    VEC(struct daemon_pid) all;
};
/* Finds the live daemons of the directory by its pid files. A pid that another program uses by now
 * is skipped. */
void daemon_list(const char *dir, struct daemon_list *list);
/* Finds the live step daemons of the directory's jobs, and the processes of these steps. */
void daemon_list_steps(const char *dir, struct daemon_list *list);
void daemon_list_done(struct daemon_list *list);
pid_t daemon_find(const struct daemon_list *list, const char *name); /* 0: not running */
/* Waits for the process, which need not be a child; false: it still runs after ms. */
bool daemon_ends(pid_t pid, int64_t ms);
void daemon_drop_gone(struct daemon_list *list); /* removes processes that have ended */
/* Waits for all of them to end; returns how many are left after ms. */
size_t daemon_wait_gone(const struct daemon_list *list, int64_t ms);
void daemon_kill(const struct daemon_list *list, int signo);

/* Prints when a job that waits for its turn will run again. */
int sluice_put_turn(const Pb__JobRecord *job, struct str *out, struct err *err);
