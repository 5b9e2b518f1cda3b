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
#include "cli/bind.h"
#include "cli/bind_help.h"
#include "cli/cmd.h"
#include "cli/gpu_bind.h"
#include "cli/opt.h"
#include "cli/opt_component.h"
#include "cmd/srun/alone/alone.h"
#include "cmd/srun/option/become.h"
#include "cmd/srun/option/bind_default.h"
#include "cmd/srun/option/doctor.h"
#include "cmd/srun/option/component_env.h"
#include "cmd/srun/option/mpi.h"
#include "cmd/srun/option/multi.h"
#include "cmd/srun/option/names.h"
#include "cmd/srun/option/program.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/option/whole.h"
#include "cmd/srun/run/run.h"
#include "cmd/srun/run/spawned.h"
#include "conf/conf_sets.h"
#include "launch/bcast.h"
#include "launch/filter.h"
#include "launch/jobenv.h"
#include "launch/origin.h"
#include "launch/plugins.h"
#include "show/names.h"

extern char **environ;

/* What is asked for one part of the step: a component of the command line, in one component of the
 * job. An ordinary step has one part. */
struct part {
    struct setup *setup;
    size_t number;    /* of the part */
    size_t component; /* of the command line */
    struct opt *opt;
    uint32_t group; /* the component of the job that the command line means */
    int argc;       /* the command */
    char **argv;
    struct Pb__JobSpec job;
    struct Pb__StepSpec step;
    struct run_options run;
    struct bcast_settings bcast;
};

struct setup {
    struct opt_components options;
    struct opt *opt; /* of the first component */
    struct arena arena;
    struct conf *conf;
    struct err unread;       /* why there is none */
    struct plugins *plugins; /* of the site; NULL: none */
    struct filter *filter;   /* the same */
    struct opt_extras known_extras;
    struct opt_components *of_group[JOB_SET_MAX]; /* see find_component(); NULL: not needed yet */
    int argc;
    char **argv;
    struct part **parts; /* in the arena */
    size_t part_count;
    const Pb__SpawnOrder *order; /* NULL: a person has started us */
    char **self_argv;            /* as it was started */
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

/* The options of the command line in this environment. */
static void read_components(const struct setup *s, char **environment, struct opt_components *out)
{
    struct err err = {0};

    if (opt_components_scan(out, s->argc, s->argv, &err) < 0)
        exit(opt_components_print_failure(out, &err));
    if (opt_print_info(opt_components_leader(out)))
        exit(0);
    if (filter_read(s->filter, out, NULL, environment, &err) < 0)
        exit(opt_components_print_failure(out, &err));
}

/* Exits when there is nothing to do, or nothing can be done. */
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
    read_components(s, component_env_choose(&s->arena, environ, COMPONENT_ENV_NONE), all);
    say_level(o->quiet ? -1 : (int)o->verbose);
    if (o->mpi != NULL && strcmp(o->mpi, "list") == 0) {
        mpi_list();
        exit(0);
    }
    if (bind_help_print(o, s->conf != NULL ? s->conf->gres_types : NULL))
        exit(0);
}

static _Noreturn void end_with(int status, const char *text)
{
    say_error("%s", text);
    exit(opt_exit_status("SLURM_EXIT_ERROR", status));
}

static _Noreturn void exit_with_error(const char *text)
{
    end_with(1, text);
}

/* The value of an option is not valid. */
static _Noreturn void fail_value(const char *text)
{
    end_with(OPT_STATUS_BAD_VALUE, text);
}

/* In an allocation a list of nodes says how many, unless the command line does. */
static void count_named_nodes(struct part *p)
{
    struct Pb__StepSpec *step = &p->step;
    _cleanup_hostlist_ struct hostlist *nodes = NULL;
    size_t count = step->n_relative_nodes;

    if (p->opt->from[OPT_ID_nodes] == OPT_FROM_ARGV || opt_is_arbitrary(p->opt))
        return;
    if (step->nodes != NULL && hostlist_parse(step->nodes, &nodes, NULL) == 0)
        count = hostlist_count(nodes);
    if (count == 0)
        return;
    step->has_min_nodes = step->has_max_nodes = 1;
    step->min_nodes = step->max_nodes = (uint32_t)count;
}

