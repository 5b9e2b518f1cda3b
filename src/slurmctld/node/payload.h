/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cache of job payloads (scripts and environments) that were just stored and will soon be sent,
 * so that a job that starts at once is launched without reading the store. First in, first out,
 * limited in bytes; other payloads are read from the store.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct payload_cache;

struct payload_cache *payload_cache_new(size_t max_bytes);
void payload_cache_free(struct payload_cache *c);
void payload_cache_put(struct payload_cache *c, uint64_t number, const void *data, size_t len);
void payload_cache_drop(struct payload_cache *c, uint64_t number);

/* Borrowed until the next put or drop; NULL: not in the cache. */
const void *payload_cache_get(struct payload_cache *c, uint64_t number, size_t *len);
