/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/kin.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"

#define CHILDREN_MAX (4u << 20) /* bytes of a list of children */
#define ONE_THREAD_LINKS 3      /* link count of /proc/PID/task: two plus the number of threads */
#define PROCESSES_MAX 1000000   /* limit for a cycle caused by reused pids */

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

/* A child is listed under the thread that created it. */
void kin_children(struct kin_list *k, pid_t parent)
{
    char dir[64], path[128];
    struct dirent *entry;
    struct stat st;
    DIR *threads;

    snprintf(dir, sizeof(dir), "/proc/%d/task", (int)parent);
    if (!stat(dir, &st) && st.st_nlink == ONE_THREAD_LINKS) {
        snprintf(path, sizeof(path), "%s/%d/children", dir, (int)parent);
        add_children(k, parent, path);
        return;
    }
    threads = opendir(dir);
    if (!threads)
        return;
    while ((entry = readdir(threads))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%.20s/children", dir, entry->d_name);
        add_children(k, parent, path);
    }
    closedir(threads);
}

static pid_t parent_of(pid_t pid)
{
    struct proc p;

    return proc_read(pid, &p) ? -1 : p.parent;
}

/* The pid may have been reused since it was read: opens a pidfd first, then checks again. */
bool kin_signal(const struct kin *k, pid_t root, int signo)
{
    _cleanup_close_ int handle = (int)syscall(SYS_pidfd_open, k->pid, 0);
    pid_t parent;

    if (handle < 0 && errno != ENOSYS)
        return false;
    parent = parent_of(k->pid);
    if (parent != k->parent && parent != root)
        return false;
    if (handle < 0) /* a kernel before 5.3, or valgrind: only the second check is possible */
        return !kill(k->pid, signo);
    return !syscall(SYS_pidfd_send_signal, handle, signo, NULL, 0);
}

void kin_below(struct kin_list *k, pid_t root)
{
    kin_children(k, root);
    for (size_t i = 0; i < k->list.len; i++)
        kin_children(k, k->list.data[i].pid);
}
