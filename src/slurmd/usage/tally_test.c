/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "slurmd/usage/tally.h"

#define ALICE 1000
#define BOB 1001
#define SHEPHERD 50
#define TASK 60
#define MSEC 1000u

struct world {
    struct tally *t;
    struct snapshot s;
};

static void open_world(struct world *w)
{
    *w = (struct world){.t = tally_new(1700000000), .s = {.cpus = 2}};
}

static void close_world(struct world *w)
{
    tally_free(w->t);
    snapshot_done(&w->s);
}

/* A process of the next look; user time in ms, memory in MiB. */
static struct snapshot_proc *put_process(struct world *w, pid_t pid, pid_t parent, uid_t uid,
                                         uint64_t own, uint64_t waited, uint64_t rss)
{
    struct snapshot_proc p = {.pid = pid,
                              .parent = parent,
                              .uid = uid,
                              .started_ticks = (uint64_t)pid,
                              .rss_kib = rss << 10,
                              .vsize_kib = rss << 11};

    p.own[SNAPSHOT_USER] = own * MSEC;
    p.waited[SNAPSHOT_USER] = waited * MSEC;
    vec_push(&w->s.procs, p);
    return &vec_last(&w->s.procs);
}

static void take_look(struct world *w, int64_t at_sec)
{
    pid_t root = SHEPHERD;

    w->s.at_ms = at_sec * 1000;
    snapshot_place(&w->s, &root, 1);
    tally_take(w->t, &w->s);
    vec_clear(&w->s.procs);
}

static const struct tally_use *find_row(const struct world *w, uid_t uid, uint32_t job)
{
    static const struct tally_use none;

    vec_foreach (&w->t->users, r)
        if (!job && r->uid == uid)
            return &r->use;
    vec_foreach (&w->t->jobs, r)
        if (job && r->job_id == job && r->uid == uid)
            return &r->use;
    return &none;
}

static uint64_t get_cpu_msec(const struct world *w, uid_t uid, uint32_t job)
{
    return find_row(w, uid, job)->sum[SNAPSHOT_USER] / MSEC;
}

static struct tally_step *run_step(struct world *w)
{
    uint32_t pid = TASK, rank = 3;

    tally_set_step(w->t, 42, 0, 0, SHEPHERD, &pid, &rank, 1);
    return tally_find_step(w->t, 42, 0, 0);
}

static void test_usage_before_the_first_sample_is_not_counted(void **state)
{
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 5000, 9000, 8);
    take_look(&w, 100);
    assert_int_equal(get_cpu_msec(&w, 0, 0), 0);
    put_process(&w, 1, 0, 0, 5010, 9007, 8);
    put_process(&w, 7, 1, ALICE, 30, 4, 8); /* new: all of it */
    take_look(&w, 110);
    assert_int_equal(get_cpu_msec(&w, 0, 0), 17);
    assert_int_equal(get_cpu_msec(&w, ALICE, 0), 34);
    close_world(&w);
}

/* An end is in the parent's count of reaped children: the part already seen is not counted
   again. */
static void test_ended_children_count_once(void **state)
{
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 100);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, 7, 1, ALICE, 100, 0, 1);
    take_look(&w, 110);
    put_process(&w, 1, 0, 0, 0, 130, 1); /* 30 since, and it is gone */
    take_look(&w, 120);
    assert_int_equal(get_cpu_msec(&w, ALICE, 0), 100);
    assert_int_equal(get_cpu_msec(&w, 0, 0), 30);
    put_process(&w, 1, 0, 0, 0, 130, 1);
    take_look(&w, 130);
    assert_int_equal(get_cpu_msec(&w, ALICE, 0) + get_cpu_msec(&w, 0, 0), 130);
    close_world(&w);
}