/* Fewer nodes follow --relative than --nodes asks for: --relative counts. */
static void fit_relative(struct part *p)
{
    struct Pb__StepSpec *step = &p->step;
    const char *text = getenv("SLURM_JOB_NUM_NODES");
    long long nodes;

    if (!opt_given(p->opt, OPT_ID_relative) || !p->opt->in_job || p->opt->interactive ||
        text == NULL || str_parse_i64(text, 1, INT32_MAX, &nodes) != 0 ||
        p->opt->relative >= nodes || step->n_relative_nodes <= (size_t)(nodes - p->opt->relative))
        return;
    step->n_relative_nodes = (size_t)(nodes - p->opt->relative);
    say_info("warning: --nodes=%u: %zu nodes of the job follow --relative=%u, the step gets these",
             p->opt->min_nodes, step->n_relative_nodes, p->opt->relative);
    step->has_min_nodes = step->has_max_nodes = 1;
    step->min_nodes = step->max_nodes = (uint32_t)step->n_relative_nodes;
}

static void read_multi_prog(struct part *p)
{
    struct err err = {0};

    _cleanup_str_ struct str text = STR_INIT;

    if (path_read_file(p->argv[0], MULTI_FILE_MAX, &text, &err) < 0)
        exit_with_error(err.text);
    p->run.multi_prog = arena_strdup(&p->setup->arena, str_cstr(&text));
}

static const char *mpi_of(const struct part *p)
{
    struct err err = {0};
    const char *kind = NULL;

    if (mpi_choose(p->opt->mpi, p->setup->conf->mpi_default, &kind, &err) < 0)
        exit_with_error(err.text);
    return kind;
}

/* What the job of its own is named, and the step. */
static void name_specs(struct part *p)
{
    const char *name = strrchr(p->argv[0], '/');

    name = name != NULL && name[1] != '\0' ? name + 1 : p->argv[0];
    if (p->job.name == NULL)
        p->job.name = (char *)name;
    if (p->step.name == NULL)
        p->step.name = p->job.name;
    p->job.command = p->argv[0];
}

/* Without a number of tasks --exclusive is for the job alone: its one task gets all CPUs. */
static bool asks_for_tasks(const struct opt *o)
{
    return opt_given(o, OPT_ID_ntasks) || opt_given(o, OPT_ID_ntasks_per_node) ||
           opt_given(o, OPT_ID_ntasks_per_core) || opt_given(o, OPT_ID_ntasks_per_socket) ||
           opt_given(o, OPT_ID_ntasks_per_gpu);
}

static void fill_step(struct part *p)
{
    const struct setup *s = p->setup;
    const struct Pb__JobSpec *first = &s->parts[0]->job;
    struct err err = {0};

    if (opt_to_step_spec(p->opt, &p->setup->arena, &p->step, &err) < 0)
        exit_with_error(err.text);
    name_specs(p);
    if (!p->step.has_oom_kill_step && conf_list_has(s->conf->task_plugin_param, "OOMKillStep"))
        p->step.has_oom_kill_step = p->step.oom_kill_step = 1;
    p->step.host = first->alloc_host;
    p->step.has_srun_pid = 1;
    p->step.srun_pid = (uint32_t)getpid();
    p->step.submit_line = first->submit_line;
    p->step.has_request_id = 1;
    p->step.request_id = first->request_id;
    if (p->step.has_job_id) {
        p->step.has_restarts = jobenv_attempt(p->step.job_id, &p->step.restarts);
        fit_relative(p);
        count_named_nodes(p);
    } else if (opt_given(p->opt, OPT_ID_relative) && !p->opt->interactive && !p->opt->no_allocate &&
               s->order == NULL) {
        fprintf(stderr, "srun: fatal: --relative option invalid for job allocation request\n");
        exit(1);
    } else if (s->order == NULL) {
        if (!opt_is_arbitrary(p->opt) && !p->opt->no_allocate)
            p->step.nodes = NULL; /* the job may get more than these, the step has them all */
        p->step.has_exact = 1;
        p->step.exact =
            p->opt->exact || opt_given(p->opt, OPT_ID_cpus_per_task) ||
            (p->opt->exclusive && p->opt->exclusive_is_exact && asks_for_tasks(p->opt) &&
             !conf_list_has(s->conf->launch_parameters, "srun_exclusive_allocation"));
    }
    if (s->order != NULL && spawned_fill_step(s->order, &p->setup->arena, &p->step, &err) < 0)
        exit_with_error(err.text);
}

/* The jobs of all parts, for an allocation of their own. */
static struct Pb__JobSpec **list_jobs(struct setup *s)
{
    struct Pb__JobSpec **jobs = arena_alloc(&s->arena, (s->part_count + 1) * sizeof(*jobs));

