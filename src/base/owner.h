/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process of this host that holds an end of a TCP connection, as /proc tells root. Blocks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define OWNER_END_SIZE 18 /* packed: address and port, big-endian */

struct owner_end {
    uint8_t addr[16]; /* IPv6; an IPv4 address is mapped: ::ffff:10.0.0.1 */
    uint16_t port;
};

/* -EAFNOSUPPORT: neither IPv4 nor IPv6. */
int owner_end_of(const struct sockaddr_storage *sa, struct owner_end *out);
void owner_end_pack(const struct owner_end *end, uint8_t out[OWNER_END_SIZE]);
void owner_end_unpack(const uint8_t in[OWNER_END_SIZE], struct owner_end *out);

/* A line of /proc/net/tcp or tcp6. False: it is not that of an established connection. */
bool owner_parse_line(const char *line, struct owner_end *local, struct owner_end *remote,
                      uid_t *uid, uint64_t *inode);

/* Whether a socket of this user's has the connection whose ends are these, seen from its side. */
bool owner_has(const struct owner_end *local, const struct owner_end *remote, uid_t uid);

/* A process of this user with the connection whose ends are these, seen from its side. -ENOENT:
 * there is none, or it is in another network namespace. */
int owner_find(const struct owner_end *local, const struct owner_end *remote, uid_t uid,
               pid_t *pid);
