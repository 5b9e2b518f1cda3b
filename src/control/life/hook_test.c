/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PrologSlurmctld and EpilogSlurmctld: what waits for them, and that a crash loses neither. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define NODES                                                                                      \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-2] CPUs=4 RealMemory=4000\n"                \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=500\n"
#define BOTH NODES "PrologSlurmctld=/p\nEpilogSlurmctld=/e\nPrologEpilogTimeout=30\n"
#define PROLOG PB__SCRIPT_KIND__SCRIPT_PROLOG
#define EPILOG PB__SCRIPT_KIND__SCRIPT_EPILOG
#define FAILS (1 << 8)

static struct fixture *make_fixture(const char *lines)
{
    return fixture_new_up(lines, 2);
}

static uint32_t submit_job(struct fixture *f)
{
    struct caller user = FIXTURE_USER;
    return (uint32_t)fixture_submit(f, &user, NULL);
}

static bool is_configuring(struct fixture *f, uint32_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, id)->live;
    return live->configuring && live->state == PB__JOB_STATE__RUNNING;
}

static bool is_completing(struct fixture *f, uint32_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    return fixture_job(f, &arena, id)->live->completing;
}

static uint64_t request_allocation(struct fixture *f, bool with_step)
{
    struct caller user = FIXTURE_USER;
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    step.name = (char *)"s";
    spec.name = (char *)"x";
    r.spec = &spec;
    r.step = with_step ? &step : NULL;
    control_alloc(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
    return f->last_call;
}

static uint64_t wait_ready(struct fixture *f, uint32_t id, bool with_step)
{
    struct caller user = FIXTURE_USER;
    Pb__AllocWait w = PB__ALLOC_WAIT__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    step.name = (char *)"s";
    w.job_id = id;
    w.has_ready = w.ready = true;
    w.step = with_step ? &step : NULL;
    control_alloc_wait(f->control, ++f->last_call, &user, &w);
    fixture_turn(f);
    return f->last_call;
}

static const Pb__AllocReply *reply_of(struct fixture *f, struct arena *arena, uint64_t call)
{
    assert_int_equal(fixture_code(f, call), 0);
    vec_foreach (&f->replies, r)
        if (r->call == call)
            return arena_unpack(arena, &pb__alloc_reply__descriptor, r->data.data, r->data.len);
    return NULL;
}

static uint32_t grant_allocation(struct fixture *f, bool with_step)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__AllocReply *r = reply_of(f, &arena, request_allocation(f, with_step));
    assert_true(r->granted && r->configuring && !r->step);
    assert_true(r->has_start_at_sec && r->start_at_sec > 0);
    assert_int_equal(r->has_end_at_sec ? r->end_at_sec - r->start_at_sec : 0,
                     r->has_end_at_sec ? r->time_limit_sec : 0);
    return r->job_id;
}

static void cancel_job(struct fixture *f, uint32_t id)
{
    assert_int_equal(fixture_cancel(f, &FIXTURE_USER, id, NULL, 0), 0);
}

/* --- tests
 * ---------------------------------------------------------------------------------------- */

static void unexpected_end_of_a_script_is_ignored(void **state)
{
    struct fixture *f = make_fixture(BOTH);
    uint32_t id = submit_job(f);
    Pb__ScriptEnded m = PB__SCRIPT_ENDED__INIT;
    m.kind = EPILOG; /* none is running */
    m.job_id = id;
    control_script_ended(f->control, &m);
    m.kind = PROLOG;
    m.restarts = 7; /* of another attempt */
    control_script_ended(f->control, &m);
    m.restarts = 0;
    m.job_id = 999;
    control_script_ended(f->control, &m);
    fixture_turn(f);
    assert_true(is_configuring(f, id));
    assert_int_equal(fixture_launches(f, "n1", id), 0);
    fixture_free(f);
}