/* The parent was read before it reaped the child: its count grows by the next look. */
static void test_credit_is_kept_until_the_next_sample(void **state)
{
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 100);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, 7, 1, ALICE, 100, 0, 1);
    take_look(&w, 110);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 120);
    put_process(&w, 1, 0, 0, 0, 100, 1);
    take_look(&w, 130);
    assert_int_equal(get_cpu_msec(&w, 0, 0), 0);
    put_process(&w, 1, 0, 0, 0, 150, 1); /* and is used up then */
    take_look(&w, 140);
    assert_int_equal(get_cpu_msec(&w, 0, 0), 50);
    close_world(&w);
}

/* An unreaped child leaves a credit that would hide other processes' usage. */
static void test_credit_expires_after_one_sample(void **state)
{
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 100);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, 7, 1, ALICE, 100, 0, 1);
    take_look(&w, 110);
    for (int i = 0; i < 2; i++) {
        put_process(&w, 1, 0, 0, 0, 0, 1);
        take_look(&w, 120 + i);
    }
    put_process(&w, 1, 0, 0, 0, 60, 1);
    take_look(&w, 130);
    assert_int_equal(get_cpu_msec(&w, 0, 0), 60);
    close_world(&w);
}

static void test_reused_pid_is_another_process(void **state)
{
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 100);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, 7, 1, ALICE, 100, 0, 1);
    take_look(&w, 110);
    put_process(&w, 1, 0, 0, 0, 100, 1);
    put_process(&w, 7, 1, BOB, 20, 0, 1)->started_ticks = 999;
    take_look(&w, 120);
    assert_true(get_cpu_msec(&w, ALICE, 0) == 100 && get_cpu_msec(&w, BOB, 0) == 20 &&
                get_cpu_msec(&w, 0, 0) == 0);
    close_world(&w);
}

static void test_decreasing_counters_are_ignored(void **state)
{
    static const uint64_t own[] = {100, 40, 0, 99, 110};
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 100);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        put_process(&w, 1, 0, 0, 0, 0, 1);
        put_process(&w, 7, 1, ALICE, own[i], own[i], 1);
        take_look(&w, 110 + (int64_t)i);
        assert_int_equal(get_cpu_msec(&w, ALICE, 0), i < 4 ? 200 : 220);
    }
    close_world(&w);
}

static void test_usage_of_a_step_is_counted(void **state)
{
    static const uint64_t used[SNAPSHOT_COUNTERS] = {[SNAPSHOT_USER] = 500 * MSEC};
    struct tally_step *s;
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 100);
    s = run_step(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, SHEPHERD, 1, 0, 5, 0, 4);
    put_process(&w, TASK, SHEPHERD, ALICE, 10, 0, 100);
    put_process(&w, 61, TASK, ALICE, 100, 0, 50);
    put_process(&w, 62, 61, BOB, 7, 0, 1); /* another user's program */
    put_process(&w, 70, 1, ALICE, 3, 0, 2);
    take_look(&w, 110);
    assert_int_equal(get_cpu_msec(&w, ALICE, 0), 113);
    assert_int_equal(get_cpu_msec(&w, ALICE, 42), 110);
    assert_int_equal(get_cpu_msec(&w, BOB, 42), 7);
    assert_int_equal(get_cpu_msec(&w, 0, 0), 5);
    assert_int_equal(s->use.sum[SNAPSHOT_USER], 117 * MSEC);
    assert_true(s->use.rss_kib == 151 << 10 && s->use.max_vsize_kib == 302 << 10);
    assert_true(s->tasks.len == 1 && s->tasks.data[0].rank == 3);
    assert_int_equal(s->tasks.data[0].use.sum[SNAPSHOT_USER], 117 * MSEC);
    /* An orphan is a child of the shepherd, and stays part of the task; the shepherd's count
       belongs to the step. */
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, SHEPHERD, 1, 0, 6, 140, 4);
    put_process(&w, 62, SHEPHERD, BOB, 8, 0, 1);
    put_process(&w, 70, 1, ALICE, 3, 0, 2);
    take_look(&w, 120);
    assert_int_equal(s->use.sum[SNAPSHOT_USER], 148 * MSEC);
    assert_int_equal(s->tasks.data[0].use.sum[SNAPSHOT_USER], 148 * MSEC);
    assert_true(s->use.max_rss_kib == 151 << 10 && s->use.rss_kib == 1 << 10);
    /* It ends; the shepherd ends afterwards. The total is the kernel's. */
    tally_end_step(w.t, s, ALICE, used, false);
    assert_int_equal(s->use.sum[SNAPSHOT_USER], 500 * MSEC);
    tally_drop_step(w.t, s);
    uint64_t alice = get_cpu_msec(&w, ALICE, 0), root = get_cpu_msec(&w, 0, 0);
    assert_int_equal(
        get_cpu_msec(&w, ALICE, 42) + get_cpu_msec(&w, BOB, 42) + get_cpu_msec(&w, 0, 42), 500);
    put_process(&w, 1, 0, 0, 0, 506, 1);
    put_process(&w, 70, 1, ALICE, 3, 0, 2);
    take_look(&w, 130);
    assert_true(get_cpu_msec(&w, ALICE, 0) == alice && get_cpu_msec(&w, 0, 0) == root);
    tally_drop_job(w.t, 42);
    assert_true(get_cpu_msec(&w, ALICE, 0) == alice && get_cpu_msec(&w, ALICE, 42) == 0);
    close_world(&w);
}

