/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A proxy between a store and its server, on UNIX sockets, that cuts a connection on demand: both
 * sides see an end of file after a number of bytes has passed in one direction. The server
 * executes what it has received by then; the rest of its answers is lost.
 */
#pragma once

#include <stddef.h>

enum store_proxy_way { STORE_PROXY_UP, STORE_PROXY_DOWN, STORE_PROXY_WAYS };

/* Creates the socket 'name' in both directories. A separate thread serves it. */
void store_test_proxy_start(const char *dir, const char *server_dir, const char *name);
void store_test_proxy_stop(void);

/* Cuts once, after 'after' further bytes in this direction; a later order replaces an earlier
   one. */
void store_test_proxy_cut(enum store_proxy_way way, size_t after);
/* Number of bytes that have passed in this direction, and of cuts. */
size_t store_test_proxy_passed(enum store_proxy_way way);
size_t store_test_proxy_cuts(void);
