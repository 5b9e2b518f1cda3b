/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RequeueExit, RequeueExitHold, scontrol requeue and requeuehold, holds of running jobs. */
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "control/core/filter.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "NodeName=n1 CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"                  \
    "SlurmdTimeout=0\nRequeueExit=3-5,9\nRequeueExitHold=7\n"

static struct fixture *make_fixture(void)
{
    return fixture_new_up(CONF, 1);
}

static const Pb__JobLive *get_live(struct fixture *f, struct arena *arena, int64_t id)
{
    return fixture_job(f, arena, (uint32_t)id)->live;
}

static void end_script(struct fixture *f, int64_t id, uint32_t restarts, int status)
{
    fixture_launched(f, "n1", (uint32_t)id, restarts);
    fixture_batch_ended(f, "n1", (uint32_t)id, restarts, status);
    fixture_gone(f, "n1", (uint32_t)id, restarts);
}

static int update_job(struct fixture *f, Pb__JobUpdate r, int64_t id)
{
    r.base = (ProtobufCMessage)PROTOBUF_C_MESSAGE_INIT(&pb__job_update__descriptor);
    r.job_id = (uint32_t)id;
    return fixture_update_job(f, &FIXTURE_USER, &r);
}

static void requeue_follows_the_exit_code(void **state)
{
    static const struct {
        int status;
        bool again, held;
    } v[] = {{0, false, false},      {2 << 8, false, false}, {3 << 8, true, false},
             {5 << 8, true, false},  {6 << 8, false, false}, {9 << 8, true, false},
             {7 << 8, false, true},  {9, false, false}, /* a signal is not an exit code */
             {10 << 8, false, false}};
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct fixture *f = make_fixture();
        int64_t id = fixture_submit(f, &FIXTURE_USER, NULL);
        end_script(f, id, 0, v[i].status);
        fixture_restart(f);
        const Pb__JobLive *l = get_live(f, &arena, id);
        print_message("status %x\n", (unsigned)v[i].status);
        assert_int_equal(l->restarts, v[i].again || v[i].held);
        assert_int_equal(l->special_exit, v[i].held);
        assert_int_equal(l->priority == 0, v[i].held);
        if (v[i].held)
            assert_string_equal(l->reason_detail, "job requeued in held state");
        else if (!v[i].again)
            assert_true(l->state == PB__JOB_STATE__FAILED || l->state == PB__JOB_STATE__COMPLETED);
        fixture_free(f);
    }
}

/* As in Slurm: SchedulerParameters=requeue_delay=, cred_expire of AuthInfo, or two minutes. */
static void requeued_job_waits_for_the_delay(void **state)
{
    static const struct {
        const char *lines;
        int64_t sec;
    } v[] = {{"AuthInfo=ttl=60\n", 120},
             {"AuthInfo=cred_expire=30\n", 30},
             {"SchedulerParameters=requeue_delay=600\nAuthInfo=cred_expire=30\n", 600},
             {"SchedulerParameters=requeue_delay=0\nAuthInfo=cred_expire=30\n", 0}};
    enum { SCONTROL, EXIT_CODE, NODE_FAILURE, WAYS };
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof v / sizeof v[0] * WAYS; i++) {
        _cleanup_free_ char *lines = mem_printf("%s" CONF, v[i / WAYS].lines);
        struct fixture *f = fixture_new_up(lines, 1);
        int64_t id = fixture_submit(f, &FIXTURE_USER, NULL), sec = v[i / WAYS].sec;
        fixture_launched(f, "n1", (uint32_t)id, 0);
        print_message("%s%zu\n", v[i / WAYS].lines, i % WAYS);
        if (i % WAYS == EXIT_CODE) {
            end_script(f, id, 0, 3 << 8);
        } else if (i % WAYS == SCONTROL) {
            assert_int_equal(
                update_job(f, (Pb__JobUpdate){.has_requeue = true, .requeue = true}, id), 0);
            fixture_gone(f, "n1", (uint32_t)id, 0);
        } else {
            assert_int_equal(fixture_update_node(f, "n1", "DOWN", "it fails"), 0);
            assert_int_equal(fixture_update_node(f, "n1", "RESUME", NULL), 0);
            fixture_gone(f, "n1", (uint32_t)id, 0);
        }
        if (sec) {
            fixture_restart(f);
            fixture_register(f, "n1", "again");
        }
        const Pb__JobLive *l = get_live(f, &arena, id);
        assert_int_equal(l->restarts, 1);
        if (sec) {
            assert_int_equal(l->state, PB__JOB_STATE__PENDING);
            assert_string_equal(l->reason, "BeginTime");
            assert_int_equal(l->eligible_at, f->wall_ms / 1000 + sec);
            fixture_pass(f, (sec - 1) * 1000);
            assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__PENDING);
            fixture_pass(f, 2000);
        }
        assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
        fixture_free(f);
    }
}

