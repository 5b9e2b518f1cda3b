/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/reap.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

#define STOP_ROUNDS 50
#define STOP_COMPARED 4000 /* with more processes, all of them are signalled in each round */
#define DESCRIBED_MAX 3    /* number of hung processes that are described */

void reap_become_subreaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

bool reap_have_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

struct groups {
    VEC(pid_t) list;
};

/* Signals the process groups led by our own children: one call reaches a task and all that it has
 * forked, and no member can fork meanwhile. The id of such a group is not reused before we reap
 * its leader. */
static void signal_groups(struct groups *g, int signo)
{
    struct kin_list children = {0};

    kin_children(&children, getpid());
    for (size_t i = 0; i < children.list.len; i++) {
        pid_t pid = children.list.data[i].pid;
        if (getpgid(pid) == pid && !kill(-pid, signo))
            vec_push(&g->list, pid);
    }
    vec_done(&children.list);
}

static bool is_in_groups(const struct groups *g, pid_t pid)
{
    pid_t group = g->list.len ? getpgid(pid) : 0;

    for (size_t i = 0; i < g->list.len; i++)
        if (g->list.data[i] == group)
            return true;
    return false;
}

unsigned reap_signal_all(int signo)
{
    struct kin_list found = {0};
    unsigned count = 0;

    kin_below(&found, getpid());
    for (size_t i = 0; i < found.list.len; i++)
        count += kin_signal(&found.list.data[i], getpid(), signo);
    vec_done(&found.list);
    return count;
}

void reap_continue_all(void)
{
    struct groups groups = {0};
    struct kin_list found = {0};

    signal_groups(&groups, SIGCONT);
    kin_below(&found, getpid());
    for (size_t i = 0; i < found.list.len; i++)
        if (!is_in_groups(&groups, found.list.data[i].pid))
            kin_signal(&found.list.data[i], getpid(), SIGCONT);
    vec_done(&found.list);
    vec_done(&groups.list);
}

static bool is_among(const struct kin_list *k, pid_t pid)
{
    for (size_t i = 0; i < k->list.len; i++)
        if (k->list.data[i].pid == pid)
            return true;
    return false;
}

/* A process with a pending signal does not fork again, so only processes that were absent in the
   last round can be new. */
void reap_stop_all(void)
{
    struct kin_list known = {0};
    struct groups groups = {0};
    bool more = true;

    signal_groups(&groups, SIGSTOP);
    for (int round = 0; more && round < STOP_ROUNDS; round++) {
        struct kin_list found = {0};

        more = false;
        kin_below(&found, getpid());
        for (size_t i = 0; i < found.list.len; i++) {
            if (is_in_groups(&groups, found.list.data[i].pid) ||
                (found.list.len < STOP_COMPARED && is_among(&known, found.list.data[i].pid)))
                continue;
            more = kin_signal(&found.list.data[i], getpid(), SIGSTOP) || more;
        }
        vec_done(&known.list);
        known = found;
    }
    vec_done(&known.list);
    vec_done(&groups.list);
}

static int visit_found(struct kin_list *found, reap_fn *fn, void *ctx)
{
    int rc = 0;

    for (size_t i = 0; i < found->list.len && !rc; i++)
        rc = fn(ctx, found->list.data[i].pid, found->list.data[i].parent);
    vec_done(&found->list);
    return rc;
}

int reap_each(reap_fn *fn, void *ctx)
{
    struct kin_list found = {0};

    kin_below(&found, getpid());
    return visit_found(&found, fn, ctx);
}

int reap_each_child(pid_t parent, reap_fn *fn, void *ctx)
{
    struct kin_list found = {0};

    kin_children(&found, parent);
    return visit_found(&found, fn, ctx);
}

/* Describes the dead ones that wait for their parents, or the others. */
static void describe_found(const struct kin_list *k, bool dead, struct str *out)
{
    size_t described = 0;

    for (size_t i = 0; i < k->list.len; i++) {
        struct proc p;

        if (proc_read(k->list.data[i].pid, &p) || (p.state == 'Z') != dead)
            continue;
        if (described++ < DESCRIBED_MAX) {
            str_puts(out, described > 1 ? "; " : "");
            proc_describe(p.pid, out);
        }
    }
    if (described > DESCRIBED_MAX)
        str_printf(out, "; and %zu more", described - DESCRIBED_MAX);
}

void reap_describe(struct str *out)
{
    struct kin_list found = {0};
    size_t before = out->len;

    kin_below(&found, getpid());
    describe_found(&found, false, out);
    if (out->len == before)
        describe_found(&found, true, out); /* held by a tracer */
    vec_done(&found.list);
}
