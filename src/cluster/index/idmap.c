/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/index/idmap.h"

#include "base/mem.h"

#define ROOM_FIRST 64
#define EMPTY 16 /* a table with this number of slots per key is halved */

static size_t hash_slot(const struct idmap *m, uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (m->room - 1);
}

/* Returns the slot of the key, or the free slot for it. */
static struct idmap_slot *slot_of(const struct idmap *m, uint64_t key)
{
    size_t i = hash_slot(m, key);

    while (m->slots[i].used && m->slots[i].key != key)
        i = (i + 1) & (m->room - 1);
    return &m->slots[i];
}

static void resize_table(struct idmap *m, size_t room)
{
    struct idmap old = *m;

    m->room = room;
    m->slots = mem_alloc_array(m->room, sizeof(*m->slots));
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].used)
            *slot_of(m, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

void idmap_done(struct idmap *m)
{
    free(m->slots);
    *m = (struct idmap){0};
}

void idmap_set(struct idmap *m, uint64_t key, uint32_t value)
{
    if ((m->count + 1) * 2 > m->room)
        resize_table(m, m->room ? m->room * 2 : ROOM_FIRST);
    struct idmap_slot *slot = slot_of(m, key);
    if (!slot->used)
        m->count++;
    *slot = (struct idmap_slot){.key = key, .value = value, .used = true};
}

bool idmap_get(const struct idmap *m, uint64_t key, uint32_t *value)
{
    if (!m->room)
        return false;
    const struct idmap_slot *slot = slot_of(m, key);
    if (slot->used)
        *value = slot->value;
    return slot->used;
}

void idmap_remove(struct idmap *m, uint64_t key)
{
    if (!m->room)
        return;
    size_t hole = (size_t)(slot_of(m, key) - m->slots);
    if (!m->slots[hole].used)
        return;
    m->count--;
    /* Fills the hole with later entries that could not be found otherwise. */
    for (size_t i = (hole + 1) & (m->room - 1); m->slots[i].used; i = (i + 1) & (m->room - 1)) {
        size_t from_home = (i - hash_slot(m, m->slots[i].key)) & (m->room - 1);
        size_t from_hole = (i - hole) & (m->room - 1);
        if (from_home >= from_hole) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole].used = false;
    if (m->room > ROOM_FIRST && m->count * EMPTY < m->room)
        resize_table(m, m->room / 2);
}
