/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The examples of Slurm's CPU management guide: the CPUs allocated on each node, and the tasks of
 * the step on each node.
 */
#include "cluster/cluster_test_util.h"
#include "cluster/job/job.h"
#include "control/fixture.h"

/* The cluster of the guide. */
#define NODES                                                                                      \
    "\nNodeName=n[0-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=1\n"                              \
    "NodeName=n3 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n"                                    \
    "PartitionName=regnodes Nodes=n[0-2] OverSubscribe=YES Default=YES\n"                          \
    "PartitionName=hypernode Nodes=n3\n"
#define TRES "SelectType=select/cons_tres\nSelectTypeParameters="
#define CORE TRES "CR_Core" NODES
#define BLOCK TRES "CR_Core,CR_CORE_DEFAULT_DIST_BLOCK" NODES

struct guide_example {
    const char *number, *conf;
    const char *words, *distribution; /* NULL: none */
    const char *cpus;                 /* of the allocation, counted by sockets, cores and threads */
    const char *tasks;                /* of a step in the whole allocation, by number */
};

static const struct guide_example examples[] = {
    {"1", "SelectType=select/linear" NODES, "N=2", NULL, "n0:0-7 n1:0-7", "n0:0 n1:1"},
    {"2", CORE, "N=1 n=2 c=3", NULL, "n0:0-2,4-6", "n0:0-1"},
    {"3", CORE, "N=3 n=3 c=3", NULL, "n0:0-1,4 n1:0-1,4 n2:0-1,4", "n0:0 n1:1 n2:2"},
    {"4", BLOCK, "n=12", NULL, "n0:0-7 n1:0-3", "n0:0-7 n1:8-11"},
    {"5", CORE, "N=2 per-node=3 n=6 c=2", "cyclic", "n0:0-2,4-6 n1:0-2,4-6", "n0:0,2,4 n1:1,3,5"},
    {"6", CORE, "N=3 n=8 c=2", "plane=2", "n0:0-7 n1:0-2,4-6 n2:0,4", "n0:0-1,5-6 n1:2-3,7 n2:4"},
    /* The guide says all CPUs of the node; srun(1) says the CPUs of one task, as Slurm does. */
    {"7", CORE, "N=1 n=20 overcommit", NULL, "n0:0", "n0:0-19"},
    /* The second of two jobs: it shares CPUs because the first one leaves too few. */
    {"8", CORE, "N=1 w=n0 n=6 share", NULL, "n0:0-1,3-5,7", "n0:0-5"},
    {"9", CORE, "p=hypernode n=8 threads=1", NULL, "n3:0,2,4,6,8,10,12,14", "n3:0-7"},
    {"10, 11", CORE, "N=1 n=6", NULL, "n0:0-2,4-6", "n0:0-5"},
    {"12", BLOCK, "N=1 n=2 c=3", "block:block", "n0:0-5", "n0:0-1"},
    /* The guide says CPUs 0-5; by slurm.conf(5) the option overrides the default, as in Slurm. */
    {"13", BLOCK, "N=1 n=2 c=3", "block:cyclic", "n0:0-2,4-6", "n0:0-1"},
    {"14", BLOCK, "N=3 n=18 per-node=6", "cyclic:block", "n0:0-5 n1:0-5 n2:0-5",
     "n0:0,3,6,9,12,15 n1:1,4,7,10,13,16 n2:2,5,8,11,14,17"},
    {"15", BLOCK, "n=3 c=3 per-node=1", NULL, "n0:0-2 n1:0-2 n2:0-2", "n0:0 n1:1 n2:2"},
    {"16", CORE, "N=1 n=6", NULL, "n0:0-2,4-6", "n0:0-5"},
};

static struct caller user = FIXTURE_USER;

static void add_list(struct str *out, const char *node, const struct idset *numbers)
{
    str_printf(out, "%s%s:", out->len ? " " : "", node);
    idset_format(numbers, out);
}

/* Writes "n0:0-3 n1:0": the CPUs of a running job. */
static void format_cpus(struct fixture *f, uint32_t job, struct str *out)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobRecord *r = fixture_job(f, &arena, job);
    assert_int_equal(r->live->state, PB__JOB_STATE__RUNNING);
    for (size_t i = 0; i < r->live->n_alloc; i++) {
        const Pb__NodeAlloc *a = r->live->alloc[i];
        struct idset set = {0};
        for (uint32_t bit = 0; bit < a->cores.len * 8; bit++)
            if (a->cores.data[bit / 8] >> (bit % 8) & 1)
                idset_add(&set, bit * a->cpus_per_core);
        add_list(out, a->node, &set);
        idset_done(&set);
    }
}

/* Writes "n0:0,2 n1:1": the tasks of a step in the whole job. */
static void format_tasks(struct fixture *f, uint32_t job, const Pb__JobSpec *of, struct str *out)
{
    _cleanup_arena_ struct arena arena;
    Pb__StepSpec s = PB__STEP_SPEC__INIT;
    arena_init(&arena, 0);
    s.has_job_id = true;
    s.job_id = job;
    s.has_num_tasks = of->has_num_tasks;
    s.num_tasks = of->num_tasks;
    s.has_cpus_per_task = of->has_cpus_per_task;
    s.cpus_per_task = of->cpus_per_task;
    s.distribution = of->distribution;
    control_step_create(f->control, ++f->last_call, &user, &s);
    fixture_turn(f);
    if (fixture_code(f, f->last_call) != 0)
        fail_msg("no step: %s", fixture_text(f, f->last_call));
    const Pb__StepReply *reply = NULL;
    vec_foreach (&f->replies, r)
        if (r->call == f->last_call)
            reply = arena_unpack(&arena, &pb__step_reply__descriptor, r->data.data, r->data.len);
    for (size_t i = 0; i < reply->n_layout; i++) {
        struct idset set = {0};
        for (size_t t = 0; t < reply->layout[i]->n_task_ids; t++)
            idset_add(&set, reply->layout[i]->task_ids[t]);
        add_list(out, reply->layout[i]->node, &set);
        idset_done(&set);
    }
}

static void check_example(const struct guide_example *e, bool twice)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3"};
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str cpus = STR_INIT, tasks = STR_INIT;
    struct fixture *f = fixture_new(e->conf);
    arena_init(&arena, 0);
    for (size_t i = 0; i < COUNT(names); i++)
        fixture_register(f, names[i], "i1");
    Pb__JobSpec spec = test_spec(&arena, e->words);
    spec.distribution = (char *)e->distribution;
    int64_t id = fixture_submit(f, &user, &spec);
    if (id > 0 && twice)
        id = fixture_submit(f, &user, &spec);
    fixture_turn(f);
    assert_true(id > 0);
    format_cpus(f, (uint32_t)id, &cpus);
    format_tasks(f, (uint32_t)id, &spec, &tasks);
    if (!str_eq(str_cstr(&cpus), e->cpus) || !str_eq(str_cstr(&tasks), e->tasks))
        fail_msg("example %s: CPUs %s, expected %s; tasks %s, expected %s", e->number,
                 str_cstr(&cpus), e->cpus, str_cstr(&tasks), e->tasks);
    fixture_free(f);
}

static void examples_of_the_guide_are_allocated_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(examples); i++)
        check_example(&examples[i], str_eq(examples[i].number, "8"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples_of_the_guide_are_allocated_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
