/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations shared by the parts of the option parser: the table at run time. */
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
    /* Of a plugin: id is OPT_ID_COUNT, offset is the index in the list of extra options. */
    OPT_T_EXTRA,
};

#define OPT_ALL (OPT_SRUN | OPT_SBATCH | OPT_SALLOC)
#define OPT_OLD 8         /* spelling of Slurm's first version (2002) */
#define OPT_TERMINAL 16   /* on the command line only: --help */
#define OPT_INERT 32      /* without effect; the user gets a note */
#define OPT_PROPAGATED 64 /* inherited by the next component of a job set */

typedef int opt_call_fn(struct opt *o, const char *arg, struct err *err);

struct opt_row {
    enum opt_id id;
    const char *name;
    char letter;
    enum opt_argument argument;
    enum opt_type type;
    size_t offset;     /* of the member, for types with a member */
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

/* Finds an option by its full name or an alias; NULL: the command has no such option. */
const struct opt_row *opt_find_row(enum opt_command command, const char *name);

/* One option of a command line or script. row NULL: the options have ended. */
struct opt_word {
    const struct opt_row *row;
    const char *arg; /* NULL: none */
};
struct opt_cursor {
    char *const *argv;
    int argc, at;
    const char *cluster; /* the rest of "-abc" */
};

/* Reads the next option; -ERR_PARSE with getopt's message. At the end of the options c->at is the
 * first operand. */
int opt_next(struct opt *o, struct opt_cursor *c, struct opt_word *word, struct err *err);

/* An option that the next component inherits from this component or an earlier one. */
struct opt_inherited {
    const struct opt_row *row;
    char *arg; /* NULL: none */
};
struct opt_propagated {
    VEC(struct opt_inherited) list;
};

/* Checks the options up to the first operand, at which the cursor then points; see opt_scan(). */
int opt_scan_words(struct opt *o, struct opt_cursor *c, struct err *err);

/* A position in a script: the start, or after a line that separates components. */
struct opt_place {
    const struct opt_script *script;
    size_t at;
    int line; /* number of the last line read */
};
/* Applies the "#SBATCH" lines of one component. Returns 1 if the last line starts another
 * component, 0 at the end. */
int opt_apply_section(struct opt *o, struct opt_place *place, struct err *err);
/* Applies the options of "#PBS" and then "#BSUB" lines that have an equivalent, and notes the
 * others. Options that are already set stay. */
int opt_apply_pbs(struct opt *o, const struct opt_script *script, struct err *err);

/* Sets one option from o->source. */
int opt_set(struct opt *o, const struct opt_row *row, const char *arg, struct err *err);

/* Sets the failure: the message, its form, and the exit status. Returns -ERR_PARSE. */
int opt_fail(struct opt *o, enum opt_failure how, int status, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Writes a warning for the user, once per option. */
void opt_note(struct opt *o, enum opt_id id, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* "Invalid --NAME specification: ARGUMENT". */
int opt_bad_spec(struct opt *o, const char *name, const char *arg, struct err *err);
/* Like opt_bad_spec(), and adds which values are valid. */
int opt_bad_value(struct opt *o, const char *name, const char *arg, const char *good,
                  struct err *err);
/* "Invalid numeric value "ARGUMENT" for NAME."; NAME has Slurm's form: "--switches". */
int opt_bad_number(struct opt *o, const char *name, const char *arg, struct err *err);
/* opt_read_switch() parses "0" or "1", opt_read_size() a size in MiB. */
int opt_read_switch(struct opt *o, const char *name, const char *arg, bool *out, struct err *err);
int opt_read_size(struct opt *o, const char *name, const char *arg, uint64_t *mib, struct err *err);

/* CPUs per task from --cpus-per-task and --tres-per-task: the higher source wins. */
int opt_fit_task_cpus(struct opt *o, struct err *err);
/* Checks that the counts of GPUs, tasks, sockets and nodes of a job are compatible. */
int opt_check_gpus(struct opt *o, struct err *err);
void opt_count_tasks_of_gpus(struct opt *o);
int opt_count_licenses(struct opt *o, struct err *err); /* call after tasks were counted */
/* If --gres is given, drops GPU options of the job's environment. */
void opt_prefer_gres(struct opt *o);
/* Two lists of generic resources in the form "gres:gpu:2", and the names of their options; NULL:
 * not given. */
struct opt_lists {
    const char *list, *gpus, *list_name, *gpus_name;
};
/* Replaces '*out' by the combined list: "none" adds nothing, and GPUs in both lists are counted
 * once. NULL: neither is given. Fails if the lists have different counts. */
int opt_join_gres(struct opt *o, const struct opt_lists *l, char **out, struct err *err);

/* Replaces an owned string by a copy. */
void opt_set_string(char **member, const char *value);

/* Cuts --nodelist to the counts of nodes and tasks, with a note. */
int opt_fit_nodelist(struct opt *o, struct err *err);
/* Of two options that contradict each other, the one from the lower source is dropped; if both come
 * from one source, they are rejected (opt_conflict.c). */
int opt_settle_conflicts(struct opt *o, struct err *err);
/* Derives the task count from -B. */
int opt_count_tasks_of_cores(struct opt *o, struct err *err);
/* --mem-bind and --gpu-bind of sbatch and salloc, which only the srun in the job applies. */
int opt_check_binding(struct opt *o, struct err *err);
/* -m arbitrary: tasks in the order of a node list, or of the file in SLURM_HOSTFILE. */
int opt_fit_arbitrary(struct opt *o, struct err *err);
int opt_apply_hostfile(struct opt *o, const char *path, struct err *err);
/* srun in a job with -m arbitrary: uses the job's list, unless the command line selects nodes. */
void opt_inherit_list(struct opt *o);

/* Declares the functions of CALL rows. */
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
