/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "cli/opt.h"
#include "cli/opt_priv.h"
#include "cli/opt_test_util.h"

static void test_invalid_command_lines_are_refused(void **state)
{
    static const struct refusal v[] = {
        {OPT_SBATCH, NULL, "", "sbatch|--foo", OPT_FAIL_SYNTAX, 255, "unrecognized option '--foo'"},
        {OPT_SBATCH, NULL, "", "sbatch|-Y", OPT_FAIL_SYNTAX, 255, "invalid option -- 'Y'"},
        {OPT_SBATCH, NULL, "", "sbatch|-:", OPT_FAIL_SYNTAX, 255, "invalid option -- ':'"},
        {OPT_SBATCH, NULL, "", "sbatch|-n", OPT_FAIL_SYNTAX, 255,
         "option requires an argument -- 'n'"},
        {OPT_SBATCH, NULL, "", "sbatch|--partition", OPT_FAIL_SYNTAX, 255,
         "option '--partition' requires an argument"},
        {OPT_SBATCH, NULL, "", "sbatch|--hold=3", OPT_FAIL_SYNTAX, 255,
         "option '--hold' doesn't allow an argument"},
        {OPT_SBATCH, NULL, "", "sbatch|--excl", OPT_FAIL_SYNTAX, 255,
         "option '--excl' is ambiguous; possibilities: '--exclude' '--exclusive'"},
        {OPT_SALLOC, NULL, "", "salloc|--parsable", OPT_FAIL_SYNTAX, 255,
         "unrecognized option '--parsable'"},
        {OPT_SRUN, NULL, "", "srun|--parsable", OPT_FAIL_ERROR, 1,
         "option --parsable is not available in this version: it needs --async; run again without "
         "it"},
        {OPT_SBATCH, NULL, "", "sbatch|--nprocs=2", OPT_FAIL_SYNTAX, 255,
         "unrecognized option '--nprocs'"},
        {OPT_SBATCH, NULL, "", "sbatch|-n|x", OPT_FAIL_ERROR, 1,
         "Invalid numeric value \"x\" for --ntasks."},
        {OPT_SBATCH, NULL, "", "sbatch|-n0", OPT_FAIL_ERROR, 1,
         "Invalid numeric value \"0\" for --ntasks."},
        {OPT_SBATCH, NULL, "", "sbatch|-N|x", OPT_FAIL_ERROR, 255,
         "\"x\" is not a valid node count"},
        {OPT_SBATCH, NULL, "", "sbatch|-N3-1", OPT_FAIL_ERROR, 255,
         "Maximum node count 1 is less than minimum node count 3 (-N 3-1)"},
        {OPT_SBATCH, NULL, "", "sbatch|-N1-2-3", OPT_FAIL_ERROR, 255,
         "\"2-3\" is not a valid node count (-N 1-2-3)"},
        {OPT_SBATCH, NULL, "", "sbatch|-t|abc", OPT_FAIL_ERROR, 255,
         "Invalid --time specification: abc (use minutes, MM:SS, HH:MM:SS or D-HH[:MM[:SS]])"},
        {OPT_SBATCH, NULL, "", "sbatch|--mem=-1", OPT_FAIL_ERROR, 255,
         "Invalid --mem specification: -1"},
        {OPT_SBATCH, NULL, "", "sbatch|--mem=1|--mem-per-cpu=2", OPT_FAIL_FATAL, 1,
         "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."},
        {OPT_SBATCH, NULL, "", "sbatch|--exclusive=foo", OPT_FAIL_ERROR, 255,
         "Invalid --exclusive specification: foo"},
        {OPT_SBATCH, NULL, "", "sbatch|--nice=99999999999", OPT_FAIL_ERROR, 255,
         "Invalid --nice value, out of range (+/- 2147483645): 99999999999"},
        {OPT_SBATCH, NULL, "", "sbatch|--signal=FOO", OPT_FAIL_ERROR, 255,
         "Invalid --signal specification: FOO"},
        {OPT_SBATCH, NULL, "", "sbatch|--signal=USR1@99999999", OPT_FAIL_ERROR, 255,
         "Invalid --signal specification: USR1@99999999"},
        {OPT_SBATCH, NULL, "", "sbatch|--open-mode=x", OPT_FAIL_ERROR, 255,
         "Invalid --open-mode specification: x"},
        {OPT_SBATCH, NULL, "", "sbatch|--propagate=FOO", OPT_FAIL_ERROR, 1,
         "--propagate=FOO is not valid: Bad rlimit name: FOO"},
        {OPT_SBATCH, NULL, "", "sbatch|--container=x", OPT_FAIL_ERROR, 1,
         "option --container is not available in this version, a later one is to have it; run "
         "again "
         "without it"},
        {OPT_SBATCH, NULL, "", "sbatch|--kill-on-invalid-dep=maybe", OPT_FAIL_ERROR, 255,
         "Invalid --kill-on-invalid-dep specification: maybe"},
        {OPT_SBATCH, "#!/bin/sh\n#SBATCH --container=x\n", "", "sbatch", OPT_FAIL_ERROR, 1,
         "option --container is not available in this version, a later one is to have it; run "
         "again "
         "without it (job.sh, line 2)"},
        {OPT_SRUN, NULL, "SRUN_CONTAINER=x", "srun", OPT_FAIL_ERROR, 1,
         "option --container is not available in this version, a later one is to have it; run "
         "again "
         "without it (from SRUN_CONTAINER)"},
        {OPT_SRUN, NULL, "", "srun|-v|-Q", OPT_FAIL_ERROR, 1,
         "don't specify both --verbose (-v) and --quiet (-Q)"},
        {OPT_SBATCH, NULL, "SBATCH_TIMELIMIT=x", "sbatch", OPT_FAIL_ERROR, 255,
         "Invalid --time specification: x (use minutes, MM:SS, HH:MM:SS or D-HH[:MM[:SS]]) (from "
         "SBATCH_TIMELIMIT)"},
        {OPT_SBATCH, "#!/bin/sh\n#SBATCH --foo\n", "", "sbatch", OPT_FAIL_SYNTAX, 255,
         "unrecognized option '--foo' (job.sh, line 2)"},
        {OPT_SBATCH, "#!/bin/sh\n\n# x\n  \n #x\n#SBATCH -N1 foo -n x\n", "", "sbatch",
         OPT_FAIL_ERROR, 255, "Invalid directive found in batch script: foo (job.sh, line 6)"},
        {OPT_SBATCH, "#!/bin/sh\n#SBATCHX --foo\n", "", "sbatch", OPT_FAIL_ERROR, 255,
         "Invalid directive found in batch script: X (job.sh, line 2)"},
        {OPT_SBATCH, "#SBATCH -J \"a --foo\n", "", "sbatch", OPT_FAIL_FATAL, 1,
         "job.sh: line 1: Unmatched `\"` in [ -J \"a --foo]"},
        {OPT_SBATCH, "#SBATCH -J a -- --foo\n", "", "sbatch", OPT_FAIL_ERROR, 255,
         "Invalid directive found in batch script: --foo (job.sh, line 1)"},
    };
    expect_refusals(v, sizeof(v) / sizeof(v[0]));
}

