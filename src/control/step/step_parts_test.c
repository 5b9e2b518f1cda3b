/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps with several parts: in components of a heterogeneous job, and in one job. */
#include <string.h>

#include "base/step_id.h"
#include "cluster/job/job_set.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-4] CPUs=4 RealMemory=4000\n"                \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=100\n"

static struct caller user = FIXTURE_USER;

/* Runs three components with one, two and one node. */
static uint32_t run_set(struct fixture *f)
{
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(2, 4), fixture_spec(1, 4)};
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    fixture_turn(f);
    assert_true(id > 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(fixture_state(f, (uint32_t)id + i), PB__JOB_STATE__RUNNING);
    return (uint32_t)id;
}

/* Runs a job with two nodes. */
static uint32_t run_job(struct fixture *f)
{
    Pb__JobSpec two = fixture_spec(2, 4);
    return (uint32_t)fixture_submit(f, &user, &two);
}

struct request {
    Pb__StepSpec whole, parts[4], *list[4];
};

/* Requests a step in these components (-1: not specified) with this number of tasks with one CPU
 * each. */
static void fill_request(struct request *r, uint32_t job, size_t count, const int *offsets,
                         uint32_t tasks)
{
    pb__step_spec__init(&r->whole);
    r->whole.has_job_id = true;
    r->whole.job_id = job;
    r->whole.parts = r->list;
    r->whole.n_parts = count;
    for (size_t i = 0; i < count; i++) {
        Pb__StepSpec *part = &r->parts[i];
        pb__step_spec__init(part);
        part->has_set_offset = offsets[i] >= 0;
        part->set_offset = (uint32_t)offsets[i];
        part->has_num_tasks = part->has_cpus_per_task = part->has_exact = part->exact = true;
        part->num_tasks = tasks;
        part->cpus_per_task = 1;
        r->list[i] = part;
    }
}

/* Requests a step in one job, with one node for each part. */
static void fill_parts_of_job(struct request *r, uint32_t job, size_t count)
{
    fill_request(r, job, count, (const int[]){-1, -1, -1, -1}, 1);
    for (size_t i = 0; i < count; i++) {
        r->parts[i].has_min_nodes = true;
        r->parts[i].min_nodes = 1;
    }
}

static uint64_t create_step(struct fixture *f, const struct request *r)
{
    control_step_create(f->control, ++f->last_call, &user, &r->whole);
    fixture_turn(f);
    return f->last_call;
}

static const Pb__StepReply *reply_to(struct fixture *f, uint64_t call, struct arena *arena)
{
    const Pb__StepReply *found = NULL;
    assert_int_equal(fixture_code(f, call), 0);
    vec_foreach (&f->replies, r)
        if (r->call == call)
            found = arena_unpack(arena, &pb__step_reply__descriptor, r->data.data, r->data.len);
    assert_non_null(found);
    return found;
}

static void complete_step(struct fixture *f, uint32_t job, uint32_t step)
{
    Pb__StepComplete end = PB__STEP_COMPLETE__INIT;
    end.job_id = job;
    end.step_id = step;
    control_step_complete(f->control, ++f->last_call, &user, &end);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
}

/* Counts the steps that srun has created in this job. */
static size_t count_steps(struct fixture *f, uint32_t job)
{
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    _cleanup_str_ struct str out = STR_INIT;
    _cleanup_arena_ struct arena arena;
    uint64_t cursor = 0;
    size_t count = 0;
    arena_init(&arena, 0);
    assert_false(control_list_steps(f->control, &user, &filter, &cursor, 1 << 20, &out));
    const Pb__StepList *list = arena_unpack(&arena, &pb__step_list__descriptor, out.data, out.len);
    for (size_t i = 0; i < list->n_steps; i++)
        count += list->steps[i]->job_id == job && list->steps[i]->step_id < STEP_ID_INTERACTIVE;
    return count;
}

