/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of include/slurm/spank.h that plugins call, except those about options. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "spank/stack_priv.h"

#define SYMBOL "slurm_spank_"

static const char *const callbacks[] = {
#define CALLBACK(id, name, per_task) name,
#include "spank/callback.def"
#undef CALLBACK
};

static struct stack *stack_of(spank_t spank)
{
    return stack_current && spank && spank->plugin ? spank->plugin->stack : NULL;
}

int spank_symbol_supported(const char *symbol)
{
    if (!symbol || !str_starts(symbol, SYMBOL))
        return 0;
    for (size_t i = 0; i < STACK_CALLBACKS; i++)
        if (str_eq(symbol + strlen(SYMBOL), callbacks[i]))
            return 1;
    return 0;
}

int spank_remote(spank_t spank)
{
    struct stack *s = stack_of(spank);

    return s && s->host.context == S_CTX_REMOTE;
}

spank_context_t spank_context(void)
{
    return stack_current ? stack_current->host.context : S_CTX_ERROR;
}

const char *spank_strerror(spank_err_t err)
{
    switch (err) {
    case ESPANK_SUCCESS:
        return "Success";
    case ESPANK_ERROR:
        return "Generic error";
    case ESPANK_BAD_ARG:
        return "Bad argument";
    case ESPANK_NOT_TASK:
        return "Not in task context";
    case ESPANK_ENV_EXISTS:
        return "Environment variable exists";
    case ESPANK_ENV_NOEXIST:
        return "No such environment variable";
    case ESPANK_NOSPACE:
        return "Buffer too small";
    case ESPANK_NOT_REMOTE:
        return "Valid only in remote context";
    case ESPANK_NOEXIST:
        return "Id/PID does not exist on this node";
    case ESPANK_NOT_EXECD:
        return "Lookup by PID requested, but no tasks running";
    case ESPANK_NOT_AVAIL:
        return "Item not available from this callback";
    case ESPANK_NOT_LOCAL:
        return "Valid only in local or allocator context";
    }
    return "Unknown";
}

/* --- the environment of tasks ----------------------------------------------------------------- */

static bool is_variable(const char *name)
{
    return name && *name && !strchr(name, '=');
}

static spank_err_t copy_value(const char *value, char *buf, int len)
{
    size_t size;

    if (!value)
        return ESPANK_ENV_NOEXIST;
    size = strlen(value) + 1;
    if ((size_t)len < size)
        return ESPANK_NOSPACE;
    memcpy(buf, value, size);
    return ESPANK_SUCCESS;
}

static spank_err_t check_remote(const struct stack *s, const char *var)
{
    if (!s || !is_variable(var))
        return ESPANK_BAD_ARG;
    return s->host.context == S_CTX_REMOTE && s->host.env_get ? ESPANK_SUCCESS : ESPANK_NOT_REMOTE;
}

spank_err_t spank_getenv(spank_t spank, const char *var, char *buf, int len)
{
    struct stack *s = stack_of(spank);
    spank_err_t rc = check_remote(s, var);

    if (rc)
        return rc;
    return buf && len > 0 ? copy_value(s->host.env_get(s->host.ctx, var), buf, len)
                          : ESPANK_BAD_ARG;
}

spank_err_t spank_setenv(spank_t spank, const char *var, const char *val, int overwrite)
{
    struct stack *s = stack_of(spank);
    spank_err_t rc = check_remote(s, var);

    if (rc || !val)
        return rc ? rc : ESPANK_BAD_ARG;
    if (!overwrite && s->host.env_get(s->host.ctx, var))
        return ESPANK_ENV_EXISTS;
    s->host.env_set(s->host.ctx, var, val);
    return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *var)
{
    struct stack *s = stack_of(spank);
    spank_err_t rc = check_remote(s, var);

    if (!rc)
        s->host.env_unset(s->host.ctx, var);
    return rc;
}

/* --- environment of the site's scripts -------------------------------------------------------- */

