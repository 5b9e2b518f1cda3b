/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which component keeps a job set from starting, and what would let all of it start. */
#include "sched/sched_test_util.h"
#include "sched/why/why.h"

enum { NOW = 1000 };

static const char conf[] = CONS "NodeName=n[1-4] CPUs=4 RealMemory=400\n"
                                "NodeName=m[1-2] CPUs=4 RealMemory=400 Feature=b\n"
                                "PartitionName=p Nodes=n[1-4],m[1-2]\n"
                                "PartitionName=q Nodes=n[3-4]\n";

static struct cluster *cluster_up(void)
{
    struct cluster *c = test_cluster(conf);
    test_up(c);
    return c;
}

/* A queued job set with the ids from 'first' on, one component for each text. */
static struct job *queue_set(struct cluster *c, uint32_t first, size_t count,
                             const char *const *words)
{
    for (uint32_t i = 0; i < count; i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        struct job *j = test_job(c, first + i, words[i]);
        Pb__JobSpec spec = test_spec(&arena, words[i]);
        j->limit_sec = 600;
        j->priority = 1000 - first;
        spec.has_time_limit_sec = true;
        spec.time_limit_sec = 600;
        job_repack(&j->spec, &spec.base);
        assert_int_equal(job_set_join(c, j, first, i, (uint32_t)count, NULL), 0);
        job_partitions_queue(j);
    }
    return cluster_find_job(c, first);
}

/* A job with a time limit runs there until then. */
static void run_job(struct cluster *c, uint32_t id, const char *where, int64_t until)
{
    test_run(c, id, where, until);
    cluster_find_job(c, id)->limit_sec = 1000;
}

static struct why *ask_scheduler(struct cluster *c, uint32_t id, bool backfill)
{
    struct why_question q = {.job_id = id, .backfill = backfill, .key = -1};
    vec_foreach (&c->parts, p)
        vec_push(&q.may, *p);
    struct why *w = why_new(c, &q);
    for (int step = 0; why_step(w, NOW); step++)
        assert_true(step < 2000);
    assert_non_null(why_answer(w));
    test_sound(c);
    return w;
}

static struct why *ask_why(struct cluster *c, uint32_t id)
{
    return ask_scheduler(c, id, true);
}

/* "1: resources", and of each change that lets it start now " | command". */
static void expect(struct cluster *c, uint32_t id, const char *expected)
{
    struct why *w = ask_why(c, id);
    const Pb__WhyReply *m = why_answer(w);
    _cleanup_str_ struct str out = STR_INIT;
    str_printf(&out, "%u: %s", m->set_offset, m->rule);
    for (size_t i = 0; i < m->n_changes; i++)
        if (m->changes[i]->now)
            str_printf(&out, " | %s", m->changes[i]->command);
    if (!str_eq(str_cstr(&out), expected))
        fail_msg("job %u: expected '%s'\n     got '%s'", id, expected, str_cstr(&out));
    assert_int_equal(m->job_id, m->set_id + m->set_offset);
    why_free(w);
}

/* A node that is drained keeps the components, whenever the job on n1 ends: it is named, and no job
 * without a time limit is blamed that runs elsewhere. */
static void no_start_is_predicted_without_nodes(void **state)
{
    static const char two[] = CONS "NodeName=n[1-3],z CPUs=4 RealMemory=400\n"
                                   "PartitionName=p Nodes=n[1-3]\nPartitionName=r Nodes=z\n";
    struct cluster *c = test_cluster(two);
    (void)state;
    test_up(c);
    c->nodes.data[1]->drain = true;
    c->nodes.data[1]->reason = mem_strdup("fan");
    test_changed(c);
    run_job(c, 8, "n1:4", NOW + 100);
    test_run(c, 9, "z:4", NOW + CLUSTER_NO_LIMIT_SEC);
    cluster_find_job(c, 9)->limit_sec = INT64_MAX;
    queue_set(c, 1, 2, (const char *const[]){"N=2 exclusive", "N=1 exclusive"});
    struct why *w = ask_why(c, 1);
    assert_string_equal(why_answer(w)->rule, "unusable");
    assert_int_equal(why_answer(w)->set_offset, 1);
    const Pb__WhyNodes *drained = NULL;
    for (size_t i = 0; i < why_answer(w)->n_groups; i++)
        if (str_eq(why_answer(w)->groups[i]->cause, "drained"))
            drained = why_answer(w)->groups[i];
    assert_true(drained && str_eq(drained->nodes, "n2") && str_eq(drained->reason, "fan"));
    assert_false(why_answer(w)->has_start_at);
    assert_int_equal(why_answer(w)->n_without_limit, 0);
    why_free(w);
    test_cluster_free(c);
}