/* Parts without a component are in the components of the job in order. */
static void test_parts_without_offsets(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    _cleanup_arena_ struct arena arena;
    struct request r;
    (void)state;
    arena_init(&arena, 0);
    uint32_t id = run_set(f);
    fill_request(&r, id, 2, (const int[]){-1, -1}, 1);
    const Pb__StepReply *made = reply_to(f, create_step(f, &r), &arena);
    assert_int_equal(made->n_parts, 2);
    assert_true(made->parts[0]->job_id == id && made->parts[1]->job_id == id + 1);
    fill_request(&r, id + 1, 2, (const int[]){-1, -1}, 1); /* of a component: all parts are in it */
    made = reply_to(f, create_step(f, &r), &arena);
    assert_true(made->parts[0]->job_id == id + 1 && made->parts[1]->job_id == id + 1);
    fill_request(&r, id, 4, (const int[]){-1, -1, -1, -1}, 1);
    assert_int_equal(fixture_code(f, create_step(f, &r)), ERR_COMPONENT);
    fixture_free(f);
}

/* HET-71, HET-76: one id, one range of ranks, one credential with all parts. */
static void test_step_in_three_components_has_one_id(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    _cleanup_arena_ struct arena arena;
    struct request r;
    (void)state;
    arena_init(&arena, 0);
    uint32_t id = run_set(f);
    fill_request(&r, id, 3, (const int[]){0, 1, 2}, 3);
    const Pb__StepReply *made = reply_to(f, create_step(f, &r), &arena);
    assert_true(made->job_id == id && made->step_id == 0 && made->num_tasks == 9);
    assert_int_equal(made->n_layout, 4);
    assert_int_equal(made->n_parts, 3);
    bool seen[9] = {false};
    uint32_t last = 0;
    for (size_t i = 0; i < made->n_layout; i++) {
        const Pb__StepNode *n = made->layout[i];
        assert_true(n->part >= last); /* in the order of the parts */
        last = n->part;
        for (size_t k = 0; k < n->n_task_ids; k++) {
            assert_int_equal(n->task_ids[k] / 3, n->part);
            assert_false(seen[n->task_ids[k]]);
            seen[n->task_ids[k]] = true;
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(made->parts[i]->job_id, id + i);
        assert_int_equal(made->parts[i]->set_offset, i);
        assert_int_equal(made->parts[i]->num_tasks, 3);
    }
    const Pb__Cred *cred =
        arena_unpack(&arena, &pb__cred__descriptor, made->cred.data, made->cred.len);
    assert_true(cred->n_nodes == 4 && cred->n_parts == 3 && cred->job_id == id);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(cred->parts[i]->job_id, id + i);
        assert_int_equal(cred->parts[i]->n_job_nodes, i == 1 ? 2 : 1);
    }
    fixture_free(f);
}

/* HET-77, HET-78: step ids are equal in all components, so there are gaps. */
static void test_numbers_have_gaps(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    _cleanup_arena_ struct arena arena;
    struct request r;
    (void)state;
    arena_init(&arena, 0);
    uint32_t id = run_set(f);
    static const struct {
        size_t count;
        int offsets[2];
        uint32_t step;
        bool in[3];
    } tries[] = {{2, {0, 1}, 0, {true, true, false}},
                 {1, {0}, 1, {true, false, false}},
                 {1, {2}, 2, {false, false, true}},
                 {2, {2, 1}, 3, {false, true, true}}};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        fill_request(&r, id, tries[i].count, tries[i].offsets, 2);
        const Pb__StepReply *made = reply_to(f, create_step(f, &r), &arena);
        assert_int_equal(made->step_id, tries[i].step);
        assert_int_equal(made->parts ? made->parts[0]->set_offset : 0,
                         made->parts ? (uint32_t)tries[i].offsets[0] : 0);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(count_steps(f, id + k), tries[i].in[k]);
        fixture_restart(f);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(count_steps(f, id + k), tries[i].in[k]);
        complete_step(f, id, made->step_id); /* by the leader's id: the whole step */
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(count_steps(f, id + k), 0);
    }
    fixture_free(f);
}

/* HET-75, HET-76: if one component is busy, nothing is allocated in the others; when it is free,
 * the whole step is created, wherever the other step was. */
