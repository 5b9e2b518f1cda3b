/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/opt_priv.h"
#include "cluster/job/job_set_env.h"
#include "cluster/job/step_nodes.h"
#include "conf/conf.h"
#include "launch/filter_plugin.h"
#include "launch/plugins.h"
#include "spank/stack.h"

#define VARIABLE "_SLURM_SPANK_OPTION_" /* part of the names of all variables with options */

/* The options of a component of the command line, in order of precedence. */
struct said {
    const char *arg; /* NULL: none */
    size_t option;
    char *const *environment; /* not NULL: an environment with options, and not an option */
};
struct words {
    VEC(struct said) list;
};

struct part {
    Pb__SpankOption **given;
    char **env;
    size_t given_count, env_count;
};

struct plugins {
    struct stack *stack;
    struct opt *opt;
    struct arena arena; /* for all stored texts */
    struct opt_extras extras;
    gid_t *groups;
    /* By component of the command line; components without options may be missing. */
    VEC(struct words) components;
    VEC(struct part) parts;
    VEC(char *) exported; /* NAME=value */
};

static void on_plugins_say(void *ctx, enum stack_level level, const char *text)
{
    const struct plugins *p = ctx;
    const struct opt *o = p->opt;
    unsigned from = level < STACK_VERBOSE ? 0 : (unsigned)(level - STACK_VERBOSE + 1);
    _cleanup_str_ struct str line = STR_INIT;

    if (level >= STACK_INFO && (o->quiet || o->verbose < from))
        return;
    if (level != STACK_PLAIN)
        str_printf(&line, "%s: %s", opt_program(o), level == STACK_ERROR ? "error: " : "");
    text_escape(text, &line);
    str_putc(&line, '\n');
    path_write_all(STDERR_FILENO, line.data, line.len);
}

static _Noreturn void exit_with_error(struct plugins *p, const char *text)
{
    on_plugins_say(p, STACK_ERROR, text);
    exit(1);
}

static struct words *words_of(struct plugins *p, size_t component)
{
    while (p->components.len <= component)
        vec_push(&p->components, ((struct words){0}));
    return &p->components.data[component];
}

static void on_option(void *ctx, size_t component, size_t index, const char *arg)
{
    struct plugins *p = ctx;

    vec_push(&words_of(p, component)->list,
             ((struct said){.option = index, .arg = arg ? arena_strdup(&p->arena, arg) : NULL}));
}

/* Copies the variables that may be options; the environment may change or move before they are
 * read. */
static char **copy_options(struct plugins *p, char *const *envp)
{
    size_t count = 0, kept = 0;

    while (envp[count])
        count++;
    char **copy = arena_alloc(&p->arena, (count + 1) * sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        if (strstr(envp[i], VARIABLE))
            copy[kept++] = arena_strdup(&p->arena, envp[i]);
    return copy;
}

static void on_environment(void *ctx, size_t component, char *const *envp)
{
    struct plugins *p = ctx;

    vec_push(&words_of(p, component)->list, ((struct said){.environment = copy_options(p, envp)}));
}

static bool is_plugin_known(void *ctx, const char *name)
{
    const struct plugins *p = ctx;

    return opt_knows(p->opt->command, name);
}

static void offer_options(struct plugins *p, struct opt *o)
{
    size_t count;

    stack_refuse_options(p->stack, is_plugin_known, p);
    count = stack_option_count(p->stack);
    p->extras = (struct opt_extras){
        .count = count, .set = on_option, .environment = on_environment, .ctx = p};
    p->extras.list = arena_alloc(&p->arena, (count + 1) * sizeof(*p->extras.list));
    for (size_t i = 0; i < count; i++) {
        struct stack_option is = stack_option_get(p->stack, i);

        p->extras.list[i] = (struct opt_extra){is.name, is.arginfo ? is.arginfo : "arg",
                                               is.usage ? is.usage : "", is.plugin, is.has_arg};
    }
    opt_offer(o, &p->extras);
}

static void take_identity(struct plugins *p, struct stack_facts *f)
{
    int count = getgroups(0, NULL);

    f->has_job = true;
    f->uid = getuid();
    f->gid = getgid();
    if (count > 0 && !p->groups) {
        p->groups = mem_new_array(gid_t, (size_t)count);
        count = getgroups(count, p->groups);
    }
    f->gids = p->groups;
    f->gid_count = count > 0 ? (size_t)count : 0;
}

struct plugins *plugins_begin(const struct conf *conf, struct opt *o)
{
    struct plugins *p;
    struct plugstack rows = {0};
    struct stack_facts facts = {0};
    struct stack_host host = {.context = o->command == OPT_SRUN ? S_CTX_LOCAL : S_CTX_ALLOCATOR,
                              .say = on_plugins_say};
    struct err err = {0};
    int rc = conf ? plugstack_load(conf, &rows, &err) : 0;

    if (rc == 0 && !rows.plugins.len)
        return NULL;
    p = mem_new(struct plugins);
    p->opt = o;
    arena_init(&p->arena, 0);
    host.ctx = p;
    if (rc == 0)
        rc = stack_open(&rows, &host, &p->stack, &err);
    plugstack_done(&rows);
    if (rc == 0) {
        take_identity(p, &facts);
        stack_set_facts(p->stack, &facts);
        rc = stack_init(p->stack, &err);
    }
    if (rc < 0)
        exit_with_error(p, err.text);
    offer_options(p, o);
    return p;
}

static int set_options(struct plugins *p, size_t component, char *const *environment,
                       struct err *err)
{
    int rc = 0;

    vec_foreach (&words_of(p, component)->list, said) {
        if (rc == 0 && said->environment)
            rc = stack_options_from_env(p->stack, environment ? environment : said->environment,
                                        err);
        else if (rc == 0)
            rc = stack_option_set(p->stack, said->option, said->arg, err);
    }
    return rc;
}

void plugins_ready(struct plugins *p, size_t component, char *const *environment, Pb__JobSpec *spec)
{
    struct part part = {0};
    struct err err = {0};

    if (!p)
        return;
    stack_enter_component(p->stack, p->parts.len);
    if (set_options(p, component, environment, &err) < 0) {
        if (component)
            exit_with_error(p, arena_printf(&p->arena, "%s (component %zu)", err.text, component));
        exit_with_error(p, err.text);
    }
    if (stack_call(p->stack, STACK_INIT_POST_OPT, NULL, &err) < 0)
        exit_with_error(p, err.text);
    part.given = stack_options_given(p->stack, &p->arena, &part.given_count);
    part.env = stack_options_env(p->stack, &p->arena, &part.env_count);
    spec->spank_env = stack_job_env(p->stack, &p->arena, &spec->n_spank_env);
    vec_push(&p->parts, part);
}

static void export_variable(struct plugins *p, char *variable)
{
    putenv(variable); /* owned by the environment until plugins_end() */
    vec_push(&p->exported, variable);
}

static void export_of_group(struct plugins *p, size_t group)
{
    const struct part *part = &p->parts.data[group];

    for (size_t i = 0; i < part->env_count; i++) {
        size_t name = strcspn(part->env[i], "=");

        export_variable(p, arena_printf(&p->arena, "%.*s" JOB_SET_ENV_GROUP "%zu%s", (int)name,
                                        part->env[i], group, part->env[i] + name));
    }
}

void plugins_export(struct plugins *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->parts.data[0].env_count; i++)
        export_variable(p, p->parts.data[0].env[i]);
    for (size_t k = 0; p->opt->command != OPT_SRUN && p->parts.len > 1 && k < p->parts.len; k++)
        export_of_group(p, k);
}

