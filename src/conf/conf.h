/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The configuration: slurm.conf (with its Include files) as one typed, validated, read-only object.
 *
 * Every scalar key is a row of conf.def; the struct below, the parser, "scontrol show config", the
 * man page and the nearest-name hints all come from it. Node and partition rows have tables of
 * their own (conf_node.def, conf_part.def).
 *
 * An unknown key is a warning with file, line and the nearest known name; a wrong value is an error
 * with file and line. A key that is accepted for compatibility and has no effect says so once, as a
 * warning. Keys and enumerated values are case-insensitive. The file is found by conf_path().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "conf/conf_debug.h"
#include "conf/conf_rows.h"
#include "conf/conf_sched.h"
#include "conf/conf_topo.h"

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
    CONF_CR_LLN = 16,              /* the least loaded nodes first */
    CONF_CR_PACK = 32,             /* tasks fill one node before the next */
    CONF_CR_ONE_TASK = 64,         /* of a core, unless the job says */
    CONF_CR_NEAR_GRES = 256,       /* --gres-flags=enforce-binding, unless the job says */
    CONF_CR_LL_SHARED = 512,       /* parts of the GPU that is used least */
    CONF_CR_SEVERAL_SHARED = 1024, /* a job may have parts of several GPUs of a node */
    CONF_CR_BLOCK = 128 /* cores of one socket before those of the next, unless the job says */
};                      /* bits */

struct conf_keepalive { /* of TCP, by CommunicationParameters; 0: the program's own values */
    uint32_t idle_sec, every_sec, probes;
};

struct conf_rate { /* of a user's requests */
    bool enable;
    uint32_t bucket, refill, period_sec, users;
};

struct conf_host {
    const char *name, *addr; /* SlurmctldHost=name(addr); addr defaults to name, and SlurmctldAddr,
                                an address that moves with the lead, comes before both */
    const char *own_addr;    /* of this host alone: as in brackets, or the name */
    bool in_brackets;        /* own_addr was given */
    unsigned rank;           /* place in conf.controllers; 0: the primary */
};

struct conf_node_set { /* NodeSet: a name for nodes */
    const char *name;
    struct bitset *nodes;
};

enum conf_value_type {
    CONF_T_STR,
    CONF_T_PATH,
    CONF_T_URL, /* shown without its password */
    CONF_T_BOOL,
    CONF_T_U32,
    CONF_T_SEC,
    CONF_T_MIN,
    CONF_T_MIB,
    CONF_T_PORT,
    CONF_T_LEVEL,
    CONF_T_USER,
    CONF_T_PERCENT /* "101.5" or "101.5%" */
};

/* What a member of each type is. */
#define CONF_MEMBER_CONF_T_STR const char *
#define CONF_MEMBER_CONF_T_PATH const char *
#define CONF_MEMBER_CONF_T_URL const char *
#define CONF_MEMBER_CONF_T_BOOL bool
#define CONF_MEMBER_CONF_T_U32 uint32_t
#define CONF_MEMBER_CONF_T_SEC int64_t
#define CONF_MEMBER_CONF_T_MIN int64_t /* seconds too; bare numbers are minutes in the file */
#define CONF_MEMBER_CONF_T_MIB uint64_t
#define CONF_MEMBER_CONF_T_PORT uint16_t
#define CONF_MEMBER_CONF_T_LEVEL uint32_t
#define CONF_MEMBER_CONF_T_USER const char *

#include "conf/conf_auth.h"
#include "conf/conf_burst.h"
#include "conf/conf_cgroup.h"
#include "conf/conf_hres.h"

struct conf {
    const char *path;     /* of the main file, absolute */
    int64_t read_at;      /* wall seconds */
    uint32_t next_job_id; /* of the controller that shows it; 0: not known */
    int64_t boot_at; /* read_at, until a daemon that reads again copies the value of its first */
    uint64_t hash;   /* of everything read; node daemons report it */

    /* Scalars, one member per row of conf.def. */
#define CONF(key, member, type, def, min, max, effect, help) CONF_MEMBER_##type member;
#include "conf/conf.def"
#undef CONF

