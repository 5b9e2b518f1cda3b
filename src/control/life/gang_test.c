/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gang scheduling in the controller: the guide's examples, orders to nodes, restarts, suspension by
 * users and preemptors, changes of the configuration: GANG-02 to GANG-09, GANG-22, GANG-24,
 * GANG-27, GANG-39, GANG-43, GANG-47 to GANG-51, GANG-54 to GANG-57, GANG-59, GANG-62,
 * HET-104. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define SLICE_MS 30000
#define NODES "NodeName=n[12-16] Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000\n"
#define GANG "PreemptMode=GANG\nSlurmdTimeout=0\n"
#define CORES "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
#define COUNTED                                                                                    \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\nTaskPlugin=task/none\n"
#define LINEAR                                                                                     \
    "SelectType=select/linear\nSelectTypeParameters=CR_Memory\nSchedulerType=sched/builtin\n"
#define ACTIVE "PartitionName=active Nodes=ALL Default=YES OverSubscribe=FORCE DefMemPerNode=100\n"

static void register_nodes(struct fixture *f)
{
    static const char *const names[] = {"n12", "n13", "n14", "n15", "n16"};
    for (size_t i = 0; i < 5; i++)
        fixture_register(f, names[i], "i1");
    fixture_turn(f);
}

static struct fixture *make_fixture(const char *conf)
{
    struct fixture *f = fixture_new(conf);
    register_nodes(f);
    return f;
}

static Pb__JobSpec make_spec(uint32_t nodes, uint32_t tasks)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_max_nodes = true;
    s.min_nodes = s.max_nodes = nodes;
    s.has_num_tasks = tasks > 0;
    s.num_tasks = tasks;
    return s;
}

static int64_t submit_job(struct fixture *f, uint32_t nodes, uint32_t tasks)
{
    const Pb__JobSpec s = make_spec(nodes, tasks);
    int64_t id = fixture_submit(f, &FIXTURE_USER, &s);
    assert_true(id > 0);
    return id;
}

/* "3 | 4 | 5": jobs from 'first' to 'last' that run, are suspended, and wait. */
static void expect_jobs(struct fixture *f, int64_t first, int64_t last, const char *states)
{
    static const Pb__JobState kinds[] = {PB__JOB_STATE__RUNNING, PB__JOB_STATE__SUSPENDED,
                                         PB__JOB_STATE__PENDING};
    _cleanup_str_ struct str text = STR_INIT;
    for (size_t i = 0; i < 3; i++) {
        str_puts(&text, i ? "|" : "");
        for (int64_t id = first, n = 0; id <= last; id++)
            if (fixture_state(f, (uint32_t)id) == kinds[i])
                str_printf(&text, "%s%d", n++ ? " " : "", (int)id);
    }
    assert_string_equal(str_cstr(&text), states);
}

static void pass_slice(struct fixture *f, int64_t first, int64_t last, const char *states)
{
    fixture_obey(f);
    fixture_pass(f, SLICE_MS);
    fixture_obey(f);
    expect_jobs(f, first, last, states);
}

/* TIME of squeue: the run time in seconds. */
static int64_t get_run_sec(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = fixture_job(f, &arena, (uint32_t)id)->live;
    if (l->state == PB__JOB_STATE__SUSPENDED)
        return l->ran_ms / 1000;
    return f->wall_ms / 1000 - l->start_at - l->suspended_sec;
}

/* The script of the job ends, and all of its nodes are clean. */
static void end_job(struct fixture *f, int64_t id)
{
    static const char *const names[] = {"n12", "n13", "n14", "n15", "n16"};
    char host[8] = "";
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    snprintf(host, sizeof host, "%s", fixture_job(f, &arena, (uint32_t)id)->live->alloc[0]->node);
    fixture_launched(f, host, (uint32_t)id, 0);
    fixture_batch_ended(f, host, (uint32_t)id, 0, 0);
    for (size_t i = 0; i < 5; i++)
        fixture_gone(f, names[i], (uint32_t)id, 0);
    fixture_turn(f);
}

/* Whether the last order to the node about the job is to stop (1), to go on (0); -1: none. */
static int find_last_order(const struct fixture *f, const char *node, int64_t id)
{
    int stop = -1;
    vec_foreach (&f->orders, at)
        for (size_t i = 0; strcmp((*at)->node, node) == 0 && i < (*at)->orders->n_orders; i++) {
            const Pb__Halt *m = (*at)->orders->orders[i]->halt;
            if (m && m->job_id == id)
                stop = m->stop;
        }
    return stop;
}

/* GANG-03 to GANG-06, GANG-39, GANG-43. */
static void two_jobs_on_all_nodes_take_turns(void **state)
{
    struct fixture *f = make_fixture(LINEAR GANG NODES ACTIVE);
    (void)state;
    submit_job(f, 5, 0);
    fixture_pass(f, 13000);
    submit_job(f, 5, 0);
    expect_jobs(f, 1, 2, "1|2|");
    assert_int_equal(get_run_sec(f, 2), 0);
    pass_slice(f, 1, 2, "2|1|");
    assert_int_equal(get_run_sec(f, 1), 43);
    fixture_pass(f, 8000);
    assert_int_equal(get_run_sec(f, 1), 43);
    assert_int_equal(get_run_sec(f, 2), 8);
    fixture_pass(f, 22000);
    fixture_obey(f);
    expect_jobs(f, 1, 2, "1|2|");
    assert_int_equal(get_run_sec(f, 2), 30);
    end_job(f, 1);
    expect_jobs(f, 1, 2, "2||");
    fixture_obey(f);
    fixture_pass(f, 4 * SLICE_MS);
    assert_int_equal(find_last_order(f, "n12", 2), -1); /* no job waits: it is not stopped */
    assert_int_equal(get_run_sec(f, 2), 150);
    fixture_free(f);
}

