/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cli/bind.h"
#include "cli/cmd.h"
#include "cli/gpu_bind.h"
#include "cmd/srun/option/bind_default.h"
#include "cmd/srun/option/component_env.h"
#include "cmd/srun/option/mpi.h"
#include "cmd/srun/option/multi.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/part/part.h"
#include "cmd/srun/run/spawned.h"

static void read_multi_prog(struct part *p)
{
    struct err err = {0};

    _cleanup_str_ struct str text = STR_INIT;

    if (path_read_file(p->argv[0], MULTI_FILE_MAX, &text, &err) < 0)
        say_exit_with_error(err.text);
    p->run.multi_prog = arena_strdup(&p->setup->arena, str_cstr(&text));
}

static const char *choose_mpi(const struct part *p)
{
    struct err err = {0};
    const char *kind = NULL;

    if (mpi_choose(p->opt->mpi, p->setup->conf->mpi_default, &kind, &err) < 0)
        say_exit_with_error(err.text);
    return kind;
}

/* --accel-bind is an older option for GPU binding. */
static void read_accelerators(struct part *p)
{
    const char *word = p->opt->accel_bind;
    bool verbose = strchr(word, 'v') != NULL;
    struct err err = {0};

    if (!*word || word[strspn(word, "gnv")])
        say_exit_with_bad_value(
            "Invalid --accel-bind specification: it is made of the letters g, n and v");
    if (strchr(word, 'n') != NULL)
        say_info("warning: of --accel-bind=%s n is accepted and has no effect", word);
    if (strchr(word, 'g') != NULL && gpu_bind_read(verbose ? "verbose,closest" : "closest",
                                                   &p->setup->arena, &p->run.gpu_bind, &err) < 0)
        say_exit_with_bad_value(err.text);
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
        say_exit_with_bad_value(err.text);
}

/* A request for help ends srun. */
static void read_binding(struct part *p)
{
    const struct opt *o = p->opt;
    struct err err = {0};
    bool old = o->cpu_bind && str_eq(o->cpu_bind, getenv("SLURM_CPU_BIND")) &&
               component_env_is_inherited("SLURM_CPU_BIND", "SLUICE_CPU_BIND");
    int cpu = o->cpu_bind && !old
                  ? bind_read_cpu(o->cpu_bind, &p->setup->arena, &p->run.cpu_bind, &err)
                  : 0;
    int memory = cpu == 0 && o->mem_bind
                     ? bind_read_memory(o->mem_bind, &p->setup->arena, &p->run.mem_bind, &err)
                     : 0;

    if (cpu < 0) /* as in Slurm, the exit status differs */
        say_exit_with_status(1, err.text);
    if (memory < 0)
        say_exit_with_bad_value(err.text);
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

/* Warns about options that need --bcast. Their variables may be meant for other commands. */
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
        say_exit_with_error("--bcast copies one program, and --multi-prog names several");
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

void part_make_run(struct part *p)
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
        .environment = plugins_choose_env(p->setup->plugins, p->number, part_choose_environment(p)),
        .input = o->std_in,
        .output = o->std_out,
        .error = o->std_err,
        .work_dir = p->job.work_dir,
        .job_name = p->job.name,
        .mpi = choose_mpi(p),
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
        say_exit_with_error(err.text);
    else if (p->setup->order == NULL && o->multi_prog)
        read_multi_prog(p);
}
