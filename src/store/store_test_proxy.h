/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A proxy between a store and its server, on UNIX sockets, that cuts a connection on order: both
 * sides see an end after so many bytes have passed in one direction. What the server had got by
 * then it carries out; what it has answered beyond is lost.
 */
#pragma once

#include <stddef.h>

enum store_proxy_way { STORE_PROXY_UP, STORE_PROXY_DOWN, STORE_PROXY_WAYS };

/* The socket 'name' is made in both directories. A thread of its own serves it. */
void store_test_proxy_start(const char *dir, const char *server_dir, const char *name);
void store_test_proxy_stop(void);

/* Cuts once, when 'after' more bytes have passed this way; a later order replaces an earlier one.
 */
void store_test_proxy_cut(enum store_proxy_way way, size_t after);
/* Bytes that have passed this way, and cuts made. */
size_t store_test_proxy_passed(enum store_proxy_way way);
size_t store_test_proxy_cuts(void);
