/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/wipe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define DEPTH_MAX 32
#define ENTRIES_MAX 1000000u
#define ROUNDS_MAX 1000000u

/* top: directory to which too deep directories are moved, to be removed from there; -1: they
   stay. */
struct wipe {
    dev_t device;
    int top;
    unsigned long left; /* number of entries that may still be examined */
    unsigned long moved;
};

/* Finds an unused name at the top, which users cannot write to. */
static void lift_protection(struct wipe *w, int fd, const char *name)
{
    char to[32];

    snprintf(to, sizeof(to), "lifted.%lu", w->moved);
    if (w->top >= 0 && !renameat(fd, name, w->top, to))
        w->moved++;
}

static void wipe_below(struct wipe *w, int parent, const char *name, unsigned depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent *entry;
    struct stat st;
    DIR *dir;

    if (fd < 0)
        return;
    dir = !fstat(fd, &st) && st.st_dev == w->device ? fdopendir(fd) : NULL;
    if (!dir) {
        close(fd);
        return;
    }
    while (w->left && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        w->left--;
        if (!unlinkat(fd, entry->d_name, 0))
            continue;
        if (depth >= DEPTH_MAX) {
            lift_protection(w, fd, entry->d_name);
            continue;
        }
        wipe_below(w, fd, entry->d_name, depth + 1);
        unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
}

void wipe_tree(const char *path)
{
    struct wipe w = {.top = -1, .left = ENTRIES_MAX};
    struct stat st;

    if (lstat(path, &st) || !S_ISDIR(st.st_mode))
        return;
    w.device = st.st_dev;
    wipe_below(&w, AT_FDCWD, path, 0);
    rmdir(path);
}

void wipe_tree_whole(const char *path)
{
    struct wipe w = {.top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    unsigned long before, rounds = 0;
    struct stat st;

    if (w.top < 0)
        return;
    if (!fstat(w.top, &st)) {
        w.device = st.st_dev;
        do { /* moved directories may again have too deep ones */
            before = w.moved;
            w.left = ULONG_MAX;
            wipe_below(&w, AT_FDCWD, path, 0);
        } while (w.moved > before && ++rounds < ROUNDS_MAX);
    }
    close(w.top);
    rmdir(path);
}