static void the_script_is_launched_when_the_prolog_is_over(void **state)
{
    struct fixture *f = make_fixture(BOTH "SlurmdTimeout=0\n");
    uint32_t id = submit_job(f);
    assert_true(is_configuring(f, id));
    assert_string_equal(f->scripts.data[0].path, "/p");
    assert_int_equal(f->scripts.data[0].limit_sec, 30);
    fixture_register(f, "n1", "i1"); /* this reconciles the node's jobs */
    fixture_pass(f, 4000000);        /* the time limit does not count yet */
    assert_int_equal(fixture_launches(f, "n1", id), 0);
    fixture_script_ended(f, PROLOG, id, 0);
    assert_false(is_configuring(f, id));
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_launched(f, "n1", id, 0);
    fixture_pass(f, 3500000); /* of 3600 s from the end of the prolog */
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 200000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

static void the_environment_names_the_job(void **state)
{
    static const char *const lines[] = {
        "SLURM_SCRIPT_CONTEXT=prolog_slurmctld\n",
        "SLURM_CLUSTER_NAME=test\n",
        "SLURM_JOB_ID=1\n",
        "SLURM_JOBID=1\n",
        "SLURM_JOB_UID=1000\n",
        "SLURM_JOB_GID=1000\n",
        "SLURM_JOB_USER=ann\n",
        "SLURM_JOB_GROUP=ann\n",
        "SLURM_JOB_NODELIST=n1\n",
        "SLURM_JOB_NUM_NODES=1\n",
        "SLURM_JOB_CPUS_PER_NODE=1\n",
        "SLURM_JOB_PARTITION=a\n",
        "SLURM_JOB_RESTART_COUNT=0\n",
        "SLURM_JOB_NAME=na me\n",
        "SLURM_JOB_WORK_DIR=/w\n",
        "SLURM_JOB_COMMENT=c\n",
        "SLURM_WCKEY=k\n",
        "SLURM_JOB_STDOUT=/w/0001-ann-na me-n1-0.%\n",
        "SLURM_JOB_STDERR=/e\n",
        "SLURM_JOB_STDIN=/dev/null\n",
    };
    struct fixture *f = make_fixture(BOTH);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.name = (char *)"na me";
    s.work_dir = (char *)"/w";
    s.comment = (char *)"c";
    s.wckey = (char *)"k";
    s.std_out = (char *)"%4j-%u-%x-%N-%t.%";
    s.std_err = (char *)"/e";
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!strstr(str_cstr(&f->scripts.data[0].env), lines[i]))
            fail_msg("no %s in %s", lines[i], str_cstr(&f->scripts.data[0].env));
    assert_null(strstr(str_cstr(&f->scripts.data[0].env), "EXIT_CODE"));
    fixture_script_ended(f, PROLOG, id, 0);
    fixture_launched(f, "n1", id, 0);
    fixture_batch_ended(f, "n1", id, 0, 3 << 8);
    const char *env = str_cstr(&f->scripts.data[0].env);
    assert_non_null(strstr(env, "SLURM_SCRIPT_CONTEXT=epilog_slurmctld\n"));
    assert_non_null(strstr(env, "SLURM_JOB_EXIT_CODE=768\nSLURM_JOB_EXIT_CODE2=3:0\n"));
    fixture_free(f);
}

static void job_is_completing_until_the_epilog_ends(void **state)
{
    struct fixture *f = make_fixture(BOTH);
    uint32_t id = submit_job(f);
    fixture_script_ended(f, PROLOG, id, 0);
    fixture_launched(f, "n1", id, 0);
    fixture_batch_ended(f, "n1", id, 0, 0);
    fixture_gone(f, "n1", id, 0);
    assert_true(is_completing(f, id));
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__COMPLETED);
    fixture_script_ended(f, EPILOG, id, FAILS); /* only logged */
    assert_false(is_completing(f, id));
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

