/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --mail-type: the events, the receivers and the texts. */
#include <stdio.h>
#include <string.h>

#include "base/pb.h"
#include "control/fixture.h"

#define NODES                                                                                      \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n1 CPUs=4 RealMemory=4000\n"                    \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=500\nMailProg=/m\n"             \
    "SlurmdTimeout=0\n"

static struct fixture *make_fixture(const char *more)
{
    char lines[1000];
    snprintf(lines, sizeof lines, "%s%s", NODES, more);
    struct fixture *f = fixture_new(lines);
    fixture_register(f, "n1", "i1");
    return f;
}

static int64_t submit_job(struct fixture *f, const char *types, const char *user)
{
    struct caller who = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.name = (char *)"x";
    s.mail_type = (char *)types;
    s.mail_user = (char *)user;
    s.has_requeue = s.requeue = true;
    return fixture_submit(f, &who, &s);
}

/* Returns all mails since the last call, each as "USER: SUBJECT;". */
static const char *take_mails(struct fixture *f, char *to, size_t size)
{
    *to = 0;
    vec_foreach (&f->scripts, s) {
        char subject[200] = "", user[100] = "";
        assert_int_equal(s->kind, PB__SCRIPT_KIND__SCRIPT_MAIL);
        assert_string_equal(s->path, "/m");
        assert_int_equal(sscanf(str_cstr(&s->argv), "-s\n%199[^\n]\n%99[^\n]", subject, user), 2);
        size_t len = strlen(to);
        snprintf(to + len, size - len, "%s: %s;", user, subject);
    }
    fixture_clear(f);
    return to;
}

static void invalid_mail_types_and_addresses_are_refused(void **state)
{
    static const struct {
        const char *types, *user;
        bool ok;
    } v[] = {
        {"BEGIN,NOISE", NULL, false}, {"END", "-f/etc/passwd", false},
        {"END", "a b", false},        {"END", "a\nb", false},
        {"BEGINS", NULL, false},      {"END", "a,b@c", true},
        {"END", "|/bin/sh", false},   {"END", "/etc/x", false},
        {"END", "a,+x", false},       {"END", "a,|sh", false},
        {"END", "./x", false},        {"END", "a/b", false},
        {"END", "a|sh", false},       {"END", "a,", true},
        {"END", "a+b@c", true},       {"none", NULL, true},
        {"end,,Fail", NULL, true},    {"INVALID_DEPEND", NULL, true},
    };
    struct fixture *f = make_fixture("");
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
        assert_int_equal(submit_job(f, v[i].types, v[i].user) > 0, v[i].ok);
    fixture_free(f);
}

