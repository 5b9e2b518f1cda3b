/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/wipe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define DEPTH_MAX 32
#define ENTRIES_MAX 1000000u

static void wipe_below(int parent, const char *name, dev_t device, unsigned depth, unsigned *left)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent *entry;
    struct stat st;
    DIR *dir;

    if (fd < 0)
        return;
    dir = !fstat(fd, &st) && st.st_dev == device ? fdopendir(fd) : NULL;
    if (!dir) {
        close(fd);
        return;
    }
    while (*left && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        --*left;
        if (!unlinkat(fd, entry->d_name, 0) || depth >= DEPTH_MAX)
            continue;
        wipe_below(fd, entry->d_name, device, depth + 1, left);
        unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
}

void wipe_tree(const char *path)
{
    unsigned left = ENTRIES_MAX;
    struct stat st;

    if (lstat(path, &st) || !S_ISDIR(st.st_mode))
        return;
    wipe_below(AT_FDCWD, path, st.st_dev, 0, &left);
    rmdir(path);
}
