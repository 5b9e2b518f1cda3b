/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passes in two modes: the worked cases of the guide, and what they leave to other jobs. */
#include "cluster/job/license_layer.h"
#include "sched/plan/two_mode.h"
#include "sched/sched_test_util.h"

enum { HOUR = 3600 };

static struct cluster *cluster;
static struct plan_notes notes;
static int64_t now;

static void begin_planner(const char *text)
{
    cluster = test_cluster(text);
    test_up(cluster);
    notes = (struct plan_notes){0};
    now = 1000;
}

static void end_planner(void)
{
    plan_notes_done(&notes);
    test_cluster_free(cluster);
}

static struct job *queue_job(uint32_t id, uint32_t priority, int64_t limit_sec, const char *words)
{
    struct job *j = test_job(cluster, id, words);
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        j->limit_sec = limit_sec;
        j->priority = priority;
        job_partitions_queue(j);
    }
    job_partitions_select_first(j);
    return j;
}

static void queue_set(uint32_t first, uint32_t priority, int64_t limit_sec, uint32_t count,
                      const char *const *words)
{
    for (uint32_t i = 0; i < count; i++) {
        struct job *j = queue_job(first + i, priority, limit_sec, words[i]);
        assert_int_equal(job_set_join(cluster, j, first, i, count, NULL), 0);
    }
}

static void start_job(struct job *j, const struct selection *where)
{
    _cleanup_free_ char *text = test_selection(cluster, where);
    job_partitions_unqueue(j);
    test_run_job(cluster, j, text, job_ends_at(j, now));
}

static void start_parts(const struct decision *d)
{
    if (!d->more.order.len)
        start_job(cluster_find_job(cluster, d->job->id), &d->where);
    vec_foreach (&d->more.order, number) {
        const struct placement *part = *number ? &d->more.list.data[*number - 1] : NULL;
        struct job *j = cluster_find_job(cluster, part ? part->id : d->job->id);
        license_choose_alternative(j, part ? part->license : d->license);
        start_job(j, part ? &part->where : &d->where);
    }
}

/* "1 starts", "2 waits: Resources+3600": seconds from now, "Resources" alone: none is known. */
static void describe(const struct decision *d, struct str *out)
{
    str_printf(out, "%s%u ", out->len ? ", " : "", d->job->id);
    if (d->kind == PLAN_START) {
        str_puts(out, d->backfilled ? "backfills" : "starts");
        return;
    }
    str_puts(out, reason_word(d->reason));
    if (d->start_at)
        str_printf(out, "+%lld", (long long)(d->start_at - now));
}

/* Mode 0: sets are placed jointly. */
static void expect_pass_of(bool backfill, unsigned mode, const char *decisions)
{
    struct plan p;
    struct decision d;
    _cleanup_str_ struct str out = STR_INIT;
    plan_begin(&p, cluster, &notes, now, backfill);
    if (mode)
        two_mode_begin(&p);
    unsigned was = p.mode;
    while (plan_next(&p, &d)) {
        describe(&d, &out);
        test_follow(cluster, &d);
        if (d.kind == PLAN_START)
            start_parts(&d);
        free(d.detail);
        plan_decision_done(&d);
    }
    plan_end(&p);
    test_sound(cluster);
    if (was != mode || !str_eq(str_cstr(&out), decisions))
        fail_msg("expected mode %u '%s'\n     got mode %u '%s'", mode, decisions, was,
                 str_cstr(&out));
}

static void expect_pass(unsigned mode, const char *decisions)
{
    expect_pass_of(true, mode, decisions);
}

static void finish(uint32_t id)
{
    struct job *j = cluster_find_job(cluster, id);
    assert_int_equal(job_set_state(cluster, j, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL), 0);
    alloc_clear(cluster, j);
    order_remove(&cluster->ends, &attempt_make(j)->ends);
}

#define NODES                                                                                      \
    "SchedulerParameters=bf_job_part_count_reserve=9\n" CONS                                       \
    "NodeName=n[1-3] CPUs=4\nPartitionName=a Nodes=n1\nPartitionName=b Nodes=n2\n"                 \
    "PartitionName=c Nodes=n3\n"

