/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/debug.h"

#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmstepd/stream/srun.h"

#define EVENT_EXEC (SIGTRAP | PTRACE_EVENT_EXEC << 8)

bool debug_wanted(const struct step *step)
{
    return step->launch && step->launch->has_debug && step->launch->debug;
}

/* Needed where only ancestors may trace, for example with Yama. */
void debug_allow(void)
{
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

/* A traced task has stopped or ended. Returns whether it is no longer traced. */
static bool on_stop(pid_t pid, int status)
{
    if (!WIFSTOPPED(status))
        return true;
    if (status >> 8 == EVENT_EXEC) {
        kill(pid, SIGSTOP); /* pending when the task continues, so it stops almost at once */
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
        return true;
    }
    ptrace(PTRACE_CONT, pid, NULL, status >> 16 ? 0L : (long)WSTOPSIG(status));
    return false;
}

static _Noreturn void trace_tasks(const struct step *step)
{
    size_t left = 0;
    sigset_t none;

    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != step->pid || dup2(step->go_fd, STDIN_FILENO) < 0)
        _exit(1);
    syscall(SYS_close_range, STDIN_FILENO + 1, ~0u, 0);
    for (size_t i = 0; i < step->task_count; i++)
        left += !ptrace(PTRACE_SEIZE, step->tasks[i].pid, NULL, (long)PTRACE_O_TRACEEXEC);
    for (size_t i = 0; i < step->task_count; i++)
        path_write_all(STDIN_FILENO, "g", 1);
    while (left) {
        int status;
        pid_t pid = waitpid(-1, &status, __WALL);

        if (pid > 0)
            left -= on_stop(pid, status);
        else if (errno != EINTR)
            break;
    }
    _exit(0);
}

static void on_ended(void *ctx, pid_t pid, int wait_status)
{
    struct step *step = ctx;

    srun_tasks_started(step);
    step->life->check(step);
}

void debug_hold(struct step *step)
{
    pid_t pid = fork();

    if (pid == 0)
        trace_tasks(step);
    if (pid > 0) {
        close(take_fd(&step->go_fd));
        loop_child(step->loop, pid, on_ended, step);
    } else {
        srun_tasks_started(step); /* they run without stopping */
    }
}
