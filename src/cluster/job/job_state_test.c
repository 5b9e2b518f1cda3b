/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/cluster_test_util.h"

enum { STATES = PB__JOB_STATE__OUT_OF_MEMORY + 1 };

/* A row for each state a job is in, a column for each it may get, both in the order of JobState:
 * PENDING RUNNING SUSPENDED, COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL
 * DEADLINE OUT_OF_MEMORY. */
static const char *const legal[STATES] = {
    [PB__JOB_STATE__PENDING] = ".x..xx.x.xx.",       [PB__JOB_STATE__RUNNING] = "x.xxxxxxxxxx",
    [PB__JOB_STATE__SUSPENDED] = ".x.xxxxxx.xx",     [PB__JOB_STATE__COMPLETED] = "x...........",
    [PB__JOB_STATE__CANCELLED] = "x...........",     [PB__JOB_STATE__FAILED] = "x...........",
    [PB__JOB_STATE__TIMEOUT] = "x...........",       [PB__JOB_STATE__NODE_FAIL] = "x...........",
    [PB__JOB_STATE__PREEMPTED] = "x...........",     [PB__JOB_STATE__BOOT_FAIL] = "x...........",
    [PB__JOB_STATE__OUT_OF_MEMORY] = "x...........", [PB__JOB_STATE__DEADLINE] = "............",
};

static enum _Pb__JobState numbered(int64_t number)
{
    return (enum _Pb__JobState)number;
}

static void unknown_states_allow_no_transition(void **state)
{
    static const int64_t bad[] = {STATES, 31, 32, 33, 63, 64, 65, 1000, INT32_MAX};
    struct cluster *c = test_cluster(CONS "NodeName=n1\nPartitionName=p Nodes=n1\n");
    struct job *j = cluster_add_job(c, 1);

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        for (int known = 0; known < STATES; known++) {
            assert_false(job_state_may_become(numbered(known), numbered(bad[i])));
            assert_false(job_state_may_become(numbered(bad[i]), numbered(known)));
            job_load_state(c, j, numbered(known));
            assert_int_equal(job_set_state(c, j, numbered(bad[i]), CAUSE_NONE, NULL),
                             -ERR_TRANSITION);
            assert_int_equal(j->state, known);
        }
        assert_false(job_state_may_become(numbered(bad[i]), numbered(bad[i])));
    }
    test_cluster_free(c);
}

static bool is_running_state(int s)
{
    return s == PB__JOB_STATE__RUNNING || s == PB__JOB_STATE__SUSPENDED;
}

static void check_counts(const struct cluster *c, int s)
{
    assert_int_equal(c->pending, s == PB__JOB_STATE__PENDING);
    assert_int_equal(c->running, is_running_state(s));
}

struct heard {
    struct transition last;
    unsigned count;
};

static void on_transition(void *ctx, const struct transition *t)
{
    struct heard *h = ctx;
    h->last = *t;
    h->count++;
}

static unsigned kind_of(int from, int to)
{
    if (to == PB__JOB_STATE__PENDING)
        return TRANSITION_REQUEUED;
    if (to == PB__JOB_STATE__SUSPENDED)
        return TRANSITION_SUSPENDED;
    if (to == PB__JOB_STATE__RUNNING)
        return from == PB__JOB_STATE__PENDING ? TRANSITION_STARTED : TRANSITION_RESUMED;
    return from == PB__JOB_STATE__PENDING ? TRANSITION_WITHDRAWN : TRANSITION_ENDED;
}

static void check_heard(const struct heard *h, const struct job *j, int from, int to)
{
    bool ended_before = from >= PB__JOB_STATE__COMPLETED; /* only a requeue leaves a final state */
    assert_int_equal(h->count, 1);
    assert_ptr_equal(h->last.job, j);
    assert_int_equal(h->last.attempt, 3);
    assert_int_equal(h->last.from, from);
    assert_int_equal(h->last.to, to);
    assert_int_equal(h->last.kind, ended_before ? TRANSITION_REQUEUED : kind_of(from, to));
    assert_int_equal(h->last.cause, CAUSE_EXIT);
    assert_string_equal(h->last.detail, "why");
}

