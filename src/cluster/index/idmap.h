/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A map of 64-bit keys to 32-bit numbers: requests to their jobs, open calls to theirs. Open
 * addressing, at most half full; a table that is nearly empty is halved. Zero is a key like any
 * other. A zeroed struct is an empty map.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap {
    struct idmap_slot {
        uint64_t key;
        uint32_t value;
        bool used;
    } * slots;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

void idmap_done(struct idmap *m);
void idmap_set(struct idmap *m, uint64_t key, uint32_t value); /* replaces */
bool idmap_get(const struct idmap *m, uint64_t key, uint32_t *value);
void idmap_remove(struct idmap *m, uint64_t key);
