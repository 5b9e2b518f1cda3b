/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice of victims over thousands of random states: victims are preemptible jobs of a lower
 * tier, they suffice, and none of them is unnecessary. Also the nodes that a pass reserves.
 */
#include "cluster/resv/license_kept.h"
#include "sched/plan/preempt.h"
#include "sched/sched_test_util.h"

#define NOW 1000000
#define EXEMPT_SEC 60

static const char conf[] =
    CONS "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL,GANG\nPreemptExemptTime=1\n"
         "NodeName=n[1-4] CPUs=4 RealMemory=400\nNodeName=n[5-6] CPUs=2 RealMemory=1000 Weight=2\n"
         "PartitionName=a Nodes=ALL\nPartitionName=b Nodes=ALL PreemptMode=SUSPEND\n"
         "PartitionName=c Nodes=ALL PriorityTier=2 PreemptMode=REQUEUE\n"
         "PartitionName=d Nodes=ALL PriorityTier=2 PreemptMode=OFF\n"
         "PartitionName=e Nodes=n[2-6] PriorityTier=3\n";

static const char *const specs[] = {"",          "n=2",     "n=4",           "c=2",
                                    "N=2",       "N=2 n=6", "N=3",           "c=4",
                                    "exclusive", "mem=300", "mem=390",       "mem-per-cpu=90 n=3",
                                    "n=9",       "N=4",     "exclusive N=2", "c=2 mem=350"};

struct world {
    struct cluster *c;
    struct job *j; /* the pending job */
    uint32_t last; /* jobs 1 to 'last' run */
};

/* If the cluster has licences, some jobs need them. */
static void draw_licenses(struct cluster *c, uint64_t *chance, struct job *j)
{
    static const char *const needs[] = {NULL,    "lic:1",  "lic:2", "lic:1,other:1",
                                        "lic:3", "other:1"};
    const char *text = NULL;
    if (c->licenses.list.len)
        text = needs[test_between(chance, 0, COUNT(needs) - 1)];
    if (text)
        assert_int_equal(license_read(c, text, &j->want.licenses, NULL), 0);
}

/* If the cluster has switches, some jobs use the switches of their nodes exclusively. */
static void draw_leaves(const struct cluster *c, uint64_t *chance, struct job *j)
{
    if (c->topos[0] && test_between(chance, 0, 3) == 0)
        j->want.topo_alone = j->want.exclusive = true;
}

