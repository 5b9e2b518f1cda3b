/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun: runs tasks in parallel, in a job of their own or in the job in which it runs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/bind.h"
#include "cmd/srun/alone/alone.h"
#include "cmd/srun/option/become.h"
#include "cmd/srun/option/component_env.h"
#include "cmd/srun/option/mpi.h"
#include "cmd/srun/option/names.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/part/part.h"
#include "cmd/srun/run/launch.h"
#include "cmd/srun/run/spawned.h"
#include "launch/messages.h"
#include "launch/origin.h"
#include "show/names.h"

extern char **environ;

/* Opens closed standard descriptors: otherwise the first socket or file would get their numbers. */
static void keep_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", O_RDWR);
}

/* Options that apply to a whole step of several parts: component 0 sets them. Without the options
 * that are errors in later components: --mpi, --pty, --multi-prog. */
static const struct whole_option {
    enum opt_id id;
    const char *name;
    bool of_job; /* a component that creates a job of its own may set it */
} whole_options[] = {
    {OPT_ID_label, "label"},
    {OPT_ID_unbuffered, "unbuffered"},
    {OPT_ID_wait_sec, "wait"},
    {OPT_ID_kill_bad_exit, "kill-on-bad-exit"},
    {OPT_ID_quit_on_interrupt, "quit-on-interrupt"},
    {OPT_ID_disable_status, "disable-status"},
    {OPT_ID_prolog, "prolog"},
    {OPT_ID_epilog, "epilog"},
    {OPT_ID_x11, "x11"},
    {OPT_ID_immediate, "immediate"},
    {OPT_ID_jobid, "jobid"},
    {OPT_ID_msg_timeout, "msg-timeout"},
    {OPT_ID_tree_width, "treewidth"},
    {OPT_ID_debugger_test, "debugger-test"},
    {OPT_ID_no_kill, "no-kill", .of_job = true},
    {OPT_ID_time, "time", .of_job = true},
};

static bool differs_from_first(const struct opt *o, const struct opt *first, enum opt_id id)
{
    return o->from[id] == OPT_FROM_ARGV &&
           !(opt_given(first, id) && str_eq(o->given[id], first->given[id]));
}

/* Warns about a later component with another value of such an option than component 0. in_job: the
 * step is in a job, and no component creates a job of its own. */
static void warn_of_whole_step(const struct opt_components *all, bool in_job)
{
    for (size_t i = 1; i < all->count; i++)
        for (size_t k = 0; k < sizeof(whole_options) / sizeof(whole_options[0]); k++) {
            const struct whole_option *w = &whole_options[k];

            if ((!w->of_job || in_job) &&
                differs_from_first(&all->list[i]->opt, &all->list[0]->opt, w->id))
                say_info("warning: --%s of component %zu has no effect: it is of the whole step, "
                         "use it in component 0",
                         w->name, i);
        }
}

/* Exits on invalid options, and on options such as --help. */
static void read_options(struct setup *s, int argc, char **argv)
{
    struct opt_components *all = &s->options;
    struct opt *o;

    opt_components_init(all, OPT_SRUN);
    o = s->opt = opt_components_leader(all);
    s->plugins = plugins_begin(s->conf, o);
    s->filter = s->order == NULL ? filter_begin(s->conf, o) : NULL;
    s->argc = argc;
    s->argv = argv;
    if (component_env_is_inherited("SLURM_DISTRIBUTION", DISTRIBUTION_TOLD))
        unsetenv("SLURM_DISTRIBUTION");
    part_read_components(s, component_env_choose(&s->arena, environ, COMPONENT_ENV_NONE), all);
    say_level(o->quiet ? -1 : (int)o->verbose);
    if (o->mpi != NULL && strcmp(o->mpi, "list") == 0) {
        mpi_list();
        exit(0);
    }
    if (bind_help_print(o, s->conf != NULL ? s->conf->gres_types : NULL))
        exit(0);
}

static void consult_plugins(struct setup *s)
{
    for (size_t i = 0; i < s->part_count; i++) {
        struct part *p = s->parts[i];

        plugins_ready(s->plugins, p->component,
                      component_env_is_given(environ) ? part_choose_environment(p) : NULL, &p->job);
    }
    plugins_export(s->plugins);
}

/* LaunchParameters=test_exec: one error here instead of one for each task. */
static void check_program(const struct part *p)
{
    _cleanup_free_ char *path = NULL;
    bool wanted =
        conf_list_has(p->setup->conf->launch_parameters, "test_exec") || getenv("SLURM_TEST_EXEC");

    if (p->opt->multi_prog || !wanted)
        return;
    path = program_find(p->argv[0], p->run.work_dir);
    if (program_is_there(path))
        return;
    say_error("%s: no such program here, or it may not be executed; nothing was launched "
              "(LaunchParameters=test_exec, or SLURM_TEST_EXEC)",
              p->argv[0]);
    exit(1);
}

