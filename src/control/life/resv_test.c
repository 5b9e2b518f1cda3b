/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reservations in the machine: rejections, access, the effects of time, and restarts. A request is
 * given as words: "create name=x start=+100 length=600 nodes=n1 users=ann". */
#include "control/life/resv_test_util.h"

/* --- refusals --- */

static void invalid_reservations_are_refused(void **state)
{
    static const struct {
        const char *words;
        int code;
    } cases[] = {
        {"create start=+10 length=600 nodes=n1", ERR_RESV_INVALID},  /* no users and no accounts */
        {"create length=600 nodes=n1 users=ann", ERR_RESV_INVALID},  /* when? */
        {"create start=+10 nodes=n1 users=ann", ERR_RESV_INVALID},   /* how long? */
        {"create start=+10 length=600 users=ann", ERR_RESV_INVALID}, /* what? */
        {"create start=+10 length=0 nodes=n1 users=ann", ERR_RESV_INVALID},
        {"create start=+10 end=+5 nodes=n1 users=ann", ERR_RESV_INVALID},
        {"create start=+10 end=9223372036854775806 nodes=n1 users=ann", ERR_RESV_INVALID},
        {"create start=-7200 length=9000 nodes=n1 users=ann", ERR_RESV_INVALID}, /* long ago */
        {"create start=-7200 length=60 nodes=n1 users=ann", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n9 users=ann", ERR_NO_NODE},
        {"create start=+10 length=600 nodes=n[1 users=ann", ERR_PARSE},
        {"create start=+10 length=600 count=5 users=ann", ERR_NODES_BUSY},
        {"create start=+10 length=600 count=1 users=ann part=z", ERR_NO_PARTITION},
        {"create start=+10 length=600 count=1 users=ann features=z", ERR_FEATURE},
        {"create start=+10 length=600 count=1 users=ann features=y", ERR_NODES_BUSY},
        {"create start=+10 length=600 nodes=n1 cores=1,2 users=ann", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 cores=x users=ann", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=WHAT", ERR_PARSE},
        {"create start=+10 length=600 nodes=n1 users=ann flags=DAILY,WEEKLY", ERR_RESV_INVALID},
        {"create start=+10 length=100000 nodes=n1 users=ann flags=DAILY", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=DAILY,TIME_FLOAT", ERR_RESV_INVALID},
        {"create start=-1 length=600 nodes=n1 users=ann flags=TIME_FLOAT", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=FIRST_CORES", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=REPLACE", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=PART_NODES", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=SPEC_NODES", ERR_RESV_INVALID},
        {"create start=+10 length=600 users=ann flags=ANY_NODES", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann licenses=x:1", ERR_LICENSE},
        {"create start=+10 length=600 nodes=n1 users=ann licenses=lic:5", ERR_LICENSE},
        {"create start=+10 length=600 nodes=n1 users=ann licenses=lic|one", ERR_LICENSE},
        {"create start=+10 length=600 users=ann licenses=lic:1", ERR_RESV_INVALID}, /* no nodes? */
        {"create start=+10 length=600 users=ann flags=LICENSE_ONLY", ERR_RESV_INVALID},
        {"create start=+10 length=600 users=ann flags=ANY_NODES count=1 licenses=lic",
         ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann groups=g", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann,-bob", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=-", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=+", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 groups=-g", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann name=a/b", ERR_RESV_INVALID},
        {"create start=+10 length=600 add=duration nodes=n1 users=ann", ERR_RESV_INVALID},
        {"name=ghost length=600", ERR_RESV_INVALID},
        {"remove name=ghost", ERR_RESV_INVALID},
        {"skip name=ghost", ERR_RESV_INVALID},
    };
    struct fixture *f = resv_test_new();
    struct caller root = FIXTURE_ROOT;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("%s\n", cases[i].words);
        assert_int_equal(resv_test_request(f, cases[i].words), cases[i].code);
    }
    Pb__ResvFilter all = PB__RESV_FILTER__INIT;
    _cleanup_str_ struct str out = STR_INIT;
    uint64_t cursor = 0;
    control_list_resvs(f->control, &root, &all, &cursor, 1 << 20, &out);
    assert_int_equal(cursor, 0); /* none was created */
    fixture_free(f);
}

static void changes_that_are_refused_change_nothing(void **state)
{
    static const struct {
        const char *words;
        int code;
    } cases[] = {
        {"create name=r start=+9 length=60 nodes=n4 users=ann", ERR_RESV_EXISTS},
        {"name=r users= ", ERR_RESV_INVALID},
        {"name=r users=carol nodes=n3", ERR_RESV_OVERLAP},
        {"name=r users=carol nodes=n9", ERR_NO_NODE},
        {"name=r users=carol start=+20", ERR_RESV_INVALID}, /* it is active */
        {"name=r users=carol end=-1", ERR_RESV_INVALID},
        {"name=r users=carol flags=TIME_FLOAT add=flags", ERR_CANNOT_UPDATE},
        {"name=r users=carol flags=OVERLAP take=flags", ERR_CANNOT_UPDATE},
        {"name=s users=carol start=+5 nodes=n1", ERR_RESV_OVERLAP},
        {"name=r users=-carol add=users", ERR_RESV_INVALID},
        {"skip name=r", ERR_RESV_INVALID},
    };
    struct fixture *f = resv_test_new();
    resv_test_apply(f, "create name=r start=+0 length=600 nodes=n1 users=ann flags=OVERLAP");
    resv_test_apply(f, "name=r flags=OVERLAP"); /* unchanged */
    assert_int_equal(resv_test_request(f, "remove name=r"), 0);
    resv_test_apply(f, "create name=r start=+0 length=600 nodes=n1 users=ann");
    resv_test_apply(f, "create name=s start=+100 length=600 nodes=n3 users=ann");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("%s\n", cases[i].words);
        assert_int_equal(resv_test_request(f, cases[i].words), cases[i].code);
        resv_test_check(f, "r", "n1", "SPEC_NODES", "ann");
        resv_test_check(f, "s", "n3", "SPEC_NODES", "ann");
    }
    fixture_free(f);
}

static void reservations_get_names_and_are_listed(void **state)
{
    struct fixture *f = resv_test_new();
    resv_test_apply(f, "create start=+10 length=60 nodes=n1 users=ann,bob");
    resv_test_apply(f, "create start=+10 length=60 nodes=n2 users=ann take=users");
    resv_test_apply(f, "create start=+10 length=60 count=1 accounts=phys flags=MAGNETIC");
    resv_test_check(f, "ann_1", "n1", "SPEC_NODES", "ann,bob");
    resv_test_check(f, "ann_2", "n2", "SPEC_NODES", "-ann");
    resv_test_check(f, "phys_3", "n3", "MAGNETIC", NULL);
    resv_test_apply(f, "name=ann_1 users=carol,bob add=users");
    resv_test_check(f, "ann_1", NULL, NULL, "ann,bob,carol");
    resv_test_apply(f, "name=ann_1 users=ann take=users flags=FLEX,MAINT add=flags");
    resv_test_check(f, "ann_1", NULL, "MAINT,FLEX,SPEC_NODES", "bob,carol");
    resv_test_apply(f, "name=ann_1 flags=MAINT take=flags length=120 users=bob,carol");
    resv_test_check(f, "ann_1", NULL, "FLEX,SPEC_NODES", NULL);
    resv_test_apply(f, "name=phys_3 count=2");
    resv_test_check(f, "phys_3", "n[3-4]", NULL, NULL);
    resv_test_apply(f, "name=phys_3 count=1");
    resv_test_check(f, "phys_3", "n3", NULL, NULL);
    resv_test_apply(f, "name=phys_3 nodes=n[3-4]");
    resv_test_check(f, "phys_3", "n[3-4]", "SPEC_NODES,MAGNETIC", NULL);
    resv_test_apply(
        f, "create name=all start=+900 length=60 nodes=ALL users=root flags=maint,ignore_jobs");
    resv_test_check(f, "all", "n[1-5]", "MAINT,IGNORE_JOBS,SPEC_NODES,ALL_NODES", NULL);
    resv_test_apply(f, "remove name=all");
    assert_false(resv_test_exists(f, "all"));
    fixture_free(f);
}

/* --- access --- */

static void access_lists_decide_the_users(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    resv_test_apply(f, "create name=ann start=+0 length=60000 nodes=n1 users=ann");
    resv_test_apply(f, "create name=notann start=+0 length=60000 nodes=n2 users=-ann");
    resv_test_apply(f, "create name=num start=+0 length=60000 nodes=n3 users=1001");
    resv_test_apply(f, "create name=acc start=+0 length=60000 nodes=n4 accounts=phys");
    resv_test_apply(f, "create name=float start=+60 length=60 nodes=n5 users=ann flags=TIME_FLOAT");
    static const struct {
        const char *resv;
        bool ann, bob;
    } cases[] = {{"ann", true, false},
                 {"notann", false, true},
                 {"num", false, true},
                 {"acc", false, false},
                 {"ann,num", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t a = resv_test_submit(f, &ann, cases[i].resv, 1, NULL);
        int64_t b = resv_test_submit(f, &bob, cases[i].resv, 1, NULL);
        print_message("%s: %lld %lld\n", cases[i].resv, (long long)a, (long long)b);
        assert_int_equal(a > 0, cases[i].ann);
        assert_int_equal(b > 0, cases[i].bob);
        assert_true(a > 0 || a == -ERR_RESV_ACCESS);
    }
    assert_int_equal(resv_test_submit(f, &ann, "missing", 1, NULL), -ERR_RESV_INVALID);
    assert_int_equal(resv_test_submit(f, &ann, "ann", 0, NULL) > 0,
                     1); /* the default of its partition */
    resv_test_apply(f, "create name=short start=+0 length=120 nodes=n5 users=ann flags=OVERLAP");
    Pb__JobSpec longer = PB__JOB_SPEC__INIT;
    longer.partition = (char *)"b";
    longer.reservation = (char *)"short";
    /* It is ended with the reservation, see ResvOverRun. */
    int64_t exceeds = fixture_submit(f, &ann, &longer);
    resv_test_check_runs(f, exceeds, "n5", "short");
    resv_test_end_job(f, exceeds, "n5");
    assert_int_equal(resv_test_request(f, "remove name=short"), 0);
    assert_int_equal(resv_test_submit(f, &ann, "float", 1, NULL), -ERR_RESV_NOT_USABLE);
    assert_int_equal(resv_test_submit(f, &ann, "ann", 1, "n2"),
                     -ERR_NODE_CONFIG); /* not a node of the reservation */
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.reservation = (char *)"acc";
    spec.account = (char *)"phys";
    assert_true(fixture_submit(f, &bob, &spec) > 0);
    fixture_free(f);
}

static void users_delete_a_reservation_with_the_flag(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    resv_test_apply(f, "create name=r start=+0 length=600 nodes=n1 users=ann");
    assert_int_equal(resv_test_delete(f, &ann, (char *)"r"), ERR_ACCESS);
    resv_test_apply(f, "name=r flags=USER_DELETE add=flags");
    assert_int_equal(resv_test_delete(f, &bob, (char *)"r"), ERR_ACCESS);
    int64_t job = resv_test_submit(f, &ann, "r", 5, NULL);
    resv_test_check_runs(f, job, "n1", "r");
    assert_int_equal(resv_test_delete(f, &ann, (char *)"r"), ERR_RESV_BUSY);
    resv_test_end_job(f, job, "n1");
    fixture_restart(f);
    resv_test_register_nodes(f);
    assert_int_equal(resv_test_delete(f, &ann, (char *)"r"), 0);
    assert_int_equal(resv_test_delete(f, &ann, (char *)"r"), ERR_RESV_INVALID);
    assert_false(resv_test_exists(f, "r"));
    fixture_free(f);
}

static int change_job(struct fixture *f, int64_t job, const char *part, const char *resv)
{
    struct caller ann = FIXTURE_USER;
    Pb__JobUpdate m = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    m.job_id = (uint32_t)job;
    m.set = &set;
    set.partition = (char *)part;
    set.reservation = (char *)resv;
    return fixture_update_job(f, &ann, &m);
}

/* ReqResv=YES. */
static void partition_may_require_a_reservation(void **state)
{
    struct fixture *f = fixture_new(RESV_TEST_CONF "PartitionName=q Nodes=n1 ReqResv=YES\n");
    struct caller ann = FIXTURE_USER;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    resv_test_register_nodes(f);
    resv_test_apply(f, "create name=r start=+600 length=6000 nodes=n1 users=ann");
    spec.partition = (char *)"q";
    spec.has_time_limit_sec = true;
    spec.time_limit_sec = 60;
    assert_int_equal(fixture_submit(f, &ann, &spec), -ERR_ACCESS);
    spec.reservation = (char *)"";
    assert_int_equal(fixture_submit(f, &ann, &spec), -ERR_ACCESS);
    spec.reservation = (char *)"r";
    int64_t in_q = fixture_submit(f, &ann, &spec);
    assert_true(in_q > 0);
    spec.partition = (char *)"a";
    int64_t in_a = fixture_submit(f, &ann, &spec);
    spec.reservation = NULL;
    spec.partition = (char *)"q,a"; /* without the partition that rejects it */
    int64_t in_both = fixture_submit(f, &ann, &spec);
    assert_string_equal(fixture_job(f, &arena, (uint32_t)in_both)->live->partition, "a");
    assert_int_equal(change_job(f, in_q, NULL, ""), ERR_ACCESS);
    assert_int_equal(change_job(f, in_a, "q", ""), ERR_ACCESS);
    assert_int_equal(change_job(f, in_a, "q", NULL), 0);
    assert_int_equal(change_job(f, in_q, "a", ""), 0);
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    set.name = (char *)"q";
    set.has_req_resv = true;
    assert_int_equal(fixture_update_part(f, &set), 0);
    fixture_restart(f);
    spec.partition = (char *)"q";
    assert_true(fixture_submit(f, &ann, &spec) > 0);
    fixture_free(f);
}

/* --- time --- */

static void jobs_start_within_the_reservation_time(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    resv_test_apply(f, "create name=r start=+600 length=1200 nodes=n1 users=ann");
    int64_t inside = resv_test_submit(f, &ann, "r", 20, NULL),
            second = resv_test_submit(f, &ann, "r", 20, NULL);
    resv_test_check_waits(f, inside, "Reservation");
    int64_t longer = resv_test_submit(f, &bob, NULL, 11, "n1"),
            shorter = resv_test_submit(f, &bob, NULL, 10, "n1");
    resv_test_check_waits(f, longer, "ReqNodeNotAvail, May be reserved for other job");
    resv_test_check_runs(f, shorter, "n1", NULL);
    resv_test_end_job(f, shorter, "n1");
    fixture_pass(f, 599000);
    resv_test_check_waits(f, inside, "Reservation");
    fixture_pass(f, 1000);
    resv_test_check_runs(f, inside, "n1", "r");
    resv_test_check_runs(f, second, "n1", "r");
    fixture_pass(f, 600000);
    int64_t exceeds = resv_test_submit(f, &ann, "r", 20, NULL);
    resv_test_check_runs(f, exceeds, "n1", "r"); /* ten minutes are left: it is ended then */
    Pb__JobSpec whole = PB__JOB_SPEC__INIT;
    whole.reservation = (char *)"r";
    whole.has_exclusive = whole.exclusive = true;
    int64_t late = fixture_submit(f, &ann, &whole);
    resv_test_check_waits(f, late, "Resources");
    assert_int_equal(resv_test_request(f, "remove name=r"), ERR_RESV_BUSY);
    fixture_pass(f, 600000);
    assert_int_equal(fixture_state(f, (uint32_t)inside), PB__JOB_STATE__TIMEOUT);
    assert_false(resv_test_exists(f, "r"));
    resv_test_check_waits(f, late, "ReservationDeleted");
    assert_int_equal(fixture_state(f, (uint32_t)exceeds), PB__JOB_STATE__TIMEOUT);
    resv_test_end_job(f, inside, "n1");
    resv_test_end_job(f, second, "n1");
    resv_test_end_job(f, exceeds, "n1");
    resv_test_check_runs(f, longer, "n1", NULL);
    Pb__JobUpdate release = PB__JOB_UPDATE__INIT;
    release.job_id = (uint32_t)late;
    release.has_hold = true;
    assert_int_equal(fixture_update_job(f, &ann, &release), 0);
    resv_test_check_runs(f, late, "n2", NULL);
    fixture_free(f);
}

static void pending_jobs_continue_without_their_reservation(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    resv_test_apply(
        f, "create name=r start=+600 length=600 nodes=n1 users=ann flags=NO_HOLD_JOBS_AFTER");
    resv_test_apply(f, "create name=s start=+600 length=600 nodes=n2 users=ann");
    int64_t free_job = resv_test_submit(f, &ann, "r", 5, NULL),
            held = resv_test_submit(f, &ann, "s", 5, NULL);
    int64_t both = resv_test_submit(f, &ann, "r,s", 5, NULL);
    resv_test_apply(f, "remove name=r");
    resv_test_check_runs(f, free_job, "n1", NULL);
    resv_test_check_waits(f, both, "Reservation"); /* the other one begins later */
    resv_test_apply(f, "remove name=s");
    resv_test_check_waits(f, held, "ReservationDeleted");
    resv_test_check_waits(f, both, "ReservationDeleted");
    fixture_restart(f);
    resv_test_register_nodes(f);
    resv_test_check_waits(f, held, "ReservationDeleted");
    fixture_free(f);
}

static void shortened_reservation_ends_its_jobs(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    resv_test_apply(f, "create name=r start=+0 length=3600 nodes=n1 users=ann");
    int64_t job = resv_test_submit(f, &ann, "r", 60, NULL);
    resv_test_check_runs(f, job, "n1", "r");
    resv_test_apply(f, "name=r end=+600");
    fixture_pass(f, 599000);
    resv_test_check_runs(f, job, "n1", "r");
    fixture_pass(f, 1000);
    assert_int_equal(fixture_state(f, (uint32_t)job), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

static void assert_length(struct fixture *f, const char *name, int64_t sec)
{
    _cleanup_arena_ struct arena arena;
    const Pb__ResvRecord *r = resv_test_find(f, &arena, name);
    assert_int_equal(r->end_at - r->start_at, sec);
}

static void reservation_times_are_changed(void **state)
{
    struct fixture *f = resv_test_new();
    resv_test_apply(f, "create name=r start=+0 length=3600 nodes=n1 users=ann");
    resv_test_apply(f, "create name=next start=+7200 length=600 nodes=n1 users=bob");
    resv_test_apply(f, "create name=ever start=+0 length=9000000000000 nodes=n2 users=ann");
    resv_test_apply(f,
                    "create name=float start=+600 length=600 nodes=n3 users=ann flags=TIME_FLOAT");
    resv_test_apply(f, "name=r length=600 add=duration");
    assert_length(f, "r", 4200);
    resv_test_apply(f, "name=r length=1200 take=duration");
    assert_length(f, "r", 3000);
    resv_test_apply(f, "name=float length=300 add=duration");
    assert_length(f, "float", 900);
    assert_int_equal(resv_test_request(f, "name=r length=3000 take=duration"), ERR_RESV_INVALID);
    assert_int_equal(resv_test_request(f, "name=r length=0 add=duration"), ERR_RESV_INVALID);
    assert_int_equal(resv_test_request(f, "name=r length=9000000000000 add=duration"),
                     ERR_RESV_INVALID);
    assert_int_equal(resv_test_request(f, "name=ever length=60 take=duration"), ERR_RESV_INVALID);
    assert_int_equal(resv_test_request(f, "name=r length=6000 add=duration"), ERR_RESV_OVERLAP);
    assert_length(f, "r", 3000);
    fixture_free(f);
}

/* The time of a job after the end of its reservation is granted once, and does not move with a
 * later end. */
static void jobs_overrun_the_reservation_as_configured(void **state)
{
    static const char *const flags[] = {"IGNORE_JOBS", "HOURLY"};
    struct caller ann = FIXTURE_USER;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct fixture *f = fixture_new(RESV_TEST_CONF "ResvOverRun=5\n");
        _cleanup_free_ char *words =
            mem_printf("create name=r start=+0 length=600 nodes=n1 users=ann flags=%s", flags[i]);
        resv_test_register_nodes(f);
        resv_test_apply(f, words);
        int64_t job = resv_test_submit(f, &ann, "r", 10, NULL);
        resv_test_check_runs(f, job, "n1", "r");
        Pb__JobUpdate longer = PB__JOB_UPDATE__INIT;
        Pb__JobSpec set = PB__JOB_SPEC__INIT;
        longer.job_id = (uint32_t)job;
        longer.set = &set;
        set.has_time_limit_sec = true;
        set.time_limit_sec = 36000;
        struct caller root = FIXTURE_ROOT;
        assert_int_equal(fixture_update_job(f, &root, &longer), 0);
        fixture_pass(f, 610000);
        resv_test_check_runs(f, job, "n1", "r");
        fixture_restart(f);
        resv_test_register_nodes(f);
        fixture_pass(f, 280000);
        resv_test_check_runs(f, job, "n1", "r");
        fixture_pass(f, 10000);
        assert_int_equal(fixture_state(f, (uint32_t)job), PB__JOB_STATE__TIMEOUT);
        fixture_free(f);
    }
}

static void hourly_reservation_repeats(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    resv_test_apply(f, "create name=r start=+60 length=600 nodes=n1 users=ann flags=HOURLY");
    fixture_pass(f, 60000);
    int64_t first = resv_test_submit(f, &ann, "r", 10, NULL);
    resv_test_check_runs(f, first, "n1", "r");
    resv_test_end_job(f, first, "n1");
    fixture_pass(f, 600000);
    int64_t next = resv_test_submit(f, &ann, "r", 10, NULL);
    resv_test_check_waits(f, next, "Reservation");
    assert_true(resv_test_exists(f, "r"));
    resv_test_check_waits(f, next, "Reservation");
    fixture_restart(f);
    resv_test_register_nodes(f);
    fixture_pass(f, 2999000);
    resv_test_check_waits(f, next, "Reservation");
    fixture_pass(f, 1000);
    resv_test_check_runs(f, next, "n1", "r");
    resv_test_end_job(f, next, "n1");
    resv_test_apply(f, "skip name=r");
    next = resv_test_submit(f, &ann, "r", 10, NULL);
    resv_test_check_waits(f, next, "Reservation");
    fixture_pass(f, 3600000);
    resv_test_check_runs(f, next, "n1", "r");
    fixture_free(f);
}

static void idle_reservation_is_purged(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    resv_test_apply(f, "create name=r start=+60 length=6000 nodes=n1 users=ann flags=PURGE_COMP=2");
    resv_test_apply(f, "create name=s start=+60 length=6000 nodes=n2 users=ann flags=PURGE_COMP");
    int64_t job = resv_test_submit(f, &ann, "r", 10, NULL);
    fixture_pass(f, 60000);
    resv_test_check_runs(f, job, "n1", "r");
    fixture_pass(f, 299000);
    assert_true(resv_test_exists(f, "s"));
    fixture_pass(f, 1000);
    assert_false(resv_test_exists(f, "s"));
    assert_true(resv_test_exists(f, "r"));
    resv_test_end_job(f, job, "n1");
    fixture_pass(f, 119000);
    assert_true(resv_test_exists(f, "r"));
    fixture_pass(f, 1000);
    assert_false(resv_test_exists(f, "r"));
    fixture_free(f);
}

/* A change may end it: it was idle for longer than the new limit. */
static void shorter_purge_time_purges_at_once(void **state)
{
    struct fixture *f = resv_test_new();
    resv_test_apply(f, "create name=r start=+0 length=6000 nodes=n1 users=ann flags=PURGE_COMP=60");
    fixture_pass(f, 600000);
    assert_true(resv_test_exists(f, "r"));
    resv_test_apply(f, "name=r flags=PURGE_COMP=5");
    assert_false(resv_test_exists(f, "r"));
    fixture_free(f);
}

/* --- nodes --- */

static void assert_node_shows(struct fixture *f, const char *node, bool reserved, bool maint)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__NodeRecord *n = fixture_node(f, &arena, node);
    assert_int_equal(n->reserved, reserved);
    assert_int_equal(n->maint, maint);
}

static void nodes_show_their_reservation(void **state)
{
    struct fixture *f = resv_test_new();
    resv_test_apply(f, "create name=r start=+60 length=600 nodes=n1 users=ann");
    resv_test_apply(f, "create name=m start=+0 length=600 nodes=n2 users=ann flags=MAINT");
    assert_node_shows(f, "n1", false, false);
    assert_node_shows(f, "n2", true, true);
    fixture_pass(f, 60000);
    assert_node_shows(f, "n1", true, false);
    fixture_pass(f, 600000);
    assert_node_shows(f, "n1", false, false);
    assert_node_shows(f, "n2", false, false);
    fixture_free(f);
}

static void a_lost_node_is_replaced(void **state)
{
    struct fixture *f = resv_test_new();
    resv_test_apply(f, "create name=r start=+60 length=60000 count=2 users=ann");
    resv_test_apply(f, "create name=s start=+60 length=60000 count=1 users=ann flags=STATIC_ALLOC");
    resv_test_check(f, "r", "n[1-2]", "", NULL);
    resv_test_check(f, "s", "n3", "STATIC", NULL);
    assert_int_equal(fixture_update_node(f, "n[2-3]", "DRAIN", "x"), 0);
    int64_t job = resv_test_submit(f, &FIXTURE_USER, NULL, 0, NULL); /* requests a pass */
    fixture_turn(f);
    resv_test_check(f, "r", "n[1,4]", "", NULL);
    resv_test_check(f, "s", "n3", "STATIC", NULL);
    assert_true(job > 0);
    fixture_free(f);
}

static void replace_keeps_idle_nodes_ready(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    resv_test_apply(f, "create name=r start=+0 length=60000 count=2 users=ann flags=REPLACE");
    resv_test_check(f, "r", "n[1-2]", "REPLACE", NULL);
    int64_t job = resv_test_submit(f, &ann, "r", 10, NULL);
    resv_test_check_runs(f, job, "n1", "r");
    fixture_turn(f);
    resv_test_check(f, "r", "n[2-3]", "REPLACE", NULL);
    fixture_free(f);
}

/* --- restarts --- */

static void reservation_survives_restart_and_reconfiguration(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    resv_test_apply(f, "create name=r start=+0 length=60000 nodes=n[1,4] users=ann");
    resv_test_apply(
        f, "create name=p start=+0 length=60000 nodes=ALL part=b users=ann flags=PART_NODES,MAINT");
    resv_test_check(f, "p", "n[3-5]", "MAINT,SPEC_NODES,ALL_NODES,PART_NODES", NULL);
    int64_t job = resv_test_submit(f, &ann, "r", 600, "n1");
    resv_test_check_runs(f, job, "n1", "r");
    fixture_restart(f);
    resv_test_register_nodes(f);
    resv_test_check(f, "r", "n[1,4]", "SPEC_NODES", "ann");
    resv_test_check_runs(f, job, "n1", "r");
    assert_int_equal(resv_test_request(f, "remove name=r"),
                     ERR_RESV_BUSY); /* its job is known to be in it */
    int64_t other = resv_test_submit(f, &bob, NULL, 1, "n1");
    resv_test_check_waits(f, other, "ReqNodeNotAvail, May be reserved for other job");
    /* By name: the indexes of nodes change, one node is removed. */
    fixture_reconfigure(f, "NodeName=n0,n[1-3] CPUs=4\nPartitionName=a Nodes=ALL Default=YES\n"
                           "PartitionName=b Nodes=n3\nSelectTypeParameters=CR_Core\n"
                           "SlurmdTimeout=0\n");
    resv_test_check(f, "r", "n1", "SPEC_NODES", NULL); /* n4 is kept for its return */
    resv_test_check(f, "p", "n3", NULL, NULL);
    resv_test_check_runs(f, job, "n1", "r");
    resv_test_check_waits(f, other, "ReqNodeNotAvail, May be reserved for other job");
    fixture_reconfigure(f, RESV_TEST_CONF);
    resv_test_register_nodes(f);
    resv_test_check(f, "r", "n[1,4]", "SPEC_NODES", NULL);
    resv_test_check(f, "p", "n[3-5]", NULL, NULL);
    assert_node_shows(f, "n4", true, true);
    resv_test_set_nodes(f, "b", "n[2-3]");
    resv_test_check(f, "p", "n[2-3]", NULL, NULL);
    fixture_pass(f, 60000000);
    assert_false(resv_test_exists(f, "r"));
    fixture_restart(f);
    assert_false(resv_test_exists(f, "r"));
    fixture_free(f);
}

static void reservation_ends_while_the_controller_is_down(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    resv_test_apply(f, "create name=r start=+60 length=600 nodes=n1 users=ann");
    int64_t waiting = resv_test_submit(f, &ann, "r", 5, NULL);
    f->wall_ms += 3600000;
    f->mono_ms += 3600000;
    fixture_restart(f);
    assert_false(resv_test_exists(f, "r"));
    resv_test_check_waits(f, waiting, "ReservationDeleted");
    fixture_free(f);
}

/* --- jobs that are changed --- */

static void pending_job_is_moved_into_a_reservation(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    resv_test_apply(f, "create name=r start=+0 length=60000 nodes=n1 users=ann");
    int64_t job = resv_test_submit(f, &ann, NULL, 1, "n1"),
            other = resv_test_submit(f, &bob, NULL, 1, "n1");
    resv_test_check_waits(f, job, "ReqNodeNotAvail, May be reserved for other job");
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    set.reservation = (char *)"r";
    r.set = &set;
    r.job_id = (uint32_t)other;
    assert_int_equal(fixture_update_job(f, &bob, &r), ERR_RESV_ACCESS);
    r.job_id = (uint32_t)job;
    assert_int_equal(fixture_update_job(f, &ann, &r), 0);
    resv_test_check_runs(f, job, "n1", "r");
    assert_int_equal(fixture_update_job(f, &ann, &r), ERR_NOT_PENDING);
    resv_test_end_job(f, job, "n1");
    resv_test_apply(f, "create name=later start=+600 length=60000 nodes=n2 users=ann");
    job = resv_test_submit(f, &ann, "later", 1, NULL);
    resv_test_check_waits(f, job, "Reservation");
    r.job_id = (uint32_t)job;
    set.reservation = (char *)"";
    assert_int_equal(fixture_update_job(f, &ann, &r), 0);
    resv_test_check_runs(f, job, "n2", NULL);
    fixture_free(f);
}

static void magnetic_and_short_delay_reservations_attract_jobs(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    resv_test_apply(f, "create name=m start=+0 length=60000 nodes=n1 users=ann flags=MAGNETIC");
    resv_test_apply(f, "create name=d start=+0 length=60000 nodes=n2 users=bob delay=120");
    resv_test_check_runs(f, resv_test_submit(f, &ann, NULL, 1, NULL), "n1", "m");
    resv_test_check_runs(f, resv_test_submit(f, &bob, NULL, 3, NULL), "n3", NULL);
    resv_test_check_runs(f, resv_test_submit(f, &bob, NULL, 2, NULL), "n2",
                         "d"); /* delays no other job longer */
    int64_t waiting = resv_test_submit(f, &ann, NULL, 3, "n2");
    resv_test_check_waits(f, waiting, "ReqNodeNotAvail, May be reserved for other job");
    resv_test_apply(f, "name=d flags=MAGNETIC add=flags users=ann,bob");
    resv_test_check_runs(f, waiting, "n2", "d");
    fixture_free(f);
}

/* --- licences --- */

static int64_t submit_with_licence(struct fixture *f, const struct caller *who, const char *resv,
                                   int minutes, const char *licenses)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.reservation = (char *)resv;
    spec.has_time_limit_sec = true;
    spec.time_limit_sec = minutes * 60;
    spec.licenses = (char *)licenses;
    return fixture_submit(f, who, &spec);
}

static bool is_running(struct fixture *f, int64_t id)
{
    return fixture_state(f, (uint32_t)id) == PB__JOB_STATE__RUNNING;
}

static void end_job(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, (uint32_t)id)->live;
    _cleanup_free_ char *node = mem_strdup(live->nodes);
    resv_test_end_job(f, id, node);
}

