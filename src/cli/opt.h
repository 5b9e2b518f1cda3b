/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The options of srun, sbatch and salloc, from the rows of opt.def.
 *
 * Sources are applied in ascending precedence: "#SBATCH" lines, input environment variables,
 * command line; a later source replaces the values of an earlier one. The order of calls for the
 * options of one job is
 *
 *   opt_init, opt_scan (finds the operands, checks the syntax), opt_apply_env, opt_apply_argv,
 *   opt_finish
 *
 * Options of scripts and of several components are in opt_component.h. opt_print_failure() prints
 * every failure and returns the exit status. struct opt owns all of its strings; opt_done() frees
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"

#define OPT_SCRIPT_MAX (4u << 20) /* maximum bytes of a batch script */
#define OPT_WORDS_MAX 4096        /* maximum number of words in one #SBATCH line */
/* --kill-command without a signal: SIGHUP in a terminal, otherwise SIGTERM. */
#define OPT_KILL_AS_FITS -1

enum opt_command {
    OPT_SRUN = 1,
    OPT_SBATCH = 2,
    OPT_SALLOC = 4,
};

enum opt_id {
#define OPT(id, name, letter, argument, action, commands, env, metavar, help) OPT_ID_##id,
#define OPT_ALIAS(name, id, commands)
#include "cli/opt.def"
#undef OPT
#undef OPT_ALIAS
    OPT_ID_COUNT
};

/* The source of an option's value; a higher one replaces a lower one. BEFORE: inherited from the
 * preceding component (opt_component.h). */
enum opt_source {
    OPT_FROM_NONE,
    OPT_FROM_DEFAULTS, /* of the site or the user, from a filter (launch/filter.h) */
    OPT_FROM_SCRIPT_BEFORE,
    OPT_FROM_SCRIPT,
    OPT_FROM_ENV,
    OPT_FROM_ARGV_BEFORE,
    OPT_FROM_ARGV,
};

/* The form of a failure message: "sbatch: TEXT" with a pointer to --help, "sbatch: error: TEXT", or
 * "sbatch: fatal: TEXT". */
/* Exit status for an unknown option and for a value without a meaning. For an invalid value it is
 * 1, as in Slurm's commands, and also for every failure that concerns more than one value. */
#define OPT_STATUS_BAD_VALUE 255

enum opt_failure { OPT_FAIL_NONE, OPT_FAIL_SYNTAX, OPT_FAIL_ERROR, OPT_FAIL_FATAL };

/* Options outside the table: those of the site's plugins. */
struct opt_extra {
    const char *name, *arginfo, *usage, *plugin;
    int has_arg; /* 0 none, 1 one, 2 optional */
};
struct opt_extras {
    struct opt_extra *list;
    size_t count;
    /* Called for each option when it is read, in ascending precedence, with the component of the
     * command line; NULL: only the syntax is checked. arg NULL: no argument. */
    void (*set)(void *ctx, size_t component, size_t index, const char *arg);
    void (*environment)(void *ctx, size_t component, char *const *envp);
    void *ctx;
};

struct opt_row;
struct opt_propagated;

struct opt {
    enum opt_command command;
    size_t component; /* index of the component in the command line, from 0 */
    /* Collects the options that the next component inherits; NULL: none. */
    struct opt_propagated *propagated;
    enum opt_source source; /* the source that is being applied */
    /* The environment variable that is being applied; ends at a blank or NUL. */
    const char *variable;
    uint8_t from[OPT_ID_COUNT];      /* enum opt_source of each option's value */
    uint8_t noted[OPT_ID_COUNT];     /* the note about an option without effect was written */
    uint8_t decided[OPT_ID_COUNT];   /* set by a filter: no source changes it */
    char *given[OPT_ID_COUNT];       /* the option's text; NULL: not given */
    enum opt_failure failure;        /* of the last failed call */
    int exit_status;                 /* of the last failed call */
    struct str notes;                /* lines for the user about options without effect */
    const char *script;              /* name of the script that is being applied; borrowed */
    bool in_job;                     /* the environment is that of a job */
    int line;                        /* line number in the script */
    const struct opt_extras *extras; /* see opt_offer(); NULL: none */
    struct opt_row *extra_rows;
    bool is_reread;  /* the sources are applied again: plugins have their options already */
    int64_t now_sec; /* wall-clock time, for --begin=now+1hour; set by opt_init */

