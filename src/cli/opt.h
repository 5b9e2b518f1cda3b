/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The options of srun, sbatch and salloc, from the rows of opt.def.
 *
 * Sources are applied in rising rank: "#SBATCH" lines, input environment variables, command line;
 * a later source replaces what an earlier one set. The order of calls is
 *
 *   opt_init, opt_scan (finds the operands, checks the syntax), opt_apply_env, opt_apply_argv,
 *   opt_finish
 *
 * for options of one job; those of scripts, and of several components, are in opt_component.h.
 *
 * and every failure is printed by opt_print_failure(), which returns the status to exit with. All
 * strings in struct opt are owned by it; opt_done() frees them.
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

#define OPT_SCRIPT_MAX (4u << 20) /* bytes of a batch script */
#define OPT_WORDS_MAX 4096        /* words of one #SBATCH line */
/* --kill-command without a signal: SIGHUP in a terminal, else SIGTERM. */
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

/* Where an option's value comes from; higher ones replace lower ones. BEFORE: from the component
 * before it (opt_component.h). */
enum opt_source {
    OPT_FROM_NONE,
    OPT_FROM_DEFAULTS, /* of the site or the user, by a filter (launch/filter.h) */
    OPT_FROM_SCRIPT_BEFORE,
    OPT_FROM_SCRIPT,
    OPT_FROM_ENV,
    OPT_FROM_ARGV_BEFORE,
    OPT_FROM_ARGV,
};

/* How a failure is printed: "sbatch: TEXT" and a pointer to --help, "sbatch: error: TEXT", or
 * "sbatch: fatal: TEXT". */
/* The status after an option that there is not, and after a value that means nothing. Of one that
 * is invalid it is 1, as of Slurm's commands; so it is of all that is not of one value alone. */
#define OPT_STATUS_BAD_VALUE 255

enum opt_failure { OPT_FAIL_NONE, OPT_FAIL_SYNTAX, OPT_FAIL_ERROR, OPT_FAIL_FATAL };

/* Options that are not in the table: those that plugins of the site have. */
struct opt_extra {
    const char *name, *arginfo, *usage, *plugin;
    int has_arg; /* 0 none, 1 one, 2 optional */
};
struct opt_extras {
    struct opt_extra *list;
    size_t count;
    /* Called as each is read, in rising rank, with the component of the command line; NULL: only
     * their syntax counts. arg NULL: none. */
    void (*set)(void *ctx, size_t component, size_t index, const char *arg);
    void (*environment)(void *ctx, size_t component, char *const *envp);
    void *ctx;
};

struct opt_row;
struct opt_propagated;

struct opt {
    enum opt_command command;
    size_t component;                  /* of the command line; 0: the first one */
    struct opt_propagated *propagated; /* what the next component inherits is added; NULL: no */
    enum opt_source source;            /* being applied */
    const char *variable;            /* of the environment, being applied; ends at a blank or NUL */
    uint8_t from[OPT_ID_COUNT];      /* enum opt_source of each option's value */
    uint8_t told[OPT_ID_COUNT];      /* the note about an option without effect was written */
    uint8_t decided[OPT_ID_COUNT];   /* by a filter: no source sets it */
    char *given[OPT_ID_COUNT];       /* its text; NULL: none */
    enum opt_failure failure;        /* of the last call that failed */
    int exit_status;                 /* for it */
    struct str notes;                /* lines for the user: what has no effect */
    const char *script;              /* name of the script whose lines are applied; borrowed */
    bool in_job;                     /* the environment is that of a job */
    int line;                        /* in it */
    const struct opt_extras *extras; /* see opt_offer(); NULL: none */
    struct opt_row *extra_rows;
    bool is_reread;  /* the sources are applied once more: plugins have their options */
    int64_t now_sec; /* wall, for --begin=now+1hour; set by opt_init */