/* The script is sent with the order to stand still before it; a job goes on when the other one has
 * said that it stands still, and not before. */
static void suspend_orders_precede_launches(void **state)
{
    struct fixture *f = make_fixture(LINEAR GANG NODES ACTIVE);
    (void)state;
    submit_job(f, 5, 0);
    fixture_clear(f);
    submit_job(f, 5, 0);
    assert_int_equal(find_last_order(f, "n12", 2), 1);
    assert_int_equal(fixture_launches(f, "n12", 2), 1);
    bool stands = false;
    vec_foreach (&f->orders, at)
        for (size_t i = 0; strcmp((*at)->node, "n12") == 0 && i < (*at)->orders->n_orders; i++) {
            stands = stands || (*at)->orders->orders[i]->halt;
            assert_true(stands || !(*at)->orders->orders[i]->launch);
        }
    fixture_obey(f);
    fixture_pass(f, SLICE_MS);
    expect_jobs(f, 1, 2, "2|1|");
    assert_int_equal(find_last_order(f, "n12", 1), 1);
    assert_int_equal(find_last_order(f, "n12", 2), -1);
    assert_int_equal(find_last_order(f, "n13", 2),
                     0);    /* the other job has not begun anything there */
    fixture_pass(f, 10000); /* the order to stop is repeated, the other one is not given */
    assert_int_equal(find_last_order(f, "n12", 2), -1);
    fixture_halted(f, "n12", 1, 1);
    fixture_turn(f);
    assert_int_equal(find_last_order(f, "n12", 2), 0);
    fixture_free(f);
}

/* GANG-47, GANG-48: nodes are chosen as in the guide. */
static void guide_examples_with_whole_nodes(void **state)
{
    struct fixture *f = make_fixture(LINEAR GANG NODES ACTIVE);
    (void)state;
    submit_job(f, 3, 0);
    submit_job(f, 2, 0);
    submit_job(f, 3, 0);
    expect_jobs(f, 1, 3, "1 2|3|");
    pass_slice(f, 1, 3, "2 3|1|");
    pass_slice(f, 1, 3, "1 2|3|");
    fixture_free(f);
    f = make_fixture(LINEAR GANG NODES ACTIVE);
    submit_job(f, 3, 0);
    submit_job(f, 5, 0);
    submit_job(f, 2, 0);
    expect_jobs(f, 1, 3, "1 3|2|");
    pass_slice(f, 1, 3, "2|1 3|");
    pass_slice(f, 1, 3, "1 3|2|");
    fixture_free(f);
}

/* GANG-49, GANG-51: without time slices the small job waits behind the large one; backfill starts
 * it when it ends before the large one can begin. */
static void small_job_without_time_slices(void **state)
{
    static const struct {
        const char *scheduler;
        int64_t limit_sec;
        const char *states;
    } v[] = {{"sched/builtin", 600, "1||2 3"},
             {"sched/backfill", 600, "1 3||2"},
             {"sched/backfill", 1200, "1||2 3"}};
    (void)state;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_free_ char *conf =
            mem_printf("SelectType=select/linear\nSchedulerType=%s\nSlurmdTimeout=0\n" NODES
                       "PartitionName=p Nodes=ALL Default=YES OverSubscribe=NO\n",
                       v[i].scheduler);
        struct fixture *f = make_fixture(conf);
        const uint32_t nodes[] = {3, 5, 2};
        for (size_t k = 0; k < 3; k++) {
            Pb__JobSpec s = make_spec(nodes[k], 0);
            s.has_time_limit_sec = true;
            s.time_limit_sec = k < 2 ? 900 : v[i].limit_sec;
            fixture_submit(f, &FIXTURE_USER, &s);
        }
        fixture_turn(f);
        expect_jobs(f, 1, 3, v[i].states);
        fixture_free(f);
    }
}

/* GANG-54, GANG-55. */
static void cores_of_their_own_are_never_suspended(void **state)
{
    struct fixture *f = make_fixture(CORES GANG NODES ACTIVE);
    (void)state;
    for (int i = 0; i < 6; i++)
        submit_job(f, 5, 10);
    expect_jobs(f, 1, 6, "1 2 3 4|5 6|");
    pass_slice(f, 1, 6, "3 4 5 6|1 2|");
    pass_slice(f, 1, 6, "1 2 3 4|5 6|");
    pass_slice(f, 1, 6, "3 4 5 6|1 2|");
    assert_int_equal(get_run_sec(f, 3), 2 * get_run_sec(f, 5) + 30);
    fixture_free(f);
}

/* GANG-56, GANG-57. */
static void counted_cpus_are_shared_by_all(void **state)
{
    struct fixture *f = make_fixture(COUNTED GANG NODES ACTIVE);
    (void)state;
    for (int i = 0; i < 6; i++)
        submit_job(f, 5, 10);
    expect_jobs(f, 1, 6, "1 2 3 4|5 6|");
    pass_slice(f, 1, 6, "1 2 5 6|3 4|");
    pass_slice(f, 1, 6, "3 4 5 6|1 2|");
    pass_slice(f, 1, 6, "1 2 3 4|5 6|");
    for (int64_t id = 1; id <= 6; id++)
        assert_int_equal(get_run_sec(f, id), 60);
    fixture_free(f);
}