    /* The job. NULL, 0 and false mean "not given" unless from[] says otherwise. */
    /* For options that map directly to a field; not sent, and has_ members are not set. */
    Pb__JobSpec job;
    char *batch_host, *licenses, *resources, *distribution, *exclude, *job_name, *mail_type;
    char *job_list; /* node list of the surrounding job, for srun: SLURM_ARBITRARY_NODELIST */
    char *nodelist, *partition, *signal, *clusters;
    char *reservation, *chdir, *std_in, *std_out, *std_err, *export_env, *export_file, *propagate;
    char *gres, *gpus, *gpus_per_node, *gpus_per_socket, *gpus_per_task, *tres_per_task;
    /* The latter: the GPU part of --tres-bind, in the form of --gpu-bind. */
    char *tres_bind, *tres_bind_gpu;
    char *accel_bind, *gpu_bind, *gpu_freq, *gres_flags, *cpu_bind, *mem_bind;
    char *next_component; /* name of the next component in the script */
    char *component_list; /* components of a job set, parsed by opt_components_finish() */
    /* srun: --jobid=JOB+OFFSET names the component, for later components too. */
    bool names_component;
    uint32_t named_component;
    /* From --tres-per-task: "ansys:1,x:2"; opt_finish() multiplies and adds them. */
    char *task_licenses;
    char *node_gres, *task_gres; /* all such options combined; set by opt_finish() */
    uint32_t cpus_per_gpu, ntasks_per_gpu;
    uint64_t mem_per_gpu_mib;
    uint32_t min_nodes, max_nodes; /* max 0: no maximum */
    char *node_counts;             /* "1-15:4": the allowed counts within the range; NULL: all */
    uint32_t tres_cpus;            /* from --tres-per-task */
    uint32_t ntasks, cpus_per_task, ntasks_per_node, ntasks_per_core, ntasks_per_socket;
    uint32_t threads_per_core;
    uint32_t sockets_per_node, cores_per_socket, core_spec, thread_spec;
    bool exclusive_user, exclusive_topo;
    bool exclusive_is_exact; /* --exclusive without a value: implies --exact for the step */
    uint64_t mem_per_node_mib, mem_per_cpu_mib; /* mem_per_node 0: all memory, if given */
    int64_t time_limit_sec;                     /* may be TIME_UNLIMITED */
    int64_t begin_at_sec, deadline_at_sec;
    int32_t nice;
    uint32_t priority;
    uint32_t uid, gid_of_uid, gid; /* of another user, if given */
    uint32_t switches;             /* maximum number of leaf switches */
    int64_t switches_sec;          /* how long to wait for that number; negative: not given */
    bool exclusive, oversubscribe, overcommit, hold, no_kill, open_append, spread;
    bool requeue, kill_invalid_dep;
    bool immediate;
    uint32_t immediate_sec; /* 0: at once */

    /* Options of the command itself. */
    char *network, *acctg_freq, *cpu_freq;
    int64_t acctg_sec;                  /* task interval of acctg_freq; negative: not given */
    char *bcast, *compress, *send_libs; /* "": without an argument; NULL: not given */
    char *bcast_exclude;
    char *x11; /* "all", "first", "last" */
    char *attach, *wrap, *mpi, *epilog, *prolog, *task_epilog, *task_prolog;
    uint32_t job_id, relative, threads, wait_sec;
    uint32_t msg_timeout_sec; /* 0: as configured */
    uint32_t slurmd_debug;    /* enum log_level, if given */
    uint32_t ignored_signals; /* 1 << number, ORed */
    uint32_t tree_width;      /* 0: as configured */
    uint32_t resv_ports; /* number of ports; STEP_PORTS_EACH: one per task of a node; 0: none */
    int kill_signal;     /* salloc --kill-command; 0: not given, or OPT_KILL_AS_FITS */
    bool allocate, batch, bell, no_bell, no_shell, disable_status, exact, whole, overlap,
        interactive, label;
    bool multi_prog, parsable, preserve_env, pty, quit_on_interrupt, test_only, unbuffered;
    bool no_allocate, debugger_test;
    bool oom_kill_step, wait_all_nodes, wait_for_children;
    bool wait_end, kill_on_bad_exit, ignore_pbs;
    bool user_env_not_login;
    uint32_t user_env_sec; /* from --get-user-env; 0: as configured */
    bool hint_help;        /* --hint=help */
    bool help, usage, version, quiet;
    unsigned verbose;
};

