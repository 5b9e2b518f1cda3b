/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The complete state of the shepherd: one step's part on this node. All code runs on the loop's
 * thread.
 *
 * The extern step of a job has no tasks: its processes are started by other programs (adopt.h),
 * and it lasts until it is ended.
 *
 * Its phases are those of step_phase.h.
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

/* Number of deliveries remembered, so that a repeated signal is not delivered twice. */
#define STEP_NONCES 32

struct adopt;
struct affinity;

struct step;
struct stream_file;

/* A task's output on its way to srun or to a file on this node. */
struct stream {
    struct step *step;
    uint32_t task, local, number; /* rank; index of the task on this node; 1 or 2 */
    int fd;                       /* -1: closed */
    struct loop_fd *watch;        /* NULL while 'held' is full */
    /* Deep: its pipe holds STREAM_HELD_MAX; shallow: the pipe cannot be enlarged. */
    bool deep, shallow;
    struct str held;          /* bytes read and not yet passed to the session */
    bool cut;                 /* every writer is gone: the stream ends when it is empty, */
    size_t left;              /* or after this number of bytes */
    bool ended;               /* end of file was sent, or there was never a stream */
    struct tail tail;         /* the last bytes, for watchers that connect later */
    struct stream_file *file; /* NULL: output goes to srun */
};

/* Bytes from srun on their way to a task's standard input. */
struct input {
    int fd; /* -1: none */
    struct loop_fd *watch;
    struct str held;
    bool eof; /* close after everything is written */
};

/* The wait for a slow srun after the end of the step, see finish.h. */
struct drain {
    struct loop_timer *timer;
    size_t left; /* bytes in transit at the last check */
    int64_t moved_at_ms;
    bool let_go; /* the daemon does not wait for the rest */
    struct loop_timer *let_go_timer;
};

#define HOOK_EPILOGS 2

/* The data for task epilogs, see hook.h; copied from the start message. */
struct hook {
    char *path[HOOK_EPILOGS]; /* epilogs of srun and of the site; NULL: none */
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
    uint32_t local; /* index on this node */
    pid_t pid;      /* also the session and process group id; 0: not running */
    pid_t last_pid; /* the pid after it has ended */
    bool ready;     /* user, directory and files are set up */
    bool ended;
    int wait_status;
    int report_fd; /* report socket of the child until it is ready; -1: closed */
    struct loop_fd *report_watch;
    /* Its standard error if that is a file, for messages of the shepherd; -1: none. */
    int error_fd;
    int out_fd; /* its standard output, kept for epilogs; -1: none */
    unsigned epilog_next;
    pid_t epilog_pid; /* 0: none runs */
    struct loop_timer *epilog_timer;
    struct stream out, err;
    struct input in;
    int pmi_fd; /* our end of the PMI socket; -1: none */
    struct loop_fd *pmi_watch;
    bool is_pty;
};

/*
 * Functions of higher subdirectories that files in lower ones call; set by main.c. Each comment
 * names the function.
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

/* The job id shown to users: for a component of a job set, the id of its leader. */
static inline uint32_t step_set_id_of(const Pb__Cred *cred)
{
    return cred->facts && cred->facts->has_set_id ? cred->facts->set_id : cred->job_id;
}

struct step {
    const struct step_life *life;
    struct loop *loop;
    pid_t pid;            /* our own pid */
    unsigned descriptors; /* default limit of open files of a task */
    rlim_t core_limit;    /* default core file limit of a task, in bytes */
    /* Memory may be shared with a child that is no longer root, see child_shares_memory() */
    bool may_share_memory;
    uint64_t vsize_bytes;  /* address space limit of each of its processes, in bytes; 0: none */
    enum step_phase phase; /* changed by step_advance() only */
    uint32_t job_id, restarts, step_id;
    uid_t uid;
    gid_t gid;
    gid_t *groups;
    size_t group_count;
    char *node, *name; /* name: "42.0", "42.batch" */
    char *dir;         /* spool directory: steps/ has our socket and exit file */
    char *log_file;    /* the daemon's log file; NULL: syslog */
    uint32_t part;     /* its own part, for a step of several parts */
    uint32_t node_index, kill_wait_sec, unkillable_sec, drain_sec;
    uid_t slurmd_uid;
    struct str cred; /* packed */

