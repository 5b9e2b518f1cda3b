/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One interactive run: from the request for resources to the exit status. Everything happens on one
 * loop; the parts are
 *
 *   request.c   allocation and step, with the waiting
 *   copy.c      --bcast: the program goes to the nodes first
 *   command.c   what the tasks of each part run
 *   launch.c    the request to the nodes
 *   report.c    what --verbose says of the request's answer
 *   peers.c     the sessions with the step's shepherds
 *   ends.c      what the end of a task brings about
 *   exchange.c  what the processes of an MPI program tell each other
 *   output.c    what the tasks write, input.c what they read
 *   signals.c   Ctrl-C and its kin, terminal.c --pty
 *   background.c  another srun in place of this one
 *   hook.c      --prolog, --epilog
 *   spawns.c    steps that tasks ask for; spawned.c: this is one of them
 *   finish.c    the report at the end
 *   run.c       what happens when: it owns struct run and has the functions of struct run_events
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "cluster/resource/dist.h"
#include "conf/conf.h"
#include "loop/loop.h"
#include "proto/io.pb-c.h"
#include "proto/job.pb-c.h"
#include "proto/spawn.pb-c.h"
#include "proto/step.pb-c.h"
#include "rpc/client.h"

struct bcast_settings;
struct rpc_info;

/* What the options say, beside the two specifications. Strings are borrowed. */
struct run_options {
    struct Pb__JobSpec *job;   /* for a job of its own */
    struct Pb__StepSpec *step; /* job_id given: a step in that job */
    char **argv;
    int argc;
    char **self_argv;                       /* of this srun, its options among them */
    const Pb__SpawnOrder *order;            /* a task of another step has asked for it; or NULL */
    const char *export_spec;                /* --export, NULL: all */
    char **environment;                     /* of which it chooses; borrowed */
    struct Pb__SpankOption **spank_options; /* of plugins, for the nodes */
    size_t spank_option_count;
    /* The step is there, its tasks are not: a failure ends it. */
    int (*before_launch)(void *ctx, const struct Pb__StepReply *step, int argc, char **argv,
                         struct err *err);
    void *ctx;
    const struct bcast_settings *bcast; /* NULL: the program is there */
    const char *bcast_dest;             /* as --bcast has it; "": nothing */
    const char *input, *output, *error;
    const char *work_dir; /* absolute */
    const char *job_name;
    const char *mpi;
    const char *x11;  /* "all", "first", "last"; NULL: none */
    int slurmd_debug; /* enum log_level; negative: not said */
    const char *propagate;
    const char *prolog, *epilog; /* run by srun, here */
    const char *task_prolog, *task_epilog;
    const char *multi_prog; /* text of the file that names each task's program, or NULL */
    bool append, label, unbuffered, pty, no_kill;
    bool no_allocate; /* a step of no job */
    bool quit_on_interrupt, disable_status, kill_on_bad_exit, preserve_env, wait_for_children;
    struct Pb__Bind *cpu_bind, *mem_bind; /* NULL: nothing was asked for */
    struct Pb__GpuBind *gpu_bind;         /* NULL: every task is told of all */
    struct dist dist;
    unsigned tree_width;      /* 0: TreeWidth */
    int64_t wait_sec;         /* after the first task ended; 0: for ever, with a warning */
    bool debugger_test;       /* tell the table of tasks that debuggers read */
    int64_t immediate_ms;     /* -1: wait; 0: at once or not at all */
    uint32_t ignored_signals; /* 1 << number, ORed */
    int verbose;              /* -1 with --quiet */
    /* A step of several parts: what is asked for each, step->parts[i] its specification. parts[0]
     * are these options themselves, and of the others only what nodes are told counts. NULL: one.
     */
    const struct run_options *const *parts;
    struct Pb__JobSpec **components; /* behind 'job', for a job set of its own */
    size_t component_count;
};

enum run_phase {
    RUN_ASKING,  /* for an allocation, for a step */
    RUN_RUNNING, /* launched, or being launched */
    RUN_ENDING,  /* nothing is left on the nodes: the last output, the report to the controller */
    RUN_OVER
};

struct run_command {
    char **argv;
    int argc;
    bool per_node, has_libs; /* program_per_node and program_libs, as LaunchTasks has them */
};

struct run;

