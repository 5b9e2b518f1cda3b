/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/task.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/status.h"
#include "slurmstepd/mpi/mpi.h"
#include "slurmstepd/stream/srun.h"
#include "slurmstepd/stream/stream.h"
#include "slurmstepd/stream/stream_file.h"
#include "slurmstepd/stream/watch.h"
#include "slurmstepd/task/child.h"
#include "slurmstepd/task/contain.h"
#include "slurmstepd/task/debug.h"
#include "slurmstepd/task/hook.h"
#include "slurmstepd/task/plan.h"
#include "slurmstepd/task/plugin.h"

/* Three streams, a report socket, PMI, an output kept for epilogs. */
#define DESCRIPTORS_PER_TASK 6
#define DESCRIPTORS_OF_FILES 2 /* for a task with labelled output to files */
#define DESCRIPTORS_OF_OURS 64

int task_worse(int a, int b)
{
    return status_weight(b) > status_weight(a) ? b : a;
}

void task_done(struct task *t)
{
    if (t->report_watch)
        loop_fd_free(take_ptr(t->report_watch));
    if (t->report_fd >= 0)
        close(take_fd(&t->report_fd));
    if (t->error_fd >= 0)
        close(take_fd(&t->error_fd));
    if (t->out_fd >= 0)
        close(take_fd(&t->out_fd));
    if (t->epilog_timer)
        loop_timer_free(take_ptr(t->epilog_timer));
    stream_done(&t->out);
    stream_done(&t->err);
    stream_input_done(t);
    mpi_task_done(t);
}

void task_report_exit(struct task *t, int wait_status)
{
    struct step *step = t->step;

    assert(!t->ended && step->left > 0);
    wait_status = contain_status(step, wait_status);
    if (step->out_of_memory && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL)
        wait_status = STATUS_OUT_OF_MEMORY;
    t->ended = true;
    t->wait_status = wait_status;
    t->last_pid = t->pid;
    t->pid = 0;
    step->left--;
    step->exit_status = task_worse(step->exit_status, wait_status);
    stream_input_done(t);
    if (!step_is_starting(step))
        srun_task_exited(step, t);
    watch_task_exited(step, t);
}

/* Receives the descriptors passed with a report. */
static void receive_descriptors(struct task *t, struct msghdr *m, uint32_t passed)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    int fds[CHILD_FDS];
    size_t count = (size_t)__builtin_popcount(passed), i = 0;

    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || count > CHILD_FDS ||
        c->cmsg_len != CMSG_LEN(count * sizeof(int)))
        return;
    memcpy(fds, CMSG_DATA(c), count * sizeof(int));
    if (passed & CHILD_ERROR)
        t->error_fd = fds[i++];
    if (passed & CHILD_OUTPUT)
        t->out_fd = fds[i++];
    if (passed & CHILD_OUTPUT_FILE)
        stream_file_set(t->out.file, fds[i++]);
    if (passed & CHILD_ERROR_FILE)
        stream_file_set(t->err.file, fds[i++]);
}

/* A failed child passes no file: output is dropped. */
static void give_up_files(struct task *t)
{
    struct stream *streams[] = {&t->out, &t->err};

    for (size_t i = 0; i < 2; i++)
        if (streams[i]->file && !stream_file_is_set(streams[i]->file))
            stream_file_set(streams[i]->file, -1);
}

static void on_child_report(void *ctx, int fd, unsigned ready)
{
    struct task *t = ctx;
    struct step *step = t->step;
    struct child_report r = {0};
    char control[CMSG_SPACE(CHILD_FDS * sizeof(int))];
    struct iovec part = {&r, sizeof(r)};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    loop_fd_free(take_ptr(t->report_watch));
    close(take_fd(&t->report_fd));
    if (n < (ssize_t)offsetof(struct child_report, text))
        return; /* its exit status has the reason */
    r.text[sizeof(r.text) - 1] = '\0';
    if (r.code) {
        srun_task_failed(step, t->id, r.code, r.text);
        if (!step->fail_code) {
            step->fail_code = r.code;
            step->fail_text = mem_strdup(r.text);
        }
        return;
    }
    t->ready = true;
    receive_descriptors(t, &m, r.passed);
    step->life->check_start(step);
}