    /* The job. NULL, 0 and false are "not given" unless from[] says otherwise. */
    Pb__JobSpec job; /* of options that are a field as they are; no message, has_ is not set */
    char *batch_host, *licenses, *resources, *distribution, *exclude, *job_name, *mail_type;
    char *job_list; /* of the job around srun: SLURM_ARBITRARY_NODELIST */
    char *nodelist, *partition, *signal, *clusters;
    char *reservation, *chdir, *std_in, *std_out, *std_err, *export_env, *export_file, *propagate;
    char *gres, *gpus, *gpus_per_node, *gpus_per_socket, *gpus_per_task, *tres_per_task;
    char *tres_bind, *tres_bind_gpu; /* the latter: its part for GPUs, as --gpu-bind has it */
    char *accel_bind, *gpu_bind, *gpu_freq, *gres_flags, *cpu_bind, *mem_bind;
    char *next_component; /* the name of the one that follows in the script */
    char *component_list; /* components of a job set, which opt_components_finish() reads */
    bool names_component; /* srun: --jobid=JOB+OFFSET, which later components are in as well */
    char *task_licenses;  /* of --tres-per-task: "ansys:1,x:2"; opt_finish() adds them up */
    char *node_gres, *task_gres; /* these together; made by opt_finish() */
    uint32_t cpus_per_gpu, ntasks_per_gpu;
    uint64_t mem_per_gpu_mib;
    uint32_t min_nodes, max_nodes; /* max 0: no maximum */
    char *node_counts;             /* "1-15:4": of those between the two only these; NULL: all */
    uint32_t tres_cpus;            /* of --tres-per-task */
    uint32_t ntasks, cpus_per_task, ntasks_per_node, ntasks_per_core, ntasks_per_socket;
    uint32_t threads_per_core;
    uint32_t sockets_per_node, cores_per_socket, core_spec, thread_spec;
    bool exclusive_user, exclusive_topo;
    bool exclusive_is_exact; /* --exclusive without a word: --exact for the step, too */
    uint64_t mem_per_node_mib, mem_per_cpu_mib; /* mem_per_node 0: all, if given */
    int64_t time_limit_sec;                     /* TIME_UNLIMITED */
    int64_t begin_at_sec, deadline_at_sec;
    int32_t nice;
    uint32_t priority;
    uint32_t uid, gid_of_uid, gid; /* of another user, when given */
    uint32_t switches;             /* leaf switches at most */
    int64_t switches_sec;          /* how long to wait for so few; negative: not said */
    bool exclusive, oversubscribe, overcommit, hold, no_kill, open_append, spread;
    bool requeue, kill_invalid_dep;
    bool immediate;
    uint32_t immediate_sec; /* 0: at once */

    /* The command itself. */
    char *network, *acctg_freq, *cpu_freq;
    int64_t acctg_sec; /* of acctg_freq, for tasks; negative: it says nothing of them */
    char *bcast, *compress, *send_libs; /* "": without a value; NULL: not given */
    char *bcast_exclude;
    char *x11; /* "all", "first", "last" */
    char *attach, *wrap, *mpi, *epilog, *prolog, *task_epilog, *task_prolog;
    uint32_t job_id, relative, threads, wait_sec;
    uint32_t msg_timeout_sec; /* 0: as configured */
    uint32_t slurmd_debug;    /* enum log_level, when given */
    uint32_t ignored_signals; /* 1 << number, ORed */
    uint32_t tree_width;      /* the same */
    uint32_t resv_ports;      /* STEP_PORTS_EACH: one for each task of a node; 0: none */
    int kill_signal;          /* salloc --kill-command; 0: none asked for, or OPT_KILL_AS_FITS */
    bool allocate, batch, bell, no_bell, no_shell, disable_status, exact, whole, overlap,
        interactive, label;
    bool multi_prog, parsable, preserve_env, pty, quit_on_interrupt, test_only, unbuffered;
    bool no_allocate, debugger_test;
    bool oom_kill_step, wait_all_nodes, wait_for_children;
    bool wait_end, kill_on_bad_exit, ignore_pbs;
    bool user_env_not_login;
    uint32_t user_env_sec; /* of --get-user-env; 0: as configured */
    bool hint_help;        /* --hint=help */
    bool help, usage, version, quiet;
    unsigned verbose;
};

