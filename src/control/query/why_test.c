/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries why a job waits, during other activity: each is answered once, whatever happens to the
 * job and its caller. */
#include "control/fixture.h"

#include "control/internal.h"

#define NODES                                                                                      \
    "NodeName=n[1-2] CPUs=2 RealMemory=1000\nPartitionName=p Nodes=ALL Default=YES\n"              \
    "PartitionName=q Nodes=n2 AllowGroups=nobody_is_in\n"

static uint64_t ask_why(struct fixture *f, const struct caller *who, int64_t job)
{
    Pb__WhyRequest r = PB__WHY_REQUEST__INIT;
    r.job_id = (uint32_t)job;
    control_job_why(f->control, ++f->last_call, who, &r);
    return f->last_call;
}

static const Pb__WhyReply *get_reply(struct fixture *f, struct arena *arena, uint64_t call)
{
    for (int i = 0; i < 200 && fixture_code(f, call) < 0; i++)
        fixture_turn(f);
    assert_int_equal(fixture_code(f, call), 0);
    vec_foreach (&f->replies, r)
        if (r->call == call)
            return arena_unpack(arena, &pb__why_reply__descriptor, r->data.data, r->data.len);
    return NULL;
}

static struct fixture *make_full_fixture(int64_t *runs, int64_t *waits)
{
    struct fixture *f = fixture_new(NODES);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.has_min_nodes = spec.has_exclusive = spec.exclusive = spec.has_time_limit_sec = true;
    spec.min_nodes = 2;
    spec.time_limit_sec = 600;
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "a");
    *runs = fixture_submit(f, &FIXTURE_USER, &spec);
    *waits = fixture_submit(f, &FIXTURE_USER, &spec);
    assert_int_equal(fixture_state(f, (uint32_t)*runs), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, (uint32_t)*waits), PB__JOB_STATE__PENDING);
    return f;
}

static void invalid_why_requests_are_refused(void **state)
{
    int64_t runs, waits;
    struct fixture *f = make_full_fixture(&runs, &waits);
    (void)state;
    assert_int_equal(fixture_code(f, ask_why(f, &FIXTURE_USER, 77)), ERR_NO_JOB);
    assert_int_equal(fixture_code(f, ask_why(f, &FIXTURE_USER, runs)), ERR_TRANSITION);
    uint64_t first = ask_why(f, &FIXTURE_USER, waits), second = ask_why(f, &FIXTURE_USER, waits);
    assert_int_equal(fixture_code(f, ask_why(f, &FIXTURE_USER, waits)), ERR_BACKOFF);
    uint64_t other = ask_why(f, &FIXTURE_OTHER, waits);
    assert_int_equal(fixture_code(f, other), -1);
    control_call_gone(f->control, second);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_non_null(get_reply(f, &arena, first));
    assert_non_null(get_reply(f, &arena, other));
    assert_int_equal(fixture_code(f, second), -1);
    fixture_free(f);
}

static void why_names_blocking_jobs_and_reasons(void **state)
{
    int64_t runs, waits;
    struct fixture *f = make_full_fixture(&runs, &waits);
    _cleanup_arena_ struct arena arena;
    (void)state;
    arena_init(&arena, 0);
    const Pb__WhyReply *m = get_reply(f, &arena, ask_why(f, &FIXTURE_USER, waits));
    assert_string_equal(m->rule, "resources");
    assert_string_equal(m->reason, "Resources");
    assert_string_equal(m->resource, "idle nodes");
    assert_int_equal(m->need, 2);
    assert_int_equal(m->start_at, f->wall_ms / 1000 + 600);
    assert_int_equal(m->n_groups, 1);
    assert_int_equal(m->groups[0]->holders[0]->job_id, runs);
    for (size_t i = 0; i < m->n_changes; i++)
        assert_string_not_equal(m->changes[i]->kind, "partition");
    fixture_free(f);
}

static void blocking_array_element_is_named(void **state)
{
    struct fixture *f = fixture_new(NODES);
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    (void)state;
    arena_init(&arena, 0);
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i2");
    spec.has_min_nodes = spec.has_exclusive = spec.exclusive = true;
    spec.min_nodes = 2;
    spec.array_inx = (char *)"5-7";
    int64_t array = fixture_submit(f, &FIXTURE_USER, &spec);
    spec.array_inx = NULL;
    int64_t waits = fixture_submit(f, &FIXTURE_USER, &spec);
    const Pb__WhyReply *m = get_reply(f, &arena, ask_why(f, &FIXTURE_USER, waits));
    _cleanup_free_ char *name = mem_printf("%u_5", (unsigned)array);
    assert_int_equal(m->n_elements, 1); /* pending elements share a record */
    assert_string_equal(m->elements[0]->name, name);
    assert_int_equal(m->elements[0]->job_id, m->groups[0]->holders[0]->job_id);
    fixture_free(f);
}

/* Each of its elements takes its turn, and the array is named once. */
static void blocking_array_is_named_once(void **state)
{
    int64_t runs, waits;
    struct fixture *f = make_full_fixture(&runs, &waits);
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    (void)state;
    arena_init(&arena, 0);
    spec.has_min_nodes = spec.has_exclusive = spec.exclusive = spec.has_time_limit_sec = true;
    spec.min_nodes = 2;
    spec.time_limit_sec = 600;
    spec.array_inx = (char *)"0-3";
    int64_t array = fixture_submit(f, &FIXTURE_USER, &spec);
    spec.array_inx = NULL;
    int64_t last = fixture_submit(f, &FIXTURE_USER, &spec);
    const Pb__WhyReply *m = get_reply(f, &arena, ask_why(f, &FIXTURE_USER, last));
    assert_int_equal(m->start_at, f->wall_ms / 1000 + 600 * 6);
    assert_int_equal(m->n_ahead, 2);
    assert_int_equal(m->ahead[0]->job_id, waits);
    assert_int_equal(m->ahead[1]->job_id, array);
    assert_int_equal(m->ahead[1]->start_at, f->wall_ms / 1000 + 600 * 2);
    fixture_free(f);
}

/* The job ends, the controller is reconfigured, the caller disconnects. */
static void why_call_survives_changes_between_turns(void **state)
{
    int64_t runs, waits;
    struct fixture *f = make_full_fixture(&runs, &waits);
    _cleanup_arena_ struct arena arena;
    (void)state;
    arena_init(&arena, 0);
    uint64_t call = ask_why(f, &FIXTURE_USER, waits);
    fixture_reconfigure(f, NODES "PartitionName=more Nodes=n1\n");
    assert_non_null(get_reply(f, &arena, call));
    call = ask_why(f, &FIXTURE_USER, waits);
    Pb__JobSignal cancel = PB__JOB_SIGNAL__INIT;
    Pb__StepId id = PB__STEP_ID__INIT, *target = &id;
    id.job_id = (uint32_t)waits;
    cancel.target = &target;
    cancel.n_target = 1;
    control_job_signal(f->control, ++f->last_call, &FIXTURE_USER, &cancel);
    for (int i = 0; i < 5; i++)
        fixture_turn(f);
    assert_int_equal(fixture_code(f, call), ERR_TRANSITION);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_why_requests_are_refused),
        cmocka_unit_test(why_names_blocking_jobs_and_reasons),
        cmocka_unit_test(blocking_array_is_named_once),
        cmocka_unit_test(blocking_array_element_is_named),
        cmocka_unit_test(why_call_survives_changes_between_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
