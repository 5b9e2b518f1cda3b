/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A map of 64-bit keys to 32-bit numbers, such as the ids of requests to the ids of their jobs. It
 * uses open addressing and is at most half full; a nearly empty table is halved. Zero is a valid
 * key. A zeroed struct is an empty map.
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
    size_t room; /* number of slots: a power of two, or 0 */
    size_t count;
};

void idmap_done(struct idmap *m);
void idmap_set(struct idmap *m, uint64_t key, uint32_t value); /* replaces the value of the key */
bool idmap_get(const struct idmap *m, uint64_t key, uint32_t *value);
void idmap_remove(struct idmap *m, uint64_t key);