    for (size_t i = 0; i < s->part_count; i++)
        jobs[i] = &s->parts[i]->job;
    return jobs;
}

static void make_specs(struct setup *s, int argc, char **argv)
{
    struct err err = {0};

    for (size_t i = 0; i < s->part_count; i++) {
        pb__job_spec__init(&s->parts[i]->job);
        pb__step_spec__init(&s->parts[i]->step);
        opt_to_job_spec(s->parts[i]->opt, &s->parts[i]->job);
    }
    if (origin_fill_set(&s->arena, argc, argv, s->opt->chdir, &s->parts[0]->job, list_jobs(s) + 1,
                        s->part_count - 1, &err) < 0)
        exit_with_error(err.text);
    for (size_t i = 0; i < s->part_count; i++) {
        struct part *p = s->parts[i];

        if (i > 0 && origin_work_dir(&s->arena, p->opt->chdir, &p->job.work_dir, &err) < 0)
            exit_with_error(err.text);
        fill_step(p);
    }
}

/* --- parts ------------------------------------------------------------------------------------ */

/* The component of the command line for a part in that component of the job: in a heterogeneous
 * job, options are read from the variables of the part's own component. */
static struct opt_component *find_component(struct setup *s, size_t i, uint32_t group)
{
    const struct opt_extras *extras = s->opt->extras;
    struct opt_components *all = s->of_group[group];

    if (!het_env_is_given(environ))
        return s->options.list[i];
    if (all == NULL) {
        all = s->of_group[group] = mem_new(struct opt_components);
        opt_components_init(all, OPT_SRUN);
        if (extras != NULL) { /* they have been set */
            s->known_extras = (struct opt_extras){.list = extras->list, .count = extras->count};
            opt_offer(opt_components_leader(all), &s->known_extras);
        }
        read_components(s, component_env_choose(&s->arena, environ, group), all);
    }
    return all->list[i];
}

static void add_part(struct setup *s, size_t i, uint32_t group)
{
    struct part *p = arena_alloc(&s->arena, sizeof(*p));
    struct opt_component *from = find_component(s, i, group);

    p->setup = s;
    p->number = s->part_count;
    p->component = i;
    p->group = group;
    p->opt = &from->opt;
    p->argc = from->command_argc;
    p->argv = from->command_argv;
    s->parts[s->part_count++] = p;
}

/* Of a component of the command line that names several groups there is a part in each of these. */
static void make_parts(struct setup *s)
{
    const struct opt_components *all = &s->options;

    s->parts = arena_alloc(&s->arena, JOB_SET_MAX * sizeof(*s->parts));
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < (all->list[i]->opt.component_list ? all->list[i]->group_count : 1); k++)
            add_part(s, i, all->list[i]->groups[k]);
}

/* Names the component of each part when --het-group names that of one. Otherwise the controller
 * decides: parts are in the components of a heterogeneous job one after the other, and in another
 * job all of them are in that job, on different nodes. */
static void name_groups(struct setup *s)
{
    const struct opt_components *all = &s->options;
    const char *named = NULL;

    for (size_t i = 0; i < all->count; i++)
        named = all->list[i]->opt.component_list ? all->list[i]->opt.component_list : named;
    if (named == NULL)
        return;
    if (!s->parts[0]->step.has_job_id)
        fail_value(arena_printf(&s->arena,
                                "--het-group=%s names a component of a heterogeneous job: start "
                                "srun in one, or name one with --jobid",
                                named));
    for (size_t i = 0, at = 0; i < all->count; i++)
        for (size_t k = 0; k < all->list[i]->group_count; k++, at++) {
            s->parts[at]->step.has_set_offset = true;
            s->parts[at]->step.set_offset = all->list[i]->groups[k];
        }
}

/* One request for the step: of several parts it holds what is asked for each. */
static void join_parts(struct setup *s)
{
    struct run_options *first = &s->parts[0]->run;
    struct Pb__StepSpec *whole, **steps;
    const struct run_options **runs;

    if (s->part_count == 1)
        return;
    whole = arena_alloc(&s->arena, sizeof(*whole));
    steps = arena_alloc(&s->arena, s->part_count * sizeof(*steps));
    runs = arena_alloc(&s->arena, s->part_count * sizeof(*runs));
    for (size_t i = 0; i < s->part_count; i++) {
        steps[i] = &s->parts[i]->step;
        runs[i] = &s->parts[i]->run;
    }
    /* Other sruns of the job may write to the same files, too (HET-107). */
    for (size_t i = 0; i < s->part_count; i++)
        if (!opt_given(s->parts[i]->opt, OPT_ID_open_mode))
            s->parts[i]->run.append = true;
    *whole = s->parts[0]->step;
    whole->has_set_offset = false;
    whole->parts = steps;
    whole->n_parts = s->part_count;
    first->step = whole;
    first->parts = runs;
    first->components = list_jobs(s) + 1;
    first->component_count = s->part_count - 1;
}