static void unrequeueable_job_is_not_requeued_by_exit_code(void **state)
{
    struct fixture *f = make_fixture();
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    (void)state;
    s.has_requeue = true;
    for (int code = 3; code < 8; code += 4) {
        int64_t id = fixture_submit(f, &FIXTURE_USER, &s);
        end_script(f, id, 0, code << 8);
        assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__FAILED);
        assert_int_equal(update_job(f, (Pb__JobUpdate){.has_requeue = true, .requeue = true}, id),
                         ERR_NO_REQUEUE);
    }
    fixture_free(f);
}

static void cancel_job(struct fixture *f, int64_t id, bool by_filter, int signal)
{
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    Pb__JobFilter all = PB__JOB_FILTER__INIT;
    Pb__StepId target = PB__STEP_ID__INIT, *targets = &target;
    target.job_id = (uint32_t)id;
    r.filter = by_filter ? &all : NULL;
    r.target = &targets;
    r.n_target = !by_filter;
    r.has_signal = signal != 0;
    r.signal = signal;
    control_job_signal(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
}

/* The epilog runs between the end and the requeue. */
static void requeueing_job_can_be_cancelled(void **state)
{
    for (int by_filter = 0; by_filter < 2; by_filter++) {
        struct fixture *f = make_fixture();
        int64_t id = fixture_submit(f, &FIXTURE_USER, NULL);
        fixture_launched(f, "n1", (uint32_t)id, 0);
        fixture_batch_ended(f, "n1", (uint32_t)id, 0, 3 << 8);
        cancel_job(f, id, by_filter, 0);
        fixture_gone(f, "n1", (uint32_t)id, 0);
        assert_int_not_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__PENDING);
        fixture_free(f);
    }
}

