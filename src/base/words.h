/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Iterates over the words of a comma-separated list:
 *
 *     words_foreach (text, w)
 *         printf("%.*s\n", (int)w.len, w.at);
 *
 * NULL is the empty list. "a,,b" has an empty word; "a," has none after the comma. The body may
 * change 'at' and 'len', for example to skip a sign.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

struct word_of_list {
    const char *at; /* position in the list; NULL: there are no more words */
    size_t len;
    const char *rest; /* the rest of the list after the word and its comma */
};

static inline struct word_of_list word_first(const char *list)
{
    if (!list || !*list)
        return (struct word_of_list){0};
    size_t len = strcspn(list, ",");
    return (struct word_of_list){list, len, list + len + (list[len] == ',')};
}

#define words_foreach(list, w)                                                                     \
    for (struct word_of_list w = word_first(list); w.at; w = word_first(w.rest))

static inline bool word_case_eq(struct word_of_list w, const char *text) /* case-insensitive */
{
    return strlen(text) == w.len && strncasecmp(w.at, text, w.len) == 0;
}

static inline char *word_dup(struct word_of_list w) /* the caller frees it */
{
    return mem_strndup(w.at, w.len);
}