/* HET-117, HET-118, HET-121: alone, the components would start now, in 2 hours and in 1 hour. In
 * mode 1 component 0 could start now, and keeps its node; component 2 is not looked at before the
 * start of component 1, and a job may have its node until then. */
static void mode_1_keeps_what_could_start(void **state)
{
    (void)state;
    begin_planner(NODES);
    test_run(cluster, 100, "n2:4", now + 2 * HOUR);
    test_run(cluster, 101, "n3:4", now + HOUR);
    queue_set(1, 900, HOUR, 3, (const char *[]){"p=a n=4", "p=b n=4", "p=c n=4"});
    queue_job(10, 800, HOUR, "p=a n=4");
    queue_job(11, 800, HOUR, "p=c n=4");
    expect_pass(1, "1 Resources+0, 10 Priority+3600, 2 Resources+7200, 3 Resources+7200, "
                   "11 Priority+3600");
    end_planner();
}

/* HET-119, HET-122: in mode 2 all components have a start in 2 hours at the earliest, and another
 * job gets the node of component 0 meanwhile. */
static void mode_2_gives_what_could_start_to_others(void **state)
{
    (void)state;
    begin_planner(NODES);
    test_run(cluster, 100, "n2:4", now + 2 * HOUR);
    test_run(cluster, 101, "n3:4", now + HOUR);
    queue_set(1, 900, HOUR, 3, (const char *[]){"p=a n=4", "p=b n=4", "p=c n=4"});
    queue_job(10, 800, 3 * HOUR, "p=a n=4");
    queue_job(11, 700, 2 * HOUR, "p=a n=4");
    expect_pass(1, "1 Resources+0, 10 Priority+3600, 11 Priority+14400, "
                   "2 Resources+7200, 3 Resources+7200");
    expect_pass(2, "1 Resources+7200, 10 Priority+10800, 11 backfills, 2 Resources+7200, "
                   "3 Resources+7200");
    end_planner();
}

/* HET-117, HET-120: after mode 2 no start is remembered, and what has become free meanwhile starts
 * the set in the next pass; in mode 2 itself it does not. */
static void an_earlier_start_is_found_after_mode_2(void **state)
{
    (void)state;
    begin_planner(NODES);
    test_run(cluster, 100, "n2:4", now + 2 * HOUR);
    queue_set(1, 900, HOUR, 2, (const char *[]){"p=a n=4", "p=b n=4"});
    expect_pass(1, "1 Resources+0, 2 Resources+7200");
    finish(100);
    expect_pass(2, "1 Resources+7200, 2 Resources+7200");
    test_run(cluster, 101, "n2:4", now + HOUR); /* before that pass another job takes the node */
    expect_pass(1, "1 Resources+0, 2 Resources+3600");
    expect_pass(2, "1 Resources+3600, 2 Resources+3600");
    finish(101);
    expect_pass(1, "1 Resources+0, 2 Resources+0, 1 starts");
    end_planner();
}

/* HET-115: all components start in one decision, or none does; a component whose partition is down
 * keeps all of them, and they keep nothing. */
static void a_component_without_a_start_keeps_all(void **state)
{
    (void)state;
    begin_planner(CONS
                  "NodeName=n[1-2] CPUs=4\nPartitionName=a Nodes=n1\nPartitionName=b Nodes=n2\n");
    queue_set(1, 900, HOUR, 2, (const char *[]){"p=a n=4", "p=b n=4"});
    struct job *second = cluster_find_job(cluster, 2);
    job_partitions_unqueue(second);
    second->reason = REASON_PARTITION_DOWN;
    queue_job(10, 800, HOUR, "p=a n=4");
    expect_pass(1, "1 PartitionDown, 10 starts");
    end_planner();
}

/* Component 1 has no start within bf_window, so that the set does not start: what component 0 kept
 * is for the jobs behind it. */