/* The alternative that the component waits for, not one that it could never have. */
static void component_is_explained_by_the_alternative_that_it_waits_for(void **state)
{
    static const char licensed[] = CONS "Licenses=a:1,b:1\nNodeName=n[1-2] CPUs=4 RealMemory=400\n"
                                        "PartitionName=p Nodes=ALL\n";
    static const struct {
        const char *words, *rule, *resource;
    } cases[] = {{"N=1 L=b:2|a:1", "licenses", "license:a"}, {"N=1 L=b:2|a:2", "too_few", NULL}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int gone = 0; gone < 2; gone++) {
            struct cluster *c = test_cluster(licensed);
            test_up(c);
            struct job *holder = test_job(c, 9, "L=a:1");
            test_run_job(c, holder, "n1:1", NOW + CLUSTER_NO_LIMIT_SEC);
            holder->limit_sec = INT64_MAX;
            queue_set(c, 1, 2, (const char *const[]){"N=1", cases[i].words});
            if (gone) /* its spec names it still */
                cluster_find_job(c, 2)->want.licenses.list.data[0].at = -1;
            struct why *w = ask_why(c, 1);
            assert_string_equal(why_answer(w)->rule, cases[i].rule);
            if (cases[i].resource)
                assert_string_equal(why_answer(w)->resource, cases[i].resource);
            why_free(w);
            test_cluster_free(c);
        }
}

static void queue_before(struct cluster *c, uint32_t id, const char *words)
{
    struct job *j = test_job(c, id, words);
    j->limit_sec = 600;
    j->priority = 2000;
    job_partitions_queue(j);
}

/* With bf_hetjob_prio jobs of all partitions are before the set, whichever partition the pass walks
 * first, and only those with a higher priority. */
