/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * "#SBATCH" lines: options between the interpreter line and the first command of a script. Words
 * are split as a shell does: blanks, single and double quotes, backslash; "#" begins a comment.
 */
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cli/opt_priv.h"

#define PREFIX "#SBATCH"

struct words {
    VEC(char *) list; /* words point into text */
    char *text;
};

static void words_done(struct words *w)
{
    free(w->text);
    vec_done(&w->list);
}

/* Splits in place: the text written is never longer than the text read. Returns the quote that was
 * not closed, or 0. */
static char split(char *text, struct words *w)
{
    char *in = text, *out = text;
    for (;;) {
        in += strspn(in, " \t\r");
        if (!*in || *in == '#')
            return 0;
        char *word = out;
        char quote = 0;
        for (; *in && (quote || !strchr(" \t\r", *in)); in++) {
            if (*in == '\\' && quote != '\'') {
                if (in[1])
                    *out++ = *++in;
            } else if (quote ? *in == quote : *in == '"' || *in == '\'') {
                quote = quote ? 0 : *in;
            } else {
                *out++ = *in;
            }
        }
        if (quote)
            return quote;
        bool last = !*in; /* before the NUL may overwrite it */
        in += !last;
        *out++ = 0;
        if (w->list.len < OPT_WORDS_MAX)
            vec_push(&w->list, word);
        if (last)
            return 0;
    }
}

static int apply_words(struct opt *o, int argc, char *const *argv, struct err *err)
{
    struct opt_cursor c = {.argv = argv, .argc = argc};
    struct opt_word word;
    int r;
    while ((r = opt_next(o, &c, &word, err)) > 0) {
        r = opt_set(o, word.row, word.arg, err);
        if (r < 0)
            return r;
    }
    if (r == 0 && c.at < c.argc) {
        const char *extra = c.argv[c.at];
        if (str_eq(extra, "hetjob") || str_eq(extra, "packjob"))
            return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                            "heterogeneous jobs are not available in this version");
        return opt_fail(o, OPT_FAIL_ERROR, 255, err, "Invalid directive found in batch script: %s",
                        extra);
    }
    return r;
}

static int apply_line(struct opt *o, const char *line, size_t len, opt_words_fn *apply,
                      struct err *err)
{
    _cleanup_(words_done) struct words w = {.text = mem_strndup(line, len)};
    _cleanup_free_ char *whole = mem_strdup(w.text);
    char quote = split(w.text, &w);
    if (quote) {
        int number = o->line;
        o->line = 0; /* the text says the place itself */
        return opt_fail(o, OPT_FAIL_FATAL, 1, err, "%s: line %d: Unmatched `%c` in [%s]", o->script,
                        number, quote, whole);
    }
    return apply(o, (int)w.list.len, w.list.data, err);
}

int opt_each_directive(struct opt *o, const struct opt_text *text, const char *prefix,
                       opt_words_fn *apply, struct err *err)
{
    const char *at = text->data, *end = at + text->len;
    size_t prefix_len = strlen(prefix);
    o->source = OPT_FROM_SCRIPT;
    o->script = text->name;
    o->line = 0;
    int r = 0;
    while (at < end && r == 0) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t line_len = (size_t)((eol ? eol : end) - at);
        const char *first = at;
        while (first < at + line_len && (*first == ' ' || *first == '\t' || *first == '\r'))
            first++;
        o->line++;
        if (first < at + line_len && *first != '#')
            break;
        if (line_len > prefix_len && !memcmp(at, prefix, prefix_len))
            r = apply_line(o, at + prefix_len, line_len - prefix_len, apply, err);
        at += line_len + 1;
    }
    o->script = NULL;
    o->line = 0;
    return r;
}

int opt_apply_script(struct opt *o, const char *name, const void *script, size_t len,
                     struct err *err)
{
    const struct opt_text text = {name, script, len};
    return opt_each_directive(o, &text, PREFIX, apply_words, err);
}
