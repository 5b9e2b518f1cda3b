/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <string.h>

#include "conf/conf_internal.h"

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

static char *skip_blanks(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

static char *word_end(char *s)
{
    while (*s && !isspace((unsigned char)*s))
        s++;
    return s;
}

/* Whether a word is "Name=...", which means that the key before it has an empty value. */
static bool begins_pair(const char *s)
{
    const char *p = s;

    while (is_key_char(*p))
        p++;
    return p > s && *p == '=';
}

/* Parses the value at s; *next is the position after it. Returns the error, or NULL. */
static const char *value_take(char *s, char **value, char **next)
{
    char *end;

    if (*s == '"') {
        s++;
        end = strchr(s, '"');
        if (!end)
            return "a quote is opened and not closed";
        if (end[1] && !isspace((unsigned char)end[1]))
            return "text follows the closing quote";
    } else
        end = word_end(s);
    *next = *end ? end + 1 : end;
    *end = '\0';
    *value = s;
    return NULL;
}

int conf_token_next(char **cursor, bool row, struct conf_place at, char **key, char **value,
                    struct err *err)
{
    char *start = skip_blanks(*cursor), *p = start, *after;

    if (!*start)
        return 0;
    while (is_key_char(*p))
        p++;
    char *key_end = p;
    p = skip_blanks(p);
    if (key_end == start || *p != '=')
        return conf_fail(at, err, "'%.*s' is not of the form Key=Value (quote values with blanks)",
                         (int)(word_end(start) - start), start);
    bool apart = isspace((unsigned char)p[1]);
    after = p + 1;
    if (apart) {
        after = skip_blanks(after);
        if (row && begins_pair(after))
            after = p + 1; /* a blank: the value is empty */
    }
    *key_end = '\0';
    const char *wrong = value_take(after, value, cursor);
    if (wrong)
        return conf_fail(at, err, "%s: %s", start, wrong);
    *key = start;
    return 1;
}
