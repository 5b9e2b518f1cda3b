/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests each sentence of srun(1), sbatch(1) and salloc(1) about options that exclude each other. */
#include "cli/opt_test_util.h"

#define BESIDE " is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
#define MEMORY_OPTIONS "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."
#define MEMORY_VARIABLES                                                                           \
    "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive."
#define GRES "Invalid generic resource (gres) specification: Failed to "

static void conflicting_options_of_one_source_are_refused(void **state)
{
    static const struct refusal v[] = {
        {OPT_SBATCH, NULL, "", "sbatch|--exclusive|--oversubscribe", OPT_FAIL_ERROR, 1,
         "--exclusive and --oversubscribe are mutually exclusive."},
        {OPT_SALLOC, NULL, "", "salloc|-s|--exclusive=user", OPT_FAIL_ERROR, 1,
         "--exclusive and --oversubscribe are mutually exclusive."},
        {OPT_SBATCH, "#SBATCH --exclusive\n#SBATCH -s\n", "", "sbatch", OPT_FAIL_ERROR, 1,
         "--exclusive and --oversubscribe are mutually exclusive."},
        {OPT_SRUN, NULL, "", "srun|--exclusive|--overlap", OPT_FAIL_ERROR, 1,
         "--exclusive and --overlap are mutually exclusive."},
        {OPT_SRUN, NULL, "", "srun|--exact|--whole", OPT_FAIL_ERROR, 1,
         "--exact and --whole are mutually exclusive."},
        {OPT_SALLOC, NULL, "", "salloc|--core-spec=1|--thread-spec=2", OPT_FAIL_ERROR, 1,
         "--core-spec and --thread-spec are mutually exclusive."},
        {OPT_SRUN, NULL, "", "srun|-G1|--ntasks-per-gpu=2|--ntasks-per-node=2", OPT_FAIL_FATAL, 1,
         "--ntasks-per-node" BESIDE},
        {OPT_SBATCH, NULL, "", "sbatch|--ntasks-per-gpu=2|--gpus-per-socket=1", OPT_FAIL_FATAL, 1,
         "--gpus-per-socket" BESIDE},
        {OPT_SBATCH, NULL, "", "sbatch|-n2|--ntasks-per-gpu=2|--gpus-per-task=1", OPT_FAIL_FATAL, 1,
         "--gpus-per-task" BESIDE},
        {OPT_SBATCH, NULL, "", "sbatch|-N1-2|-G2|--ntasks-per-gpu=2", OPT_FAIL_ERROR, 1,
         "--ntasks-per-gpu cannot be used with a range of nodes (-N 1-2)"},
        {OPT_SBATCH, NULL, "", "sbatch|--ntasks-per-core=2|--threads-per-core=1", OPT_FAIL_ERROR, 1,
         "--ntasks-per-core=2 is greater than --threads-per-core=1"},
        {OPT_SRUN, NULL, "", "srun|-N2|-marbitrary|-wn[1-2]", OPT_FAIL_ERROR, 1,
         "--nodes cannot be used with --distribution=arbitrary: the list of nodes says how many"},
        {OPT_SBATCH, NULL, "", "sbatch|--begin=uts200|--deadline=uts100", OPT_FAIL_ERROR, 1,
         "Incompatible begin and deadline time specification"},
        {OPT_SRUN, NULL, "", "srun|--pty|--output=x", OPT_FAIL_ERROR, 1,
         "--error/--input/--output are incompatible with --pty"},
        {OPT_SRUN, NULL, "", "srun|-ix|--pty", OPT_FAIL_ERROR, 1,
         "--error/--input/--output are incompatible with --pty"},
        {OPT_SALLOC, NULL, "", "salloc|--mem-per-gpu=1|--mem-per-cpu=1", OPT_FAIL_FATAL, 1,
         MEMORY_OPTIONS},
        {OPT_SBATCH, NULL, "SBATCH_MEM_PER_NODE=1|SBATCH_MEM_PER_CPU=1", "sbatch", OPT_FAIL_FATAL,
         1, MEMORY_VARIABLES},
        {OPT_SALLOC, NULL, "SALLOC_MEM_PER_GPU=1|SALLOC_MEM_PER_CPU=1", "salloc", OPT_FAIL_FATAL, 1,
         MEMORY_VARIABLES},
        {OPT_SRUN, NULL, "SLURM_MEM_PER_NODE=1|SLURM_MEM_PER_GPU=1", "srun", OPT_FAIL_FATAL, 1,
         MEMORY_VARIABLES},
    };

    expect_refusals(v, sizeof(v) / sizeof(v[0]));
}

