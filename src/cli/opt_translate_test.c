/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "cli/opt.h"

#define WORDS_MAX 32

/* The translated command line, with words separated by '|'; "" on failure. */
static void translate_line(struct opt *o, const char *line, struct str *out)
{
    _cleanup_free_ char *text = mem_strdup(line);
    char *argv[WORDS_MAX + 1] = {0};
    int argc = 0;
    struct err err = {0};
    for (char *save = NULL, *s = strtok_r(text, "|", &save); s && argc < WORDS_MAX;
         s = strtok_r(NULL, "|", &save))
        argv[argc++] = s;
    str_clear(out);
    char **words = opt_translate(o, OPT_ID_allocate, OPT_SALLOC, argc, argv, &err);
    for (char **w = words; w && *w; w++)
        str_printf(out, "%s%s", w == words ? "" : "|", *w);
    opt_free_words(words);
}

static void test_srun_allocate_is_translated_to_salloc(void **state)
{
    static const struct {
        const char *line, *wanted, *notes;
    } v[] = {
        {"srun|--allocate|--nosuch", "", ""},
        {"srun|--allocate|--timelimit", "", ""},
        {"srun|--allocate", "salloc", ""},
        {"srun|--allocate|--timelimit=5|--cddir|/tmp|--nprocs=2|--debug",
         "salloc|--time=5|--chdir=/tmp|--ntasks=2|--verbose", ""},
        {"srun|-vvN2-3|--alloc|-Jx", "salloc|--verbose|--verbose|--nodes=2-3|--job-name=x", ""},
        /* -K is another option in salloc */
        {"srun|-lK|--allocate|--label|-n1|sh|-c|exit", "salloc|--ntasks=1|sh|-c|exit",
         "warning: option --label has no effect with --allocate\n"
         "warning: option --kill-on-bad-exit has no effect with --allocate\n"},
        {"srun|--allocate|-I|--|sh|-I", "salloc|--immediate|sh|-I", ""},
        {"srun|--allocate|--|-sh|--nprocs=1", "salloc|--|-sh|--nprocs=1", ""},
    };
    _cleanup_str_ struct str out = STR_INIT;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        opt_init(&o, OPT_SRUN);
        str_puts(&o.notes, "warning: said before\n");
        translate_line(&o, v[i].line, &out);
        assert_string_equal(str_cstr(&out), v[i].wanted);
        assert_string_equal(str_cstr(&o.notes), v[i].notes);
        opt_done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srun_allocate_is_translated_to_salloc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
