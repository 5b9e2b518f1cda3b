/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hetjob_two_mode, bf_hetjob_prio and bf_hetjob_immediate with a controller and a clock: which mode
 * follows which and when, and where a heterogeneous job has its place in the queue.
 */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define NODES                                                                                      \
    "SelectTypeParameters=CR_Core\nNodeName=n[1-3] CPUs=4\n"                                       \
    "PartitionName=a Nodes=n1 Default=YES MaxTime=60\nPartitionName=b Nodes=n2 MaxTime=60\n"       \
    "PartitionName=c Nodes=n3 MaxTime=60\n"
#define TWO_MODE "DebugFlags=Hetjob\nSchedulerParameters=hetjob_two_mode,bf_interval=10"

static struct str modes; /* of the passes that are over: "1 2 1" */

static void on_log(void *ctx, enum log_level level, const char *room, const char *text)
{
    const char *mode = strstr(text, "in mode ");
    (void)ctx;
    (void)level;
    (void)room;
    if (mode)
        str_printf(&modes, "%s%c", modes.len ? " " : "", mode[strlen("in mode ")]);
}

static struct fixture *make_fixture(const char *lines)
{
    _cleanup_free_ char *text = mem_printf("%s\n" NODES, lines);
    struct fixture *f = fixture_new_up(text, 3);
    f->env.log = on_log;
    str_clear(&modes);
    return f;
}

static Pb__JobSpec whole_node(const char *part, uint32_t minutes)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.partition = (char *)part;
    s.has_num_tasks = s.has_min_nodes = s.has_max_nodes = s.has_time_limit_sec = true;
    s.num_tasks = 4;
    s.min_nodes = s.max_nodes = 1;
    s.time_limit_sec = 60 * minutes;
    return s;
}

static int64_t submit_job(struct fixture *f, const char *part, uint32_t minutes)
{
    struct caller user = FIXTURE_USER;
    const Pb__JobSpec s = whole_node(part, minutes);
    return fixture_submit(f, &user, &s);
}

static int64_t submit_set(struct fixture *f, const char *first, const char *second)
{
    struct caller user = FIXTURE_USER;
    const Pb__JobSpec specs[] = {whole_node(first, 10), whole_node(second, 10)};
    return fixture_submit_set(f, &user, specs, 2);
}

/* "R", or "PD Resources+600": when it is expected to start, in seconds from now. */
static void job_is(struct fixture *f, int64_t id, const char *expected)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str out = STR_INIT;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, (uint32_t)id)->live;
    str_puts(&out, live->state == PB__JOB_STATE__RUNNING ? "R" : "PD");
    if (live->state == PB__JOB_STATE__PENDING)
        str_printf(&out, " %s", live->reason ? live->reason : "None");
    if (live->state == PB__JOB_STATE__PENDING && live->start_at)
        str_printf(&out, "+%lld", (long long)(live->start_at - f->wall_ms / 1000));
    if (!str_eq(str_cstr(&out), expected))
        fail_msg("job %lld: expected '%s', got '%s'", (long long)id, expected, str_cstr(&out));
}

/* HET-117 to HET-120: modes alternate while the job waits; component 0 keeps its node in mode 1
 * only, and in mode 2 another job gets it. */
static void scheduling_modes_alternate_while_a_set_waits(void **state)
{
    struct fixture *f = make_fixture(TWO_MODE);
    (void)state;
    int64_t blocker = submit_job(f, "b", 20);
    int64_t id = submit_set(f, "a", "b");
    assert_string_equal(str_cstr(&modes), "1");
    job_is(f, id, "PD Resources+0");
    job_is(f, id + 1, "PD Resources+1200");
    fixture_pass(f, 9000);
    assert_string_equal(str_cstr(&modes), "1");
    fixture_pass(f, 1000);
    assert_string_equal(str_cstr(&modes), "1 2");
    job_is(f, id, "PD Resources+1190");
    job_is(f, id + 1, "PD Resources+1190");
    fixture_pass(f, 10000);
    assert_string_equal(str_cstr(&modes), "1 2 1");
    int64_t other = submit_job(f, "a", 15); /* a pass in mode 2 */
    assert_string_equal(str_cstr(&modes), "1 2 1 2");
    job_is(f, other, "R");
    fixture_end(f, (uint32_t)other, 0);
    fixture_end(f, (uint32_t)blocker, 0);
    fixture_pass(f, 10000);
    fixture_pass(f, 10000);
    job_is(f, id, "R");
    job_is(f, id + 1, "R");
    str_clear(&modes);
    fixture_pass(f, 60000);
    assert_string_equal(str_cstr(&modes), ""); /* none waits */
    fixture_free(f);
    str_done(&modes);
}

