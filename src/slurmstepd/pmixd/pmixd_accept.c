/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libpmix listens on TCP and trusts the user id that a caller states, so any local user could act
 * as the step's user and spawn programs. libpmix calls this function instead of the C library's
 * accept(). It closes connections whose socket belongs to another user, according to the kernel,
 * before any byte is read. Root counts as another user, because users can make root's daemons
 * connect to ports.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/owner.h"

/* Looks up the caller's socket; a socket that is already closed has no owner. */
static bool is_of_our_user(int fd)
{
    struct sockaddr_storage theirs = {0}, ours = {0};
    socklen_t theirs_len = sizeof(theirs), ours_len = sizeof(ours), cred_len;
    struct owner_end local, remote;
    struct ucred cred;

    if (getpeername(fd, (struct sockaddr *)&theirs, &theirs_len) ||
        getsockname(fd, (struct sockaddr *)&ours, &ours_len))
        return false;
    if (ours.ss_family == AF_UNIX) {
        cred_len = sizeof(cred);
        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) == 0 &&
               cred.uid == geteuid();
    }
    if (owner_end_of(&theirs, &local) || owner_end_of(&ours, &remote))
        return false;
    return owner_has(&local, &remote, geteuid());
}

/* Returns -1 and EAGAIN if only other users have connected. */
__attribute__((visibility("default"))) int accept(int fd, __SOCKADDR_ARG addr,
                                                  socklen_t *restrict len)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    socklen_t room = len ? *len : 0;

    do {
        int caller;

        if (len)
            *len = room;
        caller = accept4(fd, addr, len, 0);
        if (caller < 0 || is_of_our_user(caller))
            return caller;
        close(caller);
    } while (poll(&p, 1, 0) > 0);
    errno = EAGAIN;
    return -1;
}
