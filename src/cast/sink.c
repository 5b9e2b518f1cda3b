/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cast/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/path.h"

#define NAME_TRIES 16
#define COMPARE_SIZE (256u << 10)
#define SELF_MAX 32
#define NS_PER_SEC INT64_C(1000000000)

struct cast_sink {
    char *path, *name; /* name: the last part of path */
    char *temp;        /* in the same directory; NULL: the file has no name */
    int dir_fd, fd;
    uint64_t size, at;
    uint32_t crc;
    bool force, promised, placed; /* promised: space is allocated for all of it */
    mode_t mode;
    struct timespec times[2];
};

static int fail_sink(struct err *err, int code, const char *path)
{
    return err_set(err, -code, "%s: %s", strerror(code), path);
}

static const char *self_of(const struct cast_sink *s, char out[SELF_MAX])
{
    snprintf(out, SELF_MAX, "/proc/self/fd/%d", s->fd);
    return out;
}

/* --- the destination -------------------------------------------------------------------------- */

static int find_path(const Pb__CastFile *file, const char *node, struct cast_sink *s,
                     struct err *err)
{
    const char *slash;

    s->path = file->has_per_node && file->per_node
                  ? mem_printf("%s_%s%s", file->path, node, file->behind ? file->behind : "")
                  : mem_strdup(file->path);
    slash = strrchr(s->path, '/');
    if (s->path[0] != '/')
        return err_set(err, -EINVAL, "%s is not an absolute path", s->path);
    s->name = mem_strdup(slash + 1);
    if (strlen(s->path) >= PATH_MAX || strlen(s->name) > NAME_MAX)
        return fail_sink(err, ENAMETOOLONG, s->path);
    if (!*s->name || !strcmp(s->name, ".") || !strcmp(s->name, ".."))
        return fail_sink(err, EISDIR, s->path);
    return 0;
}

/* Programs are loaded from this directory: it must belong to the user, and no other user may write
   to it. */
static int check_own(const struct cast_sink *s, const char *dir, struct err *err)
{
    struct stat st;

    if (fstat(s->dir_fd, &st))
        return fail_sink(err, errno, dir);
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, -EPERM, "%s: %s is another user's, or others may write to it",
                       strerror(EPERM), dir);
    return 0;
}

static int open_dir(struct cast_sink *s, bool make, struct err *err)
{
    size_t len = strlen(s->path) - strlen(s->name);
    _cleanup_free_ char *dir = mem_strndup(s->path, len > 1 ? len - 1 : 1);

    if (make && mkdir(dir, 0700) && errno != EEXIST)
        return fail_sink(err, errno, dir);
    s->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC | (make ? O_NOFOLLOW : 0));
    if (s->dir_fd < 0)
        return fail_sink(err, errno, dir);
    return make ? check_own(s, dir, err) : 0;
}

/* In a directory like /tmp, only the owner of a file or of the directory may replace the file. */
static bool may_replace(const struct cast_sink *s, const struct stat *st)
{
    struct stat dir;

    return !fstat(s->dir_fd, &dir) && (!(dir.st_mode & S_ISVTX) || geteuid() == 0 ||
                                       st->st_uid == geteuid() || dir.st_uid == geteuid());
}

