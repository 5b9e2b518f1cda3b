/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses lists of words and numbers. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/conf_internal.h"

/* Finds the element "word" or "word=value" of a comma-separated list; *len is its length. */
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

bool conf_hides_anything(const struct conf *c)
{
    return c->private_data && *c->private_data && !str_case_eq(c->private_data, "none");
}

static bool is_known(const char *word, size_t len)
{
    static const char *const types[] = {"task", "energy", "network", "filesystem"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strlen(types[i]) == len && !strncasecmp(word, types[i], len))
            return true;
    return false;
}

int conf_gather_parse(const char *text, int64_t *sec, struct err *err)
{
    while (text && *text) {
        size_t len = strcspn(text, ",");
        _cleanup_free_ char *word = mem_strndup(text, len);
        const char *equals = strchr(word, '=');
        long long value;

        if ((equals && !is_known(word, (size_t)(equals - word))) ||
            str_parse_i64(equals ? equals + 1 : word, 0, CONF_GATHER_MAX_SEC, &value))
            return err_set(err, -ERR_PARSE,
                           "'%s' is not a number of seconds up to %d, or task=SECONDS; energy=, "
                           "network= and filesystem= are known, too",
                           word, CONF_GATHER_MAX_SEC);
        if (!equals || !strncasecmp(word, "task=", 5))
            *sec = value;
        text += len;
        text += *text == ',';
    }
    return 0;
}

bool conf_offers_http(const struct conf *c)
{
    return !conf_list_has(c->communication_parameters, "disable_http");
}
