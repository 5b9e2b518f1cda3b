/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "spank/stack_priv.h"

#define NAME_MAX_BYTES 64

struct stack *stack_current;

static const char *const names[] = {
#define CALLBACK(id, name, per_task) name,
#include "spank/callback.def"
#undef CALLBACK
};

void stack_say(struct stack *s, enum stack_level level, const char *fmt, ...)
{
    _cleanup_str_ struct str text = STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    s->host.say(s->host.ctx, level, str_cstr(&text));
}

static void plugin_free(struct plugin *p)
{
    for (int i = 0; i < p->argc; i++)
        free(p->argv[i]);
    free(p->argv);
    free(p->name);
    free(p->path);
    free(p);
}

static struct plugin *plugin_new(struct stack *s, const Pb__SpankPlugin *row, const char *name)
{
    struct plugin *p = mem_new(struct plugin);

    p->stack = s;
    p->handle.plugin = p;
    p->name = mem_strndup(name, NAME_MAX_BYTES);
    p->path = mem_strdup(row->path);
    p->must = row->must;
    p->argc = (int)row->n_args;
    p->argv = mem_new_array(char *, row->n_args + 1);
    for (size_t i = 0; i < row->n_args; i++)
        p->argv[i] = mem_strdup(row->args[i]);
    return p;
}

static void find_symbols(struct plugin *p, void *library)
{
    for (int i = 0; i < STACK_CALLBACKS; i++) {
        _cleanup_free_ char *symbol = mem_printf("slurm_spank_%s", names[i]);
        void *found = dlsym(library, symbol);

        /* Copies a function's address from an object pointer. */
        memcpy(&p->call[i], &found, sizeof(found));
    }
    p->table = dlsym(library, "spank_options");
}

/* Returns 0: loaded, or an optional plugin was skipped. */
static int load_plugin(struct stack *s, const Pb__SpankPlugin *row, struct err *err)
{
    void *library = dlopen(row->path, RTLD_NOW | RTLD_LOCAL);
    const char *name = library ? dlsym(library, "plugin_name") : NULL;
    const char *type = library ? dlsym(library, "plugin_type") : NULL;
    struct err why = {0};
    struct plugin *p;

    if (!library)
        err_set(&why, -ERR_CONFIG, "%s: %s", row->place, dlerror());
    else if (!name || !*name || !type || !str_eq(type, "spank"))
        err_set(&why, -ERR_CONFIG, "%s: %s is not a SPANK plugin: it has no SPANK_PLUGIN(name, 1)",
                row->place, row->path);
    if (!why.code) {
        p = plugin_new(s, row, name);
        find_symbols(p, library);
        vec_push(&s->plugins, p);
        return 0;
    }
    if (library)
        dlclose(library);
    if (row->must)
        return err_set(err, why.code, "required plugin: %s", why.text);
    stack_say(s, STACK_ERROR, "spank: optional plugin is left out: %s", why.text);
    return 0;
}

int stack_open(const struct plugstack *p, const struct stack_host *host, struct stack **out,
               struct err *err)
{
    struct stack *s;
    int rc = 0;

    *out = NULL;
    if (!p->plugins.len)
        return 0;
    s = mem_new(struct stack);
    s->host = *host;
    s->running = -1;
    stack_enter_component(s, 0);
    stack_current = s;
    for (size_t i = 0; i < p->plugins.len && rc == 0; i++)
        rc = load_plugin(s, p->plugins.data[i], err);
    if (rc < 0)
        stack_close(s);
    else
        *out = s;
    return rc;
}

static void env_done(struct job_env *env)
{
    vec_foreach (&env->list, var)
        free(*var);
    vec_done(&env->list);
}

static struct job_env copy_env(const struct job_env *from)
{
    struct job_env to = {.bytes = from->bytes};

    vec_foreach (&from->list, var)
        vec_push(&to.list, mem_strdup(*var));
    return to;
}

void stack_close(struct stack *s)
{
    if (!s)
        return;
    if (stack_current == s)
        stack_current = NULL;
    stack_option_done(s);
    vec_foreach (&s->plugins, p)
        plugin_free(*p);
    vec_done(&s->plugins);
    env_done(&s->env_of_init);
    vec_foreach (&s->job_envs, env)
        env_done(env);
    vec_done(&s->job_envs);
    free(s);
}

struct job_env *stack_component_env(const struct stack *s)
{
    return &s->job_envs.data[s->component];
}

void stack_enter_component(struct stack *s, size_t component)
{
    while (s->job_envs.len <= component)
        vec_push(&s->job_envs, copy_env(&s->env_of_init));
    s->component = component;
}

void stack_set_facts(struct stack *s, const struct stack_facts *facts)
{
    s->facts = *facts;
}

void stack_set_tasks(struct stack *s, const struct stack_task *tasks, size_t count)
{
    s->tasks = tasks;
    s->task_count = count;
}

bool stack_has(const struct stack *s, enum stack_callback which)
{
    vec_foreach (&s->plugins, p)
        if ((*p)->call[which])
            return true;
    return false;
}

static int call_one(struct plugin *p, enum stack_callback which, struct err *err)
{
    int rc = p->call[which] ? p->call[which](&p->handle, p->argc, p->argv) : 0;

    if (rc == 0)
        return 0;
    if (p->must)
        return err_set(err, -ERR_LAUNCH, "spank: required plugin %s (%s): %s() failed with rc=%d",
                       p->name, p->path, names[which], rc);
    if (!p->is_reported[which])
        stack_say(p->stack, STACK_ERROR, "spank: optional plugin %s (%s): %s() failed with rc=%d",
                  p->name, p->path, names[which], rc);
    p->is_reported[which] = true;
    return 0;
}

int stack_call(struct stack *s, enum stack_callback which, const struct stack_task *task,
               struct err *err)
{
    int rc = 0, before = s->running;
    struct sigaction children;

    sigaction(SIGCHLD, NULL, &children);
    s->running = (int)which;
    s->task = task;
    for (size_t i = 0; i < s->plugins.len && rc == 0; i++)
        rc = call_one(s->plugins.data[i], which, err);
    /* A plugin that ignores SIGCHLD would make us miss the ends of children. */
    sigaction(SIGCHLD, &children, NULL);
    s->task = NULL;
    s->running = before;
    return rc;
}

/* Adds the options of a table; an invalid option is reported and skipped. */
static void add_table(struct plugin *p)
{
    struct err err = {0};

    for (const struct spank_option *o = p->table; o && o->name; o++)
        if (stack_option_add(p, o, &err) < 0)
            stack_say(p->stack, STACK_ERROR, "spank: %s", err.text);
}

/* Options of the table are registered before init, options that init registers directly after
   it. */
int stack_init(struct stack *s, struct err *err)
{
    bool allocates = s->host.context == S_CTX_ALLOCATOR;
    int rc = 0;

    vec_foreach (&s->plugins, p)
        if (!allocates)
            add_table(*p);
    rc = stack_option_deliver(s, 0, err);
    s->running = STACK_INIT;
    for (size_t i = 0; i < s->plugins.len && rc == 0; i++) {
        size_t known = s->options.len;

        rc = call_one(s->plugins.data[i], STACK_INIT, err);
        if (rc == 0)
            rc = stack_option_deliver(s, known, err);
    }
    s->running = -1;
    env_done(&s->env_of_init);
    s->env_of_init = copy_env(stack_component_env(s));
    return rc;
}
