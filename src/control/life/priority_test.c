/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Priorities of pending jobs: the right to set them, ageing, and the order of starts. */
#include <string.h>

#include "control/core/filter.h"
#include "control/fixture.h"

#define NODES                                                                                      \
    "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nNodeName=n[1-2] CPUs=4\n"                      \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 PriorityJobFactor=5\n"                       \
    "PartitionName=b Nodes=n1 MaxTime=60 PriorityJobFactor=10\n"
#define BASIC "PriorityType=priority/basic\n"
#define MULTI "PriorityType=priority/multifactor\nPriorityCalcPeriod=1\n"
#define AGES MULTI "PriorityWeightAge=1000\nPriorityMaxAge=0-00:10:00\n"
#define MINUTE_MS 60000
#define MANY 1800 /* jobs: more than are recomputed in a turn */

static Pb__JobSpec make_spec(const char *part, uint32_t tasks)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    s.partition = (char *)part;
    s.has_num_tasks = true;
    s.num_tasks = tasks;
    return s;
}

static uint32_t submit_spec(struct fixture *f, const Pb__JobSpec *s)
{
    struct caller root = FIXTURE_ROOT;
    int64_t id = fixture_submit(f, &root, s);

    assert_true(id > 0);
    return (uint32_t)id;
}

static uint32_t submit_in(struct fixture *f, const char *part, uint32_t tasks)
{
    Pb__JobSpec s = make_spec(part, tasks);
    return submit_spec(f, &s);
}

static uint32_t get_priority(struct fixture *f, uint32_t id)
{
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    return fixture_job(f, &arena, id)->live->priority;
}

static int set_priority(struct fixture *f, const struct caller *who, uint32_t id, uint32_t to)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;

    r.job_id = id;
    r.has_priority = true;
    r.priority = to;
    return fixture_update_job(f, who, &r);
}

static int hold_job(struct fixture *f, uint32_t id, bool wanted)
{
    struct caller root = FIXTURE_ROOT;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;

    r.job_id = id;
    r.has_hold = true;
    r.hold = wanted;
    return fixture_update_job(f, &root, &r);
}

/* Returns the priority in the stored record. */
static uint32_t get_stored_priority(const struct fixture *f, uint32_t id)
{
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    vec_foreach (&f->records, r)
        if (r->kind == RECORD_JOB && r->number == id) {
            const Pb__JobRecord *m =
                arena_unpack(&arena, &pb__job_record__descriptor, r->data.data, r->data.len);
            return m->live->priority;
        }
    return 0;
}

static void only_operators_set_priorities(void **state)
{
    struct fixture *f = fixture_new(MULTI NODES);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    Pb__JobSpec s = make_spec("a", 1);

    s.has_priority = true;
    s.priority = 5;
    assert_int_equal(fixture_submit(f, &user, &s), -ERR_ACCESS);
    s.has_priority = false;
    s.has_nice = true;
    s.nice = -1;
    assert_int_equal(fixture_submit(f, &user, &s), -ERR_ACCESS);
    s.nice = INT32_MAX;
    assert_int_equal(fixture_submit(f, &user, &s), -ERR_RANGE);
    s.nice = 0;
    s.has_site_factor = true;
    s.site_factor = 1;
    assert_int_equal(fixture_submit(f, &user, &s), -ERR_ACCESS);
    s.site_factor = INT32_MIN;
    assert_int_equal(fixture_submit(f, &root, &s), -ERR_RANGE);
    s.has_site_factor = false;
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    assert_int_equal(set_priority(f, &user, id, 2), ERR_ACCESS); /* it has 1 */
    assert_int_equal(set_priority(f, &root, id, 20), 0);
    assert_int_equal(set_priority(f, &user, id, 10), 0); /* a lower one */
    assert_int_equal(get_priority(f, id), 10);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    r.job_id = id;
    r.set = &set;
    set.has_site_factor = true;
    set.site_factor = 77;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_ACCESS);
    fixture_free(f);
}

