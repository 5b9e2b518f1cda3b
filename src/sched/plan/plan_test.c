/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/license_layer.h"
#include "sched/sched_test_util.h"

enum { NOW = 1000 };

#define FOUR CONS "NodeName=n[1-4] CPUs=2 RealMemory=100 TmpDisk=10 Feature=a\n"

static struct job *queue_in(struct cluster *c, size_t part, uint32_t id, int64_t limit_sec,
                            const char *words)
{
    struct job *j = test_job(c, id, words);
    j->part = c->parts.data[part];
    j->limit_sec = limit_sec;
    j->priority = 1000000 - id;
    order_insert(&j->part->queue, &j->queued, -(int64_t)j->priority, id);
    return j;
}

static struct job *queue(struct cluster *c, uint32_t id, int64_t limit_sec, const char *words)
{
    return queue_in(c, 0, id, limit_sec, words);
}

static void commit(struct cluster *c, const struct decision *d)
{
    _cleanup_free_ char *where = test_selection(c, &d->where);
    struct job *j = test_follow(c, d);
    order_remove(&j->part->queue, &j->queued);
    test_run_job(c, j, where, job_ends_at(j, NOW));
}

/* Writes "3: n1:2/0 n2:1/0" for a start, "3: +n1:2/0" for a backfilled job, "3: Resources@1100" for
 * a waiting job. */
static void describe(const struct cluster *c, const struct decision *d, struct str *out)
{
    str_printf(out, "%s%u: ", out->len ? ", " : "", d->job->id);
    if (d->kind == PLAN_START) {
        _cleanup_free_ char *where = test_selection(c, &d->where);
        assert_int_equal(d->reason, REASON_NONE);
        assert_null(d->detail);
        str_printf(out, "%s%s", d->backfilled ? "+" : "", where);
        return;
    }
    assert_int_equal(d->where.shares.len, 0);
    assert_false(d->backfilled);
    str_puts(out, reason_word(d->reason));
    if (d->start_at)
        str_printf(out, "@%lld", (long long)d->start_at);
    if (d->detail)
        str_printf(out, " (%s)", d->detail);
}

/* Runs a pass and commits each decision before the next. Returns all decisions as one text, which
 * the caller frees. */
static char *pass(struct cluster *c, bool backfill)
{
    struct plan p;
    struct decision d;
    struct str out = STR_INIT;

    plan_begin(&p, c, NULL, NOW, backfill);
    while (plan_next(&p, &d)) {
        describe(c, &d, &out);
        if (d.kind == PLAN_START)
            commit(c, &d);
        else
            test_follow(c, &d);
        plan_decision_done(&d);
        free(d.detail);
    }
    assert_false(plan_next(&p, &d));
    plan_end(&p);
    test_sound(c);
    return str_take(&out);
}

static void expect(struct cluster *c, bool backfill, const char *decisions)
{
    _cleanup_free_ char *text = pass(c, backfill);
    if (!str_eq(text, decisions))
        fail_msg("expected '%s'\n     got '%s'", decisions, text);
}

static struct cluster *cluster_up(const char *text)
{
    struct cluster *c = test_cluster(text);
    test_up(c);
    return c;
}

/* Jobs that differ in one property are not treated as equal: the failure of the first one does not
 * stop the second. */
