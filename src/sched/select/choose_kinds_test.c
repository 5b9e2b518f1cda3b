/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests on an idle cluster with different nodes: the chosen nodes (CORE-137 to 142). The rows of
 * the first test have the results of Slurm 22.05. The rows of the second test differ from Slurm,
 * for the reason given with each.
 */
#include "sched/sched_test_util.h"

static const char conf[] =
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\n"
    "NodeName=n[1-4] Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000 Feature=a\n"
    "NodeName=n[5-8] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=16000 Feature=b\n"
    "NodeName=n[9-10] Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=32000 Weight=10\n"
    "NodeName=n[11-12] Sockets=1 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=8000 Feature=a\n"
    "PartitionName=p Nodes=ALL Default=YES\n";

/* Checks each row on a new cluster. */
static void check_rows(const struct test_choice *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        test_check_choices(conf, NULL, &rows[i], 1);
}

static void nodes_are_those_that_slurm_chooses(void **state)
{
    static const struct test_choice rows[] = {
        /* one node where one is enough: the best fit of the run */
        {"n=4", "n11"},
        {"n=9", "n5"},
        {"n=12", "n5"},
        {"n=16", "n5"},
        {"n=12 x=n[9-12]", "n5"},
        {"n=12 exclusive", "n5"},
        {"N=1 n=10", "n5"},
        {"n=1 c=6 mincpus=2", "n5"},
        {"n=12 w=n11", "n[5,11]"},
        /* the shortest run that has all of it */
        {"n=8 x=n[5-8]", "n[11-12]"},
        {"N=2 n=5", "n[11-12]"},
        {"n=10 C=a", "n[1-3]"},
        {"n=20", "n[1-5]"},
        {"n=24", "n[1-5]"},
        {"n=60", "n[1-7]"},
        {"n=24 exclusive", "n[1-5]"},
        {"n=12 c=3 exclusive", "n[1-6]"},
        {"n=32 tasks-per-core=2", "n[1-5]"},
        {"n=32 c=2 tasks-per-core=2", "n[1-7]"},
        {"n=40 mem-per-cpu=1500", "n[1-8]"},
        {"n=16 tasks-per-socket=4", "n[1-4]"},
        {"n=100", "n[1-9,11-12]"},
        {"n=20 mincpus=8", "n[5-6]"},
        {"n=28 x=n[5-6]", "n[7-8]"},
        {"N=6 n=40", "n[1-6]"},
        {"N=3-5 n=30", "n[1-5]"},
        {"N=5 x=n3", "n[4-8]"},
        {"N=3 n=12 x=n2", "n[3-5]"},
        /* at a required node */
        {"n=17 w=n1", "n[1-5]"},
        {"n=5 spread", "n[1-5]"},
        {"N=2 n=24", "n[5-6]"},
        /* a node of low weight, and one of high weight for the missing resources */
        {"N=2 n=20 tasks-per-core=1", "n[1,9]"},
    };
    (void)state;
    check_rows(rows, COUNT(rows));
}

static void fewer_runs_are_chosen_than_by_slurm(void **state)
{
    static const struct test_choice rows[] = {
        /* Slurm uses two runs of nodes, one is possible */
        {"N=2-4 n=4", "n[1-4]"},                           /* n[1-2,11-12] */
        {"N=1-3", "n[1-3]"},                               /* n[1,11-12] */
        {"n=6 w=n3", "n[2-3]"},                            /* n[3,11] */
        {"N=1-3 n=6 w=n3", "n[1-3]"},                      /* n[3,11-12] */
        {"n=17 w=n5", "n[5-6]"},                           /* n[5,11] */
        {"N=3-6 n=3 c=3 x=n5,n7 use-min-nodes", "n[1-3]"}, /* n[6,11-12] */
        {"N=2 n=20", "n[4-5]"},                            /* n[1,5] */
        {"N=2 n=13", "n[4-5]"},                            /* n[1,5] */
        {"N=3 n=9 c=2", "n[3-5]"},                         /* n[1-2,5] */
        {"N=4 n=17", "n[2-5]"},                            /* n[1-3,5] */
        {"N=1-3 n=17", "n[3-5]"},                          /* n[1-2,5] */
        /* as few nodes in a shorter run */
        {"n=20 x=n6", "n[7-8]"},                      /* n[1-5] */
        {"n=40 mem-per-cpu=500 w=n9 x=n1", "n[7-9]"}, /* n[2-5,9] */
        {"N=3 n=30", "n[4-6]"},                       /* n[5-7] */
    };
    (void)state;
    check_rows(rows, COUNT(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_those_that_slurm_chooses),
        cmocka_unit_test(fewer_runs_are_chosen_than_by_slurm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
