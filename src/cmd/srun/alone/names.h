/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of the static program only, which has one thread; see alone.h. */
#pragma once

#include <netdb.h>
#include <stdbool.h>

/* Maximum number of addresses of a host that are taken from getent(1). */
#define NAMES_ASKED_MAX 8

/* From now on users and groups that are in no file count as unknown, and the process is not
 * replaced. */
void names_forbid_leaving(void);

/* Executes srun-dynamic; 'what' names the reason in the message of a failure. */
_Noreturn void alone_leave(const char *what);

/* Whether the name is an address or is in /etc/hosts. */
bool names_know_host(const char *name);

/* Like getaddrinfo(), from the output of "PROGRAM ahosts -- NAME"; 'port' is numeric. */
int names_ask(const char *program, const char *name, const char *port, const struct addrinfo *hints,
              struct addrinfo **out);