/* Starts the job if it fits, otherwise removes it. */
static void place(struct world *w, uint64_t *chance, uint32_t id)
{
    struct selection where = {0};
    struct job *j = test_job(w->c, id, specs[test_between(chance, 0, COUNT(specs) - 1)]);
    j->part = w->c->parts.data[test_between(chance, 0, (uint32_t)w->c->parts.len - 1)];
    attempt_make(j)->start_at = NOW - test_between(chance, 0, 3) * 30;
    j->priority = test_between(chance, 0, 3);
    j->may_requeue = true;
    draw_licenses(w->c, chance, j);
    draw_leaves(w->c, chance, j);
    _cleanup_bitset_ struct bitset *set = select_candidates(w->c, j);
    bitset_and(set, w->c->pool.usable);
    if (license_fits(w->c, j, NULL, NOW) && select_nodes(w->c, j, set, NULL, &where) == 0) {
        vec_foreach (&where.shares, share) {
            struct alloc_want want = share_want(&where, share);
            assert_int_equal(alloc_place(w->c, j, &want, NULL), 0);
        }
        assert_int_equal(job_set_state(w->c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
        order_insert(&w->c->ends, &attempt_make(j)->ends, NOW + 100, id);
    } else {
        cluster_remove_job(w->c, j);
    }
    select_done(&where);
}

static struct world make_world(uint64_t seed, const char *more)
{
    uint64_t chance = seed * 7919 + 3;
    _cleanup_free_ char *text = mem_printf("%s%s", more, conf);
    struct world w = {.c = test_cluster(text)};
    test_up(w.c);
    w.last = test_between(&chance, 1, 14);
    for (uint32_t id = 1; id <= w.last; id++)
        place(&w, &chance, id);
    w.j = test_job(w.c, 1000, specs[test_between(&chance, 0, COUNT(specs) - 1)]);
    w.j->part = w.c->parts.data[test_between(&chance, 0, (uint32_t)w.c->parts.len - 1)];
    w.j->limit_sec = 600;
    draw_licenses(w.c, &chance, w.j);
    draw_leaves(w.c, &chance, w.j);
    order_insert(&w.j->part->queue, &w.j->queued, 0, w.j->id);
    return w;
}

/* Ends or suspends a victim; a suspended job counts when its nodes have confirmed. */
static void leave(struct cluster *c, uint32_t id)
{
    struct job *j = cluster_find_job(c, id);
    assert_non_null(j);
    if (str_eq(j->part->conf.name, "b")) {
        job_set_state(c, j, PB__JOB_STATE__SUSPENDED, CAUSE_NONE, NULL);
        vec_foreach (&attempt_of(j)->alloc, a)
            park_leave(c, j, a);
        return;
    }
    order_remove(&c->ends, &j->attempt->ends);
    job_set_state(c, j, PB__JOB_STATE__PREEMPTED, CAUSE_NONE, NULL);
    alloc_clear(c, j);
}

/* Whether the pending job fits when all of these victims but one have ended. */
static bool fits_without(uint64_t seed, const char *more, const uint32_t *ids, size_t count,
                         size_t spared)
{
    struct selection where = {0};
    struct world w = make_world(seed, more);
    for (size_t i = 0; i < count; i++)
        if (i != spared)
            leave(w.c, ids[i]);
    _cleanup_bitset_ struct bitset *set = select_candidates(w.c, w.j);
    bitset_and(set, w.c->pool.usable);
    bool fits = license_fits(w.c, w.j, NULL, NOW) && select_nodes(w.c, w.j, set, NULL, &where) == 0;
    select_done(&where);
    test_cluster_free(w.c);
    return fits;
}

static void check_victim(uint64_t seed, const struct world *w, uint32_t id)
{
    const struct job *v = cluster_find_job(w->c, id);
    assert_non_null(v);
    bool exempt = !str_eq(v->part->conf.name, "b") && attempt_of(v)->start_at + EXEMPT_SEC > NOW;
    if (v->part->conf.priority_tier >= w->j->part->conf.priority_tier || exempt ||
        str_eq(v->part->conf.name, "d") || v->state != PB__JOB_STATE__RUNNING)
        fail_msg("seed %llu: job %u must not be displaced", (unsigned long long)seed, id);
}

/* 'licensed': counts victims that are needed for their licences only. */
static size_t try_seed(uint64_t seed, const char *more, size_t *licensed)
{
    struct world w = make_world(seed, more);
    struct decision d;
    struct plan p;
    size_t victims = 0;
    plan_begin(&p, w.c, NULL, NOW, seed % 2);
    assert_true(plan_next(&p, &d));
    assert_ptr_equal(d.job, w.j);
    victims = d.n_victims;
    *licensed += victims && d.reason == REASON_LICENSES;
    if (victims)
        assert_int_equal(d.kind, PLAN_WAIT);
    for (size_t i = 0; i < victims; i++)
        check_victim(seed, &w, d.victims[i]);
    if (victims && !fits_without(seed, more, d.victims, victims, SIZE_MAX))
        fail_msg("seed %llu: it does not fit when they have left", (unsigned long long)seed);
    for (size_t i = 0; i < victims; i++)
        if (fits_without(seed, more, d.victims, victims, i))
            fail_msg("seed %llu: job %u could be spared", (unsigned long long)seed, d.victims[i]);
    plan_decision_done(&d);
    free(d.detail);
    plan_end(&p);
    test_sound(w.c);
    test_cluster_free(w.c);
    return victims;
}

#define RECLAIM "PreemptParameters=reclaim_licenses\nLicenses=lic:3,other:2\n"

#define LEAVES                                                                                     \
    "TopologyPlugin=topology/tree\nTopologyConf=1 SwitchName=a Nodes=n[1-2]\n"                     \
    "TopologyConf=1 SwitchName=b Nodes=n[3-4]\nTopologyConf=1 SwitchName=c Nodes=n[5-6]\n"

static void only_necessary_victims_are_preempted(void **state)
{
    static const char *const more[] = {"", "PreemptParameters=youngest_first\n",
                                       "PreemptParameters=strict_order\n", RECLAIM, LEAVES};
    size_t displaced[COUNT(more)] = {0}, licensed = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 5000; seed++)
        displaced[seed % COUNT(more)] += try_seed(seed, more[seed % COUNT(more)], &licensed);
    for (size_t i = 0; i < COUNT(more); i++) {
        print_message("%zu displaced\n", displaced[i]);
        assert_true(displaced[i] > 60);
    }
    print_message("%zu for licences\n", licensed);
    assert_true(licensed > 30);
}

/* --- passes ------------------------------------------------------------------------------------
 */

#define TWO                                                                                        \
    CONS "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n"                          \
         "NodeName=n[1-2] CPUs=2\nPartitionName=low Nodes=ALL\n"                                   \
         "PartitionName=high Nodes=ALL PriorityTier=2\n"

static struct job *waits(struct cluster *c, uint32_t id, const char *part, const char *words)
{
    struct job *j = test_job(c, id, words);
    j->part = cluster_find_part(c, part);
    j->limit_sec = 600;
    order_insert(&j->part->queue, &j->queued, 0, id);
    return j;
}

static void start_decision(struct cluster *c, struct decision *d)
{
    struct job *j = test_follow(c, d);
    order_remove(&j->part->queue, &j->queued);
    _cleanup_free_ char *where = test_selection(c, &d->where);
    test_run_job(c, j, where, NOW + 100);
}

static void resume(struct cluster *c, struct job *j)
{
    assert_int_equal(park_check_return(c, j, NULL), 0);
    park_return(c, j);
    park_yield(c, j, false);
    job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
}

/* Compares a pass with "7 waits", "7 waits for 1,2", "7 starts", "7 goes on", separated by
 * blanks. */
static void pass_with(struct cluster *c, struct plan_notes *notes, bool commits,
                      const char *expected)
{
    struct str out = STR_INIT;
    struct decision d;
    struct plan p;
    plan_begin(&p, c, notes, NOW, true);
    while (plan_next(&p, &d)) {
        str_printf(&out, "%s%u %s", out.len ? " " : "", d.job->id,
                   d.kind == PLAN_START    ? "starts"
                   : d.kind == PLAN_RESUME ? "goes on"
                                           : "waits");
        for (size_t i = 0; i < d.n_victims; i++)
            str_printf(&out, "%s%u", i ? "," : " for ", d.victims[i]);
        if (commits && d.kind == PLAN_START)
            start_decision(c, &d);
        if (commits && d.kind == PLAN_RESUME)
            resume(c, test_follow(c, &d));
        plan_decision_done(&d);
        free(d.detail);
    }
    plan_end(&p);
    if (!str_eq(str_cstr(&out), expected))
        fail_msg("expected %s, not %s", expected, str_cstr(&out));
    str_done(&out);
}

static void pass(struct cluster *c, bool commits, const char *expected)
{
    pass_with(c, NULL, commits, expected);
}

/* While victims end, no other job becomes a victim, and no other job takes their resources. */
static void no_further_victim_is_chosen_while_victims_end(void **state)
{
    struct cluster *c = test_cluster(TWO);
    (void)state;
    test_up(c);
    test_run(c, 1, "n1:2", NOW + 100);
    test_run(c, 2, "n2:2", NOW + 100);
    waits(c, 3, "high", "c=2");
    waits(c, 4, "low", "");
    pass(c, false, "3 waits for 2 4 waits");
    struct job *chosen = cluster_find_job(c, 2);
    job_set_state(c, chosen, PB__JOB_STATE__SUSPENDED, CAUSE_NONE, NULL);
    park_yield(c, chosen, true);
    pass(c, false, "3 waits 4 waits"); /* it is not suspended yet */
    park_leave(c, chosen, &attempt_of(chosen)->alloc.data[0]);
    pass(c, true, "3 starts 4 waits"); /* the suspended job does not resume before it either */
    test_cluster_free(c);
}

/* Each element has nodes reserved, as long as there are elements; if two elements share a node,
 * only one has. */
static void each_array_element_reserves_its_victims(void **state)
{
    static const struct {
        const char *tasks, *request, *expected;
        uint32_t throttle;
    } rows[] = {
        {"0-4", "c=2", "3 waits for 2 3 waits for 1 3 waits", 0},
        {"0-1", "c=2", "3 waits for 2 3 waits for 1", 0},
        {"0-4", "c=2", "3 waits for 2", 1},
        {"0-4", "", "3 waits for 2", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cluster *c = test_cluster(TWO);
        struct idset tasks = {0};
        test_up(c);
        test_run(c, 1, "n1:2", NOW + 100);
        test_run(c, 2, "n2:2", NOW + 100);
        struct job *j = waits(c, 3, "high", rows[i].request);
        assert_int_equal(idset_parse(rows[i].tasks, 10, &tasks, NULL), 0);
        array_make(c, j, &tasks, rows[i].throttle);
        pass(c, false, rows[i].expected);
        test_cluster_free(c);
    }
}

/* Suspended jobs precede pending jobs of their tier, once no job of a higher tier is there. */
static void suspended_jobs_resume_before_pending_jobs(void **state)
{
    struct cluster *c = test_cluster(TWO);
    (void)state;
    test_up(c);
    struct job *v = test_run(c, 1, "n1:2", NOW + 100);
    job_set_state(c, v, PB__JOB_STATE__SUSPENDED, CAUSE_NONE, NULL);
    park_leave(c, v, &attempt_of(v)->alloc.data[0]);
    park_yield(c, v, true);
    struct job *above = test_job(c, 2, "");
    above->part = cluster_find_part(c, "high");
    test_run_job(c, above, "n1:1", NOW + 100);
    waits(c, 3, "low", "w=n1");
    pass(c, false, "3 starts"); /* the job of the higher tier runs long */
    job_set_state(c, above, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL);
    alloc_clear(c, above);
    order_remove(&c->ends, &above->attempt->ends);
    pass(c, false, "1 goes on 3 starts");
    test_run(c, 5, "n1:1", NOW + 100); /* of its own tier */
    pass(c, false, "3 waits");         /* the rest of the node is reserved */
    test_cluster_free(c);
}

/* The planner lays out the reservations of jobs 4 and 5 on n2 before job 1 is resumed on n1. Job 6,
 * behind them, must not be given the CPU of job 1. */
static void resumed_job_keeps_its_cpus_in_the_same_pass(void **state)
{
    struct cluster *c = test_cluster(TWO);
    (void)state;
    test_up(c);
    struct job *suspended = test_run(c, 1, "n1:1", NOW + 100);
    test_run(c, 2, "n1:1", NOW + 200)->part = cluster_find_part(c, "high");
    test_run(c, 3, "n2:1", NOW + 200)->part = cluster_find_part(c, "high");
    job_set_state(c, suspended, PB__JOB_STATE__SUSPENDED, CAUSE_NONE, NULL);
    park_leave(c, suspended, &attempt_of(suspended)->alloc.data[0]);
    park_yield(c, suspended, true);
    waits(c, 4, "high", "w=n2 c=2");
    waits(c, 5, "high", "w=n2 c=2");
    waits(c, 6, "low", "");
    pass(c, true, "4 waits 5 waits 1 goes on 6 waits");
    test_cluster_free(c);
}

/* Starts the job on nodes that fit now. */
static struct job *start_with_devices(struct cluster *c, uint32_t id, const char *words)
{
    struct job *j = test_job(c, id, words);
    j->part = cluster_find_part(c, "low");
    _cleanup_(select_done) struct selection where = {0};
    _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
    assert_int_equal(select_nodes(c, j, allowed, NULL, &where), 0);
    test_run_selection(c, j, &where, NOW + 100);
    return j;
}

/* A cancelled suspended job returns its devices, and so does the job that has the node exclusively
 * meanwhile: the pending job can use the devices of both. */
static void devices_of_all_that_leave_a_node_count(void **state)
{
    struct cluster *c = test_cluster("GresTypes=gpu\n" CONS
                                     "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
                                     "NodeName=n1 CPUs=2 Gres=gpu:4\nPartitionName=low Nodes=ALL\n"
                                     "PartitionName=high Nodes=ALL PriorityTier=2\n");
    (void)state;
    test_up(c);
    struct job *suspended = start_with_devices(c, 1, "gres=gpu:2");
    job_set_state(c, suspended, PB__JOB_STATE__SUSPENDED, CAUSE_NONE, NULL);
    park_leave(c, suspended, &attempt_of(suspended)->alloc.data[0]);
    park_yield(c, suspended, true);
    start_with_devices(c, 2, "exclusive");
    waits(c, 3, "high", "gres=gpu:4");
    pass(c, false, "3 waits"); /* a suspended job keeps its devices */
    job_set_state(c, suspended, PB__JOB_STATE__CANCELLED, CAUSE_NONE, NULL);
    suspended->attempt->completing = true;
    suspended->attempt->end_at = NOW;
    order_move(&c->ends, &suspended->attempt->ends, NOW, 1);
    pass(c, false, "3 waits for 2");
    test_cluster_free(c);
}

/* Job 2 has threads of both cores: together with either of the other jobs it leaves a whole
 * core. */
static void a_job_of_whole_cores_preempts_jobs_that_share_a_core(void **state)
{
    struct cluster *c = test_cluster("SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
                                     "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
                                     "NodeName=n1 CoresPerSocket=2 ThreadsPerCore=2\n"
                                     "PartitionName=low Nodes=ALL\n"
                                     "PartitionName=high Nodes=ALL PriorityTier=2\n");
    (void)state;
    test_up(c);
    for (uint32_t id = 1; id <= 3; id++)
        test_run(c, id, id == 2 ? "n1:2" : "n1:1", NOW + 100);
    for (uint32_t id = 1; id <= 3; id++)
        cluster_find_job(c, id)->part = cluster_find_part(c, "low");
    waits(c, 4, "high", "threads=1");
    pass(c, false, "4 waits for 3,2");
    test_cluster_free(c);
}

/* PreemptMode=PRIORITY, of the partition of the victims or of the cluster. */
static void only_jobs_of_lower_priority_are_preempted(void **state)
{
    static const struct {
        const char *cluster, *low;
        uint32_t priority;
        const char *expected;
    } v[] = {
        {"CANCEL", "", 5, "3 waits for 2"},
        {"CANCEL,PRIORITY", "", 5, "3 waits"},
        {"CANCEL,PRIORITY", "", 6, "3 waits for 1"},
        {"CANCEL,PRIORITY", "", 11, "3 waits for 2"},
        {"CANCEL,PRIORITY", "PreemptMode=REQUEUE", 5, "3 waits for 2"},
        {"CANCEL", "PreemptMode=REQUEUE,PRIORITY", 5, "3 waits"},
        {"CANCEL", "PreemptMode=REQUEUE,PRIORITY", 6, "3 waits for 1"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_free_ char *text = mem_printf(
            CONS "PreemptType=preempt/partition_prio\nPreemptMode=%s\nNodeName=n1 CPUs=2\n"
                 "PartitionName=low Nodes=ALL %s\nPartitionName=high Nodes=ALL PriorityTier=2\n",
            v[i].cluster, v[i].low);
        struct cluster *c = test_cluster(text);
        test_up(c);
        for (uint32_t id = 1; id <= 2; id++) {
            test_run(c, id, "n1:1", NOW + 100);
            cluster_find_job(c, id)->part = cluster_find_part(c, "low");
            cluster_find_job(c, id)->priority = id == 1 ? 5 : 10;
        }
        waits(c, 3, "high", "")->priority = v[i].priority;
        pass(c, false, v[i].expected);
        test_cluster_free(c);
    }
}

/* What a pass notes of a job that lacks priority ends when its priority rises. */
static void higher_priority_preempts_in_the_next_pass(void **state)
{
    struct plan_notes notes = {0};
    struct cluster *c = test_cluster(CONS "PreemptType=preempt/partition_prio\n"
                                          "PreemptMode=CANCEL,PRIORITY\nNodeName=n1 CPUs=2\n"
                                          "PartitionName=low Nodes=ALL\n"
                                          "PartitionName=high Nodes=ALL PriorityTier=2\n");
    (void)state;
    test_up(c);
    test_run(c, 1, "n1:2", NOW + 100);
    cluster_find_job(c, 1)->part = cluster_find_part(c, "low");
    cluster_find_job(c, 1)->priority = 10;
    struct job *j = waits(c, 3, "high", "");
    j->priority = 5;
    pass_with(c, &notes, false, "3 waits");
    j->priority = 11;
    pass_with(c, &notes, false, "3 waits for 1");
    plan_notes_done(&notes);
    test_cluster_free(c);
}

static void a_job_of_a_whole_socket_preempts_those_on_one_socket(void **state)
{
    struct cluster *c = test_cluster("SelectType=select/cons_tres\n"
                                     "SelectTypeParameters=CR_Core,CR_CORE_DEFAULT_DIST_BLOCK\n"
                                     "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
                                     "NodeName=n1 Sockets=2 CoresPerSocket=2\n"
                                     "PartitionName=low Nodes=ALL\n"
                                     "PartitionName=high Nodes=ALL PriorityTier=2 "
                                     "SelectTypeParameters=CR_Socket\n");
    (void)state;
    test_up(c);
    for (uint32_t id = 1; id <= 3; id++) {
        test_run(c, id, id == 2 ? "n1:2" : "n1:1", NOW + 100);
        cluster_find_job(c, id)->part = cluster_find_part(c, "low");
    }
    waits(c, 4, "high", "p=high");
    pass(c, false, "4 waits for 2");
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_necessary_victims_are_preempted),
        cmocka_unit_test(no_further_victim_is_chosen_while_victims_end),
        cmocka_unit_test(devices_of_all_that_leave_a_node_count),
        cmocka_unit_test(a_job_of_whole_cores_preempts_jobs_that_share_a_core),
        cmocka_unit_test(only_jobs_of_lower_priority_are_preempted),
        cmocka_unit_test(higher_priority_preempts_in_the_next_pass),
        cmocka_unit_test(a_job_of_a_whole_socket_preempts_those_on_one_socket),
        cmocka_unit_test(each_array_element_reserves_its_victims),
        cmocka_unit_test(suspended_jobs_resume_before_pending_jobs),
        cmocka_unit_test(resumed_job_keeps_its_cpus_in_the_same_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
