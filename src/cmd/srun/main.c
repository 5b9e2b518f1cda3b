/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun: runs tasks in parallel, in a job of their own or in the one it is started in.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/path.h"
#include "cli/bind_help.h"
#include "cli/cmd.h"
#include "cli/opt.h"
#include "cmd/srun/option/batch.h"
#include "cmd/srun/option/become.h"
#include "cmd/srun/option/bind.h"
#include "cmd/srun/option/bind_default.h"
#include "cmd/srun/option/doctor.h"
#include "cmd/srun/option/estimate.h"
#include "cmd/srun/option/gpu_bind.h"
#include "cmd/srun/option/mpi.h"
#include "cmd/srun/option/multi.h"
#include "cmd/srun/option/program.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/run.h"
#include "cmd/srun/run/spawned.h"
#include "launch/bcast.h"
#include "launch/jobenv.h"
#include "launch/origin.h"
#include "launch/plugins.h"

extern char **environ;

struct setup {
    struct opt opt;
    struct arena arena;
    struct conf *conf;
    struct err unread;       /* why there is none */
    struct plugins *plugins; /* of the site; NULL: none */
    struct Pb__JobSpec job;
    struct Pb__StepSpec step;
    struct run_options run;
    struct bcast_settings bcast;
    struct str multi_prog;
    const Pb__SpawnOrder *order; /* NULL: a person has started us */
    char **self_argv;            /* as it was started */
    int argc;                    /* the command */
    char **argv;
};

