/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Licences: which jobs get them, which wait, and which are not delayed. */
#include <string.h>

#include "control/fixture.h"
#include "control/life/depend.h"
#include "proto/license.pb-c.h"

#define NODES                                                                                      \
    "NodeName=n[1-4] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SlurmdTimeout=0\n"
#define CONF NODES "Licenses=lic:4,one\n"

static struct fixture *make_fixture(void)
{
    return fixture_new_up(CONF, 4);
}

static Pb__JobSpec make_spec(const char *licenses, int64_t limit_sec)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.licenses = (char *)licenses;
    s.has_time_limit_sec = true;
    s.time_limit_sec = limit_sec;
    return s;
}

static int64_t submit_job(struct fixture *f, const char *licenses, int64_t limit_sec)
{
    Pb__JobSpec s = make_spec(licenses, limit_sec);
    return fixture_submit(f, &FIXTURE_USER, &s);
}

static const Pb__JobLive *get_live(struct fixture *f, struct arena *arena, int64_t id)
{
    return fixture_job(f, arena, (uint32_t)id)->live;
}

static void assert_waits(struct fixture *f, int64_t id, const char *reason)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__PENDING);
    assert_string_equal(get_live(f, &arena, id)->reason, reason);
}

static void assert_runs(struct fixture *f, int64_t id)
{
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
}

/* Without the word of its nodes: they are not clean yet. */
static void end_script(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    fixture_launched(f, get_live(f, &arena, id)->nodes, (uint32_t)id, 0);
    fixture_batch_ended(f, get_live(f, &arena, id)->nodes, (uint32_t)id, 0, 0);
}

static void assert_used(struct fixture *f, uint64_t lic, uint64_t one)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint64_t call = ++f->last_call;
    control_list_licenses(f->control, call, &FIXTURE_ROOT, NULL);
    fixture_turn(f);
    vec_foreach (&f->replies, r) {
        if (r->call != call)
            continue;
        const Pb__LicenseList *l =
            arena_unpack(&arena, &pb__license_list__descriptor, r->data.data, r->data.len);
        assert_int_equal(l->n_licenses, 2);
        assert_string_equal(l->licenses[0]->name, "lic");
        assert_int_equal(l->licenses[0]->total, 4);
        assert_int_equal(l->licenses[0]->used, lic);
        assert_int_equal(l->licenses[1]->used, one);
        return;
    }
    fail_msg("no reply");
}

static void unavailable_licences_are_refused(void **state)
{
    static const char *const bad[] = {"lic:5", "other",     "lic:0",       "lic:3,lic:2",
                                      "one:2", "lic|other", "lic:5|one:2", "lic,one|lic"};
    struct fixture *f = make_fixture();
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(submit_job(f, bad[i], 60), -ERR_LICENSE);
    assert_used(f, 0, 0);
    fixture_free(f);
}

static void job_waiting_for_licences_delays_no_other_job(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t a = submit_job(f, "lic:3,one", 60), b = submit_job(f, "lic:2", 60);
    assert_runs(f, a);
    assert_waits(f, b, "Licenses");
    assert_runs(f, submit_job(f, NULL, 60));
    assert_used(f, 3, 1);
    end_script(f, a); /* its node is not clean yet */
    assert_runs(f, b);
    assert_used(f, 2, 0);
    fixture_restart(f);
    assert_used(f, 2, 0);
    fixture_free(f);
}

static void job_needing_many_licences_is_not_overtaken(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    int64_t a = submit_job(f, "lic:2", 600), all = submit_job(f, "lic:4", 60);
    assert_waits(f, all, "Licenses");
    assert_int_equal(get_live(f, &arena, all)->start_at, f->wall_ms / 1000 + 600);
    int64_t longer = submit_job(f, "lic:1", 700), shorter = submit_job(f, "lic:1", 500);
    assert_waits(f, longer, "Licenses"); /* it would keep one beyond then */
    assert_runs(f, shorter);
    assert_used(f, 3, 0);
    end_script(f, shorter);
    end_script(f, a);
    assert_runs(f, all);
    assert_waits(f, longer, "Licenses");
    fixture_free(f);
}