#define OPT_TREE_WIDTH_MAX 65533 /* as for TreeWidth */

void opt_init(struct opt *o, enum opt_command command);
void opt_done(struct opt *o);

/* Resets the values of the sources, before they are applied again. Notes are not written again, and
 * plugins, which have their options, do not get them again. */
void opt_restart(struct opt *o);
/* Adds options, before any source is read; borrowed. */
void opt_offer(struct opt *o, const struct opt_extras *extras);
/* Whether tasks are placed on nodes in the order of the node list. */
bool opt_is_arbitrary(const struct opt *o);
/* Whether the table has an option of this name for the command. */
bool opt_knows(enum opt_command command, const char *name);

/* "srun", "sbatch", "salloc". */
const char *opt_program(const struct opt *o);

/* The GPU binding, from --gpu-bind or --tres-bind, in the form of --gpu-bind; the higher source
 * wins. NULL: not given. */
const char *opt_gpu_bind(const struct opt *o);

static inline bool opt_given(const struct opt *o, enum opt_id id)
{
    return o->from[id] != OPT_FROM_NONE;
}

/* Checks the syntax of the command line and finds its first operand (argc if there is none), which
 * ends the options. Sets only help, usage, version, verbose and quiet. */
int opt_scan(struct opt *o, int argc, char *const argv[], int *operands, struct err *err);
int opt_apply_argv(struct opt *o, int argc, char *const argv[], struct err *err);
int opt_apply_env(struct opt *o, char *const envp[], struct err *err);

/* For a command that executes another one (srun --allocate): returns the words of the other command
 * line: its name, the options of this line with their names there, then the operands. Option
 * 'because' and options that the other command does not have are left out; the notes list the
 * latter. The caller frees the words by opt_free_words(). NULL: bad syntax. */
char **opt_translate(struct opt *o, enum opt_id because, enum opt_command to, int argc,
                     char *const argv[], struct err *err);
void opt_free_words(char **words);

/* Checks combinations of options, and derives values from others (ntasks from nodes...). */
int opt_finish(struct opt *o, struct err *err);

/* Prints the failure of the last call; returns the exit status: that of Slurm's command, or
 * SLURM_EXIT_ERROR. */
int opt_print_failure(const struct opt *o, const struct err *err);
/* The exit status in a user's variable such as SLURM_EXIT_ERROR: 1 to 255. An error cannot exit
 * with 0, so other values are ignored, and 'otherwise' is returned. */
int opt_exit_status(const char *variable, int otherwise);
/* Prints the information that opt_scan found to be requested (--help, --usage, --version); true:
 * exit with 0. */
bool opt_print_info(const struct opt *o);
/* The notes about options without effect, for standard error; with --quiet only errors. */
void opt_format_notes(const struct opt *o, struct str *out);
void opt_print_notes(const struct opt *o);
/* The given options of all sources, which --verbose prints to standard error, like Slurm. */
void opt_format_defined(const struct opt *o, struct str *out);
/* The parsed value of a given option as text: "00:30:00", "set". */
void opt_format_value(const struct opt *o, enum opt_id id, struct str *out);
void opt_format_help(enum opt_command command, struct str *out);
void opt_format_extras(const struct opt_extras *extras, struct str *out);
void opt_format_usage(enum opt_command command, struct str *out);

/* Fills the requested fields of an initialised message. Its strings are borrowed from o. The caller
 * sets paths, script, identity and request id (see submit.h). */
void opt_to_job_spec(const struct opt *o, Pb__JobSpec *spec);
/* Like opt_to_job_spec(), for a step. Index lists are in the arena. */
int opt_to_step_spec(const struct opt *o, struct arena *arena, Pb__StepSpec *spec, struct err *err);

/* Checks that --clusters (NULL: not given) names this cluster. */
int opt_check_clusters(const char *list, const char *own, struct err *err);

/* Whether the list --propagate (or the default, ALL) contains this limit: "NOFILE". */
bool opt_propagates(const char *list, const char *limit);
