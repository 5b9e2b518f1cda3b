/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * salloc: allocates nodes and runs a command, or a shell, while it has them.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/bind_help.h"
#include "cli/opt.h"
#include "cmd/salloc/run.h"
#include "launch/origin.h"
#include "launch/plugins.h"

extern char **environ;

/* Exits when there is nothing to do, or nothing can be done. Returns the first operand's index. */
static int read_options(struct opt *o, const struct conf *conf, struct plugins **plugins, int argc,
                        char **argv)
{
    struct err err = {0};
    int operands = argc;

    opt_init(o, OPT_SALLOC);
    *plugins = plugins_begin(conf, o);
    if (opt_scan(o, argc, argv, &operands, &err) < 0)
        exit(opt_print_failure(o, &err));
    if (opt_print_info(o))
        exit(0);
    if (opt_apply_env(o, environ, &err) < 0 || opt_apply_argv(o, argc, argv, &err) < 0 ||
        opt_finish(o, &err) < 0)
        exit(opt_print_failure(o, &err));
    if (bind_help_print(o, conf != NULL ? conf->gres_types : NULL))
        exit(0);
    opt_print_notes(o);
    opt_print_defined(o);
    return operands;
}

static char *user_shell(void)
{
    char *shell = getenv("SHELL");
    struct passwd *user = shell == NULL || *shell == '\0' ? getpwuid(getuid()) : NULL;

    if (user != NULL)
        shell = user->pw_shell;
    return shell != NULL && *shell != '\0' ? shell : "/bin/sh";
}

/* LaunchParameters=use_interactive_step: the shell is a step on the job's first node. The words of
 * InteractiveStepOptions are the shell's, which has to know $SHELL for them. */
static char *interactive_step(const struct conf *conf)
{
    char *prefix = path_prefix();
    char *words = mem_printf("exec %s%ssrun %s", prefix != NULL ? prefix : "",
                             prefix != NULL ? "/bin/" : "", conf->interactive_step_options);

    setenv("SHELL", user_shell(), 0);
    free(prefix);
    return words;
}

/* The steps of the job forward it: the display is theirs to reach. */
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

static int fail(const struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    text_escape(err->text, &text);
    fprintf(stderr, "salloc: error: %s\n", str_cstr(&text));
    return 1;
}

int main(int argc, char **argv)
{
    struct opt o;
    struct err err = {0};
    struct arena arena;
    struct conf *conf = NULL;
    struct plugins *plugins;
    struct Pb__JobSpec job = PB__JOB_SPEC__INIT;
    struct run_options run = {.job = &job, .immediate_ms = -1};
    int unread = conf_load_own(&conf, &err); /* said when the options are understood */
    int operands = read_options(&o, conf, &plugins, argc, argv);
    char *shell[] = {user_shell(), NULL}, *step[] = {"/bin/sh", "-c", NULL, NULL};
    int status;

    arena_init(&arena, 0);
    opt_to_job_spec(&o, &job);
    if (unread < 0 || opt_check_clusters(o.clusters, conf->cluster_name, &err) < 0 ||
        pass_x11(&o, &err) < 0 || origin_fill(&arena, argc, argv, o.chdir, &job, &err) < 0)
        return fail(&err);
    run.argv = operands < argc ? argv + operands : shell;
    if (operands == argc && conf_list_has(conf->launch_parameters, "use_interactive_step")) {
        step[2] = interactive_step(conf);
        run.argv = step;
    }
    run.work_dir = o.chdir;
    run.kill_signal = o.kill_signal;
    run.bell = o.no_bell ? RUN_BELL_NEVER : o.bell ? RUN_BELL_ALWAYS : RUN_BELL_LATE;
    run.no_shell = o.no_shell;
    job.has_unattended = job.unattended = o.no_shell;
    run.verbose = o.quiet ? -1 : (int)o.verbose;
    if (job.name == NULL)
        job.name = operands < argc ? argv[operands] : "interactive";
    if (o.immediate) {
        run.immediate_ms = o.immediate_sec > 1 ? o.immediate_sec * INT64_C(1000) : 0;
        job.immediate = job.has_immediate = run.immediate_ms == 0;
    }
    plugins_ready(plugins, &job);
    status = run_to_end(conf, &run);
    plugins_end(plugins);
    free(step[2]);
    conf_free(conf);
    arena_done(&arena);
    opt_done(&o);
    return status;
}