/* Its licences are reserved while it waits for nodes: no other job takes them. */
static void job_waiting_for_nodes_reserves_its_licences(void **state)
{
    struct fixture *f = make_fixture();
    Pb__JobSpec fill = make_spec(NULL, 600), big = make_spec("lic:4", 60),
                late = make_spec("lic:1", 6000), soon = make_spec("lic:1", 300);
    (void)state;
    fill.has_min_nodes = fill.has_exclusive = fill.exclusive = true;
    fill.min_nodes = 3;
    big.has_min_nodes = big.has_exclusive = big.exclusive = true;
    big.min_nodes = 4;
    int64_t a = fixture_submit(f, &FIXTURE_USER, &fill), b = fixture_submit(f, &FIXTURE_USER, &big);
    assert_runs(f, a);
    assert_waits(f, b, "Resources");
    assert_waits(f, fixture_submit(f, &FIXTURE_USER, &late), "Licenses");
    assert_runs(f, fixture_submit(f, &FIXTURE_USER, &soon));
    fixture_free(f);
}

static void reconfiguration_changes_licence_counts(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t a = submit_job(f, "lic:3", 60), b = submit_job(f, "lic:2", 60);
    assert_waits(f, b, "Licenses");
    fixture_reconfigure(f, NODES "Licenses=lic:5\n");
    assert_runs(f, b);
    int64_t c = submit_job(f, "lic:1", 60);
    fixture_reconfigure(f, NODES "Licenses=lic:2\n"); /* more are in use than there are */
    assert_runs(f, a);
    assert_waits(f, c, "Licenses");
    fixture_reconfigure(f, NODES); /* all licences are removed */
    assert_waits(f, c, "Licenses");
    assert_runs(f, b);
    fixture_restart(f);
    fixture_free(f);
}

static void licences_of_a_pending_job_are_changed(void **state)
{
    struct fixture *f = make_fixture();
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    (void)state;
    int64_t a = submit_job(f, "lic:4", 60), b = submit_job(f, "lic:4", 60);
    r.job_id = (uint32_t)b;
    r.set = &set;
    set.licenses = (char *)"other";
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), ERR_LICENSE);
    set.licenses = (char *)"one";
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    assert_runs(f, b);
    assert_used(f, 4, 1);
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), ERR_NOT_PENDING);
    assert_runs(f, a);
    fixture_free(f);
}

static void assert_has(struct fixture *f, int64_t id, const char *licenses)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_runs(f, id);
    assert_string_equal(get_live(f, &arena, id)->licenses_alloc, licenses);
}

/* In the order in which they are named. What a job has is known after a restart and with another
 * configuration, and it has nothing else. */
static void one_licence_alternative_is_enough(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t a = submit_job(f, "one|lic:3", 600), b = submit_job(f, "one|lic:3", 600),
            c = submit_job(f, "one|lic:3", 600);
    assert_has(f, a, "one:1");
    assert_has(f, b, "lic:3");
    assert_waits(f, c, "Licenses");
    assert_used(f, 3, 1);
    end_script(f, a);
    assert_has(f, c, "one:1");
    int64_t d = submit_job(f, "lic:9|lic:1", 60); /* the first is more than there ever are */
    assert_has(f, d, "lic:1");
    fixture_reconfigure(f, CONF "KillWait=40\n");
    assert_has(f, b, "lic:3");
    assert_used(f, 4, 1);
    fixture_restart(f);
    assert_used(f, 4, 1);
    assert_has(f, c, "one:1");
    end_script(f, b);
    assert_used(f, 1, 1);
    fixture_free(f);
}

/* The start that is told is that of the alternative which is free first, and others keep off it. */
static void pending_job_reserves_the_earliest_alternative(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    int64_t a = submit_job(f, "lic:4", 600), b = submit_job(f, "one", 300),
            c = submit_job(f, "lic:4|one", 60);
    assert_runs(f, a);
    assert_runs(f, b);
    assert_waits(f, c, "Licenses");
    assert_int_equal(get_live(f, &arena, c)->start_at, f->wall_ms / 1000 + 300);
    assert_waits(f, submit_job(f, "one", 60), "Licenses"); /* behind it */
    end_script(f, a);
    assert_has(f, c, "lic:4"); /* earlier than predicted */
    fixture_free(f);
}

static void requeued_job_chooses_its_alternative_again(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t a = submit_job(f, "one", 60), b = submit_job(f, "one|lic", 60);
    assert_has(f, b, "lic:1");
    end_script(f, a);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)b;
    r.has_requeue = r.requeue = true;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    fixture_gone(f, "n1", (uint32_t)b, 0);
    assert_has(f, b, "one:1");
    assert_used(f, 0, 1);
    fixture_free(f);
}