/* GPUs per job, node, socket and task describe the same GPUs. */
static void contradictory_gpu_counts_are_refused(void **state)
{
    static const struct {
        const char *argv, *text; /* text NULL: accepted */
    } v[] = {
        {"sbatch|--gpus-per-task=1",
         GRES "validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is not "
              "allowed."},
        {"sbatch|--gpus-per-task=1|-N1-2",
         GRES "validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is not "
              "allowed."},
        {"sbatch|--gpus-per-task=1|-N2", NULL},
        {"sbatch|--gpus-per-task=1|-n2", NULL},
        {"sbatch|--gpus-per-task=1|--ntasks-per-node=2", NULL},
        {"sbatch|--gpus-per-task=1|--gpus=2", NULL},
        {"sbatch|--gpus-per-task=2|--gpus=3",
         GRES "validate job spec, --gpus not multiple of --gpus-per-task"},
        {"sbatch|--gpus-per-task=1|--gpus=2|-n4",
         GRES "validate job spec. Based on --gpus and --gpus-per-task number of requested tasks "
              "differ from -n/--ntasks."},
        {"sbatch|--gpus-per-task=2|--gpus=1|-n1", GRES "ensure --gpus >= --gpus-per-task"},
        {"sbatch|--gpus-per-node=2|--gpus=3",
         GRES "validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node"},
        {"sbatch|--gres=gpu:4|--gpus=2",
         GRES "ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket"},
        {"sbatch|--gpus-per-node=2|--gpus=4|-N1",
         GRES "validate job spec. Based on --gpu and --gres=gpu/--gpus-per-node required nodes "
              "doesn't fall between min_nodes and max_nodes boundaries."},
        {"sbatch|--gpus-per-node=2|--gpus=4|-N1-2", NULL},
        {"sbatch|--gpus-per-node=3|--gpus-per-socket=2|--sockets-per-node=2",
         GRES "validate job spec, --gres=gpu/--gpus-per-node not multiple of --gpus-per-socket."},
        {"sbatch|--gpus-per-node=2|--gpus-per-socket=2|--sockets-per-node=2",
         GRES "validate job spec. Based on --gres=gpu/--gpus-per-node and --gpus-per-socket "
              "required number of sockets differ from --sockets-per-node."},
        {"sbatch|--gpus-per-node=3|--gpus-per-task=2|-n1",
         GRES "validate job spec, --gres=gpu/--gpus-per-node not multiple of --gpus-per-task."},
        {"sbatch|--ntasks-per-gpu=2|-n3",
         GRES "validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-gpu."},
        {"sbatch|--ntasks-per-gpu=2|-n4", NULL},
        {"sbatch|--ntasks-per-gpu=2|-n3|-G2", NULL},
        {"sbatch|-N2|-G1",
         GRES "validate job spec, --gpus < -N: each node of a job has at least one GPU"},
        {"sbatch|-N2|-n1|-G1", NULL},
        {"sbatch|-N1-4|-G1", NULL},
        {"sbatch|--gpus=a:3|--gpus-per-node=b:2", NULL},
        {"sbatch|--gpus=a:3,b:1|--gpus-per-node=2", NULL},
        {"sbatch|--gpus=a:3|--gpus-per-node=2",
         GRES "validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node"},
    };

    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct opt o;
        struct err err = {0};
        bool refused = apply_options(&o, OPT_SBATCH, NULL, "", v[i].argv, &err) != 0;
        if (!str_eq(refused ? err.text : NULL, v[i].text))
            fail_msg("%s: %s", v[i].argv, refused ? err.text : "accepted");
        opt_done(&o);
    }
}

/* In a job the job's variables are set too: options of srun take precedence. */
static void conflicting_option_of_the_lower_source_is_dropped(void **state)
{
    struct opt o;

    assert_int_equal(
        apply_options(&o, OPT_SBATCH, "#SBATCH --exclusive=user\n", "", "sbatch|-s", NULL), 0);
    assert_true(o.oversubscribe && !o.exclusive && !o.exclusive_user);
    opt_done(&o);
    assert_int_equal(
        apply_options(&o, OPT_SBATCH, "#SBATCH -s\n", "SBATCH_EXCLUSIVE=", "sbatch", NULL), 0);
    assert_true(!o.oversubscribe && o.exclusive);
    opt_done(&o);
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, "SLURM_OVERLAP=1|SLURM_WHOLE=1",
                                   "srun|--exclusive|--exact", NULL),
                     0);
    assert_true(o.exclusive && o.exact && !o.overlap && !o.whole);
    opt_done(&o);
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, "SLURM_THREAD_SPEC=2", "srun|-S1", NULL), 0);
    assert_true(o.core_spec == 1 && o.thread_spec == 0);
    opt_done(&o);
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, "SLURM_NTASKS_PER_GPU=2",
                                   "srun|-n1|--gpus-per-task=1", NULL),
                     0);
    assert_true(o.ntasks_per_gpu == 0 && str_eq(o.gpus_per_task, "gres:gpu:1"));
    opt_done(&o);
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, "SLURM_NTASKS_PER_CORE=2",
                                   "srun|--threads-per-core=1", NULL),
                     0);
    assert_true(o.ntasks_per_core == 0 && o.threads_per_core == 1);
    opt_done(&o);
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, "SLURM_THREADS_PER_CORE=1",
                                   "srun|--ntasks-per-core=2", NULL),
                     0);
    assert_true(o.ntasks_per_core == 2 && o.threads_per_core == 0);
    opt_done(&o);
    assert_int_equal(apply_options(&o, OPT_SRUN, NULL, "SLURM_MEM_PER_CPU=1|SLURM_MEM_PER_NODE=2",
                                   "srun|--mem=3", NULL),
                     0);
    assert_true(opt_given(&o, OPT_ID_mem) && !opt_given(&o, OPT_ID_mem_per_cpu));
    assert_int_equal(o.mem_per_node_mib, 3);
    opt_done(&o);
}

static void hint_is_ignored_beside_counts(void **state)
{
    static const char *const counts[] = {"--cores-per-socket", "--sockets-per-node"};

    for (size_t i = 0; i < 2; i++) {
        struct opt o;
        _cleanup_free_ char *argv = mem_printf("salloc|--hint=compute_bound|%s=1", counts[i]);
        _cleanup_free_ char *note =
            mem_printf("warning: option --hint has no effect beside %s\n", counts[i]);
        assert_int_equal(apply_options(&o, OPT_SALLOC, NULL, "", argv, NULL), 0);
        assert_string_equal(str_cstr(&o.notes), note);
        assert_int_equal(o.threads_per_core, 0);
        opt_done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conflicting_options_of_one_source_are_refused),
        cmocka_unit_test(contradictory_gpu_counts_are_refused),
        cmocka_unit_test(conflicting_option_of_the_lower_source_is_dropped),
        cmocka_unit_test(hint_is_ignored_beside_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