/* Returns its index in the list, or -1. */
static int find_job(const struct stack *s, const char *var)
{
    const struct job_env *env = stack_component_env(s);
    size_t len = strlen(var);

    for (size_t i = 0; i < env->list.len; i++)
        if (!strncmp(env->list.data[i], var, len) && env->list.data[i][len] == '=')
            return (int)i;
    return -1;
}

static spank_err_t check_local(const struct stack *s, const char *var)
{
    if (!s || !is_variable(var))
        return ESPANK_BAD_ARG;
    for (const char *c = var; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return ESPANK_BAD_ARG;
    return s->host.context == S_CTX_LOCAL || s->host.context == S_CTX_ALLOCATOR ? ESPANK_SUCCESS
                                                                                : ESPANK_NOT_LOCAL;
}

spank_err_t spank_job_control_getenv(spank_t spank, const char *var, char *buf, int len)
{
    struct stack *s = stack_of(spank);
    spank_err_t rc = check_local(s, var);
    int at;

    if (rc || !buf || len <= 0)
        return rc ? rc : ESPANK_BAD_ARG;
    at = find_job(s, var);
    return copy_value(at < 0 ? NULL : strchr(stack_component_env(s)->list.data[at], '=') + 1, buf,
                      len);
}

static void remove_job(struct stack *s, int at)
{
    struct job_env *env = stack_component_env(s);

    env->bytes -= strlen(env->list.data[at]) + 1;
    free(env->list.data[at]);
    vec_remove(&env->list, (size_t)at);
}

spank_err_t spank_job_control_setenv(spank_t spank, const char *var, const char *val, int overwrite)
{
    struct stack *s = stack_of(spank);
    spank_err_t rc = check_local(s, var);
    struct job_env *env;
    size_t size;
    int at;

    if (rc || !val)
        return rc ? rc : ESPANK_BAD_ARG;
    at = find_job(s, var);
    if (at >= 0 && !overwrite)
        return ESPANK_ENV_EXISTS;
    size = strlen(var) + strlen(val) + 2;
    env = stack_component_env(s);
    if (size > STACK_JOB_ENV_MAX || env->bytes > STACK_JOB_ENV_MAX - size)
        return ESPANK_NOSPACE;
    if (at >= 0)
        remove_job(s, at);
    vec_push(&env->list, mem_printf("%s=%s", var, val));
    env->bytes += size;
    return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_unsetenv(spank_t spank, const char *var)
{
    struct stack *s = stack_of(spank);
    spank_err_t rc = check_local(s, var);
    int at = rc ? -1 : find_job(s, var);

    if (at >= 0)
        remove_job(s, at);
    return rc;
}

/* --- tasks ------------------------------------------------------------------------------------ */

spank_err_t spank_prepend_task_argv(spank_t spank, int argc, const char *argv[])
{
    struct stack *s = stack_of(spank);

    if (!s || argc <= 0 || !argv)
        return ESPANK_BAD_ARG;
    if (s->host.context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    if (s->running != STACK_TASK_INIT && s->running != STACK_TASK_INIT_PRIVILEGED)
        return ESPANK_NOT_TASK;
    for (int i = 0; i < argc; i++)
        if (!argv[i])
            return ESPANK_BAD_ARG;
    s->host.argv_prepend(s->host.ctx, argc, argv);
    return ESPANK_SUCCESS;
}

/* --- messages --------------------------------------------------------------------------------- */

static void log_message(enum stack_level level, const char *format, va_list ap)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (!stack_current || !format)
        return;
    str_vprintf(&text, format, ap);
    while (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    stack_current->host.say(stack_current->host.ctx, level, str_cstr(&text));
}

#define SAYER(name, level)                                                                         \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        va_list ap;                                                                                \
                                                                                                   \
        va_start(ap, format);                                                                      \
        log_message(level, format, ap);                                                            \
        va_end(ap);                                                                                \
    }
SAYER(slurm_info, STACK_INFO)
SAYER(slurm_error, STACK_ERROR)
SAYER(slurm_verbose, STACK_VERBOSE)
SAYER(slurm_debug, STACK_DEBUG)
SAYER(slurm_debug2, STACK_DEBUG2)
SAYER(slurm_debug3, STACK_DEBUG3)
SAYER(slurm_spank_log, STACK_PLAIN)
