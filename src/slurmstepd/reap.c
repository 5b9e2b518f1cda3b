/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/reap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/vec.h"

#define CHILDREN_MAX (4u << 20) /* bytes of one list of children */
#define PROCESSES_MAX 1000000   /* a cycle by reused numbers ends here */
#define STOP_ROUNDS 50
#define STOP_COMPARED 4000 /* beyond that all of them are signalled in each round */
#define DESCRIBED_MAX 3    /* of many that hang, the first tell enough */

struct kin {
    pid_t pid, parent;
};

struct kin_list {
    VEC(struct kin) list;
};

void reap_become_subreaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool reap_have_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

static void add_children(struct kin_list *k, pid_t parent, const char *path)
{
    _cleanup_str_ struct str text = STR_INIT;
    char *at, *end;

    if (path_read_file(path, CHILDREN_MAX, &text, NULL))
        return;
    for (at = (char *)str_cstr(&text); *at; at = end) {
        long pid = strtol(at, &end, 10);

        if (end == at)
            break;
        if (pid > 0 && k->list.len < PROCESSES_MAX)
            vec_push(&k->list, ((struct kin){(pid_t)pid, parent}));
    }
}

/* A child belongs to the thread that made it. */
static void add_children_of(struct kin_list *k, pid_t pid)
{
    char dir[64], path[128];
    struct dirent *entry;
    DIR *threads;

    snprintf(dir, sizeof(dir), "/proc/%d/task", (int)pid);
    threads = opendir(dir);
    if (!threads)
        return;
    while ((entry = readdir(threads))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%.20s/children", dir, entry->d_name);
        add_children(k, pid, path);
    }
    closedir(threads);
}

static pid_t parent_of(pid_t pid)
{
    struct proc p;

    return proc_read(pid, &p) ? -1 : p.parent;
}

/* The number may have passed to a stranger since it was read: a handle first, then another look. */
static bool signal_one(const struct kin *k, int signo)
{
    _cleanup_close_ int handle = (int)syscall(SYS_pidfd_open, k->pid, 0);
    pid_t parent;

    if (handle < 0)
        return false;
    parent = parent_of(k->pid);
    if (parent != k->parent && parent != getpid())
        return false;
    return !syscall(SYS_pidfd_send_signal, handle, signo, NULL, 0);
}

static void find_kin(struct kin_list *k)
{
    add_children_of(k, getpid());
    for (size_t i = 0; i < k->list.len; i++)
        add_children_of(k, k->list.data[i].pid);
}

unsigned reap_signal_all(int signo)
{
    struct kin_list found = {0};
    unsigned count = 0;

    find_kin(&found);
    for (size_t i = 0; i < found.list.len; i++)
        count += signal_one(&found.list.data[i], signo);
    vec_done(&found.list);
    return count;
}

static bool is_among(const struct kin_list *k, pid_t pid)
{
    for (size_t i = 0; i < k->list.len; i++)
        if (k->list.data[i].pid == pid)
            return true;
    return false;
}

/* A process with a signal on its way forks no more: who was not there the last time is new. */
void reap_stop_all(void)
{
    struct kin_list known = {0};
    bool more = true;

    for (int round = 0; more && round < STOP_ROUNDS; round++) {
        struct kin_list found = {0};

        more = false;
        find_kin(&found);
        for (size_t i = 0; i < found.list.len; i++) {
            if (found.list.len < STOP_COMPARED && is_among(&known, found.list.data[i].pid))
                continue;
            more = signal_one(&found.list.data[i], SIGSTOP) || more;
        }
        vec_done(&known.list);
        known = found;
    }
    vec_done(&known.list);
}

int reap_each(reap_fn *fn, void *ctx)
{
    struct kin_list found = {0};
    int rc = 0;

    find_kin(&found);
    for (size_t i = 0; i < found.list.len && !rc; i++)
        rc = fn(ctx, found.list.data[i].pid, found.list.data[i].parent);
    vec_done(&found.list);
    return rc;
}

/* Those that are dead and wait for their parents, or those that are not. */
static void describe(const struct kin_list *k, bool dead, struct str *out)
{
    size_t told = 0;

    for (size_t i = 0; i < k->list.len; i++) {
        struct proc p;

        if (proc_read(k->list.data[i].pid, &p) || (p.state == 'Z') != dead)
            continue;
        if (told++ < DESCRIBED_MAX) {
            str_puts(out, told > 1 ? "; " : "");
            proc_describe(p.pid, out);
        }
    }
    if (told > DESCRIBED_MAX)
        str_printf(out, "; and %zu more", told - DESCRIBED_MAX);
}

void reap_describe(struct str *out)
{
    struct kin_list found = {0};
    size_t before = out->len;

    find_kin(&found);
    describe(&found, false, out);
    if (out->len == before)
        describe(&found, true, out); /* held by a tracer */
    vec_done(&found.list);
}
