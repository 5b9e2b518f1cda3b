/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A new configuration under jobs: the report, the effects, and a preview without effects. */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define HEAD "SelectTypeParameters=CR_Core_Memory\nSlurmdTimeout=0\n"
#define BEFORE                                                                                     \
    HEAD "NodeName=n[1-4] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES "          \
         "MaxTime=60\n"                                                                            \
         "PartitionName=b Nodes=n4\n"
#define AFTER                                                                                      \
    HEAD "NodeName=n[2-4] CPUs=2 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES "          \
         "MaxTime=30\n"
#define ONE_CPU HEAD "NodeName=n1 CPUs=1\nPartitionName=a Nodes=ALL Default=YES"
#define EPILOG "Epilog=/bin/true\n" /* without it a node becomes free at once */

struct jobs {
    int64_t on_n1, stays, no_requeue, wide, long_one, in_b;
};

static int64_t submit_job(struct fixture *f, uint32_t nodes, uint32_t cpus, const char *where,
                          const char *part, int64_t limit_sec, bool requeue)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_max_nodes = s.has_cpus_per_task = s.has_time_limit_sec = s.has_requeue =
        true;
    s.min_nodes = s.max_nodes = nodes;
    s.cpus_per_task = cpus;
    s.req_nodes = (char *)where;
    s.partition = (char *)part;
    s.time_limit_sec = limit_sec;
    s.requeue = requeue;
    int64_t id = fixture_submit(f, &user, &s);
    assert_true(id > 0);
    return id;
}

static struct fixture *make_fixture(struct jobs *j)
{
    struct fixture *f = fixture_new(BEFORE);
    const char *names[] = {"n1", "n2", "n3", "n4"};
    for (int i = 0; i < 4; i++)
        fixture_register(f, names[i], "i1");
    j->on_n1 = submit_job(f, 1, 1, "n1", NULL, 60, true);
    j->no_requeue = submit_job(f, 2, 1, "n[1-2]", NULL, 60, false);
    j->stays = submit_job(f, 1, 1, "n3", NULL, 60, true);
    j->wide = submit_job(f, 4, 4, NULL, NULL, 60, true);
    j->long_one = submit_job(f, 1, 4, "n2", NULL, 3000, true);
    j->in_b = submit_job(f, 1, 4, NULL, "b", 60, true);
    fixture_clear(f);
    return f;
}

static void assert_text_about(const char *text, int64_t id, const char *what)
{
    char head[32];
    snprintf(head, sizeof head, "JobId=%lld: ", (long long)id);
    const char *at = strstr(text, head);
    if (!what) {
        assert_null(at);
        return;
    }
    assert_non_null(at);
    if (strncmp(at + strlen(head), what, strlen(what)) != 0)
        fail_msg("%.100s: expected %s", at, what);
}

static void check_text(const char *text, const struct jobs *j)
{
    assert_text_about(text, j->on_n1, "runs on node n1, which is removed: it is queued again");
    assert_text_about(text, j->no_requeue, "runs on node n1, which is removed: it ends");
    assert_text_about(text, j->stays, NULL);
    assert_text_about(text, j->wide, "can no longer run: ");
    assert_text_about(text, j->long_one, "can no longer run: ");
    assert_text_about(text, j->in_b, NULL); /* it runs on n4, which stays */
    assert_non_null(strstr(text, "MaxTime"));
}

static void reconfiguration_preview_changes_nothing(void **state)
{
    struct jobs j;
    struct fixture *f = make_fixture(&j);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    size_t records = f->records.len;
    check_text(fixture_reread(f, AFTER, true), &j);
    assert_int_equal(f->records.len, records);
    assert_int_equal(f->orders.len, 0);
    assert_int_equal(fixture_part(f, &arena, "a")->max_time_sec, 3600);
    assert_non_null(fixture_part(f, &arena, "b"));
    assert_int_equal(fixture_state(f, (uint32_t)j.on_n1), PB__JOB_STATE__RUNNING);
    assert_string_equal(fixture_job(f, &arena, (uint32_t)j.no_requeue)->live->nodes, "n[1-2]");
    fixture_free(f);
}

