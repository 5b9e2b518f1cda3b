/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/joint.h"
#include "sched/plan/ledger.h"
#include "sched/plan/timeline.h"
#include "sched/sched_test_util.h"

enum { NOW = 1000 };

static struct cluster *cluster_up(const char *text)
{
    struct cluster *c = test_cluster(text);
    test_up(c);
    return c;
}

/* A queued job set with the ids from 'first' on, one component for each text. */
static struct job *queue_set(struct cluster *c, uint32_t first, int64_t limit_sec, size_t count,
                             const char *const *words)
{
    for (uint32_t i = 0; i < count; i++) {
        struct job *j = test_job(c, first + i, words[i]);
        j->limit_sec = limit_sec;
        j->priority = 1000000 - first;
        assert_int_equal(job_set_join(c, j, first, i, (uint32_t)count, NULL), 0);
        job_partitions_queue(j);
    }
    return cluster_find_job(c, first);
}

static struct job *queue_job(struct cluster *c, uint32_t id, int64_t limit_sec, const char *words)
{
    struct job *j = test_job(c, id, words);
    j->limit_sec = limit_sec;
    j->priority = 1000000 - id;
    job_partitions_queue(j);
    return j;
}

static void start_job(struct cluster *c, struct job *j, const struct selection *where)
{
    _cleanup_free_ char *text = test_selection(c, where);
    job_partitions_unqueue(j);
    test_run_job(c, j, text, job_ends_at(j, NOW));
}

/* "1: n1:2/0 | n2:1/0" starts, "1: Resources@1100" waits. */
static void describe(const struct cluster *c, const struct decision *d, struct str *out)
{
    str_printf(out, "%s%u: ", out->len ? ", " : "", d->job->id);
    if (d->kind != PLAN_START) {
        assert_int_equal(d->more.list.len, 0);
        str_puts(out, reason_word(d->reason));
        if (d->start_at)
            str_printf(out, "@%lld", (long long)d->start_at);
        return;
    }
    _cleanup_free_ char *first = test_selection(c, &d->where);
    str_printf(out, "%s%s", d->backfilled ? "+" : "", first);
    vec_foreach (&d->more.list, part) {
        _cleanup_free_ char *where = test_selection(c, &part->where);
        str_printf(out, " | %s", where);
    }
}

static void start_parts(struct cluster *c, struct job *first, const struct decision *d)
{
    if (!d->more.order.len)
        start_job(c, first, &d->where);
    vec_foreach (&d->more.order, number) {
        const struct placement *part = *number ? &d->more.list.data[*number - 1] : NULL;
        start_job(c, part ? cluster_find_job(c, part->id) : first, part ? &part->where : &d->where);
    }
}

static void expect(struct cluster *c, bool backfill, const char *decisions)
{
    struct plan p;
    struct decision d;
    _cleanup_str_ struct str out = STR_INIT;
    plan_begin(&p, c, NULL, NOW, backfill);
    while (plan_next(&p, &d)) {
        describe(c, &d, &out);
        struct job *j = test_follow(c, &d);
        if (d.kind == PLAN_START) {
            start_parts(c, j, &d);
        }
        free(d.detail);
        plan_decision_done(&d);
    }
    plan_end(&p);
    test_sound(c);
    if (!str_eq(str_cstr(&out), decisions))
        fail_msg("expected '%s'\n     got '%s'", decisions, str_cstr(&out));
}

/* HET-97: a component that may use all nodes leaves to the other one those that only that one may
 * use. */
static void overlapping_partitions_start_at_once(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct cluster *c = cluster_up(CONS "NodeName=n[1-10] CPUs=2\n"
                                            "PartitionName=p1 Nodes=n[1-10]\n"
                                            "PartitionName=p2 Nodes=n[1-5]\n");
        const char *words[] = {"p=p1 N=5 n=5 exclusive", "p=p2 N=5 n=5 exclusive"};
        if (swapped) {
            words[0] = "p=p2 N=5 n=5 exclusive";
            words[1] = "p=p1 N=5 n=5 exclusive";
        }
        queue_set(c, 1, 100, 2, words);
        expect(c, true,
               swapped ? "1: n1:2/0 n2:2/0 n3:2/0 n4:2/0 n5:2/0 | "
                         "n6:2/0 n7:2/0 n8:2/0 n9:2/0 n10:2/0"
                       : "1: n6:2/0 n7:2/0 n8:2/0 n9:2/0 n10:2/0 | "
                         "n1:2/0 n2:2/0 n3:2/0 n4:2/0 n5:2/0");
        test_cluster_free(c);
    }
}