/* A variable that srun has made for the tasks of a step is no wish of theirs for further steps. */
static bool is_inherited(const char *variable, const char *made)
{
    const char *now = getenv(variable), *then = getenv(made);

    return now && then && str_eq(now, then);
}

/* "gv", an older way to say it. */
static void read_accelerators(struct part *p)
{
    const char *word = p->opt->accel_bind;
    bool verbose = strchr(word, 'v') != NULL;
    struct err err = {0};

    if (!*word || word[strspn(word, "gnv")])
        fail_value("Invalid --accel-bind specification: it is made of the letters g, n and v");
    if (strchr(word, 'n') != NULL)
        say_info("warning: of --accel-bind=%s n is accepted and has no effect", word);
    if (strchr(word, 'g') != NULL && gpu_bind_read(verbose ? "verbose,closest" : "closest",
                                                   &p->setup->arena, &p->run.gpu_bind, &err) < 0)
        fail_value(err.text);
}

static void read_gpu_binding(struct part *p)
{
    const struct opt *o = p->opt;
    struct err err = {0};

    const char *bind = opt_gpu_bind(o);

    if (bind == NULL && o->accel_bind != NULL)
        read_accelerators(p);
    else if (bind == NULL)
        p->run.gpu_bind =
            gpu_bind_implied(p->step.tres_per_task, o->ntasks_per_gpu, &p->setup->arena);
    else if (gpu_bind_read(bind, &p->setup->arena, &p->run.gpu_bind, &err) < 0)
        fail_value(err.text);
}

/* Help that was asked for ends srun. */
static void read_binding(struct part *p)
{
    const struct opt *o = p->opt;
    struct err err = {0};
    bool old = o->cpu_bind && str_eq(o->cpu_bind, getenv("SLURM_CPU_BIND")) &&
               is_inherited("SLURM_CPU_BIND", "SLUICE_CPU_BIND");
    int cpu = o->cpu_bind && !old
                  ? bind_read_cpu(o->cpu_bind, &p->setup->arena, &p->run.cpu_bind, &err)
                  : 0;
    int memory = cpu == 0 && o->mem_bind
                     ? bind_read_memory(o->mem_bind, &p->setup->arena, &p->run.mem_bind, &err)
                     : 0;

    if (cpu < 0) /* unlike other values that mean nothing, as with Slurm */
        end_with(1, err.text);
    if (memory < 0)
        fail_value(err.text);
    bool asked = p->run.cpu_bind && p->run.cpu_bind->kind > PB__BIND_KIND__BIND_NONE;
    bind_imply(o, &p->setup->arena, &p->run.cpu_bind);
    if (asked && !strstr(p->setup->conf->task_plugin, "affinity"))
        say_info("warning: --cpu-bind has no effect: TaskPlugin=%s does not bind tasks, "
                 "task/affinity does",
                 p->setup->conf->task_plugin);
    p->step.has_spread = p->step.spread = bind_spreads(&p->run.dist, p->run.cpu_bind);
    read_gpu_binding(p);
    if (cpu == 0 && memory == 0)
        return;
    fputs(cpu ? bind_help_cpu() : bind_help_memory(), stdout);
    exit(0);
}

static int before_launch(void *ctx, const struct Pb__StepReply *step, int argc, char **argv,
                         struct err *err)
{
    const struct part *p = ctx;

    filter_submitted(p->setup->filter, p->component, step->job_id, step->step_id);
    return plugins_started(p->setup->plugins, p->number, step, argc, argv, err);
}

/* What is said of a broadcast says nothing where there is none; a variable may be set for others.
 */
static void check_no_bcast(const struct part *p)
{
    static const struct {
        enum opt_id id;
        const char *name;
    } options[] = {{OPT_ID_compress, "compress"},
                   {OPT_ID_send_libs, "send-libs"},
                   {OPT_ID_bcast_exclude, "bcast-exclude"}};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (p->opt->from[options[i].id] == OPT_FROM_ARGV)
            say_info("warning: option --%s has no effect without --bcast", options[i].name);
}

