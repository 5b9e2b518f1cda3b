/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the stack share. */
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
    VEC(struct option_use) uses; /* by component; those of later components may be missing */
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
    bool told[STACK_CALLBACKS]; /* that it fails */
    struct spank_option *table; /* NULL: none */
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
    VEC(struct given) given; /* by the user, in the shepherd */
    size_t component;        /* the one that options and variables are of now */
    struct job_env env_of_init;
    VEC(struct job_env) job_envs; /* by component, at least that of the first one */
    int running;                  /* enum stack_callback; -1: none */
};

/* The only one of this process; NULL. */
extern struct stack *stack_current;

void stack_say(struct stack *s, enum stack_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* An option of this plugin; -ERR_LIMIT, -ERR_PARSE. */
int stack_option_add(struct plugin *p, const struct spank_option *opt, struct err *err);
struct option *stack_option_find(struct plugin *p, const char *name);
/* Hands its plugin what the user has given, from this option of the list on. */
int stack_option_deliver(struct stack *s, size_t from, struct err *err);
/* The variable in which it travels; in a buffer of the caller. */
void stack_option_variable(const struct plugin *p, const char *name, struct str *out);
void stack_option_done(struct stack *s);
/* Of the component that is entered. */
const struct option_use *stack_option_use(const struct stack *s, const struct option *o);
struct job_env *stack_component_env(const struct stack *s);
