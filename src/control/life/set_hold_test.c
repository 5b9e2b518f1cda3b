/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Holds of the components of a heterogeneous job: whichever requests hold, release and requeue the
 * leader and components, each component has the holds that the requests for it have left, also
 * across restarts, and the job starts when none has any. HET-50, HET-53, HET-56.
 */
#include <stdio.h>
#include <string.h>

#include "base/pb.h"
#include "cluster/cluster_test_util.h"
#include "control/fixture.h"
#include "control/internal.h"

#define COMPONENTS 3
#define RUNS 40
#define STEPS 60
#define CONF FIXTURE_SET_CONF "RequeueExitHold=7\n"

enum hold_request { HOLD, UHOLD, RELEASE, REQUEUEHOLD, REQUEUE };
enum hold_target { LEADER, OFFSET, OWN_ID };

struct model {
    struct fixture *f;
    uint64_t random;
    uint32_t id; /* of the leader */
    bool whole_hetjob;
    bool held[COMPONENTS], admin_hold[COMPONENTS], special_exit[COMPONENTS];
    uint32_t requeued, held_while_ending; /* how often */
};

static uint32_t draw_number(struct model *m, uint32_t below)
{
    return test_between(&m->random, 0, below - 1);
}

static const struct job *find_component(const struct model *m, uint32_t i)
{
    const struct job *j = cluster_find_job(m->f->control->cluster, m->id + i);
    assert_non_null(j);
    return j;
}

static const char *node_of(uint32_t i)
{
    static const char *const nodes[COMPONENTS] = {"n1", "n2", "n3"};
    return nodes[i];
}

static bool is_held(const struct model *m)
{
    bool any = false;
    for (uint32_t i = 0; i < COMPONENTS; i++)
        any = any || m->held[i] || m->admin_hold[i];
    return any;
}

/* Components first to last of the request. False: it is refused, and changes nothing. */
static bool may_be_done(const struct model *m, enum hold_request request, bool by_root,
                        uint32_t first, uint32_t last, bool whole)
{
    const struct job *leader = find_component(m, 0);
    if (request == REQUEUEHOLD || request == REQUEUE)
        return whole && leader->state != PB__JOB_STATE__PENDING;
    for (uint32_t i = first; i <= last; i++) {
        const struct job *j = find_component(m, i);
        if ((job_is_final(j) && !attempt_of(j)->requeue_after) ||
            (request == RELEASE && m->admin_hold[i] && !by_root))
            return false;
    }
    return true;
}

static void note_request(struct model *m, enum hold_request request, bool by_root, uint32_t first,
                         uint32_t last)
{
    m->requeued += request == REQUEUEHOLD;
    m->held_while_ending += attempt_of(find_component(m, 0))->completing;
    if (request == REQUEUE && find_component(m, 0)->state == PB__JOB_STATE__SUSPENDED)
        request = HOLD; /* as in Slurm: a user prevented its start */
    for (uint32_t i = first; i <= last; i++) {
        if (request == RELEASE) {
            m->held[i] = m->special_exit[i] = false;
            m->admin_hold[i] = m->admin_hold[i] && !by_root;
        } else if (request != REQUEUE && by_root && request != UHOLD) {
            m->admin_hold[i] = true;
        } else if (request != REQUEUE) {
            m->held[i] = true;
        }
    }
}

static void send_request(struct model *m)
{
    struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
    enum hold_request request = draw_number(m, 5);
    enum hold_target target = draw_number(m, 3);
    uint32_t offset = draw_number(m, COMPONENTS);
    bool requeues = request == REQUEUEHOLD || request == REQUEUE;
    bool special = request == REQUEUEHOLD && draw_number(m, 2);
    bool by_root = draw_number(m, 2), whole = target == LEADER ||
                                              (target == OWN_ID && offset == 0) ||
                                              (target == OWN_ID && m->whole_hetjob && !requeues);
    uint32_t first = whole ? 0 : offset, last = whole ? COMPONENTS - 1 : offset;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = m->id + (target == OWN_ID ? offset : 0);
    if (target == OFFSET)
        SET(&r, set_offset, offset);
    if (request == UHOLD)
        SET(&r, user_hold, true);
    else if (request != REQUEUE)
        SET(&r, hold, request != RELEASE);
    if (requeues)
        SET(&r, requeue, true);
    if (special)
        SET(&r, special_exit, true);
    bool done = may_be_done(m, request, by_root, first, last, whole);
    if (done)
        note_request(m, request, by_root, first, last);
    for (uint32_t i = 0; i < COMPONENTS && done && requeues; i++)
        m->special_exit[i] = special;
    int code = fixture_update_job(m->f, by_root ? &root : &user, &r);
    if ((code == 0) != done)
        print_error("request %d target %d offset %u by_root %d: %d\n", (int)request, (int)target,
                    offset, by_root, code);
    assert_int_equal(code == 0, done);
}

