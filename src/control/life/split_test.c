/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Job arrays: one record until an element differs, and requests for elements. */
#include <stdio.h>
#include <string.h>

#include "control/core/filter.h"
#include "control/fixture.h"

#define NODES "NodeName=n[1-2] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"
#define CONF "SelectTypeParameters=CR_Core_Memory\nMaxArraySize=100\nMaxJobCount=50\n" NODES

static struct fixture *make_fixture(const char *lines)
{
    return fixture_new_up(lines, 2);
}

static int64_t submit_array(struct fixture *f, const char *indexes)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.array_inx = (char *)indexes;
    s.has_requeue = s.requeue = true;
    return fixture_submit(f, &user, &s);
}

/* Returns every record of all jobs in any state: "7:[3-9] P 8:1 R". */
static const char *format_all_records(struct fixture *f)
{
    static char text[2000];
    struct caller root = FIXTURE_ROOT;
    struct str out = STR_INIT, joined = STR_INIT;
    struct arena arena;
    uint64_t cursor = 0;
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    filter.has_all_states = filter.all_states = true;
    while (control_list_jobs(f->control, &root, &filter, &cursor, 100000, &out))
        ;
    arena_init(&arena, 0);
    const Pb__JobList *list = arena_unpack(&arena, &pb__job_list__descriptor, out.data, out.len);
    for (size_t i = 0; i < list->n_jobs; i++) {
        const Pb__JobLive *l = list->jobs[i]->live;
        char one[100];
        if (l->array_tasks)
            snprintf(one, sizeof one, "%s%u:[%s] %c", i ? " " : "", l->job_id, l->array_tasks,
                     "PRSCXF"[l->state]);
        else
            snprintf(one, sizeof one, "%s%u:%u %c", i ? " " : "", l->job_id, l->array_task_id,
                     "PRSCXF"[l->state]);
        str_puts(&joined, one);
    }
    snprintf(text, sizeof text, "%s", str_cstr(&joined));
    arena_done(&arena);
    str_done(&joined);
    str_done(&out);
    return text;
}

static int update_elements(struct fixture *f, int64_t id, const char *tasks, Pb__JobUpdate r)
{
    struct caller user = FIXTURE_USER;
    r.job_id = (uint32_t)id;
    r.array_tasks = (char *)tasks;
    return fixture_update_job(f, &user, &r);
}

static int hold_elements(struct fixture *f, int64_t id, const char *tasks, bool on)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.has_hold = true;
    r.hold = on;
    return update_elements(f, id, tasks, r);
}

static int cancel_as(struct fixture *f, struct caller who, int64_t id, const char *tasks, int sig)
{
    return fixture_cancel(f, &who, id, tasks, sig);
}

static int cancel_elements(struct fixture *f, int64_t id, const char *tasks)
{
    return cancel_as(f, FIXTURE_USER, id, tasks, 0);
}

static void invalid_array_lists_are_refused(void **state)
{
    static const struct {
        const char *indexes, *says;
    } bad[] = {
        {"", "\"\""},
        {"x", "from 0 to 99 (MaxArraySize=100)"},
        {"5-100", "\"5-100\": a number"},
        {"1-", "\"1-\""},
        {"1-5%", "behind % belongs how many"},
        {"1-5%-1", "\"%-1\""},
        {"1-5%x", "\"%x\""},
        {"1-5%2%3", "\"%2%3\""},
        {"%5", "\"\""},
        {"1-5:0", "\"1-5:0\""},
    };
    struct fixture *f = make_fixture(CONF);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fixture_clear(f);
        assert_int_equal(submit_array(f, bad[i].indexes), -ERR_ARRAY);
        const char *text = fixture_text(f, f->last_call);
        assert_non_null(strstr(text, "Invalid job array specification: --array: "));
        assert_non_null(strstr(text, bad[i].says));
    }
    assert_int_equal(submit_array(f, "0-50"), -ERR_JOB_LIMIT); /* each element counts */
    assert_string_equal(format_all_records(f), "");
    int64_t id = submit_array(f, "0-49");
    assert_true(id > 0);
    assert_int_equal(submit_array(f, "0"), -ERR_JOB_LIMIT);
    assert_int_equal(hold_elements(f, id, "50", true), ERR_NO_JOB);
    assert_int_equal(hold_elements(f, id, "x", true), ERR_NO_JOB);
    assert_int_equal(hold_elements(f, id + 500, "1", true), ERR_NO_JOB);
    assert_int_equal(cancel_elements(f, id, "77"), ERR_NO_JOB);
    assert_int_equal(cancel_elements(f, id, "1-"), ERR_NO_JOB);
    fixture_free(f);
    f = make_fixture("MaxArraySize=0\n" NODES);
    assert_int_equal(submit_array(f, "0"), -ERR_ARRAY);
    fixture_free(f);
}