/* A step that started and ended between two looks. */
static void test_unsampled_step_has_usage_of_its_end(void **state)
{
    static const uint64_t used[SNAPSHOT_COUNTERS] = {[SNAPSHOT_USER] = 500 * MSEC};
    struct tally_step *s;
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 100);
    s = run_step(&w);
    tally_end_step(w.t, s, ALICE, used, false);
    tally_drop_step(w.t, s);
    assert_int_equal(get_cpu_msec(&w, ALICE, 42), 500);
    put_process(&w, 1, 0, 0, 0, 503, 1);
    take_look(&w, 110);
    assert_true(get_cpu_msec(&w, ALICE, 0) == 500 && get_cpu_msec(&w, 0, 0) == 3);
    close_world(&w);
}

/* It ended during a look: what the look saw of it was counted at its end. */
static void test_process_ending_during_a_sample_is_counted_once(void **state)
{
    static const uint64_t used[SNAPSHOT_COUNTERS] = {[SNAPSHOT_USER] = 500 * MSEC};
    struct tally_step *s;
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 100);
    s = run_step(&w);
    tally_end_step(w.t, s, ALICE, used, false);
    tally_drop_step(w.t, s);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, SHEPHERD, 1, 0, 2, 0, 1);
    put_process(&w, TASK, SHEPHERD, ALICE, 450, 0, 1);
    take_look(&w, 110);
    put_process(&w, 1, 0, 0, 0, 502, 1);
    take_look(&w, 120);
    assert_true(get_cpu_msec(&w, ALICE, 0) == 500 && get_cpu_msec(&w, 0, 0) == 2);
    close_world(&w);
}

/* With a single task, the kernel's count belongs to it; with several tasks the processes are
   used. */
static void test_memory_of_control_groups_replaces_samples(void **state)
{
    struct tally_step *s;
    struct world w;
    uint32_t more = 61, rank = 4;

    open_world(&w);
    s = run_step(&w);
    s->counted = true;
    s->counted_kib = 20 << 10;
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 1);
    put_process(&w, TASK, SHEPHERD, ALICE, 0, 0, 16);
    put_process(&w, 62, TASK, ALICE, 0, 0, 16);
    take_look(&w, 100);
    assert_int_equal(s->tasks.data[0].use.rss_kib, 20 << 10);
    assert_int_equal(s->use.max_rss_kib, 20 << 10);
    assert_false(s->counted);
    tally_set_step(w.t, 42, 0, 0, SHEPHERD, &more, &rank, 1);
    s->counted = true;
    s->counted_kib = 30 << 10;
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 1);
    put_process(&w, TASK, SHEPHERD, ALICE, 0, 0, 16);
    put_process(&w, (pid_t)more, SHEPHERD, ALICE, 0, 0, 24);
    take_look(&w, 110);
    assert_int_equal(s->tasks.data[0].use.rss_kib, 16 << 10);
    assert_int_equal(s->tasks.data[1].use.rss_kib, 24 << 10);
    assert_int_equal(s->use.rss_kib, 30 << 10);
    close_world(&w);
}