/* HET-47: whatever the others request, also by a change, which applies to all components. */
static void a_heterogeneous_job_has_the_mail_of_its_leader(void **state)
{
    char text[1000];
    struct fixture *f = make_fixture("");
    struct caller who = FIXTURE_USER;
    Pb__JobSpec specs[] = {PB__JOB_SPEC__INIT, PB__JOB_SPEC__INIT}, set = PB__JOB_SPEC__INIT;
    Pb__JobUpdate update = PB__JOB_UPDATE__INIT;
    (void)state;
    specs[0].name = specs[1].name = (char *)"x";
    specs[1].mail_type = (char *)"ALL";
    specs[0].has_time_limit_sec = specs[1].has_time_limit_sec = true;
    specs[0].time_limit_sec = specs[1].time_limit_sec = 600;
    specs[0].has_hold = specs[0].hold = specs[1].has_hold = specs[1].hold = true;
    int64_t id = fixture_submit_set(f, &who, specs, 2);
    set.mail_type = (char *)"END,TIME_LIMIT_50";
    update.job_id = (uint32_t)id;
    update.set = &set;
    assert_int_equal(fixture_update_job(f, &who, &update), 0);
    update.set = NULL;
    update.has_hold = true;
    assert_int_equal(fixture_update_job(f, &who, &update), 0);
    assert_string_equal(take_mails(f, text, sizeof text), "");
    fixture_launched(f, "n1", (uint32_t)id, 0);
    fixture_pass(f, 310 * 1000);
    assert_string_equal(take_mails(f, text, sizeof text),
                        "ann: Slurm Job_id=1 Name=x Reached 50% of time limit, Run time 00:05:00;");
    fixture_batch_ended(f, "n1", (uint32_t)id, 0, 0);
    assert_string_equal(
        take_mails(f, text, sizeof text),
        "ann: Slurm Job_id=1 Name=x Ended, Run time 00:05:10, COMPLETED, ExitCode 0;");
    assert_int_equal(fixture_state(f, (uint32_t)id + 1), PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

static void mails_of_a_successful_job(void **state)
{
    char text[1000];
    struct fixture *f = make_fixture("");
    uint32_t id = (uint32_t)submit_job(f, "ALL", NULL);
    assert_string_equal(take_mails(f, text, sizeof text),
                        "ann: Slurm Job_id=1 Name=x Began, Queued time 00:00:00;");
    fixture_launched(f, "n1", id, 0);
    f->mono_ms += 3661000;
    f->wall_ms += 3661000;
    fixture_batch_ended(f, "n1", id, 0, 0);
    assert_non_null(strstr(str_cstr(&f->scripts.data[0].env), "SLURM_JOB_STATE=COMPLETED\n"));
    assert_non_null(strstr(str_cstr(&f->scripts.data[0].env), "SLURM_JOB_MAIL_TYPE=END\n"));
    assert_string_equal(
        take_mails(f, text, sizeof text),
        "ann: Slurm Job_id=1 Name=x Ended, Run time 01:01:01, COMPLETED, ExitCode 0;");
    fixture_free(f);
}

static void job_name_cannot_add_a_mail_header(void **state)
{
    char text[1000];
    struct fixture *f = make_fixture("");
    struct caller who = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.name = (char *)"x\nBcc: all\x1b";
    s.mail_type = (char *)"BEGIN";
    fixture_submit(f, &who, &s);
    assert_string_equal(take_mails(f, text, sizeof text),
                        "ann: Slurm Job_id=1 Name=x?Bcc: all? Began, Queued time 00:00:00;");
    fixture_free(f);
}

static void mails_of_failed_jobs(void **state)
{
    static const struct {
        const char *types, *said;
    } v[] = {
        {"ALL", "b@c: Slurm Job_id=1 Name=x Failed, Run time 00:00:00, FAILED, ExitCode 3;"},
        {"FAIL", "b@c: Slurm Job_id=1 Name=x Failed, Run time 00:00:00, FAILED, ExitCode 3;"},
        {"END", "b@c: Slurm Job_id=1 Name=x Ended, Run time 00:00:00, FAILED, ExitCode 3;"},
        {"BEGIN,REQUEUE", ""},
        {"NONE", ""},
        {"FAIL,none,ALL", ""},
    };
    char text[1000];
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct fixture *f = make_fixture("");
        uint32_t id = (uint32_t)submit_job(f, v[i].types, "b@c");
        fixture_launched(f, "n1", id, 0);
        fixture_clear(f);
        fixture_batch_ended(f, "n1", id, 0, 3 << 8);
        assert_string_equal(take_mails(f, text, sizeof text), v[i].said);
        fixture_free(f);
    }
}

static void mail_of_a_requeue_uses_the_domain(void **state)
{
    char text[1000];
    struct fixture *f = make_fixture("MailDomain=example.org\n");
    struct caller user = FIXTURE_USER;
    uint32_t id = (uint32_t)submit_job(f, "REQUEUE,END", NULL);
    fixture_launched(f, "n1", id, 0);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = id;
    r.has_requeue = r.requeue = true;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_string_equal(take_mails(f, text, sizeof text),
                        "ann@example.org: Slurm Job_id=1 Name=x Requeued, Run time 00:00:00;");
    fixture_free(f);
}

static void the_domain_is_added_to_names_without_one(void **state)
{
    static const struct {
        const char *user, *receiver;
    } v[] = {{"bob", "bob@example.org"},
             {"b@c", "b@c"},
             {"bob,b@c,,eve", "bob@example.org,b@c,,eve@example.org"}};
    char text[1000];
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct fixture *f = make_fixture("MailDomain=example.org\n");
        _cleanup_free_ char *said =
            mem_printf("%s: Slurm Job_id=1 Name=x Ended, Run time 00:00:00, COMPLETED, ExitCode 0;",
                       v[i].receiver);
        uint32_t id = (uint32_t)submit_job(f, "END", v[i].user);
        fixture_launched(f, "n1", id, 0);
        fixture_clear(f);
        fixture_batch_ended(f, "n1", id, 0, 0);
        assert_string_equal(take_mails(f, text, sizeof text), said);
        fixture_free(f);
    }
}

