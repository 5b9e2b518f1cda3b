/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The configuration: slurm.conf with its Include files, as one typed, validated, read-only object.
 *
 * Every scalar key is a row of conf.def, which generates the struct below, the parser, "scontrol
 * show config", the man page and the suggestions for mistyped names. Node and partition rows have
 * tables of their own (conf_node.def, conf_part.def).
 *
 * An unknown key is a warning with file, line and the nearest known name; an invalid value is an
 * error with file and line. A key that is accepted for compatibility and has no effect causes one
 * warning. Keys and enumerated values are case-insensitive. conf_path() finds the file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "conf/conf_rows.h"
#include "conf/conf_sched.h"
#include "conf/conf_topo.h"
#include "conf/conf_value.h"
#include "conf/conf_words.h"

#define CONF_NODES_MAX 200000
#define CONF_SOCKET_DIRS 5

enum conf_select {
    CONF_SELECT_LINEAR,
    CONF_SELECT_CONS
}; /* SelectType: whole nodes, or cores and memory */
enum conf_cr {
    CONF_CR_CPU = 1,
    CONF_CR_CORE = 2,
    CONF_CR_SOCKET = 4,
    CONF_CR_MEMORY = 8,
    CONF_CR_LLN = 16,              /* prefer the least loaded nodes */
    CONF_CR_PACK = 32,             /* fill one node with tasks before the next */
    CONF_CR_ONE_TASK = 64,         /* one task per core, unless the job specifies otherwise */
    CONF_CR_NEAR_GRES = 256,       /* enforce-binding, unless the job specifies otherwise */
    CONF_CR_LL_SHARED = 512,       /* allocate shared GPUs on the least used GPU */
    CONF_CR_SEVERAL_SHARED = 1024, /* a job may have parts of several GPUs of a node */
    CONF_CR_ONE_PER_SHARED = 2048, /* one-task-per-sharing, unless the job specifies otherwise */
    /* Fill the cores of one socket before the next, unless the job specifies otherwise. */
    CONF_CR_BLOCK = 128
}; /* bit mask */

struct conf_keepalive { /* TCP keep-alive by CommunicationParameters; 0: the program's defaults */
    uint32_t idle_sec, every_sec, probes;
};

struct conf_rate { /* rate limit of a user's requests */
    bool enable;
    uint32_t bucket, refill, period_sec, users;
};

struct conf_host {
    /* SlurmctldHost=name(addr); addr defaults to name. SlurmctldAddr, an address that moves with
       the lead, precedes both. */
    const char *name, *addr;
    const char *own_addr; /* this host's own address: the one in parentheses, or the name */
    bool in_brackets;     /* own_addr was given in parentheses */
    unsigned rank;        /* index in conf.controllers; 0: the primary */
};

struct conf_node_set { /* NodeSet: a name for a set of nodes */
    const char *name;
    struct bitset *nodes;
};

#include "conf/conf_auth.h"
#include "conf/conf_burst.h"
#include "conf/conf_cgroup.h"
#include "conf/conf_hres.h"

struct conf {
    const char *path;     /* absolute path of the main file */
    int64_t read_at;      /* wall-clock seconds */
    uint32_t next_job_id; /* of the controller that shows the configuration; 0: unknown */
    /* Equal to read_at; a daemon that reads again copies the value of its first configuration. */
    int64_t boot_at;
    uint64_t hash; /* hash of all text read; node daemons report it */

    /* Scalars: one member per row of conf.def. */
#define CONF(key, member, type, def, min, max, effect, help) CONF_MEMBER_##type member;
#include "conf/conf.def"
#undef CONF

    /* Derived and validated. */
    VEC(struct conf_host)
    controllers; /* SlurmctldHost, or ControlMachine and BackupController; at least one */
    uid_t slurm_uid, slurmd_uid; /* uids of SlurmUser and SlurmdUser */
    enum conf_select select;
    unsigned cr;                               /* CONF_CR_* bits */
    uint64_t debug;                            /* DebugFlags as bits of enum conf_debug */
    uint16_t slurmctld_port_last;              /* SlurmctldPort=6817-6818 */
    const char *socket_dirs[CONF_SOCKET_DIRS]; /* see conf_socket_path() */
    size_t socket_dir_count;
    bool config_overrides;    /* SlurmdParameters=config_overrides */
    bool schedule_actual;     /* FastSchedule=0: use what nodes report */
    bool enable_configless;   /* SlurmctldParameters=enable_configless */
    bool allow_user_triggers; /* SlurmctldParameters=allow_user_triggers */
    /* SlurmctldParameters=node_reg_mem_percent=; default 100 */
    double node_reg_mem_percent;
    int64_t job_acct_gather_sec;          /* task interval in JobAcctGatherFrequency; 0: none */
    uint32_t mpi_port_low, mpi_port_high; /* MpiParams=ports=LOW-HIGH; 0: none */
    bool gang;             /* PreemptMode has GANG: jobs on shared resources are time-sliced */
    bool gang_counts;      /* gang scheduling by CPU count: CR_CPU without task/affinity */
    bool over_memory_kill; /* JobAcctGatherParams, with memory as an allocated resource */
    struct conf_auth_alt auth_alt;
    struct conf_rate rate;           /* SlurmctldParameters=rl_... */
    struct conf_keepalive keepalive; /* between srun and slurmstepd */
    bool prolog_at_alloc;            /* PrologFlags=Alloc, or a flag that implies it */
    bool prolog_contain;             /* PrologFlags=Contain, or a flag that implies it */
    bool prolog_serial;              /* PrologFlags=Serial */
    uint32_t set_limits;             /* bits of enum conf_sets_limit, see conf/conf_sets.h */

