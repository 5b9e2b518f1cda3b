/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sbatch: submits a batch script.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "cli/bind_help.h"
#include "cli/cmd.h"
#include "cli/opt_component.h"
#include "cmd/sbatch/environment.h"
#include "cmd/sbatch/export_file.h"
#include "cmd/sbatch/script.h"
#include "launch/filter.h"
#include "launch/filter_plugin.h"
#include "launch/jobenv.h"
#include "launch/origin.h"
#include "launch/plugins.h"
#include "proto/job.pb-c.h"
#include "show/show.h"

#define REPEATS_MAX 15

/* The controller was there, and whether it has acted is not known: it may also have seen our
 * request twice, when it was repeated on its way, and refused the second. */
static bool is_lost(int code)
{
    return code == -ERR_CLOSED || code == -ERR_TIMEOUT || code == -ERR_REPLAY;
}

/* A question stands in a line. */
static int call_submit(const Pb__SubmitRequest *request, Pb__SubmitReply **reply, struct err *err)
{
    return request->test_only ? cmd_call_long(RPC_SUBMIT, &request->base, reply, err)
                              : cmd_call(RPC_SUBMIT, &request->base, reply, err);
}

/* Submits. When the answer is lost the request is repeated: its request id makes the controller
 * answer with the same job. */
static int submit_job(const Pb__SubmitRequest *request, Pb__SubmitReply **reply, struct err *err)
{
    int r = call_submit(request, reply, err);
    bool again = is_lost(r);
    for (int i = 0; again && i < REPEATS_MAX; i++) {
        cmd_say("Slurm controller not responding, sleeping and retrying.");
        sleep(1);
        r = call_submit(request, reply, err);
        again = is_lost(r) || r == -ERR_CONNECT;
    }
    return r;
}

/* Waits for the job's end, through restarts of the controller; returns the status to exit with:
 * the job's, or 1 when a signal, a limit or a person ended it. */
static int submit_wait(uint32_t job_id)
{
    Pb__JobIdRequest request = PB__JOB_ID_REQUEST__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    request.job_id = job_id;
    for (;;) {
        Pb__JobEnd *end = NULL;
        struct err err = {0};
        int r = rpc_call(cmd_client(), RPC_JOB_WAIT_END, &request.base, RPC_WAIT_FOREVER, &arena,
                         &end, &err);
        if (r == 0 && end->detail)
            cmd_error("job %u could not be started: %s", job_id, end->detail);
        if (r == 0) {
            int status = end->has_exit_status ? end->exit_status : -1;
            if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status))
                return WEXITSTATUS(status);
            return end->state == PB__JOB_STATE__COMPLETED ? 0 : 1;
        }
        if (!is_lost(r) && r != -ERR_CONNECT && r != -ERR_SHUTDOWN && r != -ERR_STANDBY) {
            cmd_error("Unable to wait for job %u: %s", job_id, err.text);
            return cmd_exit_error();
        }
        cmd_detail(1, "%s; waiting for the controller", err.text);
        sleep(1);
    }
}

extern char **environ;

struct setup {
    struct opt_components options;
    struct opt *opt;         /* the leader's, with all that the job has once */
    struct plugins *plugins; /* of the site; NULL: none */
    struct filter *filter;   /* the same */
    struct arena arena;
    struct str script;
    char *script_dir; /* of --chdir, where the script is looked for; NULL: none */
    char *path;       /* of the script; NULL: none */
    int argc;         /* its arguments */
    char **argv;
    struct envlist env;
    struct origin_limits limits;
    Pb__JobSpec spec;                     /* of the leader */
    Pb__JobSpec *components[JOB_SET_MAX]; /* of the others, by their offsets */
    size_t component_count;
    Pb__JobPayload payload;
    Pb__UserEnv user_env;
};

static void read_script(struct setup *s, int operands)
{
    struct opt *o = s->opt;
    const char *name = operands ? s->argv[0] : NULL;
    struct err err = {0};
    int r = 0;
    if (o->wrap && name) {
        cmd_error("Script arguments not permitted with --wrap option");
        exit(cmd_exit_error());
    }
    if (o->wrap)
        script_wrap(o->wrap, &s->script);
    else
        r = script_read(name, s->script_dir, &s->script, &s->path, &err);
    if (r == 0)
        r = script_check(&s->script, &err);
    if (r < 0) {
        for (char *line = err.text, *rest; line; line = rest) {
            rest = strchr(line, '\n');
            if (rest)
                *rest++ = 0;
            cmd_error("%s", line);
        }
        exit(cmd_exit_error());
    }
}

static void print_help_of_values(const struct opt_components *options)
{
    const struct conf *conf = cmd_conf_if_any();
    for (size_t i = 0; i < options->count; i++)
        if (bind_help_print(&options->list[i]->opt, conf ? conf->gres_types : NULL))
            exit(0);
}

/* The options that say whether there is a script to read, and where; they are read once more, with
 * the rank that they have. Exits when there is nothing to submit. */
