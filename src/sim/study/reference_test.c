/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the planner with two textbook planners: EASY, which plans a reservation for the first
 * job of the queue, and conservative backfilling, which plans one for every job. They schedule
 * whole nodes of a machine with equal nodes. On the same drawn traces, on average over a fixed set
 * of seeds, our planner is at least as good as EASY both for users and for the machine; it uses the
 * machine better than conservative backfilling, with slowdowns close to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test_drawn.h"
#include "sim/study/figures.h"

enum { NODES = 32, JOBS = 300, SEEDS = TEST_DRAWN(12) };
#define SAME 1.0001 /* tolerance of comparisons */
#define CLOSE 1.02

struct book_job {
    int64_t submit, run, limit, start, end; /* start -1: pending. end: by its time limit */
    int nodes;
    bool over;
};

struct book {
    struct book_job jobs[JOBS];
    int64_t now;
};

/* --- drawn traces ------------------------------------------------------------------------------
 */

static uint64_t draw_number(uint64_t *seed, uint64_t below)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

/* Most jobs are small and short; bursts of jobs overload the machine for a while. */
static void draw_book(struct book *b, uint64_t seed)
{
    int64_t at = 0;
    for (int i = 0; i < JOBS; i++) {
        struct book_job *j = &b->jobs[i];
        at += draw_number(&seed, 4) ? (int64_t)draw_number(&seed, 150)
                                    : (int64_t)draw_number(&seed, 1500);
        *j = (struct book_job){.submit = at, .start = -1};
        j->nodes = 1 << draw_number(&seed, 6);
        j->nodes -= draw_number(&seed, 3) ? 0 : (int)draw_number(&seed, (uint64_t)j->nodes);
        j->run = (int64_t)(draw_number(&seed, 3) ? 5 + draw_number(&seed, 600)
                                                 : 600 + draw_number(&seed, 6000));
        j->limit = j->run * (int64_t)(1 + draw_number(&seed, 6)) + 60;
    }
}

static char *as_trace(const struct book *b)
{
    struct str out = STR_INIT;
    for (int i = 0; i < JOBS; i++)
        str_printf(&out, "%d %lld -1 %lld %d -1 -1 %d %lld -1 1 1 1 -1 -1 -1 -1 -1\n", i + 1,
                   (long long)b->jobs[i].submit, (long long)b->jobs[i].run, b->jobs[i].nodes,
                   b->jobs[i].nodes, (long long)b->jobs[i].limit);
    return str_take(&out);
}

/* --- the textbook planners ---------------------------------------------------------------------
 */

static bool is_job_running(const struct book_job *j)
{
    return j->start >= 0 && !j->over;
}

static bool is_job_waiting(const struct book *b, const struct book_job *j)
{
    return j->start < 0 && j->submit <= b->now;
}

static int free_now(const struct book *b)
{
    int left = NODES;
    for (int i = 0; i < JOBS; i++)
        left -= is_job_running(&b->jobs[i]) ? b->jobs[i].nodes : 0;
    return left;
}

static void start_book_job(struct book *b, struct book_job *j)
{
    j->start = b->now;
    j->end = b->now + j->limit;
}

/* The time at which 'nodes' nodes are free by the time limits, and how many are free then. */
static int64_t free_at(const struct book *b, int nodes, int *there)
{
    int64_t at = b->now;
    *there = free_now(b);
    while (*there < nodes) {
        int64_t next = INT64_MAX;
        for (int i = 0; i < JOBS; i++)
            if (is_job_running(&b->jobs[i]) && b->jobs[i].end > at && b->jobs[i].end < next)
                next = b->jobs[i].end;
        at = next;
        for (int i = 0; i < JOBS; i++)
            *there += is_job_running(&b->jobs[i]) && b->jobs[i].end == at ? b->jobs[i].nodes : 0;
    }
    return at;
}

static void plan_easy(struct book *b)
{
    int first = 0, extra;
    for (; first < JOBS; first++) { /* starts jobs in queue order */
        struct book_job *j = &b->jobs[first];
        if (!is_job_waiting(b, j))
            continue;
        if (j->nodes > free_now(b))
            break;
        start_book_job(b, j);
    }
    if (first == JOBS)
        return;
    int64_t shadow = free_at(b, b->jobs[first].nodes, &extra);
    extra -= b->jobs[first].nodes;
    for (int i = first + 1; i < JOBS; i++) { /* backfills jobs that do not delay the first one */
        struct book_job *j = &b->jobs[i];
        if (!is_job_waiting(b, j) || j->nodes > free_now(b))
            continue;
        bool short_enough = b->now + j->limit <= shadow;
        if (!short_enough && j->nodes > extra)
            continue;
        extra -= short_enough ? 0 : j->nodes;
        start_book_job(b, j);
    }
}

/* Nodes used at a time by running jobs and by planned ones. */
static int taken_at(const struct book *b, const int64_t *planned, int64_t at)
{
    int taken = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct book_job *j = &b->jobs[i];
        if (is_job_running(j) && j->end > at)
            taken += j->nodes;
        else if (planned[i] >= 0 && planned[i] <= at && planned[i] + j->limit > at)
            taken += j->nodes;
    }
    return taken;
}