/* The message lists the valid values, and all of them have the same exit status. */
static void test_invalid_values_list_the_valid_ones(void **state)
{
    static const struct refusal v[] = {
        {OPT_SRUN, NULL, "", "srun|--oom-kill-step=yes", OPT_FAIL_ERROR, 255,
         "Invalid --oom-kill-step specification: yes (0 or 1)"},
        {OPT_SRUN, NULL, "", "srun|--ignore-signals=USR1,KILL", OPT_FAIL_ERROR, 255,
         "Invalid --ignore-signals specification: USR1,KILL (a list of INT, QUIT, TERM, HUP, USR1 "
         "and USR2)"},
        {OPT_SRUN, NULL, "", "srun|--hint=x", OPT_FAIL_ERROR, 1,
         "unrecognized --hint argument \"x\", see --hint=help"},
        {OPT_SBATCH, NULL, "", "sbatch|-N0", OPT_FAIL_ERROR, 1,
         "Batch job submission failed: Node count specification invalid: -N 0"},
        {OPT_SALLOC, NULL, "", "salloc|-N0-2", OPT_FAIL_ERROR, 1,
         "Job submit/allocate failed: Node count specification invalid: -N 0-2"},
        {OPT_SRUN, NULL, "", "srun|-N0", OPT_FAIL_ERROR, 1,
         "Unable to allocate resources: Node count specification invalid: -N 0"},
        {OPT_SBATCH, NULL, "", "sbatch|-N-", OPT_FAIL_ERROR, 255,
         "\"\" is not a valid node count (-N -)"},
        {OPT_SBATCH, NULL, "", "sbatch|-N1,x", OPT_FAIL_ERROR, 255,
         "\"x\" is not a valid node count (-N 1,x)"},
        {OPT_SBATCH, NULL, "", "sbatch|-N0,1", OPT_FAIL_ERROR, 255,
         "\"0\" is not a valid node count (-N 0,1)"},
        {OPT_SALLOC, NULL, "", "salloc|-N1,", OPT_FAIL_ERROR, 255,
         "\"\" is not a valid node count (-N 1,)"},
        {OPT_SRUN, NULL, "", "srun|-N3:2", OPT_FAIL_ERROR, 255,
         "\"3:2\" is not a valid node count (-N 3:2)"},
        {OPT_SRUN, NULL, "", "srun|-N1,2m", OPT_FAIL_ERROR, 255,
         "Node count specification invalid: use at most 500 numbers and ranges, up to 1048576, in "
         "a "
         "list of node counts (-N 1,2m)"},
        {OPT_SRUN, NULL, "", "srun|-N1-9:0", OPT_FAIL_ERROR, 255,
         "\"1-9:0\" is not a valid node count (-N 1-9:0)"},
        {OPT_SBATCH, NULL, "", "sbatch|--requeue=x", OPT_FAIL_ERROR, 255,
         "Invalid --requeue specification: x"},
        {OPT_SALLOC, NULL, "SALLOC_WAIT_ALL_NODES=", "salloc|--wait-all-nodes=01", OPT_FAIL_ERROR,
         255, "Invalid --wait-all-nodes specification: 01 (0 or 1)"},
        {OPT_SBATCH, "#SBATCH --wait-all-nodes=\n", "", "sbatch", OPT_FAIL_ERROR, 255,
         "Invalid --wait-all-nodes specification:  (0 or 1) (job.sh, line 1)"},
    };
    char network[1026 + sizeof("srun|--network=")] = "srun|--network=";
    struct refusal long_one = {
        OPT_SRUN,
        NULL,
        "",
        network,
        OPT_FAIL_ERROR,
        255,
        "Invalid --network specification: it has 1025 bytes, and 1024 is the most"};

    memset(network + strlen(network), 'n', 1025);
    expect_refusals(&long_one, 1);
    expect_refusals(v, sizeof(v) / sizeof(v[0]));
}

static void test_distributions_are_parsed(void **state)
{
    static const struct refusal v[] = {
        {OPT_SBATCH, NULL, "", "sbatch|-m|foo", OPT_FAIL_ERROR, 255,
         "Invalid --distribution specification: foo"},
        {OPT_SBATCH, NULL, "", "sbatch|-m|block:foo", OPT_FAIL_ERROR, 255,
         "Invalid --distribution specification: block:foo"},
        {OPT_SRUN, NULL, "", "srun|-m|block:block:block:block", OPT_FAIL_ERROR, 255,
         "Invalid --distribution specification: block:block:block:block"},
        {OPT_SRUN, NULL, "", "srun|-m|plane", OPT_FAIL_ERROR, 255,
         "--distribution=plane: a plane needs its size, as in plane=4, or in SLURM_DIST_PLANESIZE"},
        {OPT_SRUN, NULL, "", "srun|-m|plane=0", OPT_FAIL_ERROR, 255,
         "Invalid --distribution specification: plane=0"},
        {OPT_SRUN, NULL, "", "srun|-m|plane=2x", OPT_FAIL_ERROR, 255,
         "Invalid --distribution specification: plane=2x"},
        {OPT_SRUN, NULL, "", "srun|-m|plane=2:block", OPT_FAIL_ERROR, 255,
         "--distribution=plane=2:block: nothing can be said beside a plane"},
    };
    expect_refusals(v, sizeof(v) / sizeof(v[0]));
}

