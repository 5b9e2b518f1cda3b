/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/become.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/vec.h"
#include "cmd/srun/option/say.h"

/* That of our own installation, or whatever there is. */
static _Noreturn void become_program(const char *name, char *const *words)
{
    _cleanup_free_ char *prefix = path_prefix();
    _cleanup_free_ char *program = mem_printf("%s/bin/%s", prefix != NULL ? prefix : "", name);

    execv(program, words);
    execvp(name, words);
    say_error("%s: %s", program, strerror(errno));
    exit(1);
}

_Noreturn void become_salloc(struct opt *o, int argc, char **argv)
{
    struct err err = {0};
    char **words = opt_translate(o, OPT_ID_allocate, OPT_SALLOC, argc, argv, &err);

    if (words == NULL)
        exit(opt_print_failure(o, &err));
    opt_print_notes(o);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JOBID");
    become_program("salloc", words);
}

struct words {
    VEC(char *) list;
};

static void add_word(struct words *w, const char *word)
{
    vec_push(&w->list, mem_strdup(word));
}

/* --output=3 shows what task 3 writes. A file is none of a watcher's. */
static void add_filter(struct words *w, const char *name, const char *value)
{
    long long task;

    if (value == NULL)
        return;
    if (str_parse_i64(value, 0, UINT32_MAX - 1, &task) < 0)
        say_info("warning: --%s=%s has no effect with --attach: it takes the number of a task",
                 name, value);
    else
        vec_push(&w->list, mem_printf("--%s-filter=%lld", name, task));
}

_Noreturn void become_sattach(const struct opt *o, int operands)
{
    struct words w = {0};

    if (operands > 0) {
        say_error("--attach takes no command: job %s runs one", o->attach);
        exit(1);
    }
    add_word(&w, "sattach");
    add_word(&w, "--as-srun");
    if (o->label)
        add_word(&w, "--label");
    if (o->pty)
        add_word(&w, "--pty");
    if (o->quiet)
        add_word(&w, "--quiet");
    for (unsigned i = 0; i < o->verbose; i++)
        add_word(&w, "--verbose");
    add_filter(&w, "input", o->std_in);
    add_filter(&w, "output", o->std_out);
    add_filter(&w, "error", o->std_err);
    add_word(&w, "--");
    add_word(&w, o->attach);
    vec_push(&w.list, NULL);
    become_program("sattach", w.list.data);
}
