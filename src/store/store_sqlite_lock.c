/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lock file of a state directory: its holder leads. The lock belongs to the open file
 * description, so that two stores of one process exclude each other, too; it can be queried
 * without being taken. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_sqlite.h"

#define HOLDER_MAX 200

static char *lock_path(const char *dir)
{
    return mem_printf("%s/lock", dir);
}

/* Reads the holder's text. */
static char *holder_read(int fd)
{
    char text[HOLDER_MAX] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    if (n > 0)
        text[strcspn(text, "\n")] = '\0';
    return mem_strdup(text[0] ? text : "another process");
}

static int lock_held(const char *dir, int fd, struct err *err)
{
    _cleanup_free_ char *holder = holder_read(fd), *path = lock_path(dir);
    return err_set(err, -ERR_LEAD,
                   "%s is in use by another controller, %s, which holds %s: stop it first, or give "
                   "each controller its own StateSaveLocation",
                   dir, holder, path);
}

/* Only the holder may change files in the directory. The file is kept when the lock is released:
 * removing it could take it away from the next holder. */
int store_lock_take(const char *dir, const char *holder, int *lock_fd, struct err *err)
{
    _cleanup_free_ char *path = lock_path(dir);
    _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &all)) {
        if (errno == EAGAIN || errno == EACCES)
            return lock_held(dir, fd, err);
        return err_set(err, -errno, "%s: cannot lock it: %s", path, strerror(errno));
    }
    if (ftruncate(fd, 0) || dprintf(fd, "%.*s\n", HOLDER_MAX - 2, holder) < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    *lock_fd = take_fd(&fd);
    return 0;
}

int store_lock_look(const char *dir, char **holder, struct err *err)
{
    _cleanup_free_ char *path = lock_path(dir);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        *holder = NULL;
        return 0;
    }
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0 || fcntl(fd, F_OFD_GETLK, &all))
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    *holder = all.l_type == F_UNLCK ? NULL : holder_read(fd);
    return 0;
}
