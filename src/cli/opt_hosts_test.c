/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Node lists and node files, and their adjustment to the counts of a request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "cli/opt.h"
#include "cluster/job/job_env.h"

#define WORDS_MAX 16

static char dir[] = "/tmp/sluice-hosts.XXXXXX";

/* Words separated by blanks; "@" stands for the test's file. */
static int parse_host_options(struct opt *o, enum opt_command command, const char *line,
                              char *const envp[], struct err *err)
{
    _cleanup_free_ char *text = mem_strdup(line), *file = mem_printf("%s/hosts", dir);
    char *word[WORDS_MAX + 1] = {"test"};
    int count = 1, operands, r;
    for (char *rest = text, *w; (w = strsep(&rest, " ")) && count < WORDS_MAX;)
        if (*w)
            word[count++] = str_eq(w, "@") ? file : w;
    opt_init(o, command);
    r = opt_scan(o, count, word, &operands, err);
    if (r == 0)
        r = opt_apply_env(o, envp, err);
    if (r == 0)
        r = opt_apply_argv(o, count, word, err);
    if (r == 0)
        r = opt_finish(o, err);
    return r;
}

static void write_hosts(const void *text, size_t len)
{
    _cleanup_free_ char *file = mem_printf("%s/hosts", dir);
    assert_int_equal(path_write_file(file, text, len, 0600, NULL), 0);
}

static void expect_bad(enum opt_command command, const char *line, int status, const char *has)
{
    char *const nothing[] = {NULL};
    struct opt o;
    struct err err = {0};
    if (parse_host_options(&o, command, line, nothing, &err) == 0)
        fail_msg("%s: taken", line);
    if (!strstr(err.text, has))
        fail_msg("%s: %s", line, err.text);
    assert_int_equal(o.failure, OPT_FAIL_ERROR);
    assert_int_equal(o.exit_status, status);
    opt_done(&o);
}

static void test_invalid_host_files_are_refused(void **state)
{
    static const enum opt_command all[] = {OPT_SRUN, OPT_SBATCH, OPT_SALLOC};
    _cleanup_free_ char *big = mem_new_array(char, (1u << 20) + 10);
    memset(big, 'n', (1u << 20) + 9);
    for (size_t i = 0; i < 3; i++) {
        expect_bad(all[i], "-F /nonexistent", 255,
                   "Invalid --nodefile node file: cannot open /nonexist");
        expect_bad(all[i], "-F /tmp", 255, "Invalid --nodefile node file: ");
        expect_bad(all[i], "-w ./nonexistent", 255,
                   "Invalid --nodelist specification: cannot open ./no");
        expect_bad(all[i], "-x ./nonexistent", 255,
                   "Invalid --exclude specification: cannot open ./no");
    }
    write_hosts("", 0);
    expect_bad(OPT_SRUN, "-F @", 255, "/hosts names no node");
    write_hosts(" \n# n1\n,,\n", 10);
    expect_bad(OPT_SRUN, "-F @", 255, "/hosts names no node");
    write_hosts("n1\nn[2\n", 7);
    expect_bad(OPT_SRUN, "-F @", 255, "/hosts, line 2: ");
    write_hosts("n1\0n2", 5);
    expect_bad(OPT_SRUN, "-F @", 255, "/hosts: not a text file");
    write_hosts("n[0-999999999]\n", 15);
    expect_bad(OPT_SRUN, "-F @", 255, "/hosts, line 1: ");
    write_hosts(big, (1u << 20) + 9);
    expect_bad(OPT_SRUN, "-F @", 255, "/hosts");
    write_hosts(big, 1u << 19);
    expect_bad(OPT_SRUN, "-F @", 255, "/hosts, line 1: ");
    if (getuid() != 0) {
        _cleanup_free_ char *file = mem_printf("%s/hosts", dir);
        assert_int_equal(chmod(file, 0), 0);
        expect_bad(OPT_SRUN, "-F @", 255, "Permission denied");
    }
}