static void test_all_parts_start_or_none(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    _cleanup_arena_ struct arena arena;
    struct request busy, all, small;
    (void)state;
    arena_init(&arena, 0);
    uint32_t id = run_set(f);
    fill_request(&busy, id, 1, (const int[]){2}, 4);
    const Pb__StepReply *first = reply_to(f, create_step(f, &busy), &arena);
    fill_request(&all, id, 3, (const int[]){0, 1, 2}, 4);
    all.whole.has_immediate = all.whole.immediate = true;
    assert_int_equal(fixture_code(f, create_step(f, &all)), ERR_NODES_BUSY);
    all.whole.has_immediate = false;
    uint8_t key[16] = "sixteen bytes xx";
    all.whole.has_request_id = true;
    all.whole.request_id = (ProtobufCBinaryData){sizeof key, key};
    uint64_t waiting = create_step(f, &all);
    assert_int_equal(fixture_code(f, waiting), -1);
    fill_request(&small, id, 2, (const int[]){0, 1}, 4);
    const Pb__StepReply *second = reply_to(f, create_step(f, &small), &arena);
    complete_step(f, id, second->step_id);
    assert_int_equal(fixture_code(f, waiting), -1);
    complete_step(f, id, first->step_id);
    const Pb__StepReply *made = reply_to(f, waiting, &arena);
    assert_true(made->num_tasks == 12 && made->n_parts == 3);
    /* The repeated request finds the same step. */
    const Pb__StepReply *again = reply_to(f, create_step(f, &all), &arena);
    assert_true(again->step_id == made->step_id && again->n_layout == made->n_layout);
    for (uint32_t k = 0; k < 3; k++)
        assert_int_equal(count_steps(f, id + k), 1);
    fixture_free(f);
}

/* The end of a step retries all waiting requests of its set: their number is limited per set. */
static void test_waiting_is_bounded_for_the_set(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct request busy, one;
    unsigned waiting = 0, refused = 0;
    (void)state;
    uint32_t id = run_set(f);
    for (int i = 0; i < 3; i++) {
        fill_request(&busy, id, 1, &i, 4);
        busy.parts[0].num_tasks = i == 1 ? 8 : 4;
        assert_int_equal(fixture_code(f, create_step(f, &busy)), 0);
    }
    for (int i = 0; i < 300; i++) {
        int offset = i % 3;
        fill_request(&one, id, 1, &offset, 1);
        int code = fixture_code(f, create_step(f, &one));
        waiting += code == -1;
        refused += code == ERR_BUSY;
    }
    assert_int_equal(waiting, 256);
    assert_int_equal(refused, 44);
    fixture_free(f);
}

/* HET-80. */
static void test_missing_components_are_refused(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct request r;
    (void)state;
    uint32_t id = run_set(f);
    static const int beyond[] = {0, 3};
    fill_request(&r, id, 2, beyond, 1);
    uint64_t call = create_step(f, &r);
    assert_int_equal(fixture_code(f, call), ERR_COMPONENT);
    assert_string_equal(fixture_text(f, call),
                        "Attempt to run a job step with het group value of 3, but the job "
                        "allocation has maximum value of 2");
    assert_int_equal(fixture_cancel(f, &user, id + 1, NULL, 0), 0);
    fill_request(&r, id, 2, (const int[]){0, 1}, 1);
    assert_int_equal(fixture_code(f, create_step(f, &r)), ERR_JOB_DONE);
    assert_int_equal(count_steps(f, id), 0);
    int64_t plain = fixture_submit(f, &user, NULL);
    fill_request(&r, (uint32_t)plain, 2, (const int[]){0, 1}, 1);
    assert_int_equal(fixture_code(f, create_step(f, &r)), ERR_COMPONENT);
    static Pb__StepSpec *many[JOB_SET_MAX + 1];
    for (size_t i = 0; i <= JOB_SET_MAX; i++)
        many[i] = &r.parts[0];
    r.whole.parts = many;
    r.whole.n_parts = JOB_SET_MAX + 1;
    assert_int_equal(fixture_code(f, create_step(f, &r)), ERR_COMPONENT);
    fixture_free(f);
}