static int64_t submit_on(struct fixture *f, const char *part, const char *node, uint32_t tasks)
{
    Pb__JobSpec s = make_spec(1, tasks);
    s.partition = (char *)part;
    s.req_nodes = (char *)node;
    return fixture_submit(f, &FIXTURE_USER, &s);
}

/* Whether the node hears of an order to stop before it hears of the launch. */
static bool stops_before_launch(const struct fixture *f, const char *node, int64_t id)
{
    bool stops = false, launched = false;
    vec_foreach (&f->orders, at)
        for (size_t i = 0; strcmp((*at)->node, node) == 0 && i < (*at)->orders->n_orders; i++) {
            const Pb__NodeOrder *o = (*at)->orders->orders[i];
            launched = launched || (o->launch && o->launch->job_id == id);
            stops = stops || (!launched && o->halt && o->halt->job_id == id && o->halt->stop);
        }
    return stops && launched;
}

/* A job takes CPUs that others used in turn: it stands still until one of these has stopped. */
static void expect_wait_for_those_that_stop(const char *conf)
{
    struct fixture *f = make_fixture(conf);
    for (int i = 0; i < 3; i++)
        submit_on(f, "active", "n12", 4);
    expect_jobs(f, 1, 3, "1 2|3|");
    fixture_obey(f);
    end_job(f, 2);
    fixture_obey(f);
    expect_jobs(f, 1, 3, "1 3||");
    submit_on(f, "alone", "n12", 4); /* in the moment in which job 3 was resumed */
    assert_true(stops_before_launch(f, "n12", 4));
    expect_jobs(f, 1, 4, "1 3 4||"); /* its own turn need not come */
    fixture_turn(f);
    expect_jobs(f, 1, 4, "1 4|3|");
    assert_int_equal(find_last_order(f, "n12", 3), 1);
    assert_int_equal(find_last_order(f, "n12", 4), 1);
    fixture_clear(f);
    fixture_register(f, "n12", "i1"); /* the order may be lost: it is sent again, no resume order */
    fixture_turn(f);
    assert_int_equal(find_last_order(f, "n12", 4), 1);
    fixture_obey(f);
    expect_jobs(f, 1, 4, "1 4|3|");
    fixture_clear(f);
    fixture_register(f, "n12", "i1");
    fixture_turn(f);
    assert_int_equal(find_last_order(f, "n12", 4), 0);
    fixture_obey(f);
    fixture_pass(f, 10000);
    assert_int_equal(find_last_order(f, "n12", 4), -1); /* it got the order, and resumes */
    pass_slice(f, 1, 4, "3 4|1|");
    submit_on(f, "alone", "n13", 4); /* no job has to stop there: no orders */
    assert_int_equal(find_last_order(f, "n13", 5), -1);
    assert_int_equal(fixture_launches(f, "n13", 5), 1);
    fixture_free(f);
}

/* GANG-07: with GangOverlap=no, jobs of another partition are as those that share with nobody. */
static void resumed_job_waits_until_others_have_stopped(void **state)
{
    (void)state;
    expect_wait_for_those_that_stop(COUNTED GANG NODES ACTIVE
                                    "PartitionName=alone Nodes=ALL DefMemPerNode=100\n");
    expect_wait_for_those_that_stop(
        COUNTED GANG "GangOverlap=no\n" NODES ACTIVE
                     "PartitionName=alone Nodes=ALL DefMemPerNode=100 OverSubscribe=FORCE:2\n");
}

/* The node has not been told of the job: a step is created when the former job has stopped, since
 * its srun, and not the controller, launches it. */
static void step_waits_until_other_jobs_have_stopped(void **state)
{
    struct fixture *f = make_fixture(LINEAR GANG NODES ACTIVE);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec job = make_spec(5, 0);
    Pb__AllocRequest alloc = PB__ALLOC_REQUEST__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    (void)state;
    submit_job(f, 5, 0);
    fixture_obey(f);
    alloc.spec = &job;
    control_alloc(f->control, ++f->last_call, &user, &alloc);
    fixture_turn(f);
    expect_jobs(f, 1, 2, "1|2|");
    fixture_pass(f, SLICE_MS);
    expect_jobs(f, 1, 2, "2|1|");
    step.has_job_id = step.has_num_tasks = true;
    step.job_id = 2;
    step.num_tasks = 5;
    control_step_create(f->control, ++f->last_call, &user, &step);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), -1);
    fixture_halted(f, "n12", 1, 1);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    fixture_free(f);
}

/* GANG-22, GANG-23, GANG-50: no more jobs than FORCE says; those suspended count. */
static void no_more_jobs_than_the_partition_says_share(void **state)
{
    struct fixture *f = make_fixture(LINEAR GANG NODES "PartitionName=p Nodes=ALL Default=YES "
                                                       "OverSubscribe=FORCE:2 DefMemPerNode=100\n");
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    (void)state;
    for (int i = 0; i < 4; i++)
        submit_job(f, 5, 0);
    expect_jobs(f, 1, 4, "1|2|3 4");
    pass_slice(f, 1, 4, "2|1|3 4");
    set.name = (char *)"p"; /* GANG-26 */
    set.share = (char *)"FORCE:3";
    assert_int_equal(fixture_update_part(f, &set), 0);
    fixture_turn(f);
    expect_jobs(f, 1, 4, "2|1 3|4");
    pass_slice(f, 1, 4, "1|2 3|4");
    end_job(f, 1);
    expect_jobs(f, 1, 4, "3|2 4|");
    fixture_free(f);
}

