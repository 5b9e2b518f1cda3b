/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command line of one command as another takes it. */
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cli/opt_priv.h"

static char *spell(const struct opt_word *word)
{
    return word->arg ? mem_printf("--%s=%s", word->row->name, word->arg)
                     : mem_printf("--%s", word->row->name);
}

static void leave_out(struct opt *o, const struct opt_row *row, const char *because)
{
    if (o->told[row->id])
        return;
    o->told[row->id] = 1;
    str_printf(&o->notes, "warning: option --%s has no effect with --%s\n", row->name, because);
}

char **opt_translate(struct opt *o, enum opt_id because, enum opt_command to, int argc,
                     char *const argv[], struct err *err)
{
    struct opt_cursor c = {.argv = argv, .argc = argc, .at = 1};
    const char *reason = opt_rows[because].name;
    struct opt_word word;
    VEC(char *) words = {0};
    int r;
    str_clear(&o->notes);
    memset(o->told, 0, sizeof(o->told));
    vec_push(&words, mem_strdup(opt_program(&(struct opt){.command = to})));
    while ((r = opt_next(o, &c, &word, err)) > 0) {
        if (word.row->id == OPT_ID_debug) /* an older word for another option */
            word.row = &opt_rows[OPT_ID_verbose];
        if (word.row->id == because)
            continue;
        if (word.row->commands & to)
            vec_push(&words, spell(&word));
        else
            leave_out(o, word.row, reason);
    }
    if (r == 0 && c.at < argc && argv[c.at][0] == '-')
        vec_push(&words, mem_strdup("--"));
    for (; r == 0 && c.at < argc; c.at++)
        vec_push(&words, mem_strdup(argv[c.at]));
    vec_push(&words, NULL);
    if (r == 0)
        return words.data;
    opt_free_words(words.data);
    return NULL;
}

void opt_free_words(char **words)
{
    for (char **w = words; w && *w; w++)
        free(*w);
    free(words);
}