/* HET-109, HET-110: parts with different shapes in one job, on different nodes. */
static void test_parts_of_different_shape_start_in_one_job(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    _cleanup_arena_ struct arena arena;
    struct request r;
    (void)state;
    arena_init(&arena, 0);
    uint32_t id = run_job(f);
    fill_parts_of_job(&r, id, 2);
    r.parts[0].num_tasks = 4;
    const Pb__StepReply *made = reply_to(f, create_step(f, &r), &arena);
    assert_true(made->num_tasks == 5 && made->n_layout == 2 && made->n_parts == 2);
    assert_true(made->layout[0]->n_task_ids == 4 && made->layout[0]->part == 0);
    assert_true(made->layout[1]->n_task_ids == 1 && made->layout[1]->task_ids[0] == 4);
    assert_int_equal(made->layout[1]->part, 1);
    assert_string_not_equal(made->layout[0]->node, made->layout[1]->node);
    const Pb__Cred *cred =
        arena_unpack(&arena, &pb__cred__descriptor, made->cred.data, made->cred.len);
    assert_true(cred->n_parts == 2 && cred->parts[0]->n_job_nodes == 2 && cred->parts[0]->facts);
    /* Only once per job. */
    assert_true(cred->parts[1]->job_id == id && !cred->parts[1]->n_job_nodes);
    assert_int_equal(count_steps(f, id), 1);
    fixture_restart(f);
    complete_step(f, id, made->step_id);
    assert_int_equal(count_steps(f, id), 0);
    r.parts[0].nodes = r.parts[1].nodes = made->layout[0]->node; /* four tasks leave no CPU there */
    assert_int_equal(fixture_code(f, create_step(f, &r)), ERR_TOO_MANY_CPUS);
    r.parts[0].nodes = r.parts[1].nodes = NULL;
    r.parts[0].min_nodes = 2;
    r.parts[0].num_tasks = 8;
    assert_int_equal(fixture_code(f, create_step(f, &r)), ERR_STEP_CONFIG); /* no node is left */
    fixture_free(f);
}

/* HET-110: parts that name the same node, or have no other, share the node. */
static void test_parts_share_a_node(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    _cleanup_arena_ struct arena arena;
    struct request r;
    (void)state;
    arena_init(&arena, 0);
    uint32_t id = run_job(f);
    for (int named = 1; named >= 0; named--) {
        fill_parts_of_job(&r, id, 3);
        r.parts[0].num_tasks = 2;
        r.parts[0].nodes = named ? (char *)"n1" : NULL;
        r.parts[1].cpus_per_task = 3;
        r.parts[2].nodes = named ? (char *)"n1" : NULL;
        r.parts[2].cpus_per_task = named ? 2 : 1;
        const Pb__StepReply *made = reply_to(f, create_step(f, &r), &arena);
        /* n1 has the tasks of parts 0 and 2, n2 that of part 1 */
        assert_true(made->num_tasks == 4 && made->n_layout == 2 && made->n_parts == 3);
        const Pb__StepNode *shared = made->layout[0], *other = made->layout[1];
        assert_string_equal(shared->node, "n1");
        assert_true(shared->n_task_ids == 3 && shared->task_ids[2] == 3 && !shared->part);
        assert_int_equal(shared->cpus, named ? 4 : 3);
        assert_true(other->n_task_ids == 1 && other->task_ids[0] == 2 && other->part == 1);
        assert_int_equal(other->cpus, 3);
        if (named) /* the allocation is restored after a restart */
            fixture_restart(f);
        Pb__StepSpec one = PB__STEP_SPEC__INIT;
        one.has_job_id = one.has_exact = one.exact = one.has_immediate = one.immediate = true;
        one.job_id = id;
        one.nodes = (char *)"n1";
        one.has_num_tasks = one.has_cpus_per_task = true;
        one.num_tasks = one.cpus_per_task = 1;
        struct request single = {.whole = one};
        assert_int_equal(fixture_code(f, create_step(f, &single)), named ? ERR_NODES_BUSY : 0);
        complete_step(f, id, made->step_id);
        assert_int_equal(count_steps(f, id), named ? 0 : 1);
    }
    fixture_free(f);
}

/* HetLimits keeps Slurm's restrictions. */
static void test_parts_are_kept_apart(void **state)
{
    struct fixture *f = fixture_new_up(CONF "HetLimits=one_node\n", 4);
    struct request r;
    (void)state;
    uint32_t id = run_job(f);
    fill_request(&r, id, 2, (const int[]){-1, -1}, 1);
    r.parts[0].nodes = r.parts[1].nodes = (char *)"n1";
    uint64_t call = create_step(f, &r);
    assert_int_equal(fixture_code(f, call), ERR_STEP_CONFIG);
    assert_non_null(strstr(fixture_text(f, call), "required node n1 overlaps with excluded n1"));
    r.parts[0].nodes = r.parts[1].nodes = NULL;
    r.parts[0].num_tasks = 2;
    assert_int_equal(fixture_code(f, create_step(f, &r)), ERR_STEP_CONFIG); /* no node is left */
    fixture_free(f);
}