/* A closed standard descriptor would be taken by the first socket or file that is opened. */
static void keep_standard_descriptors(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* Exits when there is nothing to do, or nothing can be done. */
static void read_options(struct setup *s, int argc, char **argv)
{
    struct opt *o = &s->opt;
    struct err err = {0};
    int operands = argc;

    opt_init(o, OPT_SRUN);
    conf_load_own(&s->conf, &s->unread);
    s->plugins = plugins_begin(s->conf, o);
    if (opt_scan(o, argc, argv, &operands, &err) < 0)
        exit(opt_print_failure(o, &err));
    if (opt_print_info(o))
        exit(0);
    if (opt_apply_env(o, environ, &err) < 0 || opt_apply_argv(o, argc, argv, &err) < 0 ||
        opt_finish(o, &err) < 0)
        exit(opt_print_failure(o, &err));
    s->argc = argc - operands;
    s->argv = argv + operands;
    say_level(o->quiet ? -1 : (int)o->verbose);
    if (o->mpi != NULL && strcmp(o->mpi, "list") == 0) {
        mpi_list();
        exit(0);
    }
    if (bind_help_print(o, s->conf != NULL ? s->conf->gres_types : NULL))
        exit(0);
}

static _Noreturn void end_with(long long status, const char *text)
{
    const char *wanted = getenv("SLURM_EXIT_ERROR");

    say_error("%s", text);
    if (wanted != NULL)
        str_parse_i64(wanted, 0, 255, &status);
    exit((int)status);
}

static _Noreturn void fail(const char *text)
{
    end_with(1, text);
}

/* The value of an option is not valid. */
static _Noreturn void fail_value(const char *text)
{
    end_with(OPT_STATUS_BAD_VALUE, text);
}

/* In an allocation a list of nodes says how many, unless the command line does. */
static void count_named_nodes(struct setup *s)
{
    struct Pb__StepSpec *step = &s->step;
    _cleanup_hostlist_ struct hostlist *nodes = NULL;
    size_t count = step->n_relative_nodes;

    if (s->opt.from[OPT_ID_nodes] == OPT_FROM_ARGV || opt_is_arbitrary(&s->opt))
        return;
    if (step->nodes != NULL && hostlist_parse(step->nodes, &nodes, NULL) == 0)
        count = hostlist_count(nodes);
    if (count == 0)
        return;
    step->has_min_nodes = step->has_max_nodes = 1;
    step->min_nodes = step->max_nodes = (uint32_t)count;
}

/* Fewer nodes follow --relative than --nodes asks for: --relative counts. */
static void fit_relative(struct setup *s)
{
    struct Pb__StepSpec *step = &s->step;
    const char *text = getenv("SLURM_JOB_NUM_NODES");
    long long nodes;

    if (!opt_given(&s->opt, OPT_ID_relative) || !s->opt.in_job || s->opt.interactive ||
        text == NULL || str_parse_i64(text, 1, INT32_MAX, &nodes) != 0 ||
        s->opt.relative >= nodes || step->n_relative_nodes <= (size_t)(nodes - s->opt.relative))
        return;
    step->n_relative_nodes = (size_t)(nodes - s->opt.relative);
    say_info("warning: --nodes=%u: %zu nodes of the job follow --relative=%u, the step gets these",
             s->opt.min_nodes, step->n_relative_nodes, s->opt.relative);
    step->has_min_nodes = step->has_max_nodes = 1;
    step->min_nodes = step->max_nodes = (uint32_t)step->n_relative_nodes;
}

static void read_multi_prog(struct setup *s)
{
    struct err err = {0};

    if (path_read_file(s->argv[0], MULTI_FILE_MAX, &s->multi_prog, &err) < 0)
        fail(err.text);
    s->run.multi_prog = str_cstr(&s->multi_prog);
}

static const char *mpi_of(const struct setup *s)
{
    struct err err = {0};
    const char *kind = NULL;

    if (mpi_choose(s->opt.mpi, s->conf->mpi_default, &kind, &err) < 0)
        fail(err.text);
    return kind;
}

static void make_specs(struct setup *s, int argc, char **argv)
{
    struct err err = {0};
    const char *name;

    pb__job_spec__init(&s->job);
    pb__step_spec__init(&s->step);
    opt_to_job_spec(&s->opt, &s->job);
    if (origin_fill(&s->arena, argc, argv, s->opt.chdir, &s->job, &err) < 0 ||
        opt_to_step_spec(&s->opt, &s->arena, &s->step, &err) < 0)
        fail(err.text);
    name = strrchr(s->argv[0], '/');
    name = name != NULL && name[1] != '\0' ? name + 1 : s->argv[0];
    if (s->job.name == NULL)
        s->job.name = (char *)name;
    if (s->step.name == NULL)
        s->step.name = s->job.name;
    s->job.command = s->argv[0];
    if (!s->step.has_oom_kill_step && conf_list_has(s->conf->task_plugin_param, "OOMKillStep"))
        s->step.has_oom_kill_step = s->step.oom_kill_step = 1;
    s->step.host = s->job.alloc_host;
    s->step.has_srun_pid = 1;
    s->step.srun_pid = (uint32_t)getpid();
    s->step.submit_line = s->job.submit_line;
    s->step.has_request_id = 1;
    s->step.request_id = s->job.request_id;
    if (s->step.has_job_id) {
        s->step.has_restarts = jobenv_attempt(s->step.job_id, &s->step.restarts);
        fit_relative(s);
        count_named_nodes(s);
    } else if (opt_given(&s->opt, OPT_ID_relative) && !s->opt.interactive && !s->opt.no_allocate &&
               s->order == NULL) {
        fprintf(stderr, "srun: fatal: --relative option invalid for job allocation request\n");
        exit(1);
    } else if (s->order == NULL) {
        if (!opt_is_arbitrary(&s->opt) && !s->opt.no_allocate)
            s->step.nodes = NULL; /* the job may get more than these, the step has them all */
        s->step.has_exact = 1;
        s->step.exact = s->opt.exact || opt_given(&s->opt, OPT_ID_cpus_per_task) ||
                        (s->opt.exclusive && s->opt.exclusive_is_exact &&
                         !conf_list_has(s->conf->launch_parameters, "srun_exclusive_allocation"));
    }
    if (s->order != NULL && spawned_fill_step(s->order, &s->arena, &s->step, &err) < 0)
        fail(err.text);
}

/* A variable that srun has made for the tasks of a step is no wish of theirs for further steps. */
static bool is_inherited(const char *variable, const char *made)
{
    const char *now = getenv(variable), *then = getenv(made);

    return now && then && str_eq(now, then);
}

/* "gv", an older way to say it. */
static void read_accelerators(struct setup *s)
{
    const char *word = s->opt.accel_bind;
    bool verbose = strchr(word, 'v') != NULL;
    struct err err = {0};

    if (!*word || word[strspn(word, "gnv")])
        fail_value("Invalid --accel-bind specification: it is made of the letters g, n and v");
    if (strchr(word, 'n') != NULL)
        say_info("warning: of --accel-bind=%s n is accepted and has no effect", word);
    if (strchr(word, 'g') != NULL && gpu_bind_read(verbose ? "verbose,closest" : "closest",
                                                   &s->arena, &s->run.gpu_bind, &err) < 0)
        fail_value(err.text);
}

static void read_gpu_binding(struct setup *s)
{
    const struct opt *o = &s->opt;
    struct err err = {0};

    const char *bind = opt_gpu_bind(o);

    if (bind == NULL && o->accel_bind != NULL)
        read_accelerators(s);
    else if (bind == NULL)
        s->run.gpu_bind = gpu_bind_implied(s->step.tres_per_task, o->ntasks_per_gpu, &s->arena);
    else if (gpu_bind_read(bind, &s->arena, &s->run.gpu_bind, &err) < 0)
        fail_value(err.text);
}

/* Help that was asked for ends srun. */
static void read_binding(struct setup *s)
{
    const struct opt *o = &s->opt;
    struct err err = {0};
    bool old = o->cpu_bind && str_eq(o->cpu_bind, getenv("SLURM_CPU_BIND")) &&
               is_inherited("SLURM_CPU_BIND", "SLUICE_CPU_BIND");
    int cpu =
        o->cpu_bind && !old ? bind_read_cpu(o->cpu_bind, &s->arena, &s->run.cpu_bind, &err) : 0;
    int memory = cpu == 0 && o->mem_bind
                     ? bind_read_memory(o->mem_bind, &s->arena, &s->run.mem_bind, &err)
                     : 0;

    if (cpu < 0 || memory < 0)
        fail_value(err.text);
    bool asked = s->run.cpu_bind && s->run.cpu_bind->kind > PB__BIND_KIND__BIND_NONE;
    bind_imply(o, &s->arena, &s->run.cpu_bind);
    if (asked && !strstr(s->conf->task_plugin, "affinity"))
        say_info("warning: --cpu-bind has no effect: TaskPlugin=%s does not bind tasks, "
                 "task/affinity does",
                 s->conf->task_plugin);
    s->step.has_spread = s->step.spread = bind_spreads(&s->run.dist, s->run.cpu_bind);
    read_gpu_binding(s);
    if (cpu == 0 && memory == 0)
        return;
    fputs(cpu ? bind_help_cpu() : bind_help_memory(), stdout);
    exit(0);
}

static int before_launch(void *ctx, const struct Pb__StepReply *step, int argc, char **argv,
                         struct err *err)
{
    const struct setup *s = ctx;

    return plugins_started(s->plugins, step, argc, argv, err);
}

/* What is said of a broadcast says nothing where there is none; a variable may be set for others.
 */
static void check_no_bcast(const struct setup *s)
{
    static const struct {
        enum opt_id id;
        const char *name;
    } options[] = {{OPT_ID_compress, "compress"},
                   {OPT_ID_send_libs, "send-libs"},
                   {OPT_ID_bcast_exclude, "bcast-exclude"}};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (s->opt.from[options[i].id] == OPT_FROM_ARGV)
            say_info("warning: option --%s has no effect without --bcast", options[i].name);
}

static void read_bcast(struct setup *s)
{
    const struct opt *o = &s->opt;

    if (o->bcast == NULL) {
        check_no_bcast(s);
        return;
    }
    if (o->multi_prog)
        fail("--bcast copies one program, and --multi-prog names several");
    cmd_start("srun");
    cmd_set_level(o->quiet, o->verbose);
    bcast_settings_init(&s->bcast, s->conf);
    if (o->compress != NULL)
        bcast_set_compress(&s->bcast, o->compress);
    if (o->send_libs != NULL)
        bcast_set_libs(&s->bcast, o->send_libs);
    if (o->bcast_exclude != NULL)
        bcast_set_exclude(&s->bcast, o->bcast_exclude);
    s->bcast.force = s->bcast.preserve = true;
    s->run.bcast = &s->bcast;
    s->run.bcast_dest = o->bcast;
}

static void make_run(struct setup *s)
{
    const struct opt *o = &s->opt;
    struct run_options *r = &s->run;
    struct err err = {0};

    *r = (struct run_options){
        .job = &s->job,
        .step = &s->step,
        .argv = s->argv,
        .argc = s->argc,
        .self_argv = s->self_argv,
        .export_spec = o->export_env,
        .input = o->std_in,
        .output = o->std_out,
        .error = o->std_err,
        .work_dir = s->job.work_dir,
        .job_name = s->job.name,
        .mpi = mpi_of(s),
        .x11 = o->x11,
        .propagate = o->propagate,
        .prolog = o->prolog ? o->prolog : s->conf->srun_prolog,
        .epilog = o->epilog ? o->epilog : s->conf->srun_epilog,
        .task_prolog = o->task_prolog,
        .task_epilog = o->task_epilog,
        .append = opt_given(o, OPT_ID_open_mode) ? o->open_append : s->conf->job_file_append != 0,
        .label = o->label,
        .unbuffered = o->unbuffered || o->pty,
        .pty = o->pty,
        .no_kill = o->no_kill,
        .quit_on_interrupt = o->quit_on_interrupt,
        .disable_status = o->disable_status,
        .ignored_signals = o->ignored_signals,
        .preserve_env = o->preserve_env,
        .wait_for_children = o->wait_for_children,
        .slurmd_debug = opt_given(o, OPT_ID_slurmd_debug) ? (int)o->slurmd_debug : -1,
        .kill_on_bad_exit = opt_given(o, OPT_ID_kill_bad_exit) ? o->kill_on_bad_exit
                                                               : s->conf->kill_on_bad_exit != 0,
        .wait_sec = opt_given(o, OPT_ID_wait_sec) ? o->wait_sec : s->conf->wait_time_sec,
        .immediate_ms = -1,
        .verbose = o->quiet ? -1 : (int)o->verbose,
        .tree_width = o->tree_width,
        .no_allocate = o->no_allocate,
        .debugger_test = o->debugger_test,
    };
    dist_parse(o->distribution, &r->dist);
    read_binding(s);
    read_bcast(s);
    r->spank_options = plugins_options(s->plugins, &r->spank_option_count);
    r->before_launch = before_launch;
    r->ctx = s;
    if (o->immediate) {
        r->immediate_ms = o->immediate_sec > 1 ? o->immediate_sec * INT64_C(1000) : 0;
        s->job.immediate = s->job.has_immediate = r->immediate_ms == 0;
        s->step.immediate = s->step.has_immediate = r->immediate_ms == 0;
    }
    if (s->order != NULL && spawned_fill_run(s->order, &s->arena, r, &err) < 0)
        fail(err.text);
    else if (s->order == NULL && o->multi_prog)
        read_multi_prog(s);
}

/* LaunchParameters=test_exec: better here than once for each task. */
static void check_program(const struct setup *s)
{
    _cleanup_free_ char *path = NULL;
    bool wanted =
        conf_list_has(s->conf->launch_parameters, "test_exec") || getenv("SLURM_TEST_EXEC");

    if (s->opt.multi_prog || !wanted)
        return;
    path = program_find(s->argv[0], s->run.work_dir);
    if (program_is_there(path))
        return;
    say_error("%s: no such program here, or it may not be executed; nothing was launched "
              "(LaunchParameters=test_exec, or SLURM_TEST_EXEC)",
              s->argv[0]);
    exit(1);
}

static int submit_batch(struct setup *s)
{
    struct batch_command command = {.argc = s->argc, .argv = s->argv};

    command.spank_options = plugins_options(s->plugins, &command.spank_option_count);
    return batch_submit(s->conf, &s->opt, &s->job, &command);
}

static int run(struct setup *s, int argc, char **argv)
{
    struct err err = {0};

    if (s->argc == 0) {
        fprintf(stderr, "srun: fatal: No command given to execute.\n");
        return 1;
    }
    if (s->opt.het_group != NULL)
        fail("heterogeneous steps are not available in this version: run again without "
             "--het-group");
    if (str_eq(s->opt.mpi, "doctor"))
        return doctor_run(s->argv[0]);
    opt_print_notes(&s->opt);
    opt_print_defined(&s->opt);
    if (s->conf == NULL)
        fail(s->unread.text);
    if (origin_take_mask(&err) < 0)
        fail(err.text);
    if (opt_check_clusters(s->opt.clusters, s->conf->cluster_name, &err) < 0)
        fail(err.text);
    if (s->opt.msg_timeout_sec)
        s->conf->message_timeout_sec = s->opt.msg_timeout_sec;
    make_specs(s, argc, argv);
    if (s->opt.test_only && s->order == NULL)
        return estimate_tell(s->conf, &s->job);
    plugins_ready(s->plugins, &s->job);
    if (s->opt.batch)
        return submit_batch(s);
    make_run(s);
    check_program(s);
    return run_to_end(s->conf, &s->run);
}

static void read_order(struct setup *s, int argc, char **argv)
{
    struct err err = {0};

    s->self_argv = arena_alloc(&s->arena, ((size_t)argc + 1) * sizeof(char *));
    memcpy(s->self_argv, argv, (size_t)argc * sizeof(char *)); /* options are put in order */
    s->order = spawned_read(&s->arena, &err);
    if (err.code < 0)
        fail(err.text);
}

int main(int argc, char **argv)
{
    struct setup s = {0};
    int status;

    keep_standard_descriptors();
    arena_init(&s.arena, 0);
    read_order(&s, argc, argv);
    read_options(&s, argc, argv);
    if (s.opt.allocate)
        become_salloc(&s.opt, argc, argv);
    if (s.opt.attach != NULL)
        become_sattach(&s.opt, s.argc);
    status = run(&s, argc, argv);
    plugins_end(s.plugins);
    str_done(&s.multi_prog);
    bcast_settings_done(&s.bcast);
    conf_free(s.conf);
    arena_done(&s.arena);
    opt_done(&s.opt);
    return status;
}
