/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/stream/xauth.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/become.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/service.h"

#define NAME "MIT-MAGIC-COOKIE-1"
#define FILE_MAX_SIZE (1u << 20)
#define LOCK_PAUSE_USEC 50000 /* pause while another program changes the file */
#define LOCK_DEAD_SEC 60      /* older locks belong to killed programs */

static void put_counted(struct str *out, const void *data, size_t len)
{
    uint8_t head[2] = {(uint8_t)(len >> 8), (uint8_t)len};

    str_append(out, head, sizeof(head));
    str_append(out, data, len);
}

void xauth_put(unsigned family, const char *address, const struct xauth_entry *entry,
               struct str *out)
{
    uint8_t head[2] = {(uint8_t)(family >> 8), (uint8_t)family};
    _cleanup_free_ char *number = mem_printf("%u", entry->display);

    str_append(out, head, sizeof(head));
    put_counted(out, address, strlen(address));
    put_counted(out, number, strlen(number));
    put_counted(out, NAME, strlen(NAME));
    put_counted(out, entry->cookie, entry->cookie_len);
}

/* Returns the length of the first entry; *is_ours: it belongs to that display of this host. 0: it
   is truncated. */
static size_t measure_entry(const uint8_t *data, size_t len, const char *host, unsigned display,
                            bool *is_ours)
{
    _cleanup_free_ char *number = mem_printf("%u", display);
    const char *const wanted[] = {host, number};
    size_t at = 2;

    *is_ours = len >= 2 && (data[0] << 8 | data[1]) == XAUTH_FAMILY_LOCAL;
    for (int field = 0; field < 4; field++) {
        size_t size;
        if (len < at + 2)
            return 0;
        size = (size_t)data[at] << 8 | data[at + 1];
        at += 2;
        if (len < at + size)
            return 0;
        if (field < 2 &&
            (size != strlen(wanted[field]) || memcmp(data + at, wanted[field], size) != 0))
            *is_ours = false;
        at += size;
    }
    return at;
}

int xauth_edit(const void *old, size_t len, const char *host, const struct xauth_entry *entry,
               struct str *out)
{
    const uint8_t *data = old;

    while (len) {
        bool is_ours;
        size_t size = measure_entry(data, len, host, entry->display, &is_ours);
        if (!size)
            return -ERR_PARSE;
        if (!is_ours)
            str_append(out, data, size);
        data += size;
        len -= size;
    }
    if (entry->cookie)
        xauth_put(XAUTH_FAMILY_LOCAL, host, entry, out);
    return 0;
}

/* Writes "HOST PID" of the process that holds the lock, for later processes of ours, because this
 * one may be killed. Other programs do not read it. */
static void sign_lock(int fd)
{
    char host[256] = "";
    _cleanup_free_ char *text = NULL;

    gethostname(host, sizeof(host) - 1);
    text = mem_printf("%s %d\n", host, (int)getpid());
    /* An unsigned lock expires after LOCK_DEAD_SEC. */
    (void)!path_write_all(fd, text, strlen(text));
}

/* Whether a process of ours on this host created the lock and was killed. */
static bool is_owner_dead(int fd)
{
    char host[256] = "", text[300] = "", owner[256];
    int pid = 0;

    if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
        return false;
    gethostname(host, sizeof(host) - 1);
    return sscanf(text, "%255s %d", owner, &pid) == 2 && pid > 0 && str_eq(owner, host) &&
           kill(pid, 0) < 0 && errno == ESRCH;
}

static bool is_lock_stale(int fd)
{
    struct stat st;

    return (fstat(fd, &st) == 0 && time(NULL) - st.st_ctime > LOCK_DEAD_SEC) || is_owner_dead(fd);
}

/* Several processes may find the same stale lock. One at a time removes it, and only if the name
 * still belongs to the file that was checked: another process may have taken the lock since. */
static bool remove_stale_lock(const char *made, const char *linked)
{
    _cleanup_close_ int fd =
        open(made, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY); /* for NFS */
    struct stat checked, named;

    if (fd < 0 || !is_lock_stale(fd) ||
        (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) || fstat(fd, &checked) < 0 ||
        stat(made, &named) < 0 || checked.st_ino != named.st_ino || checked.st_dev != named.st_dev)
        return false;
    unlink(linked);
    unlink(made);
    return true;
}

/* As the X libraries do: creates PATH-c and links it to PATH-l; link() succeeds for one process
   only. */
