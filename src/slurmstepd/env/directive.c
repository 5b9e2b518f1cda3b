/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/env/directive.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define SHOWN_MAX 60 /* bytes of a line quoted in a complaint */
#define COMPLAINTS_MAX 1000

/* Returns the text after the word and one blank; NULL: the line does not begin with the word. */
static const char *skip_word(const char *line, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(line, word, len) != 0 || (line[len] && line[len] != ' ' && line[len] != '\t'))
        return NULL;
    return line + len + (line[len] != '\0');
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static bool export_one(const char *at, struct envlist *env)
{
    _cleanup_free_ char *name = NULL;
    size_t len;

    at = skip_blanks(at);
    len = strcspn(at, "= \t");
    if (!len || at[len] != '=' || strlen(at) > DIRECTIVE_VALUE_MAX)
        return false;
    name = mem_strndup(at, len);
    envlist_set(env, name, at + len + 1);
    return true;
}

static bool unset_all(const char *at, struct envlist *env)
{
    bool any = false;
    size_t len;

    for (at = skip_blanks(at); (len = strcspn(at, " \t")); at = skip_blanks(at + len)) {
        _cleanup_free_ char *name = mem_strndup(at, len);

        if (strchr(name, '='))
            return false;
        envlist_unset(env, name);
        any = true;
    }
    return any;
}

/* whole: the line has no NUL. */
static bool apply_line(const char *line, bool whole, struct envlist *env, struct str *out)
{
    const char *rest;

    if ((rest = skip_word(line, "print"))) {
        str_printf(out, "%s\n", rest);
        return whole;
    }
    if ((rest = skip_word(line, "export")))
        return whole && export_one(rest, env);
    if ((rest = skip_word(line, "unset")))
        return whole && unset_all(rest, env);
    return true;
}

void directive_apply(const char *text, size_t len, struct envlist *env, struct str *out,
                     struct str *complaints)
{
    const char *end = text + len;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t line_len = (size_t)((newline ? newline : end) - text);
        _cleanup_free_ char *line = mem_strndup(text, line_len);

        if (!apply_line(line, strlen(line) == line_len, env, out) &&
            complaints->len < COMPLAINTS_MAX)
            str_printf(complaints, "cannot use `%.*s'\n", SHOWN_MAX, line);
        text += line_len + 1;
    }
}
