/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/opt_priv.h"

static int apply_pbs_script(struct opt *o, const char *script, struct err *err)
{
    opt_init(o, OPT_SBATCH);
    const struct opt_script text = {"job.sh", script, strlen(script), false};
    int r = opt_apply_section(o, &(struct opt_place){.script = &text}, err);
    return r < 0 ? r : opt_apply_pbs(o, &text, err);
}

static void test_invalid_pbs_lines_are_refused(void **state)
{
    static const struct {
        const char *line, *said;
    } v[] = {
        {"#PBS job\n", "Invalid #PBS directive found in batch script: job"},
        {"#PBS -\n", "Invalid #PBS directive found in batch script: -"},
        {"#PBS -N\n", "#PBS -N needs an argument"},
        {"#PBS -l walltime=soon\n",
         "Invalid --time specification: soon (use minutes, MM:SS, HH:MM:SS or D-HH[:MM[:SS]])"},
        {"#PBS -l nodes=n1+n2\n", "\"n1+n2\" is not a valid node count"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        struct err err = {0};
        assert_true(apply_pbs_script(&o, v[i].line, &err) < 0);
        if (!strstr(err.text, v[i].said))
            fail_msg("\"%s\" does not have \"%s\"", err.text, v[i].said);
        opt_done(&o);
    }
}

static void test_pbs_lines_are_translated(void **state)
{
    struct opt o;
    struct err err = {0};
    assert_int_equal(
        apply_pbs_script(&o,
                         "#!/bin/sh\n#PBS -N name -q long@server -Aacct\n"
                         "#PBS -l nodes=2:ppn=4,walltime=1:02:03,mem=4gb\n"
                         "#PBS -o host:/out -m ae -M me -r n -h -V\n#PBS -t 1-3 -v A=1\n"
                         "#PBS -W depend=afterok:7\ntrue\n#PBS -d /late\n",
                         &err),
        0);
    assert_string_equal(o.job_name, "name");
    assert_string_equal(o.partition, "long");
    assert_string_equal(o.job.account, "acct");
    assert_int_equal(o.min_nodes, 2);
    assert_int_equal(o.ntasks_per_node, 4);
    assert_int_equal(o.time_limit_sec, 3723);
    assert_int_equal(o.mem_per_node_mib, 4096);
    assert_string_equal(o.std_out, "/out");
    assert_string_equal(o.mail_type, "FAIL,END");
    assert_string_equal(o.job.mail_user, "me");
    assert_string_equal(o.job.array_inx, "1-3");
    assert_string_equal(o.export_env, "ALL,A=1");
    assert_string_equal(o.job.dependency, "afterok:7");
    assert_true(o.hold && !o.requeue && opt_given(&o, OPT_ID_no_requeue));
    assert_null(o.chdir);
    assert_int_equal(o.notes.len, 0);
    opt_done(&o);
}

static void test_sbatch_lines_precede_pbs_lines(void **state)
{
    struct opt o;
    struct err err = {0};
    assert_int_equal(
        apply_pbs_script(&o, "#PBS -N theirs -l pmem=100,walltime=60\n#SBATCH -J ours\n", &err), 0);
    assert_string_equal(o.job_name, "ours");
    assert_int_equal(o.mem_per_cpu_mib, 1);
    assert_int_equal(o.time_limit_sec, 60);
    opt_done(&o);
}

static void test_ineffective_pbs_lines_are_reported(void **state)
{
    struct opt o;
    struct err err = {0};
    assert_int_equal(apply_pbs_script(&o, "#PBS -j oe -k oe\n#PBS -l software=x\n#PBS -X\n", &err),
                     0);
    assert_string_equal(str_cstr(&o.notes),
                        "warning: #PBS -k oe has no effect (job.sh, line 1)\n"
                        "warning: #PBS -l software=x has no effect (job.sh, line 2)\n"
                        "warning: #PBS -X has no effect (job.sh, line 3)\n");
    opt_done(&o);
}

static void test_lsf_lines_are_translated(void **state)
{
    struct opt o;
    struct err err = {0};
    assert_int_equal(
        apply_pbs_script(&o,
                         "#BSUB -J \"name[1-9:2]%3\" -q long -n 2,4 -x -H\n#BSUB -W 1:30/host\n"
                         "#BSUB -M 2048 -m 'n1 n2' -o out.%J.%I -eo err%%J -cwd /d -u me -rn\n",
                         &err),
        0);
    assert_string_equal(o.job_name, "name");
    assert_string_equal(o.job.array_inx, "1-9:2%3");
    assert_string_equal(o.partition, "long");
    assert_int_equal(o.ntasks, 4);
    assert_int_equal(o.time_limit_sec, 5400);
    assert_int_equal(o.mem_per_cpu_mib, 2);
    assert_string_equal(o.nodelist, "n1,n2");
    assert_string_equal(o.std_out, "out.%A.%a");
    assert_string_equal(o.std_err, "err%%J");
    assert_string_equal(o.chdir, "/d");
    assert_string_equal(o.job.mail_user, "me");
    assert_true(o.exclusive && o.hold && !o.requeue);
    assert_int_equal(o.notes.len, 0);
    opt_done(&o);
}

static void test_invalid_and_ineffective_lsf_lines_are_reported(void **state)
{
    static const struct {
        const char *script, *name, *notes, *error;
    } v[] = {
        {"#BSUB -J a -W 5\n#SBATCH -J x\n#BSUB -M 4GB\n#PBS -N b\n", "x", "", ""},
        {"#BSUB -J a\n#PBS -N b\n", "b", "", ""},
        {"#BSUB -R 'rusage[mem=5]' -B -app x\n", NULL,
         "warning: #BSUB -R rusage[mem=5] has no effect (job.sh, line 1)\n"
         "warning: #BSUB -B has no effect (job.sh, line 1)\n"
         "warning: #BSUB -app x has no effect (job.sh, line 1)\n",
         ""},
        {"#BSUB -w 'done(1)'\n", NULL, "",
         "#BSUB -w done(1): write it as a #SBATCH --dependency line (job.sh, line 1)"},
        {"#BSUB -q\n", NULL, "", "#BSUB -q needs an argument (job.sh, line 1)"},
        {"#BSUB word\n", NULL, "",
         "Invalid #BSUB directive found in batch script: word (job.sh, line 1)"},
        {"#BSUB -n x\n", NULL, "", "Invalid numeric value \"x\" for --ntasks. (job.sh, line 1)"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        struct err err = {0};
        assert_int_equal(apply_pbs_script(&o, v[i].script, &err), *v[i].error ? -ERR_PARSE : 0);
        assert_string_equal(err.text, v[i].error);
        assert_string_equal(o.job_name ? o.job_name : "", v[i].name ? v[i].name : "");
        assert_string_equal(str_cstr(&o.notes), v[i].notes);
        opt_done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_pbs_lines_are_refused),
        cmocka_unit_test(test_pbs_lines_are_translated),
        cmocka_unit_test(test_sbatch_lines_precede_pbs_lines),
        cmocka_unit_test(test_ineffective_pbs_lines_are_reported),
        cmocka_unit_test(test_lsf_lines_are_translated),
        cmocka_unit_test(test_invalid_and_ineffective_lsf_lines_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
