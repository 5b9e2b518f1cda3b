/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/usage/adopted.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/step_id.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/step.h"
#include "slurmd/usage/pids.h"

#define DEPTH_MAX 10000 /* ancestors per process; pids may be reused during the search */

static bool is_adopted(const struct attempt *a, pid_t pid)
{
    struct proc p;

    vec_foreach (&a->note.adopted, adopted)
        if (adopted->pid == pid)
            return !proc_read(pid, &p) && p.started_ticks == adopted->started_ticks;
    return false;
}

struct attempt *adopted_find(const struct slurmd *d, pid_t pid)
{
    for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
        for (struct attempt *a = d->attempts; a; a = a->hh.next)
            if (is_adopted(a, pid))
                return a;
        pid = pids_parent(pid);
    }
    return NULL;
}

void adopted_collect(struct slurmd *d, struct snapshot *s)
{
    vec_clear(&s->adopted);
    for (struct attempt *a = d->attempts; a; a = a->hh.next) {
        const struct step *step = step_find(a, STEP_ID_EXTERN);
        struct cgroup_pids in = {0};

        if (!step || step->pid <= 0)
            continue;
        vec_foreach (&a->note.adopted, adopted) {
            adopted->looked = true;
            vec_push(&s->adopted,
                     ((struct snapshot_adopted){adopted->pid, adopted->started_ticks, step->pid}));
        }
        contain_pids(a, STEP_ID_EXTERN, &in);
        vec_foreach (&in.list, pid)
            vec_push(&s->adopted, ((struct snapshot_adopted){*pid, 0, step->pid}));
        vec_done(&in.list);
    }
}

static bool is_adopted_alive(const struct snapshot *s, const struct note_adopted *a)
{
    const struct snapshot_proc *p = snapshot_find(s, a->pid);

    return p && p->started_ticks == a->started_ticks;
}

void adopted_forget_ended(struct slurmd *d, const struct snapshot *s)
{
    for (struct attempt *a = d->attempts; a && !s->cut; a = a->hh.next)
        for (size_t i = a->note.adopted.len; i-- > 0;) {
            const struct note_adopted *adopted = &a->note.adopted.data[i];

            if (adopted->looked && !is_adopted_alive(s, adopted))
                vec_remove(&a->note.adopted, i);
        }
}

unsigned adopted_kill(const struct attempt *a, struct str *left)
{
    unsigned count = 0;

    vec_foreach (&a->note.adopted, adopted) {
        _cleanup_close_ int handle = (int)syscall(SYS_pidfd_open, adopted->pid, 0);
        struct proc p;

        if (handle < 0 || proc_read(adopted->pid, &p) ||
            p.started_ticks != adopted->started_ticks || p.state == 'Z' ||
            syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0))
            continue;
        if (!count++)
            proc_describe(adopted->pid, left);
    }
    return count;
}
