/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/prepare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/args.h"
#include "base/mem.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/step/step.h"

#define JOBS 3

static struct conf conf;
static struct slurmd d;
static struct attempt jobs[JOBS];
static Pb__NodeAttempt about[JOBS];

static struct attempt *make_job(size_t i, uint32_t id, uint32_t uid)
{
    struct attempt *a = &jobs[i];

    pb__node_attempt__init(&about[i]);
    about[i].uid = uid;
    *a = (struct attempt){.d = &d, .key = {.id = id}, .note.about = &about[i]};
    HASH_ADD(hh, d.attempts, key, sizeof(a->key), a);
    return a;
}

static void add_waiting(struct attempt *a, size_t bytes)
{
    struct launch *l = mem_new(struct launch);

    l->message.len = bytes; /* the bytes are not read */
    vec_push(&a->waiting, l);
}

static void add_steps(struct attempt *a, size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        struct step *s = mem_new(struct step);

        s->held_bytes = bytes;
        vec_push(&a->steps, s);
    }
}

static int set_up(void **state)
{
    d = (struct slurmd){.conf = &conf, .name = "n1"};
    return 0;
}

static int tear_down(void **state)
{
    struct attempt *a, *next;

    HASH_ITER (hh, d.attempts, a, next) {
        HASH_DEL(d.attempts, a);
        vec_foreach (&a->waiting, l)
            free(*l);
        vec_foreach (&a->steps, s)
            free(*s);
        vec_done(&a->waiting);
        vec_done(&a->steps);
    }
    return 0;
}

static int check_launch(uint32_t job_id, uint32_t uid, size_t bytes, const char *says)
{
    Pb__Cred cred = PB__CRED__INIT;
    struct err err = {0};
    int rc;

    cred.job_id = job_id;
    cred.uid = uid;
    rc = prepare_check_limits(&d, &cred, bytes, &err);
    if (rc && (rc != -ERR_LIMIT || !strstr(err.text, says)))
        fail_msg("%d: %s", rc, err.text);
    return rc;
}

static void held_bytes_count_for_the_job_until_its_tasks_run(void **state)
{
    struct attempt *a = make_job(0, 1, 1000);

    assert_int_equal(check_launch(1, 1000, LAUNCH_JOB_BYTES, ""), 0);
    add_waiting(a, LAUNCH_JOB_BYTES / 2);
    add_steps(a, 1, LAUNCH_JOB_BYTES / 4);
    assert_int_equal(check_launch(1, 1000, LAUNCH_JOB_BYTES / 4, ""), 0);
    assert_int_equal(check_launch(1, 1000, LAUNCH_JOB_BYTES / 4 + 1, "of job 1"), -ERR_LIMIT);
    assert_int_equal(check_launch(2, 1000, LAUNCH_JOB_BYTES / 4 + 1, ""), 0);
    a->steps.data[0]->held_bytes = 0;
    assert_int_equal(check_launch(1, 1000, LAUNCH_JOB_BYTES / 4 + 1, ""), 0);
}

static void held_bytes_of_all_jobs_count_for_the_user(void **state)
{
    add_waiting(make_job(0, 1, 1000), LAUNCH_JOB_BYTES);
    add_waiting(make_job(1, 2, 1000), LAUNCH_USER_BYTES - LAUNCH_JOB_BYTES);
    make_job(2, 3, 1000);
    assert_int_equal(check_launch(3, 1000, 1, "of user 1000"), -ERR_LIMIT);
    assert_int_equal(check_launch(4, 1001, 1, ""), 0);
}

static void step_daemons_count_for_job_and_user(void **state)
{
    struct attempt *a = make_job(0, 1, 1000);

    add_steps(a, LAUNCH_JOB_STEPS - 1, 0);
    assert_int_equal(check_launch(1, 1000, 1, ""), 0);
    add_waiting(a, 1);
    assert_int_equal(check_launch(1, 1000, 1, "job 1 has 1024 steps on node n1"), -ERR_LIMIT);
    add_steps(make_job(1, 2, 1000), LAUNCH_USER_STEPS - LAUNCH_JOB_STEPS, 0);
    assert_int_equal(check_launch(3, 1000, 1, "user 1000 has 4096 steps"), -ERR_LIMIT);
    assert_int_equal(check_launch(3, 0, 1, ""), 0);
}

static void arguments_and_environment_have_a_limit(void **state)
{
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    char *big = mem_alloc(ARGS_BYTES_MAX / 2), *argv[] = {"program", big}, *env[] = {big};
    struct err err = {0};

    memset(big, 'x', ARGS_BYTES_MAX / 2 - 100);
    m.argv = argv;
    m.n_argv = 2;
    m.env = env;
    m.n_env = 1;
    assert_int_equal(prepare_check_args(&m, &err), 0);
    memset(big, 'x', ARGS_BYTES_MAX / 2 - 1);
    assert_int_equal(prepare_check_args(&m, &err), -ERR_LIMIT);
    free(big);
}

static void a_commit_may_take_as_long_as_prologs(void **state)
{
    conf = (struct conf){
        .message_timeout_sec = 10, .prolog_timeout_sec = 100, .prolog_epilog_timeout_sec = 65534};
    assert_int_equal(prepare_commit_ms(&conf, 1), 130000);
    assert_int_equal(prepare_commit_ms(&conf, 90000), 130000);
    conf.prolog_timeout_sec = 65534; /* then as long as this node's own took, and more */
    assert_int_equal(prepare_commit_ms(&conf, 0), 330000);
    assert_int_equal(prepare_commit_ms(&conf, 29999), 330000);
    assert_int_equal(prepare_commit_ms(&conf, 60000), 630000);
    assert_int_equal(prepare_commit_ms(&conf, 360001), 3630000);
    assert_int_equal(prepare_commit_ms(&conf, INT64_MAX), 3630000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(held_bytes_count_for_the_job_until_its_tasks_run, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(held_bytes_of_all_jobs_count_for_the_user, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(step_daemons_count_for_job_and_user, set_up, tear_down),
        cmocka_unit_test(arguments_and_environment_have_a_limit),
        cmocka_unit_test(a_commit_may_take_as_long_as_prologs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
