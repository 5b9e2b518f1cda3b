/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loaded plugins of plugstack.conf in one program: srun, sbatch, salloc, slurmd, the
 * shepherd of a step, or the program beside the site's scripts. A process has at most one stack,
 * because the functions that plugins call (slurm/spank.h) do not always identify one.
 * Single-threaded.
 *
 *   stack_open, [stack_give_options,] stack_init, [stack_option_set..., | stack_options_from_env,]
 *   then STACK_INIT_POST_OPT and the rest by stack_call, stack_close
 *
 * In a job set each component has its own options and variables:
 *
 *   for each component: stack_enter_component, stack_option_set..., STACK_INIT_POST_OPT
 *
 * If a callback of a required plugin fails, the call fails; the failure of an optional plugin is
 * reported once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "proto/common.pb-c.h"
#include "spank/plugstack.h"
#include <slurm/spank.h>

#define STACK_VALUE_MAX (31u << 10)   /* bytes of an option's argument including its name */
#define STACK_OPTIONS_MAX 1024        /* options of all plugins */
#define STACK_JOB_ENV_MAX (64u << 10) /* total bytes of variables for the site's scripts */

enum stack_callback {
#define CALLBACK(id, name, per_task) STACK_##id,
#include "spank/callback.def"
#undef CALLBACK
    STACK_CALLBACKS
};

enum stack_level {
    STACK_PLAIN, /* an error, without the prefix */
    STACK_ERROR,
    STACK_INFO,
    STACK_VERBOSE,
    STACK_DEBUG,
    STACK_DEBUG2,
    STACK_DEBUG3
};

/* Callbacks of the program; env_* are set in the shepherd only. */
struct stack_host {
    spank_context_t context;
    void *ctx;
    void (*say)(void *ctx, enum stack_level level, const char *text);
    const char *(*env_get)(void *ctx, const char *name); /* NULL: not set */
    void (*env_set)(void *ctx, const char *name, const char *value);
    void (*env_unset)(void *ctx, const char *name);
    char **(*env_all)(void *ctx);
    void (*argv_prepend)(void *ctx, int argc, const char *const *argv);
};

/* Data about job and step for spank_get_item(); strings and arrays are borrowed. */
struct stack_facts {
    bool has_ids; /* job_id and step_id are set */
    bool has_job; /* uid and gid are set */
    bool has_step, has_node;
    uid_t uid;
    gid_t gid;
    const gid_t *gids;
    size_t gid_count;
    uint32_t job_id, step_id, restarts, array_job_id, array_task_id;
    uint32_t nodes, tasks, cpus_per_task; /* valid with has_step */
    uint32_t node_index, local_tasks;     /* valid with has_node, as are the following ones */
    uint16_t cpus;
    const char *job_cores, *step_cores;
    uint64_t job_mem_mib, step_mem_mib;
    int argc; /* argv NULL: unknown */
    char **argv;
};

/* A task on this node. pid 0: it does not run yet. */
struct stack_task {
    uint32_t id, local;
    pid_t pid;
    bool ended;
    int wait_status;
};

struct stack;
struct stack_option {
    const char *plugin; /* name and other data as registered; has_arg as in spank.h */
    const char *name, *arginfo, *usage;
    int has_arg;
};

/* *out is NULL if p is empty. A required plugin that cannot be loaded is an error. */
int stack_open(const struct plugstack *p, const struct stack_host *host, struct stack **out,
               struct err *err);
/* Unloads no library, since functions that plugins have registered elsewhere must stay callable.
   NULL is allowed. */
void stack_close(struct stack *s);

void stack_set_facts(struct stack *s, const struct stack_facts *facts);
/* Sets all tasks of this node, borrowed until the next call. */
void stack_set_tasks(struct stack *s, const struct stack_task *tasks, size_t count);

/* Calls slurm_spank_init(), in which plugins register options; in the shepherd it also passes the
 * options given by the user to their plugins. */
int stack_init(struct stack *s, struct err *err);
/* task: the task in question; NULL: none. */
int stack_call(struct stack *s, enum stack_callback which, const struct stack_task *task,
               struct err *err);
bool stack_has(const struct stack *s, enum stack_callback which);

/* After stack_init(): selects the component whose options and script variables are set and
 * returned from now on. When a component is entered for the first time, no option is set, and the
 * variables are those set by slurm_spank_init(). */
void stack_enter_component(struct stack *s, size_t component);

/* --- options in the submitting command -------------------------------------------------------- */

size_t stack_option_count(const struct stack *s);
struct stack_option stack_option_get(const struct stack *s, size_t index);
/* A plugin may not use the name of an option of the program itself. */
void stack_refuse_options(struct stack *s, bool (*is_known)(void *ctx, const char *name),
                          void *ctx);
/* value NULL: none. Calls the plugin's callback; a later value replaces an earlier one. */
int stack_option_set(struct stack *s, size_t index, const char *value, struct err *err);
/* Reads the options exported by an outer command. */
int stack_options_from_env(struct stack *s, char *const *envp, struct err *err);

/* Returns the given options for the message to the nodes, in the arena. */
Pb__SpankOption **stack_options_given(const struct stack *s, struct arena *arena, size_t *count);
/* Returns the same as NAME=value strings, which a command inside the job reads as its own
   options. */
char **stack_options_env(const struct stack *s, struct arena *arena, size_t *count);
/* Returns NAME=value strings for the site's scripts: variables set by plugins, and the options. */
char **stack_job_env(const struct stack *s, struct arena *arena, size_t *count);

/* --- options on the nodes --------------------------------------------------------------------- */

/* Call before stack_init(); copies the options. */
void stack_give_options(struct stack *s, Pb__SpankOption *const *given, size_t count);