static void on_task_exit(void *ctx, pid_t pid, int wait_status)
{
    struct task *t = ctx;
    struct step *step = t->step;

    if (t->ended) /* it was given up, and has ended now */
        return;
    if (t->report_watch) /* its last report may be unread */
        on_child_report(t, t->report_fd, LOOP_READ);
    give_up_files(t);
    if (!t->ready && !step->fail_code) { /* it ended without a report */
        step->fail_code = ERR_LAUNCH;
        step->fail_text = mem_printf("task %u ended while it was being set up", t->id);
    }
    task_report_exit(t, wait_status);
    if (step_is_starting(step)) {
        step->life->check_start(step);
        return;
    }
    mpi_task_ended(t);
    plugin_task_ended(t);
    hook_epilogs(t);
    step->life->check(step);
}

/* Creates a terminal owned by the user; returns the master end. */
static int make_terminal(const struct step *step, int *slave, struct err *err)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char name[64];

    if (master < 0 || grantpt(master) || unlockpt(master) ||
        ptsname_r(master, name, sizeof(name)) ||
        (*slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0) {
        if (master >= 0)
            close(master);
        return err_set(err, -errno, "cannot make a terminal: %s", strerror(errno));
    }
    if (fchown(*slave, step->uid, (gid_t)-1) == 0)
        fchmod(*slave, 0620);
    return master;
}

/* Opens the terminal of a task: the child gets the slave end, the shepherd reads and writes the
   master. */
static int open_terminal(struct task *t, struct child_plan *plan, struct err *err)
{
    int slave = -1, master = make_terminal(t->step, &slave, err);

    if (master < 0)
        return master;
    plan->fd[0] = plan->fd[1] = plan->fd[2] = slave;
    plan->is_pty = t->is_pty = true;
    stream_input_open(t, fcntl(master, F_DUPFD_CLOEXEC, 3));
    stream_open(&t->out, t, 1, master);
    return 0;
}

static void label_stream(struct stream *s)
{
    uint32_t tasks = 0;

    for (size_t i = 0; i < s->step->granted->n_nodes; i++)
        tasks += (uint32_t)s->step->granted->nodes[i]->n_task_ids;
    s->file = stream_file_new(s, tasks);
}

/* Creates a pipe whose child end belongs to the user, so that /dev/stdout and similar can be
   opened. */
static int open_pipe(struct task *t, int number, struct child_plan *plan, struct err *err)
{
    int ends[2], ours = number == 0 ? 1 : 0;

    if (pipe2(ends, O_CLOEXEC))
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    if (fchown(ends[!ours], t->step->uid, t->step->gid) && geteuid() == 0) {
        close(ends[0]);
        close(ends[1]);
        return err_set(err, -errno, "cannot give a pipe to user %u: %s", (unsigned)t->step->uid,
                       strerror(errno));
    }
    plan->fd[number] = ends[!ours];
    if (number == 0)
        stream_input_open(t, ends[ours]);
    else
        stream_open(number == 1 ? &t->out : &t->err, t, (uint32_t)number, ends[ours]);
    if (plan->is_labelled[number])
        label_stream(number == 1 ? &t->out : &t->err);
    return 0;
}

/* Standard output with --unbuffered: the C library does not buffer output to a terminal. The
 * terminal is raw. */
static int open_output_terminal(struct task *t, struct child_plan *plan, struct err *err)
{
    int slave = -1, master = make_terminal(t->step, &slave, err);
    struct termios mode;

    if (master < 0)
        return master;
    if (!tcgetattr(slave, &mode)) {
        mode.c_oflag &= ~(tcflag_t)OPOST;
        tcsetattr(slave, TCSANOW, &mode);
    }
    plan->fd[1] = slave;
    stream_open(&t->out, t, 1, master);
    if (plan->is_labelled[1])
        label_stream(&t->out);
    return 0;
}