static void reserved_licences_are_kept_free(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    resv_test_apply(
        f, "create name=r start=+600 length=6000 users=ann flags=LICENSE_ONLY licenses=lic:3");
    resv_test_check(f, "r", NULL, "ANY_NODES", "ann");
    assert_int_equal(
        resv_test_request(f, "create name=s start=+700 length=60 users=bob flags=LICENSE_ONLY "
                             "licenses=lic:2"),
        ERR_RESV_OVERLAP);
    resv_test_apply(
        f, "create name=s start=+700 length=60 users=bob flags=LICENSE_ONLY licenses=lic:1");
    assert_int_equal(resv_test_request(f, "name=s licenses=lic:2"), ERR_RESV_OVERLAP);
    assert_int_equal(resv_test_request(f, "name=s licenses=other"), ERR_LICENSE);
    resv_test_apply(f, "name=s remove");
    int64_t brief = submit_with_licence(f, &bob, NULL, 10, "lic:4"),
            over = submit_with_licence(f, &bob, NULL, 11, "lic");
    assert_true(is_running(f, brief)); /* it ends when the reservation begins */
    resv_test_check_waits(f, over, "Licenses");
    end_job(f, brief);
    assert_true(is_running(f, over)); /* one is not reserved */
    int64_t second = submit_with_licence(f, &bob, NULL, 11, "lic");
    resv_test_check_waits(f, second, "Licenses");
    int64_t inside = submit_with_licence(f, &ann, "r", 60, "lic:3"),
            more = submit_with_licence(f, &ann, "r", 60, "lic");
    resv_test_check_waits(f, inside, "Reservation");
    fixture_pass(f, 601000);
    assert_true(is_running(f, inside));
    resv_test_check_waits(f, more, "Licenses"); /* the other one is in use */
    end_job(f, over);
    assert_true(is_running(f, more)); /* it need not be in the reservation */
    resv_test_check_waits(f, second, "Licenses");
    fixture_restart(f);
    resv_test_register_nodes(f);
    resv_test_check_waits(f, second, "Licenses");
    end_job(f, inside);
    /* Licences of the job inside count for the reservation now. */
    assert_true(is_running(f, second));
    int64_t third = submit_with_licence(f, &bob, NULL, 1, "lic");
    resv_test_check_waits(f, third, "Licenses"); /* two are reserved */
    resv_test_apply(f, "name=r licenses=lic:2");
    assert_true(is_running(f, third));
    int64_t fourth = submit_with_licence(f, &bob, NULL, 1, "lic:2");
    end_job(f, second);
    resv_test_check_waits(f, fourth, "Licenses");
    resv_test_apply(f, "name=r licenses=one take=flags flags=PURGE_COMP");
    assert_true(is_running(f, fourth));
    fixture_free(f);
}