Pb__SpankOption **plugins_options(const struct plugins *p, size_t part, size_t *count)
{
    *count = p ? p->parts.data[part].given_count : 0;
    return p ? p->parts.data[part].given : NULL;
}

char **plugins_env(const struct plugins *p, size_t *count)
{
    *count = p ? p->exported.len : 0;
    return p ? p->exported.data : NULL;
}

char **plugins_choose_env(struct plugins *p, size_t part, char *const *environment)
{
    size_t count = 0, kept = 0;

    if (!p || p->parts.len < 2)
        return (char **)environment;
    const struct part *own = &p->parts.data[part];
    while (environment[count])
        count++;
    char **chosen = arena_alloc(&p->arena, (count + own->env_count + 1) * sizeof(*chosen));
    for (size_t i = 0; i < count; i++)
        if (!str_starts(environment[i], VARIABLE) || strstr(environment[i], JOB_SET_ENV_GROUP))
            chosen[kept++] = environment[i];
    for (size_t i = 0; i < own->env_count; i++)
        chosen[kept++] = own->env[i];
    return chosen;
}

int plugins_started(struct plugins *p, size_t part, const Pb__StepReply *step, int argc,
                    char **argv, struct err *err)
{
    struct stack_facts f = {.has_ids = true, .has_step = true};
    _cleanup_(step_nodes_done) struct step_nodes nodes = {0};

    if (!p)
        return 0;
    take_identity(p, &f);
    f.job_id = step->job_id;
    f.step_id = step->step_id;
    step_nodes_init(&nodes, step->layout, step->n_layout);
    f.nodes = (uint32_t)nodes.tasks.len;
    f.tasks = step->num_tasks;
    f.cpus_per_task = step->has_cpus_per_task ? step->cpus_per_task : 1;
    f.restarts = step->has_restarts ? step->restarts : 0;
    f.argc = argc;
    f.argv = argv;
    stack_enter_component(p->stack, part);
    stack_set_facts(p->stack, &f);
    return stack_call(p->stack, STACK_LOCAL_USER_INIT, NULL, err);
}

void plugins_end(struct plugins *p)
{
    struct err err = {0};

    if (!p)
        return;
    if (stack_call(p->stack, STACK_EXIT, NULL, &err) < 0)
        on_plugins_say(p, STACK_ERROR, err.text);
    vec_foreach (&p->exported, variable) {
        _cleanup_free_ char *name = mem_strndup(*variable, strcspn(*variable, "="));

        unsetenv(name);
    }
    vec_foreach (&p->components, words)
        vec_done(&words->list);
    vec_done(&p->components);
    vec_done(&p->parts);
    vec_done(&p->exported);
    stack_close(p->stack);
    p->opt->extras = NULL;
    arena_done(&p->arena);
    free(p->groups);
    free(p);
}

/* The interpreter of cli_filter.lua is a module, so that the commands do not depend on Lua. */
int filter_load_lua(const struct filter_plugin **out, struct err *err)
{
    _cleanup_free_ char *dir = conf_installed_plugin_dir();
    _cleanup_free_ char *path = mem_printf("%s/" FILTER_LUA_MODULE, dir);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    *out = module ? dlsym(module, FILTER_LUA_SYMBOL) : NULL;
    if (!*out)
        return err_set(err, -ERR_CONFIG,
                       "the interpreter of cli_filter.lua cannot be loaded (%s): install Sluice "
                       "with Lua 5.4, or take lua out of CliFilterPlugins",
                       dlerror());
    return 0;
}