#define BACKFILL                                                                                   \
    CORES "SchedulerType=sched/backfill\n" GANG NODES                                              \
          "PartitionName=p Nodes=ALL Default=YES OverSubscribe=FORCE:2 DefMemPerNode=100\n"        \
          "PartitionName=alone Nodes=ALL DefMemPerNode=100\n"

static int64_t submit_for(struct fixture *f, const char *part, int64_t limit_sec)
{
    Pb__JobSpec s = make_spec(5, 40);
    s.partition = (char *)part;
    s.has_time_limit_sec = true;
    s.time_limit_sec = limit_sec;
    return fixture_submit(f, &FIXTURE_USER, &s);
}

/* When the job is planned to start, in seconds from now. */
static int64_t get_planned_start_in_sec(struct fixture *f, uint32_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = fixture_job(f, &arena, id)->live;
    return l->start_at - f->wall_ms / 1000;
}

/* Jobs that take turns end later than their limits say, and later jobs are planned behind that. */
static void planned_starts_know_the_rotation(void **state)
{
    struct fixture *f = make_fixture(BACKFILL);
    (void)state;
    for (int i = 0; i < 3; i++)
        submit_for(f, "p", 600);
    submit_for(f, "alone", 600);
    fixture_turn(f);
    expect_jobs(f, 1, 4, "1|2|3 4");
    assert_int_equal(get_planned_start_in_sec(f, 3), 1170); /* the last slice of job 1 ends */
    pass_slice(f, 1, 4, "2|1|3 4");
    fixture_pass(f, 10000);
    fixture_restart(f);
    register_nodes(f);
    assert_int_equal(fixture_cancel(f, &FIXTURE_USER, 3, NULL, 0), 0);
    fixture_turn(f);
    fixture_turn(f);
    assert_int_equal(get_planned_start_in_sec(f, 4), 1200 - 40);
    end_job(f, 2);
    fixture_obey(f);
    expect_jobs(f, 1, 1, "1||");
    fixture_turn(f);
    assert_int_equal(get_planned_start_in_sec(f, 4), 570); /* it runs alone from now on */
    fixture_free(f);
}

/* All are looked at in the pass that starts the first two, and again when their ends are foreseen.
 */
static void start_that_was_planned_too_early_is_planned_again(void **state)
{
    struct fixture *f = fixture_new(BACKFILL);
    (void)state;
    for (int i = 0; i < 2; i++)
        submit_for(f, "p", 600);
    submit_for(f, "alone", 600);
    expect_jobs(f, 1, 3, "||1 2 3");
    register_nodes(f);
    fixture_turn(f);
    expect_jobs(f, 1, 3, "1|2|3");
    assert_int_equal(get_planned_start_in_sec(f, 3), 1200);
    fixture_free(f);
}

/* A limit that is changed is foreseen as well. */
static void planned_start_follows_a_changed_limit(void **state)
{
    struct fixture *f = make_fixture(BACKFILL);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    (void)state;
    for (int i = 0; i < 2; i++)
        submit_for(f, "p", 600);
    submit_for(f, "alone", 600);
    fixture_turn(f);
    assert_int_equal(get_planned_start_in_sec(f, 3), 1200);
    r.job_id = 2;
    r.set = &set;
    set.has_time_limit_sec = true;
    set.time_limit_sec = 300;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    fixture_turn(f);
    assert_int_equal(get_planned_start_in_sec(f, 3), 900);
    r.job_id = 1;
    set.time_limit_sec = 60;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    fixture_turn(f);
    assert_int_equal(get_planned_start_in_sec(f, 3), 360);
    fixture_free(f);
}

/* A heterogeneous job is foreseen to take turns until its last component ends. */
static void planned_start_knows_all_components(void **state)
{
    struct fixture *f = make_fixture("GangHet=yes\n" BACKFILL);
    Pb__JobSpec specs[] = {make_spec(2, 16), make_spec(3, 24)};
    (void)state;
    submit_for(f, "p", 600);
    for (int i = 0; i < 2; i++) {
        specs[i].has_time_limit_sec = true;
        specs[i].time_limit_sec = i ? 300 : 600;
    }
    assert_int_equal(fixture_submit_set(f, &FIXTURE_USER, specs, 2), 2);
    submit_for(f, "alone", 600);
    fixture_turn(f);
    fixture_turn(f);
    expect_jobs(f, 1, 4, "1|2 3|4");
    assert_int_equal(get_planned_start_in_sec(f, 4), 1200);
    fixture_free(f);
}

static void rotation_continues_after_a_restart(void **state)
{
    struct fixture *f = make_fixture(LINEAR GANG NODES ACTIVE);
    (void)state;
    for (int i = 0; i < 4; i++)
        submit_job(f, 5, 0);
    pass_slice(f, 1, 4, "2|1 3 4|");
    pass_slice(f, 1, 4, "3|1 2 4|");
    for (int64_t i = 0; i < 4; i++) {
        static const char *const then[] = {"4|1 2 3|", "1|2 3 4|", "2|1 3 4|", "3|1 2 4|"};
        int64_t ran[5];
        for (int64_t id = 1; id <= 4; id++)
            ran[id] = get_run_sec(f, id);
        fixture_restart(f);
        register_nodes(f);
        for (int64_t id = 1; id <= 4; id++)
            assert_int_equal(get_run_sec(f, id), ran[id]);
        pass_slice(f, 1, 4, then[i]);
    }
    fixture_free(f);
}