    /* Derived and validated. */
    VEC(struct conf_host)
    controllers; /* SlurmctldHost, or ControlMachine and BackupController; at least one */
    uid_t slurm_uid, slurmd_uid; /* of SlurmUser and SlurmdUser */
    enum conf_select select;
    unsigned cr;                               /* CONF_CR_* bits */
    uint64_t debug;                            /* DebugFlags: bits of enum conf_debug */
    uint16_t slurmctld_port_last;              /* SlurmctldPort=6817-6818 */
    const char *socket_dirs[CONF_SOCKET_DIRS]; /* see conf_socket_path() */
    size_t socket_dir_count;
    bool config_overrides;                /* SlurmdParameters=config_overrides */
    bool schedule_actual;                 /* FastSchedule=0: by what nodes report */
    bool enable_configless;               /* SlurmctldParameters=enable_configless */
    bool allow_user_triggers;             /* SlurmctldParameters=allow_user_triggers */
    double node_reg_mem_percent;          /* SlurmctldParameters=node_reg_mem_percent=; 100 */
    int64_t job_acct_gather_sec;          /* of tasks, in JobAcctGatherFrequency; 0: none */
    uint32_t mpi_port_low, mpi_port_high; /* MpiParams=ports=LOW-HIGH; 0: none */
    bool gang;                            /* PreemptMode has GANG: jobs that share take turns */
    bool
        gang_counts; /* then the CPUs of a node are interchangeable: CR_CPU without task/affinity */
    bool over_memory_kill; /* JobAcctGatherParams; there is memory to be over, too */
    struct conf_auth_alt auth_alt;
    struct conf_rate rate;           /* SlurmctldParameters=rl_... */
    struct conf_keepalive keepalive; /* between srun and slurmstepd */
    bool prolog_at_alloc;            /* PrologFlags=Alloc, or what implies it */
    bool prolog_contain;             /* PrologFlags=Contain, or what implies it */
    bool prolog_serial;              /* PrologFlags=Serial */
    uint32_t set_limits;             /* bits of enum conf_sets_limit, see conf/conf_sets.h */

    VEC(struct conf_node_row) node_rows;
    VEC(struct conf_node) nodes; /* in order of the file; CONF_NODE: the one; CONF_CLIENT: empty */
    VEC(struct conf_node_set) node_sets;
    VEC(struct conf_part) parts;
    struct conf_sched sched;           /* SchedulerParameters */
    VEC(struct conf_network) networks; /* CONF_FULL: one at least */
    uint32_t default_network;          /* of partitions without Topology */
    struct conf_hres_list hres;        /* CONF_FULL */
    struct conf_cgroup cgroup;
    struct conf_burst burst;             /* CONF_FULL */
    VEC(struct conf_gres_set) gres_sets; /* nodes that have the same have the same one */

    struct conf_private *priv; /* strings' memory, name tables */
};

enum conf_scope {
    CONF_FULL,   /* everything (controller, checks) */
    CONF_CLIENT, /* scalars only: cheap, whatever the size of the cluster */
    CONF_NODE,   /* scalars and the row of one node (node daemon) */
};

struct conf_warning {
    char *place; /* "FILE:LINE" or "FILE:LINE:COLUMN"; NULL: 'text' says where */
    int line;
    char *text;
    bool no_effect; /* of a key that is known, and not used */
    bool fault;     /* a check of the file fails for it; a daemon does without it */
};
struct conf_report { /* what to tell the administrator besides the first error */
    VEC(struct conf_warning) warnings;
    /* Set by the caller: reading goes on after an error, which is noted here as a fault. The caller
     * gets the configuration as far as it could be read, and the first error. */
    bool every_error;
};
void conf_report_done(struct conf_report *report);
/* Notes a fault that a check has found besides; at NULL: 'text' says where. */
void conf_report_add(struct conf_report *report, bool fault, const char *text);
bool conf_report_fails(const struct conf_report *report); /* any of them is a fault */
/* A line each, "warning: FILE:LINE: text"; keys without effect are one line together. */
void conf_report_format(const struct conf_report *report, struct str *out);

/* The file a program started now would use: SLURM_CONF, PREFIX/etc/slurm.conf of the running
 * program, /etc/slurm/slurm.conf or (CORE-059) /etc/slurm.conf; without any, what a configless node
 * daemon keeps under /run/slurm/conf. The caller frees. */
char *conf_path(void);

/* What a command needs of it (CONF_CLIENT). When there is none, err says where it was looked for
 * and what to do. */
int conf_load_own(struct conf **out, struct err *err);

/* The same for a daemon, which follows no other daemon's, and reads /etc/slurmctld.conf or
 * /etc/slurmd.conf when there is no other (CORE-025, CORE-042). The caller frees. */
char *conf_path_daemon(const char *daemon);

/* Reads and validates. node_name is for CONF_NODE only: a NodeName, or NULL for the row whose
 * NodeHostname is this host's name. On failure err says "FILE:LINE: what, and what to do"; nothing
 * is returned. */
int conf_load(const char *path, enum conf_scope scope, const char *node_name, struct conf **out,
              struct conf_report *report, struct err *err);
/* The same with more NodeName lines behind the file's. A node that the file defines, too, is as
 * there. 'made' NULL: none. */
int conf_load_with(const char *path, const char *made, enum conf_scope scope, const char *node_name,
                   struct conf **out, struct conf_report *report, struct err *err);
/* As it was read, with other such lines: a conf_flat_text(). The hash is that of the file alone. */
int conf_load_again(const char *text, size_t len, const char *path, const char *made,
                    enum conf_scope scope, const char *node_name, struct conf **out,
                    struct err *err);
/* The same of a text in memory, whose Include lines are refused; 'name' is what messages call it.
 */
int conf_load_text(const char *text, size_t len, const char *name, enum conf_scope scope,
                   const char *node_name, struct conf **out, struct conf_report *report,
                   struct err *err);
/* Every line of the files, Include files in their places, comments gone: as a text it means the
 * same and has the same hash. Kept with CONF_FULL only, and only with enable_configless,
 * MaxNodeCount or made lines; else NULL. */