/* adopted processes and their children count for the step, and when they end they do not
   count for their reaper as well. */
static void test_adopted_processes_are_counted(void **state)
{
    struct tally_step *s;
    struct world w;

    open_world(&w);
    s = run_step(&w);
    vec_push(&w.s.adopted, ((struct snapshot_adopted){80, 80, SHEPHERD}));
    vec_push(&w.s.adopted, ((struct snapshot_adopted){90, 4711, SHEPHERD})); /* another by now */
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 1);
    put_process(&w, 70, 1, 0, 0, 0, 1); /* the login daemon */
    take_look(&w, 100);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 1);
    put_process(&w, 70, 1, 0, 0, 0, 1);
    put_process(&w, 80, 70, 0, 5, 0, 1);
    put_process(&w, 81, 80, ALICE, 1000, 0, 16);
    put_process(&w, 90, 70, 0, 300, 0, 1);
    take_look(&w, 110);
    assert_int_equal(s->use.sum[SNAPSHOT_USER] / MSEC, 1005);
    assert_int_equal(s->use.processes, 2);
    assert_int_equal(get_cpu_msec(&w, ALICE, 42), 1000);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 1);
    put_process(&w, 70, 1, 0, 0, 1005, 1);
    put_process(&w, 90, 70, 0, 300, 0, 1);
    take_look(&w, 120);
    assert_int_equal(s->use.sum[SNAPSHOT_USER] / MSEC, 1005);
    assert_int_equal(get_cpu_msec(&w, 0, 0), 305);
    close_world(&w);
}

static void test_memory_integrals_and_maxima_are_kept(void **state)
{
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 16);
    take_look(&w, 100);
    put_process(&w, 1, 0, 0, 0, 0, 16);
    take_look(&w, 110);
    assert_true(find_row(&w, 0, 0)->rss_kib_sec == 10 * (16 << 10));
    assert_true(find_row(&w, 0, 0)->vsize_kib_sec == 10 * (32 << 10));
    put_process(&w, 1, 0, 0, 0, 0, 4);
    put_process(&w, 9, 1, 0, 0, 0, 4)->started_ticks = 11800; /* at 118 s: for two seconds only */
    take_look(&w, 120);
    assert_true(find_row(&w, 0, 0)->rss_kib_sec == (10 * 16 + 10 * 4 + 2 * 4) << 10);
    assert_true(find_row(&w, 0, 0)->max_rss_kib == 16 << 10 &&
                find_row(&w, 0, 0)->rss_kib == 8 << 10);
    assert_int_equal(find_row(&w, 0, 0)->processes, 2);
    put_process(&w, 1, 0, 0, 0, 0, 4);
    take_look(&w, 90); /* no clock runs backwards, but nothing must fall when one does */
    assert_true(find_row(&w, 0, 0)->rss_kib_sec == (10 * 16 + 10 * 4 + 2 * 4) << 10);
    close_world(&w);
}

static void test_number_of_users_is_bounded(void **state)
{
    struct world w;

    open_world(&w);
    take_look(&w, 100);
    for (pid_t pid = 1; pid <= TALLY_USERS_MAX + 50; pid++)
        put_process(&w, pid, 0, (uid_t)(5000 + pid), 1, 0, 1);
    take_look(&w, 110);
    assert_true(w.t->users.len == TALLY_USERS_MAX + 1);
    assert_int_equal(get_cpu_msec(&w, TALLY_OTHERS, 0), 50);
    close_world(&w);
}