static void jobs_of_each_partition_are_before_the_set(void **state)
{
    static const char two[] =
        "SchedulerParameters=bf_hetjob_prio=min\n" CONS "NodeName=n[1-4] CPUs=4 RealMemory=400\n"
        "PartitionName=a Nodes=ALL\nPartitionName=b Nodes=ALL\n";
    static const struct {
        const char *other; /* a job that waits for all nodes */
        bool is_before, backfill;
        const char *rule;
        uint32_t offset;
    } cases[] = {
        {"p=b n=16", true, false, "order", 1}, {"p=a n=16", true, false, "order", 0},
        {"p=b n=16", true, true, "kept", 0},   {"p=a n=16", true, true, "kept", 0},
        {"p=b n=16", false, false, "now", 0},  {"p=b n=16", false, true, "now", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (uint32_t asked = 10; asked < 12; asked++) {
            struct cluster *c = test_cluster(two);
            test_up(c);
            run_job(c, 1, "n1:4", NOW + 500);
            queue_set(c, 10, 2, (const char *[]){"p=a n=1", "p=b n=1"});
            struct job *other = test_job(c, 20, cases[i].other);
            other->limit_sec = 600;
            other->priority = cases[i].is_before ? 999 : 1;
            job_partitions_queue(other);
            job_set_rank(cluster_find_job(c, 10), CONF_RANK_LEAST);
            struct why *w = ask_scheduler(c, asked, cases[i].backfill);
            const Pb__WhyReply *m = why_answer(w);
            if (!str_eq(m->rule, cases[i].rule) || m->set_offset != cases[i].offset)
                fail_msg("case %zu: expected %u: %s, got %u: %s", i, cases[i].offset, cases[i].rule,
                         m->set_offset, m->rule);
            why_free(w);
            test_cluster_free(c);
        }
}

/* In a partition of its turn with too many jobs before it the planner does not come to the set, but
 * may come to it in another one. */
static void depth_is_that_of_the_last_partition_of_the_set(void **state)
{
    static const char text[] = "SchedulerParameters=bf_hetjob_prio=min,bf_max_job_part=1\n" CONS
                               "NodeName=n[1-4] CPUs=4 RealMemory=400\n"
                               "PartitionName=a Nodes=ALL\nPartitionName=b Nodes=ALL\n";
    static const struct {
        const char *before[2], *rule;
    } cases[] = {
        {{"p=a n=16", ""}, "kept"},
        {{"", "p=b n=16"}, "kept"},
        {{"p=a n=16", "p=b n=16"}, "depth"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = test_cluster(text);
        test_up(c);
        run_job(c, 1, "n1:4", NOW + 500);
        for (uint32_t k = 0; k < 6; k++)
            if (*cases[i].before[k % 2])
                queue_before(c, 20 + k, cases[i].before[k % 2]);
        job_set_rank(queue_set(c, 10, 2, (const char *[]){"p=a n=1", "p=b n=1"}), CONF_RANK_LEAST);
        struct why *w = ask_why(c, 10);
        if (!str_eq(why_answer(w)->rule, cases[i].rule))
            fail_msg("case %zu: why says %s", i, why_answer(w)->rule);
        why_free(w);
        test_cluster_free(c);
    }
}

/* It could not start alone either, and the others could. */
static void component_without_free_nodes_is_named(void **state)
{
    struct cluster *c = cluster_up();
    (void)state;
    run_job(c, 1, "m1:4", NOW + 500);
    run_job(c, 2, "m2:3", NOW + 300);
    queue_set(c, 10, 3, (const char *[]){"n=4", "C=b n=4 N=1", "n=4 p=q"});
    for (uint32_t id = 10; id < 13; id++) /* whichever is asked for */
        expect(c, id,
               "1: resources | scontrol update JobId=10+1 Features= | scontrol update "
               "JobId=10+1 NumTasks=1");
    struct why *w = ask_why(c, 10);
    assert_int_equal(why_answer(w)->set_count, 3);
    assert_int_equal(why_answer(w)->start_at, NOW + 300);
    assert_int_equal(why_answer(w)->could_ever, 2);
    why_free(w);
    test_cluster_free(c);
}

/* Each by itself would start, and the second one has no room beside the first. */
static void components_that_do_not_fit_together_are_named(void **state)
{
    struct cluster *c = cluster_up();
    (void)state;
    run_job(c, 1, "n3:4", NOW + 100);
    queue_set(c, 10, 3, (const char *[]){"n=4 p=q", "n=1 C=b", "n=4 p=q"});
    struct why *w = ask_why(c, 11);
    const Pb__WhyReply *m = why_answer(w);
    assert_string_equal(m->rule, "together");
    assert_int_equal(m->set_offset, 2);
    assert_int_equal(m->start_at, NOW + 100);
    assert_true(m->n_changes > 0 && m->changes[0]->now);
    assert_string_equal(m->changes[0]->command, "scontrol update JobId=10+2 Partition=p");
    why_free(w);
    test_cluster_free(c);
}

/* On a cluster where nothing runs the third one would have no room beside the others either. */
static void impossible_component_is_named(void **state)
{
    struct cluster *c = cluster_up();
    (void)state;
    run_job(c, 1, "n3:4", NOW + 100);
    queue_set(c, 10, 3, (const char *[]){"C=b n=4 N=1", "C=b n=4 N=1", "C=b n=1"});
    for (uint32_t id = 10; id < 13; id++) {
        struct why *w = ask_why(c, id);
        assert_string_equal(why_answer(w)->rule, "never_together");
        assert_int_equal(why_answer(w)->set_offset, 2);
        why_free(w);
    }
    test_cluster_free(c);
}

static void begin_later(struct job *j, int64_t begin_at)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    spec->has_begin_at_sec = true;
    spec->begin_at_sec = begin_at;
    job_repack(&j->spec, &spec->base);
    j->begin_at = begin_at;
    j->reason = REASON_BEGIN_TIME;
    job_partitions_unqueue(j);
}

/* HET-118: the planned start is that of all components; each has its own planned nodes, also with
 * one that may not begin earlier. */
static void each_component_has_its_planned_nodes(void **state)
{
    static const char *const nodes[] = {"n1", "m[1-2]", "n[3-4]"};
    (void)state;
    for (int64_t begin_at = 0; begin_at <= NOW + 700; begin_at += NOW + 700) {
        struct cluster *c = cluster_up();
        run_job(c, 1, "m1:4", NOW + 500);
        run_job(c, 2, "n2:3", NOW + 900);
        queue_set(c, 10, 3, (const char *[]){"n=4 N=1", "n=2 N=2 C=b", "n=8 N=2 p=q"});
        if (begin_at)
            begin_later(cluster_find_job(c, 11), begin_at);
        for (uint32_t i = 0; i < 3; i++) {
            struct why *w = ask_why(c, 10 + i);
            assert_string_equal(why_answer(w)->sched_nodes, nodes[i]);
            assert_int_equal(why_answer(w)->start_at, begin_at ? begin_at : NOW + 500);
            why_free(w);
        }
        test_cluster_free(c);
    }
}

static void hold(struct job *j)
{
    job_partitions_unqueue(j);
    j->held = true;
    j->reason = REASON_JOB_HELD_USER;
}

/* What is not in the queue comes before what has no room. */
static void held_component_is_named(void **state)
{
    struct cluster *c = cluster_up();
    (void)state;
    run_job(c, 1, "m1:4 m2:4", NOW + 500);
    queue_set(c, 10, 3, (const char *[]){"n=1 C=b", "n=1", "n=1"});
    hold(cluster_find_job(c, 12));
    expect(c, 10, "2: held");
    test_cluster_free(c);
    c = cluster_up();
    queue_set(c, 10, 2, (const char *[]){"n=1", "n=1"});
    hold(cluster_find_job(c, 11));
    expect(c, 10, "1: held | scontrol release 10+1");
    hold(cluster_find_job(c, 10));
    struct why *w = ask_why(c, 10);
    assert_int_equal(why_answer(w)->n_changes, 1); /* all of them are held */
    assert_string_equal(why_answer(w)->changes[0]->command, "scontrol release 10");
    why_free(w);
    test_cluster_free(c);
}

/* A set that is held says so, and no start is searched for it. */
static void component_without_partition_is_survived_and_named(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++) {
        struct cluster *c = cluster_up();
        queue_set(c, 10, 3, (const char *[]){"n=1", "n=1 p=q", "n=1"});
        struct job *j = cluster_find_job(c, 11);
        for (uint32_t id = 10; held && id < 13; id++)
            hold(cluster_find_job(c, id));
        job_partitions_unqueue(j);
        j->reason = held ? REASON_JOB_HELD_USER : REASON_PARTITION_DOWN;
        cluster_remove_part(c, cluster_find_part(c, "q"));
        for (uint32_t id = 10; id < 13; id++) {
            struct why *w = ask_why(c, id);
            assert_string_equal(why_answer(w)->rule, held ? "held" : "partition_removed");
            assert_int_equal(why_answer(w)->set_offset, held ? 0 : 1);
            assert_false(why_answer(w)->has_start_at);
            why_free(w);
        }
        test_cluster_free(c);
    }
}

/* It has room now, which others wait for. */
static void delaying_component_is_named(void **state)
{
    struct cluster *c = cluster_up();
    (void)state;
    run_job(c, 1, "m1:4", NOW + 100);
    struct job *first = test_job(c, 5, "C=b N=2 n=8");
    first->limit_sec = 600;
    first->priority = 2000;
    job_partitions_queue(first);
    queue_set(c, 10, 2, (const char *[]){"n=1", "n=1 C=b"});
    struct why *w = ask_why(c, 10);
    const Pb__WhyReply *m = why_answer(w);
    assert_string_equal(m->rule, "kept");
    assert_int_equal(m->set_offset, 1);
    bool shorter = false, first_priority = false;
    for (size_t i = 0; i < m->n_changes; i++) {
        shorter = shorter || str_starts(m->changes[i]->command, "scontrol update JobId=10+1 TimeL");
        first_priority = first_priority ||
                         str_eq(m->changes[i]->command, "scontrol update JobId=10+0 Priority=2001");
    }
    assert_true(shorter && first_priority);
    why_free(w);
    test_cluster_free(c);
}

static void starting_and_returning_sets_are_explained(void **state)
{
    struct cluster *c = cluster_up();
    (void)state;
    queue_set(c, 10, 2, (const char *[]){"n=1", "n=1"});
    expect(c, 11, "0: now");
    struct job *j = cluster_find_job(c, 11);
    job_partitions_unqueue(j);
    test_run_job(c, j, "n1:1", NOW + 5);
    assert_int_equal(job_set_state(c, j, PB__JOB_STATE__CANCELLED, CAUSE_NONE, NULL), 0);
    alloc_clear(c, j);
    expect(c, 10, "1: returning");
    test_cluster_free(c);
}

/* Whether a pass starts the job now. */
static bool starts_in_pass(const struct cluster *c, uint32_t id)
{
    struct plan p;
    struct decision d;
    bool starts = false;
    plan_begin(&p, c, NULL, NOW, true);
    while (plan_next(&p, &d)) {
        starts = starts || (d.job->id == id && d.kind == PLAN_START);
        if (d.kind == PLAN_START)
            plan_suppose(&p, &d);
        plan_decision_done(&d);
        free(d.detail);
    }
    plan_end(&p);
    return starts;
}

/* Of a set with a common place (bf_hetjob_prio), jobs that are before it in any of its partitions
 * come first, but those of a tier below that of its turn. */
static void set_with_common_place_is_behind_jobs_of_all_its_partitions(void **state)
{
    static const enum conf_sets_rank rules[] = {CONF_RANK_LEAST, CONF_RANK_MEAN, CONF_RANK_MOST};
    static const char *const tiers[] = {"", " PriorityTier=2", " PriorityTier=0"};
    static const char *const sets[][2] = {{"n=4 p=p", "n=4 p=q"}, {"n=4 p=q", "n=4 p=p"}};
    static const char *const before[] = {"n=4 p=p", "n=4 p=q", "n=4 p=r", ""};
    (void)state;
    for (unsigned i = 0; i < COUNT(rules) * COUNT(tiers) * COUNT(sets) * COUNT(before); i++) {
        unsigned rule = i % 3, tier = i / 3 % 3, set = i / 9 % 2, first = i / 18;
        _cleanup_free_ char *text =
            mem_printf(CONS "NodeName=n[1-3] CPUs=4 RealMemory=400\nPartitionName=p Nodes=n1\n"
                            "PartitionName=r Nodes=n3\nPartitionName=q Nodes=n2%s\n",
                       tiers[tier]);
        struct cluster *c = test_cluster(text);
        test_up(c);
        if (*before[first])
            queue_before(c, 5, before[first]);
        struct job *leader = queue_set(c, 10, 2, sets[set]);
        job_set_rank(leader, rules[rule]);
        struct why *w = ask_why(c, 10);
        bool now = str_eq(why_answer(w)->rule, "now");
        if (now != starts_in_pass(c, 10))
            fail_msg("rule %u, tier %u, set %u, before %u: why says %s", rule, tier, set, first,
                     why_answer(w)->rule);
        if (!now)
            assert_int_equal(why_answer(w)->start_at, NOW + 600);
        why_free(w);
        test_cluster_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_of_each_partition_are_before_the_set),
        cmocka_unit_test(depth_is_that_of_the_last_partition_of_the_set),
        cmocka_unit_test(component_without_free_nodes_is_named),
        cmocka_unit_test(no_start_is_predicted_without_nodes),
        cmocka_unit_test(component_is_explained_by_the_alternative_that_it_waits_for),
        cmocka_unit_test(components_that_do_not_fit_together_are_named),
        cmocka_unit_test(impossible_component_is_named),
        cmocka_unit_test(each_component_has_its_planned_nodes),
        cmocka_unit_test(held_component_is_named),
        cmocka_unit_test(component_without_partition_is_survived_and_named),
        cmocka_unit_test(delaying_component_is_named),
        cmocka_unit_test(starting_and_returning_sets_are_explained),
        cmocka_unit_test(set_with_common_place_is_behind_jobs_of_all_its_partitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
