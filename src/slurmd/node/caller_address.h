/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The address that a shepherd, which runs as root, connects back to: always the host that the
 * request came from, whatever address the request names (docs/adr/0004). */
#pragma once

#include <stddef.h>

/* peer is the peer of the request. For a local caller the result is the first of the claimed
 * addresses that belongs to this host, because tasks are told this address. The caller frees it. */
char *caller_address(const char *peer, char *const *claimed, size_t count);
