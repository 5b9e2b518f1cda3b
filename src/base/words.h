/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words of a list with commas:
 *
 *     words_foreach (text, w)
 *         printf("%.*s\n", (int)w.len, w.at);
 *
 * NULL is the empty list. "a,,b" has an empty word; behind the last comma of "a," is none. The body
 * may change 'at' and 'len', to pass over a sign for example.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

struct word_of_list {
    const char *at; /* in the list; NULL: there are no more words */
    size_t len;
    const char *rest; /* of the list, behind the word and its comma */
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

static inline bool word_case_eq(struct word_of_list w, const char *text) /* of any case */
{
    return strlen(text) == w.len && strncasecmp(w.at, text, w.len) == 0;
}

static inline char *word_dup(struct word_of_list w) /* the caller frees */
{
    return mem_strndup(w.at, w.len);
}
