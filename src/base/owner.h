/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the local process that holds one end of a TCP connection, in /proc, as root. Blocks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define OWNER_END_SIZE 18 /* packed size: address and port, big-endian */

struct owner_end {
    uint8_t addr[16]; /* IPv6; an IPv4 address is mapped: ::ffff:10.0.0.1 */
    uint16_t port;
};

/* -EAFNOSUPPORT: neither IPv4 nor IPv6. */
int owner_end_of(const struct sockaddr_storage *sa, struct owner_end *out);
void owner_end_pack(const struct owner_end *end, uint8_t out[OWNER_END_SIZE]);
void owner_end_unpack(const uint8_t in[OWNER_END_SIZE], struct owner_end *out);

/* Parses a line of /proc/net/tcp or tcp6. False: it is not an established connection. */
bool owner_parse_line(const char *line, struct owner_end *local, struct owner_end *remote,
                      uid_t *uid, uint64_t *inode);

/* Whether this user has a socket of the connection with these ends, from the socket's point of
   view. */
bool owner_has(const struct owner_end *local, const struct owner_end *remote, uid_t uid);

/* Finds a process of this user with the connection between these ends, from its point of view.
 * -ENOENT: there is none, or it is in another network namespace. */
int owner_find(const struct owner_end *local, const struct owner_end *remote, uid_t uid,
               pid_t *pid);