static void factors_order_the_queue(void **state)
{
    struct fixture *f = fixture_new(MULTI NODES "PriorityWeightPartition=1000\n"
                                                "PriorityWeightJobSize=100\n");
    uint32_t small = submit_in(f, "a", 3), large = submit_in(f, "a", 4),
             other = submit_in(f, "b", 4);

    assert_int_equal(get_priority(f, small), 543); /* 500 + 100 * (1/2 + 3/8) / 2 */
    assert_int_equal(get_priority(f, large), 550);
    assert_int_equal(get_priority(f, other), 1050);
    fixture_register(f, "n2", "i");
    assert_int_equal(fixture_state(f, large), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, small), PB__JOB_STATE__PENDING);
    assert_int_equal(fixture_state(f, other), PB__JOB_STATE__PENDING);
    fixture_free(f);
}

static void ages_are_updated_each_period(void **state)
{
    struct fixture *f = fixture_new(AGES NODES);
    uint32_t id = submit_in(f, "a", 1);

    assert_int_equal(get_priority(f, id), 1);
    fixture_pass(f, MINUTE_MS - 1);
    assert_int_equal(get_priority(f, id), 1);
    fixture_pass(f, 2);
    assert_int_equal(get_priority(f, id), 100);
    fixture_pass(f, 5 * MINUTE_MS);
    assert_int_equal(get_priority(f, id), 600);
    assert_int_equal(get_stored_priority(f, id), 1); /* not written */
    fixture_restart(f);
    assert_int_equal(get_priority(f, id), 600);
    fixture_pass(f, 10 * MINUTE_MS);
    assert_int_equal(get_priority(f, id), 1000); /* PriorityMaxAge */
    fixture_free(f);
}

/* Time in which the job was not eligible does not count as age, and does not reduce its age. */
static void holds_and_begin_times_do_not_age(void **state)
{
    struct fixture *f = fixture_new(AGES NODES);
    Pb__JobSpec s = make_spec("a", 1);
    uint32_t held = submit_in(f, "a", 1);

    s.has_begin_at_sec = true;
    s.begin_at_sec = f->wall_ms / 1000 + 240;
    uint32_t later = submit_spec(f, &s);
    fixture_pass(f, 2 * MINUTE_MS);
    assert_int_equal(get_priority(f, held), 200);
    assert_int_equal(hold_job(f, held, true), 0);
    assert_int_equal(get_priority(f, held), 0);
    fixture_pass(f, MINUTE_MS);
    fixture_restart(f);
    fixture_pass(f, MINUTE_MS + 1000);
    assert_int_equal(hold_job(f, held, false), 0);
    assert_int_equal(get_priority(f, held), 200);
    assert_int_equal(get_priority(f, later), 1);
    fixture_pass(f, MINUTE_MS);
    assert_in_range(get_priority(f, held), 290, 300);
    assert_in_range(get_priority(f, later), 90, 100);
    fixture_free(f);

    f = fixture_new(AGES NODES "PriorityFlags=ACCRUE_ALWAYS\n");
    held = submit_in(f, "a", 1);
    assert_int_equal(hold_job(f, held, true), 0);
    fixture_pass(f, 2 * MINUTE_MS);
    assert_int_equal(hold_job(f, held, false), 0);
    assert_int_equal(get_priority(f, held), 200);
    fixture_free(f);
}

