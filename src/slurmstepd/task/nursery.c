/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/nursery.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/str.h"
#include "proto/io.pb-c.h"
#include "rpc/frame.h"
#include "rpc/rpc.h"

#define TITLE_MAX 64
#define REFUSE_MS 1000 /* milliseconds for slurmd to send the order */

extern char **environ;

/* The memory area of the arguments and the environment, where ps reads the title. */
struct room {
    char *at;
    size_t len;
};

/* Moves the environment to other memory. */
static struct room title_room(char **argv)
{
    char *end = argv[0];
    size_t count = 0;
    char **moved;

    for (char **arg = argv; *arg; arg++)
        if (*arg == end)
            end += strlen(end) + 1;
    for (char **var = environ; *var; var++, count++)
        if (*var == end)
            end += strlen(end) + 1;
    moved = mem_new_array(char *, count + 1);
    for (size_t i = 0; i < count; i++)
        moved[i] = mem_strdup(environ[i]);
    environ = moved;
    return (struct room){argv[0], (size_t)(end - argv[0])};
}

/* A title longer than the original arguments overwrites the NUL at their end, which tells the
 * kernel that the title is one string. A shorter one is padded with NULs, which are not shown. */
static void title_set(const struct room *r, const char *title)
{
    assert(r->at && r->len);
    size_t len = strlen(title) < r->len ? strlen(title) : r->len - 1;

    memcpy(r->at, title, len);
    memset(r->at + len, 0, r->len - len);
}

bool nursery_enter_memory(int entry)
{
    bool done = entry < 0 || write(entry, "0", 1) == 1;

    if (entry >= 0)
        close(entry);
    return done;
}

/* Receives the connection of a step, its title and the entry of its memory cgroup (-1: none).
 * Returns -1 if slurmd has gone. */
static int receive_order(int fd, char *title, int *entry)
{
    for (;;) {
        int fds[2] = {-1, -1};
        union {
            struct cmsghdr head;
            char bytes[CMSG_SPACE(sizeof(fds))];
        } control = {0};
        struct iovec part = {title, TITLE_MAX - 1};
        struct msghdr m = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof(control.bytes)};
        ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        title[n] = '\0';
        if (!m.msg_controllen || control.head.cmsg_type != SCM_RIGHTS ||
            control.head.cmsg_len < CMSG_LEN(sizeof(int)))
            continue; /* the descriptor limit is reached: slurmd sees the connection close */
        memcpy(fds, CMSG_DATA(&control.head), control.head.cmsg_len - CMSG_LEN(0));
        if (m.msg_flags & MSG_CTRUNC) { /* the same for the second descriptor */
            close(fds[0]);
            continue;
        }
        *entry = fds[1];
        return fds[0];
    }
}

/* Forks a child of our parent. clone3() is not used, because many containers refuse it. */
static pid_t fork_beside(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* Tested once: if it is forbidden, slurmd starts each shepherd itself. */
static bool may_fork(void)
{
    pid_t pid = fork_beside();

    if (pid == 0)
        _exit(0);
    return pid > 0 || errno == EAGAIN || errno == ENOMEM;
}

/* Answers in place of a shepherd that could not be created, after slurmd has sent its order. */
static void refuse_order(int step_fd, int why)
{
    struct rpc_header h = {
        .version = RPC_VERSION, .rpc = RPC_STEPD_START, .flags = RPC_FLAG_REPLY, .id = 1};
    _cleanup_free_ char *text =
        mem_printf("cannot create a process for slurmstepd: %s", strerror(why));
    _cleanup_str_ struct str body = STR_INIT, frame = STR_INIT;
    Pb__StepdStarted m = PB__STEPD_STARTED__INIT;
    struct pollfd asked = {.fd = step_fd, .events = POLLIN};

    poll(&asked, 1, REFUSE_MS);
    m.code = ERR_NODE_FAULT;
    m.text = text;
    pb_pack(&m.base, &body);
    h.body_len = (uint32_t)body.len;
    rpc_frame_append(&frame, &h, NULL, body.data);
    (void)!send(step_fd, frame.data, frame.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void nursery_serve(char **argv, int fd)
{
    struct room room = title_room(argv);
    char title[TITLE_MAX];
    int step_fd, entry;
    pid_t pid;

    if (!may_fork() || send(fd, "", 1, MSG_NOSIGNAL) != 1)
        _exit(1);
    prctl(PR_SET_NAME, "stepd-nursery", 0, 0, 0);
    auth_init(); /* otherwise each shepherd would do it */
    do {
        step_fd = receive_order(fd, title, &entry);
        if (step_fd < 0)
            _exit(0);
        pid = fork_beside();
        if (pid < 0)
            refuse_order(step_fd, errno);
        if (pid) {
            close(step_fd);
            if (entry >= 0)
                close(entry);
        }
    } while (pid);
    if (!nursery_enter_memory(entry)) {
        refuse_order(step_fd, errno);
        _exit(1);
    }
    dup2(step_fd, fd);
    close(step_fd);
    setsid();
    prctl(PR_SET_NAME, "slurmstepd", 0, 0, 0);
    title_set(&room, title);
}