static void read_bcast(struct part *p)
{
    const struct opt *o = p->opt;

    if (o->bcast == NULL) {
        check_no_bcast(p);
        return;
    }
    if (o->multi_prog)
        exit_with_error("--bcast copies one program, and --multi-prog names several");
    cmd_start("srun");
    cmd_set_level(o->quiet, o->verbose);
    bcast_settings_init(&p->bcast, p->setup->conf);
    if (o->compress != NULL)
        bcast_set_compress(&p->bcast, o->compress);
    if (o->send_libs != NULL)
        bcast_set_libs(&p->bcast, o->send_libs);
    if (o->bcast_exclude != NULL)
        bcast_set_exclude(&p->bcast, o->bcast_exclude);
    p->bcast.force = p->bcast.preserve = true;
    p->run.bcast = &p->bcast;
    p->run.bcast_dest = o->bcast;
}

/* The variables of its component, in a heterogeneous job. */
static char **environment_of(const struct part *p)
{
    return het_env_is_given(environ) ? component_env_choose(&p->setup->arena, environ, p->group)
                                     : environ;
}

static void make_run(struct part *p)
{
    const struct opt *o = p->opt;
    struct run_options *r = &p->run;
    struct err err = {0};

    *r = (struct run_options){
        .job = &p->job,
        .step = &p->step,
        .argv = p->argv,
        .argc = p->argc,
        .self_argv = p->setup->self_argv,
        .export_spec = o->export_env,
        .environment = plugins_choose_env(p->setup->plugins, p->number, environment_of(p)),
        .input = o->std_in,
        .output = o->std_out,
        .error = o->std_err,
        .work_dir = p->job.work_dir,
        .job_name = p->job.name,
        .mpi = mpi_of(p),
        .x11 = o->x11,
        .propagate = o->propagate,
        .prolog = o->prolog ? o->prolog : p->setup->conf->srun_prolog,
        .epilog = o->epilog ? o->epilog : p->setup->conf->srun_epilog,
        .task_prolog = o->task_prolog,
        .task_epilog = o->task_epilog,
        .append =
            opt_given(o, OPT_ID_open_mode) ? o->open_append : p->setup->conf->job_file_append != 0,
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
        .kill_on_bad_exit = opt_given(o, OPT_ID_kill_bad_exit)
                                ? o->kill_on_bad_exit
                                : p->setup->conf->kill_on_bad_exit != 0,
        .wait_sec = opt_given(o, OPT_ID_wait_sec) ? o->wait_sec : p->setup->conf->wait_time_sec,
        .immediate_ms = -1,
        .verbose = o->quiet ? -1 : (int)o->verbose,
        .tree_width = o->tree_width,
        .no_allocate = o->no_allocate,
        .debugger_test = o->debugger_test,
    };
    dist_parse(o->distribution, &r->dist);
    read_binding(p);
    read_bcast(p);
    r->spank_options = plugins_options(p->setup->plugins, p->number, &r->spank_option_count);
    r->before_launch = before_launch;
    r->ctx = p;
    if (o->immediate) {
        r->immediate_ms = o->immediate_sec > 1 ? o->immediate_sec * INT64_C(1000) : 0;
        p->job.immediate = p->job.has_immediate = r->immediate_ms == 0;
        p->step.immediate = p->step.has_immediate = r->immediate_ms == 0;
    }
    if (p->setup->order != NULL && spawned_fill_run(p->setup->order, &p->setup->arena, r, &err) < 0)
        exit_with_error(err.text);
    else if (p->setup->order == NULL && o->multi_prog)
        read_multi_prog(p);
}

/* LaunchParameters=test_exec: better here than once for each task. */
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

/* The file of --multi-prog has the programs of all ranks. */
static void check_multi_prog(const struct setup *s)
{
    struct err err = {0};

    for (size_t i = 0; i < s->part_count; i++)
        if (s->parts[i]->opt->multi_prog != s->opt->multi_prog)
            exit_with_error(
                "--multi-prog is for all parts of a step, whose ranks are in its file, or for "
                "none");
    if (s->opt->multi_prog &&
        conf_sets_refuse(s->conf, CONF_HET_multi_prog, -ERR_NOT_SUPPORTED,
                        "--multi-prog cannot span several components of a heterogeneous job",
                        &err) < 0)
        exit_with_error(err.text);
}

