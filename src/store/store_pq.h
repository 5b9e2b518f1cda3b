/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libpq, loaded at run time: a controller that keeps its state in a directory pays nothing for it,
 * and a host without it says what is missing.
 */
#pragma once

#include <libpq-fe.h>

#include "base/err.h"

struct store_pq {
#define PQ(name) typeof(&(name)) name;
#include "store/store_pq.def"
#undef PQ
};

/* From any thread. -ERR_NOT_SUPPORTED: it cannot be loaded. *pq lives for ever. */
int store_pq_get(const struct store_pq **pq, struct err *err);
