/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/submit/burst_script.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "cluster/job/job_set_text.h"

enum kind { COMMENT, SBATCH, NEXT_PART, BURST, COMMAND };

struct line {
    const char *text;
    size_t len; /* without the line end */
    enum kind kind;
};

struct walk {
    const char *at, *end, *directive;
    bool in_head; /* before the first command */
};

/* Whether the line is '#' and the word, followed by a blank or the end. */
static bool begins_with(const struct line *l, const char *word)
{
    size_t len = strlen(word);
    return l->len > len && l->text[0] == '#' && !strncmp(l->text + 1, word, len) &&
           (l->len == len + 1 || isspace((unsigned char)l->text[len + 1]));
}

static bool is_separator(const struct line *l)
{
    const char *at = l->text + strlen("#SBATCH"), *end = l->text + l->len;
    size_t len = 0;
    while (at < end && isspace((unsigned char)*at))
        at++;
    while (at + len < end && !isspace((unsigned char)at[len]))
        len++;
    return job_set_text_separates(at, len);
}

static bool is_blank(const struct line *l)
{
    for (size_t i = 0; i < l->len; i++)
        if (!isspace((unsigned char)l->text[i]))
            return false;
    return true;
}

static enum kind find_kind(const struct walk *w, const struct line *l)
{
    if (!w->in_head || (l->len && l->text[0] != '#' && !is_blank(l)))
        return COMMAND;
    if (begins_with(l, w->directive))
        return BURST;
    if (!begins_with(l, "SBATCH"))
        return COMMENT;
    return is_separator(l) ? NEXT_PART : SBATCH;
}

static bool next_line(struct walk *w, struct line *l)
{
    if (w->at >= w->end)
        return false;
    const char *end = memchr(w->at, '\n', (size_t)(w->end - w->at));
    end = end ? end : w->end;
    *l = (struct line){.text = w->at, .len = (size_t)(end - w->at)};
    l->kind = find_kind(w, l);
    w->in_head = w->in_head && l->kind != COMMAND;
    w->at = end < w->end ? end + 1 : end;
    return true;
}

static void put_script_line(const struct line *l, struct str *out)
{
    str_append(out, l->text, l->len);
    str_putc(out, '\n');
}

void burst_script_lines(const char *script, size_t len, const char *directive, struct str *out)
{
    struct walk w = {script, script + len, directive, true};
    struct line l;
    while (next_line(&w, &l)) {
        if (l.kind != BURST)
            continue;
        size_t bytes = l.len - (l.text[l.len - 1] == '\r');
        if (out->len)
            str_putc(out, '\n');
        str_append(out, l.text, bytes);
    }
}

static void rebuild_first(struct walk *w, struct str *out)
{
    uint32_t part = 0;
    struct line l;
    while (next_line(w, &l)) {
        part += l.kind == NEXT_PART;
        if (l.kind == COMMAND) {
            str_append(out, l.text, (size_t)(w->end - l.text));
            return;
        }
        if (l.kind != BURST || part == 0) {
            put_script_line(&l, out);
            continue;
        }
        str_printf(out, "#EXCLUDED %.*s\n", (int)(l.len - 1), l.text + 1);
    }
}

static void rebuild_later(struct walk *w, uint32_t component, struct str *out)
{
    uint32_t part = 0;
    struct line l;
    bool is_first = true;
    for (; next_line(w, &l) && l.kind != COMMAND; is_first = false) {
        part += l.kind == NEXT_PART;
        bool is_interpreter = is_first && l.len > 1 && l.text[1] == '!';
        bool is_own = part == component && (l.kind == SBATCH || l.kind == BURST);
        if (is_interpreter || is_own)
            put_script_line(&l, out);
    }
    str_puts(out, "exit 0\n");
}

void burst_script_rebuild(const char *script, size_t len, const char *directive, uint32_t component,
                          struct str *out)
{
    struct walk w = {script, script + len, directive, true};
    if (component == 0)
        rebuild_first(&w, out);
    else
        rebuild_later(&w, component, out);
}
