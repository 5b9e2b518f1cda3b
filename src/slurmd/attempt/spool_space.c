/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/attempt/spool_space.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/str.h"

#define LITTLE (4u << 20) /* bytes: the maximum size of a script */
#define FILES_MAX 10000
#define DEPTH_MAX 16
#define BLOCK 512 /* bytes, of st_blocks */

struct fill {
    uint64_t bytes;
    unsigned left; /* number of files that may still be examined */
};

/* Follows no symbolic links, because users can write there. */
static void add_tree(struct fill *f, int parent, const char *name, unsigned depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    struct stat st;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (f->left && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        f->left--;
        f->bytes += (uint64_t)st.st_blocks * BLOCK;
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            add_tree(f, fd, entry->d_name, depth + 1);
    }
    closedir(dir);
}

static bool is_of_a_job(const char *name)
{
    return str_starts(name, "pmix.") ||
           (str_starts(name, "job") && name[3] >= '0' && name[3] <= '9');
}

bool spool_space_is_of_jobs(const struct slurmd *d)
{
    struct fill f = {.left = FILES_MAX};
    struct dirent *entry;
    struct statvfs fs;
    DIR *dir;

    if (statvfs(d->spool, &fs) || (uint64_t)fs.f_bavail * fs.f_frsize > LITTLE)
        return false;
    dir = opendir(d->spool);
    while (dir && (entry = readdir(dir)))
        if (is_of_a_job(entry->d_name))
            add_tree(&f, dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    return f.bytes >= (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize / 4;
}