static void test_processor_time_of_the_node_is_read(void **state)
{
    static const char *const bad[] = {"", "cpu", "intr 1 2", "cpux 1 2 3\n"};
    uint64_t tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK), *usec;
    struct world w;

    open_world(&w);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        w.s.cpu_ticks[0] = 7;
        snapshot_parse_stat(bad[i], &w.s);
        assert_true(!w.s.cpu_ticks[0] && !w.s.cpus);
    }
    snapshot_parse_stat("cpu  9 9\nintr 0\n", &w.s); /* short */
    assert_true(w.s.cpu_ticks[1] == 9 && !w.s.cpu_ticks[2] && !w.s.cpus);
    snapshot_parse_stat("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1\ncpu1 1\ncpus\nintr 5\n", &w.s);
    assert_int_equal(w.s.cpus, 2);
    take_look(&w, 100);
    usec = w.t->time_usec;
    assert_true(!usec[0] && !usec[4]);
    snapshot_parse_stat("cpu  11 12 13 14 1 16 17 18 0 0\ncpu0 1\n", &w.s); /* one backwards */
    take_look(&w, 110);
    assert_true(usec[0] == 20 * tick && usec[1] == 10 * tick && usec[2] == 20 * tick);
    assert_true(usec[3] == 10 * tick && usec[4] == 10 * tick && usec[5] == 0);
    close_world(&w);
}

/* Pids may have been reused during reading: parents form a cycle, or are their own parent. */
static void test_circular_parents_are_survived(void **state)
{
    struct world w;

    open_world(&w);
    take_look(&w, 100);
    put_process(&w, 5, 5, ALICE, 1, 0, 1);
    put_process(&w, 6, 8, ALICE, 1, 0, 1);
    put_process(&w, 7, 6, ALICE, 1, 0, 1);
    put_process(&w, 8, 7, ALICE, 1, 0, 1);
    take_look(&w, 110);
    assert_int_equal(get_cpu_msec(&w, ALICE, 0), 4);
    take_look(&w, 120); /* all gone */
    assert_int_equal(get_cpu_msec(&w, ALICE, 0), 4);
    close_world(&w);
}

/* --- the file --------------------------------------------------------------------------------- */

static struct tally *reload_tally(const struct tally *t, const char *boot, int64_t wall, int64_t up)
{
    _cleanup_str_ struct str bytes = STR_INIT;

    tally_pack(t, "boot-a", 1700000500, &bytes);
    return tally_unpack(bytes.data, bytes.len, boot, wall, up);
}

static void reload_world(struct world *w, const char *boot, int64_t wall, int64_t up)
{
    struct tally *t = reload_tally(w->t, boot, wall, up);

    assert_non_null(t);
    tally_free(w->t);
    w->t = t;
}

static void test_usage_continues_after_a_restart(void **state)
{
    struct tally_step *s;
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 100);
    s = run_step(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 4);
    put_process(&w, TASK, SHEPHERD, ALICE, 100, 0, 8);
    put_process(&w, 70, 1, BOB, 30, 0, 2);
    take_look(&w, 110);
    reload_world(&w, "boot-a", 1700000600, 1000);
    run_step(&w);
    put_process(&w, 1, 0, 0, 0, 30, 1); /* 70 ended meanwhile */
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 4);
    put_process(&w, TASK, SHEPHERD, ALICE, 250, 0, 8);
    put_process(&w, 71, 1, BOB, 6, 0, 2); /* came meanwhile */
    take_look(&w, 200);
    s = tally_find_step(w.t, 42, 0, 0);
    assert_int_equal(s->use.sum[SNAPSHOT_USER], 250 * MSEC);
    assert_true(s->tasks.len == 1 && s->tasks.data[0].use.sum[SNAPSHOT_USER] == 250 * MSEC);
    assert_true(get_cpu_msec(&w, ALICE, 42) == 250 && get_cpu_msec(&w, BOB, 0) == 36 &&
                get_cpu_msec(&w, 0, 0) == 0);
    assert_true(s->use.max_rss_kib == 8 << 10 && s->use.rss_kib_sec >= 90 * (8 << 10));
    assert_true(w.t->since_sec == 1700000000 && w.t->time_usec[6] == 0);
    close_world(&w);
}