/* While nodes run nothing of the job, so that they register as they are. */
static void restart_idle(struct model *m)
{
    for (uint32_t i = 0; i < COMPONENTS; i++)
        if (find_component(m, i)->state != PB__JOB_STATE__PENDING)
            return;
    fixture_restart(m->f);
    for (uint32_t i = 0; i < COMPONENTS; i++)
        fixture_register(m->f, node_of(i), "i1");
}

/* The script ends with a status of RequeueExitHold. */
static void exit_held(struct model *m)
{
    if (find_component(m, 0)->state != PB__JOB_STATE__RUNNING)
        return;
    for (uint32_t i = 0; i < COMPONENTS; i++)
        m->held[i] = m->special_exit[i] = true;
    fixture_launched(m->f, node_of(0), m->id, find_component(m, 0)->restarts);
    fixture_batch_ended(m->f, node_of(0), m->id, find_component(m, 0)->restarts, 7 << 8);
}

static void advance_job(struct model *m)
{
    uint32_t i = draw_number(m, COMPONENTS);
    const struct job *j = find_component(m, i);
    switch (draw_number(m, 6)) {
    case 0:
        restart_idle(m);
        break;
    case 1:
        if (j->state == PB__JOB_STATE__RUNNING)
            fixture_launched(m->f, node_of(0), m->id, find_component(m, 0)->restarts);
        break;
    case 2:
        (void)fixture_suspend(m->f, m->id, draw_number(m, 2));
        fixture_obey(m->f);
        break;
    case 3:
        exit_held(m);
        break;
    default:
        if (attempt_of(j)->completing)
            fixture_gone(m->f, node_of(i), m->id + i, j->restarts);
        break;
    }
    fixture_turn(m->f);
}

static void check_holds(const struct model *m, const bool *waited)
{
    for (uint32_t i = 0; i < COMPONENTS; i++) {
        const struct job *j = find_component(m, i);
        assert_int_equal(j->held, m->held[i]);
        assert_int_equal(j->admin_hold, m->admin_hold[i]);
        assert_int_equal(j->special_exit, m->special_exit[i]);
        if (waited[i] && j->state == PB__JOB_STATE__RUNNING)
            assert_false(is_held(m));
    }
}

static void run_sequence(uint64_t seed, bool whole_hetjob, uint32_t *requeued, uint32_t *ending)
{
    Pb__JobSpec specs[COMPONENTS];
    struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
    struct model m = {.random = seed, .whole_hetjob = whole_hetjob};
    m.f = fixture_new_up(whole_hetjob ? CONF "SchedulerParameters=whole_hetjob\n" : CONF, 4);
    for (uint32_t i = 0; i < COMPONENTS; i++) {
        specs[i] = fixture_spec(1, 4);
        specs[i].req_nodes = (char *)node_of(i);
    }
    SET(&specs[0], requeue, true);
    m.id = (uint32_t)fixture_submit_set(m.f, &user, specs, COMPONENTS);
    for (int step = 0; step < STEPS; step++) {
        bool waited[COMPONENTS];
        for (uint32_t i = 0; i < COMPONENTS; i++)
            waited[i] = find_component(&m, i)->state == PB__JOB_STATE__PENDING;
        if (draw_number(&m, 2))
            send_request(&m);
        else
            advance_job(&m);
        check_holds(&m, waited);
    }
    for (uint32_t i = 0; i < COMPONENTS; i++)
        if (attempt_of(find_component(&m, i))->completing)
            fixture_gone(m.f, node_of(i), m.id + i, find_component(&m, i)->restarts);
    fixture_turn(m.f);
    if (find_component(&m, 0)->state == PB__JOB_STATE__SUSPENDED)
        assert_int_equal(fixture_suspend(m.f, m.id, true), 0);
    Pb__JobUpdate release = PB__JOB_UPDATE__INIT;
    release.job_id = m.id;
    SET(&release, hold, false);
    assert_int_equal(fixture_update_job(m.f, &root, &release), 0);
    fixture_pass(m.f, 60000);
    fixture_expect_set(m.f, m.id, "R R R");
    *requeued += m.requeued;
    *ending += m.held_while_ending;
    fixture_free(m.f);
}

static void each_component_has_its_own_holds(void **state)
{
    uint32_t requeued = 0, ending = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++)
        run_sequence(seed, seed % 4 == 0, &requeued, &ending);
    assert_true(requeued > RUNS && ending > RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_component_has_its_own_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