    VEC(struct conf_node_row) node_rows;
    /* In the order of the file; CONF_NODE: the requested one; CONF_CLIENT: empty. */
    VEC(struct conf_node) nodes;
    VEC(struct conf_node_set) node_sets;
    VEC(struct conf_part) parts;
    struct conf_sched sched;           /* SchedulerParameters */
    VEC(struct conf_network) networks; /* CONF_FULL: at least one */
    bool networks_are_named;           /* by topology.yaml */
    uint32_t default_network;          /* network of partitions without Topology */
    struct conf_hres_list hres;        /* CONF_FULL */
    struct conf_cgroup cgroup;
    struct conf_burst burst;             /* CONF_FULL */
    VEC(struct conf_gres_set) gres_sets; /* shared by nodes with equal resources */

    struct conf_private *priv; /* memory of strings, name tables */
};

enum conf_scope {
    CONF_FULL,   /* everything (controller, checks) */
    CONF_CLIENT, /* scalars only: cheap for a cluster of any size */
    CONF_NODE,   /* scalars and the row of one node (node daemon) */
};

struct conf_warning {
    char *place; /* "FILE:LINE" or "FILE:LINE:COLUMN"; NULL: 'text' has the place */
    int line;
    char *text;
    bool no_effect; /* about a known key without effect */
    bool fault;     /* a check of the file fails because of it; a daemon runs without it */
};
struct conf_report { /* messages for the administrator besides the first error */
    VEC(struct conf_warning) warnings;
    /* Set by the caller: continues after an error and records it here as a fault. The caller gets
     * the configuration as far as it is readable, and the first error. */
    bool every_error;
};
void conf_report_done(struct conf_report *report);
/* Adds a fault found by a further check; at NULL: 'text' has the place. */
void conf_report_add(struct conf_report *report, bool fault, const char *text);
bool conf_report_fails(const struct conf_report *report); /* whether any entry is a fault */
/* Prints one line per entry, "warning: FILE:LINE: text"; keys without effect share one line. */
void conf_report_format(const struct conf_report *report, struct str *out);

/* Returns the file that a program started now would use: SLURM_CONF, PREFIX/etc/slurm.conf of the
 * running program, /etc/slurm/slurm.conf or (CORE-059) /etc/slurm.conf; if none exists, the file
 * of a configless node daemon under /run/slurm/conf. The caller frees it. */
char *conf_path(void);

/* Loads the configuration for a command (CONF_CLIENT). If there is none, err names the searched
 * places and the remedy. */
int conf_load_own(struct conf **out, struct err *err);

/* The same for a daemon, without another daemon's file, and with /etc/slurmctld.conf or
 * /etc/slurmd.conf as the last resort (CORE-025, CORE-042). The caller frees it. */
char *conf_path_daemon(const char *daemon);

/* Reads and validates a file. node_name is for CONF_NODE only: a NodeName, or NULL for the row
 * whose NodeHostname is this host's name. On failure nothing is returned and err has "FILE:LINE:
 * problem, and remedy". */
int conf_load(const char *path, enum conf_scope scope, const char *node_name, struct conf **out,
              struct conf_report *report, struct err *err);
/* The same with additional NodeName lines after the file's. The file takes precedence for a node
 * that it defines as well. 'more' NULL: none. */
int conf_load_with(const char *path, const char *more, enum conf_scope scope, const char *node_name,
                   struct conf **out, struct conf_report *report, struct err *err);
/* Loads a conf_flat_text() with other additional lines. The hash covers the file's text alone. */
int conf_load_again(const char *text, size_t len, const char *path, const char *more,
                    enum conf_scope scope, const char *node_name, struct conf **out,
                    struct err *err);
/* The same for a text in memory, in which Include lines are refused; messages call it 'name'. */
int conf_load_text(const char *text, size_t len, const char *name, enum conf_scope scope,
                   const char *node_name, struct conf **out, struct conf_report *report,
                   struct err *err);
/* Returns every line of the files, with Include files inserted and comments removed; parsed again,
 * the text has the same meaning and the same hash. Kept with CONF_FULL only, and only with
 * enable_configless, MaxNodeCount or additional lines; otherwise NULL. */
const char *conf_flat_text(const struct conf *c, size_t *len);
/* Files beside slurm.conf that other modules read, as the controller sends them to configless
 * nodes: the name of one of CONF_EXTRA_FILES, and its text (NULL: it does not exist), owned by the
 * configuration. plugstack.conf refers to its included files by relative names. */
