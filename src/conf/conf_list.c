/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/conf.h"

/* The element "word" or "word=value" of a comma list; *len is its length. */
static const char *element_find(const char *list, const char *word, size_t *len)
{
    size_t n = strlen(word);

    while (list && *list) {
        list += strspn(list, " ,");
        *len = strcspn(list, ",");
        while (*len > 0 && list[*len - 1] == ' ')
            (*len)--;
        if (*len >= n && !strncasecmp(list, word, n) && (*len == n || list[n] == '='))
            return list;
        list += strcspn(list, ",");
    }
    return NULL;
}

bool conf_list_has(const char *list, const char *word)
{
    size_t len;

    return element_find(list, word, &len) != NULL;
}

char *conf_list_value(const char *list, const char *word)
{
    size_t len, n = strlen(word);
    const char *element = element_find(list, word, &len);

    if (!element || len == n)
        return NULL;
    return mem_strndup(element + n + 1, len - n - 1);
}