    /* The following members are only used during the start. */
    struct arena arena;
    struct arena *start_body; /* memory of the start message; NULL: freed */
    const Pb__StepdStart *start;
    const Pb__LaunchBatch *batch; /* one of the two is set */
    const Pb__LaunchTasks *launch;
    const Pb__Cred *granted;
    struct envlist env;
    struct affinity *affinity; /* in the arena; NULL: tasks are unbound */
    char *script;              /* path of a batch script; kept so that it can be removed */
    char **argv;               /* command of the tasks, NULL-terminated; in the arena */
    int go_fd;                 /* each byte written lets one task run; -1: closed */
    uint64_t start_id;
    uint32_t failed; /* number of tasks that could not be set up */
    char *fail_text;
    /* The reason in an order to end a script whose output is not open yet; NULL: none. */
    char *end_why;
    int fail_code;

    struct task *tasks;
    size_t task_count, left; /* left: number of tasks that have not ended */
    size_t epilogs;          /* number of running epilogs */
    int tmp_fd;              /* the job's mount namespace; -1: none, see jobtmp.h */
    struct contain *contain; /* NULL: no control group */
    struct adopt *adopt;     /* adopted processes; NULL: none so far */
    struct hook hook;
    struct session *session;     /* PAM session; NULL: none */
    struct plugin_state *plugin; /* see plugin.h; NULL: no plugin is loaded */

    struct rpc_link *daemon;         /* the inherited connection; NULL: closed */
    VEC(struct rpc_link *) adopters; /* connections through our socket */
    int listen_fd;
    struct loop_fd *listen_watch;
    uint64_t nonces[STEP_NONCES];
    size_t nonce_next;

    struct rpc_session *srun; /* NULL: batch script, or connection lost */
    unsigned srun_tries;      /* number of connections that broke before srun had answered */
    struct loop_timer *srun_timer;
    struct loop_timer *hello_timer; /* timeout of srun's answer; NULL: it has answered */
    bool is_batch, is_extern, srun_was_up, input_paused;
    struct loop_timer *input_timer;
    bool is_spawned; /* a task of another step has spawned it */
    struct pmi *pmi;
    struct pmix *pmix;
    struct watch *watch; /* NULL: there are no streams to watch */
    struct x11 *x11;     /* NULL: none */
    bool x11_in_home;    /* its cookie is added to ~/.Xauthority */

    bool confirms_end; /* the daemon that started us sends confirmations */
    struct str end;    /* unconfirmed result, see finish.h; empty: none */
    struct loop_timer *end_timer;

    struct drain drain;
    struct loop_timer *kill_timer;  /* first the grace period, then the time limit after SIGKILL */
    struct loop_timer *retry_timer; /* repeats the search for descendants */
    int64_t kill_at_ms, next_round_ms;
    int64_t killed_at_ms; /* time at which SIGKILL was sent to all processes; 0: not yet */
    bool halted;          /* suspended: all processes are stopped */
    /* Signals received before the tasks run: for all processes, and for leaders only. */
    uint64_t early[2];
    bool why_said, timed_out;
    /* Ended because of memory: tasks that end by SIGKILL count as out of memory. */
    bool out_of_memory;
    bool cancel_unsaid; /* another node prints the message that the step was cancelled */
    bool has_acctg_sec; /* an interval in seconds between looks at its processes was requested: */
    uint32_t acctg_sec;
    bool oom_ends;      /* end the whole step when the kernel has killed a process for memory */
    bool waits_for_all; /* the step ends with its last process instead of its last task */
    char *stuck;        /* processes that SIGKILL did not end; NULL: none */
    int exit_status;    /* worst wait status */

    bool freq_set;   /* see freq.h */
    char *freq_root; /* the kernel's sysfs directory of CPUs */

    uint32_t debug_level;      /* of journal_tell(): enum log_level */
    struct str early_messages; /* messages of journal_tell() before the tasks run */
};
