/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What only the static program, which has one thread, has; see alone.h. */
#pragma once

#include <netdb.h>
#include <stdbool.h>

#define NAMES_ASKED_MAX 8 /* addresses of a host that are taken from getent(1) */

/* From now on a user or group that the files do not have is unknown, and the process stays. */
void names_forbid_leaving(void);

/* Replaces the process; 'what' needs shared libraries, for the message of a failure. */
_Noreturn void alone_leave(const char *what);

/* True when it is an address, or /etc/hosts has it. */
bool names_know_host(const char *name);

/* As getaddrinfo(), by what "PROGRAM ahosts -- NAME" prints; 'port' is numeric. */
int names_ask(const char *program, const char *name, const char *port, const struct addrinfo *hints,
              struct addrinfo **out);