/* HET-95: components share a node. */
static void components_share_a_node(void **state)
{
    struct cluster *c =
        cluster_up(CONS "NodeName=n1 CPUs=8 RealMemory=100\nPartitionName=p Nodes=ALL\n");
    (void)state;
    queue_set(c, 1, 100, 3, (const char *[]){"n=2 mem=10", "n=2 mem=20", "n=4 mem=70"});
    queue_set(c, 5, 100, 2, (const char *[]){"n=1 mem=1", "n=1 mem=1"});
    expect(c, true, "1: n1:2/10 | n1:2/20 | n1:4/70, 5: Resources@1100");
    test_cluster_free(c);
}

/* HET-115: two components need the same resource, which is sufficient for one. */
static void all_start_or_none(void **state)
{
    struct cluster *c = cluster_up(CONS "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n");
    (void)state;
    test_run(c, 1, "n1:2", NOW + 50);
    queue_set(c, 2, 100, 2, (const char *[]){"n=4 N=1", "n=4 N=1"});
    queue_job(c, 9, 1000, "n=1 N=1");
    queue_job(c, 10, 40, "n=2 N=1");
    expect(c, true, "2: Resources@1050, 9: Priority, 10: +n1:2/0");
    test_cluster_free(c);
}

/* The set has one planned start, and starts behind that of another one only where it is not in its
 * way. */
static void a_set_keeps_and_respects_planned_starts(void **state)
{
    struct cluster *c = cluster_up(CONS "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL\n");
    (void)state;
    test_run(c, 1, "n1:4 n2:4", NOW + 100);
    queue_set(c, 2, 500, 2, (const char *[]){"n=8 N=2", "n=4 N=1"});
    queue_set(c, 5, 500, 2, (const char *[]){"n=4 N=1", "n=4 N=1"});
    queue_set(c, 8, 500, 2, (const char *[]){"n=2 N=1", "n=2 N=1"});
    queue_set(c, 11, 100, 2, (const char *[]){"n=2 N=1", "n=2 N=1"});
    expect(c, true, "2: Resources@1100, 5: Priority, 8: +n4:2/0 | n4:2/0, 11: +n3:2/0 | n3:2/0");
    test_cluster_free(c);
}

/* Without backfill the set blocks those behind it. */
/* A job has not left its node at the end of its limit. The set keeps that node, and the one that is
 * free, as an ordinary job does. */
static void a_set_waits_for_a_job_that_is_about_to_end(void **state)
{
    (void)state;
    for (int set = 0; set < 2; set++) {
        struct cluster *c = cluster_up(CONS "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n");
        test_run(c, 1, "n1:4", NOW - 5);
        if (set)
            queue_set(c, 2, 100, 2, (const char *[]){"n=4 N=1", "n=4 N=1"});
        else
            queue_job(c, 2, 100, "n=8 N=2");
        queue_job(c, 9, 40, "n=1 N=1");
        expect(c, true, "2: Resources@1000, 9: Priority");
        test_cluster_free(c);
    }
}

static void sets_start_in_order_without_backfill(void **state)
{
    struct cluster *c = cluster_up(CONS "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n");
    (void)state;
    test_run(c, 1, "n1:2", NOW + 50);
    queue_set(c, 2, 100, 2, (const char *[]){"n=4 N=1", "n=4 N=1"});
    queue_job(c, 9, 10, "n=1 N=1");
    expect(c, false, "2: Resources");
    test_cluster_free(c);
}

/* A set that never fits together has the reason of such a job, and is in nobody's way; one that
 * waits for nodes that are busy or down has not. */