static void test_core_options_are_parsed(void **state)
{
    static const struct refusal v[] = {
        {OPT_SALLOC, NULL, "", "salloc|-B1|--threads-per-core=2", OPT_FAIL_ERROR, 1,
         "--extra-node-info and --threads-per-core are mutually exclusive."},
        {OPT_SALLOC, NULL, "", "salloc|-B1|--ntasks-per-core=2", OPT_FAIL_ERROR, 1,
         "--extra-node-info and --ntasks-per-core are mutually exclusive."},
        {OPT_SBATCH, NULL, "", "sbatch|-G1|--cpus-per-gpu=2|-c2", OPT_FAIL_ERROR, 1,
         "--cpus-per-gpu is mutually exclusive with --cpus-per-task"},
        {OPT_SBATCH, NULL, "", "sbatch|--mem-bind=bogus", OPT_FAIL_ERROR, 255,
         "Invalid --mem-bind argument: bogus: not a type; --mem-bind=help lists what there is"},
        {OPT_SALLOC, NULL, "SALLOC_GPU_BIND=nearest", "salloc", OPT_FAIL_ERROR, 255,
         "Invalid --gpu-bind argument: nearest: not a type; it is [verbose,]none, closest, "
         "per_task:N, single:N, map:LIST or mask:LIST"},
        {OPT_SRUN, NULL, "", "srun|-N9|-B65536:65536:2", OPT_FAIL_ERROR, 1,
         "--extra-node-info=65536:65536:2: too many threads"},
    };
    static const struct {
        const char *env, *argv;
        uint32_t threads, per_core, per_socket, tasks;
        const char *cpu_bind;
    } good[] = {
        {"SLURM_CPU_BIND=cores", "srun|--hint=compute_bound", 1, 0, 0, 0, NULL},
        {"SLURM_CPU_BIND=verbose", "srun|--hint=compute_bound", 1, 0, 0, 0, "verbose"},
        {"", "srun|--hint=compute_bound|--cpu-bind=v", 1, 0, 0, 0, "v"},
        {"SLURM_HINT=memory_bound", "srun|--cpu-bind=cores", 0, 0, 0, 0, "cores"},
        {"SLURM_HINT=memory_bound|SLURM_THREADS_PER_CORE=2", "srun", 2, 0, 1, 0, NULL},
        {"SLURM_HINT=memory_bound", "srun|--threads-per-core=2", 2, 0, 0, 0, NULL},
        {"SLURM_NTASKS_PER_CORE=2", "srun|--hint=nomultithread", 1, 0, 0, 0, NULL},
        {"", "srun|--hint=memory_bound|--ntasks-per-core=1", 0, 1, 0, 0, NULL},
        {"", "srun|--hint=compute_bound|--threads-per-core=2", 2, 0, 0, 0, NULL},
        {"", "srun|--threads-per-core=2|--hint=compute_bound", 2, 0, 0, 0, NULL},
        {"", "srun|-N2|-B2:2:2|--hint=compute_bound", 2, 0, 0, 16, NULL},
        {"", "srun|-B1:2:2", 2, 0, 0, 4, NULL},
        {"SLURM_NNODES=2", "srun|-B1:2:2", 2, 0, 0, 0, NULL},
        {"", "srun|--hint=nomultithread|--cpu-bind=v,cores", 0, 0, 0, 0, "v,cores"},
        {"SLURM_THREADS_PER_CORE=2", "srun|-B1:1:1", 1, 0, 0, 1, NULL},
        {"", "srun|-N2|-B2:4:1", 1, 0, 0, 16, NULL},
        {"", "srun|-N2|-n3|-B2:4:1", 1, 0, 0, 3, NULL},
        {"", "srun|-N2-3|-B2:4:1", 1, 0, 0, 0, NULL},
        {"", "srun|-N2|-B2:*:1", 1, 0, 0, 0, NULL},
    };
    expect_refusals(v, sizeof(v) / sizeof(v[0]));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct opt o;
        assert_int_equal(apply_options(&o, OPT_SRUN, NULL, good[i].env, good[i].argv, NULL), 0);
        if (o.threads_per_core != good[i].threads || o.ntasks_per_core != good[i].per_core ||
            o.ntasks_per_socket != good[i].per_socket || o.ntasks != good[i].tasks ||
            !str_eq(o.cpu_bind, good[i].cpu_bind))
            fail_msg("%s %s: %u %u %u %u %s", good[i].env, good[i].argv, o.threads_per_core,
                     o.ntasks_per_core, o.ntasks_per_socket, o.ntasks, o.cpu_bind);
        opt_done(&o);
    }
}