static void planned_start_respects_reserved_licences(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t now = f->wall_ms / 1000;
    resv_test_apply(
        f, "create name=r start=+600 length=6000 users=bob flags=LICENSE_ONLY licenses=lic:3");
    int64_t job = submit_with_licence(f, &ann, NULL, 60, "lic:2");
    resv_test_check_waits(f, job, "Licenses");
    assert_int_equal(fixture_job(f, &arena, (uint32_t)job)->live->start_at, now + 6600);
    resv_test_apply(f, "name=r remove");
    assert_true(is_running(f, job));
    fixture_free(f);
}

/* --- an external choice of nodes --- */

static int place_job(struct fixture *f, int64_t id, const char *nodes)
{
    struct caller root = FIXTURE_ROOT;
    Pb__JobPlace r = PB__JOB_PLACE__INIT;
    r.job_id = (uint32_t)id;
    r.nodes = (char *)nodes;
    control_job_place(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static void planned_starts_respect_reservations(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    Pb__JobSpec whole = PB__JOB_SPEC__INIT;
    whole.has_num_tasks = whole.has_time_limit_sec = true;
    whole.num_tasks = 4;
    whole.time_limit_sec = 600 * 60;
    for (int i = 0; i < 4; i++) /* all nodes are in use */
        assert_true(fixture_submit(f, &ann, &whole) > 0);
    int64_t outside = fixture_submit(f, &ann, &whole);
    resv_test_apply(f, "create name=r start=+0 length=60000 nodes=n1 users=ann flags=IGNORE_JOBS");
    resv_test_apply(
        f, "create name=soon start=+300 length=60000 nodes=n2 users=ann flags=IGNORE_JOBS");
    whole.reservation = (char *)"r";
    int64_t inside = fixture_submit(f, &ann, &whole);
    for (uint32_t id = 1; id <= 2; id++) {
        char node[] = {'n', (char)('0' + id), 0};
        fixture_batch_ended(f, node, id, 0, 0);
        assert_int_equal(place_job(f, outside, node), ERR_NODES_BUSY); /* it is not clean yet */
    }
    assert_int_equal(place_job(f, inside, "n2"), ERR_NODES_BUSY);
    assert_int_equal(place_job(f, inside, "n1"), ERR_NODES_BUSY);
    fixture_gone(f, "n1", 1, 0);
    resv_test_check_runs(f, inside, "n1", "r");
    fixture_gone(f, "n2", 2, 0);
    assert_int_equal(place_job(f, outside, "n2"), ERR_NODES_BUSY);
    assert_string_equal(fixture_text(f, f->last_call),
                        "Requested nodes are busy: reservations keep it from there");
    fixture_free(f);
}

/* Elements are split off where the planner starts them, and count individually. */
static void array_elements_run_in_a_reservation(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    resv_test_apply(f, "create name=r start=+60 length=60000 nodes=n1 users=ann");
    spec.reservation = (char *)"r";
    spec.has_num_tasks = true;
    spec.num_tasks = 2;
    spec.array_inx = (char *)"1-4";
    spec.has_time_limit_sec = true;
    spec.time_limit_sec = 60;
    int64_t id = fixture_submit(f, &ann, &spec);
    assert_true(id > 0);
    resv_test_check_waits(f, id, "Reservation");
    fixture_pass(f, 61000);
    assert_int_equal(resv_find(f->control->cluster, "r")->running, 2);
    assert_int_equal(resv_test_request(f, "name=r remove"), ERR_RESV_BUSY);
    fixture_restart(f);
    resv_test_register_nodes(f);
    assert_int_equal(resv_find(f->control->cluster, "r")->running, 2);
    assert_int_equal(resv_find(f->control->cluster, "r")->pending, 1);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_reservations_are_refused),
        cmocka_unit_test(changes_that_are_refused_change_nothing),
        cmocka_unit_test(reservations_get_names_and_are_listed),
        cmocka_unit_test(access_lists_decide_the_users),
        cmocka_unit_test(users_delete_a_reservation_with_the_flag),
        cmocka_unit_test(partition_may_require_a_reservation),
        cmocka_unit_test(jobs_start_within_the_reservation_time),
        cmocka_unit_test(reservation_times_are_changed),
        cmocka_unit_test(pending_jobs_continue_without_their_reservation),
        cmocka_unit_test(shortened_reservation_ends_its_jobs),
        cmocka_unit_test(jobs_overrun_the_reservation_as_configured),
        cmocka_unit_test(hourly_reservation_repeats),
        cmocka_unit_test(idle_reservation_is_purged),
        cmocka_unit_test(shorter_purge_time_purges_at_once),
        cmocka_unit_test(nodes_show_their_reservation),
        cmocka_unit_test(a_lost_node_is_replaced),
        cmocka_unit_test(replace_keeps_idle_nodes_ready),
        cmocka_unit_test(reservation_survives_restart_and_reconfiguration),
        cmocka_unit_test(reservation_ends_while_the_controller_is_down),
        cmocka_unit_test(pending_job_is_moved_into_a_reservation),
        cmocka_unit_test(magnetic_and_short_delay_reservations_attract_jobs),
        cmocka_unit_test(reserved_licences_are_kept_free),
        cmocka_unit_test(planned_start_respects_reserved_licences),
        cmocka_unit_test(planned_starts_respect_reservations),
        cmocka_unit_test(array_elements_run_in_a_reservation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