static void test_node_lists_may_repeat_names(void **state)
{
    static const struct {
        const char *line, *list;
    } v[] = {
        {"-w n1*2,n3", "n1,n1,n3"},
        {"-w n[1-2]*2,x[1,3]", "n[1-2],n[1-2],x[1,3]"},
        {"-w n1,n2*1", "n1,n2"},
    };
    char *const nothing[] = {NULL};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        assert_int_equal(parse_host_options(&o, OPT_SRUN, v[i].line, nothing, NULL), 0);
        assert_string_equal(o.nodelist, v[i].list);
        opt_done(&o);
    }
    expect_bad(OPT_SRUN, "-w n1*0", 255, "a count after '*' is a number from 1 to 65535");
    expect_bad(OPT_SRUN, "-w n1*", 255, "Invalid --nodelist specification: 'n1*'");
    expect_bad(OPT_SRUN, "-w n1*2*2", 255, "Invalid --nodelist specification: 'n1*2*2'");
    expect_bad(OPT_SRUN, "-w n1*65536", 255, "Invalid --nodelist specification: 'n1*65536'");
}

static void test_host_files_are_read(void **state)
{
    static const struct {
        const char *text, *list;
    } v[] = {
        {"n2\nn1\nn2\n", "n[1-2]"},
        {"n1", "n1"},
        {"# all\n\n  n3 n1,n2\t#two\r\nn[7-9],", "n[1-3,7-9]"},
        {"a,b\n,c,\n", "a,b,c"},
    };
    char *const nothing[] = {NULL};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        write_hosts(v[i].text, strlen(v[i].text));
        assert_int_equal(parse_host_options(&o, OPT_SRUN, "-F @", nothing, NULL), 0);
        assert_string_equal(o.nodelist, v[i].list);
        opt_done(&o);
        assert_int_equal(parse_host_options(&o, OPT_SBATCH, "-w @", nothing, NULL), 0);
        assert_string_equal(o.nodelist, v[i].list);
        opt_done(&o);
        assert_int_equal(parse_host_options(&o, OPT_SALLOC, "-x @", nothing, NULL), 0);
        assert_string_equal(o.exclude, v[i].list);
        opt_done(&o);
    }
}

#define TOO_MANY(has, most)                                                                        \
    "error: Required nodelist includes more nodes than permitted by max-node count (" has          \
    " > " most "). Eliminating nodes from the nodelist.\n"
#define TASKS(tasks, nodes)                                                                        \
    "Warning: can't run " tasks " processes on " nodes " nodes, setting nnodes to " tasks "\n"

static void test_node_list_beyond_the_count_is_cut(void **state)
{
    static char *const inside[] = {"SLURM_JOB_ID=7", "SLURM_NNODES=2", NULL};
    static char *const outside[] = {"SLURM_NNODES=2", NULL};
    static char *const nothing[] = {NULL};
    static const struct {
        enum opt_command command;
        const char *line;
        char *const *envp;
        const char *list, *notes;
    } v[] = {
        {OPT_SRUN, "-w n2,n3 -N1", nothing, "n2", TOO_MANY("2", "1")},
        {OPT_SRUN, "-w n3,n1,n2 -N1-2", nothing, "n[3,1]", TOO_MANY("3", "2")},
        {OPT_SRUN, "-w n2,n3 -N2", nothing, "n2,n3", ""},
        {OPT_SRUN, "-w n2 -N2", nothing, "n2", ""},
        {OPT_SRUN, "-w [0,2-3] -N1", nothing, "[0]", TOO_MANY("3", "1")},
        {OPT_SRUN, "-w n1,n2,n3", inside, "n1,n2,n3", ""},
        {OPT_SRUN, "-w n1,n2,n3", outside, "n[1-2]", TOO_MANY("3", "2")},
        {OPT_SRUN, "-w n1,n2 -n1", nothing, "n1", TASKS("1", "2")},
        {OPT_SBATCH, "-w n1,n2 -n1", nothing, "n1", TASKS("1", "2")},
        {OPT_SRUN, "-w n1,n2,n3 -N2 -n1", nothing, "n1", TOO_MANY("3", "2") TASKS("1", "2")},
        {OPT_SRUN, "-w n1,n2 -n2", nothing, "n1,n2", ""},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        assert_int_equal(parse_host_options(&o, v[i].command, v[i].line, v[i].envp, NULL), 0);
        assert_string_equal(o.nodelist, v[i].list);
        assert_string_equal(str_cstr(&o.notes), v[i].notes);
        opt_done(&o);
    }
    expect_bad(OPT_SBATCH, "-w n2,n3 -N1", 1, "invalid number of nodes (-N 2-1)");
    expect_bad(OPT_SALLOC, "-w n2,n3,n4 -N1-2", 1, "invalid number of nodes (-N 3-2)");
}