/* A variable of the job gives way to an option of its srun. */
static void test_option_beside_contrary_variable(void **state)
{
    static const struct {
        const char *env, *argv;
        uint32_t per_gpu, per_task, tasks_gpu, tasks_node;
    } v[] = {
        {"SLURM_CPUS_PER_GPU=2", "srun|-c3", 0, 3, 0, 0},
        {"SLURM_CPUS_PER_TASK=3", "srun|-G1|--cpus-per-gpu=2", 2, 0, 0, 0},
        {"SLURM_CPUS_PER_TASK=3|SLURM_CPUS_PER_GPU=2", "srun", 2, 3, 0, 0},
        {"SLURM_NTASKS_PER_GPU=2", "srun|--ntasks-per-node=3", 0, 0, 0, 3},
        {"SLURM_NTASKS_PER_NODE=3", "srun|-G1|--ntasks-per-gpu=2", 0, 0, 2, 0},
        {"SLURM_NTASKS_PER_GPU=2", "srun|--gpus-per-socket=1", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        assert_int_equal(apply_options(&o, OPT_SRUN, NULL, v[i].env, v[i].argv, NULL), 0);
        assert_int_equal(o.cpus_per_gpu, v[i].per_gpu);
        assert_int_equal(o.cpus_per_task, v[i].per_task);
        assert_int_equal(o.ntasks_per_gpu, v[i].tasks_gpu);
        assert_int_equal(o.ntasks_per_node, v[i].tasks_node);
        opt_done(&o);
    }
}

static void test_words_of_a_script_line(void **state)
{
    static const struct {
        const char *script, *name, *comment;
    } v[] = {
        {"#SBATCH -J a --comment=b\n", "a", "b"},
        {"#SBATCH -J a # --comment=b\n", "a", NULL},
        {"#SBATCH -J a #--comment=b\n", "a", NULL},
        {"#SBATCH -J a#b\n", "a#b", NULL},
        {"#SBATCH -J \"a b\" --comment='c \"d\"'", "a b", "c \"d\""},
        {"#SBATCH -J \"a\\\"b\" --comment=x\\ y\n", "a\"b", "x y"},
        {"#SBATCH -J a\"\"b --comment ''\n", "ab", ""},
        {"#SBATCH\t-J\ta \t\n#SBATCH --comment=b\\\n", "a", "b"},
        {"#SBATCH-Ja\n", "a", NULL},
        {"# x\n\n \t\n#SBATCH -Ja\nhostname\n#SBATCH -Jb\n", "a", NULL},
        {":\n#SBATCH -Jb\n", NULL, NULL},
        {" #SBATCH -Jb\n", NULL, NULL},
        {"##SBATCH -Jb\n", NULL, NULL},
        {"#SBATCH\n#SBATCH \n", NULL, NULL},
        {"", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        struct err err = {0};
        assert_int_equal(apply_options(&o, OPT_SBATCH, v[i].script, "", "sbatch", &err), 0);
        assert_true(str_eq(o.job_name, v[i].name));
        assert_true(str_eq(o.job.comment, v[i].comment));
        opt_done(&o);
    }
}

static void test_value_of_the_highest_source_counts(void **state)
{
    struct opt o;
    const char *script = "#SBATCH -p a -t 1 -J s --mem=5 -v --exclusive\n";
    assert_int_equal(
        apply_options(&o, OPT_SBATCH, script,
                      "SBATCH_PARTITION=b|SBATCH_TIMELIMIT=2|SLURM_PARTITION=no|"
                      "SBATCH_MEM_PER_CPU=7|SBATCH_OVERCOMMIT=|SBATCH_WAIT=0|SBATCH_QOS=",
                      "sbatch|--partition|c|-O|x.sh|--mem=3", NULL),
        0);
    assert_string_equal(o.partition, "c");
    assert_string_equal(o.job_name, "s");
    assert_int_equal(o.time_limit_sec, 120);
    assert_false(opt_given(&o, OPT_ID_mem));
    assert_int_equal(o.mem_per_cpu_mib, 7);
    assert_true(o.overcommit && o.exclusive && !o.wait_end);
    assert_null(o.job.qos);
    assert_int_equal(o.from[OPT_ID_partition], OPT_FROM_ARGV);
    opt_done(&o);
}

static void test_operands_end_the_options(void **state)
{
    static const struct {
        const char *argv;
        int operands;
    } v[] = {
        {"sbatch", 1},         {"sbatch|x.sh|-n|x", 1}, {"sbatch|-n|2|x.sh|--foo", 3},
        {"sbatch|--|-x", 2},   {"sbatch|-", 1},         {"sbatch|-Hn2|--wait|x", 3},
        {"sbatch|-Hn|2|y", 3}, {"sbatch|--nice|y", 2},  {"sbatch|x.sh|:", 1},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct line a = split_line(v[i].argv);
        struct opt o;
        int operands = -1;
        opt_init(&o, OPT_SBATCH);
        assert_int_equal(opt_scan(&o, a.count, a.word, &operands, NULL), 0);
        assert_int_equal(operands, v[i].operands);
        opt_done(&o);
        free(a.text);
    }
}

/* As many as the tasks need, in addition to --licenses. */
static void test_licenses_of_tasks(void **state)
{
    static const struct {
        const char *argv, *licenses, *gres;
    } v[] = {
        {"sbatch|--tres-per-task=license/x=2|x", "x:2", NULL},
        {"sbatch|-n3|--tres-per-task=license/x=2,license/y|x", "x:6,y:3", NULL},
        {"sbatch|-N2|--ntasks-per-node=2|--tres-per-task=license/x:1|x", "x:4", NULL},
        {"sbatch|-w|n[1-3]|--tres-per-task=license/x=1|x", "x:3", NULL},
        {"sbatch|-n2|-L|z:1|--tres-per-task=cpu=2,license/x=1k,gres/gpu=1|x", "z:1,x:2048",
         "gres:gpu:1"},
        {"sbatch|--resources=flat:2,natural:1|x", "flat:2,natural:1", NULL}, /* HRES-47 */
        {"sbatch|--resources=power:full_node|--license=x:1|x", "x:1,power:full_node", NULL},
        {"sbatch|--resources=x|-n2|--tres-per-task=license/y=2|x", "x,y:4", NULL},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        assert_int_equal(apply_options(&o, OPT_SBATCH, NULL, "", v[i].argv, NULL), 0);
        opt_to_job_spec(&o, &spec);
        assert_string_equal(spec.licenses, v[i].licenses);
        if (v[i].gres)
            assert_string_equal(spec.tres_per_task, v[i].gres);
        else
            assert_null(spec.tres_per_task);
        assert_int_equal(o.notes.len, 0);
        opt_done(&o);
    }
}

/* --nodes=1,3 and --nodes=1-15:4: kept as a list of ranges with steps. */
static void test_lists_of_node_counts(void **state)
{
    static const struct {
        const char *argv;
        uint32_t min, max;
        const char *sizes;
    } v[] = {
        {"sbatch|--nodes=1,3|x", 1, 3, "1,3"}, {"sbatch|--nodes=1-15:4|x", 1, 13, "1-13:4"},
        {"sbatch|-N8,2-5|x", 2, 8, "8,2-5"},   {"sbatch|-N1k,2|x", 2, 1024, "1024,2"},
        {"sbatch|-N1,3|-N2-4|x", 2, 4, NULL},  {"sbatch|-N4-4:2|x", 4, 4, NULL},
        {"sbatch|-N3,5|-n2|x", 2, 2, NULL}, /* with a warning */
        {"sbatch|-N2-4|-n1|x", 1, 1, NULL},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        assert_int_equal(apply_options(&o, OPT_SBATCH, NULL, "", v[i].argv, NULL), 0);
        opt_to_job_spec(&o, &spec);
        assert_int_equal(spec.min_nodes, v[i].min);
        assert_int_equal(spec.max_nodes, v[i].max);
        if (v[i].sizes)
            assert_string_equal(spec.job_size_str, v[i].sizes);
        else
            assert_null(spec.job_size_str);
        opt_done(&o);
    }
}

static void test_option_names_of_2002_are_accepted(void **state)
{
    struct opt o;
    assert_int_equal(
        apply_options(&o, OPT_SRUN, NULL, "",
                      "srun|--batch|--nodes|2|--nprocs|4|--timelimit=3|--cddir|/tmp|--debug|"
                      "--distribution|Cyclic|--label|--immediate|mping|1",
                      NULL),
        0);
    assert_true(o.batch && o.label && o.immediate);
    assert_int_equal(o.ntasks, 4);
    assert_int_equal(o.min_nodes, 2);
    assert_int_equal(o.max_nodes, 2);
    assert_int_equal(o.time_limit_sec, 180);
    assert_string_equal(o.chdir, "/tmp");
    assert_string_equal(o.distribution, "cyclic");
    assert_int_equal(o.verbose, 1);
    opt_done(&o);
}

static void test_inside_an_allocation(void **state)
{
    struct opt o;
    const char *env = "SLURM_JOB_ID=42|SLURM_JOB_NAME=outer|SLURM_NNODES=3|SLURM_NTASKS=6";
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, env, "srun|-n|1|hostname", NULL), 0);
    assert_int_equal(o.job_id, 42);
    assert_null(o.job_name);
    assert_int_equal(o.ntasks, 1);
    assert_int_equal(o.min_nodes, 1);
    assert_int_equal(o.notes.len, 0);
    opt_done(&o);
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, env, "srun|hostname", NULL), 0);
    assert_int_equal(o.ntasks, 6);
    assert_int_equal(o.min_nodes, 3);
    opt_done(&o);
}

