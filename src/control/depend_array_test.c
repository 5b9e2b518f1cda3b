/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --dependency between job arrays and their elements. */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define CONF                                                                                       \
    "MaxArraySize=100\nMaxJobCount=200\nNodeName=n[1-2] CPUs=4 RealMemory=4000\n"                  \
    "PartitionName=a Nodes=ALL Default=YES\nSlurmdTimeout=0\n"

static void register_all(struct fixture *f)
{
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
}

static struct fixture *make(const char *lines)
{
    struct fixture *f = fixture_new(lines);
    register_all(f);
    return f;
}

static int64_t submit(struct fixture *f, const char *indexes, const char *depends)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.array_inx = (char *)indexes;
    s.dependency = (char *)depends;
    return fixture_submit(f, &FIXTURE_USER, &s);
}

static int depend(struct fixture *f, int64_t id, const char *tasks, const char *depends)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    r.job_id = (uint32_t)id;
    r.array_tasks = (char *)tasks;
    r.set = &set;
    set.dependency = (char *)depends;
    return fixture_update_job(f, &FIXTURE_USER, &r);
}

static int hold(struct fixture *f, int64_t id, const char *tasks, bool on)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)id;
    r.array_tasks = (char *)tasks;
    r.has_hold = true;
    r.hold = on;
    return fixture_update_job(f, &FIXTURE_USER, &r);
}

static void end(struct fixture *f, uint32_t id, int status)
{
    for (int i = 1; i <= 2; i++) {
        char node[4];
        snprintf(node, sizeof node, "n%d", i);
        if (!fixture_launches(f, node, id))
            continue;
        fixture_launched(f, node, id, 0);
        fixture_batch_ended(f, node, id, 0, status);
        fixture_gone(f, node, id, 0);
    }
}

static void assert_waits(struct fixture *f, int64_t id, const char *reason, const char *shown)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = fixture_job(f, &arena, (uint32_t)id)->live;
    assert_int_equal(l->state, PB__JOB_STATE__PENDING);
    assert_string_equal(l->reason, reason);
    assert_string_equal(l->dependency ? l->dependency : "", shown);
}

static void one_element_is_waited_for(void **state)
{
    struct fixture *f = make("MinJobAge=2\n" CONF);
    assert_int_equal(submit(f, "0-3%2", NULL), 1); /* 0 and 1 run as 2 and 3 */
    uint32_t ok = (uint32_t)submit(f, NULL, "afterok:1_1"),
             bad = (uint32_t)submit(f, NULL, "afternotok:1_0"),
             far = (uint32_t)submit(f, NULL, "after:1_3"),
             never = (uint32_t)submit(f, NULL, "afterok:1_0");
    assert_waits(f, far, "Dependency", "after:1_3(unfulfilled)");
    end(f, 3, 0);
    assert_int_equal(fixture_state(f, ok), PB__JOB_STATE__RUNNING);
    assert_waits(f, bad, "Dependency", "afternotok:1_0(unfulfilled)");
    assert_waits(f, far, "Dependency", "after:1_3(unfulfilled)");
    fixture_restart(f);
    register_all(f);
    assert_waits(f, bad, "Dependency", "afternotok:1_0(unfulfilled)");
    end(f, 2, 1 << 8);
    assert_int_equal(fixture_state(f, bad), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, far), PB__JOB_STATE__RUNNING);
    assert_waits(f, never, "DependencyNeverSatisfied", "afterok:1_0(failed)");
    fixture_free(f);
}

/* Elements of one record are cancelled together. */
static void elements_of_a_group_are_told_of(void **state)
{
    struct fixture *f = make(CONF);
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    assert_int_equal(submit(f, "0-9", NULL), 1);
    int64_t in = submit(f, NULL, "afterok:1_4"), out = submit(f, NULL, "afterok:1_6"),
            all = submit(f, NULL, "afterany:1_*"), part;
    assert_waits(f, all, "Dependency", "afterany:1_*(unfulfilled)");
    part = submit(f, "0-3", "afterany:1");
    assert_int_equal(hold(f, part, "1-2", true), 0); /* what is split off is shown as it was */
    assert_waits(f, part + 1, "JobHeldUser", "afterany:1_*(unfulfilled)");
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    Pb__StepId target = PB__STEP_ID__INIT, *targets = &target;
    target.job_id = 1;
    target.array_tasks = (char *)"3-5";
    r.target = &targets;
    r.n_target = 1;
    control_job_signal(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    assert_waits(f, in, "DependencyNeverSatisfied", "afterok:1_4(failed)");
    assert_waits(f, out, "Dependency", "afterok:1_6(unfulfilled)");
    fixture_free(f);
}

static void circles_over_elements_are_found(void **state)
{
    struct fixture *f = make(CONF);
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    assert_int_equal(submit(f, "0-9", NULL), 1);
    int64_t one = submit(f, NULL, "afterok:1_4"), all = submit(f, NULL, "afterok:1");
    char text[40];
    snprintf(text, sizeof text, "afterok:%lld", (long long)one);
    assert_int_equal(depend(f, 1, "4", text), ERR_DEPENDENCY);
    assert_int_equal(depend(f, 1, NULL, text), ERR_DEPENDENCY);
    assert_int_equal(depend(f, 1, "5", text), 0);
    assert_int_equal(depend(f, 1, "4", "afterok:1_5"), ERR_DEPENDENCY); /* of one's own array */
    snprintf(text, sizeof text, "afterok:%lld", (long long)all);
    assert_int_equal(depend(f, 1, "7", text), ERR_DEPENDENCY);
    snprintf(text, sizeof text, "afterok:%lld", (long long)one);
    int64_t behind = submit(f, NULL, "afterok:1_5"); /* which waits for one, which waits for 1_4 */
    snprintf(text, sizeof text, "afterok:%lld", (long long)behind);
    assert_int_equal(depend(f, 1, "4", text), ERR_DEPENDENCY);
    assert_int_equal(depend(f, 1, "6", text), 0);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_element_is_waited_for),
        cmocka_unit_test(elements_of_a_group_are_told_of),
        cmocka_unit_test(circles_over_elements_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