static void elements_start_as_resources_permit(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_array(f, "0-15:4,20,21-30");
    assert_int_equal(a, 1);
    assert_string_equal(format_all_records(f),
                        "1:[24-30] P 2:0 R 3:4 R 4:8 R 5:12 R 6:20 R 7:21 R 8:22 R 9:23 R");
    fixture_end(f, 3, 0);
    assert_string_equal(format_all_records(f),
                        "1:[25-30] P 2:0 R 3:4 C 4:8 R 5:12 R 6:20 R 7:21 R 8:22 R 9:23 R 10:24 R");
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    assert_string_equal(format_all_records(f),
                        "1:[25-30] P 2:0 R 3:4 C 4:8 R 5:12 R 6:20 R 7:21 R 8:22 R 9:23 R 10:24 R");
    fixture_free(f);
}

/* The last pending element keeps the record of the array. */
static void last_pending_element_keeps_the_array_record(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_array(f, "5,9");
    assert_string_equal(format_all_records(f), "1:9 R 2:5 R");
    fixture_end(f, 1, 0);
    fixture_end(f, 2, 3 << 8);
    fixture_pass(f, 400000);
    assert_string_equal(format_all_records(f), "");
    vec_foreach (&f->records, r) /* the script was deleted with the last record */
        assert_true(r->kind != RECORD_JOB && r->kind != RECORD_PAYLOAD && r->kind != RECORD_ARRAY);
    assert_int_equal(a, 1);
    fixture_free(f);
}

static void throttle_limits_running_elements(void **state)
{
    struct fixture *f = make_fixture(CONF);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t a = submit_array(f, "0-9%2");
    assert_string_equal(format_all_records(f), "1:[2-9] P 2:0 R 3:1 R");
    assert_string_equal(fixture_job(f, &arena, 1)->live->reason, "JobArrayTaskLimit");
    int64_t other = submit_array(f, "7"); /* it does not delay other jobs */
    assert_string_equal(format_all_records(f), "1:[2-9] P 2:0 R 3:1 R 4:7 R");
    assert_int_equal(other, 4);
    fixture_end(f, 2, 0);
    assert_string_equal(format_all_records(f), "1:[3-9] P 2:0 C 3:1 R 4:7 R 5:2 R");
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.has_array_throttle = true;
    r.array_throttle = 3;
    assert_int_equal(update_elements(f, a, NULL, r), 0);
    assert_string_equal(format_all_records(f), "1:[4-9] P 2:0 C 3:1 R 4:7 R 5:2 R 6:3 R");
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    fixture_pass(f, 1000);
    assert_string_equal(format_all_records(f), "1:[4-9] P 2:0 C 3:1 R 4:7 R 5:2 R 6:3 R");
    fixture_reconfigure(f, CONF "DefMemPerCPU=10\n");
    assert_string_equal(format_all_records(f), "1:[4-9] P 2:0 C 3:1 R 4:7 R 5:2 R 6:3 R");
    r.array_throttle = 0;
    assert_int_equal(update_elements(f, 3, NULL, r), 0); /* any of its jobs stands for it */
    assert_string_equal(format_all_records(f), "1:[8-9] P 2:0 C 3:1 R 4:7 R 5:2 R 6:3 R "
                                               "7:4 R 8:5 R 9:6 R 10:7 R");
    Pb__JobSpec plain = PB__JOB_SPEC__INIT;
    struct caller user = FIXTURE_USER;
    int64_t single = fixture_submit(f, &user, &plain);
    assert_int_equal(update_elements(f, single, NULL, r), ERR_CANNOT_UPDATE);
    fixture_free(f);
}