/* The task count may come from the allocation: then it gives way, with a note. */
static void test_tasks_per_node(void **state)
{
    static const struct {
        const char *env, *line;
        unsigned per_node;
        const char *notes;
    } v[] = {
        {"SLURM_JOB_ID=7|SLURM_NNODES=2|SLURM_NTASKS=4", "srun|--ntasks-per-node=1|x", 0,
         "Warning: can't honor --ntasks-per-node set to 1 which doesn't match the requested tasks "
         "4 "
         "with the number of requested nodes 2. Ignoring --ntasks-per-node.\n"},
        {"SLURM_JOB_ID=7|SLURM_NNODES=2|SLURM_NTASKS=4|SLURM_NTASKS_PER_NODE=2", "srun|-n9|x", 0,
         "Warning: can't honor --ntasks-per-node set to 2 which doesn't match the requested tasks "
         "9 "
         "with the number of requested nodes 2. Ignoring --ntasks-per-node.\n"},
        {"SLURM_JOB_ID=7|SLURM_NNODES=2|SLURM_NTASKS=4", "srun|--ntasks-per-node=2|x", 2, ""},
        {"SLURM_JOB_ID=7|SLURM_NNODES=2|SLURM_NTASKS=4", "srun|--ntasks-per-node=3|x", 3, ""},
        {"", "srun|-N2-4|-n4|--ntasks-per-node=1|x", 1, ""},
        {"", "srun|-N2|-n4|--ntasks-per-node=1|x", 1, ""},
        {"SLURM_NTASKS_PER_NODE=1", "srun|-N2|-n4|x", 1, ""},
        {"", "srun|-n4|--ntasks-per-node=1|x", 1, ""},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        Pb__StepSpec spec = PB__STEP_SPEC__INIT;
        _cleanup_arena_ struct arena arena;
        struct opt o;
        arena_init(&arena, 0);
        assert_int_equal(apply_options(&o, OPT_SRUN, NULL, v[i].env, v[i].line, NULL), 0);
        assert_string_equal(str_cstr(&o.notes), v[i].notes);
        assert_int_equal(opt_to_step_spec(&o, &arena, &spec, NULL), 0);
        assert_int_equal(spec.ntasks_per_node, v[i].per_node);
        assert_int_equal(spec.has_ntasks_per_node, v[i].per_node > 0);
        opt_done(&o);
    }
}

static void test_options_fill_the_job_spec(void **state)
{
    struct opt o;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    assert_int_equal(
        apply_options(&o, OPT_SBATCH, NULL, "",
                      "sbatch|-N2-4|--ntasks-per-node=3|-t0|--mem=2G|--tmp=1k|-w|n[1-2]|"
                      "--no-requeue|-H|--nice|-C|a&b|-I5|--begin=uts100",
                      NULL),
        0);
    opt_to_job_spec(&o, &spec);
    assert_int_equal(spec.min_nodes, 2);
    assert_int_equal(spec.max_nodes, 4);
    assert_int_equal(spec.num_tasks, 0); /* depends on the node count of the job */
    assert_true(spec.time_limit_sec == TIME_UNLIMITED);
    assert_int_equal(spec.mem_per_node_mib, 2048);
    assert_int_equal(spec.tmp_per_node_mib, 1);
    assert_string_equal(spec.req_nodes, "n[1-2]");
    assert_string_equal(spec.features, "a&b");
    assert_true(spec.has_requeue && !spec.requeue);
    assert_true(spec.hold && spec.immediate);
    assert_int_equal(spec.nice, 100);
    assert_int_equal(spec.begin_at_sec, 100);
    assert_false(spec.has_priority || spec.has_exclusive || spec.has_cpus_per_task);
    opt_done(&o);
}

/* JOB+OFFSET names a component, and the last --jobid counts. */
static void a_job_id_names_a_component(void **state)
{
    struct opt o;
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, "", "srun|--jobid=7+2", NULL), 0);
    assert_int_equal(o.job_id, 7);
    assert_true(o.names_component && o.named_component == 2);
    opt_done(&o);
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, "", "srun|--jobid=7", NULL), 0);
    assert_false(o.names_component);
    opt_done(&o);
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, "", "srun|--jobid=7+2|--jobid=8", NULL), 0);
    assert_false(o.names_component);
    assert_int_equal(o.job_id, 8);
    opt_done(&o);
    static const char *const bad[] = {"srun|--jobid=7+", "srun|--jobid=7_1", "srun|--jobid=7.0",
                                      "srun|--jobid=0"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_true(apply_options(&o, OPT_SRUN, NULL, "", bad[i], NULL) < 0);
        opt_done(&o);
    }
    assert_true(apply_options(&o, OPT_SALLOC, NULL, "", "salloc|--jobid=7+2", NULL) < 0);
    opt_done(&o);
}

static void test_options_fill_the_step_spec(void **state)
{
    struct opt o;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__StepSpec spec = PB__STEP_SPEC__INIT;
    assert_int_equal(
        apply_options(&o, OPT_SRUN, NULL, "", "srun|--jobid=7|-N2|-r1|-n4|--exclusive", NULL), 0);
    assert_int_equal(opt_to_step_spec(&o, &arena, &spec, NULL), 0);
    assert_int_equal(spec.job_id, 7);
    assert_int_equal(spec.n_relative_nodes, 2);
    assert_int_equal(spec.relative_nodes[0], 1);
    assert_int_equal(spec.relative_nodes[1], 2);
    assert_true(spec.exact);
    opt_done(&o);

    Pb__StepSpec listed = PB__STEP_SPEC__INIT;
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, "", "srun|--nodelist=[0,2-3]", NULL), 0);
    assert_int_equal(opt_to_step_spec(&o, &arena, &listed, NULL), 0);
    assert_int_equal(listed.n_relative_nodes, 3);
    assert_int_equal(listed.relative_nodes[2], 3);
    assert_null(listed.nodes);
    opt_done(&o);
}