static bool fits_from(const struct book *b, const int64_t *planned, const struct book_job *j,
                      int64_t from)
{
    if (NODES - taken_at(b, planned, from) < j->nodes)
        return false;
    for (int i = 0; i < JOBS; i++) /* usage rises only where a job starts */
        if (planned[i] > from && planned[i] < from + j->limit &&
            NODES - taken_at(b, planned, planned[i]) < j->nodes)
            return false;
    return true;
}

/* Plans all jobs again, in queue order. */
static void plan_conservatively(struct book *b)
{
    static int64_t planned[JOBS];
    for (int i = 0; i < JOBS; i++)
        planned[i] = -1;
    for (int i = 0; i < JOBS; i++) {
        struct book_job *j = &b->jobs[i];
        if (!is_job_waiting(b, j))
            continue;
        int64_t best = fits_from(b, planned, j, b->now) ? b->now : INT64_MAX;
        for (int k = 0; k < JOBS && best > b->now; k++) {
            const struct book_job *o = &b->jobs[k];
            int64_t at = is_job_running(o) ? o->end : planned[k] >= 0 ? planned[k] + o->limit : -1;
            if (at > b->now && at < best && fits_from(b, planned, j, at))
                best = at;
        }
        if (best == b->now)
            start_book_job(b, j);
        else
            planned[i] = best;
    }
}

static void play_book(struct book *b, void (*plan)(struct book *))
{
    for (;;) {
        int64_t next = INT64_MAX;
        for (int i = 0; i < JOBS; i++) {
            struct book_job *j = &b->jobs[i];
            int64_t at = is_job_running(j) ? j->start + j->run
                         : j->start < 0    ? j->submit
                                           : INT64_MAX;
            if (at > b->now && at < next)
                next = at;
        }
        if (next == INT64_MAX)
            return;
        b->now = next;
        for (int i = 0; i < JOBS; i++)
            if (is_job_running(&b->jobs[i]) && b->jobs[i].start + b->jobs[i].run <= b->now)
                b->jobs[i].over = true;
        plan(b);
    }
}

/* --- comparison --------------------------------------------------------------------------------
 */

struct sums {
    double slowdown, used;
};

static void add_book(struct sums *s, const struct book *b)
{
    int64_t first = b->jobs[0].submit, last = 0;
    double area = 0, slow = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct book_job *j = &b->jobs[i];
        assert_true(j->over);
        double run = (double)j->run, wait = (double)(j->start - j->submit);
        double one = (wait + run) / (run > FIGURES_BOUND_SEC ? run : FIGURES_BOUND_SEC);
        slow += one > 1 ? one : 1;
        area += run * j->nodes;
        last = j->start + j->run > last ? j->start + j->run : last;
    }
    s->slowdown += slow / JOBS;
    s->used += area / NODES / (double)(last - first);
}

/* 'places' is the number of pending jobs with a planned start. */
static void add_ours(struct sums *s, const struct book *b, unsigned places)
{
    _cleanup_free_ char *conf =
        mem_printf("ClusterName=c\nSlurmctldHost=h\nSelectType=select/linear\n"
                   "SchedulerParameters=bf_job_part_count_reserve=%u\n"
                   "NodeName=n[1-32]\nPartitionName=p Nodes=ALL Default=YES\n",
                   places);
    char path[] = "/tmp/reference-test-XXXXXX";
    _cleanup_free_ char *text = as_trace(b);
    struct replay_options o = {.path = path};
    struct trace t;
    struct replay r;
    struct figures f;
    struct err err = {0};
    int fd = mkstemp(path);
    assert_int_equal(write(fd, conf, strlen(conf)), (ssize_t)strlen(conf));
    close(fd);
    if (trace_parse("drawn", text, &t, &err) != 0 || replay_run(&t, &o, &r, NULL, &err) != 0)
        fail_msg("%s", err.text);
    figures_make(&r, "c", &f);
    assert_int_equal(f.all.jobs, JOBS);
    s->slowdown += f.all.slow_mean;
    s->used += f.used;
    figures_done(&f);
    replay_done(&r);
    trace_done(&t);
    unlink(path);
}

static void print_comparison(const char *than, const struct sums *ours, const struct sums *theirs)
{
    print_message("%s: mean bounded slowdown %.2f, ours %.2f; utilisation %.4f, ours %.4f\n", than,
                  theirs->slowdown / SEEDS, ours->slowdown / SEEDS, theirs->used / SEEDS,
                  ours->used / SEEDS);
}

static void planner_compares_well_with_textbook_planners(void **state)
{
    struct sums ours = {0}, many = {0}, first = {0}, all = {0};
    struct book *b = mem_new(struct book);
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draw_book(b, seed);
        add_ours(&ours, b, 1);
        add_ours(&many, b, 16);
        b->now = -1;
        play_book(b, plan_easy);
        add_book(&first, b);
        draw_book(b, seed);
        b->now = -1;
        play_book(b, plan_conservatively);
        add_book(&all, b);
    }
    free(b);
    print_comparison("EASY", &ours, &first);
    print_comparison("conservative", &many, &all);
    assert_true(ours.slowdown <= first.slowdown * SAME && ours.used >= first.used / SAME);
    assert_true(many.slowdown <= all.slowdown * CLOSE && many.used >= all.used / SAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planner_compares_well_with_textbook_planners)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
