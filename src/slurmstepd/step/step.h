/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shepherd's only state: one step's part on this node. Everything runs on the loop's thread.
 *
 * The extern step of a job has no tasks: what is in it comes from elsewhere (adopt.h), and it lasts
 * until it is ended.
 *
 * The phases that it goes through are those of step_phase.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/envlist.h"
#include "base/str.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "proto/io.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/step.pb-c.h"
#include "rpc/link.h"
#include "rpc/session.h"
#include "slurmstepd/step/step_phase.h"
#include "slurmstepd/step/tail.h"

#define STEP_NONCES 32 /* deliveries remembered, so that a repeat is not delivered again */

struct adopt;
struct affinity;

struct step;
struct stream_file;

/* A task's output on its way to srun, or to a file of this node. */
struct stream {
    struct step *step;
    uint32_t task, local, number; /* rank; index of the task here; 1 or 2 */
    int fd;                       /* -1: closed */
    struct loop_fd *watch;        /* NULL while full */
    bool deep, shallow;           /* its pipe holds STREAM_HELD_MAX; or never will */
    struct str held;              /* read, not yet handed to the session */
    bool cut;                     /* every writer is gone: empty means over, */
    size_t left;                  /* or so many more bytes were taken */
    bool ended;                   /* end of file was sent, or there never was a stream */
    struct tail tail;             /* what was read last, for watchers that come later */
    struct stream_file *file;     /* NULL: it goes to srun */
};

/* srun's bytes on their way to a task's standard input. */
struct input {
    int fd; /* -1: none */
    struct loop_fd *watch;
    struct str held;
    bool eof; /* close when all is written */
};

/* The wait for a slow srun after the end, see drain.h. */
struct drain {
    struct loop_timer *timer;
    size_t left; /* bytes on their way at the last look */
    int64_t moved_at_ms;
    bool let_go; /* the daemon does not wait for it */
    struct loop_timer *let_go_timer;
};

#define HOOK_EPILOGS 2

/* What epilogs of tasks need, see hook.h; kept from the start message. */
struct hook {
    char *path[HOOK_EPILOGS]; /* srun's, then the site's; NULL: none */
    char *work_dir;
    mode_t umask;
    size_t limit_count;
    Pb__Rlimit *limits; /* the soft limits of the tasks */
    struct envlist env;
};

struct contain;
struct plugin_state;
struct session;

struct task {
    struct step *step;
    uint32_t id;    /* rank in the step */
    uint32_t local; /* index here */
    pid_t pid;      /* also its session and process group; 0: not running */
    pid_t last_pid; /* what it was */
    bool ready;     /* user, directory and files are set up */
    bool ended;
    int wait_status;
    int report_fd; /* from the child until it is ready; -1 */
    struct loop_fd *report_watch;
    int error_fd; /* its standard error when that is a file, for our own lines; -1 */
    int out_fd;   /* its standard output, kept for epilogs; -1 */
    unsigned epilog_next;
    pid_t epilog_pid; /* 0: none runs */
    struct loop_timer *epilog_timer;
    struct stream out, err;
    struct input in;
    int pmi_fd; /* our end; -1 */
    struct loop_fd *pmi_watch;
    bool is_pty;
};

/*
 * What files of lower subdirectories call in higher ones; main.c has them. See the functions of
 * the same purpose.
 */
struct step_life {
    void (*check)(struct step *step); /* finish_check() */
    void (*terminate)(struct step *step, uint32_t grace_sec,
                      const char *why);                                /* finish_terminate() */
    void (*check_start)(struct step *step);                            /* start_check() */
    void (*fail_start)(struct step *step, int code, const char *text); /* start_failed() */
    void (*resume_start)(struct step *step);                           /* start_resume() */
    void (*signal)(struct step *step, int signo, bool leader_only);    /* control_signal() */
    void (*put_pmix_env)(const struct task *t, struct envlist *env);   /* pmix_put_env() */
};

/* The id by which users know the job: of a component of a job set that of its leader. */
static inline uint32_t step_set_id_of(const Pb__Cred *cred)
{
    return cred->facts && cred->facts->has_set_id ? cred->facts->set_id : cred->job_id;
}