/* What is not for several parts. */
static void check_parts(const struct setup *s)
{
    const struct opt *o = s->opt;

    if (s->part_count == 1)
        return;
    if (o->batch)
        exit_with_error("--batch takes one component: submit a heterogeneous job with sbatch");
    check_multi_prog(s);
    for (size_t i = 0; i < s->part_count; i++) {
        if (s->parts[i]->opt->from[OPT_ID_mpi] == OPT_FROM_ARGV &&
            !str_eq(s->parts[i]->opt->mpi, s->opt->mpi))
            exit_with_error("--mpi is of the whole step: give it in the first component");
        if (s->parts[i]->opt->pty && !o->pty)
            exit_with_error(
                "--pty gives the terminal to task 0, which is in component 0: use it there");
    }
}

/* A pseudo terminal has no end that is not a key, which a program may read before it looks for
 * keys: tasks would wait for more when a pipe or a file has ended. */
static void disregard_pty(struct setup *s)
{
    if (!s->opt->pty || isatty(STDIN_FILENO))
        return;
    say_info("warning: --pty has no effect: standard input is no terminal");
    for (size_t i = 0; i < s->part_count; i++)
        s->parts[i]->opt->pty = false;
}

static void consult_plugins(struct setup *s)
{
    for (size_t i = 0; i < s->part_count; i++) {
        struct part *p = s->parts[i];

        plugins_ready(s->plugins, p->component,
                      het_env_is_given(environ) ? environment_of(p) : NULL, &p->job);
    }
    plugins_export(s->plugins);
}

/* Of the pending job that --jobid names; in an allocation, of a new job. */
static int estimate_start(struct setup *s)
{
    const struct Pb__StepSpec *step = &s->parts[0]->step;
    int status = step->has_job_id ? become_estimate_pending(s->conf, step->job_id) : -1;

    if (status >= 0)
        return status;
    return become_estimate(s->conf, &s->parts[0]->job, list_jobs(s) + 1, s->part_count - 1);
}

/* The name is kept. Once a job was requested, srun-dynamic would request another one. */
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
    struct err err = {0};

    if (s->options.list[s->options.count - 1]->command_argc == 0) {
        fprintf(stderr, "srun: fatal: No command given to execute.\n");
        return 1;
    }
    make_parts(s);
    if (str_eq(s->opt->mpi, "doctor"))
        return doctor_run(s->parts[0]->argv[0]);
    opt_components_print_notes(&s->options);
    opt_components_print_defined(&s->options);
    if (s->conf == NULL)
        exit_with_error(s->unread.text);
    if (origin_take_mask(&err) < 0)
        exit_with_error(err.text);
    if (opt_check_clusters(s->opt->clusters, s->conf->cluster_name, &err) < 0)
        exit_with_error(err.text);
    if (s->opt->msg_timeout_sec)
        s->conf->message_timeout_sec = s->opt->msg_timeout_sec;
    check_parts(s);
    disregard_pty(s);
    make_specs(s, argc, argv);
    name_groups(s);
    whole_warn(&s->options, s->parts[0]->step.has_job_id);
    look_up_user(s);
    alone_forbid_leaving();
    if (s->opt->test_only && s->order == NULL)
        return estimate_start(s);
    consult_plugins(s);
    if (s->opt->batch)
        return submit_batch(s);
    for (size_t i = 0; i < s->part_count; i++)
        make_run(s->parts[i]);
    for (size_t i = 0; i < s->part_count; i++)
        check_program(s->parts[i]);
    join_parts(s);
    return run_to_end(s->conf, &s->parts[0]->run);
}

/* Closes descriptors that srun-dynamic would need. */
static void read_order(struct setup *s, int argc, char **argv)
{
    struct err err = {0};

    s->self_argv = arena_alloc(&s->arena, ((size_t)argc + 1) * sizeof(char *));
    memcpy(s->self_argv, argv, (size_t)argc * sizeof(char *)); /* options are put in order */
    s->order = spawned_read(&s->arena, &err);
    if (err.code < 0)
        exit_with_error(err.text);
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
    for (size_t i = 0; i < s.part_count; i++)
        bcast_settings_done(&s.parts[i]->bcast);
    conf_free(s.conf);
    arena_done(&s.arena);
    for (size_t i = 0; i < JOB_SET_MAX; i++)
        if (s.of_group[i] != NULL) {
            opt_components_done(s.of_group[i]);
            free(s.of_group[i]);
        }
    opt_components_done(&s.options);
    return status;
}
