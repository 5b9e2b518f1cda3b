/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/pattern.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/sluid.h"
#include "base/step_id.h"

/* Parses one %x of a pattern: its letter, its width, and the first byte after it. */
static const char *scan_letter(const char *at, char *letter, int *width)
{
    int w = 0;

    at++;
    for (; isdigit((unsigned char)*at); at++)
        if (w <= PATTERN_WIDTH_MAX)
            w = w * 10 + (*at - '0');
    *width = w > PATTERN_WIDTH_MAX ? PATTERN_WIDTH_MAX : w;
    *letter = *at;
    return *at ? at + 1 : at;
}

enum pattern_scope pattern_scope(const char *pattern)
{
    enum pattern_scope scope = PATTERN_SAME;

    if (strchr(pattern, '\\'))
        return scope;
    for (const char *at = strchr(pattern, '%'); at; at = strchr(at, '%')) {
        char letter;
        int width;

        at = scan_letter(at, &letter, &width);
        if (letter == 't')
            return PATTERN_PER_TASK;
        if (letter == 'n' || letter == 'N')
            scope = PATTERN_PER_NODE;
    }
    return scope;
}

static void put_step(const struct pattern_values *v, int width, struct str *out)
{
    char name[STEP_ID_NAME_MAX];
    if (v->step_id >= STEP_ID_FIRST_SPECIAL)
        str_puts(out, step_id_name(v->step_id, name));
    else
        str_printf(out, "%0*u", width, v->step_id);
}

/* Returns false for a letter without a meaning, or without a value yet. */
static bool put_pattern(char letter, int width, const struct pattern_values *v, struct str *out)
{
    switch (letter) {
    case '%':
        str_putc(out, '%');
        break;
    case 'A':
        str_printf(out, "%0*u", width, v->array_id);
        break;
    case 'j':
        str_printf(out, "%0*u", width, v->job_id);
        break;
    case 'a':
    case 'b':
        if (v->is_open)
            return false;
        str_printf(out, "%0*u", width, letter == 'a' ? v->array_task : v->array_task % 10);
        break;
    case 'J':
        str_printf(out, "%0*u", width, v->job_id);
        if (v->step_id < STEP_ID_FIRST_SPECIAL)
            str_printf(out, ".%u", v->step_id);
        break;
    case 'S':
        if (!v->submit_at_sec)
            return false;
        str_puts(out, SLUID_TEXT(v->job_id, v->submit_at_sec));
        break;
    case 's':
        put_step(v, width, out);
        break;
    case 'r':
        if (!v->has_restarts)
            return false;
        str_printf(out, "%0*u", width, v->restarts);
        break;
    case 'n':
        str_printf(out, "%0*u", width, v->node_index);
        break;
    case 't':
        str_printf(out, "%0*u", width, v->task_id);
        break;
    case 'N':
        if (!v->node)
            return false;
        str_append(out, v->node, strcspn(v->node, "."));
        break;
    case 'u':
        str_puts(out, v->user ? v->user : "");
        break;
    case 'x':
        str_puts(out, v->job_name ? v->job_name : "");
        break;
    default:
        return false;
    }
    return true;
}

/* A long text may stand in the pattern many times: the expansion ends when it is too long. */
int pattern_expand(const char *pattern, const struct pattern_values *v, struct str *out,
                   struct err *err)
{
    size_t start = out->len;

    if (strchr(pattern, '\\')) {
        for (const char *at = pattern; *at && out->len - start < PATH_MAX; at++)
            if (*at != '\\')
                str_putc(out, *at);
    } else {
        for (const char *at = pattern; *at && out->len - start < PATH_MAX;) {
            const char *next;
            char letter;
            int width;

            if (*at != '%') {
                str_putc(out, *at++);
                continue;
            }
            next = scan_letter(at, &letter, &width);
            if (!put_pattern(letter, width, v, out))
                str_append(out, at, (size_t)(next - at));
            at = next;
        }
    }
    if (out->len - start >= PATH_MAX)
        return err_set(err, -ERR_LIMIT, "file name \"%.60s...\" is longer than %d bytes", pattern,
                       PATH_MAX - 1);
    return 0;
}