static void test_sums_are_kept_across_a_boot(void **state)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct world w;

    open_world(&w);
    take_look(&w, 100);
    put_process(&w, 7, 1, ALICE, 100, 0, 8);
    take_look(&w, 110);
    reload_world(&w, "boot-b", 1700000800, 100); /* off from 500 to 700 */
    assert_true(w.t->time_usec[6] == 200000000u * (uint64_t)cpus);
    put_process(&w, 7, 1, ALICE, 10, 0, 1); /* a stranger of that number */
    take_look(&w, 60);
    assert_true(get_cpu_msec(&w, ALICE, 0) == 110 &&
                find_row(&w, ALICE, 0)->max_rss_kib == 8 << 10);
    close_world(&w);
}

static void test_new_period_resets_the_sums(void **state)
{
    struct tally_step *s;
    struct world w;

    open_world(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    take_look(&w, 100);
    s = run_step(&w);
    put_process(&w, 1, 0, 0, 0, 0, 1);
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 4);
    put_process(&w, TASK, SHEPHERD, ALICE, 100, 0, 8);
    put_process(&w, 70, 1, BOB, 30, 0, 2);
    w.s.cpu_ticks[0] = 5;
    take_look(&w, 110);
    put_process(&w, 1, 0, 0, 0, 30, 1); /* 70 has ended */
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 4);
    put_process(&w, TASK, SHEPHERD, ALICE, 100, 0, 4);
    take_look(&w, 120);
    assert_true(get_cpu_msec(&w, ALICE, 42) == 100 && get_cpu_msec(&w, BOB, 0) == 30 &&
                w.t->time_usec[0]);
    tally_begin_period(w.t, 1700001000);
    assert_true(get_cpu_msec(&w, ALICE, 0) == 0 && get_cpu_msec(&w, ALICE, 42) == 0 &&
                get_cpu_msec(&w, BOB, 0) == 0);
    assert_true(find_row(&w, ALICE, 0)->max_rss_kib == 4 << 10 &&
                !find_row(&w, ALICE, 0)->rss_kib_sec);
    assert_true(w.t->users.len == 2 && w.t->since_sec == 1700001000 && w.t->period == 2);
    assert_true(!w.t->time_usec[0]);
    assert_int_equal(s->use.sum[SNAPSHOT_USER], 100 * MSEC); /* the total of a step stays */
    put_process(&w, 1, 0, 0, 0, 30, 1);
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 4);
    put_process(&w, TASK, SHEPHERD, ALICE, 107, 0, 4);
    take_look(&w, 130);
    assert_true(get_cpu_msec(&w, ALICE, 0) == 7 && get_cpu_msec(&w, ALICE, 42) == 7 &&
                get_cpu_msec(&w, 0, 0) == 0);
    Pb__NodeUsage was = PB__NODE_USAGE__INIT;
    was.name = (char *)"n1";
    pb_pack(&was.base, &w.t->collected);
    w.t->collected_period = 1;
    reload_world(&w, "boot-b", 1700001200, 100);
    assert_true(w.t->period == 2 && w.t->collected_period == 1);
    assert_int_equal(w.t->collected.len, 4);
    str_puts(&w.t->collected, "damaged");
    reload_world(&w, "boot-b", 1700001200, 100);
    assert_int_equal(w.t->collected.len, 0);
    close_world(&w);
}