/* GANG-59, and a job that waits for its turn is suspended, too: it loses its turn and its CPUs. */
static void users_suspend_and_resume(void **state)
{
    struct fixture *f = make_fixture(LINEAR GANG NODES "PartitionName=p Nodes=ALL Default=YES "
                                                       "OverSubscribe=FORCE:2 DefMemPerNode=100\n");
    (void)state;
    for (int i = 0; i < 3; i++)
        submit_job(f, 5, 0);
    expect_jobs(f, 1, 3, "1|2|3");
    assert_int_equal(fixture_suspend(f, 2, true), ERR_NOT_SUSPENDED);
    assert_non_null(
        strstr(fixture_text(f, f->last_call), "gang scheduling resumes it in its turn"));
    assert_int_equal(fixture_suspend(f, 2, false), 0);
    fixture_obey(f);
    expect_jobs(f, 1, 3, "1|2 3|");
    pass_slice(f, 1, 3, "3|1 2|");
    fixture_pass(f, 1000);
    assert_int_equal(fixture_suspend(f, 3, false), 0);
    expect_jobs(f, 1, 3, "|1 2 3|"); /* it has its CPUs until it stands */
    fixture_obey(f);
    expect_jobs(f, 1, 3, "1|2 3|"); /* its CPUs are free for the other */
    assert_int_equal(fixture_suspend(f, 2, true), 0);
    expect_jobs(f, 1, 3, "1|2 3|");
    assert_int_equal(fixture_suspend(f, 3, true), ERR_NODES_BUSY); /* two have its CPUs */
    assert_non_null(strstr(fixture_text(f, f->last_call),
                           "n12: OverSubscribe=FORCE:2 of partition p lets no more jobs have its "
                           "CPUs, which jobs 1, 2 have"));
    pass_slice(f, 1, 3, "2|1 3|");
    end_job(f, 1);
    assert_int_equal(fixture_suspend(f, 3, true), 0);
    expect_jobs(f, 2, 3, "2|3|");
    pass_slice(f, 2, 3, "3|2|");
    end_job(f, 3);
    expect_jobs(f, 2, 3, "2||");
    fixture_free(f);
}

/* The job whose turn it is waits for the other one to stop, as before, and is not suspended again.
 */
static void job_that_is_stopping_is_suspended_by_its_user(void **state)
{
    struct fixture *f = make_fixture(LINEAR GANG NODES ACTIVE);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    submit_job(f, 5, 0);
    submit_job(f, 5, 0);
    fixture_obey(f);
    fixture_pass(f, SLICE_MS);
    expect_jobs(f, 1, 2, "2|1|");
    uint32_t halts = fixture_job(f, &arena, 2)->live->halts;
    assert_int_equal(fixture_suspend(f, 1, false), 0);
    fixture_turn(f);
    expect_jobs(f, 1, 2, "2|1|");
    fixture_obey(f);
    expect_jobs(f, 1, 2, "2|1|");
    assert_int_equal(fixture_job(f, &arena, 2)->live->halts, halts);
    fixture_free(f);
}

/* GANG-02: a preemptor has the nodes until it ends, and the others take turns again. */
static void preemptor_has_the_nodes_until_it_ends(void **state)
{
    struct fixture *f = make_fixture(
        CORES
        "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\nSlurmdTimeout=0\n" NODES
        "PartitionName=low Nodes=ALL Default=YES OverSubscribe=FORCE DefMemPerNode=100\n"
        "PartitionName=high Nodes=ALL PriorityTier=2 DefMemPerNode=100\n");
    Pb__JobSpec s = make_spec(5, 40);
    (void)state;
    submit_job(f, 5, 40);
    submit_job(f, 5, 40);
    fixture_obey(f);
    expect_jobs(f, 1, 2, "1|2|");
    s.partition = (char *)"high";
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), 3);
    fixture_obey(f);
    expect_jobs(f, 1, 3, "3|1 2|");
    pass_slice(f, 1, 3, "3|1 2|");
    end_job(f, 3);
    fixture_obey(f);
    expect_jobs(f, 1, 2, "1|2|");
    pass_slice(f, 1, 2, "2|1|");
    fixture_free(f);
}

/* The signal that the node was ordered to give the job; 0: none. */
static int find_signal(const struct fixture *f, const char *node, int64_t id)
{
    int signo = 0;
    vec_foreach (&f->orders, at)
        for (size_t i = 0; strcmp((*at)->node, node) == 0 && i < (*at)->orders->n_orders; i++) {
            const Pb__SignalJob *m = (*at)->orders->orders[i]->signal;
            if (m && m->job_id == id)
                signo = signo * 100 + (int)m->signal;
        }
    return signo;
}

#define CANCELS                                                                                    \
    "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL,GANG\nSlurmdTimeout=0\n" NODES         \
    "PartitionName=high Nodes=ALL PriorityTier=2 DefMemPerNode=100\n"                              \
    "PartitionName=low Nodes=ALL Default=YES OverSubscribe=FORCE DefMemPerNode=100 "

