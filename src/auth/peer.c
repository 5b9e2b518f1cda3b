/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "auth/auth.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int auth_peer(int fd, struct auth_identity *who, struct err *err)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);
    int domain = 0;
    socklen_t domain_len = sizeof(domain);

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_len) < 0)
        return err_set(err, -errno, "peer of a socket: %s", strerror(errno));
    if (domain != AF_UNIX)
        return err_set(err, -ERR_AUTH, "only a UNIX socket names its peer");
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return err_set(err, -errno, "peer of a socket: %s", strerror(errno));
    /* A socket that is bound but not connected has no peer: the kernel says pid 0 and uid -1. */
    if (len != sizeof(cred) || cred.uid == (uid_t)-1 || cred.gid == (gid_t)-1)
        return err_set(err, -ERR_AUTH, "the kernel does not know the peer of this socket");
    memset(who, 0, sizeof(*who));
    who->uid = cred.uid;
    who->gid = cred.gid;
    if (gethostname(who->host, sizeof(who->host) - 1) < 0 || who->host[0] == '\0')
        memcpy(who->host, "localhost", sizeof("localhost"));
    return 0;
}
