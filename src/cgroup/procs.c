/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup/internal.h"

#define PIDS_MAX 1000000
#define ENTRY_FD_MIN 16
#define HANDLES 256 /* pidfds open at the same time */
/* Rounds for forking processes in version 1: each kills all present processes. */
#define KILL_ROUNDS 20

int cgroup_dir_procs(const struct cgroup *c)
{
    for (int i = 0; i < CGROUP_PARTS && c->version != CGROUP_NONE; i++)
        if (c->fd[i] >= 0)
            return c->fd[i];
    return -1;
}

int cgroup_enter(const struct cgroup *c, struct err *err)
{
    return cgroup_add(c, 0, err);
}

int cgroup_add(const struct cgroup *c, pid_t pid, struct err *err)
{
    char number[16];

    snprintf(number, sizeof(number), "%d", (int)pid);
    for (int i = 0; i < CGROUP_PARTS && c->version != CGROUP_NONE; i++)
        if (c->fd[i] >= 0) {
            int rc = cgroup_file_write(c->fd[i], "cgroup.procs", number);

            if (rc)
                return err_set(err, rc, "cannot enter %s cgroup %s: %s",
                               cgroup_part_name((enum cgroup_part)i, c->version), c->path,
                               strerror(-rc));
        }
    return 0;
}

int cgroup_open_memory_entry(const struct cgroup *c, struct err *err)
{
    int dir = cgroup_dir(c, CGROUP_MEMORY);
    _cleanup_close_ int low =
        dir < 0 ? -1 : openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    int fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, ENTRY_FD_MIN);

    return fd < 0 ? err_set(err, dir < 0 ? -ENOENT : -errno,
                            "cannot open cgroup.procs of memory cgroup %s: %s", c->path,
                            strerror(dir < 0 ? ENOENT : errno))
                  : fd;
}

/* --- listing ---------------------------------------------------------------------------------- */

static void add_pids(int dir, struct cgroup_pids *out)
{
    _cleanup_str_ struct str text = STR_INIT;
    char *at, *end;

    if (cgroup_file_read(dir, "cgroup.procs", &text))
        return;
    for (at = (char *)str_cstr(&text); *at; at = end) {
        long pid = strtol(at, &end, 10);

        if (end == at)
            break;
        if (pid > 0 && out->list.len < PIDS_MAX) /* 0: a process in another pid namespace */
            vec_push(&out->list, (pid_t)pid);
        while (*end == '\n')
            end++;
    }
}

static void add_below(int dir, struct cgroup_pids *out, int depth)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;

    add_pids(dir, out);
    if (!d) {
        if (copy >= 0)
            close(copy);
        return;
    }
    while (depth < CGROUP_DEPTH_MAX && (entry = readdir(d)))
        if (entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)) {
            _cleanup_close_ int below = cgroup_open_dir(dir, entry->d_name);

            if (below >= 0)
                add_below(below, out, depth + 1);
        }
    closedir(d);
}

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

    return (x > y) - (x < y);
}

void cgroup_pids(const struct cgroup *c, struct cgroup_pids *out)
{
    int dir = cgroup_dir_procs(c);

    if (dir < 0)
        return;
    add_below(dir, out, 0);
    if (out->list.len)
        qsort(out->list.data, out->list.len, sizeof(pid_t), compare_pids);
}

bool cgroup_is_empty(const struct cgroup *c)
{
    struct cgroup_pids pids = {0};
    uint64_t populated;
    int dir = cgroup_dir_procs(c);
    bool none;

    if (dir < 0)
        return true;
    if (c->version == CGROUP_V2 &&
        !cgroup_file_number(dir, "cgroup.events", "populated", &populated))
        return !populated;
    cgroup_pids(c, &pids);
    none = !pids.list.len;
    vec_done(&pids.list);
    return none;
}

/* --- signalling ------------------------------------------------------------------------------- */

/* Opens the pidfds first, and then lists the pids again: a pid that is still in the cgroup belongs
 * to the process of its pidfd, or that process has ended. */
static unsigned signal_some(const struct cgroup *c, const pid_t *pids, size_t count, int signo)
{
    struct cgroup_pids again = {0};
    int handles[HANDLES];
    unsigned done = 0;

    for (size_t i = 0; i < count; i++)
        handles[i] = (int)syscall(SYS_pidfd_open, pids[i], 0);
    cgroup_pids(c, &again);
    for (size_t i = 0; i < count; i++) {
        if (handles[i] < 0)
            continue;
        if (again.list.len &&
            bsearch(&pids[i], again.list.data, again.list.len, sizeof(pid_t), compare_pids))
            done += !syscall(SYS_pidfd_send_signal, handles[i], signo, NULL, 0);
        close(handles[i]);
    }
    vec_done(&again.list);
    return done;
}

unsigned cgroup_signal(const struct cgroup *c, int signo)
{
    struct cgroup_pids pids = {0};
    unsigned done = 0;

    cgroup_pids(c, &pids);
    for (size_t i = 0; i < pids.list.len; i += HANDLES) {
        size_t count = pids.list.len - i < HANDLES ? pids.list.len - i : HANDLES;

        done += signal_some(c, pids.list.data + i, count, signo);
    }
    vec_done(&pids.list);
    return done;
}

/* Frozen processes do not fork, and receive their signal when they are thawed. */
static void kill_v1(const struct cgroup *c)
{
    for (int i = 0; i < KILL_ROUNDS; i++) {
        unsigned count;

        cgroup_freeze(c, true);
        count = cgroup_signal(c, SIGKILL);
        cgroup_freeze(c, false);
        if (!count)
            return;
    }
}

void cgroup_kill(const struct cgroup *c)
{
    int dir = c->version == CGROUP_V2 ? cgroup_dir_procs(c) : -1;

    if (dir < 0 || cgroup_file_write(dir, "cgroup.kill", "1"))
        kill_v1(c);
}

int cgroup_freeze(const struct cgroup *c, bool frozen)
{
    int dir = cgroup_dir(c, CGROUP_PROCS);

    if (dir < 0)
        return -ENOENT;
    if (c->version == CGROUP_V2)
        return cgroup_file_write(dir, "cgroup.freeze", frozen ? "1" : "0");
    return cgroup_file_write(dir, "freezer.state", frozen ? "FROZEN" : "THAWED");
}

bool cgroup_is_frozen(const struct cgroup *c)
{
    _cleanup_str_ struct str text = STR_INIT;
    int dir = cgroup_dir(c, CGROUP_PROCS);
    uint64_t frozen;

    if (dir < 0)
        return false;
    if (c->version == CGROUP_V2)
        return !cgroup_file_number(dir, "cgroup.events", "frozen", &frozen) && frozen;
    return !cgroup_file_read(dir, "freezer.state", &text) && str_starts(str_cstr(&text), "FROZEN");
}
