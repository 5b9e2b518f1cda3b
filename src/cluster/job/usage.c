/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/usage.h"

#define KINDS 6

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#define ADD(field)                                                                                 \
    do {                                                                                           \
        if (more->has_##field) {                                                                   \
            into->has_##field = true;                                                              \
            into->field = add_saturated(into->field, more->field);                                 \
        }                                                                                          \
    } while (0)
#define RAISE(field)                                                                               \
    do {                                                                                           \
        if (more->has_##field && (!into->has_##field || into->field < more->field)) {              \
            into->has_##field = true;                                                              \
            into->field = more->field;                                                             \
        }                                                                                          \
    } while (0)

static Pb__UsageMark *find_mark(Pb__UsageMark **list, size_t count, enum _Pb__UsageKind kind)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->kind == kind)
            return list[i];
    return NULL;
}

/* Keeps one mark of each kind; of equal ones the first. */
static void merge_marks(Pb__UsageMark ***list, size_t *count, Pb__UsageMark *const *more,
                        size_t more_count, const char *node, bool least, struct arena *arena)
{
    Pb__UsageMark **marks = arena_alloc(arena, KINDS * sizeof(*marks));
    size_t kept = 0;

    for (size_t i = 0; i < *count && kept < KINDS; i++)
        if ((unsigned)(*list)[i]->kind < KINDS && !find_mark(marks, kept, (*list)[i]->kind))
            marks[kept++] = (*list)[i];
    for (size_t i = 0; i < more_count; i++) {
        const Pb__UsageMark *m = more[i];
        Pb__UsageMark *known = find_mark(marks, kept, m->kind);

        if ((unsigned)m->kind >= KINDS ||
            (known && (least ? m->value >= known->value : m->value <= known->value)))
            continue;
        if (!known)
            known = marks[kept++] = arena_alloc(arena, sizeof(*known));
        *known = *m;
        if (!known->node)
            known->node = (char *)node;
    }
    *list = marks;
    *count = kept;
}

void usage_merge(Pb__Usage *into, const Pb__Usage *more, const char *node, struct arena *arena)
{
    ADD(user_usec);
    ADD(sys_usec);
    RAISE(max_rss_kib);
    RAISE(max_vsize_kib);
    ADD(rss_kib);
    ADD(vsize_kib);
    ADD(pages);
    ADD(read_bytes);
    ADD(write_bytes);
    ADD(rss_kib_sec);
    ADD(vsize_kib_sec);
    if (more->has_tasks) {
        into->has_tasks = true;
        into->tasks =
            more->tasks > UINT32_MAX - into->tasks ? UINT32_MAX : into->tasks + more->tasks;
    }
    merge_marks(&into->most, &into->n_most, more->most, more->n_most, node, false, arena);
    merge_marks(&into->least, &into->n_least, more->least, more->n_least, node, true, arena);
}

void usage_merge_packed(struct str *packed, const Pb__Usage *more, const char *node, bool marks)
{
    _cleanup_arena_ struct arena arena;
    Pb__Usage none = PB__USAGE__INIT, *all = NULL;

    arena_init(&arena, 0);
    if (packed->len)
        all = arena_unpack(&arena, &pb__usage__descriptor, packed->data, packed->len);
    if (!all)
        all = &none;
    usage_merge(all, more, node, &arena);
    if (!marks)
        all->n_most = all->n_least = 0;
    str_clear(packed);
    pb_pack(&all->base, packed);
}