/* What the parts tell the run of. They know this table alone, not who does what about it. */
struct run_events {
    /* request.c: the step is there, its replies are in run->arena; or it will never be. */
    void (*step)(struct run *run);
    void (*refused)(struct run *run, int exit_code);
    /* copy.c: all nodes have the programs, and run->commands name these there; or not, which was
     * told. */
    void (*copied)(struct run *run, bool all);
    /* peers.c: of no node more is to come; a session is full, or none is. */
    void (*all_here)(struct run *run);
    void (*backlog)(struct run *run, bool full);
    /* A session with a node begins; what the node says in it. */
    void (*node_here)(const struct run *run, uint32_t node);
    void (*message)(struct run *run, uint32_t node, const struct rpc_info *rpc,
                    const struct ProtobufCMessage *body);
    /* launch.c and peers.c, node being its index in step->layout. */
    void (*launch_failed)(struct run *run, uint32_t node, const struct err *why);
    void (*node_lost)(struct run *run, uint32_t node, const struct err *why);
    void (*node_done)(struct run *run, uint32_t node);
    /* input.c: the user has typed what sends srun into the background. */
    void (*background)(struct run *run);
    /* spawns.c: the last step that was spawned has ended. */
    void (*spawns_over)(struct run *run);
    /* output.c: what waited has been written; stdout is a pipe without a reader; a file cannot be
     * written, on a full disk, say. */
    void (*output_drained)(struct run *run);
    void (*output_broken)(struct run *run);
    void (*output_lost)(struct run *run, const struct err *why);
    /* finish.c: the controller has given up a node; it knows of the end, or cannot be told now. */
    void (*node_failed)(struct run *run, const char *name);
    void (*reported)(struct run *run);
    /* Any of them: the step has to end, by SIGTERM, a while, SIGKILL, which is said once. The step
     * daemons tell the user why ("TIME LIMIT"; NULL: nothing). */
    void (*abort)(struct run *run, const char *why);
    /* signals.c: do not wait any longer. */
    void (*force)(struct run *run);
};

struct run {
    const struct run_events *on;
    struct loop *loop;
    const struct conf *conf;
    const struct run_options *options;
    enum run_phase phase;
    bool own_job;       /* allocated here: ends with the step */
    struct arena arena; /* of the replies */
    uint32_t job_id, step_id;
    /* Kept from the step's reply until its report or the wait for the job's end, at most one
     * second. */
    struct rpc_kept controller;
    char step_name[40];           /* "StepId=5.0" */
    struct Pb__AllocReply *alloc; /* own_job only */
    struct Pb__StepReply *step;

    struct tasks *tasks;
    struct ends *ends;
    struct request *request;
    struct copy *copy; /* while it is under way */
    struct launch *launch;
    struct peers *peers;
    struct output *output;
    struct input *input;
    struct signals *signals;
    struct finish *finish;
    struct exchange *exchange;
    struct spawns *spawns;
    struct across *across;
    struct spawned *spawned;   /* NULL: a person has started it */
    struct terminal *terminal; /* --pty on a terminal */
    struct x11 *x11;           /* --x11 */

    struct run_command *commands; /* by part, what its tasks run: of the options or --multi-prog */
    uint32_t nodes_left;          /* of the step, where something may still run */
    bool *node_over;              /* by node: it is not one of them any more */
    bool to_background;           /* it was asked for, see background.h */
    bool aborting;                /* the step was told to end */
    bool hurried;       /* by a signal to us: output that nobody reads does not hold us up */
    bool launch_failed; /* on some node; told */
    bool reported;      /* the controller knows of the end, or does not answer */
    bool output_broken; /* nobody reads what the tasks write: that they end for it is no news */
    int exit_code;      /* at least this; the tasks' may be higher */
    struct loop_timer
        *limit_timer; /* --time of a step in a job, whose own limit is the controller's */
    struct loop_timer *abort_timer; /* the end of patience */
};

static inline uint32_t run_count_parts(const struct run *run)
{
    return run->options->parts != NULL ? (uint32_t)run->options->step->n_parts : 1;
}

static inline const struct run_options *run_part_options(const struct run *run, uint32_t part)
{
    return run->options->parts != NULL ? run->options->parts[part] : run->options;
}

/* Whether a task runs on a node: what that node says about others is not believed. */
static inline bool run_owns(const struct run *run, uint32_t node, uint32_t task)
{
    const struct Pb__StepNode *n = run->step->layout[node];

    for (size_t i = 0; i < n->n_task_ids; i++)
        if (n->task_ids[i] == task)
            return true;
    return false;
}

/* srun's own exit status, at the end. */
static inline void run_at_least(struct run *run, int exit_code)
{
    if (run->exit_code < exit_code)
        run->exit_code = exit_code;
}

/* Ends the step with this exit status, or 1 where a process can have no such status. */
static inline void run_abort_with(struct run *run, int exit_code)
{
    run_at_least(run, exit_code > 0 && exit_code < 256 ? exit_code : 1);
    run->on->abort(run, NULL);
}

/* Runs to the end; returns srun's exit status. */
int run_to_end(const struct conf *conf, const struct run_options *options);