/* A cancelled job that waits for its turn has its time of grace. It is not continued for that,
 * takes turns, and ends with those that ran. A restart changes nothing. */
static void grace_time_of_a_job_that_waits_for_its_turn(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct fixture *f = make_fixture(CORES CANCELS "GraceTime=75\n");
        Pb__JobSpec s = make_spec(5, 40);
        submit_job(f, 5, 40);
        submit_job(f, 5, 40);
        fixture_obey(f);
        fixture_pass(f, 10000);
        s.partition = (char *)"high";
        assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), 3);
        assert_int_equal(find_signal(f, "n12", 1), SIGCONT * 100 + SIGTERM);
        assert_int_equal(find_signal(f, "n12", 2), SIGTERM);
        fixture_obey(f);
        expect_jobs(f, 1, 3, "1|2|3");
        fixture_pass(f, 20000);
        fixture_obey(f);
        expect_jobs(f, 1, 3, "2|1|3"); /* and no pass resumes the other one */
        if (restart) {
            fixture_restart(f);
            register_nodes(f);
            fixture_obey(f);
        }
        fixture_pass(f, 30000);
        fixture_obey(f);
        expect_jobs(f, 1, 3, "1|2|3");
        fixture_pass(f, 24000);
        expect_jobs(f, 1, 3, "1|2|3");
        fixture_pass(f, 1000);
        for (uint32_t id = 1; id <= 2; id++)
            assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PREEMPTED);
        fixture_free(f);
    }
}

/* Without GraceTime all of them end at once. */
static void job_that_waits_for_its_turn_is_cancelled_at_once(void **state)
{
    struct fixture *f = make_fixture(CORES CANCELS "\n");
    Pb__JobSpec s = make_spec(5, 40);
    (void)state;
    submit_job(f, 5, 40);
    submit_job(f, 5, 40);
    fixture_obey(f);
    s.partition = (char *)"high";
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), 3);
    for (uint32_t id = 1; id <= 2; id++)
        assert_int_equal(fixture_state(f, id), PB__JOB_STATE__PREEMPTED);
    fixture_free(f);
}

/* GANG-27: any of it changes by reconfigure. */
static void gang_configuration_is_changed_by_reconfiguration(void **state)
{
    struct fixture *f = make_fixture(LINEAR GANG NODES ACTIVE);
    (void)state;
    submit_job(f, 5, 0);
    submit_job(f, 5, 0);
    expect_jobs(f, 1, 2, "1|2|");
    fixture_reconfigure(f, LINEAR "SlurmdTimeout=0\n" NODES ACTIVE);
    expect_jobs(f, 1, 2, "1 2||");
    fixture_reconfigure(f, LINEAR GANG "SchedulerTimeSlice=5\n" NODES ACTIVE);
    expect_jobs(f, 1, 2, "1|2|");
    fixture_obey(f);
    fixture_pass(f, 5000);
    expect_jobs(f, 1, 2, "2|1|");
    fixture_reconfigure(f, LINEAR GANG NODES "PartitionName=active Nodes=ALL Default=YES\n");
    fixture_obey(f);
    expect_jobs(f, 1, 2, "2|1|"); /* they have the same nodes still */
    pass_slice(f, 1, 2, "1|2|");
    fixture_free(f);
}

/* Partitions with nodes in common share them in one rotation, or not at all; never more jobs than
 * the stricter one says. */
static void overlapping_partitions_share_one_rotation(void **state)
{
    static const char parts[] =
        "PartitionName=a Nodes=ALL Default=YES OverSubscribe=FORCE:3 DefMemPerNode=100\n"
        "PartitionName=b Nodes=n[12-13] OverSubscribe=FORCE:2 DefMemPerNode=100 PriorityTier=2\n";
    for (int apart = 0; apart < 3; apart++) {
        static const char *const how[] = {
            "", "GangOverlap=no\n",
            "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n"};
        _cleanup_free_ char *conf =
            mem_printf("%s%s%s%s%s", LINEAR, apart == 2 ? "SlurmdTimeout=0\n" : GANG, how[apart],
                       NODES, parts);
        struct fixture *f = make_fixture(conf);
        Pb__JobSpec s = make_spec(2, 0);
        (void)state;
        submit_job(f, 5, 0);
        s.partition = (char *)"b";
        fixture_submit(f, &FIXTURE_USER, &s);
        fixture_obey(f);
        if (apart) {
            expect_jobs(f, 1, 2, apart == 1 ? "1||2" : "2|1|"); /* it preempts the other one */
        } else {
            expect_jobs(f, 1, 2, "1|2|");
            submit_job(f, 5, 0);
            expect_jobs(f, 1, 3, "1|2|3"); /* b allows no third job on its nodes */
            submit_job(f, 3, 0);
            pass_slice(f, 1, 2, "2|1|");
            pass_slice(f, 1, 2, "1|2|");
        }
        fixture_free(f);
    }
}

static int64_t submit_with_device(struct fixture *f)
{
    Pb__JobSpec s = make_spec(1, 8);
    s.gres = (char *)"gpu:1";
    s.req_nodes = (char *)"n12";
    return fixture_submit(f, &FIXTURE_USER, &s);
}

