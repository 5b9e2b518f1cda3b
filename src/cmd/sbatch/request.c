/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sbatch/request.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "cmd/sbatch/environment.h"
#include "launch/jobenv.h"

extern char **environ;

/* The script with its arguments, as "Command=" shows it. */
static char *command_line(struct setup *s)
{
    if (!s->path)
        return NULL;
    _cleanup_str_ struct str line = STR_INIT_CAP(ORIGIN_LINE_MAX);
    str_puts(&line, s->path);
    for (int i = 1; i < s->argc && !line.overflow; i++)
        str_printf(&line, " %s", s->argv[i]);
    return arena_strdup(&s->arena, str_cstr(&line));
}

static char *default_name(struct setup *s)
{
    if (s->opt->wrap)
        return "wrap";
    if (!s->path)
        return "sbatch";
    char *slash = strrchr(s->path, '/');
    return slash ? slash + 1 : s->path;
}

void request_make_spec(struct setup *s, int argc, char **argv)
{
    Pb__JobSpec *spec = &s->spec;
    struct err err = {0};
    pb__job_spec__init(spec);
    opt_to_job_spec(s->opt, spec);
    s->component_count = s->options.count - 1;
    for (size_t i = 0; i < s->component_count; i++) {
        s->components[i] = arena_alloc(&s->arena, sizeof(*s->components[i]));
        pb__job_spec__init(s->components[i]);
        opt_to_job_spec(&s->options.list[i + 1]->opt, s->components[i]);
    }
    if (origin_fill_set(&s->arena, argc, argv, s->opt->chdir, spec, s->components,
                        s->component_count, &err) < 0) {
        cmd_error("%s", err.text);
        exit(cmd_exit_error());
    }
    spec->command = command_line(s);
    spec->has_batch = spec->batch = 1;
    if (!spec->name)
        spec->name = default_name(s);
    for (size_t i = 0; i < s->component_count; i++) {
        s->components[i]->command = spec->command;
        if (!s->components[i]->name)
            s->components[i]->name = spec->name;
    }
}

void request_consult_plugins(struct setup *s)
{
    plugins_ready(s->plugins, 0, NULL, &s->spec);
    for (size_t i = 0; i < s->component_count; i++)
        plugins_ready(s->plugins, i + 1, NULL, s->components[i]);
    plugins_export(s->plugins);
}

/* Makes the job's environment from that of this process, or from --export-file. */
static void make_environment(struct setup *s)
{
    _cleanup_free_ char *cwd = getcwd(NULL, 0);
    struct envlist file = {0};
    struct err err = {0};
    if (s->opt->export_file && export_file_load(&file, s->opt->export_file, environ, &err) < 0) {
        cmd_error("%s", err.text);
        exit(cmd_exit_error());
    }
    environment_make(&s->env, s->opt, s->opt->export_file ? envlist_argv(&file) : environ,
                     s->spec.alloc_host, cwd ? cwd : s->spec.work_dir);
    jobenv_cluster(&s->env, cmd_conf());
    size_t count;
    char **own = plugins_env(s->plugins, &count);
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *name = mem_strndup(own[i], strcspn(own[i], "="));
        envlist_set(&s->env, name, strchr(own[i], '=') + 1);
    }
    envlist_done(&file);
}

static void make_user_env(struct setup *s)
{
    pb__user_env__init(&s->user_env);
    s->user_env.has_limit_sec = s->opt->user_env_sec > 0;
    s->user_env.limit_sec = s->opt->user_env_sec;
    s->user_env.has_not_login = s->user_env.not_login = s->opt->user_env_not_login;
    if (environment_of_user(s->opt))
        s->payload.user_env = &s->user_env;
}

void request_make_payload(struct setup *s)
{
    Pb__JobPayload *p = &s->payload;
    const struct conf *conf = cmd_conf();
    mode_t mask = umask(0);
    umask(mask);
    pb__job_payload__init(p);
    p->has_script = 1;
    p->script.data = (uint8_t *)s->script.data;
    p->script.len = s->script.len;
    if (s->argc > 1) {
        p->argv = s->argv + 1;
        p->n_argv = (size_t)s->argc - 1;
    }
    make_environment(s);
    make_user_env(s);
    p->env = s->env.vars.data;
    p->n_env = s->env.vars.len;
    origin_limits_init(&s->limits, s->opt->propagate, conf);
    p->spank_options = plugins_options(s->plugins, 0, &p->n_spank_options);
    p->rlimits = s->limits.list;
    p->n_rlimits = s->limits.count;
    p->has_umask = 1;
    p->umask = mask;
}
