/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/spare_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"

/* Name under which the file is written; readers of the directory skip such names. */
static int format_temp(const char *path, char temp[PATH_MAX])
{
    static atomic_uint serial;
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    int n = snprintf(temp, PATH_MAX, "%.*s.tmp-%d-%u", folder, path, (int)getpid(),
                     atomic_fetch_add(&serial, 1));
    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* rename() gives a spare to a single process. */
static bool claim_spare(const char *spares, const char *temp)
{
    char spare[PATH_MAX];
    for (int i = 0; i < SPARE_FILES; i++) {
        snprintf(spare, sizeof(spare), "%s/%d", spares, i);
        if (rename(spare, temp) == 0)
            return true;
    }
    return false;
}

int spare_file_write(const char *spares, const char *path, const void *data, size_t len,
                     bool replace, struct err *err)
{
    char temp[PATH_MAX];
    int rc = format_temp(path, temp);
    if (rc == 0) {
        int flags = claim_spare(spares, temp) ? O_TRUNC : O_CREAT | O_EXCL;
        _cleanup_close_ int fd = open(temp, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
        rc = fd < 0 ? -errno : path_write_all(fd, data, len);
    }
    if (rc == 0)
        rc = !replace ? path_rename_new(temp, path) : rename(temp, path) ? -errno : 0;
    if (rc == 0)
        return 0;
    unlink(temp);
    return err_set(err, rc, "cannot write %s: %s", path, strerror(-rc));
}

void spare_file_remove(const char *spares, const char *path)
{
    char spare[PATH_MAX];
    for (int i = 0; i < SPARE_FILES && truncate(path, 0) == 0; i++) {
        snprintf(spare, sizeof(spare), "%s/%d", spares, i);
        if (renameat2(AT_FDCWD, path, AT_FDCWD, spare, RENAME_NOREPLACE) == 0)
            return;
        if (errno != EEXIST)
            break;
    }
    unlink(path);
}
