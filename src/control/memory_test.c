/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs and steps that were ended for their memory. */
#include <string.h>

#include "base/mem.h"
#include "base/status.h"
#include "control/fixture.h"
#include "control/life/depend.h"

#define CONF                                                                                       \
    "NodeName=n[1-2] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SlurmdTimeout=0\nRequeueExit=125\n"

static struct fixture *make_with(const char *lines)
{
    struct fixture *f = fixture_new(lines);
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i2");
    return f;
}

static struct fixture *make_fixture(void)
{
    return make_with(CONF);
}

static void end_batch(struct fixture *f, int64_t id, int status, bool late, bool memory)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__BatchEnded m = PB__BATCH_ENDED__INIT;
    m.job_id = (uint32_t)id;
    m.exit_status = status;
    m.has_timed_out = m.timed_out = late;
    m.has_out_of_memory = m.out_of_memory = memory;
    e.batch_ended = &m;
    fixture_event(f, "n1", &e);
}

static void step_ended(struct fixture *f, const char *node, int64_t id, int status, bool memory)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__StepEnded m = PB__STEP_ENDED__INIT;
    m.job_id = (uint32_t)id;
    m.exit_status = status;
    m.has_out_of_memory = m.out_of_memory = memory;
    e.step_ended = &m;
    fixture_event(f, node, &e);
}

static void make_step(struct fixture *f, int64_t id, uint32_t nodes, int oom_kill_step)
{
    Pb__StepSpec s = PB__STEP_SPEC__INIT;
    struct caller user = FIXTURE_USER;
    s.has_job_id = s.has_min_nodes = true;
    s.job_id = (uint32_t)id;
    s.min_nodes = nodes;
    s.has_oom_kill_step = oom_kill_step >= 0;
    s.oom_kill_step = oom_kill_step > 0;
    control_step_create(f->control, ++f->last_call, &user, &s);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
}

static void memory_kill_decides_the_state_of_a_script(void **state)
{
    static const struct {
        int status;
        bool late, memory;
        enum _Pb__JobState end;
        int exit_status;
        const char *reason;
    } v[] = {
        /* Again: an ordinary exit code. */
        {0, false, false, PB__JOB_STATE__COMPLETED, 0, NULL},
        {125 << 8, false, false, PB__JOB_STATE__RUNNING, 0, NULL},
        {9, false, false, PB__JOB_STATE__FAILED, 9, "NonZeroExitCode"},
        {9, false, true, PB__JOB_STATE__OUT_OF_MEMORY, 125, "OutOfMemory"},
        {125, false, true, PB__JOB_STATE__OUT_OF_MEMORY, 125, "OutOfMemory"},
        {9, true, true, PB__JOB_STATE__TIMEOUT, 125, "TimeLimit"},
    };
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct fixture *f = make_fixture();
        int64_t id = fixture_submit(f, &FIXTURE_USER, NULL);
        fixture_launched(f, "n1", (uint32_t)id, 0);
        end_batch(f, id, v[i].status, v[i].late, v[i].memory);
        fixture_gone(f, "n1", (uint32_t)id, 0);
        fixture_restart(f);
        const Pb__JobLive *l = fixture_job(f, &arena, (uint32_t)id)->live;
        print_message("status %x\n", (unsigned)v[i].status);
        assert_int_equal(l->state, v[i].end);
        assert_int_equal(l->exit_status, v[i].exit_status);
        if (v[i].reason)
            assert_string_equal(l->reason, v[i].reason);
        fixture_free(f);
    }
}

static void script_continues_after_a_step_out_of_memory(void **state)
{
    struct fixture *f = make_fixture();
    int64_t id = fixture_submit(f, &FIXTURE_USER, NULL);
    (void)state;
    fixture_launched(f, "n1", (uint32_t)id, 0);
    make_step(f, id, 1, -1);
    step_ended(f, "n1", id, 9, true);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    end_batch(f, id, 0, false, false);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

/* A step ended on one node continues on the others, unless all of it must end: as requested, or by
 * node daemons that end whole steps for memory. */
static void oom_kill_step_ends_the_step_on_all_nodes(void **state)
{
    static const struct {
        const char *more;
        int asked; /* -1: not specified */
        unsigned ends;
    } v[] = {{"", -1, 0},
             {"", 0, 0},
             {"", 1, 1},
             {"JobAcctGatherParams=OverMemoryKill\n", -1, 1},
             {"JobAcctGatherParams=OverMemoryKill\n", 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        _cleanup_free_ char *lines = mem_printf(
            CONF "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\n%s", v[i].more);
        struct fixture *f = make_with(lines);
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        spec.has_min_nodes = true;
        spec.min_nodes = 2;
        int64_t id = fixture_submit(f, &FIXTURE_USER, &spec);
        fixture_launched(f, "n1", (uint32_t)id, 0);
        make_step(f, id, 2, v[i].asked);
        fixture_clear(f);
        step_ended(f, "n2", id, 125, true);
        assert_int_equal(fixture_terminates(f, "n1", (uint32_t)id), v[i].ends);
        assert_int_equal(fixture_terminates(f, "n2", (uint32_t)id), 0);
        assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_kill_decides_the_state_of_a_script),
        cmocka_unit_test(script_continues_after_a_step_out_of_memory),
        cmocka_unit_test(oom_kill_step_ends_the_step_on_all_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