/* A filter with invalid states. */
static void a_filter_of_no_state_matches_no_job(void **state)
{
    struct fixture *f = make_fixture();
    int64_t id = fixture_submit(f, &FIXTURE_USER, NULL);
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    Pb__JobFilter none = PB__JOB_FILTER__INIT;
    (void)state;
    none.has_completing = true;
    r.filter = &none;
    control_job_signal(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* The job keeps its requeue: no process exists to get the signal. */
static void requeueing_job_cannot_be_signalled(void **state)
{
    for (int by_filter = 0; by_filter < 2; by_filter++) {
        struct fixture *f = make_fixture();
        int64_t id = fixture_submit(f, &FIXTURE_USER, NULL);
        fixture_launched(f, "n1", (uint32_t)id, 0);
        fixture_batch_ended(f, "n1", (uint32_t)id, 0, 3 << 8);
        assert_int_equal(fixture_cancel(f, &FIXTURE_USER, id, NULL, SIGUSR1), ERR_JOB_DONE);
        cancel_job(f, id, by_filter, SIGUSR1);
        fixture_gone(f, "n1", (uint32_t)id, 0);
        assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
        fixture_free(f);
    }
}

static void a_special_exit_lasts_until_the_release(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    int64_t id = fixture_submit(f, &FIXTURE_USER, NULL);
    Pb__JobUpdate again = {.has_requeue = true,
                           .requeue = true,
                           .has_hold = true,
                           .hold = true,
                           .has_special_exit = true,
                           .special_exit = true};
    assert_int_equal(update_job(f, again, id), 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    assert_true(get_live(f, &arena, id)->special_exit);
    assert_string_equal(get_live(f, &arena, id)->reason, "JobHeldUser");
    assert_int_equal(update_job(f, (Pb__JobUpdate){.has_hold = true}, id), 0);
    assert_false(get_live(f, &arena, id)->special_exit);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* It continues to run, and is held when it is requeued. */
static void running_job_can_be_held(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    int64_t id = fixture_submit(f, &FIXTURE_USER, NULL);
    assert_int_equal(update_job(f, (Pb__JobUpdate){.has_hold = true, .hold = true}, id), 0);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__RUNNING);
    assert_int_equal(get_live(f, &arena, id)->priority, 0);
    assert_string_equal(get_live(f, &arena, id)->reason, "JobHeldUser");
    end_script(f, id, 0, 3 << 8);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__PENDING);
    assert_string_equal(get_live(f, &arena, id)->reason, "JobHeldUser");
    assert_int_equal(update_job(f, (Pb__JobUpdate){.has_hold = true}, id), 0);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__RUNNING);
    assert_int_equal(get_live(f, &arena, id)->restarts, 1);
    end_script(f, id, 1, 0);
    assert_int_equal(update_job(f, (Pb__JobUpdate){.has_hold = true, .hold = true}, id),
                     ERR_FINISHED);
    fixture_free(f);
}

/* Between the request to requeue and the end of the last process on the nodes. */
static void a_job_that_is_being_requeued_can_be_held(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    int64_t id = fixture_submit(f, &FIXTURE_USER, NULL);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    assert_int_equal(update_job(f, (Pb__JobUpdate){.has_requeue = true, .requeue = true}, id), 0);
    assert_true(get_live(f, &arena, id)->completing);
    assert_int_equal(update_job(f, (Pb__JobUpdate){.has_hold = true, .hold = true}, id), 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__PENDING);
    assert_string_equal(get_live(f, &arena, id)->reason, "JobHeldUser");
    assert_int_equal(update_job(f, (Pb__JobUpdate){.has_hold = true}, id), 0);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__RUNNING);
    assert_int_equal(update_job(f, (Pb__JobUpdate){.has_requeue = true, .requeue = true}, id), 0);
    assert_int_equal(update_job(f, (Pb__JobUpdate){.has_hold = true, .hold = true}, id), 0);
    assert_int_equal(update_job(f, (Pb__JobUpdate){.has_hold = true}, id), 0);
    fixture_gone(f, "n1", (uint32_t)id, 1);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* MaxBatchRequeue: also across a restart, until an operator releases it. */
static void job_is_held_after_too_many_requeues(void **state)
{
    enum { MOST = 2 };
    _cleanup_arena_ struct arena arena;
    struct fixture *f =
        fixture_new_up(CONF "MaxBatchRequeue=2\nSchedulerParameters=requeue_delay=0\n", 1);
    int64_t id = fixture_submit(f, &FIXTURE_USER, NULL);
    Pb__JobUpdate release = {.has_hold = true}, again = {.has_requeue = true, .requeue = true};
    uint32_t restarts = 0;
    arena_init(&arena, 0);
    (void)state;
    for (unsigned i = 0; i < MOST + 1; i++) { /* requests in between do not count */
        fixture_launched(f, "n1", (uint32_t)id, restarts);
        assert_int_equal(update_job(f, again, id), 0);
        fixture_gone(f, "n1", (uint32_t)id, restarts++);
        fixture_pass(f, 5000);
        assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__RUNNING);
    }
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MOST; i++) {
            assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__RUNNING);
            end_script(f, id, restarts++, 3 << 8);
            fixture_pass(f, 5000);
        }
        fixture_restart(f);
        fixture_register(f, "n1", "a");
        fixture_pass(f, 5000);
        const Pb__JobLive *l = get_live(f, &arena, id);
        assert_int_equal(l->state, PB__JOB_STATE__PENDING);
        assert_string_equal(l->reason, "JobHoldMaxRequeue");
        assert_int_equal(update_job(f, release, id), ERR_ACCESS);
        release.base = (ProtobufCMessage)PROTOBUF_C_MESSAGE_INIT(&pb__job_update__descriptor);
        release.job_id = (uint32_t)id;
        assert_int_equal(fixture_update_job(f, &FIXTURE_ROOT, &release), 0);
        fixture_pass(f, 5000);
    }
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requeue_follows_the_exit_code),
        cmocka_unit_test(requeued_job_waits_for_the_delay),
        cmocka_unit_test(unrequeueable_job_is_not_requeued_by_exit_code),
        cmocka_unit_test(requeueing_job_can_be_cancelled),
        cmocka_unit_test(a_filter_of_no_state_matches_no_job),
        cmocka_unit_test(requeueing_job_cannot_be_signalled),
        cmocka_unit_test(a_special_exit_lasts_until_the_release),
        cmocka_unit_test(running_job_can_be_held),
        cmocka_unit_test(a_job_that_is_being_requeued_can_be_held),
        cmocka_unit_test(job_is_held_after_too_many_requeues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
