/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/step/tail.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ROOM_MIN 1024

/* Copies in order, from the first byte of 'to' on. */
static void copy_out(const struct tail *t, char *to)
{
    size_t first = t->room - t->start < t->len ? t->room - t->start : t->len;

    if (first > 0)
        memcpy(to, t->data + t->start, first);
    if (t->len > first)
        memcpy(to + first, t->data, t->len - first);
}

static void grow_buffer(struct tail *t, size_t wanted, size_t limit)
{
    size_t room = t->room ? t->room : ROOM_MIN;
    char *data;

    while (room < wanted && room < limit)
        room *= 2;
    if (room > limit)
        room = limit;
    if (room <= t->room)
        return;
    data = mem_new_array(char, room);
    copy_out(t, data);
    free(t->data);
    t->data = data;
    t->room = room;
    t->start = 0;
}

void tail_add(struct tail *t, const void *data, size_t len, size_t limit)
{
    const char *bytes = data;
    size_t at, first;

    if (len == 0 || limit == 0)
        return;
    grow_buffer(t, t->len + len, limit);
    if (len > t->room) { /* drops bytes that would be overwritten at once */
        t->cut = true;
        bytes += len - t->room;
        len = t->room;
    }
    at = (t->start + t->len) % t->room;
    first = t->room - at < len ? t->room - at : len;
    memcpy(t->data + at, bytes, first);
    if (len > first)
        memcpy(t->data, bytes + first, len - first);
    t->len += len;
    if (t->len > t->room) {
        t->cut = true;
        t->start = (t->start + t->len - t->room) % t->room;
        t->len = t->room;
    }
}

/* Drops the rest of a line whose beginning is missing, since it would be misleading. */
static void drop_part_of_line(struct tail_piece pieces[2], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const char *end = memchr(pieces[i].data, '\n', pieces[i].len);

        if (!end)
            continue;
        for (unsigned k = 0; k < i; k++)
            pieces[k].len = 0;
        pieces[i].len -= (size_t)(end + 1 - pieces[i].data);
        pieces[i].data = end + 1;
        return;
    }
}

unsigned tail_get(const struct tail *t, struct tail_piece pieces[2])
{
    size_t first;
    unsigned count = 0, kept = 0;

    if (t->len == 0)
        return 0;
    first = t->room - t->start < t->len ? t->room - t->start : t->len;
    pieces[count++] = (struct tail_piece){t->data + t->start, first};
    if (t->len > first)
        pieces[count++] = (struct tail_piece){t->data, t->len - first};
    if (t->cut)
        drop_part_of_line(pieces, count);
    for (unsigned i = 0; i < count; i++)
        if (pieces[i].len > 0)
            pieces[kept++] = pieces[i];
    return kept;
}

void tail_done(struct tail *t)
{
    free(t->data);
    *t = (struct tail){0};
}
