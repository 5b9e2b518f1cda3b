/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/adopt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "slurmstepd/task/contain.h"
#include "slurmstepd/task/reap.h"

#define ADOPTED_MAX 4096 /* one descriptor each */
#define LOOK_MS 2000
#define STOP_ROUNDS 50
#define DESCRIBED_MAX 3

struct adopted {
    pid_t pid;
    int handle;
};

struct adopt {
    struct step *step;
    VEC(struct adopted) list;
    struct loop_timer *timer;
};

/* A pidfd becomes readable when its process has ended, reaped or not. */
static bool has_ended(const struct adopted *one)
{
    struct pollfd p = {.fd = one->handle, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

static void forget_ended(struct adopt *a)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->list.len; i++) {
        if (has_ended(&a->list.data[i]))
            close(a->list.data[i].handle);
        else
            a->list.data[kept++] = a->list.data[i];
    }
    a->list.len = kept;
}

static bool is_process_known(const struct adopt *a, pid_t pid)
{
    vec_foreach (&a->list, one)
        if (one->pid == pid)
            return true;
    return false;
}

/* The pid may have been reused since it was read: opens a pidfd first, then checks again. */
static int on_below(void *ctx, pid_t pid, pid_t parent)
{
    struct adopt *a = ctx;
    struct proc now;
    int handle;

    if (a->list.len >= ADOPTED_MAX || is_process_known(a, pid))
        return 0;
    handle = (int)syscall(SYS_pidfd_open, pid, 0);
    if (handle < 0)
        return 0;
    if (proc_read(pid, &now) || now.parent != parent || now.state == 'Z')
        close(handle);
    else
        vec_push(&a->list, ((struct adopted){pid, handle}));
    return 0;
}

static void forget_from(struct adopt *a, size_t from)
{
    while (a->list.len > from)
        close(vec_pop(&a->list).handle);
}

/* Returns true if new processes were found. The list grows during the walk, so that it reaches all
 * descendants. If a process ended while its children were read by pid, the children of another
 * process may have been read. */
static bool find_process(struct adopt *a)
{
    size_t before;

    forget_ended(a);
    before = a->list.len;
    for (size_t i = 0; i < a->list.len; i++) {
        size_t from = a->list.len;

        reap_each_child(a->list.data[i].pid, on_below, a);
        if (has_ended(&a->list.data[i]))
            forget_from(a, from);
    }
    return a->list.len > before;
}

static void on_look(void *ctx)
{
    struct adopt *a = ctx;

    find_process(a);
    if (a->list.len)
        loop_timer_set(a->timer, LOOK_MS);
}

static void remember_process(struct step *step, pid_t pid, int handle)
{
    struct adopt *a = step->adopt;

    if (!a) {
        a = step->adopt = mem_new(struct adopt);
        a->step = step;
        a->timer = loop_timer_new(step->loop, on_look, a);
    }
    if (is_process_known(a, pid)) {
        close(handle);
        return;
    }
    vec_push(&a->list, ((struct adopted){pid, handle}));
    loop_timer_set(a->timer, LOOK_MS);
}

static int check_process(struct step *step, struct err *err)
{
    if (step->phase != STEP_RUNNING)
        return err_set(err, -ERR_JOB_DONE, "job %u is ending on node %s", step->job_id, step->node);
    if (step->halted)
        return err_set(err, -ERR_TRANSITION, "job %u is suspended", step->job_id);
    if (step->adopt && step->adopt->list.len >= ADOPTED_MAX)
        forget_ended(step->adopt);
    if (step->adopt && step->adopt->list.len >= ADOPTED_MAX)
        return err_set(err, -ERR_BUSY, "job %u has %d adopted processes on node %s", step->job_id,
                       ADOPTED_MAX, step->node);
    return 0;
}

int adopt_take(struct step *step, const Pb__StepdAdopt *m, struct err *err)
{
    _cleanup_close_ int handle = -1;
    pid_t pid = (pid_t)(m->pid & INT32_MAX);
    struct proc now;
    int rc = check_process(step, err);

    if (rc)
        return rc;
    handle = (int)syscall(SYS_pidfd_open, pid, 0);
    if (handle < 0 || proc_read(pid, &now) || now.started_ticks != m->started_ticks ||
        now.state == 'Z')
        return err_set(err, -ESRCH, "process %d has ended", (int)pid);
    rc = contain_take(step, pid, err);
    if (!rc && !contain_tracks(step))
        remember_process(step, pid, take_fd(&handle));
    return rc;
}

void adopt_done(struct step *step)
{
    struct adopt *a = take_ptr(step->adopt);

    if (!a)
        return;
    vec_foreach (&a->list, one)
        close(one->handle);
    vec_done(&a->list);
    loop_timer_free(a->timer);
    free(a);
}

static void signal_from(const struct adopt *a, size_t first, int signo)
{
    for (size_t i = first; i < a->list.len; i++)
        syscall(SYS_pidfd_send_signal, a->list.data[i].handle, signo, NULL, 0);
}

void adopt_signal_all(struct step *step, int signo)
{
    if (!step->adopt)
        return;
    find_process(step->adopt);
    signal_from(step->adopt, 0, signo);
}

/* A process with a pending signal does not fork again. */
void adopt_stop_all(struct step *step)
{
    struct adopt *a = step->adopt;

    if (!a)
        return;
    forget_ended(a);
    signal_from(a, 0, SIGSTOP);
    for (int round = 0; round < STOP_ROUNDS && find_process(a); round++)
        signal_from(a, 0, SIGSTOP);
}

bool adopt_has_left(struct step *step)
{
    if (!step->adopt)
        return false;
    forget_ended(step->adopt);
    return step->adopt->list.len > 0;
}

void adopt_describe(const struct step *step, struct str *out)
{
    size_t count = step->adopt ? step->adopt->list.len : 0;

    for (size_t i = 0; i < count && i < DESCRIBED_MAX; i++) {
        str_puts(out, i ? "; " : "");
        proc_describe(step->adopt->list.data[i].pid, out);
    }
    if (count > DESCRIBED_MAX)
        str_printf(out, "; and %zu more", count - DESCRIBED_MAX);
}