static void different_requests_are_not_skipped(void **state)
{
    struct cluster *c = cluster_up("GresTypes=gpu\n" CONS "NodeName=n1 CPUs=8 Gres=gpu:2\n"
                                   "PartitionName=p Nodes=ALL\n");

    (void)state;
    struct job *holder = test_job(c, 1, "gres=gpu:2");
    const struct gres_amount two = {0, 2};
    const struct alloc_want want = {.units = 1, .gres = &two, .gres_len = 1};
    assert_int_equal(alloc_place(c, holder, &want, NULL), 0);
    assert_int_equal(job_set_state(c, holder, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    order_insert(&c->ends, &attempt_make(holder)->ends, NOW + 1000, 1);
    queue(c, 2, 60, "gres=gpu:1");
    queue(c, 3, 60, "");
    queue(c, 4, 60, "gres=gpu:2");
    expect(c, true, "2: Resources@2000, 3: +n1:1/0, 4: Priority");
    test_cluster_free(c);
}

/* --- nothing to do --- */

static void nothing(void **state)
{
    struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=ALL\n");
    struct plan p;

    (void)state;
    expect(c, true, "");
    plan_begin(&p, c, NULL, NOW, true); /* ended before any query */
    plan_end(&p);
    test_job(c, 1, ""); /* held or not yet eligible: it is in no queue */
    test_run(c, 2, "n1:1", NOW + 10);
    expect(c, true, "");
    queue(c, 3, 60, "");
    plan_begin(&p, c, NULL, NOW, true);
    plan_end(&p);
    assert_int_equal(c->pending, 2);
    test_cluster_free(c);
}

/* States in which a partition starts no jobs, and states in which it does. */
static void partition_states_are_respected(void **state)
{
    static const struct {
        enum conf_part_state state;
        const char *decisions;
    } cases[] = {{CONF_PART_DOWN, ""},
                 {CONF_PART_INACTIVE, ""},
                 {CONF_PART_DRAIN, "1: n1:1/0"},
                 {CONF_PART_UP, "1: n1:1/0"}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=ALL\n");
        queue(c, 1, 60, "");
        c->parts.data[0]->conf.state = cases[i].state;
        expect(c, true, cases[i].decisions);
        test_cluster_free(c);
    }
}

static void waiting_jobs_have_reasons(void **state)
{
    static const char *const down = " (Nodes required for job are DOWN, DRAINED or reserved for "
                                    "jobs in higher priority partitions)";
    struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=ALL\nPartitionName=q Nodes=ALL\n"
                                        "PartitionName=r Nodes=n4\n");

    (void)state;
    c->nodes.data[2]->drain = true;
    c->nodes.data[3]->connected = false;
    test_changed(c);
    queue(c, 1, 60, "w=n[2-4]");
    queue(c, 2, 60, "N=3");
    queue_in(c, 1, 3, 60, "N=3");
    queue_in(c, 1, 4, 60, "N=1 n=2");
    queue_in(c, 2, 5, 60, "");
    _cleanup_free_ char *expected =
        mem_printf("1: ReqNodeNotAvail (ReqNodeNotAvail, UnavailableNodes:n[3-4]), 2: Priority, "
                   "3: Resources%s, 4: +n1:2/0, 5: Resources%s",
                   down, down);
    expect(c, true, expected);
    test_cluster_free(c);
}

/* The layer would suffice if all nodes were up: the reason is the nodes. */
static void layer_with_enough_is_no_reason(void **state)
{
    static const struct {
        uint64_t total;
        const char *decisions;
    } cases[] = {
        {3, "1: Resources (Nodes required for job are DOWN, DRAINED or reserved for jobs in higher "
            "priority partitions), 2: ReqNodeNotAvail (ReqNodeNotAvail, UnavailableNodes:n3)"},
        {1, "1: Licenses, 2: ReqNodeNotAvail (ReqNodeNotAvail, UnavailableNodes:n3)"}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=ALL\n");
        struct bitset *nodes = bitset_new(c->nodes.len);
        bitset_fill(nodes);
        license_add_layer(c, "power", CONF_HRES_PER_NODE, nodes, cases[i].total);
        c->nodes.data[2]->drain = true;
        c->nodes.data[3]->connected = false;
        test_changed(c);
        queue(c, 1, 60, "N=3 L=power:1");
        queue(c, 2, 60, "w=n3 L=power:1");
        expect(c, true, cases[i].decisions);
        test_cluster_free(c);
    }
}

/* A required node is no longer configured: the job waits, and blocks no other job. */
static void required_node_is_gone(void **state)
{
    struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=ALL\n");

    (void)state;
    queue(c, 1, 60, "")->want.req_gone = true;
    queue(c, 2, 60, "N=4 n=8");
    queue(c, 3, 60, "")->want.req_gone = true;
    expect(c, false, "1: ReqNodeNotAvail, 2: n1:2/0 n2:2/0 n3:2/0 n4:2/0, 3: ReqNodeNotAvail");
    test_cluster_free(c);
}

/* --- order --- */

static void first_in_first_out(void **state)
{
    struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=ALL\n");

    (void)state;
    for (uint32_t id = 5; id >= 1; id--)
        queue(c, id, 60, "c=2 n=1");
    expect(c, true, "1: n1:2/0, 2: n2:2/0, 3: n3:2/0, 4: n4:2/0, 5: Resources@1060");
    test_cluster_free(c);
    c = cluster_up(FOUR "PartitionName=p Nodes=ALL\n");
    for (uint32_t id = 1; id <= 5; id++) {
        struct job *j = queue(c, id, 60, "c=2 n=1");
        order_move(&j->part->queue, &j->queued, -(int64_t)(id % 3), id);
    }
    expect(c, true, "2: n1:2/0, 5: n2:2/0, 1: n3:2/0, 4: n4:2/0, 3: Resources@1060");
    test_cluster_free(c);
}

/* Behind the first job that does not fit, no job of its partition is examined (CORE-055). */
static void first_blocked_job_blocks_its_partition_without_backfill(void **state)
{
    struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=n[1-2]\nPartitionName=q "
                                        "Nodes=n[3-4]\n");

    (void)state;
    test_run(c, 1, "n1:1", NOW + 50);
    queue(c, 2, 60, "");
    queue(c, 3, 60, "N=2 n=4");
    queue(c, 4, 1, "");
    queue_in(c, 1, 5, 60, "N=2 n=4");
    queue_in(c, 1, 6, 60, "");
    expect(c, false, "2: n1:1/0, 3: Resources, 5: n3:2/0 n4:2/0, 6: Resources");
    test_cluster_free(c);
}