/* The record of the leader is damaged while the set runs: steps of other components continue. */
static void test_steps_continue_without_the_record_of_the_leader(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    _cleanup_arena_ struct arena arena;
    struct request r;
    (void)state;
    arena_init(&arena, 0);
    uint32_t id = run_set(f);
    f->has_damaged = true;
    vec_foreach (&f->records, record)
        if (record->kind == RECORD_JOB && record->number == id)
            record->data.data[0] ^= 0x7f;
    fixture_restart(f);
    assert_int_equal(fixture_state(f, id + 1), PB__JOB_STATE__RUNNING);
    pb__step_spec__init(&r.whole);
    r.whole.has_job_id = true;
    r.whole.job_id = id + 1;
    const Pb__StepReply *made = reply_to(f, create_step(f, &r), &arena);
    assert_true(made->step_id == 0 && made->num_tasks == 2);
    fill_request(&r, id + 1, 2, (const int[]){1, 2}, 1);
    r.parts[0].has_overlap = r.parts[0].overlap = true;
    made = reply_to(f, create_step(f, &r), &arena);
    assert_true(made->step_id == 1 && made->n_parts == 2);
    fill_request(&r, id + 1, 2, (const int[]){0, 1}, 1);
    assert_int_equal(fixture_code(f, create_step(f, &r)), ERR_JOB_DONE);
    complete_step(f, id + 1, 0);
    complete_step(f, id + 1, 1);
    assert_int_equal(count_steps(f, id + 1), 0);
    fixture_free(f);
}

/* HET-70. */
static void test_disabled_het_steps_are_refused(void **state)
{
    struct fixture *f = fixture_new_up(CONF "SchedulerParameters=disable_hetjob_steps\n", 4);
    struct request r;
    (void)state;
    uint32_t id = run_set(f);
    fill_request(&r, id, 2, (const int[]){0, 1}, 1);
    uint64_t call = create_step(f, &r);
    assert_int_equal(fixture_code(f, call), ERR_NOT_SUPPORTED);
    assert_non_null(strstr(fixture_text(f, call), "disable_hetjob_steps"));
    fill_request(&r, id, 1, (const int[]){1}, 1);
    assert_int_equal(fixture_code(f, create_step(f, &r)), 0);
    fixture_free(f);
}

/* HET-111: several parts in one component of a heterogeneous job, unless HetLimits forbids it. */
static void test_parts_in_one_component_start_if_permitted(void **state)
{
    static const char *const lines[] = {CONF, CONF "HetLimits=het_steps\n"};
    _cleanup_arena_ struct arena arena;
    struct request r;
    (void)state;
    arena_init(&arena, 0);
    for (int kept = 0; kept < 2; kept++) {
        struct fixture *f = fixture_new_up(lines[kept], 4);
        uint32_t id = run_set(f);
        fill_request(&r, id, 3, (const int[]){1, 0, 1}, 1);
        r.parts[0].has_min_nodes = r.parts[2].has_min_nodes = true;
        r.parts[0].min_nodes = r.parts[2].min_nodes = 1;
        uint64_t call = create_step(f, &r);
        if (kept) {
            assert_int_equal(fixture_code(f, call), ERR_NOT_SUPPORTED);
            assert_non_null(
                strstr(fixture_text(f, call), "Allocation failure: a step has one part"));
        } else {
            const Pb__StepReply *made = reply_to(f, call, &arena);
            assert_true(made->num_tasks == 3 && made->n_layout == 3);
            assert_string_not_equal(made->layout[0]->node, made->layout[2]->node);
        }
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_without_offsets),
        cmocka_unit_test(test_step_in_three_components_has_one_id),
        cmocka_unit_test(test_numbers_have_gaps),
        cmocka_unit_test(test_all_parts_start_or_none),
        cmocka_unit_test(test_waiting_is_bounded_for_the_set),
        cmocka_unit_test(test_missing_components_are_refused),
        cmocka_unit_test(test_parts_of_different_shape_start_in_one_job),
        cmocka_unit_test(test_parts_share_a_node),
        cmocka_unit_test(test_parts_are_kept_apart),
        cmocka_unit_test(test_steps_continue_without_the_record_of_the_leader),
        cmocka_unit_test(test_disabled_het_steps_are_refused),
        cmocka_unit_test(test_parts_in_one_component_start_if_permitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