/* A rejected transition changes nothing and notifies no observer; a legal one is counted, marks the
 * job as dirty, and is reported once. */
static void check_transition(struct cluster *c, int from, int to)
{
    struct job *j = cluster_add_job(c, 7);
    job_load_state(c, j, numbered(from));
    check_counts(c, from);
    assert_false(j->dirty);
    uint64_t stamp = c->stamp;
    bool allowed = legal[from][to] == 'x';
    struct heard heard = {0};
    c->observer = (struct transition_observer){on_transition, &heard};
    j->restarts = 3;

    assert_int_equal(job_state_may_become(numbered(from), numbered(to)), allowed);
    if (job_set_state(c, j, numbered(to), CAUSE_EXIT, "why") != (allowed ? 0 : -ERR_TRANSITION))
        fail_msg("from %d to %d: expected to be %s", from, to, allowed ? "allowed" : "refused");
    assert_int_equal(j->state, allowed ? to : from);
    check_counts(c, allowed ? to : from);
    if (allowed)
        check_heard(&heard, j, from, to);
    else
        assert_int_equal(heard.count, 0);
    assert_int_equal(j->dirty, allowed);
    assert_int_equal(c->dirty.len, allowed);
    assert_int_equal(c->stamp > stamp, allowed);
    assert_true(!allowed || j->stamp == c->stamp);
    cluster_remove_job(c, j);
    vec_clear(&c->dirty);
    assert_int_equal(c->pending, 0);
    assert_int_equal(c->running, 0);
}

static void only_legal_transitions_are_made(void **state)
{
    struct cluster *c = test_cluster(CONS "NodeName=n1\nPartitionName=p Nodes=n1\n");

    (void)state;
    for (int from = 0; from < STATES; from++) {
        assert_int_equal(strlen(legal[from]), STATES);
        for (int to = 0; to < STATES; to++)
            check_transition(c, from, to);
    }
    test_cluster_free(c);
}

/* A final state can only be left by a requeue. */
static void final_state_is_left_by_a_requeue_only(void **state)
{
    (void)state;
    for (int s = 0; s < STATES; s++) {
        struct job j = {.state = numbered(s)};
        assert_int_equal(job_is_final(&j), s >= PB__JOB_STATE__COMPLETED);
        for (int to = 0; to < STATES && job_is_final(&j); to++)
            assert_true(to == PB__JOB_STATE__PENDING ||
                        !job_state_may_become(numbered(s), numbered(to)));
    }
}

/* Every state can be reached from PENDING, and every final state except DEADLINE leads back to
 * it. */
static void every_state_can_be_reached(void **state)
{
    bool seen[STATES] = {[PB__JOB_STATE__PENDING] = true};

    (void)state;
    for (int round = 0; round < STATES; round++)
        for (int from = 0; from < STATES; from++)
            for (int to = 0; to < STATES; to++)
                seen[to] |= seen[from] && job_state_may_become(numbered(from), numbered(to));
    for (int s = 0; s < STATES; s++)
        assert_true(seen[s]);
}

static void loaded_state_is_counted(void **state)
{
    struct cluster *c = test_cluster(CONS "NodeName=n1\nPartitionName=p Nodes=n1\n");
    struct job *j = cluster_add_job(c, 1);

    (void)state;
    check_counts(c, PB__JOB_STATE__PENDING);
    for (int from = 0; from < STATES; from++)
        for (int to = 0; to < STATES; to++) { /* a record may have any state */
            job_load_state(c, j, numbered(from));
            job_load_state(c, j, numbered(to));
            assert_int_equal(j->state, to);
            check_counts(c, to);
            assert_false(j->dirty);
        }
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_states_allow_no_transition),
        cmocka_unit_test(only_legal_transitions_are_made),
        cmocka_unit_test(final_state_is_left_by_a_requeue_only),
        cmocka_unit_test(every_state_can_be_reached),
        cmocka_unit_test(loaded_state_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