static void test_option_table_is_sorted_and_complete(void **state)
{
    for (size_t i = 0; i < opt_row_count; i++) {
        const struct opt_row *a = &opt_rows[i];
        assert_int_equal(a->id, i);
        assert_true(i == 0 || strcmp(opt_rows[i - 1].name, a->name) <= 0);
        assert_true(a->argument != OPT_ARG_REQ || *a->metavar);
        for (size_t k = 0; k < i; k++) {
            const struct opt_row *b = &opt_rows[k];
            if (a->commands & b->commands & OPT_ALL) {
                assert_string_not_equal(a->name, b->name);
                assert_false(a->letter && a->letter == b->letter);
            }
        }
    }
}

/* A value that the option accepts. */
static const char *sample_value(const struct opt_row *row)
{
    bool number = row->type == OPT_T_COUNT || row->type == OPT_T_NUMBER || row->type == OPT_T_LIMIT;
    if (row->argument == OPT_ARG_NO || number)
        return "1";
    if (row->id == OPT_ID_gpu_freq)
        return "low";
    if (row->id == OPT_ID_delay_boot || row->id == OPT_ID_profile)
        return row->id == OPT_ID_profile ? "Task,Energy" : "5";
    return row->id == OPT_ID_signal ? "USR1@60" : "x";
}

static unsigned notes_of(const struct opt *o)
{
    unsigned count = 0;
    for (size_t i = 0; i < o->notes.len; i++)
        count += o->notes.data[i] == '\n';
    return count;
}

/* One option of one command from one source: an option, a script line, or a variable. */
static void check_note(const struct opt_row *row, enum opt_command command, const char *script,
                       const char *env, const char *argv, const char *named)
{
    struct opt o;
    struct err err = {0};
    bool refused = row->type == OPT_T_REFUSED || row->type == OPT_T_PLANNED;
    int r = apply_options(&o, command, script, env, argv, &err);
    assert_int_equal(r, refused ? -ERR_PARSE : 0);
    const char *said = refused ? err.text : str_cstr(&o.notes);
    assert_int_equal(notes_of(&o), refused ? 0 : 1);
    _cleanup_free_ char *option = mem_printf("--%s ", row->name);
    assert_non_null(strstr(said, option));
    assert_non_null(strstr(said, named));
    assert_non_null(strstr(said, refused ? "not available" : "has no effect"));
    assert_int_equal(o.exit_status, refused ? 1 : 0);
    opt_done(&o);
}

static void check_variables(const struct opt_row *row, enum opt_command command)
{
    static const char *const owner[] = {
        [OPT_SRUN] = "SRUN_", [OPT_SBATCH] = "SBATCH_", [OPT_SALLOC] = "SALLOC_"};
    for (const char *s = row->env; *s; s += strspn(s, " ")) {
        _cleanup_free_ char *name = mem_strndup(s, strcspn(s, " "));
        _cleanup_free_ char *env = mem_printf("%s=%s", name, sample_value(row));
        s += strlen(name);
        if (str_starts(name, owner[command]) || str_starts(name, "SLURM_HINT") ||
            (command == OPT_SRUN && str_starts(name, "SLURM")))
            check_note(row, command, NULL, env, opt_program(&(struct opt){.command = command}),
                       name);
    }
}