static void test_arbitrary_distribution_needs_a_node_list(void **state)
{
    static const enum opt_command all[] = {OPT_SRUN, OPT_SBATCH, OPT_SALLOC};
    char *const host_file[] = {"SLURM_HOSTFILE=/no/such", NULL};
    for (size_t i = 0; i < 3; i++) {
        struct opt o;
        struct err err = {0};
        expect_bad(
            all[i], "-m arbitrary", 1,
            "With Arbitrary distribution you need to specify a nodelist or hostfile with the "
            "-w option");
        expect_bad(all[i], "-m Arbitrary -w n2,n1 -n3", 1,
                   "--distribution=arbitrary: 3 tasks, and the list names 2 nodes for them");
        assert_true(parse_host_options(&o, all[i], "-n1", host_file, &err) < 0);
        assert_non_null(strstr(err.text, "Invalid SLURM_HOSTFILE: "));
        opt_done(&o);
        assert_int_equal(parse_host_options(&o, all[i], "-m arbitrary -w n2,n1,n2,n2", NULL, &err),
                         0);
        assert_int_equal(o.ntasks, 4);
        assert_int_equal(o.min_nodes, 2);
        assert_int_equal(o.max_nodes, 2);
        opt_done(&o);
    }
}

static void test_srun_follows_the_list_of_its_job_unless_it_chooses_nodes(void **state)
{
    char *const in_job[] = {"SLURM_JOB_ID=7",         "SLURM_NTASKS=3",
                            "SLURM_NNODES=2",         "SLURM_DISTRIBUTION=arbitrary",
                            JOB_ENV_LIST "=n2,n1,n2", NULL};
    static const struct {
        const char *line, *nodes, *distribution;
        uint32_t tasks;
    } v[] = {
        {"", "n2,n1,n2", "arbitrary", 3},
        {"-n2", "n[2,1]", "arbitrary", 2},
        {"-m arbitrary", "n2,n1,n2", "arbitrary", 3},
        {"-m arbitrary -w n1", "n1", "arbitrary", 1},
        {"-w n1", "n1", NULL, 3},
        {"-m block", NULL, "block", 3},
        {"-n4", NULL, NULL, 4},
        {"-N1", NULL, NULL, 3},
        {"-x n2", NULL, NULL, 3},
        {"-r1", NULL, NULL, 3},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        struct err err = {0};
        assert_int_equal(parse_host_options(&o, OPT_SRUN, v[i].line, in_job, &err), 0);
        if (!str_eq(o.nodelist, v[i].nodes))
            fail_msg("%s: %s", v[i].line, o.nodelist ? o.nodelist : "none");
        assert_true(str_eq(o.distribution, v[i].distribution));
        assert_int_equal(o.ntasks, v[i].tasks);
        opt_done(&o);
    }
}

static int make_directory_for_files(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_directory_of_files(void **state)
{
    _cleanup_free_ char *file = mem_printf("%s/hosts", dir);
    unlink(file);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_host_files_are_refused),
        cmocka_unit_test(test_node_lists_may_repeat_names),
        cmocka_unit_test(test_host_files_are_read),
        cmocka_unit_test(test_node_list_beyond_the_count_is_cut),
        cmocka_unit_test(test_arbitrary_distribution_needs_a_node_list),
        cmocka_unit_test(test_srun_follows_the_list_of_its_job_unless_it_chooses_nodes),
    };
    return cmocka_run_group_tests(tests, make_directory_for_files, remove_directory_of_files);
}
