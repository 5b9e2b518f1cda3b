/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of the order of jobs by requests: access, and the effect on other jobs. */
#include <string.h>

#include "base/str.h"
#include "control/fixture.h"

#define NODES                                                                                      \
    "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nNodeName=n[1-2] CPUs=4\n"                      \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60\nPartitionName=b Nodes=n1 MaxTime=60\n"
#define USER_TOP "SchedulerParameters=enable_user_top\n"
#define BASIC "PriorityType=priority/basic\n"
#define MULTI "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\n"

static uint32_t submit_job(struct fixture *f, const struct caller *who, const char *part,
                           uint32_t tasks, const char *account)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    s.partition = (char *)part;
    s.account = (char *)account;
    s.has_num_tasks = true;
    s.num_tasks = tasks;
    int64_t id = fixture_submit(f, who, &s);
    assert_true(id > 0);
    return (uint32_t)id;
}

static int move_to_top(struct fixture *f, const struct caller *who, const char *ids)
{
    uint32_t list[8];
    Pb__JobTop r = PB__JOB_TOP__INIT;

    r.job_id = list;
    for (char *at = (char *)ids; *at; at += *at == ',')
        list[r.n_job_id++] = (uint32_t)strtoul(at, &at, 10);
    control_job_top(f->control, ++f->last_call, who, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static const Pb__JobRecord *find_job(struct fixture *f, struct arena *arena, uint32_t id)
{
    const Pb__JobRecord *j = fixture_job(f, arena, id);
    assert_non_null(j);
    return j;
}

/* Expects "4 2 1": pending jobs up to this id by priority, the lower id first if equal. */
static void assert_order(struct fixture *f, uint32_t last, const char *expected)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str out = STR_INIT;
    uint32_t before = UINT32_MAX, before_id = 0;

    arena_init(&arena, 0);
    for (uint32_t n = 0; n < last; n++) {
        uint32_t best = 0, best_id = 0;
        for (uint32_t id = 1; id <= last; id++) {
            uint32_t p = find_job(f, &arena, id)->live->priority;
            bool next = p < before || (p == before && id > before_id);
            if (next && p > best) {
                best = p;
                best_id = id;
            }
        }
        if (!best)
            break;
        str_printf(&out, "%s%u", n ? " " : "", best_id);
        before = best;
        before_id = best_id;
    }
    assert_string_equal(str_cstr(&out), expected);
}

static void users_reorder_only_their_own_jobs_and_if_permitted(void **state)
{
    struct fixture *f = fixture_new(NODES);
    struct caller user = FIXTURE_USER, other = FIXTURE_OTHER, root = FIXTURE_ROOT;

    submit_job(f, &user, "a", 1, NULL);
    submit_job(f, &user, "a", 1, NULL);
    assert_int_equal(move_to_top(f, &user, "2"), ERR_ACCESS);
    assert_int_equal(move_to_top(f, &root, "2"), 0);
    assert_order(f, 2, "2 1");
    fixture_reconfigure(f, USER_TOP NODES);
    assert_int_equal(move_to_top(f, &user, ""), ERR_NO_JOB);
    assert_int_equal(move_to_top(f, &user, "1,99"), ERR_NO_JOB);
    assert_order(f, 2, "2 1");
    assert_int_equal(move_to_top(f, &other, "1"), ERR_ACCESS);
    assert_int_equal(move_to_top(f, &user, "1"), 0);
    assert_order(f, 2, "1 2");
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = 1;
    r.has_hold = r.hold = true;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_int_equal(move_to_top(f, &user, "1"), ERR_JOB_HELD);
    fixture_register(f, "n1", "i");
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__RUNNING);
    assert_int_equal(move_to_top(f, &user, "2"), ERR_NOT_PENDING);
    fixture_free(f);
}

/* As in Slurm's results: nice values make the order, and places of other users' jobs stay. */
static void jobs_in_submission_order_are_reordered(void **state)
{
    static const int nice[] = {0, 2, 2, 2, -3, -3};
    struct fixture *f = fixture_new(BASIC NODES);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    for (unsigned i = 0; i < 5; i++)
        submit_job(f, &user, "a", 8, NULL);
    assert_int_equal(move_to_top(f, &root, "4,5,4"), 0);
    assert_order(f, 5, "4 5 1 2 3");
    for (uint32_t id = 1; id <= 5; id++)
        assert_int_equal(find_job(f, &arena, id)->spec->nice, nice[id]);
    assert_int_equal(find_job(f, &arena, 4)->live->priority, 4294901759u);
    fixture_restart(f);
    assert_order(f, 5, "4 5 1 2 3");
    fixture_free(f);
}