static int submit_batch(struct setup *s)
{
    struct part *p = s->parts[0];
    struct become_command command = {.argc = p->argc, .argv = p->argv};

    command.spank_options = plugins_options(s->plugins, 0, &command.spank_option_count);
    return become_sbatch(s->conf, p->opt, &p->job, &command);
}

/* Estimates the start of the pending job that --jobid names; within an allocation, of a new job. */
static int estimate_start(struct setup *s)
{
    const struct Pb__StepSpec *step = &s->parts[0]->step;
    int status = step->has_job_id ? become_estimate_pending(s->conf, step->job_id) : -1;

    if (status >= 0)
        return status;
    return become_estimate(s->conf, &s->parts[0]->job, part_list_jobs(s) + 1, s->part_count - 1);
}

/* The name is cached. After a job was requested, srun-dynamic would request another one. */
static void look_up_user(const struct setup *s)
{
    for (size_t i = 0; i < s->part_count; i++) {
        const struct opt *o = s->parts[i]->opt;
        const struct Pb__JobSpec *job = &s->parts[i]->job;

        if (names_need_user(o->std_in) || names_need_user(o->std_out) ||
            names_need_user(o->std_err))
            names_user(job->has_uid ? job->uid : getuid());
    }
}

static int run_srun(struct setup *s, int argc, char **argv)
{
    _cleanup_str_ struct str told = STR_INIT;
    struct err err = {0};

    if (s->options.list[s->options.count - 1]->command_argc == 0) {
        fprintf(stderr, "srun: fatal: No command given to execute.\n");
        return 1;
    }
    part_make_all(s);
    if (str_eq(s->opt->mpi, "doctor"))
        return doctor_run(s->parts[0]->argv[0]);
    opt_components_format_notes(&s->options, &told);
    opt_components_format_defined(&s->options, &told);
    messages_write_first(&told);
    if (s->conf == NULL)
        say_exit_with_error(s->unread.text);
    if (origin_take_mask(&err) < 0)
        say_exit_with_error(err.text);
    if (opt_components_check_clusters(&s->options, s->conf->cluster_name, &err) < 0)
        say_exit_with_error(err.text);
    if (s->opt->msg_timeout_sec)
        s->conf->message_timeout_sec = s->opt->msg_timeout_sec;
    part_check_all(s);
    part_disregard_pty(s);
    part_make_specs(s, argc, argv);
    part_name_groups(s);
    warn_of_whole_step(&s->options, s->parts[0]->step.has_job_id);
    look_up_user(s);
    alone_forbid_leaving();
    if (s->opt->test_only && s->order == NULL)
        return estimate_start(s);
    consult_plugins(s);
    if (s->opt->batch)
        return submit_batch(s);
    for (size_t i = 0; i < s->part_count; i++)
        part_make_run(s->parts[i]);
    for (size_t i = 0; i < s->part_count; i++)
        check_program(s->parts[i]);
    part_join_all(s);
    return run_to_end(s->conf, &s->parts[0]->run);
}

/* Closes descriptors that srun-dynamic would need. */
static void read_order(struct setup *s, int argc, char **argv)
{
    struct err err = {0};

    s->self_argv = arena_alloc(&s->arena, ((size_t)argc + 1) * sizeof(char *));
    memcpy(s->self_argv, argv, (size_t)argc * sizeof(char *)); /* getopt reorders the arguments */
    s->order = spawned_read(&s->arena, &err);
    if (err.code < 0)
        say_exit_with_error(err.text);
}

int main(int argc, char **argv)
{
    struct setup s = {0};
    int status;

    keep_standard_descriptors();
    alone_begin(argv);
    arena_init(&s.arena, 0);
    conf_load_own(&s.conf, &s.unread);
    alone_check(s.conf);
    read_order(&s, argc, argv);
    read_options(&s, argc, argv);
    if (s.opt->allocate)
        become_salloc(s.opt, argc, argv);
    if (s.opt->attach != NULL)
        become_sattach(s.opt, s.options.list[0]->command_argc);
    status = run_srun(&s, argc, argv);
    plugins_end(s.plugins);
    filter_end(s.filter);
    part_free_all(&s);
    conf_free(s.conf);
    arena_done(&s.arena);
    opt_components_done(&s.options);
    return status;
}
