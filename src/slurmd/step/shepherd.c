/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/step/shepherd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define STEPD_FD 3
/* Descriptor of the memory cgroup's entry, see slurmstepd/task/nursery.h. */
#define ENTRY_FD 4
#define NURSERY_STEPS 128 /* steps per nursery; then later steps get a new address space layout */

struct nursery {
    int fd;             /* connection for requests; -1: no fork is possible */
    bool ready;         /* it has reported that it is ready, so requests are not lost */
    unsigned left;      /* remaining number of steps */
    struct stat binary; /* the program file that it runs */
};

static int spawn_program(const struct slurmd *d, const char *path, char *const *argv, int fd,
                         int entry, pid_t *pid)
{
    _cleanup_free_ char *tz = getenv("TZ") ? mem_printf("TZ=%s", getenv("TZ")) : NULL;
    _cleanup_free_ char *descriptors = mem_printf("DESCRIPTORS=%u", d->descriptors);
    _cleanup_free_ char *core = mem_printf("CORE_LIMIT=%llu", (unsigned long long)d->core_limit);
    char *env[] = {"PATH=/usr/bin:/bin", descriptors, core, NULL, NULL, NULL};
    size_t n_env = 3;
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, d->null_fd, i);
    posix_spawn_file_actions_adddup2(&actions, fd, STEPD_FD);
    if (entry >= 0) {
        posix_spawn_file_actions_adddup2(&actions, entry, ENTRY_FD);
        env[n_env++] = "MEMORY_CGROUP=4";
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, entry >= 0 ? ENTRY_FD + 1 : STEPD_FD + 1);
    if (tz)
        env[n_env++] = tz;
    return child_start(pid, path, &actions, true, argv, env);
}

static void on_exit_of(void *ctx, pid_t pid, int wait_status)
{
    /* The end of the connection is what matters; here it is only reaped. */
}

void shepherd_close(struct slurmd *d)
{
    if (!d->nursery)
        return;
    if (d->nursery->fd >= 0)
        close(d->nursery->fd);
    free(take_ptr(d->nursery));
}

static bool nursery_open(struct slurmd *d, const struct stat *binary)
{
    char *const argv[] = {"slurmstepd", "nursery", NULL};
    int pair[2], rc;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return false;
    rc = spawn_program(d, d->stepd_path, argv, pair[1], -1, &pid);
    close(pair[1]);
    if (rc) {
        close(pair[0]);
        return false;
    }
    loop_child(d->loop, pid, on_exit_of, NULL);
    d->nursery = mem_new(struct nursery);
    *d->nursery = (struct nursery){.fd = pair[0], .left = NURSERY_STEPS, .binary = *binary};
    log_debug("process %d is where shepherds come from", (int)pid);
    return true;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Sends the request with the descriptors of its connection and of its cgroup entry, if any, in one
   message. */
static bool ask_nursery(const struct nursery *n, const char *title, int fd, int entry)
{
    const int fds[] = {fd, entry};
    size_t len = entry >= 0 ? sizeof(fds) : sizeof(fd);
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(fds))];
    } control = {0};
    struct iovec part = {(char *)title, strlen(title)};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = CMSG_SPACE(len)};

    control.head.cmsg_len = CMSG_LEN(len);
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(&control.head), fds, len);
    return sendmsg(n->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)part.iov_len;
}

/* Until the nursery is ready, each step gets a newly started process. */
static bool is_ready(struct nursery *n)
{
    char word;
    ssize_t got;

    if (n->ready || n->fd < 0)
        return n->ready;
    got = recv(n->fd, &word, 1, MSG_DONTWAIT);
    n->ready = got > 0;
    if (got == 0) {
        log_verbose("slurmstepd may not fork here as it wants to: one is started for each step");
        close(take_fd(&n->fd));
    }
    return n->ready;
}

/* A request already sent to a nursery that is being ended still arrives. */
static bool nursery_start(struct slurmd *d, const char *title, int fd, int entry)
{
    struct stat binary;

    if (stat(d->stepd_path, &binary))
        return false;
    if (d->nursery && (!d->nursery->left || !same_file(&d->nursery->binary, &binary)))
        shepherd_close(d);
    if (!d->nursery && !nursery_open(d, &binary))
        return false;
    if (!is_ready(d->nursery))
        return false;
    if (ask_nursery(d->nursery, title, fd, entry)) {
        d->nursery->left--;
        return true;
    }
    if (errno != EAGAIN && errno != ETOOMANYREFS) { /* not just busy: it has gone */
        shepherd_close(d);
        nursery_open(d, &binary);
    }
    return false;
}

int shepherd_start(struct slurmd *d, bool loads, const char *title, int fd, int entry, pid_t *pid,
                   struct err *err)
{
    const char *path = loads ? d->stepd_spank_path : d->stepd_path;
    char *const argv[] = {(char *)title, NULL};
    int rc;

    *pid = 0;
    if (!loads && nursery_start(d, title, fd, entry))
        return 0;
    rc = spawn_program(d, path, argv, fd, entry, pid);
    if (rc)
        return err_set(err, -ERR_NODE_FAULT, "cannot run %s: %s", path, strerror(rc));
    loop_child(d->loop, *pid, on_exit_of, NULL);
    return 0;
}
