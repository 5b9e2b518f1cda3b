/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/plugins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/opt_priv.h"
#include "spank/stack.h"

struct plugins {
    struct stack *stack;
    struct opt *opt;
    struct arena arena;
    struct opt_extras extras;
    gid_t *groups;
    Pb__SpankOption **given;
    char **env;
    size_t given_count, env_count;
};

static void on_say(void *ctx, enum stack_level level, const char *text)
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

static _Noreturn void fail(struct plugins *p, const char *text)
{
    on_say(p, STACK_ERROR, text);
    exit(1);
}

static int on_option(void *ctx, size_t index, const char *arg, struct err *err)
{
    return stack_option_set(((struct plugins *)ctx)->stack, index, arg, err);
}

static int on_environment(void *ctx, char *const *envp, struct err *err)
{
    return stack_options_from_env(((struct plugins *)ctx)->stack, envp, err);
}

static bool is_known(void *ctx, const char *name)
{
    const struct plugins *p = ctx;

    return opt_knows(p->opt->command, name);
}

static void offer_options(struct plugins *p, struct opt *o)
{
    size_t count;

    stack_refuse_options(p->stack, is_known, p);
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
                              .say = on_say};
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
        fail(p, err.text);
    offer_options(p, o);
    return p;
}

void plugins_ready(struct plugins *p, Pb__JobSpec *spec)
{
    struct err err = {0};

    if (!p)
        return;
    if (stack_call(p->stack, STACK_INIT_POST_OPT, NULL, &err) < 0)
        fail(p, err.text);
    p->given = stack_options_given(p->stack, &p->arena, &p->given_count);
    p->env = stack_options_env(p->stack, &p->arena, &p->env_count);
    for (size_t i = 0; i < p->env_count; i++)
        putenv(p->env[i]); /* until plugins_end() */
    spec->spank_env = stack_job_env(p->stack, &p->arena, &spec->n_spank_env);
}

Pb__SpankOption **plugins_options(const struct plugins *p, size_t *count)
{
    *count = p ? p->given_count : 0;
    return p ? p->given : NULL;
}

char **plugins_env(const struct plugins *p, size_t *count)
{
    *count = p ? p->env_count : 0;
    return p ? p->env : NULL;
}

int plugins_started(struct plugins *p, const Pb__StepReply *step, int argc, char **argv,
                    struct err *err)
{
    struct stack_facts f = {.has_ids = true, .has_step = true};

    if (!p)
        return 0;
    take_identity(p, &f);
    f.job_id = step->job_id;
    f.step_id = step->step_id;
    f.nodes = (uint32_t)step->n_layout;
    f.tasks = step->num_tasks;
    f.cpus_per_task = step->has_cpus_per_task ? step->cpus_per_task : 1;
    f.restarts = step->has_restarts ? step->restarts : 0;
    f.argc = argc;
    f.argv = argv;
    stack_set_facts(p->stack, &f);
    return stack_call(p->stack, STACK_LOCAL_USER_INIT, NULL, err);
}

void plugins_end(struct plugins *p)
{
    struct err err = {0};

    if (!p)
        return;
    if (stack_call(p->stack, STACK_EXIT, NULL, &err) < 0)
        on_say(p, STACK_ERROR, err.text);
    for (size_t i = 0; i < p->env_count; i++) {
        _cleanup_free_ char *name = mem_strndup(p->env[i], strcspn(p->env[i], "="));

        unsetenv(name);
    }
    stack_close(p->stack);
    p->opt->extras = NULL;
    arena_done(&p->arena);
    free(p->groups);
    free(p);
}