static void higher_tiers_start_first(void **state)
{
    struct cluster *c = cluster_up(FOUR "PartitionName=a Nodes=ALL PriorityTier=2\n"
                                        "PartitionName=b Nodes=ALL PriorityTier=9\n"
                                        "PartitionName=c Nodes=ALL\n"
                                        "PartitionName=d Nodes=ALL PriorityTier=9\n");

    (void)state;
    for (uint32_t part = 0; part < 4; part++) {
        queue_in(c, part, part * 2 + 1, 60, "c=2");
        queue_in(c, part, part * 2 + 2, 60, "c=2");
    }
    expect(c, true,
           "3: n1:2/0, 4: n2:2/0, 7: n3:2/0, 8: n4:2/0, 1: Resources@1060, 2: Priority, "
           "5: Resources@1060, 6: Priority");
    test_cluster_free(c);
}

/* --- backfill --- */

/* n1 and n2 are busy until 1100, and the first job needs three nodes. */
static struct cluster *blocked_cluster(void)
{
    struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=ALL\nPartitionName=q Nodes=ALL\n");

    test_run(c, 1, "n1:2 n2:2", NOW + 100);
    queue(c, 2, 500, "N=3 n=6");
    return c;
}

static void shorter_jobs_fill_holes(void **state)
{
    static const struct {
        int64_t limit_sec;
        const char *words, *decisions;
    } cases[] = {
        {100, "", "2: Resources@1100, 3: +n3:1/0"},
        {100, "N=2 n=4", "2: Resources@1100, 3: +n3:2/0 n4:2/0"},
        {101, "N=2 n=4", "2: Resources@1100, 3: Priority"},
        {101, "", "2: Resources@1100, 3: +n4:1/0"}, /* the first job does not need this node */
        {INT64_MAX, "", "2: Resources@1100, 3: +n4:1/0"},
        {101, "w=n3", "2: Resources@1100, 3: Priority"},
        {100, "w=n3", "2: Resources@1100, 3: +n3:1/0"},
        {1, "N=3", "2: Resources@1100, 3: Priority"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = blocked_cluster();
        queue(c, 3, cases[i].limit_sec, cases[i].words);
        expect(c, true, cases[i].decisions);
        expect(c, true,
               strstr(cases[i].decisions, "Priority") ? cases[i].decisions : "2: Resources@1100");
        test_cluster_free(c);
    }
}

/* Its planned start is protected against other partitions, too; partitions of a higher tier come
 * first. */
static void planned_start_is_protected_from_other_partitions(void **state)
{
    struct cluster *c = blocked_cluster();

    (void)state;
    queue_in(c, 1, 3, 101, "w=n3");
    queue_in(c, 1, 4, 101, "w=n4");
    queue_in(c, 1, 5, 100, "w=n3");
    expect(c, true, "2: Resources@1100, 3: Resources@1600, 4: +n4:1/0, 5: +n3:1/0");
    test_cluster_free(c);
    c = blocked_cluster();
    c->parts.data[1]->conf.priority_tier = 2;
    queue_in(c, 1, 3, 101, "w=n3");
    expect(c, true, "3: n3:1/0, 2: Resources@1100");
    test_cluster_free(c);
}

static void jobs_without_limits_never_end_in_the_plan(void **state)
{
    struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=ALL\n");

    (void)state;
    queue(c, 1, INT64_MAX, "w=n[1-2] n=4");
    queue(c, 2, INT64_MAX, "N=4");
    queue(c, 3, INT64_MAX, "w=n3");
    queue(c, 4, CLUSTER_NO_LIMIT_SEC, "w=n4");
    _cleanup_free_ char *expected =
        mem_printf("1: n1:2/0 n2:2/0, 2: Resources@%lld, 3: +n3:1/0, 4: +n4:1/0",
                   (long long)(NOW + CLUSTER_NO_LIMIT_SEC));
    expect(c, true, expected);
    test_cluster_free(c);
}

/* A first job whose start is unforeseeable reserves nothing. */
static void unforeseeable_start_reserves_nothing(void **state)
{
    struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=ALL\n");

    (void)state;
    c->nodes.data[3]->down = true;
    test_changed(c);
    queue(c, 1, 60, "N=4");
    queue(c, 2, INT64_MAX, "N=3 n=6");
    _cleanup_free_ char *text = pass(c, true);
    assert_true(str_starts(text, "1: Resources (Nodes required"));
    assert_non_null(strstr(text, "2: +n1:2/0 n2:2/0 n3:2/0"));
    test_cluster_free(c);
}

/* Behind a blocked first job only a limited number of jobs is examined; before it, all jobs that
 * fit. */
static void number_of_jobs_behind_a_blocked_one_is_limited(void **state)
{
    struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=n[1-3]\nPartitionName=q Nodes=n4\n");
    struct plan p;
    struct decision d;
    uint32_t looked = 0;

    (void)state;
    test_run(c, 1, "n1:1 n2:2", NOW + 100);
    queue(c, 2, 60, "N=3");
    for (uint32_t id = 0; id < PLAN_DEPTH; id++)
        queue(c, 100 + id, 60 + id % 7, "N=2 n=4");
    queue(c, 100 + PLAN_DEPTH, 1, "");
    queue_in(c, 1, 5000, 60, "");
    queue_in(c, 1, 5001, 60, "w=n4 n=3 N=1");
    queue_in(c, 1, 5002, 1, ""); /* the depth is counted for each partition */
    plan_begin(&p, c, NULL, NOW, true);
    while (plan_next(&p, &d)) {
        looked++;
        bool starts = d.job->id == 5000 || d.job->id == 5002;
        assert_int_equal(d.kind, starts ? PLAN_START : PLAN_WAIT);
        plan_decision_done(&d);
        free(d.detail);
    }
    assert_int_equal(looked, 4 + PLAN_DEPTH);
    plan_end(&p);
    test_cluster_free(c);
}

/* A limited number of first jobs get a planned start. */
static void number_of_planned_starts_is_limited(void **state)
{
    enum { PARTS = PLAN_RESERVATIONS + 2 };
    struct str text = STR_INIT;
    struct plan p;
    struct decision d;
    size_t heads = 0;

    (void)state;
    str_puts(&text, CONS "NodeName=n1 CPUs=2\n");
    for (int i = 0; i < PARTS; i++)
        str_printf(&text, "PartitionName=p%d Nodes=n1\n", i);
    struct cluster *c = cluster_up(str_cstr(&text));
    test_run(c, 1, "n1:2", NOW + 100);
    for (uint32_t i = 0; i < PARTS; i++)
        queue_in(c, i, i + 2, 60, "");
    plan_begin(&p, c, NULL, NOW, true);
    while (plan_next(&p, &d)) {
        assert_int_equal(d.reason, REASON_RESOURCES);
        /* Two jobs at a time, each for one minute. */
        assert_int_equal(d.start_at,
                         heads < PLAN_RESERVATIONS ? NOW + 100 + (int64_t)heads / 2 * 60 : 0);
        heads++;
        free(d.detail);
    }
    assert_int_equal(heads, PARTS);
    assert_int_equal(p.heads.len, PLAN_RESERVATIONS);
    plan_end(&p);
    str_done(&text);
    test_cluster_free(c);
}

/* The second pass takes the starts from the notes of the first and does not need their nodes. Each
 * call with a small budget finds the nodes of one more start. */
static void planned_starts_outlive_their_pass(void **state)
{
    static const char *const found[] = {"1100", "1111", "1111"};
    struct cluster *c =
        cluster_up(CONS "NodeName=n[1-5] CPUs=2\n"
                        "PartitionName=a Nodes=n[1-2]\nPartitionName=b Nodes=n[3-5]\n");
    struct plan_notes notes = {0};
    struct plan_starts starts = {0};
    struct plan p;
    struct decision d;

    (void)state;
    test_run(c, 1, "n1:2", NOW + 100);
    test_run(c, 2, "n3:2", NOW + 100);
    for (uint32_t i = 0; i < 2; i++)
        queue_in(c, i, i + 3, 60, i ? "N=2 w=n[3-4]" : "N=2");
    for (int i = 0; i < 2; i++) {
        plan_begin(&p, c, &notes, NOW, true);
        while (plan_next(&p, &d))
            free(d.detail);
        assert_int_equal(p.heads.len, 2);
        assert_int_equal(p.heads.data[1].placed, i == 0);
        plan_starts_take(&starts, &p);
        plan_end(&p);
    }
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        const struct bitset *nodes = plan_starts_find_nodes(&starts, c, NOW, 1);
        for (size_t n = 0; n < 4; n++)
            assert_int_equal(bitset_test(nodes, n), found[i][n] == '1');
        assert_false(bitset_test(nodes, 4));
    }
    plan_starts_done(&starts);
    assert_null(plan_starts_find_nodes(&starts, c, NOW, 1));
    plan_notes_done(&notes);
    test_cluster_free(c);
}