static int lock_file(const char *made, const char *linked)
{
    for (;;) {
        int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            return -errno;
        if (fd < 0) {
            if (!remove_stale_lock(made, linked))
                usleep(LOCK_PAUSE_USEC);
            continue;
        }
        sign_lock(fd);
        close(fd);
        if (link(made, linked) == 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
        unlink(linked); /* only the other name exists */
        unlink(made);
    }
}

static int replace_file(const char *path, const char *fresh, const struct str *text)
{
    _cleanup_close_ int fd = -1;
    int rc;

    unlink(fresh); /* left by a killed program */
    fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    rc = fd < 0 ? -errno : path_write_all(fd, text->data, text->len);
    if (rc == 0 && rename(fresh, path) < 0)
        rc = -errno;
    if (rc < 0)
        unlink(fresh);
    return rc;
}

/* Never blocks, whatever kind of file the user puts there, for example a pipe. */
static int read_regular(const char *path, struct str *out)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    ssize_t got;

    if (fd < 0)
        return errno == ENXIO ? -ERR_NOT_SUPPORTED : -errno; /* a socket */
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -ERR_NOT_SUPPORTED;
    str_reserve(out, FILE_MAX_SIZE + 1);
    while ((got = read(fd, out->data + out->len, FILE_MAX_SIZE + 1 - out->len)) > 0)
        out->len += (size_t)got;
    return got < 0 ? -errno : out->len > FILE_MAX_SIZE ? -ERR_TOO_BIG : 0;
}

static int edit_file(const char *path, const char *fresh, const struct xauth_entry *entry)
{
    _cleanup_str_ struct str old = STR_INIT, text = STR_INIT;
    char host[256] = "localhost";
    int rc = read_regular(path, &old);

    if (rc == -ENOENT && !entry->cookie)
        return 0;
    if (rc < 0 && rc != -ENOENT)
        return rc;
    gethostname(host, sizeof(host) - 1);
    rc = xauth_edit(old.data, old.len, host, entry, &text);
    if (rc == 0 && !text.len)
        return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
    return rc < 0 ? rc : replace_file(path, fresh, &text);
}

/* Maps error codes that are no errno to exit statuses, which have too few bits for them. */
static const struct {
    int code;
    uint8_t status;
    const char *text;
} own_faults[] = {
    {-ERR_PARSE, 255, "the file is malformed; remove it"},
    {-ERR_TOO_BIG, 254, "the file is larger than 1 MiB; remove it"},
    {-ERR_NOT_SUPPORTED, 253, "it is not a regular file; remove it"},
};
static_assert(FILE_MAX_SIZE == 1 << 20, "as the text says");
#define OWN_FAULTS (sizeof(own_faults) / sizeof(own_faults[0]))

static int find_status(int rc)
{
    for (size_t i = 0; i < OWN_FAULTS; i++)
        if (own_faults[i].code == rc)
            return own_faults[i].status;
    assert(rc <= 0 && rc > -own_faults[OWN_FAULTS - 1].status);
    return -rc;
}

static const char *find_status_text(int status)
{
    for (size_t i = 0; i < OWN_FAULTS; i++)
        if (own_faults[i].status == status)
            return own_faults[i].text;
    return strerror(status);
}

/* The child; see find_status(). It holds nothing of ours, because the user may signal it. It ends
 * by itself if no process is left to kill it. */
static _Noreturn void change_as_user(const struct step *step, const char *path,
                                     const struct xauth_entry *entry, unsigned limit_sec)
{
    _cleanup_free_ char *made = mem_printf("%s-c", path), *linked = mem_printf("%s-l", path),
                        *fresh = mem_printf("%s-n", path);
    int rc;

    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    fd_begin(STDERR_FILENO + 1);
    alarm(limit_sec + 1);
    if (become_user(step->uid, step->gid, step->groups, step->group_count, NULL) < 0)
        _exit(EPERM);
    rc = lock_file(made, linked);
    if (rc == 0) {
        rc = edit_file(path, fresh, entry);
        unlink(linked);
        unlink(made);
    }
    _exit(find_status(rc));
}

pid_t xauth_begin(const struct step *step, const char *path, const struct xauth_entry *entry,
                  unsigned limit_sec, struct err *err)
{
    pid_t pid = fork();

    if (pid < 0)
        return err_set(err, -ERR_NODE_FAULT, "cannot start another process: %s", strerror(errno));
    if (pid == 0)
        change_as_user(step, path, entry, limit_sec);
    return pid;
}

int xauth_late(const char *path, unsigned limit_sec, struct err *err)
{
    return err_set(err, -ERR_LAUNCH,
                   "cannot change '%s' for X11 forwarding: it took longer than %u seconds; is "
                   "the home directory reachable, and is '%s-c' another program's lock?",
                   path, limit_sec, path);
}

int xauth_result(const char *path, int status, struct err *err)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(err, -ERR_LAUNCH, "cannot change '%s' for X11 forwarding: %s", path,
                   WIFEXITED(status) ? find_status_text(WEXITSTATUS(status))
                                     : strsignal(WTERMSIG(status)));
}

int xauth_change(const struct step *step, const char *path, const struct xauth_entry *entry,
                 unsigned limit_sec, struct err *err)
{
    pid_t pid = xauth_begin(step, path, entry, limit_sec, err);
    int status = 0;

    if (pid < 0)
        return pid;
    if (child_await(pid, limit_sec * 1000, &status))
        return xauth_result(path, status, err);
    kill(pid, SIGKILL);
    child_await(pid, XAUTH_KILLED_MS, &status);
    return xauth_late(path, limit_sec, err);
}
