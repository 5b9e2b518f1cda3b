/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a shepherd, which is root, connects to: back to the host that a request came from, whatever
 * address it names (docs/adr/0004). */
#pragma once

#include <stddef.h>

/* peer: of the request. That of a local caller is this host, by the first of the addresses that it
 * claims and this host has, since tasks are told of it. Caller frees. */
char *caller_address(const char *peer, char *const *claimed, size_t count);