static int check_place(const struct cast_sink *s, struct err *err)
{
    struct stat st;

    if (fstatat(s->dir_fd, s->name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : fail_sink(err, errno, s->path);
    if (S_ISDIR(st.st_mode))
        return fail_sink(err, EISDIR, s->path);
    if (!s->force)
        return fail_sink(err, EEXIST, s->path);
    return may_replace(s, &st) ? 0 : fail_sink(err, EPERM, s->path);
}

/* --- the file --------------------------------------------------------------------------------- */

static char *make_name(void)
{
    uint64_t number;

    auth_random(&number, sizeof(number));
    return mem_printf(".sbcast.%016llx", (unsigned long long)number);
}

static int open_named(struct cast_sink *s, struct err *err)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        _cleanup_free_ char *name = make_name();

        s->fd = openat(s->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (s->fd >= 0) {
            s->temp = take_ptr(name);
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return fail_sink(err, errno, s->path);
}

static int open_sink_file(struct cast_sink *s, struct err *err)
{
    s->fd = openat(s->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (s->fd >= 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)
        return fail_sink(err, errno, s->path);
    return open_named(s, err);
}

/* Detects a disk that is too small now, not after half of the transfer. */
static int reserve_space(struct cast_sink *s, struct err *err)
{
    int rc;

    if (!s->size)
        return 0;
    do
        rc = fallocate(s->fd, 0, 0, (off_t)s->size);
    while (rc && errno == EINTR);
    s->promised = rc == 0;
    if (rc && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        return fail_sink(err, errno, s->path);
    return 0;
}

static struct timespec time_of(bool given, int64_t ns)
{
    if (!given)
        return (struct timespec){.tv_nsec = UTIME_OMIT};
    return (struct timespec){.tv_sec = ns / NS_PER_SEC - (ns % NS_PER_SEC < 0),
                             .tv_nsec = (ns % NS_PER_SEC + NS_PER_SEC) % NS_PER_SEC};
}

int cast_sink_open(const Pb__CastFile *file, const char *node, struct cast_sink **out,
                   struct err *err)
{
    struct cast_sink *s = mem_new(struct cast_sink);
    int rc;

    s->dir_fd = s->fd = -1;
    s->size = file->size;
    s->force = file->has_force && file->force;
    s->mode = file->mode & 0777;
    s->times[0] = time_of(file->has_atime_ns, file->atime_ns);
    s->times[1] = time_of(file->has_mtime_ns, file->mtime_ns);
    rc = s->size > INT64_MAX ? fail_sink(err, EFBIG, file->path) : find_path(file, node, s, err);
    if (!rc)
        rc = open_dir(s, file->has_make_dir && file->make_dir, err);
    if (!rc)
        rc = check_place(s, err);
    if (!rc)
        rc = open_sink_file(s, err);
    if (!rc)
        rc = reserve_space(s, err);
    if (rc)
        cast_sink_free(s);
    else
        *out = s;
    return rc;
}

void cast_sink_free(struct cast_sink *s)
{
    if (!s)
        return;
    if (s->temp)
        unlinkat(s->dir_fd, s->temp, 0);
    if (s->fd >= 0)
        close(s->fd);
    if (s->dir_fd >= 0)
        close(s->dir_fd);
    free(s->temp);
    free(s->name);
    free(s->path);
    free(s);
}

uint64_t cast_sink_at(const struct cast_sink *s)
{
    return s->at;
}

int cast_sink_write(struct cast_sink *s, const void *data, size_t len, struct err *err)
{
    if (len > s->size - s->at)
        return err_set(err, -ERR_PROTOCOL, "more comes than was announced: %s", s->path);
    for (size_t done = 0; done < len;) {
        ssize_t n =
            pwrite(s->fd, (const char *)data + done, len - done, (off_t)(s->at + (uint64_t)done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail_sink(err, n < 0 ? errno : EIO, s->path);
        done += (size_t)n;
    }
    s->crc = crc32c(s->crc, data, len);
    s->at += len;
    return 0;
}

static int read_all(int fd, uint64_t at, void *buf, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(at + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    return 0;
}

int cast_sink_read(struct cast_sink *s, uint64_t at, void *buf, size_t len, struct err *err)
{
    int rc = read_all(s->fd, at, buf, len);

    return rc ? fail_sink(err, -rc, s->path) : 0;
}

/* A program cannot be executed while it is open for writing. */
static int stop_writing(struct cast_sink *s)
{
    char self[SELF_MAX];
    int fd = open(self_of(s, self), O_RDONLY | O_NOATIME | O_CLOEXEC);

    if (fd < 0 && errno == EPERM) /* a file system that changes the owner of files */
        fd = open(self_of(s, self), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    close(s->fd);
    s->fd = fd;
    return 0;
}

int cast_sink_check(struct cast_sink *s, uint32_t crc, struct err *err)
{
    int rc;

    if (s->at != s->size || s->crc != crc)
        return err_set(err, -EIO, "what has come is not what was sent: %s", s->path);
    /* With allocated space no later write fails for lack of space; otherwise the sync reports
       it. */
    if (!s->promised && s->size && fsync(s->fd))
        return fail_sink(err, errno, s->path);
    rc = stop_writing(s);
    if (rc)
        return fail_sink(err, -rc, s->path);
    if (fchmod(s->fd, s->mode) || futimens(s->fd, s->times))
        return fail_sink(err, errno, s->path);
    return 0;
}

/* --- its name --------------------------------------------------------------------------------- */

/* Whether it is a regular file of ours with the same content, put there by another node. */
static bool is_same(const struct cast_sink *s)
{
    _cleanup_close_ int fd =
        openat(s->dir_fd, s->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    _cleanup_free_ char *buf = NULL;
    struct stat st;
    uint32_t crc = 0;

    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        (uint64_t)st.st_size != s->size)
        return false;
    buf = mem_alloc(COMPARE_SIZE);
    for (uint64_t at = 0; at < s->size;) {
        uint64_t left = s->size - at;
        size_t len = left < COMPARE_SIZE ? (size_t)left : COMPARE_SIZE;

        if (read_all(fd, at, buf, len))
            return false;
        crc = crc32c(crc, buf, len);
        at += len;
    }
    return crc == s->crc;
}

/* Gives the file an unused name. */
static int link_as(struct cast_sink *s, const char *name)
{
    char self[SELF_MAX];

    if (s->temp)
        return linkat(s->dir_fd, s->temp, s->dir_fd, name, 0);
    return linkat(AT_FDCWD, self_of(s, self), s->dir_fd, name, AT_SYMLINK_FOLLOW);
}

static int place_new(struct cast_sink *s, struct err *err)
{
    if (link_as(s, s->name) && !(errno == EEXIST && is_same(s)))
        return fail_sink(err, errno, s->path);
    return 0;
}

static int place_over(struct cast_sink *s, struct err *err)
{
    for (int i = 0; i < NAME_TRIES && !s->temp; i++) {
        _cleanup_free_ char *name = make_name();

        if (!link_as(s, name))
            s->temp = take_ptr(name);
        else if (errno != EEXIST)
            break;
    }
    if (!s->temp || renameat(s->dir_fd, s->temp, s->dir_fd, s->name))
        return fail_sink(err, errno, s->path);
    free(take_ptr(s->temp));
    return 0;
}

int cast_sink_place(struct cast_sink *s, struct err *err)
{
    int rc;

    if (s->placed)
        return 0;
    rc = s->force ? place_over(s, err) : place_new(s, err);
    if (rc)
        return rc;
    s->placed = true;
    if (s->temp)
        unlinkat(s->dir_fd, s->temp, 0);
    free(take_ptr(s->temp));
    return 0;
}
