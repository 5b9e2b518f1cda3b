/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One interactive run, from the request for resources to the exit status. Everything runs on one
 * loop. The parts are
 *
 *   request.c   allocation and step, including the wait
 *   copy.c      --bcast: copies the program to the nodes first
 *   command.c   the commands of each part
 *   launch.c    the request to the nodes
 *   peers.c     the sessions with the step daemons
 *   ends.c      handling of a task's end
 *   exchange.c  messages between the processes of an MPI program
 *   output.c    output of the tasks; input.c: their input
 *   signals.c   Ctrl-C and other signals; terminal.c: --pty
 *   background.c  another srun that replaces this one
 *   hook.c      --prolog, --epilog
 *   spawns.c    steps that tasks request; spawned.c: the srun of such a step
 *   finish.c    the report at the end
 *   run.c       the sequence of events: owns struct run and has the functions of struct run_events
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

/* Options other than the two specifications. Strings are borrowed. */
struct run_options {
    struct Pb__JobSpec *job;   /* a job of its own is requested */
    struct Pb__StepSpec *step; /* job_id set: a step in that job */
    char **argv;
    int argc;
    char **self_argv;            /* this srun's command line, with options */
    const Pb__SpawnOrder *order; /* for a step that a task of another step has requested; or NULL */
    const char *export_spec;     /* --export; NULL: all */
    char **environment;          /* from which --export chooses; borrowed */
    struct Pb__SpankOption **spank_options; /* plugin options for the nodes */
    size_t spank_option_count;
    /* Called when the step exists and its tasks do not; a failure ends the step. */
    int (*before_launch)(void *ctx, const struct Pb__StepReply *step, int argc, char **argv,
                         struct err *err);
    void *ctx;
    const struct bcast_settings *bcast; /* NULL: no copy */
    const char *bcast_dest;             /* value of --bcast; "": none */
    const char *input, *output, *error;
    const char *work_dir; /* absolute */
    const char *job_name;
    const char *mpi;
    const char *x11;  /* "all", "first", "last"; NULL: none */
    int slurmd_debug; /* enum log_level; negative: not set */
    const char *propagate;
    const char *prolog, *epilog; /* srun runs them on this host */
    const char *task_prolog, *task_epilog;
    const char *multi_prog; /* text of the file that names each task's program, or NULL */
    bool append, label, unbuffered, pty, no_kill;
    bool no_allocate; /* a step without a job */
    bool quit_on_interrupt, disable_status, kill_on_bad_exit, preserve_env, wait_for_children;
    struct Pb__Bind *cpu_bind, *mem_bind; /* NULL: not requested */
    struct Pb__GpuBind *gpu_bind;         /* NULL: every task sees all GPUs */
    struct dist dist;
    unsigned tree_width;      /* 0: TreeWidth */
    int64_t wait_sec;         /* after the first task has ended; 0: for ever, with a warning */
    bool debugger_test;       /* prints the task table that debuggers read */
    int64_t immediate_ms;     /* -1: wait; 0: at once or not at all */
    uint32_t ignored_signals; /* 1 << number, ORed */
    int verbose;              /* -1 with --quiet */
    /* A step of several parts: the options of each; step->parts[i] is its specification. parts[0]
     * is this struct; of the others only the members that are sent to nodes are used. NULL: one
     * part. */
    const struct run_options *const *parts;
    struct Pb__JobSpec **components; /* after 'job', for a job set of its own */
    size_t component_count;
};

enum run_phase {
    RUN_ASKING,  /* waiting for an allocation or a step */
    RUN_RUNNING, /* launched, or being launched */
    RUN_ENDING,  /* all nodes are done: last output, report to the controller */
    RUN_OVER
};

struct run_command {
    char **argv;
    int argc;
    bool per_node, has_libs; /* program_per_node and program_libs of LaunchTasks */
};

struct run;

