/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/reason.h"

#include "base/str.h"

static const char *const words[] = {
#define REASON(id, word) [REASON_##id] = word,
#define WAITS(id, word, rule, kinds, sentence) REASON(id, word)
#include "cluster/job/reason.def"
    [REASON_NEWER] = NULL,
};

const char *reason_word(enum reason r)
{
    return words[r];
}

enum reason reason_find(const char *word)
{
    if (!word)
        return REASON_NONE;
    for (enum reason r = REASON_NONE + 1; r < REASON_NEWER; r++)
        if (str_eq(words[r], word))
            return r;
    return REASON_NEWER;
}
