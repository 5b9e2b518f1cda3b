/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Burst buffer lines in scripts of jobs, and the scripts of components (HET-26, HET-28, HET-29). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "control/submit/burst_script.h"

static const struct {
    const char *script, *lines, *first, *second;
} cases[] = {
    {"", "", "", "exit 0\n"},
    {"#!/bin/sh\n", "", "#!/bin/sh\n", "#!/bin/sh\nexit 0\n"},
    {"#!/bin/sh\n#DWX a\n#D W\n #DW b\ntrue\n#DW c\n", "",
     "#!/bin/sh\n#DWX a\n#D W\n #DW b\ntrue\n#DW c\n", "#!/bin/sh\nexit 0\n"},
    {"#!/bin/sh\n#DW\n\n#DW a\r\ntrue", "#DW\n#DW a", "#!/bin/sh\n#DW\n\n#DW a\r\ntrue",
     "#!/bin/sh\nexit 0\n"},
    /* The listings of the guide to heterogeneous jobs, with one directive. */
    {"#!/bin/bash\n"
     "#SBATCH --nodes=1 --constraint=haswell\n"
     "#DW create_persistent name=alpha capacity=10 access=striped type=scratch\n"
     "#DW persistentdw name=alpha\n"
     "#SBATCH hetjob\n"
     "#SBATCH --nodes=16 --constraint=knl\n"
     "#DW persistentdw name=alpha\n"
     "srun hostname\n",
     "#DW create_persistent name=alpha capacity=10 access=striped type=scratch\n"
     "#DW persistentdw name=alpha\n#DW persistentdw name=alpha",
     "#!/bin/bash\n"
     "#SBATCH --nodes=1 --constraint=haswell\n"
     "#DW create_persistent name=alpha capacity=10 access=striped type=scratch\n"
     "#DW persistentdw name=alpha\n"
     "#SBATCH hetjob\n"
     "#SBATCH --nodes=16 --constraint=knl\n"
     "#EXCLUDED DW persistentdw name=alpha\n"
     "srun hostname\n",
     "#!/bin/bash\n"
     "#SBATCH --nodes=16 --constraint=knl\n"
     "#DW persistentdw name=alpha\n"
     "exit 0\n"},
    {"#!/bin/sh\n# text\n#SBATCH packjob\n# more\n#DW one\n#SBATCH hetjob\n#DW two\nfalse\n",
     "#DW one\n#DW two",
     "#!/bin/sh\n# text\n#SBATCH packjob\n# more\n#EXCLUDED DW one\n#SBATCH hetjob\n"
     "#EXCLUDED DW two\nfalse\n",
     "#!/bin/sh\n#DW one\nexit 0\n"},
};

static void scripts_are_split_at_hetjob(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str lines = STR_INIT, first = STR_INIT, second = STR_INIT;
        size_t len = strlen(cases[i].script);
        burst_script_lines(cases[i].script, len, "DW", &lines);
        burst_script_rebuild(cases[i].script, len, "DW", 0, &first);
        burst_script_rebuild(cases[i].script, len, "DW", 1, &second);
        assert_string_equal(str_cstr(&lines), cases[i].lines);
        assert_string_equal(str_cstr(&first), cases[i].first);
        assert_string_equal(str_cstr(&second), cases[i].second);
        str_done(&lines);
        str_done(&first);
        str_done(&second);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scripts_are_split_at_hetjob)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