static bool is_unbuffered(const struct step *step)
{
    return step->launch && step->launch->has_unbuffered && step->launch->unbuffered;
}

static int open_streams(struct task *t, struct child_plan *plan, struct err *err)
{
    int rc = 0;

    if (t->step->launch && t->step->launch->pty && t->id == 0)
        return open_terminal(t, plan, err);
    for (int i = 0; i < 3 && !rc; i++)
        if (!plan->path[i] || plan->is_labelled[i])
            rc = i == 1 && is_unbuffered(t->step) ? open_output_terminal(t, plan, err)
                                                  : open_pipe(t, i, plan, err);
    return rc;
}

static void close_child_ends(struct child_plan *plan)
{
    for (int i = 0; i < 3; i++) {
        if (plan->fd[i] >= 0 && (i == 0 || !plan->is_pty))
            close(plan->fd[i]);
        plan->fd[i] = -1;
    }
    if (plan->pmi_fd >= 0)
        close(take_fd(&plan->pmi_fd));
    if (plan->report_fd >= 0)
        close(take_fd(&plan->report_fd));
}

static int start_task(struct task *t, struct child_plan *plan, int go_end, struct err *err)
{
    struct step *step = t->step;
    int pair[2];
    pid_t pid;
    int rc = open_streams(t, plan, err);

    if (rc)
        return rc;
    if (step->pmi && (plan->pmi_fd = mpi_task_open(t, err)) < 0)
        return plan->pmi_fd;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return err_set(err, -errno, "cannot make a socket pair: %s", strerror(errno));
    t->report_fd = pair[0];
    plan->report_fd = pair[1];
    plan->shares_memory = child_shares_memory(step, plan);
    pid = plan->shares_memory ? child_start_sharing(t, plan) : fork();
    if (pid < 0)
        return err_set(err, -errno, "cannot start another process: %s", strerror(errno));
    if (pid == 0) {
        if (go_end >= 0)
            close(go_end);
        child_run(t, plan);
    }
    t->pid = pid;
    step->left++;
    t->report_watch = loop_fd_new(step->loop, t->report_fd, LOOP_READ, on_child_report, t);
    loop_child(step->loop, pid, on_task_exit, t);
    return plugin_task_forked(t, err);
}

/* Fails early with a clear message, rather than when the last descriptor is used. */
static int check_descriptors(const struct step *step, struct err *err)
{
    size_t each =
        DESCRIPTORS_PER_TASK + (step->launch && step->launch->label ? DESCRIPTORS_OF_FILES : 0);
    size_t wanted = step->task_count * each + DESCRIPTORS_OF_OURS;
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) || wanted <= l.rlim_cur)
        return 0;
    return err_set(err, -EMFILE,
                   "%zu tasks need %zu descriptors here, and slurmstepd may have %llu: run fewer "
                   "tasks on a node, or raise LimitNOFILE of slurmd",
                   step->task_count, wanted, (unsigned long long)l.rlim_cur);
}

void task_start_all(struct step *step)
{
    int go[2] = {-1, -1};
    struct err err = {0};
    int rc = 0;

    rc = check_descriptors(step, &err);
    if (!rc)
        rc = plugin_user_init(step, &err);
    if (rc) {
        step->life->fail_start(step, -rc, err.text);
        return;
    }
    if (mpi_wanted(step))
        mpi_open(step);
    if ((step->task_count > 1 || debug_wanted(step) || plugin_is_open(step)) &&
        pipe2(go, O_CLOEXEC))
        rc = err_set(&err, -errno, "cannot make a pipe: %s", strerror(errno));
    step->go_fd = go[1];
    for (size_t i = 0; i < step->task_count && !rc; i++) {
        struct child_plan plan;

        rc = plan_task(step, &step->tasks[i], &plan, &err);
        plan.go_fd = go[0];
        if (!rc)
            rc = start_task(&step->tasks[i], &plan, go[1], &err);
        close_child_ends(&plan);
        plan_done(&plan);
    }
    if (go[0] >= 0)
        close(go[0]);
    if (rc)
        step->life->fail_start(step, -rc, err.text);
}