/* Each element of an array by itself. */
static void each_array_element_chooses_its_alternative(void **state)
{
    struct fixture *f = make_fixture();
    Pb__JobSpec s = make_spec("one|lic:2", 60);
    (void)state;
    s.array_inx = (char *)"0-4";
    assert_true(fixture_submit(f, &FIXTURE_USER, &s) > 0);
    assert_used(f, 4, 1);
    fixture_free(f);
}

static int update_licenses(struct fixture *f, const struct caller *who, int64_t id,
                           const char *licenses)
{
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    set.licenses = (char *)licenses;
    r.job_id = (uint32_t)id;
    r.set = &set;
    return fixture_update_job(f, who, &r);
}

/* scontrol(1): a privileged user can modify the licenses of pending or running jobs. */
static void an_operator_changes_the_licenses_of_a_running_job(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t a = submit_job(f, "lic:2", 600), b = submit_job(f, "lic:1", 600),
            bare = submit_job(f, NULL, 600);
    assert_int_equal(update_licenses(f, &FIXTURE_USER, a, "lic:1"), ERR_NOT_PENDING);
    assert_int_equal(update_licenses(f, &FIXTURE_ROOT, a, "lic:4"), ERR_LICENSE); /* b has one */
    assert_int_equal(update_licenses(f, &FIXTURE_ROOT, a, "lic:3,other"), ERR_LICENSE);
    assert_used(f, 3, 0);
    assert_int_equal(update_licenses(f, &FIXTURE_ROOT, a, "lic:3,one"), 0);
    assert_used(f, 4, 1);
    assert_int_equal(update_licenses(f, &FIXTURE_ROOT, bare, "lic"), ERR_LICENSE);
    assert_int_equal(update_licenses(f, &FIXTURE_ROOT, b, ""), 0);
    assert_used(f, 3, 1);
    assert_int_equal(update_licenses(f, &FIXTURE_ROOT, bare, "one|lic"),
                     0); /* the first that is free */
    assert_has(f, bare, "lic:1");
    fixture_restart(f);
    assert_has(f, bare, "lic:1");
    assert_used(f, 4, 1);
    end_script(f, a);
    assert_used(f, 1, 0);
    fixture_free(f);
}

/* What running jobs give up is there for those that wait. */
static void released_licences_start_pending_jobs(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t a = submit_job(f, "lic:4", 600), b = submit_job(f, "lic:2", 60);
    assert_waits(f, b, "Licenses");
    assert_int_equal(update_licenses(f, &FIXTURE_ROOT, a, "lic:2"), 0);
    fixture_turn(f);
    assert_runs(f, b);
    assert_used(f, 4, 0);
    fixture_free(f);
}

/* With fewer than are in use after a reconfiguration, a job may still have less. */
static void licences_can_always_be_reduced(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    int64_t a = submit_job(f, "lic:4", 600);
    fixture_reconfigure(f, NODES "Licenses=lic:1,one\n");
    assert_int_equal(update_licenses(f, &FIXTURE_ROOT, a, "lic:3"), 0);
    assert_int_equal(update_licenses(f, &FIXTURE_ROOT, a, "lic:4"), ERR_LICENSE);
    fixture_free(f);
}

#define TIERS(parameters)                                                                          \
    "NodeName=n[1-4] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "PartitionName=top Nodes=n[3-4] PriorityTier=2\n"                                              \
    "PartitionName=kept Nodes=ALL PreemptMode=SUSPEND\n"                                           \
    "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL,GANG\n" parameters                     \
    "SlurmdTimeout=0\nLicenses=lic:4,one\n"

static int64_t submit_in(struct fixture *f, const char *part, const char *licenses,
                         const char *node)
{
    Pb__JobSpec s = make_spec(licenses, 600);
    s.partition = (char *)part;
    s.req_nodes = (char *)node;
    return fixture_submit(f, &FIXTURE_USER, &s);
}

/* slurm.conf(5), PreemptParameters=reclaim_licenses. */
static void licenses_are_reclaimed_where_that_is_configured(void **state)
{
    struct fixture *f = fixture_new_up(TIERS("PreemptParameters=reclaim_licenses\n"), 4);
    (void)state;
    int64_t a = submit_in(f, "a", "lic:3", "n1"), b = submit_in(f, "a", "lic:1", "n2");
    int64_t bare = submit_in(f, "a", NULL, "n3");
    int64_t top = submit_in(f, "top", "lic:3", NULL); /* it cannot have n1 */
    assert_int_equal(fixture_state(f, (uint32_t)a), PB__JOB_STATE__PREEMPTED);
    fixture_gone(f, "n1", (uint32_t)a, 0);
    assert_runs(f, b);
    assert_runs(f, bare);
    assert_runs(f, top);
    assert_used(f, 4, 0);
    fixture_free(f);
}