static void test_damaged_file_is_survived(void **state)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    struct world w;

    open_world(&w);
    run_step(&w);
    put_process(&w, SHEPHERD, 1, 0, 0, 0, 4);
    put_process(&w, TASK, SHEPHERD, ALICE, 100, 0, 8);
    take_look(&w, 100);
    tally_pack(w.t, "boot-a", 1700000500, &bytes);
    assert_null(tally_unpack("\xff\xff", 2, "boot-a", 0, 0));
    for (size_t i = 0; i < bytes.len; i++)
        for (int bit = 0; bit < 8; bit++) { /* whatever it says then, it does no harm */
            struct tally *t;

            bytes.data[i] ^= (char)(1 << bit);
            t = tally_unpack(bytes.data, bytes.len, "boot-a", 1700000600, 100);
            if (t) {
                struct world other = {.t = t};

                put_process(&other, SHEPHERD, 1, 0, 0, 0, 4);
                put_process(&other, TASK, SHEPHERD, ALICE, 200, 0, 8);
                take_look(&other, 110);
                close_world(&other);
            }
            bytes.data[i] ^= (char)(1 << bit);
        }
    close_world(&w);
}

static void test_usage_is_packed_into_messages(void **state)
{
    static const uint32_t pids[] = {TASK, 61}, ranks[] = {4, 5};
    _cleanup_arena_ struct arena arena;
    Pb__NodeUsage node = PB__NODE_USAGE__INIT;
    Pb__Usage m = PB__USAGE__INIT;
    struct world w;

    arena_init(&arena, 0);
    open_world(&w);
    tally_set_step(w.t, 42, 0, 0, SHEPHERD, pids, ranks, 2);
    put_process(&w, SHEPHERD, 1, 0, 5, 0, 4);
    put_process(&w, TASK, SHEPHERD, ALICE, 10, 0, 100);
    put_process(&w, 61, SHEPHERD, ALICE, 30, 0, 60)->waited[SNAPSHOT_WRITE] = 4096;
    take_look(&w, 100);
    m.has_user_usec = m.has_max_rss_kib = true;
    m.user_usec = 41 * MSEC; /* of the kernel: more */
    m.max_rss_kib = 7;
    tally_view_step(tally_find_step(w.t, 42, 0, 0), &arena, &m);
    assert_true(m.user_usec == 41 * MSEC && m.max_rss_kib == 100 << 10);
    assert_true(m.rss_kib == 160 << 10 && m.write_bytes == 4096 && m.tasks == 2);
    assert_true(m.n_most == 6 && m.n_least == 6);
    assert_true(m.most[0]->value == 30 * MSEC && m.most[0]->task == 5);
    assert_true(m.least[0]->value == 10 * MSEC && m.least[0]->task == 4);
    assert_true(m.most[1]->value == 100 << 10 && m.most[1]->task == 4);
    assert_true(m.most[5]->value == 4096 && m.most[5]->task == 5);
    tally_view_node(w.t, &arena, &node);
    assert_true(node.n_rows == 3 && node.rows[2]->job_id == 42 && node.rows[2]->uid == ALICE);
    assert_int_equal(node.rows[2]->usage->max_rss_kib, 160 << 10);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage_before_the_first_sample_is_not_counted),
        cmocka_unit_test(test_ended_children_count_once),
        cmocka_unit_test(test_credit_is_kept_until_the_next_sample),
        cmocka_unit_test(test_credit_expires_after_one_sample),
        cmocka_unit_test(test_reused_pid_is_another_process),
        cmocka_unit_test(test_decreasing_counters_are_ignored),
        cmocka_unit_test(test_usage_of_a_step_is_counted),
        cmocka_unit_test(test_unsampled_step_has_usage_of_its_end),
        cmocka_unit_test(test_process_ending_during_a_sample_is_counted_once),
        cmocka_unit_test(test_memory_of_control_groups_replaces_samples),
        cmocka_unit_test(test_adopted_processes_are_counted),
        cmocka_unit_test(test_memory_integrals_and_maxima_are_kept),
        cmocka_unit_test(test_number_of_users_is_bounded),
        cmocka_unit_test(test_processor_time_of_the_node_is_read),
        cmocka_unit_test(test_circular_parents_are_survived),
        cmocka_unit_test(test_usage_continues_after_a_restart),
        cmocka_unit_test(test_sums_are_kept_across_a_boot),
        cmocka_unit_test(test_new_period_resets_the_sums),
        cmocka_unit_test(test_damaged_file_is_survived),
        cmocka_unit_test(test_usage_is_packed_into_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