static void set_that_never_fits_has_a_reason(void **state)
{
    static const struct {
        const char *words[3], *waits;
    } v[] = {
        {{"N=4 exclusive", "N=1"}, "BadConstraints"},
        {{"N=3 exclusive", "N=1"}, "Resources@1050"},
        {{"N=2 exclusive", "N=1 exclusive", "N=2"}, "BadConstraints"},
        {{"n=16", "n=1"}, "BadConstraints"},
        {{"n=16", "n=1 overcommit"}, "Resources"},
        {{"n=12", "n=3", "n=1"}, "Resources@1050"},
        {{"w=n1 N=1 exclusive", "w=n1 N=1"}, "BadConstraints"},
        {{"n=3 w=n2 N=1", "n=2 w=n2 N=1", "n=4"}, "BadConstraints"},
        {{"w=n2 exclusive", "w=n2"}, "BadConstraints"},
        {{"w=n2 exclusive", "w=n[2-3] exclusive"}, "BadConstraints"},
        {{"w=n1 exclusive", "w=n2"}, "Resources@1050"},
        {{"w=n2 exclusive", "N=4"}, "BadConstraints"},
        {{"w=n[2-3] exclusive", "n=9"}, "BadConstraints"},
        {{"w=n[2-3] exclusive", "n=8"}, "Resources@1050"},
        {{"w=n2 n=2 c=3", "w=n2 n=1 c=2", "w=n3"}, "BadConstraints"},
        {{"w=n2 n=2 c=3", "w=n2 n=1 c=1", "w=n1"}, "Resources@1050"},
        {{"p=q N=2 exclusive", "p=p N=2 exclusive"}, "Resources@1050"},
        {{"p=p N=4 exclusive", "p=q N=1"}, "BadConstraints"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct cluster *c = cluster_up(CONS "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL "
                                            "Default=YES\nPartitionName=q Nodes=n[1-2]\n");
        bool never = str_eq(v[i].waits, "BadConstraints");
        _cleanup_free_ char *waits = mem_printf("2: %s%s", v[i].waits, never ? ", 9: n2:1/0" : "");
        test_run(c, 1, "n1:4", NOW + 50);
        queue_set(c, 2, 100, v[i].words[2] ? 3 : 2, v[i].words);
        if (never)
            queue_job(c, 9, 10000, "n=1 w=n2");
        expect(c, true, waits);
        test_cluster_free(c);
    }
}

/* The first component that never fits, and the first one beside which alone it does not fit. */
static void components_that_exclude_each_other_are_named(void **state)
{
    static const struct {
        const char *words[4], *says;
    } v[] = {
        {{"w=n1 exclusive", "w=n1", "n=1"}, "component 1 never fits beside component 0"},
        {{"n=1", "w=n1 exclusive", "n=1", "w=n1"}, "component 3 never fits beside component 1"},
        {{"n=1", "w=n1 c=3", "n=1", "w=n1 c=3"}, "component 3 never fits beside component 1"},
        {{"w=n1 c=2", "w=n1 c=2", "w=n1"}, "component 2 never fits beside those before it"},
        {{"w=n[1-2] mem=300", "n=1", "w=n2 mem=200"}, "component 2 never fits beside component 0"},
        {{"N=2 exclusive", "N=1 exclusive", "N=2 exclusive"},
         "component 2 never fits beside those before it"},
        {{"w=n1 gres=gpu:2", "n=1", "w=n1 gres=gpu:1"},
         "component 2 never fits beside component 0"},
        {{"w=n1 overcommit n=9", "w=n1 n=2", "n=1"}, ""},
        {{"w=n1 gres=gpu:1 mem=200 c=2", "w=n1 gres=gpu:1 mem=200 c=2", "N=3 exclusive"}, ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct cluster *c = cluster_up("GresTypes=gpu\nSelectTypeParameters=CR_Core_Memory\n"
                                       "NodeName=n[1-4] CPUs=4 RealMemory=400 Gres=gpu:2\n"
                                       "PartitionName=p Nodes=ALL\n");
        struct joint_clash clash;
        _cleanup_str_ struct str says = STR_INIT;
        const struct job *leader = queue_set(c, 2, 100, v[i].words[3] ? 4 : 3, v[i].words);
        if (!joint_could_ever_fit(c, leader, &clash))
            joint_clash_put(&clash, &says);
        if (!str_eq(str_cstr(&says), v[i].says))
            fail_msg("case %zu: %s", i, str_cstr(&says));
        test_cluster_free(c);
    }
}

/* The same of memory and generic resources, of all components and of two of them. */
static void set_that_never_has_its_resources_has_a_reason(void **state)
{
    static const struct {
        const char *words[3];
        uint32_t at; /* the component that has no room; 0: they fit */
    } v[] = {
        {{"N=4 mem=300", "N=1 mem=200"}, 1},
        {{"N=3 mem=300", "N=1 mem=200"}, 0},
        {{"N=4 mem=200", "N=4 mem=200"}, 0},
        {{"n=1", "N=4 mem=200", "N=4 mem=201"}, 2},
        {{"n=8 mem-per-cpu=100", "n=4 mem-per-cpu=100", "n=5 mem-per-cpu=100"}, 2},
        {{"n=8 mem-per-cpu=100", "n=4 mem-per-cpu=100", "n=4 mem-per-cpu=100"}, 0},
        {{"w=n1 N=1 mem=300", "w=n1 N=1 mem=200"}, 1},
        {{"N=4 gres=gpu:1", "N=2 gres=gpu:2"}, 1},
        {{"N=2 gres=gpu:1", "N=2 gres=gpu:2"}, 0},
        {{"N=4 gres=gpu:1", "N=4 gres=gpu:1", "n=1 gres=gpu:1"}, 2},
        {{"N=4 gres=gpu:1", "N=4 gres=gpu:1", "n=1"}, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct cluster *c = cluster_up("GresTypes=gpu\nSelectTypeParameters=CR_Core_Memory\n"
                                       "NodeName=n[1-4] CPUs=4 RealMemory=400 Gres=gpu:2\n"
                                       "PartitionName=p Nodes=ALL\n");
        struct plan p;
        struct joint_clash clash = {0};
        const struct job *leader = queue_set(c, 2, 100, v[i].words[2] ? 3 : 2, v[i].words);
        plan_begin(&p, c, NULL, NOW, true);
        bool could = joint_could_fit(&p, leader, &clash);
        if (could != !v[i].at || clash.at != v[i].at)
            fail_msg("case %zu: %d, component %u", i, could, clash.at);
        plan_end(&p);
        test_run(c, 1, "n1:4 n2:4 n3:4 n4:4", NOW + 50);
        expect(c, true, v[i].at ? "2: BadConstraints" : "2: Resources@1050");
        test_cluster_free(c);
    }
}

#define T "TopologyConf=1 "
#define TREES                                                                                      \
    CONS "TopologyPlugin=topology/tree\nNodeName=n[1-7] CPUs=4\nPartitionName=p Nodes=ALL\n"       \
         "PartitionName=q Nodes=n[1-4]\n" T "SwitchName=a Nodes=n[1-3]\n" T                        \
         "SwitchName=b Nodes=n[4-6]\n"
#define BLOCKS                                                                                     \
    CONS "TopologyPlugin=topology/block\nNodeName=n[1-8] CPUs=4\nPartitionName=p Nodes=ALL\n" T    \
         "BlockName=a Nodes=n[1-4]\n" T "BlockName=b Nodes=n[5-8]\n" T "BlockSizes=4\n"

/* Each component has its nodes in one fabric, and each segment in one block. */
static void set_that_never_fits_in_its_network_has_a_reason(void **state)
{
    static const struct {
        const char *config, *words[4];
        bool could;
    } v[] = {
        {TREES, {"N=2 exclusive", "N=2 exclusive", "N=2 exclusive"}, false},
        {TREES, {"N=2 exclusive", "N=2 exclusive", "N=1 exclusive"}, true},
        {TREES, {"N=2 exclusive", "N=2 exclusive", "N=1 exclusive", "N=2"}, false},
        {TREES, {"N=3 exclusive", "N=2 exclusive", "N=1 exclusive", "N=1 exclusive"}, true},
        {TREES, {"N=3 exclusive", "N=2", "N=3"}, true},
        {TREES, {"N=3 exclusive", "n=10 N=3", "n=3 N=2"}, false},
        {TREES, {"N=3 exclusive", "n=9 N=3", "n=3 N=2"}, true},
        {TREES, {"p=q N=2 exclusive", "N=3 exclusive"}, true},
        {TREES, {"p=q N=2 exclusive", "p=q N=2 exclusive"}, false},
        {TREES T "SwitchName=top Switches=a,b\n",
         {"N=2 exclusive", "N=2 exclusive", "N=2 exclusive"},
         true},
        {BLOCKS, {"N=6 exclusive segment=3", "N=1 exclusive"}, true},
        {BLOCKS, {"N=6 exclusive segment=3", "N=2 exclusive"}, true},
        {BLOCKS, {"N=4 exclusive segment=2", "N=3 exclusive", "N=1 exclusive"}, true},
        {BLOCKS, {"N=6 exclusive segment=3", "N=2 exclusive segment=1"}, true},
        {BLOCKS, {"N=2 exclusive w=n[1-2]", "N=6 exclusive segment=3"}, false},
        {BLOCKS, {"N=1 exclusive w=n1", "N=4 exclusive segment=2", "N=2 exclusive"}, true},
        {BLOCKS, {"N=2 exclusive w=n[1,5]", "N=6 exclusive segment=2"}, false},
        {BLOCKS, {"N=2 exclusive w=n[1-2]", "N=4 exclusive segment=2 apart"}, true},
        {BLOCKS, {"N=3 exclusive w=n[1-3]", "N=4 exclusive segment=2 apart"}, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        size_t count = v[i].words[3] ? 4 : v[i].words[2] ? 3 : 2;
        struct cluster *c = cluster_up(v[i].config);
        struct plan p;
        struct joint joint;
        const struct job *leader = queue_set(c, 2, 100, count, v[i].words);
        plan_begin(&p, c, NULL, NOW, true);
        bool could = joint_could_fit(&p, leader, NULL);
        joint_begin(&joint, &p, leader);
        bool fits = joint_fits_now(&joint);
        if (could != v[i].could || fits != could)
            fail_msg("case %zu: could %d, fits %d", i, could, fits);
        joint_end(&joint);
        plan_end(&p);
        queue_job(c, 9, 10000, v[i].words[0][0] == 'p' ? "p=q n=1 w=n2" : "n=1 w=n2");
        if (!could)
            expect(c, true, "2: BadConstraints, 9: n2:1/0");
        test_cluster_free(c);
    }
}

/* On drawn fabrics with components that have whole nodes: what never fits, and no more. */
static void sets_that_never_fit_in_fabrics_are_found(void **state)
{
    uint64_t seed = 3;
    uint32_t count_never = 0, rounds = 400;
    (void)state;
    for (uint32_t round = 0; round < rounds; round++) {
        _cleanup_str_ struct str text = STR_INIT;
        uint32_t fabrics = test_between(&seed, 2, 3), nodes = 0;
        char words[4][60];
        const char *set[4] = {words[0], words[1], words[2], words[3]};
        str_puts(&text, CONS "TopologyPlugin=topology/tree\nNodeName=n[1-12] CPUs=4\n"
                             "PartitionName=p0 Nodes=ALL\nPartitionName=p1 Nodes=n[1-5]\n");
        for (uint32_t i = 0; i < fabrics; i++) {
            uint32_t first = nodes + 1;
            nodes += test_between(&seed, 2, 4);
            str_printf(&text, T "SwitchName=s%u Nodes=n[%u-%u]\n", i, first, nodes);
        }
        uint32_t count = test_between(&seed, 2, 4);
        for (uint32_t i = 0; i < count; i++)
            snprintf(words[i], sizeof words[i], "p=p%u N=%u exclusive",
                     test_between(&seed, 0, 3) == 0, test_between(&seed, 1, 3));
        struct cluster *c = cluster_up(str_cstr(&text));
        struct plan p;
        struct joint joint;
        const struct job *leader = queue_set(c, 2, 100, count, set);
        plan_begin(&p, c, NULL, NOW, true);
        joint_begin(&joint, &p, leader);
        bool could = joint_could_fit(&p, leader, NULL), fits = joint_fits_now(&joint);
        if (could != fits)
            fail_msg("round %u: could %d, fits %d: %s", round, could, fits, str_cstr(&text));
        count_never += !could;
        joint_end(&joint);
        plan_end(&p);
        test_cluster_free(c);
    }
    assert_true(count_never > rounds / 20 && count_never < rounds / 2);
}

/* HET-123: the start of a job that no set competes with is the same with and without one. */
static void unrelated_jobs_are_planned_the_same(void **state)
{
    (void)state;
    for (int with = 0; with < 2; with++) {
        struct cluster *c = cluster_up("SchedulerParameters=bf_job_part_count_reserve=9\n" CONS
                                       "NodeName=n[1-3] CPUs=4\nPartitionName=p Nodes=ALL\n");
        test_run(c, 1, "n1:4", NOW + 50);
        test_run(c, 2, "n2:4", NOW + 30);
        if (with)
            queue_set(c, 3, 100, 2, (const char *[]){"n=4 w=n1", "n=4 w=n3"});
        queue_job(c, 9, 100, "n=4 w=n2");
        expect(c, true, with ? "3: Resources@1050, 9: Priority@1030" : "9: Resources@1030");
        test_cluster_free(c);
    }
}

/* A component that is not queued, and one whose gate is closed, keep all of them. */
static void a_closed_gate_keeps_the_set(void **state)
{
    struct cluster *c = cluster_up("Licenses=a:4\n" CONS "NodeName=n[1-2] CPUs=4\n"
                                   "PartitionName=p Nodes=ALL\n");
    (void)state;
    queue_set(c, 1, 100, 2, (const char *[]){"", ""});
    struct job *second = cluster_find_job(c, 2);
    job_partitions_unqueue(second);
    second->reason = REASON_BEGIN_TIME;
    queue_set(c, 3, 100, 2, (const char *[]){"L=a:3", "L=a:2"}); /* each alone has enough */
    queue_set(c, 5, 100, 2, (const char *[]){"L=a:2", "L=a:2"});
    expect(c, true, "1: BeginTime, 3: Licenses, 5: n1:1/0 | n1:1/0");
    test_cluster_free(c);
}

/* Which cores it gets decides whether its tasks fit: nobody else is placed beside it, in whatever
 * order they are placed. */
static void tasks_of_sockets_are_placed_alone(void **state)
{
    const char *two[] = {"n=2 tasks-per-socket=1", "n=1"};
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        const char *words[] = {two[swapped], two[!swapped]};
        struct cluster *c =
            cluster_up(CONS "NodeName=n1 Sockets=2 CoresPerSocket=2\nPartitionName=p Nodes=ALL\n");
        queue_set(c, 1, 100, 2, words);
        expect(c, true, "1: Resources");
        test_cluster_free(c);
        c = cluster_up(CONS "NodeName=n[1-2] Sockets=2 CoresPerSocket=2\n"
                            "PartitionName=p Nodes=ALL\n");
        queue_set(c, 1, 100, 2, words);
        expect(c, true, swapped ? "1: n1:1/0 | n2:2/0" : "1: n1:2/0 | n2:1/0");
        test_cluster_free(c);
    }
}

/* HET-95: components share cores as other jobs do, now and in a planned start, up to the number of
 * jobs that the partition allows. */
static void components_share_cores_where_jobs_may(void **state)
{
    struct cluster *c = cluster_up(CONS "NodeName=n[1-2] CPUs=1\n"
                                        "PartitionName=p Nodes=ALL OverSubscribe=FORCE:2\n");
    (void)state;
    test_run(c, 1, "n1:1", NOW + 500);
    test_run(c, 2, "n2:1", NOW + 500);
    queue_set(c, 3, 100, 2, (const char *[]){"N=2 n=2", "n=1"});
    queue_set(c, 5, 100, 2, (const char *[]){"n=1", "n=1"});
    expect(c, true, "3: Resources@1500, 5: +n1:1/0 | n2:1/0");
    test_cluster_free(c);
    c = cluster_up(CONS "NodeName=n1 CPUs=2 Sockets=1 CoresPerSocket=1 ThreadsPerCore=2\n"
                        "PartitionName=p Nodes=ALL OverSubscribe=FORCE:2\n");
    queue_set(c, 1, 100, 3, (const char *[]){"n=1", "n=1", "n=1"});
    queue_set(c, 5, 100, 2, (const char *[]){"n=1", "n=1"});
    expect(c, true, "1: Resources, 5: +n1:1/0 | n1:1/0");
    test_cluster_free(c);
}

/* Components without GPUs share no restricted cores with a component that has a GPU: at once on an
 * idle node, and beside a job in a planned start. */
static void components_share_restricted_cores_for_gpus_only(void **state)
{
    static const struct {
        const char *words[2];
        bool could;
    } v[] = {{{"gres=gpu:1 n=4", "n=3"}, false},
             {{"gres=gpu:1 n=4", "n=2"}, true},
             {{"n=2", "n=2"}, true},
             {{"n=2", "gres=gpu:1 n=4"}, true},
             {{"gres=gpu:1 n=1", "n=3"}, false}};
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(v); i++) {
        struct cluster *c =
            cluster_up(CONS "GresTypes=gpu\nNodeName=n1 CPUs=4 Gres=gpu:1 RestrictedCoresPerGPU=2\n"
                            "GresConf=1 NodeName=n1 Name=gpu File=/dev/g0 Cores=0-3\n"
                            "PartitionName=p Nodes=ALL OverSubscribe=FORCE:2\n"
                            "PartitionName=q Nodes=ALL OverSubscribe=NO\n");
        struct plan p;
        struct joint joint;
        struct timeline t;
        bool is_busy = i % 2;
        if (is_busy)
            test_run_job(c, test_job(c, 1, "p=q"), "n1:2", NOW + 500);
        const struct job *leader = queue_set(c, 3, 100, 2, v[i / 2].words);
        plan_begin(&p, c, NULL, NOW, true);
        timeline_init(&t, c, NOW);
        t.claims = &p.claims;
        joint_begin(&joint, &p, leader);
        bool fits = joint_fits_now(&joint);
        int64_t at = joint_find_start(&joint, &t, NOW);
        int64_t possible = is_busy ? NOW + 500 : NOW;
        if (fits != (v[i / 2].could && !is_busy) || at != (v[i / 2].could ? possible : 0))
            fail_msg("case %zu: %d, %lld", i, fits, (long long)at);
        joint_end(&joint);
        timeline_done(&t);
        plan_end(&p);
        test_cluster_free(c);
    }
}

/* A component that does not share gets its core before one that may share that of another job. */
static void parts_are_allocated_in_the_order_of_their_placement(void **state)
{
    struct cluster *c = cluster_up(CONS "NodeName=n1 CPUs=2\n"
                                        "PartitionName=p Nodes=ALL OverSubscribe=FORCE:2\n"
                                        "PartitionName=q Nodes=ALL\n");
    (void)state;
    test_run(c, 1, "n1:1", NOW + 500);
    queue_set(c, 3, 100, 2, (const char *[]){"p=p n=1", "p=q n=1"});
    expect(c, true, "3: n1:1/0 | n1:1/0");
    test_cluster_free(c);
}

/* Two of three sockets have a free core each: one component with a whole socket starts, and a
 * component with single cores does not take cores of the free socket. */
static void components_with_whole_sockets_start_where_sockets_are_free(void **state)
{
    static const struct {
        const char *words[2], *expected;
    } v[] = {{{"p=s n=2", "p=s n=1"}, "3: Resources@1500"},
             {{"p=s n=1", "p=p n=2"}, "3: n1:2/0 | n1:2/0"},
             {{"p=p n=2", "p=s n=2"}, "3: n1:2/0 | n1:2/0"},
             {{"p=p n=3", "p=s n=2"}, "3: Resources@1500"}};
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct cluster *c = cluster_up(
            CONS "NodeName=n1 Sockets=3 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=100\n"
                 "PartitionName=p Nodes=ALL\n"
                 "PartitionName=s Nodes=ALL SelectTypeParameters=CR_Socket_Memory\n");
        struct job *j = test_job(c, 1, "p=p");
        j->want.cyclic = true;
        test_run_job(c, j, "n1:2", NOW + 500);
        queue_set(c, 3, 100, 2, v[i].words);
        expect(c, true, v[i].expected);
        test_cluster_free(c);
    }
}

/* --- the ledger and the trial leave nothing behind ----------------------------------------------
 */

static void same_views(const struct cluster *c, const struct free_view *a,
                       const struct free_view *b)
{
    size_t n = c->nodes.len, kinds = c->pool.gres_kinds;
    assert_memory_equal(a->units, b->units, n * sizeof(*a->units));
    assert_memory_equal(a->amounts, b->amounts, n * sizeof(*a->amounts));
    assert_memory_equal(a->whole, b->whole, n * sizeof(*a->whole));
    assert_memory_equal(a->use, b->use, n * sizeof(*a->use));
    assert_memory_equal(a->gres, b->gres, n * kinds * sizeof(*a->gres));
    for (size_t i = 0; i < n; i++)
        assert_true(a->users[i].who == b->users[i].who && a->users[i].uid == b->users[i].uid);
}

/* What is placed on the ledger is what the cluster has when it is allocated. */
static void ledger_equals_the_later_allocation(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct cluster *c =
            cluster_up("GresTypes=gpu\n" CONS "NodeName=n[1-4] CPUs=8 RealMemory=100 Gres=gpu:4\n"
                       "PartitionName=p Nodes=ALL\n");
        struct ledger l;
        size_t marks[4];
        struct selection placed[4] = {0};
        uint32_t count = 0;
        ledger_begin_on(&l, c, &c->pool.now);
        for (uint32_t id = 1; id <= 4; id++) {
            char words[100];
            snprintf(words, sizeof words, "N=%u n=%u mem=%u gres=gpu:%u %s",
                     test_between(&seed, 1, 2), test_between(&seed, 2, 6),
                     test_between(&seed, 1, 40), test_between(&seed, 1, 2),
                     test_between(&seed, 0, 4) ? "" : "exclusive-user");
            struct job *j = test_job(c, id, words);
            j->uid = test_between(&seed, 1, 2);
            _cleanup_bitset_ struct bitset *all = bitset_dup(c->pool.usable);
            marks[count] = ledger_mark(&l);
            if (select_nodes(c, j, all, ledger_view(&l), &placed[count]) != 0)
                break;
            ledger_place(&l, j, &placed[count]);
            count++;
        }
        for (uint32_t i = 0; i < count; i++)
            vec_foreach (&placed[i].shares, share) {
                const struct alloc_want want = share_want(&placed[i], share);
                assert_int_equal(alloc_place(c, cluster_find_job(c, i + 1), &want, NULL), 0);
            }
        same_views(c, ledger_view(&l), &c->pool.now);
        while (count--) {
            alloc_clear(c, cluster_find_job(c, count + 1));
            ledger_roll_back(&l, marks[count]);
            same_views(c, ledger_view(&l), &c->pool.now);
        }
        for (int i = 0; i < 4; i++)
            select_done(&placed[i]);
        ledger_end(&l);
        test_cluster_free(c);
    }
}

