/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of plugins: registered, given by users, and sent to the nodes. */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "spank/stack_priv.h"

#define VARIABLE "_SLURM_SPANK_OPTION_"
#define OF_JOB "SLURM_SPANK_" /* additional prefix of an allocation's variables */
#define OF_SCRIPT "SPANK_"    /* prefix of variables for the site's scripts */

static void option_free(struct option *o)
{
    free(o->name);
    free(o->arginfo);
    free(o->usage);
    vec_foreach (&o->uses, use)
        free(use->value);
    vec_done(&o->uses);
    free(o);
}

void stack_option_done(struct stack *s)
{
    vec_foreach (&s->options, o)
        option_free(*o);
    vec_done(&s->options);
    vec_foreach (&s->given, g) {
        free(g->plugin);
        free(g->name);
        free(g->value);
    }
    vec_done(&s->given);
}

struct option *stack_option_find(struct plugin *p, const char *name)
{
    vec_foreach (&p->stack->options, o)
        if ((*o)->plugin == p && str_eq((*o)->name, name))
            return *o;
    return NULL;
}

static bool is_option_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            return false;
    return *name && *name != '-' && strlen(name) <= SPANK_OPTION_MAXLEN;
}

int stack_option_add(struct plugin *p, const struct spank_option *opt, struct err *err)
{
    struct stack *s = p->stack;
    struct option *o;

    if (!opt->name || !is_option_name(opt->name))
        return err_set(err, -ERR_PARSE, "%s: invalid option name '%.80s'", p->name,
                       opt->name ? opt->name : "");
    if (opt->has_arg < 0 || opt->has_arg > 2)
        return err_set(err, -ERR_PARSE, "%s: --%s: has_arg is %d, and not 0, 1 or 2", p->name,
                       opt->name, opt->has_arg);
    if (s->options.len >= STACK_OPTIONS_MAX)
        return err_set(err, -ERR_LIMIT, "%s: --%s: there are more than %d options", p->name,
                       opt->name, STACK_OPTIONS_MAX);
    vec_foreach (&s->options, other)
        if (str_eq((*other)->name, opt->name) &&
            (s->host.context != S_CTX_REMOTE || (*other)->plugin == p))
            return err_set(err, -ERR_PARSE, "%s: --%s is an option of %s already", p->name,
                           opt->name, (*other)->plugin->name);
    o = mem_new(struct option);
    o->plugin = p;
    o->name = mem_strdup(opt->name);
    o->arginfo = mem_strdup(opt->arginfo);
    o->usage = mem_strdup(opt->usage);
    o->has_arg = opt->has_arg;
    o->val = opt->val;
    o->cb = opt->cb;
    vec_push(&s->options, o);
    return 0;
}

void stack_refuse_options(struct stack *s, bool (*is_known)(void *ctx, const char *name), void *ctx)
{
    for (size_t i = s->options.len; i-- > 0;) {
        struct option *o = s->options.data[i];

        if (!is_known(ctx, o->name))
            continue;
        stack_say(s, STACK_ERROR, "spank: %s: --%s is an option of this command already",
                  o->plugin->name, o->name);
        vec_remove(&s->options, i);
        option_free(o);
    }
}

size_t stack_option_count(const struct stack *s)
{
    return s->options.len;
}

struct stack_option stack_option_get(const struct stack *s, size_t index)
{
    const struct option *o = s->options.data[index];

    return (struct stack_option){o->plugin->name, o->name, o->arginfo, o->usage, o->has_arg};
}

const struct option_use *stack_option_use(const struct stack *s, const struct option *o)
{
    static const struct option_use none;

    return s->component < o->uses.len ? &o->uses.data[s->component] : &none;
}

static int use_option(struct option *o, const char *value, int remote, struct err *err)
{
    char *kept = o->has_arg ? mem_strdup(value) : NULL;
    size_t component = o->plugin->stack->component;
    int rc;

    while (o->uses.len <= component)
        vec_push(&o->uses, ((struct option_use){0}));
    free(o->uses.data[component].value);
    o->uses.data[component] = (struct option_use){.given = true, .value = kept};
    rc = o->cb ? o->cb(o->val, kept, remote) : 0;
    if (rc == 0)
        return 0;
    return err_set(err, -ERR_PARSE, "Invalid --%s argument: %s (plugin %s, rc=%d)", o->name,
                   kept ? kept : "none", o->plugin->name, rc);
}

int stack_option_set(struct stack *s, size_t index, const char *value, struct err *err)
{
    struct option *o = s->options.data[index];

    if (value && strlen(value) > STACK_VALUE_MAX)
        return err_set(err, -ERR_TOO_BIG, "--%s: the argument has more than %u bytes", o->name,
                       STACK_VALUE_MAX);
    return use_option(o, value, 0, err);
}

/* --- variables -------------------------------------------------------------------------------- */

void stack_option_variable(const struct plugin *p, const char *name, struct str *out)
{
    size_t from;

    str_puts(out, VARIABLE);
    from = out->len;
    str_printf(out, "%s_%s", p->name, name);
    for (size_t i = from; i < out->len; i++)
        if (!isalnum((unsigned char)out->data[i]))
            out->data[i] = '_';
}

static const char *look_up(char *const *envp, const char *prefix, const char *name)
{
    size_t before = strlen(prefix), len = strlen(name);

    for (; envp && *envp; envp++)
        if (!strncmp(*envp, prefix, before) && !strncmp(*envp + before, name, len) &&
            (*envp)[before + len] == '=')
            return *envp + before + len + 1;
    return NULL;
}