static void jobs_of_others_keep_their_places(void **state)
{
    struct fixture *f = fixture_new(USER_TOP BASIC NODES);
    struct caller user = FIXTURE_USER, other = FIXTURE_OTHER;

    submit_job(f, &user, "a", 1, NULL);
    submit_job(f, &other, "a", 1, NULL);
    submit_job(f, &user, "b", 1, NULL);
    submit_job(f, &user, "a", 1, "x");
    submit_job(f, &user, "a", 1, NULL);
    submit_job(f, &other, "a", 1, NULL);
    assert_int_equal(move_to_top(f, &user, "5,3,4"), 0); /* 3 and 4 are of another kind than 5 */
    assert_order(f, 6, "5 2 3 4 1 6");
    assert_int_equal(move_to_top(f, &user, "1"), 0);
    assert_order(f, 6, "1 2 3 4 5 6");
    fixture_free(f);
}

/* Equal priorities, where the id decides, and the lowest priorities. */
static void jobs_of_equal_priority_are_reordered(void **state)
{
    static const char *const lines[] = {MULTI NODES, NODES};
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;

    for (size_t i = 0; i < 2; i++) {
        struct fixture *f = fixture_new(lines[i]);
        for (unsigned k = 0; k < 4; k++)
            submit_job(f, &user, "a", 2, NULL);
        assert_int_equal(move_to_top(f, &root, "3"), 0);
        assert_order(f, 4, "3 1 2 4");
        assert_int_equal(move_to_top(f, &root, "4,2"), 0);
        assert_order(f, 4, "4 2 3 1");
        fixture_restart(f);
        assert_order(f, 4, "4 2 3 1");
        fixture_free(f);
    }
}

static void reordering_keeps_the_sum_of_priorities(void **state)
{
    struct fixture *f = fixture_new(USER_TOP MULTI NODES);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    uint64_t sum = 0, after = 0;

    arena_init(&arena, 0);
    for (uint32_t id = 1; id <= 6; id++) {
        submit_job(f, &user, "a", id, NULL);
        sum += find_job(f, &arena, id)->live->priority;
    }
    assert_order(f, 6, "6 5 4 3 2 1");
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(move_to_top(f, &user, "1,3"), 0);
        assert_order(f, 6, "1 3 6 5 4 2");
        assert_int_equal(move_to_top(f, &user, "2"), 0);
        assert_order(f, 6, "2 1 3 6 5 4");
        assert_int_equal(move_to_top(f, &user, "6,5,4,3,2"), 0);
        assert_order(f, 6, "6 5 4 3 2 1");
    }
    for (uint32_t id = 1; id <= 6; id++)
        after += find_job(f, &arena, id)->live->priority;
    assert_true(after <= sum);
    fixture_free(f);
}

/* --- an external scheduler ---------------------------------------------------------------------
 */

static int set_order(struct fixture *f, const struct caller *who, const char *text);