static void test_binding_of_resources(void **state)
{
    static const struct {
        const char *text, *gpus; /* gpus NULL: rejected */
    } cases[] = {{"gres/gpu:closest", "closest"},
                 {"GRES/gpu:verbose,single:2", "verbose,single:2"},
                 {"gres/gpu:per_task:1", "per_task:1"},
                 {"gres/gpu:verbose,map:0,1*2", "verbose,map_gpu:0,1*2"},
                 {"gres/nic:none+gres/gpu:mask:0x3,c*4", "mask_gpu:0x3,c*4"},
                 {"", NULL},
                 {"gpu:closest", NULL},
                 {"gres/gpu", NULL},
                 {"gres/:closest", NULL},
                 {"gres/gpu:", NULL},
                 {"gres/gpu:near", NULL},
                 {"gres/gpu:closest:1", NULL},
                 {"gres/gpu:single", NULL},
                 {"gres/gpu:single:0", NULL},
                 {"gres/gpu:map:", NULL},
                 {"gres/gpu:map:1,,2", NULL},
                 {"gres/gpu:map:a", NULL},
                 {"gres/gpu:map:1*", NULL},
                 {"gres/gpu:map_gpu:1", NULL},
                 {"gres/gpu:closest+gres/gpu:none", NULL},
                 {"gres/n c:closest", NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct opt o;
        struct err err = {0};
        opt_init(&o, OPT_SRUN);
        int rc = opt_set_tres_bind(&o, cases[i].text, &err);
        assert_int_equal(rc == 0, cases[i].gpus != NULL);
        if (cases[i].gpus)
            assert_string_equal(opt_gpu_bind(&o), cases[i].gpus);
        else
            assert_non_null(strstr(err.text, "it is gres/NAME:[verbose,]TYPE"));
        assert_int_equal(notes_of(&o), cases[i].gpus && strstr(cases[i].text, "nic") ? 1 : 0);
        opt_done(&o);
    }
}

static void test_frequency_of_gpus(void **state)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {{"low", true},
                 {"450", true},
                 {"medium,memory=high", true},
                 {"memory=HighM1,verbose", true},
                 {"", false},
                 {"verbose", false},
                 {"fast", false},
                 {"0", false},
                 {"low,high", false},
                 {"memory=low,memory=high", false},
                 {"gpu=low", false},
                 {"memory=", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct opt o;
        opt_init(&o, OPT_SRUN);
        assert_int_equal(opt_set_gpu_freq(&o, cases[i].text, NULL) == 0, cases[i].good);
        opt_done(&o);
    }
}

/* No option is silently ignored: every row without effect writes one note, or is rejected, in every
 * source. */
static void test_ineffective_options_are_reported(void **state)
{
    static const enum opt_command commands[] = {OPT_SRUN, OPT_SBATCH, OPT_SALLOC};
    unsigned checked = 0;
    for (size_t i = 0; i < opt_row_count * 3; i++) {
        const struct opt_row *row = &opt_rows[i / 3];
        enum opt_command command = commands[i % 3];
        if (!(row->commands & command) ||
            (row->type != OPT_T_IGNORED && row->type != OPT_T_REFUSED &&
             row->type != OPT_T_PLANNED && !(row->commands & OPT_INERT)))
            continue;
        bool plain = row->argument == OPT_ARG_NO;
        _cleanup_free_ char *word =
            mem_printf("--%s%s%s", row->name, plain ? "" : "=", plain ? "" : sample_value(row));
        _cleanup_free_ char *argv = mem_printf("command|%s|%s|x", word, word);
        check_note(row, command, NULL, "", argv, "");
        check_variables(row, command);
        if (command == OPT_SBATCH) {
            _cleanup_free_ char *script = mem_printf("#!/bin/sh\n#SBATCH %s\n", word);
            check_note(row, command, script, "", "sbatch|x", "");
        }
        checked++;
    }
    assert_true(checked > 30);
}

static void test_values_that_request_nothing_are_accepted(void **state)
{
    static const char *const lines[] = {
        "sbatch|--gres=none|--cpus-per-gpu=None|--mail-type=NONE|--hint=none|--profile=none",
        "sbatch|--gres=|--dependency=|--licenses=|--reservation=|-a|",
        "sbatch|-m|block|--exclusive",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct opt o;
        assert_int_equal(apply_options(&o, OPT_SBATCH, NULL,
                                       "SBATCH_GRES=none|SBATCH_RESERVATION=", lines[i], NULL),
                         0);
        assert_int_equal(o.notes.len, 0);
        opt_done(&o);
    }
}

/* --gres and --gpus-per-node, --tres-per-task and --gpus-per-task: GPUs in both are counted once.
 */
static void test_gpus_of_two_options(void **state)
{
    static const struct {
        const char *argv, *node, *task; /* NULL: none; "refused" */
    } v[] = {
        {"sbatch|--gres=gpu:2", "gres:gpu:2", NULL},
        {"sbatch|--gpus-per-node=2", "gres:gpu:2", NULL},
        {"sbatch|--gres=none|--gpus-per-node=2", "gres:gpu:2", NULL},
        {"sbatch|--gres=nic:1|--gpus-per-node=2", "gres:nic:1,gres:gpu:2", NULL},
        {"sbatch|--gres=gpumem:1|--gpus-per-node=2", "gres:gpumem:1,gres:gpu:2", NULL},
        {"sbatch|--gres=gpu:2,nic:1|--gpus-per-node=2", "gres:gpu:2,gres:nic:1", NULL},
        {"sbatch|--gres=gpu|--gpus-per-node=1", "gres:gpu", NULL},
        {"sbatch|--gres=gpu:2k|--gpus-per-node=2048", "gres:gpu:2k", NULL},
        {"sbatch|--gres=gpu=2|--gpus-per-node=2", "gres:gpu=2", NULL},
        {"sbatch|--gres=gpu:a:2|--gpus-per-node=2", "gres:gpu:a:2", NULL},
        {"sbatch|--gres=gpu:2|--gpus-per-node=a:2", "gres:gpu:a:2", NULL},
        {"sbatch|--gres=gpu:a|--gpus-per-node=a:1", "gres:gpu:a", NULL},
        {"sbatch|--gres=gpu:a:2|--gpus-per-node=b:1", "gres:gpu:a:2,gres:gpu:b:1", NULL},
        {"sbatch|--gres=gpu:a:2|--gpus-per-node=a:2,b:1", "gres:gpu:a:2,gres:gpu:b:1", NULL},
        {"sbatch|--gres=gpu|--gpus-per-node=2", "refused", NULL},
        {"sbatch|--gres=gpu:2|--gpus-per-node=3", "refused", NULL},
        {"sbatch|--gres=gpu:a:2|--gpus-per-node=a:1", "refused", NULL},
        {"sbatch|--gres=gpu:2|--gpus-per-node=a:1,b:2", "refused", NULL},
        {"sbatch|-n2|--tres-per-task=gres/gpu:1|--gpus-per-task=1", NULL, "gres:gpu:1"},
        {"sbatch|-n2|--tres-per-task=gres/gpu:1|--gpus-per-task=2", "refused", NULL},
        {"sbatch|-n2|--tres-per-task=cpu=2,gres/nic=1,cpu=3", NULL, "gres:nic:1"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        struct err err = {0};
        bool refused = apply_options(&o, OPT_SBATCH, NULL, "", v[i].argv, &err) != 0;
        if (refused)
            assert_non_null(strstr(err.text, "contradict each other"));
        if (!str_eq(refused ? "refused" : o.node_gres, v[i].node) ||
            (!refused && !str_eq(o.task_gres, v[i].task)))
            fail_msg("%s: %s, %s", v[i].argv, refused ? err.text : o.node_gres, o.task_gres);
        opt_done(&o);
    }
}

/* CPUs and GPUs per task from two options: the higher source wins. */
static void test_tres_of_each_task(void **state)
{
    static const struct {
        const char *env, *argv;
        uint32_t cpus;
        const char *gres;
    } v[] = {
        {"", "srun|--tres-per-task=cpu=2,gres/gpu:a=1", 2, "gres:gpu:a:1"},
        {"", "srun|--tres-per-task=gres/gpu:1,cpu:3", 3, "gres:gpu:1"},
        {"", "srun|--tres-per-task=cpu=2|-c2", 2, NULL},
        {"SLURM_TRES_PER_TASK=cpu=2", "srun|-c3", 3, NULL},
        {"SLURM_CPUS_PER_TASK=2", "srun|--tres-per-task=cpu=3", 3, NULL},
        {"SLURM_CPUS_PER_TASK=4|SLURM_TRES_PER_TASK=cpu=2", "srun", 4, NULL},
        {"SLURM_GPUS_PER_TASK=2|SLURM_TRES_PER_TASK=cpu=2,gres/gpu=2", "srun", 2, "gres:gpu:2"},
        {"SLURM_GPUS_PER_TASK=2", "srun|--tres-per-task=gres/gpu:1", 0, "gres:gpu:1"},
        {"SLURM_TRES_PER_TASK=gres/gpu=2,gres/nic=1", "srun|--gpus-per-task=1", 0,
         "gres:nic:1,gres:gpu:1"},
        {"SLURM_TRES_PER_TASK=gres/gpu=2", "srun|--gpus-per-task=1", 0, "gres:gpu:1"},
    };
    static const struct refusal bad[] = {
        {OPT_SBATCH, NULL, "", "sbatch|--tres-per-task=cpu=2|-c3", OPT_FAIL_ERROR, 1,
         "--cpus-per-task=3 and --tres-per-task=cpu=2 contradict each other"},
        {OPT_SBATCH, NULL, "", "sbatch|--tres-per-task=cpu=0", OPT_FAIL_ERROR, 255,
         "Invalid --tres-per-task specification: cpu=0"},
        {OPT_SBATCH, NULL, "", "sbatch|--tres-per-task=gres/gpu=1,mem=1", OPT_FAIL_ERROR, 1,
         "Invalid --tres-per-task specification: mem=1: use cpu=COUNT, gres/NAME=COUNT or "
         "license/NAME=COUNT"},
        {OPT_SBATCH, NULL, "", "sbatch|--tres-per-task=license/=1", OPT_FAIL_ERROR, 255,
         "Invalid --tres-per-task specification: license/=1"},
        {OPT_SBATCH, NULL, "", "sbatch|--tres-per-task=license/x=0", OPT_FAIL_ERROR, 255,
         "Invalid --tres-per-task specification: license/x=0"},
        {OPT_SBATCH, NULL, "", "sbatch|-n3|--tres-per-task=license/x=1g", OPT_FAIL_ERROR, 1,
         "--tres-per-task=license/x=1073741824: 3 tasks need too many"},
    };

    expect_refusals(bad, sizeof(bad) / sizeof(bad[0]));
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        _cleanup_free_ char *env = mem_printf("SLURM_JOB_ID=7|%s", v[i].env);

        assert_int_equal(apply_options(&o, OPT_SRUN, NULL, env, v[i].argv, NULL), 0);
        if (o.cpus_per_task != v[i].cpus || !str_eq(o.task_gres, v[i].gres))
            fail_msg("%s %s: %u, %s", v[i].env, v[i].argv, o.cpus_per_task, o.task_gres);
        opt_done(&o);
    }
}

/* --ntasks-per-gpu with a GPU count determines the task count. */
static void test_tasks_of_gpus(void **state)
{
    static const struct {
        const char *argv;
        uint32_t tasks;
    } v[] = {
        {"salloc|--gpus=a:2,b:1|--ntasks-per-gpu=2", 6},
        {"salloc|-N3|--gpus-per-node=2|--ntasks-per-gpu=1", 6},
        {"salloc|-N2|--gres=gpu:a=2|--ntasks-per-gpu=3", 12},
        {"salloc|--gpus=2|--ntasks-per-gpu=2|-n3", 3},
        {"salloc|--gpus=2147483647|--ntasks-per-gpu=2", 0},
    };

    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;

        assert_int_equal(apply_options(&o, OPT_SALLOC, NULL, "", v[i].argv, NULL), 0);
        if (o.ntasks != v[i].tasks)
            fail_msg("%s: %u", v[i].argv, o.ntasks);
        opt_done(&o);
    }
}