static void elements_are_held_and_released(void **state)
{
    struct fixture *f = make_fixture(CONF);
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    int64_t a = submit_array(f, "0-9");
    assert_int_equal(hold_elements(f, a, "2-4,7", true), 0);
    assert_string_equal(format_all_records(f), "1:[0-1,5-6,8-9] P 2:[2-4,7] P");
    assert_int_equal(hold_elements(f, a, "3", false), 0);
    assert_string_equal(format_all_records(f), "1:[0-1,5-6,8-9] P 2:[2,4,7] P 3:3 P");
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    assert_int_equal(fixture_update_node(f, "n[1-2]", "RESUME", NULL), 0);
    assert_string_equal(format_all_records(f),
                        "1:9 R 2:[2,4,7] P 3:3 R 4:0 R 5:1 R 6:5 R 7:6 R 8:8 R");
    assert_int_equal(hold_elements(f, a, NULL, false), 0); /* running elements are skipped */
    assert_string_equal(format_all_records(f),
                        "1:9 R 2:[4,7] P 3:3 R 4:0 R 5:1 R 6:5 R 7:6 R 8:8 R 9:2 R");
    assert_int_equal(cancel_elements(f, a, "0,1"), 0);
    assert_int_equal(hold_elements(f, a, "0,1", true),
                     ERR_FINISHED); /* no other element is named */
    fixture_free(f);
}

static void a_change_that_fails_splits_nothing(void **state)
{
    struct fixture *f = make_fixture(CONF);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    int64_t a = submit_array(f, "0-9");
    r.set = &set;
    set.partition = (char *)"nowhere";
    assert_int_equal(update_elements(f, a, "4", r), ERR_NO_PARTITION);
    assert_string_equal(format_all_records(f), "1:[0-9] P");
    assert_int_equal(cancel_as(f, FIXTURE_USER, a, "4", 10), ERR_JOB_PENDING);
    assert_string_equal(format_all_records(f), "1:[0-9] P");
    assert_int_equal(cancel_as(f, FIXTURE_OTHER, a, "4", 0), ERR_ACCESS);
    assert_int_equal(cancel_as(f, FIXTURE_OTHER, a, NULL, 0), ERR_ACCESS);
    assert_string_equal(format_all_records(f), "1:[0-9] P");
    set.partition = NULL;
    set.name = (char *)"other";
    assert_int_equal(update_elements(f, a, "4-5", r), 0);
    assert_non_null(strstr(format_all_records(f), "1:[0-3,6-9] P"));
    assert_non_null(strstr(format_all_records(f), ":[4-5] P"));
    fixture_free(f);
}

static void elements_are_cancelled(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_array(f, "0-19");
    assert_string_equal(format_all_records(f),
                        "1:[8-19] P 2:0 R 3:1 R 4:2 R 5:3 R 6:4 R 7:5 R 8:6 R 9:7 R");
    assert_int_equal(cancel_elements(f, a, "7-12,15"), 0);
    assert_string_equal(format_all_records(f),
                        "1:[13-14,16-19] P 2:0 R 3:1 R 4:2 R 5:3 R 6:4 R 7:5 R 8:6 R 9:7 X "
                        "10:[8-12,15] X");
    assert_int_equal(cancel_elements(f, a, "8"), ERR_JOB_DONE);
    assert_int_equal(cancel_elements(f, a, "7-8,18"), 0); /* those that are left */
    assert_int_equal(cancel_elements(f, a, NULL), 0);
    assert_int_equal(cancel_elements(f, a, NULL), ERR_JOB_DONE);
    assert_null(strchr(format_all_records(f), 'P'));
    fixture_free(f);
}

