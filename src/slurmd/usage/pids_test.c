/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/step_id.h"

#include "slurmd/job/attempt_life.h"
#include "slurmd/usage/pids.h"

/* Parents: 7 is below 6 below shepherd 5; 20 and 21 are each other's parent; 9 has gone. */
static pid_t get_parent(pid_t pid)
{
    static const pid_t parents[][2] = {{7, 6},   {6, 5},   {5, 4},  {4, 1},
                                       {20, 21}, {21, 20}, {30, 31}};

    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++)
        if (parents[i][0] == pid)
            return parents[i][1];
    return 0;
}

static struct tally *make_tally(void)
{
    static const uint32_t pids[] = {6, 0, 8}, ranks[] = {4, 5, 6};
    struct tally *t = tally_new(0);
    struct snapshot s = {.at_ms = 1000};
    static const pid_t there[][2] = {{5, 4}, {6, 5}, {7, 6}, {8, 5}, {31, 1}, {40, 1}};
    static const pid_t roots[] = {5, 31};

    tally_set_step(t, 3, 0, STEP_ID_BATCH, 31, NULL, NULL, 0);
    tally_set_step(t, 3, 0, 1, 5, pids, ranks, 3);
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
        vec_push(&s.procs, ((struct snapshot_proc){
                               .pid = there[i][0], .parent = there[i][1], .started_ticks = 1}));
    snapshot_place(&s, roots, 2);
    tally_take(t, &s);
    snapshot_done(&s);
    return t;
}

static void processes_below_a_step_daemon_are_found(void **state)
{
    static const pid_t none[] = {0, 1, -1, 4, 5, 9, 20, 21, 31, 999};
    struct tally *t = make_tally();

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        if (pids_find(t, none[i], get_parent))
            fail_msg("%d belongs to a step", (int)none[i]);
    assert_int_equal(pids_find(t, 7, get_parent)->step_id, 1);
    assert_int_equal(pids_find(t, 6, get_parent)->step_id, 1);
    assert_int_equal(pids_find(t, 30, get_parent)->step_id, STEP_ID_BATCH);
    tally_free(t);
}

static void processes_of_a_job_are_listed(void **state)
{
    struct tally *t = make_tally();
    Pb__NodePidsRequest ask = PB__NODE_PIDS_REQUEST__INIT;
    Pb__NodePids m = PB__NODE_PIDS__INIT;
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    ask.has_job_id = true;
    ask.job_id = 99;
    pids_view(t, &ask, &arena, &m);
    assert_int_equal(m.n_steps, 0);
    ask.job_id = 3;
    pids_view(t, &ask, &arena, &m);
    assert_int_equal(m.n_steps, 2);
    assert_int_equal(m.steps[0]->step_id, 1);
    assert_int_equal(m.steps[1]->step_id, STEP_ID_BATCH);
    assert_int_equal(m.steps[1]->n_processes, 0);
    assert_int_equal(m.steps[0]->n_processes, 3); /* task 5 is over, 7 is a child of task 4's */
    Pb__StepProcess **p = m.steps[0]->processes;
    assert_true(p[0]->pid == 6 && p[0]->local == 0 && p[0]->task == 4);
    assert_true(p[1]->pid == 8 && p[1]->local == 2 && p[1]->task == 6);
    assert_true(p[2]->pid == 7 && !p[2]->has_local && !p[2]->has_task);
    m.n_steps = 0;
    ask.has_step_id = true;
    ask.step_id = 2;
    pids_view(t, &ask, &arena, &m);
    assert_int_equal(m.n_steps, 0);
    tally_free(t);
}

/* With PrivateData=jobs a user sees only the processes of the user's own jobs. */
static void processes_of_others_are_hidden(void **state)
{
    struct conf conf = {.private_data = "jobs"};
    struct slurmd d = {.conf = &conf, .loop = loop_new(0)};
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;
    Pb__StepPids steps[2] = {PB__STEP_PIDS__INIT, PB__STEP_PIDS__INIT};
    Pb__StepPids *list[2];
    Pb__NodePids m = PB__NODE_PIDS__INIT;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        about.job_id = steps[i].job_id = 3 + i;
        about.uid = 1000 + i;
        attempt_new_unnoted(&d, &about);
    }
    static const struct {
        uid_t uid;
        size_t seen;
        uint32_t first;
    } rows[] = {{1000, 1, 3}, {1001, 1, 4}, {1002, 0, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        list[0] = &steps[0];
        list[1] = &steps[1];
        m.steps = list;
        m.n_steps = 2;
        pids_hide(&d, rows[i].uid, &m);
        assert_int_equal(m.n_steps, rows[i].seen);
        if (rows[i].seen)
            assert_int_equal(m.steps[0]->job_id, rows[i].first);
    }
    conf.private_data = "nodes";
    m.n_steps = 2;
    pids_hide(&d, 1002, &m);
    assert_int_equal(m.n_steps, 2);
    attempt_free_all(&d);
    loop_free(d.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_below_a_step_daemon_are_found),
        cmocka_unit_test(processes_of_a_job_are_listed),
        cmocka_unit_test(processes_of_others_are_hidden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