#define OPT_TREE_WIDTH_MAX 65533 /* as of TreeWidth */

void opt_init(struct opt *o, enum opt_command command);
void opt_done(struct opt *o);

/* Forgets what the sources said, before they are applied once more. What was told stays told, and
 * plugins, which have their options, are not given them again. */
void opt_restart(struct opt *o);
/* Further options, before any is read; borrowed. */
void opt_offer(struct opt *o, const struct opt_extras *extras);
/* Whether tasks go to nodes as these are listed. */
bool opt_is_arbitrary(const struct opt *o);
/* Whether the table has an option of this name for the command. */
bool opt_knows(enum opt_command command, const char *name);

/* "srun", "sbatch", "salloc". */
const char *opt_program(const struct opt *o);

/* What tasks are to be told of GPUs, by --gpu-bind or --tres-bind, in the form of the first; of two
 * the one that is nearer to the user. NULL: nothing is said. */
const char *opt_gpu_bind(const struct opt *o);

static inline bool opt_given(const struct opt *o, enum opt_id id)
{
    return o->from[id] != OPT_FROM_NONE;
}

/* Checks the syntax of the command line and finds its first operand (argc when there is none);
 * options end there. Sets help, usage, version, verbose and quiet, nothing else. */
int opt_scan(struct opt *o, int argc, char *const argv[], int *operands, struct err *err);
int opt_apply_argv(struct opt *o, int argc, char *const argv[], struct err *err);
int opt_apply_env(struct opt *o, char *const envp[], struct err *err);

/* For a command that becomes another (srun --allocate): the words to run that with, its name first,
 * this line's options as it spells them, then the operands. 'because' is left out; what the other
 * command does not have is left out as well, and the notes are about that alone. The words are the
 * caller's, to be freed by opt_free_words(); NULL: bad syntax. */
char **opt_translate(struct opt *o, enum opt_id because, enum opt_command to, int argc,
                     char *const argv[], struct err *err);
void opt_free_words(char **words);

/* Checks what options say together, and fills in what one says about another (ntasks from
 * nodes...). */
int opt_finish(struct opt *o, struct err *err);

/* Prints the failure of the last call; returns the status to exit with: that of Slurm's command,
 * or SLURM_EXIT_ERROR. */
int opt_print_failure(const struct opt *o, const struct err *err);
/* The exit status that a variable of the user names, as SLURM_EXIT_ERROR does: 1 to 255. An error
 * cannot exit with 0: other values are ignored, and the result is 'otherwise'. */
int opt_exit_status(const char *variable, int otherwise);
/* Prints what opt_scan found to be asked for (--help, --usage, --version); true: exit with 0. */
bool opt_print_info(const struct opt *o);
/* Prints the notes about options without effect on standard error; with --quiet only errors. */
void opt_print_notes(const struct opt *o);
/* With --verbose, prints on standard error what was asked for, from whatever source, as Slurm
 * does. */
void opt_print_defined(const struct opt *o);
void opt_format_defined(const struct opt *o, struct str *out);
/* The value of an option that is given, as it was understood: "00:30:00", "set". */
void opt_format_value(const struct opt *o, enum opt_id id, struct str *out);
void opt_format_help(enum opt_command command, struct str *out);
void opt_format_extras(const struct opt_extras *extras, struct str *out);
void opt_format_usage(enum opt_command command, struct str *out);

/* Fills the fields of an initialised message that were asked for. Its strings are borrowed from o.
 * Paths, script, identity and request id are the caller's (see submit.h). */
void opt_to_job_spec(const struct opt *o, Pb__JobSpec *spec);
/* The same of a step. Index lists are in the arena. */
int opt_to_step_spec(const struct opt *o, struct arena *arena, Pb__StepSpec *spec, struct err *err);

/* Whether the cluster asked for by --clusters (NULL: none) is this one. */
int opt_check_clusters(const char *list, const char *own, struct err *err);

/* Whether the list --propagate (or the default, ALL) contains this limit: "NOFILE". */
bool opt_propagates(const char *list, const char *limit);
