/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan_notes.h"

#include <assert.h>
#include <string.h>

#include "cluster/cluster.h"
#include "sched/plan.h"

#define ROOM_FIRST 64
#define PLACES_MOST (2 * PLAN_RESERVATIONS_MOST)

/* By the golden ratio: successive ids lie far from one another, and evenly. */
static size_t first_slot(const struct plan_notes *n, uint32_t job_id, const struct part *part)
{
    uint64_t key = (uint64_t)(uintptr_t)part / sizeof(*part) + job_id;
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (__builtin_clzll(n->room) + 1));
}

/* The note, or the free slot where it would be. */
static struct plan_note *find_slot(const struct plan_notes *n, uint32_t job_id,
                                   const struct part *part)
{
    size_t i = first_slot(n, job_id, part);
    while (n->slots[i].part && (n->slots[i].job_id != job_id || n->slots[i].part != part))
        i = (i + 1) & (n->room - 1);
    return &n->slots[i];
}

static void grow_table(struct plan_notes *n)
{
    struct plan_notes old = *n;
    n->room = old.room ? old.room * 2 : ROOM_FIRST;
    n->slots = mem_alloc_array(n->room, sizeof(*n->slots));
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].part)
            *find_slot(n, old.slots[i].job_id, old.slots[i].part) = old.slots[i];
    free(old.slots);
}

static void free_place(struct plan_note_place *place)
{
    select_done(place->where);
    free(place->where);
}

static void clear_places(struct plan_notes *n)
{
    vec_foreach (&n->places, place)
        free_place(place);
    vec_clear(&n->places);
}

void plan_notes_clear(struct plan_notes *n)
{
    clear_places(n);
    if (n->room > ROOM_FIRST && n->count < n->room / 16) { /* far more than is needed */
        free(n->slots);
        n->slots = NULL;
        n->room = 0;
    }
    if (n->room)
        memset(n->slots, 0, n->room * sizeof(*n->slots));
    n->count = 0;
}

void plan_notes_done(struct plan_notes *n)
{
    free(n->slots);
    vec_done(&n->set_starts);
    clear_places(n);
    vec_done(&n->places);
    *n = (struct plan_notes){0};
}

const struct plan_note *plan_note_read_in(const struct plan_notes *n, const struct cluster *c,
                                          const struct job *j, const struct part *part)
{
    static const struct plan_note none;
    for (; n; n = n->under) {
        if (n->freed != c->pool.freed || !n->count)
            continue;
        const struct plan_note *note = find_slot(n, j->id, part);
        if (note->part && note->request_version == j->request_version)
            return note;
    }
    return &none;
}

const struct plan_note *plan_note_read(const struct plan_notes *n, const struct cluster *c,
                                       const struct job *j)
{
    return plan_note_read_in(n, c, j, j->part);
}

static void drop_old_notes(struct plan_notes *n, const struct cluster *c)
{
    if (n->freed != c->pool.freed)
        plan_notes_clear(n);
    n->freed = c->pool.freed;
}

struct plan_note *plan_note_write(struct plan_notes *n, const struct cluster *c,
                                  const struct job *j)
{
    assert(j->part);
    struct plan_note old = *plan_note_read(n, c, j);
    drop_old_notes(n, c);
    if ((n->count + 1) * 2 > n->room)
        grow_table(n);
    struct plan_note *note = find_slot(n, j->id, j->part);
    n->count += !note->part;
    *note = old;
    note->part = j->part;
    note->job_id = j->id;
    note->request_version = j->request_version;
    return note;
}

const struct selection *plan_note_read_place(const struct plan_notes *n, const struct cluster *c,
                                             const struct job *j)
{
    for (; n; n = n->under)
        vec_foreach (&n->places, place)
            if (place->job_id == j->id && place->part == j->part && place->taken == c->pool.taken &&
                n->freed == c->pool.freed)
                return place->where;
    return NULL;
}

void plan_note_write_place(struct plan_notes *n, const struct cluster *c, const struct job *j,
                           uint64_t taken, const struct selection *where)
{
    struct plan_note_place new = {j->part, j->id, taken, mem_new(struct selection)};
    select_copy(new.where, where);
    drop_old_notes(n, c);
    if (n->places.len >= PLACES_MOST)
        clear_places(n);
    vec_foreach (&n->places, place)
        if (place->job_id == j->id && place->part == j->part) {
            free_place(place);
            *place = new;
            return;
        }
    vec_push(&n->places, new);
}