const char *conf_flat_text(const struct conf *c, size_t *len);
/* Files that other rooms read beside slurm.conf, as the controller sends them with it to configless
 * nodes: the name of one of CONF_EXTRA_FILES, and its text (NULL: it is not there), which stays
 * with the configuration. plugstack.conf has what it includes by relative names. */
enum { CONF_EXTRA_PLUGSTACK, CONF_EXTRA_CONTAINER, CONF_EXTRA_FILES };
const char *conf_extra_file(const struct conf *c, size_t which, const char **text, size_t *len);
/* For daemons of root: refuses what others than root, SlurmUser and SlurmdUser can change (see
 * base/trust.h), the files that it was read from, or a program or directory that it names (NULL: no
 * such is set). -ERR_ACCESS; nothing is asked of a daemon of another user. */
int conf_trust_files(const struct conf *c, struct err *err);
int conf_trust_path(const struct conf *c, const char *key, const char *path, struct err *err);

/* The next program of Prolog, Epilog, PrologSlurmctld or EpilogSlurmctld, whose lines accumulate,
 * allocated; NULL at the end. */
char *conf_script_next(const char **rest);
void conf_free(struct conf *c);
void conf_freep(struct conf **c);

long conf_find_node(const struct conf *c, const char *name); /* index or -1 */
/* What the node has. */
const struct conf_gres_set *conf_gres_of(const struct conf *c, uint32_t node);
long conf_find_part(const struct conf *c, const char *name);

/* NULL: SlurmctldHost does not name it. */
const struct bitset *conf_find_node_set(const struct conf *c, const char *name); /* or NULL */
/* Adds the nodes of a function in a host list, as block{NAME}. 1: done; 0: the word is no function;
 * -ERR_NO_NODE: its argument is unknown. Features are those of the file. */
int conf_add_function(const struct conf *c, const char *word, struct bitset *out, struct err *err);
/* "x" of "feature{x}", the caller frees; NULL: the word is another one. */
char *conf_function_argument(const char *word, const char *function);
const struct conf_host *conf_find_controller(const struct conf *c, const char *name);

/* PluginDir; unset, the directory "sluice" among the libraries of the running program's prefix. The
 * caller frees. */
char *conf_plugin_dirs(const struct conf *c);
/* That directory, whatever PluginDir is: modules of Sluice itself are there. The caller frees. */
char *conf_installed_plugin_dir(void);

#define CONF_GATHER_MAX_SEC 86400
/* "30" or "task=30,energy=60", of which the seconds for tasks are set, if they are there.
 * -ERR_PARSE names the wrong word. */
int conf_gather_parse(const char *text, int64_t *sec, struct err *err);

/* Whether a comma list such as SchedulerParameters holds the word, and the value of "word=value"
 * (caller frees). */
bool conf_list_has(const char *list, const char *word);
#define CONF_PART_OVER_UNSET (-1) /* OverTimeLimit of a partition: that of the cluster */
#define CONF_PART_OVER_MAX_SEC (65533 * 60)
bool conf_offers_http(const struct conf *c); /* CommunicationParameters=disable_http is not set */
char *conf_list_value(const char *list, const char *word);
/* PrivateData: whether ordinary users are not to see this of others: "jobs", "usage"... */
bool conf_is_private(const struct conf *c, const char *what);
bool conf_hides_anything(const struct conf *c);

/* Whether connections between hosts are encrypted (TLSType). */
bool conf_encrypts(const struct conf *c);

/*
 * A daemon's local socket lies in the first of socket_dirs that the daemon can write to, and its
 * clients try all of them. With AuthInfo=socketdir=DIR there is DIR only. Otherwise the first is
 * /run/sluice/CLUSTER-PORT, which needs root; the others are sluice-CLUSTER-PORT beside
 * SlurmctldPidFile, SlurmdPidFile and StateSaveLocation, and "sockets" in StateSaveLocation.
 * Who listens in any of them proves nothing: a client asks the kernel for the uid behind a socket.
 */
/* The name of a daemon's socket there: "slurmd-NODE". The caller frees. */
char *conf_socket_node(const char *node);
/* Of a controller: "slurmctld", of the backups "slurmctld-RANK". */
char *conf_socket_controller(const struct conf_host *host);
/* The path of such a name in one of the directories. The caller frees. */
char *conf_socket_path(const struct conf *c, size_t dir, const char *name);

/* "Key                     = value" lines of every key, sorted as Slurm does, and of SLURM_CONF,
 * SLURM_VERSION and BOOT_TIME; only the named one when key != NULL (-ERR_CONFIG: unknown). */
int conf_format(const struct conf *c, const char *key, struct str *out, struct err *err);

/* What changed from one configuration to another, a line each: "MaxJobCount: 10 -> 20", "node n5:
 * added". */
void conf_diff(const struct conf *from, const struct conf *to, struct str *out);
/* Of the files beside slurm.conf, a line each, or nothing; and "slurm.conf: 3 nodes, ..." */
void conf_summarise(const struct conf *c, struct str *out);
void conf_put_counts(const struct conf *c, const char *path, size_t warnings, struct str *out);