static void read_options_of_script(struct setup *s, int argc, char **argv, bool *ignore_pbs)
{
    struct opt_components first;
    struct opt_extras silent = {0};
    struct err err = {0};
    opt_components_init(&first, OPT_SBATCH);
    if (s->opt->extras) { /* of plugins only the syntax */
        silent = (struct opt_extras){.list = s->opt->extras->list, .count = s->opt->extras->count};
        opt_offer(opt_components_leader(&first), &silent);
    }
    if (opt_components_scan(&first, argc, argv, &err) < 0 ||
        filter_ask_early(s->filter, &first, &err) < 0 ||
        opt_components_apply_env(&first, environ, &err) < 0 ||
        opt_components_apply_argv(&first, &err) < 0)
        exit(opt_components_print_failure(&first, &err));
    print_help_of_values(&first);
    s->opt->wrap = take_ptr(opt_components_leader(&first)->wrap);
    s->script_dir = take_ptr(opt_components_leader(&first)->chdir);
    *ignore_pbs = opt_components_leader(&first)->ignore_pbs;
    opt_components_done(&first);
}

/* The options of all sources; exits when there is nothing to submit. */
static void read_options(struct setup *s, int argc, char **argv)
{
    struct opt_components *options = &s->options;
    struct err err = {0};
    bool ignore_pbs;
    opt_components_init(options, OPT_SBATCH);
    s->opt = opt_components_leader(options);
    s->plugins = plugins_begin(cmd_conf_if_any(), s->opt);
    s->filter = filter_begin(cmd_conf_if_any(), s->opt);
    if (opt_components_scan(options, argc, argv, &err) < 0)
        exit(opt_components_print_failure(options, &err));
    if (opt_print_info(s->opt))
        exit(0);
    s->argc = options->list[0]->command_argc;
    s->argv = options->list[0]->command_argv;
    read_options_of_script(s, argc, argv, &ignore_pbs);
    read_script(s, s->argc);
    const struct opt_script script = {.name = s->path ? s->path : "standard input",
                                      .data = s->script.data,
                                      .len = s->script.len,
                                      .ignore_pbs = ignore_pbs};
    if (filter_read(s->filter, options, s->opt->wrap ? NULL : &script, environ, &err) < 0)
        exit(opt_components_print_failure(options, &err));
    cmd_set_level(s->opt->quiet, s->opt->verbose);
    opt_components_print_notes(options);
    opt_components_print_defined(options);
    int r = origin_take_mask(&err);
    for (size_t i = 0; r == 0 && i < options->count; i++)
        r = cmd_check_clusters(options->list[i]->opt.clusters, &err);
    if (r < 0) {
        cmd_error("%s", err.text);
        exit(cmd_exit_error());
    }
}

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

static void make_spec(struct setup *s, int argc, char **argv)
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

static void consult_plugins(struct setup *s)
{
    plugins_ready(s->plugins, 0, NULL, &s->spec);
    for (size_t i = 0; i < s->component_count; i++)
        plugins_ready(s->plugins, i + 1, NULL, s->components[i]);
    plugins_export(s->plugins);
}

/* The variables of the job, out of those of this process, or of --export-file. */
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

static void make_payload(struct setup *s)
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

static int submit_script(struct setup *s)
{
    Pb__SubmitRequest request = PB__SUBMIT_REQUEST__INIT;
    Pb__SubmitReply *reply = NULL;
    struct err err = {0};
    request.spec = &s->spec;
    request.payload = &s->payload;
    request.components = s->components;
    request.n_components = s->component_count;
    request.has_test_only = request.test_only = s->opt->test_only;
    if (submit_job(&request, &reply, &err) < 0) {
        if (s->opt->test_only)
            cmd_line("allocation failure: %s", err.text);
        else
            cmd_error("Batch job submission failed: %s", err.text);
        return cmd_exit_error();
    }
    if (reply->message)
        cmd_say("%s", reply->message);
    for (size_t i = 0; !s->opt->test_only && i <= s->component_count; i++)
        filter_submitted(s->filter, i, reply->job_id, FILTER_NO_STEP);
    if (s->opt->test_only) {
        show_start_text(reply, s->opt->partition ? s->opt->partition : "(default)", cmd_say);
        return 0;
    }
    if (s->opt->parsable)
        str_printf(cmd_out(), s->opt->clusters ? "%u;%s\n" : "%u\n", reply->job_id,
                   cmd_conf()->cluster_name);
    else if (!s->opt->quiet)
        str_printf(cmd_out(),
                   s->opt->clusters ? "Submitted batch job %u on cluster %s\n"
                                    : "Submitted batch job %u\n",
                   reply->job_id, cmd_conf()->cluster_name);
    int status = cmd_flush();
    if (s->opt->wait_end)
        return submit_wait(reply->job_id);
    return status;
}

int main(int argc, char **argv)
{
    static struct setup s; /* what the environment and the script are stays until the end */
    cmd_start("sbatch");
    arena_init(&s.arena, 0);
    read_options(&s, argc, argv);
    make_spec(&s, argc, argv);
    consult_plugins(&s);
    make_payload(&s);
    int status = submit_script(&s);
    plugins_end(s.plugins);
    filter_end(s.filter);
    return status;
}