static void mails_at_shares_of_the_time_limit(void **state)
{
    char text[1000];
    struct fixture *f = make_fixture("");
    uint32_t id =
        (uint32_t)submit_job(f, "TIME_LIMIT,TIME_LIMIT_50,TIME_LIMIT_80,TIME_LIMIT_90", NULL);
    fixture_launched(f, "n1", id, 0);
    assert_string_equal(take_mails(f, text, sizeof text), "");
    fixture_pass(f, 1800000);
    assert_string_equal(take_mails(f, text, sizeof text),
                        "ann: Slurm Job_id=1 Name=x Reached 50% of time limit, Run time 00:30:00;");
    fixture_restart(f); /* mails are not repeated */
    fixture_pass(f, 1000000);
    assert_string_equal(take_mails(f, text, sizeof text), "");
    fixture_pass(f, 900000);
    assert_string_equal(take_mails(f, text, sizeof text),
                        "ann: Slurm Job_id=1 Name=x Reached 80% of time limit, Run time 00:48:00;"
                        "ann: Slurm Job_id=1 Name=x Reached 90% of time limit, Run time 00:54:00;"
                        "ann: Slurm Job_id=1 Name=x Reached time limit, Run time 01:00:00;");
    fixture_free(f);
}

/* A running job gets the types that an update names, at their time; a share that has passed is
 * skipped. */
static void mail_types_of_a_running_job_are_changed(void **state)
{
    static const struct {
        int64_t before_ms, after_ms;
        const char *types, *mails;
    } rows[] = {
        {60000, 1740000, "TIME_LIMIT_50",
         "ann: Slurm Job_id=1 Name=x Reached 50% of time limit, Run time 00:30:00;"},
        {60000, 1740000, "END", ""},
        {1860000, 60000, "TIME_LIMIT_50", ""},
        {1860000, 1020000, "TIME_LIMIT_50,TIME_LIMIT_80",
         "ann: Slurm Job_id=1 Name=x Reached 80% of time limit, Run time 00:48:00;"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1000];
        struct caller who = FIXTURE_USER;
        struct fixture *f = make_fixture("");
        uint32_t id = (uint32_t)submit_job(f, "TIME_LIMIT_90", NULL);
        Pb__JobUpdate update = PB__JOB_UPDATE__INIT;
        Pb__JobSpec set = PB__JOB_SPEC__INIT;
        fixture_launched(f, "n1", id, 0);
        fixture_pass(f, rows[i].before_ms);
        set.mail_type = (char *)rows[i].types;
        update.job_id = id;
        update.set = &set;
        assert_int_equal(fixture_update_job(f, &who, &update), 0);
        fixture_pass(f, rows[i].after_ms);
        assert_string_equal(take_mails(f, text, sizeof text), rows[i].mails);
        fixture_free(f);
    }
}

/* Once, when it is certain that the dependency can never be satisfied: at the submission, or at the
 * end of the named job; not again after a restart. */
