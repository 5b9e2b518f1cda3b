/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

static char *const user[] = {"PATH=/bin", "EDITOR=vi", "SLURM_JOB_ID=7",   "SLURMISH=no",
                             "broken",    "A=1,2",     "SLURM_JWT=secret", NULL};

static char *join_variables(const struct envlist *e, struct str *out)
{
    for (size_t i = 0; i < e->vars.len; i++)
        str_printf(out, "%s%s", i > 0 ? "|" : "", e->vars.data[i]);
    return out->data;
}

static void test_exported_variables_follow_the_list(void **state)
{
    static const struct {
        const char *spec, *expect, *values_first; /* values_first NULL: equal to expect */
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
        {"SLURM_JWT", "SLURM_JOB_ID=7|SLURM_JWT=secret"},
        {"ALL,SLURM_JWT", "PATH=/bin|EDITOR=vi|SLURM_JOB_ID=7|SLURMISH=no|A=1,2|SLURM_JWT=secret"},
        {"B='x,y',C=\"a b\"", "SLURM_JOB_ID=7|B=x,y|C=a b"},
        {"B='open,end", "SLURM_JOB_ID=7|B=open,end"},
    };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(vectors) / sizeof(vectors[0]); i++) {
        const char *expect = vectors[i / 2].expect;
        struct envlist e = {0};
        _cleanup_str_ struct str got = STR_INIT;

        if (i % 2 && vectors[i / 2].values_first)
            expect = vectors[i / 2].values_first;
        export_variables(&e, vectors[i / 2].spec, user, i % 2);
        assert_string_equal(join_variables(&e, &got), expect);
        assert_null(envlist_argv(&e)[e.vars.len]);
        envlist_done(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exported_variables_follow_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
