/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sluice command: a private cluster on this machine, in one directory, brought up by one
 * command and taken down by another, without any privilege. What it writes is an ordinary
 * slurm.conf, and what it starts are the ordinary daemons.
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
#define SLUICE_START_MS 60000 /* until a cluster that does not come up counts as failed */
#define SLUICE_SETTLE_MS 3000 /* before a node that is down for a reason is taken to stay so */
#define SLUICE_STOP_MS 20000  /* for daemons to end when asked to */
#define SLUICE_KILL_MS 5000   /* after SIGTERM, and after SIGKILL */
#define SLUICE_LOG_LINES 12   /* of a daemon that failed */

struct sluice_options {
    char *dir;             /* absolute */
    bool dir_given;        /* else it is the default one */
    unsigned nodes;        /* 0: not given */
    unsigned cpus;         /* of each node; 0: the machine's */
    uint64_t memory_mib;   /* of each node; 0: its share of the machine's */
    unsigned port_base;    /* 0: any free ones */
    const char *cluster;   /* name; NULL: "sluice" */
    VEC(const char *) set; /* further lines of slurm.conf */
    bool renew;            /* write slurm.conf again */
    bool clean;            /* forget the saved state */
    bool keep_jobs;        /* down: leave running jobs running */
    bool clear;            /* usage: begin to count from zero */
    bool json;             /* of verbs that show something */
    unsigned iterate_sec;  /* seconds from one look to the next; 0: one look */
    bool names;            /* record: users by their names, too */
    unsigned for_sec;      /* record: go on for so long; 0: what is there now */
    const char *consumer;  /* events; NULL: the default one */
    bool attempts;         /* events: rows of the archive */
    uint64_t since;        /* events: behind this number, when since_given */
    bool since_given, follow, forget;
    bool edited; /* state import: of a file that is not as it was written */
};

/* The verbs; each returns the status to exit with. 'operand': the words behind it, and NULL in the
 * place of each that was not given; where there may be any number, NULL behind the last one. */
#define SLUICE_OPERANDS 2
#define SLUICE_ANY UINT_MAX
#define VERB(name, operands)                                                                       \
    int sluice_##name(const struct sluice_options *o, const char *const *operand);
#include "cmd/sluice/verbs.def"

/* Which cluster a verb is about that is not of private ones only: that of --dir, else of
 * SLURM_CONF, else the one in the default directory. Sets SLURM_CONF. */
void sluice_choose(const struct sluice_options *o);

/* place.c */
char *place_default(void); /* the caller frees */
/* Links and dots resolved as far as it exists: one cluster has one name. The caller frees. */
char *place_real(const char *dir);
char *place_path(const char *dir, const char *name); /* DIR/NAME; the caller frees */
char *place_program(const char *name);               /* PREFIX/sbin/NAME; the caller frees */
bool place_has_cluster(const char *dir);
int place_load(const char *dir, struct conf **conf, struct conf_report *report, struct err *err);
/* Whether the node is to run: one that the file only announces (FUTURE, CLOUD) is not. */
bool place_expects(const struct conf *conf, const struct conf_node *n);
size_t place_count(const struct conf *conf); /* of those */
/* Refuses a directory that others own or may write to: what is put there is theirs. As root, those
 * above it too. made_from: the first that is not there yet; NULL: all are. */
int place_check(const char *dir, const char *made_from, struct err *err);
/* Refuses to speak of another user's cluster, whose daemons are not to be seen; root sees all. */
int place_check_seen(const char *dir, struct err *err);
/* One command at a time in a directory, of its owner or of root: a descriptor, or negative. */
int place_lock(const char *dir, struct err *err);
void place_lock_remove(const char *dir); /* by its holder, from where there is no cluster */
/* The first directory of the path that does not exist; NULL: it does. The caller frees. */
char *place_first_missing(const char *dir);
/* Everything that 'up' made, and the emptied directories from DIR up to 'made_from' (may be NULL).
 */
void place_remove(const char *dir, const char *made_from);

/* write.c: slurm.conf and slurm.key, and the directories beside them. */
int write_cluster(const struct sluice_options *o, struct err *err);

/* daemon.c */
struct daemon_start { /* a daemon being started: it has come up when its first process ends well */
    char *name;       /* "slurmctld", "slurmd n3" */
    pid_t pid;
    int said_fd; /* what it wrote to standard error */
};
int daemon_spawn(const char *program, const char *dir, const char *node, bool clean,
                 struct daemon_start *d, struct err *err);
int daemon_wait(struct daemon_start *d, struct err *err); /* 0, or err with what it said */
void daemon_start_done(struct daemon_start *d);
char *daemon_log_tail(const char *dir, const char *node); /* NULL: slurmctld; the caller frees */

struct daemon_pid {
    pid_t pid;
    char *name; /* slurmctld, slurmd-n1 */
};
struct daemon_list {
    VEC(struct daemon_pid) all;
};
/* The live daemons of the directory by its pid files; a pid that is some other program by now is
 * none of ours. */
void daemon_list(const char *dir, struct daemon_list *list);
/* The live step daemons of the directory's jobs, and the processes of these steps. */
void daemon_list_steps(const char *dir, struct daemon_list *list);
void daemon_list_done(struct daemon_list *list);
pid_t daemon_find(const struct daemon_list *list, const char *name); /* 0: it does not run */
/* Waits for the process, be it our child or not; false: it still runs after ms. */
bool daemon_ends(pid_t pid, int64_t ms);
void daemon_drop_gone(struct daemon_list *list); /* those that run no more */
/* Waits for all of them to end; how many are left after ms. */
size_t daemon_wait_gone(const struct daemon_list *list, int64_t ms);
void daemon_kill(const struct daemon_list *list, int signo);

/* Of a job that is suspended while others have what it shares with them: when it goes on. */
int sluice_put_turn(const Pb__JobRecord *job, struct str *out, struct err *err);