/* The component gets its priority when it is queued again. */
static void a_component_that_ends_to_be_requeued_is_not_queued(void **state)
{
    struct fixture *f = fixture_new_up(FIXTURE_SET_CONF, 4);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    Pb__JobSpec specs[2] = {fixture_spec(1, 4), fixture_spec(1, 4)};
    Pb__JobUpdate requeue = PB__JOB_UPDATE__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    step.has_job_id = step.has_num_tasks = true;
    step.job_id = (uint32_t)id + 1;
    step.num_tasks = 1;
    control_step_create(f->control, ++f->last_call, &user, &step);
    fixture_turn(f);
    requeue.job_id = (uint32_t)id;
    requeue.has_requeue = requeue.requeue = true;
    assert_int_equal(fixture_update_job(f, &user, &requeue), 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    fixture_expect_set(f, id, "PD CG");
    assert_int_equal(set_order(f, &root, "1:77"), 0);
    fixture_expect_set(f, id, "PD CG");
    fixture_gone(f, "n2", (uint32_t)id + 1, 0);
    assert_int_equal(find_job(f, &arena, 2)->live->priority, 77);
    fixture_free(f);
}

/* Sets priorities "2:30 1:20"; returns how many were rejected, or the negative error code. */
static int set_order(struct fixture *f, const struct caller *who, const char *text)
{
    Pb__JobPriority jobs[8], *pointers[8];
    Pb__QueueOrder r = PB__QUEUE_ORDER__INIT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    r.jobs = pointers;
    for (char *at = (char *)text; *at; at += *at == ' ') {
        Pb__JobPriority *p = pointers[r.n_jobs] = &jobs[r.n_jobs];
        pb__job_priority__init(p);
        p->job_id = (uint32_t)strtoul(at, &at, 10);
        p->priority = (uint32_t)strtoul(at + 1, &at, 10);
        r.n_jobs++;
    }
    control_queue_order(f->control, ++f->last_call, who, &r);
    fixture_turn(f);
    if (fixture_code(f, f->last_call) != 0)
        return -fixture_code(f, f->last_call);
    vec_foreach (&f->replies, reply)
        if (reply->call == f->last_call) {
            const Pb__QueueReply *m = arena_unpack(&arena, &pb__queue_reply__descriptor,
                                                   reply->data.data, reply->data.len);
            assert_non_null(m);
            return (int)m->n_refused;
        }
    fail();
    return 0;
}

static int place_job(struct fixture *f, const struct caller *who, uint32_t id, const char *nodes)
{
    Pb__JobPlace r = PB__JOB_PLACE__INIT;

    r.job_id = id;
    r.nodes = (char *)nodes;
    control_job_place(f->control, ++f->last_call, who, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static void order_applies_to_the_reorderable_jobs_of_a_list(void **state)
{
    struct fixture *f = fixture_new(MULTI NODES);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    _cleanup_arena_ struct arena arena;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;

    arena_init(&arena, 0);
    for (unsigned i = 0; i < 4; i++)
        submit_job(f, &user, "a", 2, NULL);
    assert_int_equal(set_order(f, &user, "4:9"), -ERR_ACCESS);
    assert_int_equal(set_order(f, &root, ""), 0);
    r.job_id = 2;
    r.has_hold = r.hold = true;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_int_equal(set_order(f, &root, "4:90000 99:80000 3:70000 2:60000 1:0"), 3);
    assert_order(f, 4, "4 3 1");
    fixture_restart(f);
    assert_order(f, 4, "4 3 1");
    assert_int_equal(find_job(f, &arena, 4)->live->priority, 90000);
    fixture_register(f, "n1", "i");
    assert_int_equal(fixture_state(f, 4), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__PENDING);
    assert_int_equal(set_order(f, &root, "4:1 1:5"), 1);
    fixture_free(f);
}

static int order_elements(struct fixture *f, uint32_t array, const char *tasks, uint32_t priority)
{
    struct caller root = FIXTURE_ROOT;
    Pb__QueueOrder r = PB__QUEUE_ORDER__INIT;
    Pb__JobPriority one = PB__JOB_PRIORITY__INIT, *list[] = {&one};

    one.job_id = array;
    one.priority = priority;
    one.array_tasks = (char *)tasks;
    r.jobs = list;
    r.n_jobs = 1;
    control_queue_order(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    vec_foreach (&f->replies, reply) {
        if (reply->call != f->last_call)
            continue;
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const Pb__QueueReply *m =
            arena_unpack(&arena, &pb__queue_reply__descriptor, reply->data.data, reply->data.len);
        return m->n_refused ? m->refused[0]->code : 0;
    }
    return -1;
}

/* Elements get places of their own; an array's id stands for all pending elements. */
static void array_elements_are_ordered_and_placed(void **state)
{
    struct fixture *f = fixture_new("MaxArraySize=100\n" NODES);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    fixture_register(f, "n1", "i");
    submit_job(f, &user, "a", 4, NULL);
    s.array_inx = (char *)"0-5";
    s.has_num_tasks = true;
    s.num_tasks = 4;
    uint32_t array = (uint32_t)fixture_submit(f, &user, &s);
    assert_int_equal(order_elements(f, array, "9", 5), ERR_NO_JOB);
    assert_int_equal(order_elements(f, array, "4", 0), ERR_RANGE);
    assert_string_equal(find_job(f, &arena, array)->live->array_tasks, "0-5");
    assert_int_equal(order_elements(f, array, "4", UINT32_MAX), 0); /* a rejection used up an id */
    assert_string_equal(find_job(f, &arena, array)->live->array_tasks, "0-3,5");
    assert_int_equal(find_job(f, &arena, array + 2)->live->array_task_id, 4);
    assert_int_equal(find_job(f, &arena, array + 2)->live->priority, UINT32_MAX);
    assert_int_equal(order_elements(f, array, NULL, 500), 0);
    assert_int_equal(find_job(f, &arena, array)->live->priority, 500);
    assert_int_equal(find_job(f, &arena, array + 2)->live->priority, 500);
    fixture_register(f, "n2", "i"); /* the first one starts there */
    assert_int_equal(fixture_state(f, array + 3), PB__JOB_STATE__RUNNING);
    assert_int_equal(order_elements(f, array, "0", 500), ERR_TRANSITION);
    assert_int_equal(place_job(f, &root, array, "n2"), ERR_NODES_BUSY);
    fixture_free(f);
}

/* A heterogeneous job has one place in the queue, by its id; its components cannot be placed
 * individually. */
static void a_set_is_ordered_as_a_whole(void **state)
{
    struct fixture *f = fixture_new(NODES);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    Pb__JobSpec specs[2] = {PB__JOB_SPEC__INIT, PB__JOB_SPEC__INIT};
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    fixture_register(f, "n1", "i");
    submit_job(f, &user, "a", 4, NULL);
    specs[0].has_num_tasks = specs[1].has_num_tasks = true;
    specs[0].num_tasks = specs[1].num_tasks = 1;
    uint32_t id = (uint32_t)fixture_submit_set(f, &user, specs, 2);
    assert_int_equal(order_elements(f, id + 1, NULL, 500), ERR_NOT_WHOLE_SET);
    assert_int_equal(order_elements(f, id, NULL, 500), 0);
    assert_int_equal(find_job(f, &arena, id)->live->priority, 500);
    assert_int_equal(find_job(f, &arena, id + 1)->live->priority, 500);
    fixture_cancel(f, &user, id - 1, NULL, 0);
    assert_int_equal(place_job(f, &root, id, "n1"), ERR_NOT_SUPPORTED);
    assert_int_equal(place_job(f, &root, id + 1, "n1"), ERR_NOT_SUPPORTED);
    assert_int_equal(fixture_state(f, id + 1), fixture_state(f, id));
    fixture_free(f);
}

static void job_is_placed_at_its_position_or_refused(void **state)
{
    struct fixture *f = fixture_new(NODES);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    fixture_register(f, "n1", "i");
    uint32_t first = submit_job(f, &user, "a", 4, NULL), big = submit_job(f, &user, "a", 8, NULL);
    fixture_pass(f, 5000);
    uint32_t small = submit_job(f, &user, "a", 1, NULL), other = submit_job(f, &user, "b", 1, NULL);
    assert_int_equal(fixture_state(f, first), PB__JOB_STATE__RUNNING);
    assert_int_equal(place_job(f, &user, small, "n1"), ERR_ACCESS);
    assert_int_equal(place_job(f, &root, 99, "n1"), ERR_NO_JOB);
    assert_int_equal(place_job(f, &root, first, "n1"), ERR_TRANSITION);
    assert_int_equal(place_job(f, &root, small, "n7"), ERR_NO_NODE);
    assert_int_equal(place_job(f, &root, small, "n1"), ERR_NODES_BUSY);
    assert_int_equal(place_job(f, &root, small, "n2"), ERR_NODES_DOWN);
    assert_int_equal(place_job(f, &root, other, "n2"), ERR_NODE_CONFIG);
    assert_int_equal(place_job(f, &root, big, "n[1-2]"), ERR_NODES_DOWN);
    assert_int_equal(fixture_state(f, small), PB__JOB_STATE__PENDING);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = small;
    r.has_hold = r.hold = true;
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    fixture_register(f, "n2", "i");
    assert_int_equal(place_job(f, &root, small, "n2"), ERR_JOB_HELD);
    r.hold = false;
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    assert_int_equal(fixture_state(f, small), PB__JOB_STATE__PENDING); /* 'big' needs all of it */
    assert_int_equal(place_job(f, &root, small, "n2"), 0);
    assert_int_equal(fixture_state(f, small), PB__JOB_STATE__RUNNING);
    assert_string_equal(find_job(f, &arena, small)->live->nodes, "n2");
    assert_int_equal(fixture_launches(f, "n2", small), 1);
    fixture_restart(f);
    assert_int_equal(fixture_state(f, small), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_reorder_only_their_own_jobs_and_if_permitted),
        cmocka_unit_test(jobs_in_submission_order_are_reordered),
        cmocka_unit_test(jobs_of_others_keep_their_places),
        cmocka_unit_test(jobs_of_equal_priority_are_reordered),
        cmocka_unit_test(reordering_keeps_the_sum_of_priorities),
        cmocka_unit_test(a_component_that_ends_to_be_requeued_is_not_queued),
        cmocka_unit_test(order_applies_to_the_reorderable_jobs_of_a_list),
        cmocka_unit_test(array_elements_are_ordered_and_placed),
        cmocka_unit_test(a_set_is_ordered_as_a_whole),
        cmocka_unit_test(job_is_placed_at_its_position_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