static void reconfiguration_does_what_the_preview_reports(void **state)
{
    struct jobs j;
    struct fixture *f = make_fixture(&j);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    check_text(fixture_reread(f, AFTER, false), &j);
    /* Nothing continues to run there. */
    assert_int_equal(fixture_terminates(f, "n1", (uint32_t)j.on_n1), 1);
    assert_int_equal(fixture_terminates(f, "n1", (uint32_t)j.no_requeue), 1);
    assert_int_equal(fixture_job(f, &arena, (uint32_t)j.on_n1)->live->restarts, 1);
    assert_int_equal(fixture_state(f, (uint32_t)j.no_requeue), PB__JOB_STATE__NODE_FAIL);
    assert_int_equal(fixture_job(f, &arena, (uint32_t)j.no_requeue)->live->completing, 0);
    assert_int_equal(fixture_state(f, (uint32_t)j.stays), PB__JOB_STATE__RUNNING);
    assert_string_equal(fixture_job(f, &arena, (uint32_t)j.stays)->live->nodes, "n3");
    assert_int_equal(fixture_state(f, (uint32_t)j.wide), PB__JOB_STATE__PENDING);
    assert_int_equal(fixture_state(f, (uint32_t)j.in_b), PB__JOB_STATE__RUNNING);
    assert_null(fixture_part(f, &arena, "b"));
    assert_null(strstr(fixture_reread(f, AFTER, false), "JobId")); /* reported only once */
    fixture_restart(f);
    assert_int_equal(fixture_state(f, (uint32_t)j.stays), PB__JOB_STATE__RUNNING);
    assert_string_equal(fixture_job(f, &arena, (uint32_t)j.in_b)->live->partition, "b");
    fixture_free(f);
}

/* Another alternative of its licences does not help a job that can never run for other reasons. */
static void licence_alternative_does_not_save_a_job_without_nodes(void **state)
{
    static const char before[] = "Licenses=a:1,b:1\n" BEFORE, after[] = "Licenses=b:1\n" AFTER;
    struct fixture *f = fixture_new(before);
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    const struct caller user = FIXTURE_USER;
    int64_t ids[2];
    (void)state;
    s.licenses = (char *)"a:1|b:1";
    s.has_hold = s.hold = s.has_cpus_per_task = s.has_time_limit_sec = true;
    s.time_limit_sec = 60;
    for (uint32_t i = 0; i < 2; i++) {
        s.cpus_per_task = i ? 4 : 1;
        ids[i] = fixture_submit(f, &user, &s);
        assert_true(ids[i] > 0);
    }
    const char *text = fixture_reread(f, after, true);
    assert_text_about(text, ids[0], NULL);
    assert_text_about(text, ids[1], "can no longer run: ");
    fixture_free(f);
}

/* Values set by scontrol stay; the file's newer features are reported, with the reason why they
 * have no effect. */
static void features_that_an_update_hides_are_reported(void **state)
{
    static const char head[] = "SlurmdTimeout=0\nPartitionName=a Nodes=ALL Default=YES\n";
    struct fixture *f = fixture_new("SlurmdTimeout=0\nPartitionName=a Nodes=ALL Default=YES\n"
                                    "NodeName=n1 Feature=x\nNodeName=n2 Feature=x\n");
    struct caller root = FIXTURE_ROOT;
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    _cleanup_str_ struct str lines = STR_INIT;
    r.nodes = (char *)"n1";
    r.features = (char *)"live";
    control_node_update(f->control, 6000, &root, &r);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, 6000), 0);
    str_printf(&lines, "%sNodeName=n1 Feature=y\nNodeName=n2 Feature=y\n", head);
    for (int preview = 1; preview >= 0; preview--) {
        const char *text = fixture_reread(f, str_cstr(&lines), preview);
        assert_non_null(strstr(text, "NodeName=n1: Feature=y of slurm.conf has no effect: "
                                     "scontrol set AvailableFeatures=live"));
        assert_null(strstr(text, "NodeName=n2: Feature"));
    }
    /* Unchanged lines are not reported. */
    assert_null(strstr(fixture_reread(f, str_cstr(&lines), false), "has no effect"));
    fixture_free(f);
}

