/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small traces whose schedules can be computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/study/figures.h"
#include "sim/study/picture.h"

#define HEAD "ClusterName=test\nSlurmctldHost=h\n"
#define TWO_NODES                                                                                  \
    HEAD "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"                      \
         "NodeName=n[1-2] CPUs=4 RealMemory=4000\n"                                                \
         "PartitionName=p Nodes=ALL Default=YES MaxTime=60\n"                                      \
         "PartitionName=q Nodes=n2 MaxTime=60\n"

struct play {
    char path[32], *text;
    struct trace trace;
    struct replay r;
};

/* A job per line: submission, run time, limit, processors; the other fields are appended. */
#define JOB(number, submit, run, limit, procs)                                                     \
#number " " #submit " -1 " #run " " #procs " -1 -1 " #procs " " #limit                         \
            " -1 1 1 1 -1 -1 -1 -1 -1\n"

static void play_trace(struct play *p, const char *conf, const char *jobs, bool think)
{
    struct err err = {0};
    struct replay_options o = {.think = think, .places = true, .path = p->path};
    snprintf(p->path, sizeof p->path, "/tmp/replay-test-XXXXXX");
    int fd = mkstemp(p->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, conf, strlen(conf)), (ssize_t)strlen(conf));
    close(fd);
    p->text = mem_strdup(jobs);
    if (trace_parse("t.swf", p->text, &p->trace, &err) != 0 ||
        replay_run(&p->trace, &o, &p->r, NULL, &err) != 0)
        fail_msg("%s", err.text);
    unlink(p->path);
}

static void play_done(struct play *p)
{
    replay_done(&p->r);
    trace_done(&p->trace);
    free(p->text);
}

static void invalid_configuration_is_refused(void **state)
{
    static const char *const texts[] = {
        "ClusterName\n",
        HEAD "NodeName=n1 CPUs=4\nPartitionName=p Nodes=n2\n",
        HEAD "NodeName=n1 CPUs=4\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[] = "/tmp/replay-test-XXXXXX";
        struct err err = {0};
        struct trace t;
        struct replay r = {0};
        _cleanup_free_ char *jobs = mem_strdup(JOB(1, 0, 10, 60, 1));
        int fd = mkstemp(path);
        assert_int_equal(write(fd, texts[i], strlen(texts[i])), (ssize_t)strlen(texts[i]));
        close(fd);
        assert_int_equal(trace_parse("t.swf", jobs, &t, &err), 0);
        assert_true(replay_run(&t, &(struct replay_options){.path = path}, &r, NULL, &err) < 0);
        assert_non_null(strstr(err.text, path));
        trace_done(&t);
        unlink(path);
    }
}

struct expected {
    int64_t start, end;
    enum replay_fate fate;
    uint32_t nodes;
};

static void expect_replayed(const struct play *p, const struct expected *rows, size_t count)
{
    assert_int_equal(p->trace.jobs.len, count);
    for (size_t i = 0; i < count; i++) {
        const struct replay_job *j = &p->r.jobs[i];
        if (j->fate != rows[i].fate || j->start_sec != rows[i].start || j->end_sec != rows[i].end ||
            j->nodes != rows[i].nodes)
            fail_msg("job %lld: %lld to %lld, %u nodes, fate %d (%s)",
                     (long long)p->trace.jobs.data[i].number, (long long)j->start_sec,
                     (long long)j->end_sec, j->nodes, (int)j->fate, j->why ? j->why : "");
    }
}

/* The second job wants all nodes; the third one ends before the second can start, the fourth one
 * does not. */
static void short_jobs_are_backfilled(void **state)
{
    struct play p;
    static const struct expected rows[] = {{0, 100, REPLAY_ENDED, 1},
                                           {100, 110, REPLAY_ENDED, 2},
                                           {10, 60, REPLAY_ENDED, 1},
                                           {110, 610, REPLAY_ENDED, 1}};
    (void)state;
    play_trace(&p, TWO_NODES,
               JOB(1, 0, 100, 120, 4) JOB(2, 5, 10, 60, 8) JOB(3, 10, 50, 60, 4)
                   JOB(4, 11, 500, 600, 4),
               false);
    expect_replayed(&p, rows, 4);
    play_done(&p);
}

static void builtin_scheduler_keeps_the_order(void **state)
{
    struct play p;
    static const struct expected rows[] = {
        {0, 100, REPLAY_ENDED, 1}, {100, 110, REPLAY_ENDED, 2}, {110, 160, REPLAY_ENDED, 1}};
    (void)state;
    play_trace(&p, TWO_NODES "SchedulerType=sched/builtin\n",
               JOB(1, 0, 100, 120, 4) JOB(2, 5, 10, 60, 8) JOB(3, 10, 50, 60, 4), false);
    expect_replayed(&p, rows, 3);
    play_done(&p);
}

