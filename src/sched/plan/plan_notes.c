/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan_notes.h"

#include <assert.h>
#include <string.h>

#include "cluster/cluster.h"
#include "sched/plan.h"

#define ROOM_FIRST 64
#define PLACES_MOST (2 * PLAN_RESERVATIONS_MOST)

/* Multiplies by the golden ratio, which spreads successive ids evenly. */
static size_t first_slot(const struct plan_notes *n, uint32_t job_id, const struct part *part)
{
    uint64_t key = (uint64_t)(uintptr_t)part / sizeof(*part) + job_id;
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (__builtin_clzll(n->room) + 1));
}

static bool is_note_of(const struct plan_note *note, uint32_t job_id, const struct part *part)
{
    return note->job_id == job_id && note->part == part;
}

/* Returns the slot of the note in the index, or the free slot for it. */
static uint32_t *find_slot(const struct plan_notes *n, uint32_t job_id, const struct part *part)
{
    size_t i = first_slot(n, job_id, part);
    while (n->index[i] && !is_note_of(&n->list.data[n->index[i] - 1], job_id, part))
        i = (i + 1) & (n->room - 1);
    return &n->index[i];
}

static void grow_index(struct plan_notes *n)
{
    free(n->index);
    n->room = n->room ? n->room * 2 : ROOM_FIRST;
    n->index = mem_new_array(uint32_t, n->room);
    for (uint32_t i = 0; i < n->list.len; i++)
        *find_slot(n, n->list.data[i].job_id, n->list.data[i].part) = i + 1;
}

static void free_place(struct plan_note_place *place)
{
    select_done(place->where);
    free(place->where);
    if (place->more)
        plan_placements_done(place->more);
    free(place->more);
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
    if (n->room > ROOM_FIRST && n->list.len < n->room / 16) { /* much larger than needed */
        free(take_ptr(n->index));
        n->room = 0;
    }
    if (n->room)
        memset(n->index, 0, n->room * sizeof(*n->index));
    vec_trim(&n->list);
    vec_clear(&n->list);
}

void plan_notes_done(struct plan_notes *n)
{
    free(n->index);
    vec_done(&n->list);
    vec_done(&n->set_starts);
    clear_places(n);
    vec_done(&n->places);
    *n = (struct plan_notes){0};
}

/* Returns 1 + the index in the list; 0: there is no note. */
static uint32_t find_note_place(const struct plan_notes *n, const struct cluster *c,
                                const struct job *j, const struct part *part)
{
    bool holds = n->freed == c->pool.freed && n->list.len;
    return holds ? *find_slot(n, j->id, part) : 0;
}

const struct plan_note *plan_note_read_in(const struct plan_notes *n, const struct cluster *c,
                                          const struct job *j, const struct part *part)
{
    static const struct plan_note none;
    for (; n; n = n->under) {
        uint32_t place = find_note_place(n, c, j, part);
        if (place && n->list.data[place - 1].request_version == j->request_version)
            return &n->list.data[place - 1];
    }
    return &none;
}

const struct plan_note *plan_note_read_next(const struct plan_notes *n, const struct cluster *c,
                                            const struct job *j, uint32_t *next)
{
    bool follows = n->freed == c->pool.freed && *next < n->list.len &&
                   is_note_of(&n->list.data[*next], j->id, j->part);
    uint32_t place = follows ? *next + 1 : find_note_place(n, c, j, j->part);
    if (!place)
        return plan_note_read(n, c, j);
    const struct plan_note *note = &n->list.data[place - 1];
    *next = place;
    return note->request_version == j->request_version ? note : plan_note_read(n, c, j);
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
    if ((n->list.len + 1) * 2 > n->room)
        grow_index(n);
    uint32_t *slot = find_slot(n, j->id, j->part);
    if (!*slot) {
        vec_push(&n->list, old);
        *slot = n->list.len;
    }
    struct plan_note *note = &n->list.data[*slot - 1];
    *note = old;
    note->part = j->part;
    note->job_id = j->id;
    note->request_version = j->request_version;
    return note;
}

const struct plan_note_place *plan_note_read_place(const struct plan_notes *n,
                                                   const struct cluster *c, const struct job *j)
{
    for (; n; n = n->under)
        vec_foreach (&n->places, place)
            if (place->job_id == j->id && place->part == j->part && place->taken == c->pool.taken &&
                n->freed == c->pool.freed)
                return place;
    return NULL;
}

void plan_note_write_place(struct plan_notes *n, const struct cluster *c, const struct job *j,
                           uint64_t taken, const struct selection *where,
                           const struct placements *more)
{
    struct plan_note_place new = {j->part, j->id, taken, mem_new(struct selection), NULL};
    select_copy(new.where, where);
    if (more) {
        new.more = mem_new(struct placements);
        plan_placements_copy(new.more, more);
        vec_foreach (&new.more->list, at)
            at->in = NULL; /* the reservation may end before the note is read */
    }
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