static void licenses_are_not_reclaimed_otherwise(void **state)
{
    struct fixture *f = fixture_new_up(TIERS(""), 4);
    (void)state;
    int64_t a = submit_in(f, "a", "lic:3", "n1"), top = submit_in(f, "top", "lic:3", NULL);
    assert_runs(f, a);
    assert_waits(f, top, "Licenses");
    fixture_free(f);
}

/* A job with alternatives is not eligible, and a suspended one would keep its licences. */
static void some_licenses_cannot_be_reclaimed(void **state)
{
    struct fixture *f = fixture_new_up(TIERS("PreemptParameters=reclaim_licenses\n"), 4);
    (void)state;
    int64_t a = submit_in(f, "a", "lic:4", "n1"), one = submit_in(f, "kept", "one", "n2");
    int64_t either = submit_in(f, "top", "lic|one", NULL), top = submit_in(f, "top", "one", NULL);
    assert_runs(f, a);
    assert_runs(f, one);
    assert_waits(f, either, "Licenses");
    assert_waits(f, top, "Licenses");
    fixture_free(f);
}

static void licences_are_listed_by_name(void **state)
{
    struct fixture *f = fixture_new_up(
        "Licenses=zeta:1,Beta:2,alpha:3\nNodeName=n1\nPartitionName=p Nodes=ALL\n", 1);
    _cleanup_arena_ struct arena arena;
    static const char *const names[] = {"Beta", "alpha", "zeta"};
    bool has_reply = false;
    (void)state;
    arena_init(&arena, 0);
    uint64_t call = ++f->last_call;
    control_list_licenses(f->control, call, &FIXTURE_ROOT, NULL);
    fixture_turn(f);
    vec_foreach (&f->replies, r) {
        if (r->call != call)
            continue;
        const Pb__LicenseList *l =
            arena_unpack(&arena, &pb__license_list__descriptor, r->data.data, r->data.len);
        assert_int_equal(l->n_licenses, 3);
        for (size_t i = 0; i < 3; i++)
            assert_string_equal(l->licenses[i]->name, names[i]);
        has_reply = true;
    }
    assert_true(has_reply);
    fixture_free(f);
}

/* As in Slurm. A job that has run shows None. */
static void cancelled_job_keeps_its_pending_reason(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    (void)state;
    arena_init(&arena, 0);
    int64_t runs = submit_job(f, "lic:4", 600), waits = submit_job(f, "lic:1", 600);
    assert_waits(f, waits, "Licenses");
    assert_int_equal(fixture_cancel(f, &user, waits, NULL, 0), 0);
    assert_int_equal(get_live(f, &arena, waits)->state, PB__JOB_STATE__CANCELLED);
    assert_string_equal(get_live(f, &arena, waits)->reason, "Licenses");
    assert_int_equal(fixture_cancel(f, &user, runs, NULL, 0), 0);
    assert_null(get_live(f, &arena, runs)->reason);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(licences_are_listed_by_name),
        cmocka_unit_test(cancelled_job_keeps_its_pending_reason),
        cmocka_unit_test(unavailable_licences_are_refused),
        cmocka_unit_test(job_waiting_for_licences_delays_no_other_job),
        cmocka_unit_test(job_needing_many_licences_is_not_overtaken),
        cmocka_unit_test(job_waiting_for_nodes_reserves_its_licences),
        cmocka_unit_test(reconfiguration_changes_licence_counts),
        cmocka_unit_test(licences_of_a_pending_job_are_changed),
        cmocka_unit_test(one_licence_alternative_is_enough),
        cmocka_unit_test(pending_job_reserves_the_earliest_alternative),
        cmocka_unit_test(requeued_job_chooses_its_alternative_again),
        cmocka_unit_test(each_array_element_chooses_its_alternative),
        cmocka_unit_test(an_operator_changes_the_licenses_of_a_running_job),
        cmocka_unit_test(released_licences_start_pending_jobs),
        cmocka_unit_test(licences_can_always_be_reduced),
        cmocka_unit_test(licenses_are_reclaimed_where_that_is_configured),
        cmocka_unit_test(licenses_are_not_reclaimed_otherwise),
        cmocka_unit_test(some_licenses_cannot_be_reclaimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