/* GANG-62: a job with devices shares its CPUs only with GangDevices=yes, and its reason says so. */
static void devices_are_shared_if_configured(void **state)
{
    for (int shared = 0; shared < 2; shared++) {
        _cleanup_free_ char *conf = mem_printf(
            "%s%s%s%sNodeName=n12 Sockets=2 CoresPerSocket=4 RealMemory=8000 Gres=gpu:2\n%s", CORES,
            GANG, "GresTypes=gpu\n", shared ? "GangDevices=yes\n" : "", ACTIVE);
        struct fixture *f = fixture_new(conf);
        (void)state;
        fixture_register(f, "n12", "i1");
        submit_with_device(f);
        submit_with_device(f);
        expect_jobs(f, 1, 2, shared ? "1|2|" : "1||2");
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const Pb__JobLive *l = fixture_job(f, &arena, 2)->live;
        if (!shared)
            assert_string_equal(l->reason_detail, "Resources, not shared with others: the job has "
                                                  "generic resources, and GangDevices=no");
        else
            pass_slice(f, 1, 2, "2|1|");
        fixture_free(f);
    }
}

/* A job goes on as it was started: those that wait for its CPUs say why it does not share them, and
 * so does the list of jobs that take turns. */
static void job_that_was_started_without_sharing_is_named(void **state)
{
    static const char text[] =
        "%s%sGresTypes=gpu\nGangDevices=%s\nNodeName=n12 Sockets=2 CoresPerSocket=4 "
        "RealMemory=8000 Gres=gpu:2\n%s";
    _cleanup_free_ char *before = mem_printf(text, CORES, GANG, "no", ACTIVE),
                        *after = mem_printf(text, CORES, GANG, "yes", ACTIVE);
    struct fixture *f = fixture_new(before);
    (void)state;
    fixture_register(f, "n12", "i1");
    submit_with_device(f);
    submit_with_device(f);
    fixture_reconfigure(f, after);
    fixture_turn(f);
    expect_jobs(f, 1, 2, "1||2");
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_string_equal(fixture_job(f, &arena, 2)->live->reason_detail,
                        "Resources, not shared by another job: the job has generic resources, and "
                        "was started with GangDevices=no");
    end_job(f, 1);
    submit_with_device(f);
    expect_jobs(f, 1, 3, "2|3|");
    fixture_free(f);
}

/* Devices of another component are why a component does not share, although GangHet=yes. */
static void reason_names_devices_of_another_component(void **state)
{
    _cleanup_free_ char *conf =
        mem_printf("%s%sGresTypes=gpu\nGangHet=yes\nNodeName=n12 Sockets=2 CoresPerSocket=4 "
                   "RealMemory=8000 Gres=gpu:2\n%s",
                   CORES, GANG, ACTIVE);
    struct fixture *f = fixture_new(conf);
    (void)state;
    fixture_register(f, "n12", "i1");
    Pb__JobSpec alone = make_spec(1, 8), specs[] = {make_spec(1, 2), make_spec(1, 2)};
    specs[1].gres = (char *)"gpu:1";
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &alone), 1);
    assert_int_equal(fixture_submit_set(f, &FIXTURE_USER, specs, 2), 2);
    fixture_turn(f);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_string_equal(fixture_job(f, &arena, 2)->live->reason_detail,
                        "Resources, not shared with others: the job has generic resources, and "
                        "GangDevices=no");
    fixture_free(f);
}

/* GANG-08, HET-104; with GangHet=yes all components are in the same slot. */
static void components_are_in_the_same_slot(void **state)
{
    for (int shared = 0; shared < 2; shared++) {
        _cleanup_free_ char *conf =
            mem_printf("%s%s%s%s%s", LINEAR, GANG, shared ? "GangHet=yes\n" : "", NODES, ACTIVE);
        struct fixture *f = make_fixture(conf);
        Pb__JobSpec specs[] = {make_spec(2, 0), make_spec(3, 0)};
        (void)state;
        submit_job(f, 4, 0);
        assert_int_equal(fixture_submit_set(f, &FIXTURE_USER, specs, 2), 2);
        fixture_turn(f);
        if (!shared) {
            expect_jobs(f, 1, 3, "1||2 3");
            end_job(f, 1);
            expect_jobs(f, 2, 3, "2 3||");
            submit_job(f, 1, 0);
            expect_jobs(f, 2, 4, "2 3||4"); /* and no job shares with it */
        } else {
            expect_jobs(f, 1, 3, "1|2 3|");
            pass_slice(f, 1, 3, "2 3|1|");
            fixture_restart(f);
            pass_slice(f, 1, 3, "1|2 3|");
            pass_slice(f, 1, 3, "2 3|1|");
            assert_int_equal(fixture_suspend(f, 2, false), 0);
            fixture_obey(f);
            expect_jobs(f, 1, 3, "1|2 3|");
            assert_int_equal(fixture_suspend(f, 2, true), 0);
            pass_slice(f, 1, 3, "2 3|1|");
        }
        fixture_free(f);
    }
}

/* Left out of the rotation, components have no nodes in common: those that need it never fit. */
static void components_on_shared_cpus_start_only_with_gang_het(void **state)
{
    for (int shared = 0; shared < 2; shared++) {
        _cleanup_free_ char *conf =
            mem_printf("%s%s%s%s%s", LINEAR, GANG, shared ? "GangHet=yes\n" : "", NODES, ACTIVE);
        struct fixture *f = make_fixture(conf);
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        Pb__JobSpec specs[] = {make_spec(5, 0), make_spec(1, 0)};
        (void)state;
        assert_int_equal(fixture_submit_set(f, &FIXTURE_USER, specs, 2), 1);
        fixture_turn(f);
        expect_jobs(f, 1, 2, shared ? "1 2||" : "||1 2");
        const char *reason = fixture_job(f, &arena, 1)->live->reason;
        assert_true(shared || str_eq(reason, "BadConstraints"));
        fixture_free(f);
    }
}

