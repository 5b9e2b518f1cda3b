/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/conf_internal.h"

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

bool conf_is_private(const struct conf *c, const char *what)
{
    return conf_list_has(c->private_data, what) || conf_list_has(c->private_data, "all");
}

long conf_count_numbers(const char *list)
{
    long count = 0;
    for (const char *at = list; *at;) {
        char *end;
        unsigned long first = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : ULONG_MAX;
        unsigned long last = first;
        if (first != ULONG_MAX && *end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        if (first == ULONG_MAX || last < first || last > 65535 || (*end && *end != ','))
            return -1;
        count += (long)(last - first + 1);
        at = end + (*end == ',');
    }
    return count;
}