static void elements_are_requeued(void **state)
{
    struct fixture *f = make_fixture(CONF);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    int64_t a = submit_array(f, "0-2");
    r.has_requeue = r.requeue = true;
    fixture_end(f, 2, 1 << 8);
    fixture_end(f, 3, 0);
    assert_string_equal(format_all_records(f), "1:2 R 2:0 F 3:1 C");
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    assert_int_equal(update_elements(f, a, "0", r), 0);
    assert_string_equal(format_all_records(f), "1:2 R 2:0 P 3:1 C");
    assert_int_equal(update_elements(f, a, "0", r), ERR_JOB_PENDING);
    assert_int_equal(update_elements(f, a, NULL, r), 0); /* all that are possible */
    fixture_end(f, 1, 0);
    assert_string_equal(format_all_records(f), "1:2 P 2:0 P 3:1 P");
    fixture_free(f);
}

static const Pb__JobEnd *wait_end(struct fixture *f, uint64_t call, struct arena *arena)
{
    vec_foreach (&f->replies, reply)
        if (reply->call == call)
            return arena_unpack(arena, &pb__job_end__descriptor, reply->data.data, reply->data.len);
    return NULL;
}

/* sbatch --wait: the highest exit code of all elements, including purged ones. */
static void client_waits_for_the_end_of_all_elements(void **state)
{
    struct fixture *f = make_fixture("MinJobAge=2\n" CONF);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t a = submit_array(f, "0-2%1");
    Pb__JobIdRequest r = PB__JOB_ID_REQUEST__INIT;
    r.job_id = (uint32_t)a;
    uint64_t call = ++f->last_call;
    control_job_wait_end(f->control, call, &user, &r);
    fixture_turn(f);
    fixture_end(f, 2, 7 << 8);
    fixture_pass(f, 5000); /* its record is purged */
    fixture_end(f, 3, 2 << 8);
    assert_null(wait_end(f, call, &arena));
    assert_string_equal(format_all_records(f), "1:2 R 3:1 F");
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    call = ++f->last_call;
    control_job_wait_end(f->control, call, &user, &r);
    fixture_turn(f);
    fixture_launched(f, "n1", 1, 0);
    fixture_batch_ended(f, "n1", 1, 0, 0);
    fixture_gone(f, "n1", 1, 0);
    const Pb__JobEnd *m = wait_end(f, call, &arena);
    assert_non_null(m);
    assert_int_equal(m->exit_status, 7 << 8);
    assert_int_equal(m->state, PB__JOB_STATE__FAILED);
    fixture_free(f);
}

/* A repeated submission finds the array and not one of its elements. */
static void repeated_request_returns_the_same_array(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.array_inx = (char *)"0-19";
    s.has_request_id = true;
    s.request_id.data = (uint8_t *)"0123456789abcdef";
    s.request_id.len = 16;
    int64_t a = fixture_submit(f, &user, &s);
    assert_int_equal(fixture_submit(f, &user, &s), a);
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    assert_int_equal(fixture_submit(f, &user, &s), a);
    fixture_free(f);
}

static int64_t submit_dependent(struct fixture *f, const char *on)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.dependency = (char *)on;
    return fixture_submit(f, &user, &s);
}