/* A decision that the caller cannot carry out is not a start: the other jobs are still examined. */
static void refused_by_the_caller(void **state)
{
    struct cluster *c = cluster_up(FOUR "PartitionName=p Nodes=ALL\n");
    struct plan p;
    struct decision d;
    uint32_t seen = 0;

    (void)state;
    for (uint32_t id = 1; id <= 3; id++)
        queue(c, id, 60, "N=4 n=8");
    plan_begin(&p, c, NULL, NOW, true);
    while (plan_next(&p, &d)) {
        assert_int_equal(d.kind, PLAN_START);
        assert_int_equal(d.job->id, ++seen);
        plan_decision_done(&d);
    }
    plan_end(&p);
    assert_int_equal(seen, 3);
    expect(c, true, "1: n1:2/0 n2:2/0 n3:2/0 n4:2/0, 2: Resources@1060, 3: Priority");
    test_cluster_free(c);
}

/* --- equal requests --- */

/* If requests differ, the second job runs although the first one does not. */
/* An array of which an element has started in its second partition is held between two parts of a
 * pass: its first partition is selected again. */
static void held_between_elements(void **state)
{
    struct cluster *c = test_cluster(FOUR "PartitionName=p Nodes=ALL\nPartitionName=q Nodes=ALL\n");
    struct job *j = test_job(c, 1, "p=p,q");
    struct idset tasks = {0};
    struct decision d;
    struct plan p;

    (void)state;
    test_up(c);
    assert_int_equal(idset_parse("1-9", 10, &tasks, NULL), 0);
    array_make(c, j, &tasks, 0);
    job_partitions_select(j, 1);
    job_partitions_queue(j);
    job_partitions_select_first(j);
    plan_begin(&p, c, NULL, NOW, true);
    assert_true(plan_next(&p, &d));
    assert_int_equal(d.kind, PLAN_START);
    assert_string_equal(d.part->conf.name, "q");
    plan_decision_done(&d);
    job_partitions_unqueue(j);
    plan_resume(&p, NOW + 1);
    assert_false(plan_next(&p, &d));
    assert_string_equal(j->part->conf.name, "p");
    assert_true(job_partitions_keys_hold(j));
    plan_end(&p);
    test_cluster_free(c);
}