static void test_ineffective_values_are_reported(void **state)
{
    static const struct {
        enum opt_command command;
        const char *env, *argv, *notes;
    } v[] = {
        {OPT_SBATCH, "", "sbatch|-mblock:cyclic:block", ""},
        {OPT_SBATCH, "", "sbatch|--exclusive=mcs",
         "warning: option --exclusive=mcs keeps all other jobs away, as --exclusive does\n"},
        {OPT_SBATCH, "SBATCH_EXCLUSIVE=yes", "sbatch", ""},
        {OPT_SBATCH, "", "sbatch|--hint=compute_bound|--threads-per-core=1",
         "warning: option --hint has no effect beside --threads-per-core\n"},
        {OPT_SBATCH, "", "sbatch|--mail-type=END,array_tasks|--mail-type=ARRAY_TASKS", ""},
        {OPT_SRUN, "", "srun|--mail-type=STAGE_OUT|x", ""},
        {OPT_SALLOC, "", "salloc|--mail-type=INVALID_DEPEND", ""},
        {OPT_SALLOC, "", "salloc|--mail-type=ALL,TIME_LIMIT_80,REQUEUE", ""},
        {OPT_SBATCH, "SBATCH_DELAY_BOOT=5", "sbatch",
         "warning: option --delay-boot is accepted and has no effect (from SBATCH_DELAY_BOOT)\n"},
        {OPT_SBATCH, "SBATCH_DELAY_BOOT=5", "sbatch|--delay-boot=6",
         "warning: option --delay-boot is accepted and has no effect (from SBATCH_DELAY_BOOT)\n"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        assert_int_equal(apply_options(&o, v[i].command, NULL, v[i].env, v[i].argv, NULL), 0);
        assert_string_equal(str_cstr(&o.notes), v[i].notes);
        opt_done(&o);
    }
}

static void test_help_shows_every_option_once(void **state)
{
    _cleanup_str_ struct str help = STR_INIT;
    opt_format_help(OPT_SBATCH, &help);
    assert_non_null(strstr(str_cstr(&help), "\n  -N, --nodes=min[-max] "));
    assert_non_null(strstr(str_cstr(&help), " --mem-bind"));
    assert_null(strstr(str_cstr(&help), "--nprocs"));
    assert_null(strstr(str_cstr(&help), "--label"));
}

static void test_propagated_limits_follow_the_list(void **state)
{
    assert_true(opt_propagates(NULL, "NOFILE"));
    assert_true(opt_propagates("ALL", "NOFILE"));
    assert_false(opt_propagates("NONE", "NOFILE"));
    assert_true(opt_propagates("core,RLIMIT_NOFILE", "NOFILE"));
    assert_false(opt_propagates("core,RLIMIT_NOFILE", "AS"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_command_lines_are_refused),
        cmocka_unit_test(test_invalid_values_list_the_valid_ones),
        cmocka_unit_test(test_distributions_are_parsed),
        cmocka_unit_test(test_core_options_are_parsed),
        cmocka_unit_test(test_option_beside_contrary_variable),
        cmocka_unit_test(test_words_of_a_script_line),
        cmocka_unit_test(test_value_of_the_highest_source_counts),
        cmocka_unit_test(test_operands_end_the_options),
        cmocka_unit_test(test_lists_of_node_counts),
        cmocka_unit_test(test_licenses_of_tasks),
        cmocka_unit_test(test_option_names_of_2002_are_accepted),
        cmocka_unit_test(test_inside_an_allocation),
        cmocka_unit_test(test_tasks_per_node),
        cmocka_unit_test(test_options_fill_the_job_spec),
        cmocka_unit_test(a_job_id_names_a_component),
        cmocka_unit_test(test_options_fill_the_step_spec),
        cmocka_unit_test(test_option_table_is_sorted_and_complete),
        cmocka_unit_test(test_help_shows_every_option_once),
        cmocka_unit_test(test_propagated_limits_follow_the_list),
        cmocka_unit_test(test_ineffective_options_are_reported),
        cmocka_unit_test(test_binding_of_resources),
        cmocka_unit_test(test_frequency_of_gpus),
        cmocka_unit_test(test_values_that_request_nothing_are_accepted),
        cmocka_unit_test(test_ineffective_values_are_reported),
        cmocka_unit_test(test_gpus_of_two_options),
        cmocka_unit_test(test_tres_of_each_task),
        cmocka_unit_test(test_tasks_of_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