static void failing_prolog_requeues_a_batch_job(void **state)
{
    struct fixture *f = make_fixture(BOTH);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = submit_job(f);
    fixture_script_ended(f, PROLOG, id, FAILS);
    assert_true(is_completing(f, id));
    fixture_script_ended(f, EPILOG, id, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, id)->live;
    assert_int_equal(live->state, PB__JOB_STATE__PENDING);
    assert_int_equal(live->restarts, 1);
    assert_string_equal(live->reason, "BeginTime"); /* otherwise it would loop */
    assert_int_equal(fixture_launches(f, "n1", id), 0);
    assert_int_equal(f->scripts.len, 0);
    fixture_pass(f, 121000);
    assert_true(is_configuring(f, id));
    assert_int_equal(f->scripts.data[0].restarts, 1);
    fixture_free(f);
}

/* Its request is reread when it is requeued, changed or restored. */
static void requeued_job_waits_two_minutes_despite_changes(void **state)
{
    const char *conf = BOTH "PartitionName=b Nodes=ALL DefMemPerCPU=500\n";
    struct fixture *f = make_fixture(conf);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT, set = PB__JOB_SPEC__INIT;
    Pb__JobUpdate rename = PB__JOB_UPDATE__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    s.partition = (char *)"a,b";
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    fixture_script_ended(f, PROLOG, id, FAILS);
    fixture_script_ended(f, EPILOG, id, 0);
    assert_string_equal(fixture_job(f, &arena, id)->live->reason, "BeginTime");
    rename.job_id = id;
    rename.set = &set;
    set.name = (char *)"y";
    assert_int_equal(fixture_update_job(f, &user, &rename), 0);
    assert_string_equal(fixture_job(f, &arena, id)->live->reason, "BeginTime");
    fixture_reconfigure(f, conf);
    assert_string_equal(fixture_job(f, &arena, id)->live->reason, "BeginTime");
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    assert_string_equal(fixture_job(f, &arena, id)->live->reason, "BeginTime");
    set.has_begin_at_sec = true; /* its owner may shorten the delay */
    set.begin_at_sec = f->wall_ms / 1000;
    assert_int_equal(fixture_update_job(f, &user, &rename), 0);
    assert_true(is_configuring(f, id));
    fixture_free(f);
}

static void failing_prolog_ends_an_unrequeueable_job(void **state)
{
    struct fixture *f = make_fixture(NODES "PrologSlurmctld=/p\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_requeue = true;
    uint32_t id = (uint32_t)fixture_submit(f, &user, &s);
    assert_int_equal(f->scripts.data[0].limit_sec, -1);
    fixture_script_ended(f, PROLOG, id, FAILS);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__CANCELLED);
    id = grant_allocation(f, false);
    uint64_t call = wait_ready(f, id, false);
    fixture_script_ended(f, PROLOG, id, FAILS);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__CANCELLED);
    assert_int_equal(fixture_code(f, call), ERR_JOB_DONE);
    assert_non_null(strstr(fixture_text(f, call), "PrologSlurmctld /p exited with status 1"));
    /* Its command calls again after the end. */
    id = grant_allocation(f, false);
    fixture_script_ended(f, PROLOG, id, FAILS);
    call = wait_ready(f, id, false);
    assert_int_equal(fixture_code(f, call), ERR_JOB_DONE);
    assert_non_null(strstr(fixture_text(f, call), "PrologSlurmctld /p exited with status 1"));
    fixture_free(f);
}

static void both_scripts_run_again_after_a_crash(void **state)
{
    struct fixture *f = make_fixture(BOTH);
    uint32_t id = submit_job(f);
    for (int i = 0; i < 2; i++) {
        fixture_restart(f);
        assert_true(is_configuring(f, id));
        assert_int_equal(f->scripts.len, 1);
        fixture_register(f, "n1", "i1");
        assert_int_equal(fixture_launches(f, "n1", id), 0);
    }
    fixture_script_ended(f, PROLOG, id, 0);
    fixture_restart(f); /* known to have run */
    assert_int_equal(f->scripts.len, 0);
    fixture_register(f, "n1", "i1");
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_launched(f, "n1", id, 0);
    fixture_batch_ended(f, "n1", id, 0, 0);
    fixture_gone(f, "n1", id, 0);
    fixture_restart(f);
    assert_true(is_completing(f, id));
    fixture_script_ended(f, EPILOG, id, 0);
    fixture_restart(f);
    assert_false(is_completing(f, id));
    assert_int_equal(f->scripts.len, 0);
    fixture_free(f);
}