/* The jobs keep the shared core while they run, but not when they start again. */
static void jobs_keep_a_shared_core_while_they_run(void **state)
{
    struct fixture *f = fixture_new(ONE_CPU " OverSubscribe=FORCE:2\n");
    struct caller user = FIXTURE_USER;
    fixture_register(f, "n1", "i1");
    uint32_t a = (uint32_t)submit_job(f, 1, 1, NULL, NULL, 60, true),
             b = (uint32_t)submit_job(f, 1, 1, NULL, NULL, 60, true);
    fixture_launched(f, "n1", a, 0);
    fixture_launched(f, "n1", b, 0);
    fixture_reconfigure(f, ONE_CPU " OverSubscribe=YES:2\n"); /* for jobs that request it */
    fixture_turn(f);
    assert_int_equal(fixture_state(f, a), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, b), PB__JOB_STATE__RUNNING);
    Pb__JobUpdate again = PB__JOB_UPDATE__INIT;
    again.has_requeue = again.requeue = true;
    again.job_id = a;
    assert_int_equal(fixture_update_job(f, &user, &again), 0);
    again.job_id = b;
    assert_int_equal(fixture_update_job(f, &user, &again), 0);
    fixture_gone(f, "n1", a, 0);
    fixture_gone(f, "n1", b, 0);
    assert_int_equal(fixture_state(f, a), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, b), PB__JOB_STATE__PENDING);
    fixture_free(f);
}

static void waiting_calls_are_answered_after_a_reconfiguration(void **state)
{
    struct fixture *f = fixture_new(BEFORE);
    struct caller user = FIXTURE_USER;
    fixture_register(f, "n1", "i1");
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    int64_t id = fixture_submit(f, &user, &s);
    Pb__JobIdRequest r = PB__JOB_ID_REQUEST__INIT;
    r.job_id = (uint32_t)id;
    control_job_wait_end(f->control, 5000, &user, &r);
    fixture_turn(f);
    fixture_reconfigure(f, BEFORE "MinJobAge=10\n");
    assert_int_equal(fixture_code(f, 5000), -1);
    fixture_batch_ended(f, "n1", (uint32_t)id, 0, 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    assert_int_equal(fixture_code(f, 5000), 0);
    fixture_free(f);
}

/* The node was held by an ending job, and is no longer held according to the job's record. */
static void returned_node_does_not_belong_to_its_former_job(void **state)
{
    struct caller user = FIXTURE_USER;
    for (int restarted = 0; restarted < 2; restarted++) { /* before the node returns */
        struct fixture *f = fixture_new(BEFORE EPILOG);
        Pb__StepId id = PB__STEP_ID__INIT, *ids[] = {&id};
        Pb__JobSignal cancel = PB__JOB_SIGNAL__INIT;
        fixture_register(f, "n1", "i1");
        fixture_register(f, "n2", "i1");
        id.job_id = (uint32_t)submit_job(f, 2, 4, NULL, NULL, 60, true);
        cancel.target = ids;
        cancel.n_target = 1;
        fixture_launched(f, "n1", id.job_id, 0);
        control_job_signal(f->control, 6000, &user, &cancel);
        fixture_turn(f);
        fixture_reconfigure(f, AFTER EPILOG);
        if (restarted)
            fixture_restart(f);
        fixture_reconfigure(f, BEFORE EPILOG);
        fixture_register(f, "n1", "i1");
        int64_t next = submit_job(f, 1, 4, "n1", NULL, 60, true);
        assert_int_equal(fixture_state(f, (uint32_t)next), PB__JOB_STATE__RUNNING);
        fixture_restart(f); /* the records are consistent */
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reconfiguration_preview_changes_nothing),
        cmocka_unit_test(reconfiguration_does_what_the_preview_reports),
        cmocka_unit_test(licence_alternative_does_not_save_a_job_without_nodes),
        cmocka_unit_test(returned_node_does_not_belong_to_its_former_job),
        cmocka_unit_test(features_that_an_update_hides_are_reported),
        cmocka_unit_test(jobs_keep_a_shared_core_while_they_run),
        cmocka_unit_test(waiting_calls_are_answered_after_a_reconfiguration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