/* An array is over when all elements are over, and successful if all of them are. */
static void dependents_wait_for_all_elements(void **state)
{
    static const struct {
        const char *kind;
        int bad; /* exit status of one element */
        bool starts;
    } rows[] = {
        {"afterok", 0, true},     {"afterok", 1 << 8, false},   {"afterany", 1 << 8, true},
        {"afternotok", 0, false}, {"afternotok", 1 << 8, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture *f = make_fixture("MinJobAge=2\n" CONF);
        char text[40];
        int64_t a = submit_array(f, "0-2%1");
        snprintf(text, sizeof text, "%s:%d", rows[i].kind, (int)a);
        uint32_t waits = (uint32_t)submit_dependent(f, text), begins;
        snprintf(text, sizeof text, "after:%d", (int)a);
        begins = (uint32_t)submit_dependent(f, text);
        fixture_end(f, 2, rows[i].bad);
        fixture_pass(f, 5000);         /* its record is purged */
        fixture_end(f, begins + 1, 0); /* the second element */
        assert_int_equal(fixture_state(f, waits), PB__JOB_STATE__PENDING);
        /* All elements have begun. */
        assert_int_equal(fixture_state(f, begins), PB__JOB_STATE__RUNNING);
        fixture_end(f, 1, 0);
        fixture_turn(f);
        assert_int_equal(fixture_state(f, waits),
                         rows[i].starts ? PB__JOB_STATE__RUNNING : PB__JOB_STATE__PENDING);
        fixture_free(f);
    }
    struct fixture *f = make_fixture(CONF);
    assert_int_equal(submit_array(f, "0-2"), 1);
    assert_int_equal(submit_dependent(f, "expand:1"), -ERR_DEPENDENCY);
    assert_true(submit_dependent(f, "aftercorr:1") >
                0); /* of a job that is not an array: afterok */
    /* The element does not exist. */
    assert_int_equal(submit_dependent(f, "afterok:1_99"), -ERR_DEPENDENCY);
    assert_true(submit_dependent(f, "afterok:1_1") > 0);
    assert_true(submit_dependent(f, "afterok:2") > 0); /* an element by its own id */
    fixture_free(f);
}

/* Elements that are cancelled before they start never need records of their own. */
static void cancelled_elements_leave_no_record(void **state)
{
    struct fixture *f = make_fixture(CONF);
    Pb__JobUpdate requeue = PB__JOB_UPDATE__INIT;
    requeue.has_requeue = requeue.requeue = true;
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    for (int i = 0; i < 10; i++) {
        int64_t id = submit_array(f, "0-39"); /* 40 and the earlier ones make at most 50 */
        assert_true(id > 0);
        assert_int_equal(submit_array(f, "0-39"), -ERR_JOB_LIMIT);
        assert_int_equal(cancel_elements(f, id, "0-9"), 0);
        assert_int_equal(cancel_elements(f, id, NULL), 0);
        if (i < 5)
            continue;
        fixture_restart(f);
        fixture_pass(f, 400 * 1000);
    }
    int64_t id = submit_array(f, "0-49");
    assert_int_equal(cancel_elements(f, id, NULL), 0);
    assert_true(submit_array(f, "0-39") > 0);
    assert_int_equal(submit_array(f, "0-9"), -ERR_JOB_LIMIT);
    const char *why = fixture_text(f, f->last_call);
    assert_non_null(strstr(why, "10 asked for"));
    assert_non_null(strstr(why, "MaxJobCount=50, of which 9 are free: submit the job"));
    assert_int_equal(submit_array(f, "0-98"), -ERR_JOB_LIMIT);
    assert_non_null(strstr(fixture_text(f, f->last_call), "99 asked for"));
    assert_non_null(strstr(fixture_text(f, f->last_call), "ask for fewer"));
    assert_int_equal(update_elements(f, id, NULL, requeue),
                     ERR_JOB_LIMIT); /* they would return as 50 */
    fixture_free(f);
}

/* With as few ids as jobs, each id is used; the next submission is rejected at once. */
static void ids_of_a_small_range_are_used_up(void **state)
{
    struct fixture *f = make_fixture("FirstJobId=15\nMaxJobId=18\nMinJobAge=300\n" NODES);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
        assert_int_equal(submit_array(f, "0-4"), -ERR_JOB_LIMIT);
        int64_t one = submit_array(f, "0-1"), two = submit_array(f, "0-1");
        assert_in_range(one, 15, 18);
        assert_in_range(two, 15, 18);
        assert_int_equal(submit_array(f, "0"), -ERR_JOB_LIMIT);
        assert_non_null(strstr(fixture_text(f, f->last_call),
                               "all job ids from FirstJobId=15 to MaxJobId=18 are in use"));
        assert_int_equal(hold_elements(f, one, "1", true),
                         0); /* it has a record and an id of its own */
        assert_int_equal(hold_elements(f, two, "1", true), 0);
        assert_int_equal(fixture_count_jobs(f), 4);
        assert_int_equal(cancel_elements(f, one, NULL), 0);
        assert_int_equal(cancel_elements(f, two, NULL), 0);
        fixture_pass(f, 400 * 1000);
    }
    fixture_free(f);
}