static void removed_scripts_are_not_awaited(void **state)
{
    struct fixture *f = make_fixture(BOTH);
    uint32_t first = submit_job(f), second = submit_job(f);
    fixture_script_ended(f, PROLOG, second, 0);
    fixture_launched(f, "n1", second, 0);
    fixture_batch_ended(f, "n1", second, 0, 0);
    fixture_gone(f, "n1", second, 0);
    assert_true(is_completing(f, second));
    fixture_reconfigure(f, NODES);
    assert_true(is_configuring(f, first)); /* it runs */
    fixture_restart(f);
    assert_false(is_configuring(f, first));
    assert_false(is_completing(f, second));
    fixture_clear(f);
    fixture_register(f, "n1", "i1");
    assert_int_equal(fixture_launches(f, "n1", first), 1);
    fixture_free(f);
}

static void reconfiguration_loses_no_running_script(void **state)
{
    struct fixture *f = make_fixture(BOTH);
    uint32_t id = submit_job(f);
    fixture_reconfigure(f, BOTH);
    assert_int_equal(f->scripts.len, 1);
    fixture_script_ended(f, PROLOG, id, 0);
    assert_int_equal(fixture_launches(f, "n1", id), 1);
    fixture_launched(f, "n1", id, 0);
    fixture_batch_ended(f, "n1", id, 0, 0);
    fixture_gone(f, "n1", id, 0);
    fixture_reconfigure(f, BOTH);
    assert_true(is_completing(f, id));
    fixture_script_ended(f, EPILOG, id, 0);
    assert_false(is_completing(f, id));
    fixture_free(f);
}

static void job_cancelled_during_its_prolog_never_runs(void **state)
{
    struct fixture *f = make_fixture(BOTH);
    uint32_t id = submit_job(f);
    cancel_job(f, id);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__CANCELLED);
    assert_int_equal(f->scripts.len, 1);
    assert_true(f->scripts.data[0].stopped); /* the epilog waits for its end */
    assert_true(is_completing(f, id));
    fixture_script_ended(f, PROLOG, id, 0);
    assert_int_equal(fixture_launches(f, "n1", id), 0);
    fixture_script_ended(f, EPILOG, id, 0);
    assert_false(is_completing(f, id));
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__CANCELLED);
    fixture_free(f);
}

static void an_allocation_is_ready_when_the_prolog_is_over(void **state)
{
    struct fixture *f = make_fixture(NODES "PrologSlurmctld=/p\n");
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = grant_allocation(f, false);
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    step.has_job_id = true;
    step.job_id = id;
    uint64_t call = wait_ready(f, id, false), other = ++f->last_call;
    control_step_create(f->control, other, &user, &step); /* waits too */
    fixture_turn(f);
    assert_int_equal(fixture_code(f, call), -1);
    assert_int_equal(fixture_code(f, other), -1);
    fixture_script_ended(f, PROLOG, id, 0);
    const Pb__AllocReply *r = reply_of(f, &arena, call);
    assert_true(r->granted && !r->configuring);
    assert_int_equal(fixture_code(f, other), 0);
    fixture_free(f);
}

