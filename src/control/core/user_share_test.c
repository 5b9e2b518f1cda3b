/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares of users in the controller's resources, and the reserve for others. */
#include <string.h>

#include "base/mem.h"
#include "control/fixture.h"

#define LINES                                                                                      \
    "NodeName=n1 CPUs=4 RealMemory=4000 State=DOWN\nPartitionName=a Nodes=ALL Default=YES\n"
#define USER(number) ((struct caller){.uid = (number), .gid = 1, .user_name = "u", .host = "h"})

static struct fixture *make_fixture(const char *lines)
{
    _cleanup_free_ char *all = mem_printf("%s%s", LINES, lines);
    return fixture_new(all);
}

/* Returns how many jobs of one element are accepted in a row, up to 'want'. */
static unsigned submit_jobs(struct fixture *f, struct caller who, unsigned want)
{
    for (unsigned i = 0; i < want; i++) {
        int64_t id = fixture_submit(f, &who, NULL);
        if (id == -ERR_JOB_LIMIT)
            return i;
        assert_true(id > 0);
    }
    return want;
}

static int64_t submit_array(struct fixture *f, struct caller who, const char *elements)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.array_inx = (char *)elements;
    return fixture_submit(f, &who, &s);
}

static void cancel_jobs(struct fixture *f, struct caller who, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id <= last; id++) {
        Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
        Pb__StepId target = PB__STEP_ID__INIT, *targets[] = {&target};
        target.job_id = id;
        r.target = targets;
        r.n_target = 1;
        control_job_signal(f->control, ++f->last_call, &who, &r);
        fixture_turn(f);
    }
}

static void user_reserve_of_job_records_is_kept_free(void **state)
{
    struct fixture *f = make_fixture("MaxJobCount=100\nSchedulerParameters=user_reserve=20\n");
    const char *text;

    assert_int_equal(submit_jobs(f, USER(1000), 100), 80);
    text = fixture_text(f, f->last_call);
    assert_non_null(strstr(text, "user 1000 has 80 jobs"));
    assert_non_null(strstr(text, "MaxJobCount=100 20 are free"));
    assert_non_null(strstr(text, "user_reserve=20"));
    /* Within the reserve a user gets as much as is left for all others: there is always some. */
    assert_int_equal(submit_jobs(f, USER(1001), 100), 10);
    assert_int_equal(submit_jobs(f, USER(1002), 100), 5);
    assert_int_equal(submit_jobs(f, USER(1003), 100), 2);
    assert_int_equal(submit_jobs(f, USER(1000), 1), 0);
    fixture_restart(f); /* recounted */
    assert_int_equal(submit_jobs(f, USER(1000), 1), 0);
    assert_int_equal(submit_jobs(f, USER(1004), 100), 1);
    /* Operators may use all of it. */
    assert_int_equal(submit_jobs(f, FIXTURE_ROOT, 100), 2);
    assert_non_null(strstr(fixture_text(f, f->last_call), "of which 0 are free"));
    cancel_jobs(f, USER(1000), 1, 80);
    fixture_pass(f, 301 * 1000);
    assert_int_equal(submit_jobs(f, USER(1000), 100), 60);
    fixture_free(f);
}

static void each_array_element_counts_as_a_job(void **state)
{
    struct fixture *f = make_fixture("MaxJobCount=100\nSchedulerParameters=user_reserve=20\n");

    assert_int_equal(submit_array(f, USER(1000), "1-81"), -ERR_JOB_LIMIT);
    assert_int_equal(submit_array(f, USER(1000), "1-60"), 1);
    assert_int_equal(submit_array(f, USER(1000), "1-21"), -ERR_JOB_LIMIT);
    assert_int_equal(submit_array(f, USER(1000), "1-20"), 2);
    assert_int_equal(submit_jobs(f, USER(1000), 1), 0);
    assert_int_equal(submit_array(f, USER(1001), "1-11"), -ERR_JOB_LIMIT);
    assert_int_equal(submit_array(f, USER(1001), "1-10"), 3);
    fixture_free(f);
}

static void one_user_may_use_all_without_a_reserve(void **state)
{
    struct fixture *f = make_fixture("MaxJobCount=50\nSchedulerParameters=user_reserve=0\n");

    assert_int_equal(submit_jobs(f, USER(1000), 100), 50);
    fixture_free(f);
    f = make_fixture("MaxJobCount=50\n"); /* SlurmUser may run the cluster alone */
    assert_int_equal(submit_jobs(f, FIXTURE_ROOT, 100), 50);
    fixture_free(f);
}

/* Submits a job with a script of this size: returns its id, or a negative code. */
static int64_t submit_script(struct fixture *f, struct caller who, size_t bytes)
{
    _cleanup_free_ char *script = mem_alloc(bytes);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
    Pb__SubmitRequest r = PB__SUBMIT_REQUEST__INIT;
    memset(script, 'x', bytes);
    memcpy(script, "#!/bin/sh\n", 10);
    payload.has_script = true;
    payload.script = (ProtobufCBinaryData){bytes, (uint8_t *)script};
    r.spec = &spec;
    r.payload = &payload;
    control_submit(f->control, ++f->last_call, &who, &r);
    fixture_turn(f);
    return -fixture_code(f, f->last_call);
}

