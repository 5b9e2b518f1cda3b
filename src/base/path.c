/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define TEMP_TRIES 100
#define PARENT_MODE 0755 /* of the parents of a new directory */

static int fail_path(struct err *err, const char *what, const char *path)
{
    int code = -errno;
    return err_set(err, code, "%s %s: %s", what, path, err_text(code));
}

char *path_absolute(const char *p, const char *cwd)
{
    _cleanup_str_ struct str full = STR_INIT;
    if (p[0] != '/') {
        _cleanup_free_ char *here = cwd ? NULL : getcwd(NULL, 0);
        str_puts(&full, cwd ? cwd : here ? here : "/");
        str_putc(&full, '/');
    }
    str_puts(&full, p);

    struct str out = STR_INIT;
    for (const char *part = str_cstr(&full); *part;) {
        part += strspn(part, "/");
        size_t len = strcspn(part, "/");
        if (len && !(len == 1 && part[0] == '.')) {
            str_putc(&out, '/');
            str_append(&out, part, len);
        }
        part += len;
    }
    if (out.len == 0)
        str_putc(&out, '/');
    return str_take(&out);
}

/* Opens the directory 'name' in an open directory, and creates it if it is missing. A symbolic
 * link on the way is only followed if root or our user created it, so that no other user decides
 * where we write. */
static int open_directory(int at, const char *name, mode_t mode)
{
    if (mkdirat(at, name, mode) == 0) {
        int made = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (made >= 0 && fchmod(made, mode) < 0) {
            int saved = errno;
            close(made);
            errno = saved;
            return -1;
        }
        return made;
    }
    int made_errno = errno;
    int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    struct stat st;
    if (errno == ENOENT)
        errno = made_errno;
    else if (errno == ENOTDIR && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
             S_ISLNK(st.st_mode)) {
        if (st.st_uid == 0 || st.st_uid == geteuid())
            return openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        errno = ELOOP;
    }
    return -1;
}

int path_mkdirs(const char *path, mode_t mode, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(path);
    _cleanup_close_ int at = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return fail_path(err, "cannot open the directory above", path);
    char *rest = copy;
    for (char *name; (name = strsep(&rest, "/"));) {
        if (!*name)
            continue;
        bool last = !rest || !rest[strspn(rest, "/")];
        int next = open_directory(at, name, last ? mode : mode | PARENT_MODE);
        if (next < 0)
            return fail_path(err, "cannot make directory", path);
        close(at);
        at = next;
    }
    return 0;
}

static int read_file(const char *path, size_t max, bool is_text, struct str *out, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail_path(err, "cannot open", path);
    struct stat st;
    if (fstat(fd, &st) < 0)
        return fail_path(err, "cannot read", path);
    size_t guess = st.st_size > 0 && (uintmax_t)st.st_size <= max ? (size_t)st.st_size : 4096;
    _cleanup_str_ struct str text = STR_INIT;
    for (;;) {
        str_reserve(&text, guess + 1);
        ssize_t n = read(fd, text.data + text.len, text.room - text.len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_path(err, "cannot read", path);
        if (n == 0)
            break;
        if (is_text && memchr(text.data + text.len, 0, (size_t)n))
            return err_set(err, -ERR_PARSE, "%s: not a text file", path);
        text.len += (size_t)n;
        if (text.len > max)
            return err_set(err, -ERR_TOO_BIG, "%s is larger than %zu bytes", path, max);
        guess = 0; /* as much as fits, or a little more */
    }
    text.data[text.len] = '\0';
    if (out->len == 0 && !out->cap) { /* avoids copying a large file */
        struct str swap = *out;
        *out = text;
        text = swap;
        return 0;
    }
    str_append(out, text.data, text.len);
    if (out->overflow)
        return err_set(err, -ERR_TOO_BIG, "%s is larger than %zu bytes", path, (size_t)out->cap);
    return 0;
}

int path_check_regular(const char *path, struct stat *st, struct err *err)
{
    if (stat(path, st) < 0)
        return err_set(err, -errno, "%s: %s", path, err_text(-errno));
    if (!S_ISREG(st->st_mode))
        return err_set(err, -EINVAL, "%s: not a regular file", path);
    return 0;
}

int path_read_file(const char *path, size_t max, struct str *out, struct err *err)
{
    return read_file(path, max, false, out, err);
}

int path_read_text(const char *path, size_t max, struct str *out, struct err *err)
{
    return read_file(path, max, true, out, err);
}

bool path_is_shortage(int rc)
{
    return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
}

/* Creates a uniquely named file beside the target. */
static int temp_open(int dir, char name[64])
{
    static atomic_uint serial;
    for (int i = 0; i < TEMP_TRIES; i++) {
        snprintf(name, 64, ".tmp-%d-%u", (int)getpid(), atomic_fetch_add(&serial, 1));
        int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

int path_write_open(const char *path, const void *data, size_t len, mode_t mode, struct err *err)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *folder =
        slash ? mem_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : mem_strdup(".");
    _cleanup_close_ int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return fail_path(err, "cannot open directory", folder);
    char temp[64];
    _cleanup_close_ int fd = temp_open(dir, temp);
    if (fd < 0)
        return fail_path(err, "cannot make a file in", folder);
    int rc = path_write_all(fd, data, len);
    if (rc == 0 && (fchmod(fd, mode) < 0 || renameat(dir, temp, dir, slash ? slash + 1 : path) < 0))
        rc = -errno;
    if (rc < 0) {
        unlinkat(dir, temp, 0);
        errno = -rc;
        return fail_path(err, "cannot write", path);
    }
    return take_fd(&fd);
}

int path_write_file(const char *path, const void *data, size_t len, mode_t mode, struct err *err)
{
    int fd = path_write_open(path, data, len, mode, err);

    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

int path_check_secret(const char *path, uid_t owner, struct err *err)
{
    /* Non-blocking, in case of a FIFO. */
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return err_set(err, -ELOOP, "%s is a symbolic link; a secret must be a plain file", path);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_path(err, "cannot open", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, -ERR_ACCESS, "%s is not a plain file", path);
    if (st.st_uid != owner && st.st_uid != 0)
        return err_set(err, -ERR_ACCESS, "%s belongs to uid %u, not to uid %u or root; chown it",
                       path, (unsigned)st.st_uid, (unsigned)owner);
    if (st.st_mode & 077)
        return err_set(err, -ERR_ACCESS, "%s has mode %04o, open to others; run: chmod 600 %s",
                       path, (unsigned)st.st_mode & 07777, path);
    return 0;
}

char *path_expand(const char *pattern, const char *host, const char *node)
{
    struct str out = STR_INIT;
    for (const char *p = pattern; *p; p++) {
        const char *value = NULL;
        if (p[0] == '%')
            value = p[1] == 'h' ? host : p[1] == 'n' ? node : p[1] == '%' ? "%" : NULL;
        if (value) {
            str_puts(&out, value);
            p++;
        } else {
            str_putc(&out, *p);
        }
    }
    return str_take(&out);
}

char *path_prefix(void)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0)
        return mem_strdup("/");
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    *slash = '\0';
    slash = strrchr(self, '/');
    if (slash && (str_eq(slash, "/bin") || str_eq(slash, "/sbin")))
        *slash = '\0';
    return mem_strdup(self[0] ? self : "/");
}

int path_rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL) /* file systems without support for the flag */
        return -errno;
    int rc = link(from, to) ? -errno : 0;
    if (rc == 0)
        unlink(from);
    return rc;
}

int path_write_all(int fd, const void *data, size_t len)
{
    for (const char *p = data; len;) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}