/* What others use of a node is counted once, however many components of a set have the node. */
static void components_on_one_node_count_other_jobs_once(void **state)
{
    struct fixture *f = make_fixture(COUNTED GANG "GangHet=yes\n" NODES ACTIVE);
    Pb__JobSpec specs[] = {make_spec(1, 2), make_spec(1, 2), make_spec(1, 2)};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        specs[i].req_nodes = (char *)"n12";
    assert_int_equal(fixture_submit_set(f, &FIXTURE_USER, specs, 3), 1);
    fixture_turn(f);
    fixture_obey(f);
    assert_int_equal(fixture_suspend(f, 1, false), 0);
    fixture_obey(f);
    assert_int_equal(submit_on(f, "active", "n12", 1), 4);
    fixture_pass(f, 1000);
    expect_jobs(f, 1, 4, "4|1 2 3|");
    assert_int_equal(fixture_suspend(f, 1, true), 0); /* 7 of 8 CPUs */
    expect_jobs(f, 1, 4, "1 2 3 4||");
    fixture_free(f);
}

/* GANG-09, GANG-54: with CR_Socket a job of one core has the socket, and takes turns with those on
 * it. */
static void sockets_are_shared_whole(void **state)
{
    struct fixture *f = make_fixture("SelectType=select/cons_tres\n"
                                     "SelectTypeParameters=CR_Socket_Memory\n" GANG NODES ACTIVE);
    (void)state;
    for (int i = 0; i < 3; i++)
        submit_job(f, 5, 5);
    expect_jobs(f, 1, 3, "1 2|3|");
    pass_slice(f, 1, 3, "2 3|1|");
    submit_job(f, 5, 5);
    expect_jobs(f, 1, 4, "2 3|1 4|");
    pass_slice(f, 1, 4, "1 4|2 3|");
    fixture_free(f);
}

/* GANG-24: which jobs take turns with each other. */
static void oversubscribe_decides_which_jobs_take_turns(void **state)
{
    static const struct {
        const char *share;
        bool asked;
        const char *states;
    } v[] = {
        {"NO", true, "1||2 3"},      {"EXCLUSIVE", true, "1||2 3"}, {"YES:2", false, "1||2 3"},
        {"YES:2", true, "1|2|3"},    {"YES", true, "1|2 3|"},       {"YES:1", true, "1||2 3"},
        {"FORCE:1", true, "1||2 3"}, {"FORCE:2", false, "1|2|3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_free_ char *conf =
            mem_printf("%s%s%sPartitionName=p Nodes=ALL Default=YES DefMemPerNode=100 "
                       "OverSubscribe=%s\n",
                       LINEAR, GANG, NODES, v[i].share);
        struct fixture *f = make_fixture(conf);
        for (int k = 0; k < 3; k++) {
            Pb__JobSpec s = make_spec(5, 0);
            s.has_oversubscribe = s.oversubscribe = v[i].asked;
            assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), k + 1);
        }
        expect_jobs(f, 1, 3, v[i].states);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_jobs_on_all_nodes_take_turns),
        cmocka_unit_test(suspend_orders_precede_launches),
        cmocka_unit_test(guide_examples_with_whole_nodes),
        cmocka_unit_test(small_job_without_time_slices),
        cmocka_unit_test(cores_of_their_own_are_never_suspended),
        cmocka_unit_test(counted_cpus_are_shared_by_all),
        cmocka_unit_test(resumed_job_waits_until_others_have_stopped),
        cmocka_unit_test(step_waits_until_other_jobs_have_stopped),
        cmocka_unit_test(no_more_jobs_than_the_partition_says_share),
        cmocka_unit_test(planned_starts_know_the_rotation),
        cmocka_unit_test(start_that_was_planned_too_early_is_planned_again),
        cmocka_unit_test(planned_start_follows_a_changed_limit),
        cmocka_unit_test(planned_start_knows_all_components),
        cmocka_unit_test(rotation_continues_after_a_restart),
        cmocka_unit_test(users_suspend_and_resume),
        cmocka_unit_test(job_that_is_stopping_is_suspended_by_its_user),
        cmocka_unit_test(preemptor_has_the_nodes_until_it_ends),
        cmocka_unit_test(grace_time_of_a_job_that_waits_for_its_turn),
        cmocka_unit_test(job_that_waits_for_its_turn_is_cancelled_at_once),
        cmocka_unit_test(gang_configuration_is_changed_by_reconfiguration),
        cmocka_unit_test(overlapping_partitions_share_one_rotation),
        cmocka_unit_test(devices_are_shared_if_configured),
        cmocka_unit_test(job_that_was_started_without_sharing_is_named),
        cmocka_unit_test(reason_names_devices_of_another_component),
        cmocka_unit_test(components_are_in_the_same_slot),
        cmocka_unit_test(components_on_shared_cpus_start_only_with_gang_het),
        cmocka_unit_test(components_on_one_node_count_other_jobs_once),
        cmocka_unit_test(sockets_are_shared_whole),
        cmocka_unit_test(oversubscribe_decides_which_jobs_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