static void places_are_given_up_with_the_set(void **state)
{
    (void)state;
    begin_planner("SchedulerParameters=bf_window=1440\n" CONS
                  "NodeName=n[1-2] CPUs=4\nPartitionName=a Nodes=n1\nPartitionName=b Nodes=n2\n"
                  "PartitionName=c Nodes=n1\n");
    test_run(cluster, 100, "n2:4", now + 100 * 24 * HOUR);
    queue_set(1, 900, HOUR, 2, (const char *[]){"p=a n=4", "p=b n=4"});
    queue_job(10, 800, HOUR, "p=c n=4");
    expect_pass(1, "1 Resources+0, 2 Resources, 10 starts");
    end_planner();
}

/* No component takes a place where there are not enough for all of its set: the set would give them
 * up, and all starts would be laid out again for the next one. */
static void a_set_has_all_places_or_none(void **state)
{
    static const struct {
        const char *lines;
        uint32_t sets;
    } cases[] = {
        {"SchedulerParameters=bf_max_job_part=5000,bf_job_part_count_reserve=2\n",
         PLAN_RESERVATIONS_MOST / 3},
        {"", PLAN_RESERVATIONS / 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_free_ char *text = mem_printf(
            "%s" CONS "NodeName=n[1-3] CPUs=4\nPartitionName=p Nodes=ALL\n", cases[i].lines);
        begin_planner(text);
        test_run(cluster, 9999, "n1:4", now + HOUR);
        for (uint32_t k = 0; k <= cases[i].sets; k++)
            queue_set(1 + 3 * k, 5000 - k, HOUR, 3, (const char *[]){"n=4", "n=4", "n=4"});
        struct plan p;
        struct decision d;
        plan_begin(&p, cluster, &notes, now, true);
        two_mode_begin(&p);
        while (plan_next(&p, &d)) {
            assert_int_equal(d.start_at > 0, d.job->id <= 3 * cases[i].sets);
            free(d.detail);
            plan_decision_done(&d);
        }
        assert_int_equal(p.heads.len, 3 * cases[i].sets);
        plan_end(&p);
        end_planner();
    }
}

/* Behind the sets with planned starts, a set starts when all of its components fit now (19), or
 * keeps nothing (17). Ordinary jobs have planned starts however many components have one. */
static void a_set_without_planned_starts_starts_at_once(void **state)
{
    _cleanup_str_ struct str expected = STR_INIT;
    (void)state;
    begin_planner(CONS "NodeName=n[1-4] CPUs=4\nPartitionName=a Nodes=n1\n"
                       "PartitionName=b Nodes=n2,n4\nPartitionName=c Nodes=n3\n");
    test_run(cluster, 100, "n1:4", now + HOUR);
    test_run(cluster, 101, "n3:4", now + HOUR);
    test_run(cluster, 102, "n4:4", now + HOUR);
    for (uint32_t i = 0; i < PLAN_RESERVATIONS; i += 2)
        queue_set(1 + i, 900 - i, HOUR, 2, (const char *[]){"p=a n=2", "p=a n=2"});
    for (uint32_t i = 0; i < PLAN_RESERVATIONS; i++)
        str_printf(&expected, "%u %s+%d, ", 1 + i, i < 2 ? "Resources" : "Priority",
                   HOUR * ((int)i / 2 + 1));
    queue_set(17, 700, HOUR / 2, 2, (const char *[]){"p=a n=4", "p=b n=2"});
    queue_set(19, 600, HOUR / 2, 2, (const char *[]){"p=b n=2", "p=b n=2"});
    queue_job(30, 800, HOUR, "p=c n=4");
    queue_job(31, 800, HOUR, "p=b n=8");
    str_puts(&expected, "17 Priority, 31 Resources+3600, 18 Priority, 19 Priority+0, "
                        "20 Priority+0, 30 Resources+3600, 19 backfills");
    expect_pass(1, str_cstr(&expected));
    end_planner();
}

/* HET-123: the start of a job that no set competes with is the same with and without one. */
static void unrelated_jobs_are_planned_the_same(void **state)
{
    (void)state;
    for (int with = 0; with < 2; with++) {
        begin_planner(NODES);
        test_run(cluster, 100, "n2:4", now + 2 * HOUR);
        test_run(cluster, 101, "n3:4", now + HOUR);
        if (with)
            queue_set(1, 900, HOUR, 2, (const char *[]){"p=a n=4", "p=b n=4"});
        queue_job(10, 800, HOUR, "p=c n=4");
        expect_pass(1, with ? "1 Resources+0, 2 Resources+7200, 10 Resources+3600"
                            : "10 Resources+3600");
        expect_pass(with ? 2 : 1, with ? "1 Resources+7200, 2 Resources+7200, 10 Resources+3600"
                                       : "10 Resources+3600");
        end_planner();
    }
}

/* HET-126: components that alternate in the queue keep each other waiting in both modes; by a
 * common priority those of a set follow each other, and the first set starts. */
static void a_common_priority_ends_a_deadlock(void **state)
{
    static const struct {
        enum conf_sets_rank rule;
        const char *first, *second;
    } cases[] = {
        {CONF_RANK_OWN, "1 Resources+0, 5 Priority+0, 2 Resources+3600, 6 Priority+3600",
         "1 Resources+3600, 5 Priority+3600, 2 Resources+7200, 6 Priority+7200"},
        {CONF_RANK_LEAST,
         "1 Resources+0, 2 Resources+0, 5 Priority+3600, 6 Priority+3600, "
         "1 starts",
         "5 Resources+3600, 6 Resources+3600"},
        {CONF_RANK_MEAN,
         "1 Resources+0, 2 Resources+0, 5 Priority+3600, 6 Priority+3600, "
         "1 starts",
         "5 Resources+3600, 6 Resources+3600"},
        {CONF_RANK_MOST,
         "1 Resources+0, 2 Resources+0, 5 Priority+3600, 6 Priority+3600, "
         "1 starts",
         "5 Resources+3600, 6 Resources+3600"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin_planner(CONS "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n");
        queue_set(1, 0, HOUR, 2, (const char *[]){"n=4", "n=4"});
        queue_set(5, 0, HOUR, 2, (const char *[]){"n=4", "n=4"});
        static const struct {
            uint32_t id, priority;
        } of[] = {{1, 900}, {5, 800}, {2, 700}, {6, 600}};
        for (size_t k = 0; k < 4; k++) {
            struct job *j = cluster_find_job(cluster, of[k].id);
            j->priority = of[k].priority;
            job_partitions_move(j);
        }
        job_set_rank(cluster_find_job(cluster, 1), cases[i].rule);
        job_set_rank(cluster_find_job(cluster, 5), cases[i].rule);
        assert_int_equal(cluster_find_job(cluster, 2)->priority, 700); /* as sprio shows it */
        expect_pass(1, cases[i].first);
        expect_pass(2, cases[i].second);
        end_planner();
    }
}

#define OVERLAPPING                                                                                \
    "SchedulerParameters=bf_job_part_count_reserve=9\n" CONS "NodeName=n[1-6] CPUs=4\n"
#define SAME_TIER OVERLAPPING "PartitionName=a Nodes=ALL\nPartitionName=b Nodes=ALL\n"
#define TWO_TIERS                                                                                  \
    OVERLAPPING "PartitionName=a Nodes=ALL PriorityTier=9\nPartitionName=b Nodes=ALL\n"

/* HET-126: the components are in different partitions, and other jobs in both. With a common place
 * no other job is looked at between the components; jobs with a higher priority in any of the two
 * partitions are looked at before, those with a lower one after. Where the tiers of the partitions
 * differ, the rule chooses between them. */
static void components_in_other_partitions_follow_each_other(void **state)
{
    static const struct {
        const char *conf;
        enum conf_sets_rank rule;
        unsigned mode;
        const char *decisions;
    } cases[] = {
        {SAME_TIER, CONF_RANK_OWN, 1,
         "10 starts, 1 Resources+0, 11 backfills, 20 starts, 2 Resources+0, 21 backfills, 1 "
         "starts"},
        {SAME_TIER, CONF_RANK_LEAST, 1,
         "10 starts, 20 starts, 1 Resources+0, 2 Resources+0, 11 backfills, 21 backfills, "
         "1 starts"},
        {SAME_TIER, CONF_RANK_MOST, 1,
         "10 starts, 20 starts, 1 Resources+0, 2 Resources+0, 11 backfills, 21 backfills, "
         "1 starts"},
        {SAME_TIER, CONF_RANK_MEAN, 1,
         "10 starts, 20 starts, 1 Resources+0, 2 Resources+0, 11 backfills, 21 backfills, "
         "1 starts"},
        {SAME_TIER, CONF_RANK_OWN, 0, "10 starts, 1 starts, 11 starts, 20 starts, 21 starts"},
        {SAME_TIER, CONF_RANK_LEAST, 0, "10 starts, 20 starts, 1 starts, 11 starts, 21 starts"},
        {TWO_TIERS, CONF_RANK_LEAST, 0, "10 starts, 11 starts, 20 starts, 1 starts, 21 starts"},
        {TWO_TIERS, CONF_RANK_MOST, 0, "10 starts, 1 starts, 11 starts, 20 starts, 21 starts"},
        {TWO_TIERS, CONF_RANK_MEAN, 0, "10 starts, 1 starts, 11 starts, 20 starts, 21 starts"},
        {TWO_TIERS, CONF_RANK_LEAST, 1,
         "10 starts, 11 starts, 20 starts, 1 Resources+0, 2 Resources+0, 21 backfills, 1 starts"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin_planner(cases[i].conf);
        queue_set(1, 900, HOUR, 2, (const char *[]){"p=a n=4", "p=b n=4"});
        queue_job(10, 950, HOUR, "p=a n=4");
        queue_job(11, 800, HOUR, "p=a n=4");
        queue_job(20, 950, HOUR, "p=b n=4");
        queue_job(21, 800, HOUR, "p=b n=4");
        job_set_rank(cluster_find_job(cluster, 1), cases[i].rule);
        expect_pass(cases[i].mode, cases[i].decisions);
        end_planner();
    }
}

/* HET-126: two sets have components in both partitions, in different order, and the pass changes
 * between the partitions for each of them. */
static void sets_across_partitions_have_their_turns_by_priority(void **state)
{
    (void)state;
    begin_planner(SAME_TIER "PartitionName=c Nodes=ALL\n");
    queue_set(1, 700, HOUR, 2, (const char *[]){"p=a n=4", "p=b n=4"});
    queue_set(3, 800, HOUR, 3, (const char *[]){"p=b n=4", "p=c n=4", "p=a n=4"});
    queue_set(6, 900, HOUR, 2, (const char *[]){"p=c,b n=4", "p=c n=4"});
    queue_job(10, 750, HOUR, "p=b n=4");
    for (uint32_t leader = 1; leader < 7; leader += leader == 1 ? 2 : 3)
        job_set_rank(cluster_find_job(cluster, leader), CONF_RANK_MOST);
    expect_pass(1, "6 Resources+0, 6 Resources+0, 7 Resources+0, 5 Resources+0, 3 Resources+0, "
                   "4 Resources+0, 10 backfills, 1 Priority+3600, 2 Priority+3600, 6 starts, "
                   "3 starts");
    end_planner();
}

/* HET-126: without backfill no component starts in a partition in which a job before the set waits,
 * whichever partition the pass walks first; a component of several partitions may start in another
 * one. Once that job is gone the set starts, although nothing has become free. */
static void a_set_waits_behind_a_job_of_each_of_its_partitions(void **state)
{
    static const struct {
        const char *first, *second; /* components of set 1 */
        const char *waits;          /* job 10, which has a higher priority */
        const char *decisions, *then;
    } cases[] = {
        {"p=a n=4", "p=b n=4", "p=b n=24", "10 Resources, 1 Priority", "1 starts, 20 starts"},
        {"p=a n=4", "p=b n=4", "p=a n=24", "10 Resources, 1 Priority", "1 starts, 20 starts"},
        {"p=a n=4", "p=a n=4", "p=b n=24", "1 starts, 20 starts, 10 Resources", ""},
        {"p=a,b n=4", "p=a n=4", "p=b n=24", "10 Resources, 1 starts, 20 starts", ""},
        {"p=a n=4", "p=a,b n=4", "p=b n=24", "10 Resources, 1 starts, 20 starts", ""},
        {"p=b n=4", "p=a,b n=4", "p=b n=24", "10 Resources, 1 Priority", "1 starts, 20 starts"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin_planner("SchedulerParameters=bf_hetjob_prio=min\n" CONS
                      "NodeName=n[1-6] CPUs=4\nPartitionName=a Nodes=ALL\n"
                      "PartitionName=b Nodes=ALL\n");
        test_run(cluster, 100, "n6:4", now + HOUR);
        queue_job(10, 950, HOUR, cases[i].waits);
        queue_set(1, 900, HOUR, 2, (const char *[]){cases[i].first, cases[i].second});
        queue_job(20, 800, HOUR, "p=a n=4");
        job_set_rank(cluster_find_job(cluster, 1), CONF_RANK_LEAST);
        expect_pass_of(false, 0, cases[i].decisions);
        if (*cases[i].then) {
            job_partitions_unqueue(cluster_find_job(cluster, 10));
            expect_pass_of(false, 0, cases[i].then);
        }
        end_planner();
    }
}

static void draw_words(uint64_t *seed, uint32_t most, char words[static 32])
{
    snprintf(words, 32, "p=%c n=%u", "abc"[test_between(seed, 0, 2)], test_between(seed, 1, most));
}

static void draw_queue(uint64_t *seed)
{
    char words[3][32];
    const char *const all[] = {words[0], words[1], words[2]};
    for (uint32_t id = 1; id < 24; id += 3) {
        uint32_t count = test_between(seed, 1, 3);
        for (uint32_t i = 0; i < 3; i++)
            draw_words(seed, count > 1 ? 8 : 24, words[i]);
        if (count == 1) {
            queue_job(id, test_between(seed, 100, 899), HOUR, words[0]);
            continue;
        }
        queue_set(id, 0, HOUR, count, all);
        for (uint32_t i = 0; i < count; i++) {
            struct job *j = cluster_find_job(cluster, id + i);
            j->priority = test_between(seed, 100, 899);
            job_partitions_move(j);
        }
        job_set_rank(cluster_find_job(cluster, id), CONF_RANK_LEAST);
    }
}

/* The walk of "sluice why" to the place of the job, which is not endless. */
static void walk_to(const struct job *j)
{
    struct plan p;
    struct decision d;
    int looks = 0;
    plan_begin(&p, cluster, NULL, now, false);
    p.without = j->id;
    while (plan_is_before(&p, j->part, job_partitions_queue_key(j), j->id) && plan_next(&p, &d)) {
        if (d.kind == PLAN_START)
            plan_suppose(&p, &d);
        plan_decision_done(&d);
        free(d.detail);
        assert_true(looks++ < 100);
    }
    plan_end(&p);
}

/* No job of the pass has started in a partition in which one before it waits. */
static void expect_order(const struct job *started)
{
    vec_foreach (&cluster->jobs, j) {
        int64_t key = job_partitions_queue_key(*j), own = job_partitions_queue_key(started);
        bool is_before = key < own || (key == own && (*j)->id < started->id);
        if ((*j)->state == PB__JOB_STATE__PENDING && (*j)->part == started->part && is_before)
            fail_msg("job %u started before job %u", started->id, (*j)->id);
    }
}

/* Without backfill, whatever waits: the order of each partition is kept, and all jobs start once
 * those before them are over. */
static void drawn_queues_keep_their_order_without_backfill(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 100; round++) {
        uint64_t seed = round;
        begin_planner("SchedulerParameters=bf_hetjob_prio=min\n" CONS
                      "NodeName=n[1-6] CPUs=4\nPartitionName=a Nodes=ALL\n"
                      "PartitionName=b Nodes=ALL\nPartitionName=c Nodes=ALL\n");
        draw_queue(&seed);
        for (int passes = 0; cluster->pending; passes++) {
            struct plan p;
            struct decision d;
            bool started[32] = {false};
            assert_true(passes < 60);
            for (uint32_t id = 1; id < 24; id += 3)
                if (job_partitions_is_queued(cluster_find_job(cluster, id)))
                    walk_to(cluster_find_job(cluster, id));
            plan_begin(&p, cluster, &notes, now, false);
            while (plan_next(&p, &d)) {
                test_follow(cluster, &d);
                if (d.kind == PLAN_START) {
                    start_parts(&d);
                    for (uint32_t i = 0; i < job_set_count(d.job); i++)
                        started[d.job->id + i] = true;
                }
                free(d.detail);
                plan_decision_done(&d);
            }
            plan_end(&p);
            for (uint32_t id = 1; id < 32; id++)
                if (started[id])
                    expect_order(cluster_find_job(cluster, id));
            for (uint32_t id = 1; id < 32; id++) {
                const struct job *j = cluster_find_job(cluster, id);
                if (j && j->state == PB__JOB_STATE__RUNNING && test_between(&seed, 0, 1))
                    finish(id);
            }
        }
        end_planner();
    }
}

/* HET-127: with bf_hetjob_immediate the set starts when the pass comes to its last component, else
 * when the pass is over. */
static void an_immediate_start_is_in_the_middle_of_the_pass(void **state)
{
    (void)state;
    for (int immediate = 0; immediate < 2; immediate++) {
        begin_planner(immediate ? "SchedulerParameters=hetjob_two_mode,bf_hetjob_immediate\n" CONS
                                  "NodeName=n[1-3] CPUs=4\nPartitionName=p Nodes=ALL\n"
                                : CONS "NodeName=n[1-3] CPUs=4\nPartitionName=p Nodes=ALL\n");
        queue_set(1, 900, HOUR, 2, (const char *[]){"n=4", "n=4"});
        queue_job(10, 800, HOUR, "n=4");
        expect_pass(1, immediate ? "1 Resources+0, 1 starts, 10 backfills"
                                 : "1 Resources+0, 2 Resources+0, 10 backfills, 1 starts");
        end_planner();
    }
}

/* A job has not left its node at the end of its limit: all components could start now, as far as
 * that is foreseen, but do not. They keep their places from the jobs behind them. */
static void a_set_that_cannot_start_yet_keeps_its_places(void **state)
{
    (void)state;
    for (int immediate = 0; immediate < 2; immediate++) {
        begin_planner(immediate ? "SchedulerParameters=hetjob_two_mode,bf_hetjob_immediate\n" CONS
                                  "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n"
                                : CONS "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n");
        test_run(cluster, 100, "n1:4", now - 5);
        queue_set(1, 900, HOUR, 2, (const char *[]){"n=4", "n=4"});
        queue_job(10, 800, HOUR, "n=4");
        expect_pass(1, "1 Resources+0, 2 Resources+0, 10 Priority");
        expect_pass(2, "1 Resources+0, 2 Resources+0, 10 Priority");
        end_planner();
    }
}

static void add_layer(uint32_t node, uint64_t total)
{
    struct bitset *nodes = bitset_new(cluster->nodes.len);
    bitset_set(nodes, node);
    license_add_layer(cluster, "power", CONF_HRES_EACH_LAYER, nodes, total);
}

/* Job 5 has a claim to three of four on n2 in half an hour. Component 1 of the set takes the fourth
 * one beyond that time, so that job 11 waits. The node of the leader is in another layer. */
static void started_set_uses_the_layer_of_its_component(void **state)
{
    (void)state;
    begin_planner("SchedulerParameters=hetjob_two_mode,bf_hetjob_immediate\n" CONS
                  "NodeName=n[1-3] CPUs=4\nPartitionName=p Nodes=ALL\n");
    add_layer(0, 4);
    add_layer(1, 4);
    test_run_job(cluster, test_job(cluster, 100, "L=power:2"), "n2:1", now + HOUR / 2);
    queue_job(5, 950, HOUR, "w=n2 L=power:3");
    queue_set(1, 900, HOUR, 2, (const char *[]){"w=n1", "w=n2 L=power:1"});
    queue_job(11, 800, HOUR, "w=n2 L=power:1");
    expect_pass(1, "5 Licenses+1800, 1 Resources+0, 1 starts, 11 Licenses");
    end_planner();
}

/* Components of several partitions have the earliest start of them; a set may change under a pass.
 */
static void each_partition_of_a_component_counts(void **state)
{
    (void)state;
    begin_planner(NODES);
    test_run(cluster, 100, "n1:4", now + HOUR);
    queue_set(1, 900, HOUR, 2, (const char *[]){"p=a,b n=4", "p=c n=4"});
    expect_pass(1, "1 Resources+3600, 1 Resources+0, 2 Resources+0, 1 starts");
    end_planner();
}

/* Components that never fit beside each other keep nothing from others. */
static void set_that_never_fits_has_a_reason(void **state)
{
    (void)state;
    begin_planner(NODES);
    queue_set(1, 900, HOUR, 2, (const char *[]){"p=a n=3", "p=a n=2"});
    queue_job(10, 800, HOUR, "p=a n=4");
    expect_pass(1, "1 BadConstraints, 2 BadConstraints, 10 starts");
    end_planner();
}

/* The set waits as a whole, and keeps nothing from others. */
static void set_with_a_component_without_partition_waits(void **state)
{
    (void)state;
    begin_planner(NODES);
    queue_set(1, 900, HOUR, 2, (const char *[]){"p=a n=4", "p=b n=4"});
    queue_job(10, 800, HOUR, "p=a n=4");
    job_partitions_unqueue(cluster_find_job(cluster, 2));
    cluster_find_job(cluster, 2)->reason = REASON_PARTITION_DOWN;
    cluster_remove_part(cluster, cluster_find_part(cluster, "b"));
    expect_pass(1, "1 PartitionDown, 10 starts");
    end_planner();
}

/* Each component by itself would have the first alternative; together they have one each. */
static void alternative_licenses_are_chosen_jointly(void **state)
{
    (void)state;
    begin_planner("Licenses=a:1,b:1\n" NODES);
    queue_set(1, 900, HOUR, 2, (const char *[]){"p=a L=a|b", "p=b L=a|b"});
    expect_pass(1, "1 Resources+0, 2 Resources+0, 1 starts");
    for (uint32_t i = 0; i < 2; i++) {
        const struct license_needs *has = &cluster_find_job(cluster, 1 + i)->want.licenses;
        assert_int_equal(has->list.len, 1);
        assert_string_equal(has->list.data[0].name, i ? "b" : "a");
    }
    end_planner();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode_1_keeps_what_could_start),
        cmocka_unit_test(mode_2_gives_what_could_start_to_others),
        cmocka_unit_test(an_earlier_start_is_found_after_mode_2),
        cmocka_unit_test(a_component_without_a_start_keeps_all),
        cmocka_unit_test(places_are_given_up_with_the_set),
        cmocka_unit_test(a_set_has_all_places_or_none),
        cmocka_unit_test(a_set_without_planned_starts_starts_at_once),
        cmocka_unit_test(unrelated_jobs_are_planned_the_same),
        cmocka_unit_test(a_common_priority_ends_a_deadlock),
        cmocka_unit_test(components_in_other_partitions_follow_each_other),
        cmocka_unit_test(sets_across_partitions_have_their_turns_by_priority),
        cmocka_unit_test(a_set_waits_behind_a_job_of_each_of_its_partitions),
        cmocka_unit_test(drawn_queues_keep_their_order_without_backfill),
        cmocka_unit_test(an_immediate_start_is_in_the_middle_of_the_pass),
        cmocka_unit_test(a_set_that_cannot_start_yet_keeps_its_places),
        cmocka_unit_test(started_set_uses_the_layer_of_its_component),
        cmocka_unit_test(each_partition_of_a_component_counts),
        cmocka_unit_test(alternative_licenses_are_chosen_jointly),
        cmocka_unit_test(set_that_never_fits_has_a_reason),
        cmocka_unit_test(set_with_a_component_without_partition_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