int stack_options_from_env(struct stack *s, char *const *envp, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < s->options.len && rc == 0; i++) {
        struct option *o = s->options.data[i];
        _cleanup_str_ struct str name = STR_INIT;
        const char *value;

        stack_option_variable(o->plugin, o->name, &name);
        value = look_up(envp, "", str_cstr(&name));
        if (!value)
            value = look_up(envp, OF_JOB, str_cstr(&name));
        if (value)
            rc = stack_option_set(s, i, *value || o->has_arg == 1 ? value : NULL, err);
        if (rc < 0)
            err_prefix(err, "%s", str_cstr(&name));
    }
    return rc;
}

static size_t count_used(const struct stack *s)
{
    size_t count = 0;

    vec_foreach (&s->options, o)
        count += stack_option_use(s, *o)->given;
    return count;
}

Pb__SpankOption **stack_options_given(const struct stack *s, struct arena *arena, size_t *count)
{
    Pb__SpankOption **list = arena_alloc(arena, (count_used(s) + 1) * sizeof(*list));

    *count = 0;
    vec_foreach (&s->options, o) {
        const struct option_use *use = stack_option_use(s, *o);
        Pb__SpankOption *m;

        if (!use->given)
            continue;
        m = arena_alloc(arena, sizeof(*m));
        pb__spank_option__init(m);
        m->plugin = (*o)->plugin->name;
        m->name = (*o)->name;
        m->value = use->value;
        list[(*count)++] = m;
    }
    return list;
}

char **stack_options_env(const struct stack *s, struct arena *arena, size_t *count)
{
    char **list = arena_alloc(arena, (count_used(s) + 1) * sizeof(*list));

    *count = 0;
    vec_foreach (&s->options, o) {
        const struct option_use *use = stack_option_use(s, *o);
        _cleanup_str_ struct str name = STR_INIT;

        if (!use->given)
            continue;
        stack_option_variable((*o)->plugin, (*o)->name, &name);
        list[(*count)++] =
            arena_printf(arena, "%s=%s", str_cstr(&name), use->value ? use->value : "");
    }
    return list;
}

char **stack_job_env(const struct stack *s, struct arena *arena, size_t *count)
{
    size_t options;
    char **used = stack_options_env(s, arena, &options);
    const struct job_env *env = stack_component_env(s);
    char **list = arena_alloc(arena, (options + env->list.len + 1) * sizeof(*list));

    *count = 0;
    vec_foreach (&env->list, var)
        list[(*count)++] = *var;
    for (size_t i = 0; i < options; i++)
        list[(*count)++] = used[i];
    return list;
}

/* --- on the nodes ----------------------------------------------------------------------------- */

void stack_give_options(struct stack *s, Pb__SpankOption *const *given, size_t count)
{
    for (size_t i = 0; i < count; i++)
        vec_push(&s->given,
                 ((struct given){mem_strdup(given[i]->plugin), mem_strdup(given[i]->name),
                                 mem_strdup(given[i]->value)}));
}

int stack_option_deliver(struct stack *s, size_t from, struct err *err)
{
    for (size_t i = from; i < s->options.len; i++) {
        struct option *o = s->options.data[i];
        struct err why = {0};

        vec_foreach (&s->given, g) {
            if (!str_eq(g->plugin, o->plugin->name) || !str_eq(g->name, o->name) ||
                use_option(o, g->value, 1, &why) == 0)
                continue;
            if (o->plugin->must)
                return err_set(err, -ERR_LAUNCH, "spank: required plugin: %s", why.text);
            stack_say(s, STACK_ERROR, "spank: %s", why.text);
        }
    }
    return 0;
}

/* --- what plugins call ------------------------------------------------------------------------ */

static struct plugin *plugin_of(spank_t spank)
{
    return stack_current && spank ? spank->plugin : NULL;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *opt)
{
    struct plugin *p = plugin_of(spank);
    struct err err = {0};

    if (!p || !opt || p->stack->running != STACK_INIT)
        return ESPANK_BAD_ARG;
    if (stack_option_add(p, opt, &err) == 0)
        return ESPANK_SUCCESS;
    stack_say(p->stack, STACK_ERROR, "spank: %s", err.text);
    return err.code == -ERR_LIMIT ? ESPANK_NOSPACE : ESPANK_BAD_ARG;
}

/* Beside a script no option is registered: an option that was given is in the environment. */
static spank_err_t script_option(struct plugin *p, const struct spank_option *opt, char **out)
{
    _cleanup_str_ struct str name = STR_INIT;
    const char *value;

    stack_option_variable(p, opt->name, &name);
    value = look_up(environ, OF_SCRIPT, str_cstr(&name));
    if (!value)
        return ESPANK_ERROR;
    if (out)
        *out = opt->has_arg && (*value || opt->has_arg == 1) ? (char *)value : NULL;
    return ESPANK_SUCCESS;
}

spank_err_t spank_option_getopt(spank_t spank, struct spank_option *opt, char **optargp)
{
    struct plugin *p = plugin_of(spank);
    struct option *o;

    if (!p || !opt || !opt->name)
        return ESPANK_BAD_ARG;
    if (optargp)
        *optargp = NULL;
    if (p->stack->running < 0 || p->stack->running == STACK_INIT ||
        p->stack->host.context == S_CTX_SLURMD)
        return ESPANK_NOT_AVAIL;
    if (p->stack->host.context == S_CTX_JOB_SCRIPT)
        return script_option(p, opt, optargp);
    o = stack_option_find(p, opt->name);
    if (!o || !stack_option_use(p->stack, o)->given)
        return ESPANK_ERROR;
    if (optargp)
        *optargp = stack_option_use(p->stack, o)->value;
    return ESPANK_SUCCESS;
}
