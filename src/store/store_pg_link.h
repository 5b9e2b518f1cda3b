/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection to the server, and libpq, loaded at run time: a controller with its state in a
 * directory does not need it, and a host without it gets a clear message.
 */
#pragma once

#include <libpq-fe.h>

#include "base/err.h"

struct store_pq {
#define PQ(name) typeof(&(name)) name;
#include "store/store_pq.def"
#undef PQ
};

/* May be called from any thread. -ERR_NOT_SUPPORTED: it cannot be loaded. *pq is never freed. */
int store_pq_get(const struct store_pq **pq, struct err *err);