struct step {
    const struct step_life *life;
    struct loop *loop;
    pid_t pid;             /* ours */
    unsigned descriptors;  /* of a task, unless it is told otherwise */
    rlim_t core_limit;     /* of a task, bytes, likewise */
    bool may_share_memory; /* with a task that is not root any more, see child_shares_memory() */
    uint64_t vsize_bytes;  /* of the address space of each of its processes; 0: no limit */
    enum step_phase phase; /* changed by step_advance() alone */
    uint32_t job_id, restarts, step_id;
    uid_t uid;
    gid_t gid;
    gid_t *groups;
    size_t group_count;
    char *node, *name; /* name: "42.0", "42.batch" */
    char *dir;         /* spool directory: steps/ holds our socket and exit file */
    char *log_file;    /* the daemon's; NULL: syslog */
    uint32_t part;     /* of a step of several parts, its own */
    uint32_t node_index, kill_wait_sec, unkillable_sec, drain_sec;
    uid_t slurmd_uid;
    struct str cred; /* packed */

    /* While starting only. */
    struct arena arena;
    struct arena *start_body; /* what start lives in; NULL: nothing */
    const Pb__StepdStart *start;
    const Pb__LaunchBatch *batch; /* one of the two */
    const Pb__LaunchTasks *launch;
    const Pb__Cred *granted;
    struct envlist env;
    struct affinity *affinity; /* in the arena; NULL: tasks are not bound */
    char *script;              /* path of a batch job's script; kept for its removal */
    char **argv;               /* what the tasks run, NULL-terminated; in the arena */
    int go_fd;                 /* a byte per task lets them run; -1 */
    uint64_t start_id;
    uint32_t failed; /* tasks that could not be set up */
    char *fail_text;
    char *end_why; /* the order to end a script whose output is not open yet; NULL: none */
    int fail_code;

    struct task *tasks;
    size_t task_count, left; /* left: not yet ended */
    size_t epilogs;          /* that run */
    int tmp_fd;              /* the job's mount namespace; -1: none, see jobtmp.h */
    struct contain *contain; /* its control group; NULL: none */
    struct adopt *adopt;     /* processes from elsewhere; NULL: none has come */
    struct hook hook;
    struct session *session;     /* of PAM; NULL: none */
    struct plugin_state *plugin; /* see plugin.h; NULL: none is loaded */

    struct rpc_link *daemon;         /* the inherited connection; NULL: gone */
    VEC(struct rpc_link *) adopters; /* connections through our socket */
    int listen_fd;
    struct loop_fd *listen_watch;
    uint64_t nonces[STEP_NONCES];
    size_t nonce_next;

    struct rpc_session *srun; /* NULL: batch, or gone */
    unsigned srun_tries;      /* connections that broke before srun had answered */
    struct loop_timer *srun_timer;
    struct loop_timer *hello_timer; /* srun's answer is awaited; NULL: it has come */
    bool is_batch, is_extern, srun_was_up, input_paused;
    struct loop_timer *input_timer;
    bool is_spawned; /* a task of another step has asked for it */
    struct pmi *pmi;
    struct pmix *pmix;
    struct watch *watch; /* NULL: there is nothing to be watched */
    struct x11 *x11;     /* NULL: none */
    bool x11_in_home;    /* its cookie goes into ~/.Xauthority */

    bool confirms_end; /* the daemon that started us */
    struct str end;    /* see end.h; empty: none is open */
    struct loop_timer *end_timer;

    struct drain drain;
    struct loop_timer *kill_timer;  /* grace, then the patience with SIGKILL */
    struct loop_timer *retry_timer; /* another look for descendants */
    int64_t kill_at_ms, next_round_ms;
    int64_t killed_at_ms; /* SIGKILL was sent to everything; 0: not yet */
    bool halted;          /* suspended: what there is stands still */
    uint64_t early[2];    /* signals for tasks that do not run yet: to all, and to leaders only */
    bool why_said, timed_out;
    bool out_of_memory; /* ended for it: tasks that SIGKILL ends ran out of memory */
    bool cancel_unsaid; /* another node tells the user that the step was cancelled */
    bool has_acctg_sec; /* seconds between looks at its processes were asked for: */
    uint32_t acctg_sec;
    bool oom_ends;      /* all of it, when the kernel has ended a process for memory */
    bool waits_for_all; /* it is over with its last process, and not with its tasks */
    char *stuck;        /* the processes that SIGKILL did not end; NULL: none */
    int exit_status;    /* worst wait status */

    bool freq_set;   /* see freq.h */
    char *freq_root; /* the kernel's directory of CPUs */

    uint32_t debug_level; /* of journal_tell(): enum log_level */
    struct str told;      /* by it, before the tasks run */
};