static void impossible_dependency_is_mailed_once(void **state)
{
    static const struct {
        const char *types, *mails;
    } rows[] = {
        {"INVALID_DEPEND", "ann: Slurm Job_id=2 Name=x Invalid dependency, Run time 00:00:00;"},
        {"ALL", "ann: Slurm Job_id=2 Name=x Invalid dependency, Run time 00:00:00;"},
        {"BEGIN,END,FAIL", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1000];
        struct fixture *f = make_fixture("");
        struct caller who = FIXTURE_USER;
        Pb__JobSpec s = PB__JOB_SPEC__INIT;
        uint32_t first = (uint32_t)submit_job(f, NULL, NULL);
        s.name = (char *)"x";
        s.mail_type = (char *)rows[i].types;
        s.dependency = (char *)"afternotok:1";
        s.has_batch = s.batch = 1;
        assert_int_equal(fixture_submit(f, &who, &s), 2);
        fixture_launched(f, "n1", first, 0);
        assert_string_equal(take_mails(f, text, sizeof text), "");
        fixture_batch_ended(f, "n1", first, 0, 0);
        fixture_gone(f, "n1", first, 0);
        fixture_pass(f, 1000);
        assert_string_equal(take_mails(f, text, sizeof text), rows[i].mails);
        fixture_restart(f);
        fixture_pass(f, 1000);
        assert_string_equal(take_mails(f, text, sizeof text), "");
        fixture_free(f);
    }
}

/* --dependency=afternotok of a job that has succeeded, known at the submission. A held job waits
 * for its release first, before and after a restart. */
static void dependency_failed_before_the_submission_is_mailed_once(void **state)
{
    for (int held = 0; held <= 1; held++) {
        char text[1000];
        struct fixture *f = make_fixture("");
        uint32_t first = (uint32_t)submit_job(f, NULL, NULL);
        fixture_launched(f, "n1", first, 0);
        fixture_batch_ended(f, "n1", first, 0, 0);
        fixture_gone(f, "n1", first, 0);
        fixture_clear(f);
        Pb__JobSpec s = PB__JOB_SPEC__INIT;
        s.name = (char *)"x";
        s.mail_type = (char *)"INVALID_DEPEND";
        s.dependency = (char *)"afternotok:1";
        s.has_batch = s.batch = 1;
        Pb__SubmitRequest trial = PB__SUBMIT_REQUEST__INIT;
        trial.spec = &s;
        SET(&trial, test_only, true);
        control_submit(f->control, ++f->last_call, &FIXTURE_USER, &trial);
        fixture_turn(f);
        assert_int_equal(fixture_code(f, f->last_call), 0);
        assert_string_equal(take_mails(f, text, sizeof text), "");
        SET(&s, hold, held);
        assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), 2);
        assert_string_equal(take_mails(f, text, sizeof text),
                            "ann: Slurm Job_id=2 Name=x Invalid dependency, Run time 00:00:00;");
        fixture_restart(f);
        fixture_pass(f, 1000);
        assert_string_equal(take_mails(f, text, sizeof text), "");
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_mail_types_and_addresses_are_refused),
        cmocka_unit_test(a_heterogeneous_job_has_the_mail_of_its_leader),
        cmocka_unit_test(impossible_dependency_is_mailed_once),
        cmocka_unit_test(dependency_failed_before_the_submission_is_mailed_once),
        cmocka_unit_test(mails_of_a_successful_job),
        cmocka_unit_test(job_name_cannot_add_a_mail_header),
        cmocka_unit_test(mails_of_failed_jobs),
        cmocka_unit_test(mail_of_a_requeue_uses_the_domain),
        cmocka_unit_test(the_domain_is_added_to_names_without_one),
        cmocka_unit_test(mails_at_shares_of_the_time_limit),
        cmocka_unit_test(mail_types_of_a_running_job_are_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