/* Fragmented sets of elements are written as bits and restored, in a sixth of the size of lists of
 * numbers. */
static void pending_elements_are_stored_as_bits(void **state)
{
    struct fixture *f = make_fixture(
        "MaxArraySize=400001\nMaxJobCount=1000000\nMinJobAge=10\n" NODES "SlurmdTimeout=0\n");
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    assert_int_equal(submit_array(f, "0-399999"), 1);
    size_t bytes = f->put_bytes;
    cancel_elements(f, 1, "0-399999:3");
    assert_in_range(f->put_bytes - bytes, 100000, 101000); /* four bits per digit */
    fixture_restart(f);
    bytes = f->put_bytes;
    assert_int_equal(hold_elements(f, 1, "5-399999:7", true), 0);
    assert_in_range(f->put_bytes - bytes, 200000, 202000);
    fixture_restart(f);
    cancel_elements(f, 1, "1");
    cancel_elements(f, 1,
                    "1-399999:3"); /* the last third is regular again, except for held elements */
    cancel_elements(f, 1, "2-399999:3");
    assert_null(strchr(format_all_records(f), 'P'));
    fixture_pass(f, 11000);
    assert_null(fixture_job(f, &arena, 1));
    fixture_free(f);
}

/* However many elements start in a turn, the rest is written once, and each started element
 * once. */
static void split_elements_are_written_once(void **state)
{
    struct fixture *f = make_fixture("MaxArraySize=400001\nMaxJobCount=1000000\n" NODES);
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    assert_int_equal(submit_array(f, "0-399999"), 1);
    cancel_elements(f, 1, "0-399999:3");
    size_t bytes = f->put_bytes, records = f->records.len;
    assert_int_equal(fixture_update_node(f, "n[1-2]", "RESUME", NULL), 0);
    fixture_turn(f);
    assert_int_equal(f->records.len, records + 8);
    assert_in_range(f->put_bytes - bytes, 100000, 110000);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_array_lists_are_refused),
        cmocka_unit_test(elements_start_as_resources_permit),
        cmocka_unit_test(last_pending_element_keeps_the_array_record),
        cmocka_unit_test(throttle_limits_running_elements),
        cmocka_unit_test(elements_are_held_and_released),
        cmocka_unit_test(a_change_that_fails_splits_nothing),
        cmocka_unit_test(elements_are_cancelled),
        cmocka_unit_test(elements_are_requeued),
        cmocka_unit_test(client_waits_for_the_end_of_all_elements),
        cmocka_unit_test(repeated_request_returns_the_same_array),
        cmocka_unit_test(dependents_wait_for_all_elements),
        cmocka_unit_test(cancelled_elements_leave_no_record),
        cmocka_unit_test(ids_of_a_small_range_are_used_up),
        cmocka_unit_test(pending_elements_are_stored_as_bits),
        cmocka_unit_test(split_elements_are_written_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