/* Notifications from the parts. The parts know only this table and not who handles the events. */
struct run_events {
    /* request.c: the step exists and its replies are in run->arena; or the request failed. */
    void (*step)(struct run *run);
    void (*refused)(struct run *run, int exit_code);
    /* copy.c: all nodes have the programs, and run->commands has their names there; or copying
     * failed, which was reported. */
    void (*copied)(struct run *run, bool all);
    /* peers.c: no further node will connect; a session is full, or none is. */
    void (*all_here)(struct run *run);
    void (*backlog)(struct run *run, bool full);
    /* A session with a node starts; a message of the node in its session. */
    void (*node_here)(const struct run *run, uint32_t node);
    void (*message)(struct run *run, uint32_t node, const struct rpc_info *rpc,
                    const struct ProtobufCMessage *body);
    /* launch.c and peers.c; 'node' is the index in step->layout. */
    void (*launch_failed)(struct run *run, uint32_t node, const struct err *why);
    void (*node_lost)(struct run *run, uint32_t node, const struct err *why);
    void (*node_done)(struct run *run, uint32_t node);
    /* input.c: the user has typed the command that moves srun to the background. */
    void (*background)(struct run *run);
    /* spawns.c: the last spawned step has ended. */
    void (*spawns_over)(struct run *run);
    /* output.c: all waiting output is written; stdout is a pipe without a reader; a file cannot be
     * written, for example on a full disk. */
    void (*output_drained)(struct run *run);
    void (*output_broken)(struct run *run);
    void (*output_lost)(struct run *run, const struct err *why);
    /* finish.c: the controller has given up a node; it knows of the end or cannot be reached. */
    void (*node_failed)(struct run *run, const char *name);
    void (*reported)(struct run *run);
    /* Any part: the step must end: SIGTERM, a grace time, SIGKILL, announced once. The step daemons
     * tell the user the reason ("TIME LIMIT"; NULL: none). */
    void (*abort)(struct run *run, const char *why);
    /* signals.c: stop waiting. */
    void (*force)(struct run *run);
};

struct run {
    const struct run_events *on;
    struct loop *loop;
    const struct conf *conf;
    const struct run_options *options;
    enum run_phase phase;
    bool own_job;       /* allocated by this srun: ends with the step */
    struct arena arena; /* for the replies */
    uint32_t job_id, step_id;
    /* Kept open from the step's reply until the report or until the wait for the job's end, at most
     * one second. */
    struct rpc_kept controller;
    char step_name[40];           /* "StepId=5.0" */
    struct Pb__AllocReply *alloc; /* own_job only */
    struct Pb__StepReply *step;

    struct tasks *tasks;
    struct ends *ends;
    struct request *request;
    struct copy *copy; /* NULL: no copy is running */
    struct launch *launch;
    struct peers *peers;
    struct output *output;
    struct input *input;
    struct signals *signals;
    struct finish *finish;
    struct exchange *exchange;
    struct spawns *spawns;
    struct across *across;
    struct spawned *spawned;   /* NULL: not a spawned step */
    struct terminal *terminal; /* --pty on a terminal */
    struct x11 *x11;           /* --x11 */

    /* By part: the command of its tasks, from the options or --multi-prog. */
    struct run_command *commands;
    uint32_t nodes_left; /* number of the step's nodes that are not over */
    bool *node_over;     /* by node: it no longer counts in nodes_left */
    bool to_background;  /* the user requested it, see background.h */
    bool aborting;       /* the step has been ordered to end */
    bool hurried;        /* by a signal: do not wait for output that nobody reads */
    bool launch_failed;  /* on some node, and reported */
    bool reported;       /* the controller knows of the end or does not answer */
    /* The output has no reader: tasks that end because of it are not reported. */
    bool output_broken;
    int exit_code; /* minimum exit status; that of the tasks may be higher */
    struct loop_timer
        *limit_timer; /* --time of a step in a job; the controller enforces the job's own limit */
    struct loop_timer *abort_timer; /* end of the grace time */
};

static inline uint32_t run_count_parts(const struct run *run)
{
    return run->options->parts != NULL ? (uint32_t)run->options->step->n_parts : 1;
}

static inline const struct run_options *run_part_options(const struct run *run, uint32_t part)
{
    return run->options->parts != NULL ? run->options->parts[part] : run->options;
}

/* Whether the node runs the task: a node's messages about other tasks are ignored. */
static inline bool run_owns(const struct run *run, uint32_t node, uint32_t task)
{
    const struct Pb__StepNode *n = run->step->layout[node];

    for (size_t i = 0; i < n->n_task_ids; i++)
        if (n->task_ids[i] == task)
            return true;
    return false;
}

/* Raises srun's exit status to at least this value. */
static inline void run_at_least(struct run *run, int exit_code)
{
    if (run->exit_code < exit_code)
        run->exit_code = exit_code;
}

/* Ends the step with this exit status, or with 1 if a process cannot have it. */
static inline void run_abort_with(struct run *run, int exit_code)
{
    run_at_least(run, exit_code > 0 && exit_code < 256 ? exit_code : 1);
    run->on->abort(run, NULL);
}

/* Runs to the end; returns srun's exit status. */
int run_to_end(const struct conf *conf, const struct run_options *options);
