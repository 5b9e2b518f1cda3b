/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The plugins of plugstack.conf, loaded, for one program: srun, sbatch and salloc, slurmd,
 * the shepherd of a step, and what runs beside the site's scripts. A process has one stack at most,
 * since what plugins call (slurm/spank.h) does not always say which it means. One thread.
 *
 *   stack_open, [stack_give_options,] stack_init, [stack_option_set..., | stack_options_from_env,]
 *   then STACK_INIT_POST_OPT and the rest by stack_call, stack_close
 *
 * Of a job set each component has options and variables of its own:
 *
 *   for each component: stack_enter_component, stack_option_set..., STACK_INIT_POST_OPT
 *
 * A callback of a required plugin that fails, fails the call; of an optional one it is said once.
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

#define STACK_VALUE_MAX                                                                            \
    (31u << 10) /* bytes of an option's argument: with its name, what a job may say */
#define STACK_OPTIONS_MAX 1024        /* of all plugins */
#define STACK_JOB_ENV_MAX (64u << 10) /* bytes of all variables for the site's scripts */

enum stack_callback {
#define CALLBACK(id, name, per_task) STACK_##id,
#include "spank/callback.def"
#undef CALLBACK
    STACK_CALLBACKS
};

enum stack_level {
    STACK_PLAIN, /* as an error, without the word */
    STACK_ERROR,
    STACK_INFO,
    STACK_VERBOSE,
    STACK_DEBUG,
    STACK_DEBUG2,
    STACK_DEBUG3
};

/* What the program does for its plugins; env_* are the shepherd's only. */
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

/* Of the job and step, for spank_get_item(); strings and arrays are borrowed. */
struct stack_facts {
    bool has_ids; /* job_id and step_id are known */
    bool has_job; /* uid, gid */
    bool has_step, has_node;
    uid_t uid;
    gid_t gid;
    const gid_t *gids;
    size_t gid_count;
    uint32_t job_id, step_id, restarts, array_job_id, array_task_id;
    uint32_t nodes, tasks, cpus_per_task; /* has_step */
    uint32_t node_index, local_tasks;     /* has_node, and what follows */
    uint16_t cpus;
    const char *job_cores, *step_cores;
    uint64_t job_mem_mib, step_mem_mib;
    int argc; /* argv NULL: not known */
    char **argv;
};

/* A task of this node. pid 0: it does not run yet. */
struct stack_task {
    uint32_t id, local;
    pid_t pid;
    bool ended;
    int wait_status;
};

struct stack;
struct stack_option {
    const char
        *plugin; /* its name, and the rest, as it has registered them; has_arg as in spank.h */
    const char *name, *arginfo, *usage;
    int has_arg;
};

/* NULL in *out when p is empty. A required plugin that cannot be loaded is a failure. */
int stack_open(const struct plugstack *p, const struct stack_host *host, struct stack **out,
               struct err *err);
/* Unloads nothing: what plugins have registered elsewhere stays callable. NULL is fine. */
void stack_close(struct stack *s);

void stack_set_facts(struct stack *s, const struct stack_facts *facts);
/* All tasks of this node, borrowed until the next call. */
void stack_set_tasks(struct stack *s, const struct stack_task *tasks, size_t count);

/* slurm_spank_init(), in which options are registered; in the shepherd those that the user has
 * given are handed to their plugins, too. */
int stack_init(struct stack *s, struct err *err);
/* task: the one it is about; NULL: none. */
int stack_call(struct stack *s, enum stack_callback which, const struct stack_task *task,
               struct err *err);
bool stack_has(const struct stack *s, enum stack_callback which);

/* After stack_init(): the options and the variables for the site's scripts that are set, asked for
 * and returned from now on are those of this component. When it is entered for the first time, no
 * option is given, and the variables are those that slurm_spank_init() has set. */
void stack_enter_component(struct stack *s, size_t component);

/* --- options: where they are given ------------------------------------------------------------ */

size_t stack_option_count(const struct stack *s);
struct stack_option stack_option_get(const struct stack *s, size_t index);
/* A name that the program itself has is no plugin's. */
void stack_refuse_options(struct stack *s, bool (*is_known)(void *ctx, const char *name),
                          void *ctx);
/* value NULL: none. Asks its plugin; a later value replaces an earlier one. */
int stack_option_set(struct stack *s, size_t index, const char *value, struct err *err);
/* As an outer command has exported them. */
int stack_options_from_env(struct stack *s, char *const *envp, struct err *err);

/* Those that were given, for the message to the nodes: in the arena. */
Pb__SpankOption **stack_options_given(const struct stack *s, struct arena *arena, size_t *count);
/* NAME=value of them, which a command within the job takes for its own. */
char **stack_options_env(const struct stack *s, struct arena *arena, size_t *count);
/* NAME=value for the site's scripts: what plugins have set, and the options. */
char **stack_job_env(const struct stack *s, struct arena *arena, size_t *count);

/* --- options: where they are used ------------------------------------------------------------- */

/* Before stack_init(); copied. */
void stack_give_options(struct stack *s, Pb__SpankOption *const *given, size_t count);
