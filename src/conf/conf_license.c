/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_license.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@/"

void conf_licenses_done(struct conf_licenses *l)
{
    vec_foreach (&l->list, one)
        free(one->name);
    vec_done(&l->list);
}

static void add(struct conf_licenses *l, char *name, uint32_t count)
{
    vec_foreach (&l->list, one) {
        if (strcmp(one->name, name) != 0)
            continue;
        uint64_t sum = (uint64_t)one->count + count;
        one->count = sum < CONF_LICENSE_COUNT_MAX ? (uint32_t)sum : CONF_LICENSE_COUNT_MAX;
        free(name);
        return;
    }
    vec_push(&l->list, ((struct conf_license){name, count}));
}

static bool read_one(struct conf_licenses *l, char *word)
{
    size_t len = strspn(word, NAME_CHARS);
    long long count = 1;
    if (!len || (word[len] && word[len] != ':') ||
        (word[len] && str_parse_i64(word + len + 1, 1, CONF_LICENSE_COUNT_MAX, &count) != 0))
        return false;
    add(l, mem_strndup(word, len), (uint32_t)count);
    return true;
}

int conf_licenses_parse(const char *text, struct conf_licenses *out, struct err *err)
{
    *out = (struct conf_licenses){0};
    for (const char *s = text; s && *s;) {
        size_t len = strcspn(s, ",");
        _cleanup_free_ char *word = mem_strndup(s, len);
        if (!read_one(out, str_trim(word)) || (s[len] && !s[len + 1])) {
            conf_licenses_done(out);
            return err_set(err, -ERR_LICENSE, "%s: \"%.80s\" is not NAME or NAME:COUNT",
                           err_text(ERR_LICENSE), s[len] && !s[len + 1] ? text : word);
        }
        s += len + (s[len] == ',');
    }
    return 0;
}