enum { CONF_EXTRA_PLUGSTACK, CONF_EXTRA_CONTAINER, CONF_EXTRA_FILES };
const char *conf_extra_file(const struct conf *c, size_t which, const char **text, size_t *len);
/* For daemons running as root: refuses the configuration files, or programs and directories named
 * in them, if users other than root, SlurmUser and SlurmdUser can change them (see base/trust.h).
 * NULL: not set. Returns -ERR_ACCESS; daemons of other users accept everything. */
int conf_trust_files(const struct conf *c, struct err *err);
int conf_trust_path(const struct conf *c, const char *key, const char *path, struct err *err);

/* Returns the next program of Prolog, Epilog, PrologSlurmctld or EpilogSlurmctld, whose lines
 * accumulate; NULL at the end. The caller frees it. */
char *conf_script_next(const char **rest);
void conf_free(struct conf *c);
void conf_freep(struct conf **c);

long conf_find_node(const struct conf *c, const char *name); /* index or -1 */
const struct conf_gres_set *conf_gres_of(const struct conf *c, uint32_t node);
long conf_find_part(const struct conf *c, const char *name);
const struct bitset *conf_find_node_set(const struct conf *c, const char *name); /* or NULL */
/* NULL: the host is not listed in SlurmctldHost. */
const struct conf_host *conf_find_controller(const struct conf *c, const char *name);
/* Adds the nodes of a function in a host list, for example block{NAME}. 1: done; 0: the word is no
 * function; -ERR_NO_NODE: unknown argument. Features are those in the file. */
int conf_add_function(const struct conf *c, const char *word, struct bitset *out, struct err *err);
/* Returns "x" of "feature{x}", which the caller frees; NULL: another word. */
char *conf_function_argument(const char *word, const char *function);

/* Returns PluginDir; if it is unset, the directory "sluice" among the libraries of the running
 * program's prefix. The caller frees it. */
char *conf_plugin_dirs(const struct conf *c);
/* Returns that directory whatever PluginDir is, for Sluice's own modules. The caller frees it. */
char *conf_installed_plugin_dir(void);

#define CONF_GATHER_MAX_SEC 86400
/* Parses "30" or "task=30,energy=60"; sets *sec to the task interval if given. -ERR_PARSE names
 * the invalid word. */
int conf_gather_parse(const char *text, int64_t *sec, struct err *err);

/* Whether a comma-separated list such as SchedulerParameters has the word; and the value of
 * "word=value", which the caller frees. */
bool conf_list_has(const char *list, const char *word);
char *conf_list_value(const char *list, const char *word);
#define CONF_PART_OVER_UNSET (-1) /* OverTimeLimit of a partition: the cluster's value applies */
#define CONF_PART_OVER_MAX_SEC (65533 * 60)
/* Why a job does not share its nodes although its partition lets jobs share; NULL: it does. is_set:
 * it has several components. */
const char *conf_sharing_refusal(const struct conf *c, bool has_devices, bool is_set);
/* The same for a job that has started without sharing; NULL: no job shares in turns. */
const char *conf_unshared_reason(const struct conf *c, bool has_devices, bool is_set);
bool conf_shares_across_parts(const struct conf *c); /* jobs of several partitions share units */
bool conf_offers_http(const struct conf *c); /* CommunicationParameters=disable_http is not set */
/* PrivateData: whether ordinary users may not see what others have of "jobs", "usage"... */
bool conf_is_private(const struct conf *c, const char *what);
bool conf_hides_anything(const struct conf *c);
bool conf_encrypts(const struct conf *c); /* connections between hosts, by TLSType */

/*
 * A daemon's local socket is in the first of socket_dirs that the daemon can write to; its clients
 * try all of them. With AuthInfo=socketdir=DIR there is only DIR. Otherwise the first is
 * /run/sluice/CLUSTER-PORT, which only root can create; the others are sluice-CLUSTER-PORT beside
 * SlurmctldPidFile, SlurmdPidFile and StateSaveLocation, and "sockets" in StateSaveLocation. The
 * directory does not authenticate the daemon: a client asks the kernel for the uid behind a
 * socket.
 */
/* The caller frees the names "slurmd-NODE", "slurmctld" or, for backups, "slurmctld-RANK", and the
 * path of such a socket in one of the directories. */
char *conf_socket_node(const char *node);
char *conf_socket_controller(const struct conf_host *host);
char *conf_socket_path(const struct conf *c, size_t dir, const char *name);

/* Prints "Key                     = value" lines of every key, in Slurm's order, and of
 * SLURM_CONF, SLURM_VERSION and BOOT_TIME; key != NULL: only that key (-ERR_CONFIG: unknown). */
int conf_format(const struct conf *c, const char *key, struct str *out, struct err *err);

/* Prints the changes, one per line: "MaxJobCount: 10 -> 20", "node n5: added". */
void conf_diff(const struct conf *from, const struct conf *to, struct str *out);
/* Prints one line per file beside slurm.conf, if any, and "slurm.conf: 3 nodes, ..." */
void conf_summarise(const struct conf *c, struct str *out);
void conf_put_counts(const struct conf *c, const char *path, size_t warnings, struct str *out);