static void given_priority_is_kept(void **state)
{
    struct fixture *f = fixture_new(AGES NODES);
    struct caller root = FIXTURE_ROOT;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT, s = make_spec("a", 1);
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    s.has_nice = true;
    s.nice = 30;
    uint32_t id = submit_spec(f, &s);
    assert_int_equal(set_priority(f, &root, id, 5000), 0);
    assert_int_equal(fixture_job(f, &arena, id)->spec->nice, 0); /* as in Slurm */
    r.job_id = id;
    r.set = &set;
    set.has_nice = true;
    set.nice = 20;
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    fixture_pass(f, 3 * MINUTE_MS);
    fixture_restart(f);
    assert_int_equal(get_priority(f, id), 5000);
    assert_int_equal(hold_job(f, id, false), 0); /* it was not held */
    assert_int_equal(get_priority(f, id), 5000);
    assert_int_equal(hold_job(f, id, true), 0);
    assert_int_equal(hold_job(f, id, false), 0);
    assert_int_equal(get_priority(f, id), 280); /* 300 for its age, less its nice value */
    fixture_free(f);
}

static void incr_only_never_lowers_priorities(void **state)
{
    struct fixture *f = fixture_new(AGES NODES "PriorityFlags=INCR_ONLY\n");
    struct caller root = FIXTURE_ROOT;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    uint32_t id = submit_in(f, "a", 1);

    fixture_pass(f, 2 * MINUTE_MS);
    r.job_id = id;
    r.set = &set;
    set.has_nice = true;
    set.nice = 1000;
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    assert_int_equal(get_priority(f, id), 200);
    fixture_free(f);
}

/* Without weights every priority is 1: the order of submission decides. */
static void multifactor_without_weights_is_first_in_first_out(void **state)
{
    struct fixture *f = fixture_new(NODES);
    struct caller root = FIXTURE_ROOT;
    uint32_t ids[4];

    for (unsigned i = 0; i < 4; i++)
        ids[i] = submit_in(f, "a", 8 - i); /* each needs both nodes */
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(get_priority(f, ids[i]), 1);
    fixture_pass(f, 30 * MINUTE_MS);
    fixture_register(f, "n1", "i");
    fixture_register(f, "n2", "i");
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = i; k < 4; k++)
            assert_int_equal(fixture_state(f, ids[k]),
                             k == i ? PB__JOB_STATE__RUNNING : PB__JOB_STATE__PENDING);
        assert_int_equal(fixture_cancel(f, &root, ids[i], NULL, 0), 0);
        fixture_gone(f, "n1", ids[i], 0);
        fixture_gone(f, "n2", ids[i], 0);
        fixture_turn(f);
    }
    fixture_free(f);
}

static void priority_type_is_changed_by_reconfiguration(void **state)
{
    struct fixture *f = fixture_new(BASIC NODES);
    uint32_t first = submit_in(f, "a", 8), second = submit_in(f, "b", 4);

    assert_int_equal(get_priority(f, first), 4294901760u - first);
    fixture_reread(f, MULTI NODES "PriorityWeightPartition=1000\n", true);
    assert_int_equal(get_priority(f, first), 4294901760u - first); /* that was a preview */
    fixture_reconfigure(f, MULTI NODES "PriorityWeightPartition=1000\n");
    assert_int_equal(get_priority(f, first), 500);
    assert_int_equal(get_priority(f, second), 1000);
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    set.name = "a";
    set.has_priority_job_factor = true;
    set.priority_job_factor = 20;
    assert_int_equal(fixture_update_part(f, &set), 0);
    assert_int_equal(get_priority(f, first), 1000);
    assert_int_equal(get_priority(f, second), 500);
    fixture_reconfigure(f, BASIC NODES);
    assert_int_equal(get_priority(f, first), 4294901760u - first);
    assert_int_equal(get_priority(f, second), 4294901760u - second);
    fixture_free(f);
}

/* The queue is recomputed in parts; at any time two jobs are in their old or in their new order. */
static void large_queue_is_recomputed_in_several_turns(void **state)
{
    struct fixture *f = fixture_new(AGES NODES "PriorityWeightJobSize=100\n");
    uint32_t first = submit_in(f, "a", 1);
    Pb__JobSpec s = make_spec("a", 1);

    fixture_pass(f, 30000);
    for (unsigned i = 1; i < MANY; i++)
        submit_spec(f, &s);
    f->wall_ms += 31000;
    f->mono_ms += 31000;
    control_tick(f->control);
    unsigned turns = 0, moved = 0;
    for (; moved < MANY && turns < 100; turns++) {
        uint32_t before = UINT32_MAX;
        fixture_turn(f);
        moved = 0;
        for (uint32_t id = first; id < first + MANY; id++) {
            uint32_t now = get_priority(f, id);
            assert_true(now <= before); /* older jobs stay before younger ones */
            before = now;
            moved += now > 31;
        }
    }
    assert_in_range(turns, 3, 10);
    fixture_free(f);
}