/* A job ends at its limit, not earlier; a job that ends in that second has ended normally. */
static void jobs_end_at_their_time_limit(void **state)
{
    struct play p;
    static const struct expected rows[] = {{0, 60, REPLAY_KILLED, 1}, {0, 60, REPLAY_ENDED, 1}};
    (void)state;
    play_trace(&p, TWO_NODES, JOB(1, 0, 100, 60, 1) JOB(2, 0, 60, 60, 1), false);
    expect_replayed(&p, rows, 2);
    play_done(&p);
}

static void jobs_that_never_run_are_counted(void **state)
{
    struct play p;
    static const struct expected rows[] = {{0, 0, REPLAY_WAITS, 0},
                                           {0, 0, REPLAY_WAITS, 0},
                                           {2, 12, REPLAY_ENDED, 1},
                                           {0, 0, REPLAY_WAITS, 0}};
    struct figures f;
    (void)state;
    play_trace(&p, TWO_NODES,
               JOB(1, 0, 10, 60, 9) JOB(2, 1, 10, 7200, 1) JOB(3, 2, 10, 60, 1)
                   JOB(4, 2, 10, 60, 10),
               false);
    expect_replayed(&p, rows, 4);
    figures_make(&p.r, "c", &f);
    assert_int_equal(f.refused, 0);
    assert_int_equal(f.waiting, 3);
    assert_int_equal(f.all.jobs, 1);
    assert_string_equal(p.r.jobs[1].why, "PartitionTimeLimit");
    figures_done(&f);
    play_done(&p);
}

/* The header names the queue as slurm.conf names its partition. */
static void header_names_map_queues_to_partitions(void **state)
{
    struct play p;
    (void)state;
    play_trace(&p, TWO_NODES,
               "; Queue: 1 q\n; Queue: 2 other\n"
               "1 0 -1 10 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n"
               "2 0 -1 10 1 -1 -1 1 60 -1 1 1 1 -1 2 -1 -1 -1\n",
               false);
    assert_int_equal(p.r.attempts.len, 2);
    vec_foreach (&p.r.attempts, a)
        assert_int_equal(p.r.spans.data[a->first_span].first, a->job == 0 ? 1 : 0);
    play_done(&p);
}

/* The trace's memory is per processor. */
static void memory_is_per_processor(void **state)
{
    struct play p;
    static const struct expected rows[] = {
        {0, 10, REPLAY_ENDED, 1}, {0, 10, REPLAY_ENDED, 1}, {10, 20, REPLAY_ENDED, 1}};
    (void)state;
    play_trace(&p, TWO_NODES,
               "1 0 -1 10 1 -1 -1 1 60 3072000 1 1 1 -1 -1 -1 -1 -1\n"
               "2 0 -1 10 1 -1 -1 1 60 3072000 1 1 1 -1 -1 -1 -1 -1\n"
               "3 0 -1 10 1 -1 -1 1 60 3072000 1 1 1 -1 -1 -1 -1 -1\n",
               false);
    expect_replayed(&p, rows, 3);
    play_done(&p);
}

/* A recording has the request of a job in a comment, which applies to that job only. */
static void a_comment_has_the_request_of_a_job(void **state)
{
    struct play p;
    static const struct expected rows[] = {
        {0, 10, REPLAY_ENDED, 2}, {10, 20, REPLAY_ENDED, 1}, {10, 20, REPLAY_ENDED, 1}};
    (void)state;
    play_trace(&p, TWO_NODES,
               "; JobSpec: 1 min_nodes=2 max_nodes=2 exclusive=1\n" JOB(
                   1, 0, 10, 60,
                   1) "; JobSpec: 9 min_nodes=2\n" JOB(2, 0, 10, 60,
                                                       1) "; JobSpec: 3 num_tasks=2\n" JOB(3, 0, 10,
                                                                                           60, 100),
               false);
    expect_replayed(&p, rows, 3);
    assert_int_equal(p.r.jobs[0].cpus, 8);
    assert_int_equal(p.r.jobs[2].cpus, 2);
    play_done(&p);
}

static void jobs_follow_after_their_think_time(void **state)
{
    static const char jobs[] =
        JOB(1, 0, 100, 120, 8) "2 50 -1 10 8 -1 -1 8 60 -1 1 1 1 -1 -1 -1 1 7\n";
    static const struct expected soon[] = {{0, 100, REPLAY_ENDED, 2}, {100, 110, REPLAY_ENDED, 2}};
    static const struct expected late[] = {{0, 100, REPLAY_ENDED, 2}, {107, 117, REPLAY_ENDED, 2}};
    struct play p;
    (void)state;
    play_trace(&p, TWO_NODES, jobs, false);
    expect_replayed(&p, soon, 2);
    play_done(&p);
    play_trace(&p, TWO_NODES, jobs, true);
    expect_replayed(&p, late, 2);
    assert_int_equal(p.r.jobs[1].submit_sec, 107);
    play_done(&p);
}

