/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * salloc: allocates nodes and runs a command or a shell in the allocation.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/bind.h"
#include "cli/opt_component.h"
#include "cmd/salloc/run.h"
#include "launch/filter.h"
#include "launch/filter_plugin.h"
#include "launch/messages.h"
#include "launch/origin.h"
#include "launch/plugins.h"

extern char **environ;

/* Exits on invalid options, and on options such as --help. */
static void read_options(struct opt_components *options, const struct conf *conf,
                         struct plugins **plugins, struct filter **filter, int argc, char **argv)
{
    _cleanup_str_ struct str told = STR_INIT;
    struct err err = {0};

    opt_components_init(options, OPT_SALLOC);
    *plugins = plugins_begin(conf, opt_components_leader(options));
    *filter = filter_begin(conf, opt_components_leader(options));
    if (opt_components_scan(options, argc, argv, &err) < 0)
        exit(opt_components_print_failure(options, &err));
    if (opt_print_info(opt_components_leader(options)))
        exit(0);
    if (filter_read(*filter, options, NULL, environ, &err) < 0)
        exit(opt_components_print_failure(options, &err));
    for (size_t i = 0; i < options->count; i++)
        if (bind_help_print(&options->list[i]->opt, conf != NULL ? conf->gres_types : NULL))
            exit(0);
    opt_components_format_notes(options, &told);
    opt_components_format_defined(options, &told);
    messages_write_first(&told);
}

static char *user_shell(void)
{
    char *shell = getenv("SHELL");
    struct passwd *user = shell == NULL || *shell == '\0' ? getpwuid(getuid()) : NULL;

    if (user != NULL)
        shell = user->pw_shell;
    return shell != NULL && *shell != '\0' ? shell : "/bin/sh";
}

/* LaunchParameters=use_interactive_step: the shell runs as a step on the job's first node. The
 * shell expands the words of InteractiveStepOptions, which may refer to $SHELL. */
static char *interactive_step(const struct conf *conf)
{
    char *prefix = path_prefix();
    char *words = mem_printf("exec %s%ssrun %s", prefix != NULL ? prefix : "",
                             prefix != NULL ? "/bin/" : "", conf->interactive_step_options);

    setenv("SHELL", user_shell(), 0);
    free(prefix);
    return words;
}

/* The steps of the job forward X11: checks $DISPLAY, and passes --x11 on to them. */
static int pass_x11(const struct opt *o, struct err *err)
{
    const char *display = getenv("DISPLAY");

    if (o->x11 == NULL)
        return 0;
    if (display == NULL || *display == '\0')
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "No DISPLAY variable set, cannot setup x11 forwarding.");
    setenv("SLUICE_X11", o->x11, 1);
    return 0;
}

static int print_failure(const struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    text_escape(err->text, &text);
    fprintf(stderr, "salloc: error: %s\n", str_cstr(&text));
    return 1;
}

/* The options, and the request that is sent. */
struct request {
    struct opt_components options;
    struct arena arena;
    struct Pb__JobSpec job;                      /* of the leader */
    struct Pb__JobSpec *components[JOB_SET_MAX]; /* of the other components */
    size_t component_count;
};

static int make_specs(struct request *r, const struct conf *conf, int argc, char **argv,
                      struct err *err)
{
    struct opt_components *options = &r->options;
    const struct opt *o = opt_components_leader(options);
    int rc = 0;

    pb__job_spec__init(&r->job);
    opt_to_job_spec(o, &r->job);
    for (size_t i = 1; i < options->count; i++) {
        struct Pb__JobSpec *spec = arena_alloc(&r->arena, sizeof(*spec));

        pb__job_spec__init(spec);
        opt_to_job_spec(&options->list[i]->opt, spec);
        r->components[r->component_count++] = spec;
    }
    rc = opt_components_check_clusters(options, conf->cluster_name, err);
    if (rc == 0)
        rc = pass_x11(o, err);
    if (rc == 0)
        rc = origin_fill_set(&r->arena, argc, argv, o->chdir, &r->job, r->components,
                             r->component_count, err);
    return rc;
}

/* Adds the plugins' options to the job, and the leader's options to the components. */
static void complete_specs(struct request *r, struct plugins *plugins)
{
    plugins_ready(plugins, 0, NULL, &r->job);
    for (size_t i = 0; i < r->component_count; i++) {
        struct Pb__JobSpec *spec = r->components[i];

        if (spec->name == NULL)
            spec->name = r->job.name;
        plugins_ready(plugins, i + 1, NULL, spec);
    }
    plugins_export(plugins);
}

/* Data for the filters that run after the job was granted. */
struct granted {
    struct filter *filter;
    size_t component_count;
};

static void on_salloc_granted(void *ctx, uint32_t job_id)
{
    const struct granted *g = ctx;

    for (size_t i = 0; i <= g->component_count; i++)
        filter_submitted(g->filter, i, job_id, FILTER_NO_STEP);
}

int main(int argc, char **argv)
{
    static struct request request; /* static: texts of the environment are used until the end */
    struct err err = {0};
    struct conf *conf = NULL;
    struct plugins *plugins;
    struct filter *filter;
    struct Pb__JobSpec *job = &request.job;
    struct run_options run = {.job = job, .immediate_ms = -1};
    int unread = conf_load_own(&conf, &err); /* reported after the options are parsed */
    char *shell[] = {user_shell(), NULL}, *step[] = {"/bin/sh", "-c", NULL, NULL};
    int status;

    arena_init(&request.arena, 0);
    read_options(&request.options, conf, &plugins, &filter, argc, argv);
    const struct opt *o = opt_components_leader(&request.options);
    const struct opt_component *leader = request.options.list[0];
    bool has_command = leader->command_argc > 0;

    if (unread < 0 || make_specs(&request, conf, argc, argv, &err) < 0) {
        conf_free(conf);
        return print_failure(&err);
    }
    run.argv = has_command ? leader->command_argv : shell;
    if (!has_command && conf_list_has(conf->launch_parameters, "use_interactive_step")) {
        step[2] = interactive_step(conf);
        run.argv = step;
    }
    run.work_dir = o->chdir;
    run.kill_signal = o->kill_signal;
    run.bell = o->no_bell ? RUN_BELL_NEVER : o->bell ? RUN_BELL_ALWAYS : RUN_BELL_LATE;
    run.no_shell = o->no_shell;
    job->has_unattended = job->unattended = o->no_shell;
    run.verbose = o->quiet ? -1 : (int)o->verbose;
    if (job->name == NULL)
        job->name = o->no_shell   ? "no-shell"
                    : has_command ? leader->command_argv[0]
                                  : "interactive";
    if (o->immediate) {
        run.immediate_ms = o->immediate_sec > 1 ? o->immediate_sec * INT64_C(1000) : 0;
        job->immediate = job->has_immediate = run.immediate_ms == 0;
    }
    complete_specs(&request, plugins);
    run.components = request.components;
    run.component_count = request.component_count;
    run.on_granted = on_salloc_granted;
    run.ctx = &(struct granted){filter, request.component_count};
    status = run_to_end(conf, &run);
    plugins_end(plugins);
    filter_end(filter);
    free(step[2]);
    conf_free(conf);
    arena_done(&request.arena);
    opt_components_done(&request.options);
    return status;
}