/* HET-115, HET-127: all components start together, or none does, with and without
 * bf_hetjob_immediate. */
static void a_set_that_fits_starts_in_its_first_pass(void **state)
{
    static const char *const lines[] = {TWO_MODE, TWO_MODE ",bf_hetjob_immediate"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct fixture *f = make_fixture(lines[i]);
        int64_t id = submit_set(f, "a", "b");
        job_is(f, id, "R");
        job_is(f, id + 1, "R");
        assert_string_equal(str_cstr(&modes), "1");
        fixture_restart(f);
        job_is(f, id + 1, "R");
        fixture_free(f);
        str_done(&modes);
    }
}

/* HET-103: the first pass starts a set, with and without backfill; and while it waits all
 * components have one planned start. */
static void every_scheduler_starts_sets(void **state)
{
    static const char *const lines[] = {"", "SchedulerType=sched/builtin"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct fixture *f = make_fixture(lines[i]);
        int64_t id = submit_set(f, "a", "b");
        job_is(f, id, "R");
        job_is(f, id + 1, "R");
        int64_t waits = submit_set(f, "b", "c");
        job_is(f, waits, i ? "PD Resources" : "PD Resources+600");
        job_is(f, waits + 1, i ? "PD Resources" : "PD Resources+600");
        fixture_end(f, (uint32_t)id, 0);
        fixture_gone(f, "n2", (uint32_t)id + 1, 0);
        fixture_turn(f);
        job_is(f, waits, "R");
        job_is(f, waits + 1, "R");
        fixture_free(f);
    }
    str_done(&modes);
}

/* HET-126: the components of the set have the priorities 90 and 30, the other job 70: which of them
 * is before the other one in the queue of the node that both want. What sprio shows stays. */
static void set_priority_follows_bf_hetjob_prio(void **state)
{
    static const struct {
        const char *lines;
        bool set_first;
    } cases[] = {
        {"", true},
        {"SchedulerParameters=bf_hetjob_prio=min", false},
        {"SchedulerParameters=bf_hetjob_prio=avg", false},
        {"SchedulerParameters=bf_hetjob_prio=max", true},
        {"SchedulerParameters=bf_hetjob_immediate", false},
    };
    struct caller root = FIXTURE_ROOT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture *f = make_fixture(cases[i].lines);
        Pb__JobSpec specs[] = {whole_node("a", 10), whole_node("b", 10)}, job = whole_node("a", 10);
        int64_t blocker = submit_job(f, "a", 20);
        specs[0].has_priority = specs[1].has_priority = job.has_priority = true;
        specs[0].priority = 90;
        specs[1].priority = 30;
        job.priority = 70;
        int64_t id = fixture_submit_set(f, &root, specs, 2);
        int64_t other = fixture_submit(f, &root, &job);
        fixture_end(f, (uint32_t)blocker, 0);
        fixture_turn(f);
        job_is(f, cases[i].set_first ? id : other, "R");
        job_is(f, cases[i].set_first ? other : id + 1, "PD Resources+600");
        assert_int_equal(fixture_job(f, &arena, (uint32_t)id)->live->priority, 90);
        assert_int_equal(fixture_job(f, &arena, (uint32_t)id + 1)->live->priority, 30);
        fixture_free(f);
        str_done(&modes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scheduling_modes_alternate_while_a_set_waits),
        cmocka_unit_test(a_set_that_fits_starts_in_its_first_pass),
        cmocka_unit_test(every_scheduler_starts_sets),
        cmocka_unit_test(set_priority_follows_bf_hetjob_prio),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