static void figures_sum_up_a_replay(void **state)
{
    struct play p;
    struct figures f;
    (void)state;
    /* 1: 0-100 on a node. 2: waits 95, runs 10 on two. 3: 10-60 beside the first. */
    play_trace(&p, TWO_NODES, JOB(1, 0, 100, 120, 4) JOB(2, 5, 10, 60, 8) JOB(3, 10, 50, 60, 4),
               false);
    figures_make(&p.r, "c", &f);
    assert_int_equal(f.makespan_sec, 110);
    assert_int_equal((int)(f.used * 1e6), (int)((400 + 80 + 200) / (8 * 110.0) * 1e6));
    assert_int_equal((int)(f.used_while * 1e6), (int)((40) / (8 * 10.0) * 1e6));
    assert_int_equal(f.all.jobs, 3);
    assert_int_equal((int)(f.all.wait_mean_sec * 1e3), 31666);
    assert_int_equal((int)f.all.wait_median_sec, 0);
    assert_int_equal((int)f.all.wait_p95_sec, 95);
    assert_int_equal((int)(f.all.slow_max * 1e3), 10500);
    assert_int_equal((int)(f.all.slow_mean * 1e3), 4166);
    assert_int_equal(f.classes[figures_class(1)].jobs, 2);
    assert_int_equal(f.classes[figures_class(2)].jobs, 1);
    figures_done(&f);
    play_done(&p);
}

static void jobs_are_classified_by_size(void **state)
{
    static const struct {
        uint32_t nodes;
        const char *name;
    } rows[] = {{1, "1"},          {2, "2-4"},          {4, "2-4"},          {5, "5-16"},
                {16, "5-16"},      {17, "17-64"},       {64, "17-64"},       {65, "65-256"},
                {257, "257-1024"}, {1025, "1025-4096"}, {4096, "1025-4096"}, {4097, "more"},
                {200000, "more"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(figures_class_name(figures_class(rows[i].nodes)), rows[i].name);
}

/* Every job is in the picture, in its colour and with a title; a large schedule becomes a raster.
 */
static void a_picture_has_every_job_or_a_raster(void **state)
{
    struct play p;
    struct figures f;
    struct str out = STR_INIT, again = STR_INIT;
    (void)state;
    play_trace(&p, TWO_NODES, JOB(1, 0, 100, 120, 4) JOB(2, 5, 10, 60, 8) JOB(3, 10, 50, 60, 1),
               false);
    figures_make(&p.r, "a<b", &f);
    picture_svg(&f, &out);
    picture_svg(&f, &again);
    assert_string_equal(str_cstr(&out), str_cstr(&again));
    assert_non_null(strstr(str_cstr(&out), "<title>job 2 of user 1: 2 nodes, 8 CPUs, waited 1:35, "
                                           "ran 0:10</title>"));
    assert_non_null(strstr(str_cstr(&out), "a&#60;b"));
    assert_null(strstr(str_cstr(&out), "a<b"));
    assert_null(strstr(str_cstr(&out), "<script"));
    figures_done(&f);
    play_done(&p);
    str_clear(&out);
    play_trace(&p,
               HEAD
               "SelectType=select/cons_tres\nNodeName=n[1-5000] CPUs=2\nPartitionName=p Nodes=ALL "
               "Default=YES\n",
               JOB(1, 0, 100, 120, 4) JOB(2, 5, 10, 60, 9000), false);
    figures_make(&p.r, "c", &f);
    picture_svg(&f, &out);
    assert_non_null(strstr(str_cstr(&out), "paler: only partly in use"));
    assert_true(out.len < 100000);
    figures_done(&f);
    play_done(&p);
    str_done(&out);
    str_done(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_configuration_is_refused),
        cmocka_unit_test(short_jobs_are_backfilled),
        cmocka_unit_test(builtin_scheduler_keeps_the_order),
        cmocka_unit_test(jobs_end_at_their_time_limit),
        cmocka_unit_test(jobs_that_never_run_are_counted),
        cmocka_unit_test(header_names_map_queues_to_partitions),
        cmocka_unit_test(memory_is_per_processor),
        cmocka_unit_test(a_comment_has_the_request_of_a_job),
        cmocka_unit_test(jobs_follow_after_their_think_time),
        cmocka_unit_test(figures_sum_up_a_replay),
        cmocka_unit_test(jobs_are_classified_by_size),
        cmocka_unit_test(a_picture_has_every_job_or_a_raster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