static size_t count_listed(struct fixture *f, const Pb__PrioFilter *filter, uint32_t *last)
{
    struct caller user = FIXTURE_USER;
    uint64_t cursor = 0;
    size_t count = 0;

    for (bool more = true; more;) {
        _cleanup_str_ struct str out = STR_INIT;
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        more = control_list_prio(f->control, &user, filter, &cursor, 10, &out);
        const Pb__PrioList *m = arena_unpack(&arena, &pb__prio_list__descriptor, out.data, out.len);
        assert_non_null(m);
        for (size_t i = 0; i < m->n_jobs; i++, count++)
            *last = m->jobs[i]->job_id;
    }
    return count;
}

static void sprio_lists_jobs_that_could_start(void **state)
{
    struct fixture *f = fixture_new(AGES NODES);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = make_spec("a", 1);
    Pb__PrioFilter filter = PB__PRIO_FILTER__INIT;
    uint32_t last = 0, uid = 1000, ids[] = {1, 4, 99};
    char *part = "b";

    submit_in(f, "a", 1);
    submit_in(f, "b", 1);
    s.has_begin_at_sec = true;
    s.begin_at_sec = f->wall_ms / 1000 + 240;
    submit_spec(f, &s);
    s.has_begin_at_sec = false;
    assert_int_equal(fixture_submit(f, &user, &s), 4);
    assert_int_equal(hold_job(f, submit_in(f, "a", 1), true), 0);
    assert_int_equal(count_listed(f, &filter, &last), 3);
    filter.uid = &uid;
    filter.n_uid = 1;
    assert_int_equal(count_listed(f, &filter, &last), 1);
    assert_int_equal(last, 4);
    filter.n_uid = 0;
    filter.partition = &part;
    filter.n_partition = 1;
    assert_int_equal(count_listed(f, &filter, &last), 1);
    assert_int_equal(last, 2);
    filter.n_partition = 0;
    filter.job_id = ids;
    filter.n_job_id = 3;
    assert_int_equal(count_listed(f, &filter, &last), 2);
    fixture_free(f);
}

/* A priority that was set applies in all partitions of the job. */
static void owner_priority_is_bounded_by_the_lowest_partition(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(MULTI "PriorityWeightPartition=1000\n" NODES);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = make_spec("b,a", 1);
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    uint32_t most = get_priority(f, id);
    assert_int_equal(set_priority(f, &user, id, most), ERR_ACCESS);
    assert_int_equal(set_priority(f, &user, id, most / 2 + 1), ERR_ACCESS);
    assert_int_equal(set_priority(f, &user, id, most / 2), 0);
    assert_int_equal(get_priority(f, id), most / 2);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_operators_set_priorities),
        cmocka_unit_test(owner_priority_is_bounded_by_the_lowest_partition),
        cmocka_unit_test(factors_order_the_queue),
        cmocka_unit_test(ages_are_updated_each_period),
        cmocka_unit_test(holds_and_begin_times_do_not_age),
        cmocka_unit_test(given_priority_is_kept),
        cmocka_unit_test(incr_only_never_lowers_priorities),
        cmocka_unit_test(multifactor_without_weights_is_first_in_first_out),
        cmocka_unit_test(priority_type_is_changed_by_reconfiguration),
        cmocka_unit_test(large_queue_is_recomputed_in_several_turns),
        cmocka_unit_test(sprio_lists_jobs_that_could_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