static char *dump_timeline(const struct timeline *t)
{
    struct str out = STR_INIT;
    vec_foreach (&t->moments, at)
        str_printf(&out, "%lld ", (long long)*at);
    for (size_t i = 0; i < t->cluster->nodes.len; i++)
        for (uint32_t k = 0; k < t->nodes[i].len; k++) {
            const struct timeline_span *s = &t->spans[t->nodes[i].first + k];
            str_printf(&out, "\n%zu@%lld: %u %u %lld %lld", i, (long long)s->from, s->units,
                       s->foreseen_units, (long long)s->amounts.mem_mib,
                       (long long)s->foreseen.mem_mib);
            for (size_t g = 0; g < 2 * t->kinds; g++)
                str_printf(&out, " %llu",
                           (unsigned long long)t->gres[(size_t)(s - t->spans) * 2 * t->kinds + g]);
        }
    return str_take(&out);
}

static void failed_trial_is_rolled_back(void **state)
{
    uint64_t seed = 11;
    struct cluster *c =
        cluster_up("GresTypes=gpu\n" CONS "NodeName=n[1-4] CPUs=8 RealMemory=100 Gres=gpu:4\n"
                   "PartitionName=p Nodes=ALL\n");
    struct timeline t;
    (void)state;
    test_run(c, 1, "n1:3/10 n2:8/100", NOW + 100);
    test_run(c, 2, "n1:2/10", NOW + 50);
    timeline_init(&t, c, NOW);
    for (uint32_t id = 10; id < 200; id++) {
        char words[100];
        snprintf(words, sizeof words, "N=1-2 n=%u mem=%u gres=gpu:%u", test_between(&seed, 1, 8),
                 test_between(&seed, 1, 40), test_between(&seed, 1, 2));
        struct job *j = test_job(c, id, words);
        j->limit_sec = test_between(&seed, 1, 200);
        struct selection where = {0};
        _cleanup_free_ char *before = dump_timeline(&t);
        bool keep = test_between(&seed, 0, 3) == 0;
        timeline_begin_trial(&t);
        for (int i = 0; i < 3; i++) {
            int64_t at = timeline_find(&t, j, c->pool.usable, &where);
            if (at == NOW && where.shares.len)
                timeline_start(&t, j, &where);
            else if (where.shares.len)
                timeline_reserve(&t, j, &where, at);
        }
        _cleanup_free_ char *during = dump_timeline(&t);
        assert_string_not_equal(before, during);
        timeline_end_trial(&t, keep);
        _cleanup_free_ char *after = dump_timeline(&t);
        assert_string_equal(after, keep ? during : before);
        select_done(&where);
    }
    timeline_done(&t);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_partitions_start_at_once),
        cmocka_unit_test(components_share_a_node),
        cmocka_unit_test(all_start_or_none),
        cmocka_unit_test(a_set_keeps_and_respects_planned_starts),
        cmocka_unit_test(a_set_waits_for_a_job_that_is_about_to_end),
        cmocka_unit_test(sets_start_in_order_without_backfill),
        cmocka_unit_test(set_that_never_fits_has_a_reason),
        cmocka_unit_test(components_that_exclude_each_other_are_named),
        cmocka_unit_test(set_that_never_has_its_resources_has_a_reason),
        cmocka_unit_test(set_that_never_fits_in_its_network_has_a_reason),
        cmocka_unit_test(sets_that_never_fit_in_fabrics_are_found),
        cmocka_unit_test(unrelated_jobs_are_planned_the_same),
        cmocka_unit_test(a_closed_gate_keeps_the_set),
        cmocka_unit_test(tasks_of_sockets_are_placed_alone),
        cmocka_unit_test(components_with_whole_sockets_start_where_sockets_are_free),
        cmocka_unit_test(components_share_cores_where_jobs_may),
        cmocka_unit_test(components_share_restricted_cores_for_gpus_only),
        cmocka_unit_test(parts_are_allocated_in_the_order_of_their_placement),
        cmocka_unit_test(ledger_equals_the_later_allocation),
        cmocka_unit_test(failed_trial_is_rolled_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
