/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of the stack. */
#pragma once

#include "base/vec.h"
#include "spank/stack.h"

struct option_use {
    bool given;
    char *value; /* NULL: none */
};

struct option {
    struct plugin *plugin;
    char *name, *arginfo, *usage;
    int has_arg, val;
    spank_opt_cb_f cb;
    VEC(struct option_use) uses; /* by component; later components may be missing */
};

struct job_env {
    VEC(char *) list; /* NAME=value */
    size_t bytes;
};

struct spank_handle {
    struct plugin *plugin;
};

struct plugin {
    struct stack *stack;
    struct spank_handle handle;
    char *name, *path;
    bool must;
    int argc;
    char **argv;
    spank_f call[STACK_CALLBACKS];
    bool is_reported[STACK_CALLBACKS]; /* its failure was reported, by callback */
    struct spank_option *table;        /* NULL: none */
};

struct given {
    char *plugin, *name, *value;
};

struct stack {
    struct stack_host host;
    struct stack_facts facts;
    const struct stack_task *tasks, *task;
    size_t task_count;
    VEC(struct plugin *) plugins;
    VEC(struct option *) options;
    VEC(struct given) given; /* given by the user, in the shepherd */
    size_t component;        /* the selected component of options and variables */
    struct job_env env_of_init;
    VEC(struct job_env) job_envs; /* by component; at least that of the first one */
    int running;                  /* enum stack_callback; -1: none */
};

/* The only stack of this process; NULL: none. */
extern struct stack *stack_current;

void stack_say(struct stack *s, enum stack_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Registers an option of this plugin; -ERR_LIMIT, -ERR_PARSE. */
int stack_option_add(struct plugin *p, const struct spank_option *opt, struct err *err);
struct option *stack_option_find(struct plugin *p, const char *name);
/* Passes the values given by the user to their plugins, from option number 'from' on. */
int stack_option_deliver(struct stack *s, size_t from, struct err *err);
/* Writes the name of the environment variable that transports the option. */
void stack_option_variable(const struct plugin *p, const char *name, struct str *out);
void stack_option_done(struct stack *s);
/* The value in the selected component. */
const struct option_use *stack_option_use(const struct stack *s, const struct option *o);
struct job_env *stack_component_env(const struct stack *s);