/* The volume has 64 MiB, less what is stored. */
static unsigned fill_store(struct fixture *f, struct caller who, uint64_t *left, size_t bytes)
{
    unsigned count = 0;
    for (;; count++) {
        control_set_store_free(f->control, *left);
        int64_t rc = submit_script(f, who, bytes);
        if (rc == -ERR_STORE_FULL)
            return count;
        assert_int_equal(rc, 0);
        *left -= bytes;
    }
}

static void scripts_of_a_user_leave_space_for_other_users(void **state)
{
    struct fixture *f = make_fixture("SchedulerParameters=user_reserve=25\n");
    uint64_t left = 64 << 20;

    assert_in_range(fill_store(f, USER(1000), &left, 1 << 20), 47, 48);
    assert_non_null(strstr(fixture_text(f, f->last_call), "user 1000"));
    assert_non_null(strstr(fixture_text(f, f->last_call), "the state directory"));
    assert_in_range(fill_store(f, USER(1001), &left, 1 << 20), 7, 8);
    assert_in_range(fill_store(f, USER(1002), &left, 1 << 20), 3, 4);
    fixture_restart(f); /* the sizes are stored */
    control_set_store_free(f->control, left);
    assert_int_equal(submit_script(f, USER(1000), 1000), -ERR_STORE_FULL);
    assert_int_equal(submit_script(f, USER(1003), 1000), 0);
    control_set_store_free(f->control, UINT64_MAX); /* PostgreSQL: unknown here */
    assert_int_equal(submit_script(f, USER(1000), 1000), 0);
    fixture_free(f);
}

/* An array has one script, which stays with the last of its records. */
static void script_of_an_array_is_counted_once(void **state)
{
    struct fixture *f = make_fixture("SchedulerParameters=user_reserve=50\n");

    control_set_store_free(f->control, 1 << 20);
    assert_true(submit_array(f, USER(1000), "1-5") > 0);
    cancel_jobs(f, USER(1000), 1, 1);
    fixture_pass(f, 301 * 1000); /* every turn of the fixture checks the sums */
    fixture_free(f);
}

static void long_comments_leave_memory_for_other_users(void **state)
{
    enum { LONG = 100 << 10 };
    struct fixture *f = make_fixture("MaxJobCount=4096\n"); /* and 64 MiB of records */
    _cleanup_free_ char *comment = mem_alloc(LONG + 1);
    struct caller ann = USER(1000), bob = USER(1001);
    Pb__JobUpdate u = PB__JOB_UPDATE__INIT;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    unsigned count = 0;
    int64_t rc;

    memset(comment, 'c', LONG);
    comment[LONG] = '\0';
    assert_int_equal(fixture_submit(f, &ann, NULL), 1);
    s.comment = comment;
    while ((rc = fixture_submit(f, &ann, &s)) > 0)
        count++;
    assert_int_equal(rc, -ERR_LIMIT);
    assert_in_range(count, 600, 630);
    assert_non_null(strstr(fixture_text(f, f->last_call), "memory for records"));
    u.job_id = 1; /* nor by changing an existing job */
    u.set = &s;
    assert_int_equal(fixture_update_job(f, &ann, &u), ERR_LIMIT);
    assert_true(fixture_submit(f, &bob, &s) > 0);
    fixture_free(f);
}

static void a_large_environment_is_refused(void **state)
{
    struct fixture *f = make_fixture("");
    struct caller ann = USER(1000);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
    Pb__SubmitRequest r = PB__SUBMIT_REQUEST__INIT;
    _cleanup_free_ char *value = mem_alloc(CONTROL_ENV_MAX + 1);
    char *env[] = {value};

    payload.has_script = true;
    payload.script = (ProtobufCBinaryData){10, (uint8_t *)"#!/bin/sh\n"};
    payload.env = env;
    payload.n_env = 1;
    r.spec = &spec;
    r.payload = &payload;
    memset(value, 'v', CONTROL_ENV_MAX);
    for (unsigned more = 0; more < 2; more++) {
        value[CONTROL_ENV_MAX - 1 + more] = '\0';
        control_submit(f->control, ++f->last_call, &ann, &r);
        fixture_turn(f);
        assert_int_equal(fixture_code(f, f->last_call), more ? ERR_TOO_BIG : 0);
        value[CONTROL_ENV_MAX - 1] = 'v';
    }
    assert_non_null(strstr(fixture_text(f, f->last_call), "--export"));
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_reserve_of_job_records_is_kept_free),
        cmocka_unit_test(each_array_element_counts_as_a_job),
        cmocka_unit_test(one_user_may_use_all_without_a_reserve),
        cmocka_unit_test(scripts_of_a_user_leave_space_for_other_users),
        cmocka_unit_test(script_of_an_array_is_counted_once),
        cmocka_unit_test(long_comments_leave_memory_for_other_users),
        cmocka_unit_test(a_large_environment_is_refused),
    };

    return cmocka_run_group_tests_name("user_share", tests, NULL, NULL);
}
