/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Defects that tools/analyse must report, each on the line that names its check, and right uses of
 * base/vec.h and base/hash.h, of which nothing may be reported. No program contains this file.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

struct item {
    uint32_t id;
    char *name;
    UT_hash_handle hh;
};
typedef VEC(struct item *) item_vec;

/* --- defects ------------------------------------------------------------------------------------
 */

char use_after_free(char *text)
{
    free(text);
    return *text; /* reported: clang-analyzer-unix.Malloc */
}

int use_of_null(const struct item *item)
{
    if (!item)
        return (int)item->id; /* reported: clang-analyzer-core.NullDereference */
    return 0;
}

int use_of_what_was_never_set(int way)
{
    int value;
    if (way > 3)
        value = 1;
    return value; /* reported: clang-analyzer-core.uninitialized.UndefReturn */
}

void leak(uint32_t id)
{
    struct item *item = malloc(sizeof(*item));
    if (item)
        item->id = id;
} /* reported: clang-analyzer-unix.Malloc */

void comparison_of_padding(const struct item *a, const struct item *b, int *same)
{
    *same = memcmp(a, b, sizeof(*a)) == 0; /* reported: bugprone-suspicious-memory-comparison */
}

int branches_that_are_alike(int way)
{
    if (way == 1) /* reported: bugprone-branch-clone */
        return 7;
    else
        return 7;
}

void file_that_is_not_read(char *line, int size, FILE *file)
{
    fgets(line, size, file); /* reported: cert-err33-c */
}

void signal_for_a_thread(pthread_t thread)
{
    pthread_kill(thread, SIGTERM); /* reported: bugprone-bad-signal-to-kill-thread */
}

/* An element that was freed with its array. */
uint32_t element_of_no_array(void)
{
    VEC(uint32_t) numbers = {0};
    vec_push(&numbers, 4);
    uint32_t *first = &numbers.data[0];
    vec_done(&numbers);
    return *first; /* reported: clang-analyzer-unix.Malloc */
}

/* --- none ---------------------------------------------------------------------------------------
 */

void free_items(item_vec *items)
{
    vec_foreach (items, item)
        free(*item);
    vec_done(items);
}

size_t count_small(uint32_t most)
{
    VEC(uint32_t) numbers = {0};
    VEC32(uint32_t) kept = {0};
    for (uint32_t i = 0; i < most; i++)
        vec_push(&numbers, i * i);
    vec_reserve(&kept, numbers.len);
    vec_foreach (&numbers, number)
        if (*number < 100)
            vec_push(&kept, *number);
    if (kept.len && vec_last(&kept) > 90)
        vec_remove(&kept, kept.len - 1);
    vec_drop(&numbers, numbers.len / 2);
    vec_trim(&numbers);
    size_t count = kept.len + vec_lower(&numbers, p, *p < 10);
    while (kept.len)
        count += vec_pop(&kept);
    vec_done(&numbers);
    vec_done(&kept);
    return count;
}

size_t count_items(size_t most)
{
    struct item *table = NULL, *item, *next;
    for (uint32_t i = 0; i < most; i++) {
        HASH_FIND(hh, table, &i, sizeof(i), item);
        if (item)
            continue;
        item = mem_new(struct item);
        item->id = i;
        item->name = mem_printf("item %u", i);
        HASH_ADD(hh, table, id, sizeof(item->id), item);
    }
    size_t count = HASH_COUNT(table);
    HASH_ITER (hh, table, item, next) {
        HASH_DEL(table, item);
        free(item->name);
        free(item);
    }
    return count;
}