static void interactive_step_is_granted_when_the_job_is_ready(void **state)
{
    for (int away = 0; away < 3; away++) {
        struct fixture *f = make_fixture(NODES "PrologSlurmctld=/p\n");
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        uint32_t id = grant_allocation(f, true);
        if (away == 1) /* srun calls again only after the end */
            fixture_restart(f);
        uint64_t call = away == 1 ? 0 : wait_ready(f, id, true);
        if (away == 2) {
            fixture_restart(f);
            call = wait_ready(f, id, true);
        }
        fixture_script_ended(f, PROLOG, id, 0);
        if (away == 1)
            call = wait_ready(f, id, true);
        const Pb__AllocReply *r = reply_of(f, &arena, call);
        assert_true(r->granted && !r->configuring);
        assert_non_null(r->step);
        assert_int_equal(r->step->step_id, 0);
        r = reply_of(f, &arena, wait_ready(f, id, true)); /* a repeated call gets the same reply */
        assert_int_equal(r->step->step_id, 0);
        fixture_free(f);
    }
}

static void abandoned_allocation_ends_after_its_prolog(void **state)
{
    struct fixture *f = make_fixture(NODES "PrologSlurmctld=/p\n");
    uint32_t id = grant_allocation(f, false);
    control_call_gone(f->control, wait_ready(f, id, false));
    fixture_turn(f);
    fixture_pass(f, 31000);
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__CANCELLED);
    fixture_script_ended(f, PROLOG, id, SIGTERM);
    assert_false(is_completing(f, id));
    fixture_free(f);
}

static void a_lost_node_ends_the_attempt(void **state)
{
    struct fixture *f = make_fixture(BOTH "SlurmdTimeout=10\nReturnToService=2\n");
    uint32_t id = submit_job(f);
    fixture_pass(f, 20000);
    assert_true(is_completing(f, id));
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__NODE_FAIL);
    fixture_register(f, "n2", "i2");
    fixture_script_ended(f, PROLOG, id, SIGTERM);
    fixture_script_ended(f, EPILOG, id, 0);
    assert_true(is_configuring(f, id));
    assert_int_equal(f->scripts.data[0].restarts, 1);
    fixture_free(f);
}

/* A restart ends attempts that lost their nodes and runs the epilog for them once, as for attempts
 * that were ending before. */
static void attempt_ended_by_a_restart_has_one_epilog(void **state)
{
    struct fixture *f = make_fixture(BOTH);
    uint32_t id = submit_job(f);
    fixture_script_ended(f, PROLOG, id, 0);
    FILE *file = fopen(f->path, "w");
    assert_non_null(file);
    fprintf(file, "ClusterName=test\nSlurmctldHost=h\nSelectType=select/cons_tres\n"
                  "NodeName=n9 CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"
                  "PrologSlurmctld=/p\nEpilogSlurmctld=/e\n");
    fclose(file);
    fixture_restart(f);
    assert_int_equal(f->scripts.len, 1);
    fixture_script_ended(f, EPILOG, id, 0);
    assert_false(is_completing(f, id));
    assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PENDING);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unexpected_end_of_a_script_is_ignored),
        cmocka_unit_test(the_script_is_launched_when_the_prolog_is_over),
        cmocka_unit_test(the_environment_names_the_job),
        cmocka_unit_test(job_is_completing_until_the_epilog_ends),
        cmocka_unit_test(failing_prolog_requeues_a_batch_job),
        cmocka_unit_test(requeued_job_waits_two_minutes_despite_changes),
        cmocka_unit_test(failing_prolog_ends_an_unrequeueable_job),
        cmocka_unit_test(both_scripts_run_again_after_a_crash),
        cmocka_unit_test(removed_scripts_are_not_awaited),
        cmocka_unit_test(reconfiguration_loses_no_running_script),
        cmocka_unit_test(job_cancelled_during_its_prolog_never_runs),
        cmocka_unit_test(an_allocation_is_ready_when_the_prolog_is_over),
        cmocka_unit_test(interactive_step_is_granted_when_the_job_is_ready),
        cmocka_unit_test(abandoned_allocation_ends_after_its_prolog),
        cmocka_unit_test(a_lost_node_ends_the_attempt),
        cmocka_unit_test(attempt_ended_by_a_restart_has_one_epilog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
