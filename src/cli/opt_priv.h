/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the option parser share: the table at run time. */
#pragma once

#include "base/vec.h"
#include "cli/opt.h"
#include "cli/opt_component.h"

enum opt_argument { OPT_ARG_NO, OPT_ARG_REQ, OPT_ARG_MAY };
enum opt_type {
    OPT_T_FLAG,
    OPT_T_TRUE,
    OPT_T_COUNT,
    OPT_T_NUMBER,
    OPT_T_STRING,
    OPT_T_MEMORY,
    OPT_T_LIMIT,
    OPT_T_CALL,
    OPT_T_IGNORED,
    OPT_T_REFUSED,
    OPT_T_PLANNED,
    OPT_T_EXTRA, /* of a plugin: its id is OPT_ID_COUNT, its offset the place in the list */
};

#define OPT_ALL (OPT_SRUN | OPT_SBATCH | OPT_SALLOC)
#define OPT_OLD 8         /* spelling of 2002 */
#define OPT_TERMINAL 16   /* on the command line only: --help */
#define OPT_INERT 32      /* without effect, which the user is told */
#define OPT_PROPAGATED 64 /* from a component of a job set to the next */

typedef int opt_call_fn(struct opt *o, const char *arg, struct err *err);

struct opt_row {
    enum opt_id id;
    const char *name;
    char letter;
    enum opt_argument argument;
    enum opt_type type;
    size_t offset;     /* of the member, for the types that have one */
    opt_call_fn *call; /* OPT_T_CALL */
    unsigned commands;
    const char *env, *metavar, *help;
};
extern const struct opt_row opt_rows[];
extern const size_t opt_row_count;
struct opt_alias {
    const char *name;
    enum opt_id id;
    unsigned commands;
};
extern const struct opt_alias opt_aliases[];
extern const size_t opt_alias_count;

/* By its whole name, or another one that it has; NULL: the command has no such option. */
const struct opt_row *opt_find_row(enum opt_command command, const char *name);

/* One option of a command line or script. row NULL: none left. */
struct opt_word {
    const struct opt_row *row;
    const char *arg; /* NULL: none */
};
struct opt_cursor {
    char *const *argv;
    int argc, at;
    const char *cluster; /* what is left of "-abc" */
};

/* The next option; -ERR_PARSE with getopt's message. When there is none left, c->at is the first
 * operand. */
int opt_next(struct opt *o, struct opt_cursor *c, struct opt_word *word, struct err *err);

/* The options of a component, and of those before it, that the next one inherits. */
struct opt_inherited {
    const struct opt_row *row;
    char *arg; /* NULL: none */
};
struct opt_propagated {
    VEC(struct opt_inherited) list;
};

/* Checks the options up to the first operand, where the cursor is then; see opt_scan(). */
int opt_scan_words(struct opt *o, struct opt_cursor *c, struct err *err);

/* A place in a script: the beginning, or behind a line that begins a component. */
struct opt_place {
    const struct opt_script *script;
    size_t at;
    int line; /* the last one that was read */
};
/* The "#SBATCH" lines of one component. 1: the last line that was read begins another component;
 * 0: there is none. */
int opt_apply_section(struct opt *o, struct opt_place *place, struct err *err);
/* All "#PBS" lines, in what has a meaning here; what has none is told once, as are "#BSUB" lines.
 * Options that are given already stay. */
int opt_apply_pbs(struct opt *o, const struct opt_script *script, struct err *err);

/* Sets one option from o->source. */
int opt_set(struct opt *o, const struct opt_row *row, const char *arg, struct err *err);

/* A failure: what is printed how, with which status. Returns -ERR_PARSE. */
int opt_fail(struct opt *o, enum opt_failure how, int status, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* A warning for the user, of an option's that has none yet. */
void opt_note(struct opt *o, enum opt_id id, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* "Invalid --NAME specification: ARGUMENT". */
int opt_bad_spec(struct opt *o, const char *name, const char *arg, struct err *err);
/* The same, and what would be good. */
int opt_bad_value(struct opt *o, const char *name, const char *arg, const char *good,
                  struct err *err);
/* "Invalid numeric value "ARGUMENT" for NAME.", where NAME is as Slurm has it: "--switches". */
int opt_bad_number(struct opt *o, const char *name, const char *arg, struct err *err);
/* "0" or "1"; a size, in MiB. */
int opt_read_switch(struct opt *o, const char *name, const char *arg, bool *out, struct err *err);
int opt_read_size(struct opt *o, const char *name, const char *arg, uint64_t *mib, struct err *err);

/* Who says --gres himself does not mean what the environment of the job has of GPUs, too. */
int opt_fit_task_cpus(struct opt *o, struct err *err);
/* Whether the numbers of GPUs, tasks, sockets and nodes of a job can all be had together. */
int opt_check_gpus(struct opt *o, struct err *err);
void opt_count_tasks_of_gpus(struct opt *o);
int opt_count_licenses(struct opt *o, struct err *err); /* when tasks are counted */
void opt_prefer_gres(struct opt *o);
/* Tells once that the option has no effect with this argument. */
void opt_note_ignored(struct opt *o, enum opt_id id, const char *arg);
/* Two lists of generic resources, as "gres:gpu:2", of options of these names; NULL: not given. */
struct opt_lists {
    const char *list, *gpus, *list_name, *gpus_name;
};
/* '*out', which is freed first, gets them as one: "none" adds nothing to the other, and GPUs that
 * both say are said once. NULL: none is given. They fail when they say different numbers. */
int opt_join_gres(struct opt *o, const struct opt_lists *l, char **out, struct err *err);

/* Replaces an owned string by a copy. */
void opt_set_string(char **member, const char *value);

/* Cuts --nodelist to what the counts of nodes and tasks leave room for, and tells. */
int opt_fit_nodelist(struct opt *o, struct err *err);
/* Of options that contradict each other, those of the lower source are dropped; of one source they
 * are refused (opt_conflict.c). */
int opt_settle_conflicts(struct opt *o, struct err *err);
/* The tasks that follow from -B. */
int opt_count_tasks_of_cores(struct opt *o, struct err *err);
/* --mem-bind and --gpu-bind of sbatch and salloc, which only the srun in the job applies. */
int opt_check_binding(struct opt *o, struct err *err);
/* -m arbitrary: tasks in the order of a list of nodes, or of the file that SLURM_HOSTFILE names. */
int opt_fit_arbitrary(struct opt *o, struct err *err);
int opt_apply_hostfile(struct opt *o, const char *path, struct err *err);
/* srun in a job with -m arbitrary: takes the list of the job, unless the command line chooses its
 * nodes. */
void opt_inherit_list(struct opt *o);

/* The functions of CALL rows. */
#define FLAG(member)
#define TRUE(member)
#define COUNT(member)
#define NUMBER(member)
#define STRING(member)
#define MEMORY(member)
#define LIMIT(member)
#define IGNORED
#define REFUSED
#define PLANNED
#define CALL(function) opt_call_fn opt_set_##function;
#define OPT(id, name, letter, argument, action, ...) action
#define OPT_ALIAS(name, id, commands)
#include "cli/opt.def"
#undef FLAG
#undef TRUE
#undef COUNT
#undef NUMBER
#undef STRING
#undef MEMORY
#undef LIMIT
#undef IGNORED
#undef REFUSED
#undef PLANNED
#undef CALL
#undef OPT
#undef OPT_ALIAS
