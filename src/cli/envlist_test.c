/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/envlist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

static char *const user[] = {"PATH=/bin", "EDITOR=vi", "SLURM_JOB_ID=7", "SLURMISH=no", "broken",
                             "A=1,2",     NULL};

static char *joined(const struct envlist *e, struct str *out)
{
    for (size_t i = 0; i < e->count; i++)
        str_printf(out, "%s%s", i > 0 ? "|" : "", e->vars[i]);
    return out->data;
}

static void test_export(void **state)
{
    static const struct {
        const char *spec, *expect, *values_first; /* NULL: the same */
    } vectors[] = {
        {NULL, "PATH=/bin|EDITOR=vi|SLURM_JOB_ID=7|SLURMISH=no|A=1,2"},
        {"ALL", "PATH=/bin|EDITOR=vi|SLURM_JOB_ID=7|SLURMISH=no|A=1,2"},
        {"NONE", "SLURM_JOB_ID=7"},
        {"NIL", "SLURM_JOB_ID=7"},
        {"EDITOR,ARG1=test", "SLURM_JOB_ID=7|EDITOR=vi|ARG1=test"},
        {"nosuch,,EDITOR=", "SLURM_JOB_ID=7|EDITOR="},
        {"all,EDITOR=emacs", "PATH=/bin|EDITOR=vi|SLURM_JOB_ID=7|SLURMISH=no|A=1,2",
         "PATH=/bin|EDITOR=emacs|SLURM_JOB_ID=7|SLURMISH=no|A=1,2"},
        {"EDITOR=emacs,ALL,B=1,B=2", "PATH=/bin|EDITOR=vi|SLURM_JOB_ID=7|SLURMISH=no|A=1,2|B=2",
         "PATH=/bin|EDITOR=emacs|SLURM_JOB_ID=7|SLURMISH=no|A=1,2|B=2"},
        {"B='x,y',C=\"a b\"", "SLURM_JOB_ID=7|B=x,y|C=a b"},
        {"B='open,end", "SLURM_JOB_ID=7|B=open,end"},
    };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(vectors) / sizeof(vectors[0]); i++) {
        const char *expect = vectors[i / 2].expect;
        struct envlist e;
        _cleanup_str_ struct str got = STR_INIT;

        if (i % 2 && vectors[i / 2].values_first)
            expect = vectors[i / 2].values_first;
        envlist_init(&e, NULL);
        envlist_export(&e, vectors[i / 2].spec, user, i % 2);
        assert_string_equal(joined(&e, &got), expect);
        assert_null(e.vars[e.count]);
        envlist_done(&e);
    }
}

static void test_set(void **state)
{
    struct envlist e;

    (void)state;
    envlist_init(&e, user);
    assert_null(envlist_get(&e, "PAT"));
    assert_null(envlist_get(&e, "broken"));
    envlist_set(&e, "PATH", NULL);
    envlist_set(&e, "PATH", NULL);
    assert_null(envlist_get(&e, "PATH"));
    for (int i = 0; i < 200; i++)
        envlist_setf(&e, "COUNT", "%d", i);
    assert_string_equal(envlist_get(&e, "COUNT"), "199");
    envlist_default(&e, "COUNT", "0");
    envlist_default(&e, "NEW", "0");
    assert_string_equal(envlist_get(&e, "COUNT"), "199");
    assert_string_equal(envlist_get(&e, "NEW"), "0");
    assert_int_equal(e.count, 7);
    assert_null(e.vars[e.count]);
    envlist_done(&e);
}

static void test_grows(void **state)
{
    struct envlist e;

    (void)state;
    envlist_init(&e, NULL);
    for (int i = 0; i < 500; i++) {
        char name[16];

        snprintf(name, sizeof(name), "V%d", i);
        envlist_set(&e, name, "x");
    }
    assert_int_equal(e.count, 500);
    assert_string_equal(e.vars[499], "V499=x");
    assert_null(e.vars[500]);
    envlist_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