static void unequal_requests_are_examined_separately(void **state)
{
    static const struct {
        const char *first, *second;
    } pairs[] = {
        {"N=4-9 n=4", "N=3-9 n=4"},
        {"N=2-2 n=6", "N=2-3 n=6"},
        {"n=7", "n=6"},
        {"c=4", "c=3"},
        {"N=2 w=n2,n3 n=4 per-node=2", "N=2 w=n2,n3 n=4 per-node=3"},
        {"w=n2,n3 per-node=2", "w=n2,n3 per-node=2 n=4"},
        {"mincpus=4", "mincpus=3"},
        {"mem=80", "mem=70"},
        {"mem-per-cpu=80", "mem-per-cpu=70"},
        {"tmp=11", "tmp=10"},
        {"exclusive", ""},
        {"contiguous c=2 w=n2,n4", "c=2 w=n2,n4"},
        {"n=9", "n=9 overcommit"},
        {"C=b", "C=a"},
        {"C=b", ""},
        {"w=n1", "w=n2"},
        {"w=n1", ""},
        {"x=n[2-4]", "x=n[1-3]"},
        {"x=n[2-4]", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct cluster *c = cluster_up(CONS "NodeName=n[1-4] CPUs=4 RealMemory=100 TmpDisk=10 "
                                            "Feature=a\nPartitionName=p Nodes=ALL\n");
        test_run(c, 1, "n1:4 n2:1/25 n3:3/50 n4:2/25", NOW + 1000);
        queue(c, 2, 1, pairs[i].first);
        queue(c, 3, 1, pairs[i].first);
        queue(c, 4, 1, pairs[i].second);
        _cleanup_free_ char *text = pass(c, true);
        bool waits = str_starts(text, "2: Resources") && strstr(text, "3: Priority");
        bool never = str_starts(text, "2: BadConstraints, 3: BadConstraints");
        if ((!waits && !never) || !strstr(text, waits ? "4: +" : "4: n"))
            fail_msg("'%s' and '%s': %s", pairs[i].first, pairs[i].second, text);
        test_cluster_free(c);
    }
}

/* A shorter job with an equal request may fit where a longer one did not, but not vice versa. */
static void equal_request_is_examined_again_if_shorter(void **state)
{
    struct cluster *c = blocked_cluster();
    struct plan p;
    struct decision d;

    (void)state;
    queue(c, 3, 300, "N=2 n=4");
    queue(c, 4, 400, "N=2 n=4");
    queue(c, 5, 300, "N=2 n=4");
    queue(c, 6, 100, "N=2 n=4");
    plan_begin(&p, c, NULL, NOW, true);
    for (uint32_t id = 2; plan_next(&p, &d); id++) {
        assert_int_equal(d.job->id, id);
        assert_int_equal(d.kind, id == 6 ? PLAN_START : PLAN_WAIT);
        plan_decision_done(&d);
    }
    assert_int_equal(p.failures.by_nodes.list.len, 2); /* the first job, and one of the three */
    plan_end(&p);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(different_requests_are_not_skipped),
        cmocka_unit_test(partition_states_are_respected),
        cmocka_unit_test(waiting_jobs_have_reasons),
        cmocka_unit_test(layer_with_enough_is_no_reason),
        cmocka_unit_test(required_node_is_gone),
        cmocka_unit_test(first_in_first_out),
        cmocka_unit_test(first_blocked_job_blocks_its_partition_without_backfill),
        cmocka_unit_test(higher_tiers_start_first),
        cmocka_unit_test(shorter_jobs_fill_holes),
        cmocka_unit_test(planned_start_is_protected_from_other_partitions),
        cmocka_unit_test(jobs_without_limits_never_end_in_the_plan),
        cmocka_unit_test(unforeseeable_start_reserves_nothing),
        cmocka_unit_test(number_of_jobs_behind_a_blocked_one_is_limited),
        cmocka_unit_test(number_of_planned_starts_is_limited),
        cmocka_unit_test(planned_starts_outlive_their_pass),
        cmocka_unit_test(refused_by_the_caller),
        cmocka_unit_test(held_between_elements),
        cmocka_unit_test(unequal_requests_are_examined_separately),
        cmocka_unit_test(equal_request_is_examined_again_if_shorter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
