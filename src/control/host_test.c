/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The node of a job's script: --batch, and changes of the node. */
#include <string.h>

#include "base/step_id.h"
#include "control/fixture.h"
#include "proto/cast.pb-c.h"

#define NODES                                                                                      \
    "NodeName=n1 CPUs=4 Feature=slow\nNodeName=n2 CPUs=4 Feature=slow,big\n"                       \
    "NodeName=n3 CPUs=4 Feature=fast\n"
#define REST "PartitionName=a Nodes=ALL Default=YES\nSlurmdTimeout=0\n"

static struct fixture *make_world(void)
{
    struct fixture *f = fixture_new(NODES REST);
    for (const char *n = "123"; *n; n++)
        fixture_register(f, (char[]){'n', *n, 0}, "i1");
    return f;
}

static int64_t submit_job(struct fixture *f, char *batch, bool no_kill)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.features = (char *)"slow|fast|big";
    s.batch_features = batch;
    s.has_min_nodes = s.has_max_nodes = s.has_exclusive = s.exclusive = true;
    s.min_nodes = s.max_nodes = 3;
    s.has_no_kill = s.no_kill = no_kill;
    return fixture_submit(f, &FIXTURE_USER, &s);
}

static void assert_batch_host(struct fixture *f, int64_t id, const char *node)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobRecord *r = fixture_job(f, &arena, (uint32_t)id);
    assert_string_equal(r->live->batch_host, node);
}

static void batch_host_is_the_first_node_with_the_features(void **state)
{
    static const struct {
        const char *batch, *node;
    } cases[] = {{NULL, "n1"},           {"fast", "n3"},     {"slow", "n1"},
                 {"big", "n2"},          {"slow&big", "n2"}, {"slow,big", "n2"},
                 {"big|fast", "n2"},     {"fast&big", "n1"}, {"(fast|big)", "n2"},
                 {"fast|slow&big", "n2"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f = make_world();
        int64_t id = submit_job(f, (char *)cases[i].batch, false);
        assert_batch_host(f, id, cases[i].node);
        assert_int_equal(fixture_launches(f, cases[i].node, (uint32_t)id), 1);
        fixture_free(f);
    }
}

/* Signals for the script go to its node only; every other node would keep them for a script of its
 * own. */
static void signal_it(struct fixture *f, uint32_t job, bool batch_only, bool full)
{
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    Pb__StepId id = PB__STEP_ID__INIT, *ids = &id;
    id.job_id = job;
    r.target = &ids;
    r.n_target = 1;
    r.has_signal = r.has_batch_only = r.has_full = true;
    r.signal = 10;
    r.batch_only = batch_only;
    r.full = full;
    fixture_clear(f);
    control_job_signal(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
}

static const Pb__SignalJob *signal_to(const struct fixture *f, const char *node)
{
    vec_foreach (&f->orders, at)
        for (size_t i = 0; i < (*at)->orders->n_orders; i++)
            if (str_eq((*at)->node, node) && (*at)->orders->orders[i]->signal)
                return (*at)->orders->orders[i]->signal;
    return NULL;
}

static void signals_for_the_script_go_to_the_batch_host(void **state)
{
    struct fixture *f = fixture_new(NODES REST "PrologFlags=Contain\n");
    (void)state;
    for (const char *n = "123"; *n; n++)
        fixture_register(f, (char[]){'n', *n, 0}, "i1");
    uint32_t id = (uint32_t)submit_job(f, (char *)"fast", false);
    fixture_launched(f, "n3", id, 0);
    signal_it(f, id, true, false);
    assert_null(signal_to(f, "n1"));
    assert_true(signal_to(f, "n3")->batch_only);
    signal_it(f, id, false, true);
    assert_false(signal_to(f, "n1")->full); /* its steps only */
    assert_true(signal_to(f, "n3")->full);
    fixture_free(f);
}

/* sbcast to JOB.batch. */
static void files_for_the_script_go_to_the_batch_host(void **state)
{
    struct fixture *f = make_world();
    Pb__CastAsk r = PB__CAST_ASK__INIT;
    Pb__StepId id = PB__STEP_ID__INIT;
    _cleanup_arena_ struct arena arena;
    const Pb__CastGrant *g = NULL;
    (void)state;
    arena_init(&arena, 0);
    id.job_id = (uint32_t)submit_job(f, (char *)"fast", false);
    id.has_step_id = true;
    id.step_id = STEP_ID_BATCH;
    r.id = &id;
    control_cast_ask(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    vec_foreach (&f->replies, reply)
        if (reply->call == f->last_call)
            g = arena_unpack(&arena, &pb__cast_grant__descriptor, reply->data.data,
                             reply->data.len);
    assert_non_null(g);
    assert_int_equal(g->n_nodes, 1);
    assert_string_equal(g->nodes[0]->node, "n3");
    fixture_free(f);
}

static void impossible_batch_features_are_refused(void **state)
{
    static const char *const bad[] = {"green", "fast|green", "fast*1", "[fast|slow]", "fast&", "("};
    (void)state;
    struct fixture *f = make_world();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(submit_job(f, (char *)bad[i], false), -ERR_FEATURE);
    fixture_free(f);
}

static void batch_host_is_kept_across_restarts(void **state)
{
    (void)state;
    struct fixture *f = make_world();
    int64_t id = submit_job(f, (char *)"fast", false);
    fixture_launched(f, "n1", (uint32_t)id, 0); /* reported by a node without the script */
    fixture_restart(f);
    assert_batch_host(f, id, "n3");
    fixture_register(f, "n1", "i1");
    assert_int_equal(fixture_launches(f, "n1", (uint32_t)id), 0);
    fixture_register(f, "n3", "i1"); /* its launch was unknown */
    assert_int_equal(fixture_launches(f, "n3", (uint32_t)id), 1);
    fixture_launched(f, "n3", (uint32_t)id, 0);
    fixture_reconfigure(f, NODES "NodeName=n9 CPUs=1\n" REST);
    assert_batch_host(f, id, "n3");
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void loss_of_the_batch_host_ends_the_job(void **state)
{
    (void)state;
    struct fixture *f = make_world();
    int64_t id = submit_job(f, (char *)"fast", true);
    fixture_launched(f, "n3", (uint32_t)id, 0);
    assert_int_equal(fixture_update_node(f, "n1", "DOWN", "x"), 0);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_restart(f);
    assert_batch_host(f, id, "n3");
    assert_int_equal(fixture_update_node(f, "n3", "DOWN", "x"), 0);
    assert_int_not_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_free(f);

    f = make_world(); /* the same by a new configuration */
    id = submit_job(f, (char *)"fast", true);
    fixture_launched(f, "n3", (uint32_t)id, 0);
    fixture_reconfigure(f, "NodeName=n3 CPUs=4 Feature=fast\n" REST);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    assert_batch_host(f, id, "n3");
    fixture_reconfigure(f, "NodeName=n8 CPUs=4 Feature=fast,slow,big\n" REST);
    assert_int_not_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void requeued_job_chooses_its_batch_host_again(void **state)
{
    (void)state;
    struct fixture *f = make_world();
    int64_t id = submit_job(f, (char *)"fast", false);
    fixture_launched(f, "n3", (uint32_t)id, 0);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    r.job_id = (uint32_t)id;
    r.keep_nodes = (char *)"n1,n2";
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), ERR_CANNOT_UPDATE);
    r.keep_nodes = NULL;
    r.set = &set;
    set.has_min_nodes = true;
    set.min_nodes = 2;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    assert_batch_host(f, id, "n3");
    fixture_gone(f, "n2", (uint32_t)id, 0);
    r.set = NULL;
    r.keep_nodes = (char *)"n3";
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    assert_batch_host(f, id, "n3");
    fixture_free(f);

    f = make_world();
    id = submit_job(f, (char *)"big|fast", false);
    assert_batch_host(f, id, "n2");
    assert_int_equal(fixture_update_node(f, "n2", "DOWN", "x"), 0); /* requeues the job */
    for (const char *n = "13"; *n; n++)
        fixture_gone(f, (char[]){'n', *n, 0}, (uint32_t)id, 0);
    Pb__NodeUpdate u = PB__NODE_UPDATE__INIT;
    u.nodes = (char *)"n2";
    u.active_features = (char *)"";
    u.state = (char *)"RESUME";
    control_node_update(f->control, ++f->last_call, &FIXTURE_ROOT, &u);
    Pb__NodeUpdate again = PB__NODE_UPDATE__INIT;
    again.nodes = (char *)"n2";
    again.active_features = (char *)"slow";
    control_node_update(f->control, ++f->last_call, &FIXTURE_ROOT, &again);
    fixture_register(f, "n2", "i1");
    fixture_gone(f, "n2", (uint32_t)id, 0);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    assert_batch_host(f, id, "n3");
    fixture_free(f);
}

/* A client may send what salloc does not. */
static void allocation_without_a_script_uses_its_first_node(void **state)
{
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    Pb__JobUpdate u = PB__JOB_UPDATE__INIT;
    (void)state;
    struct fixture *f = make_world();
    s.features = (char *)"slow|fast";
    s.batch_features = (char *)"fast";
    s.has_min_nodes = s.has_exclusive = s.exclusive = true;
    s.min_nodes = 3;
    r.spec = &s;
    uint32_t id = control_next_job_id(f->control);
    control_alloc(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    assert_batch_host(f, id, "n1");
    u.job_id = id;
    u.keep_nodes = (char *)"n[2-3]";
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &u), 0);
    assert_batch_host(f, id, "n2");
    fixture_restart(f);
    assert_batch_host(f, id, "n2");
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(batch_host_is_the_first_node_with_the_features),
        cmocka_unit_test(files_for_the_script_go_to_the_batch_host),
        cmocka_unit_test(signals_for_the_script_go_to_the_batch_host),
        cmocka_unit_test(impossible_batch_features_are_refused),
        cmocka_unit_test(batch_host_is_kept_across_restarts),
        cmocka_unit_test(loss_of_the_batch_host_ends_the_job),
        cmocka_unit_test(requeued_job_chooses_its_batch_host_again),
        cmocka_unit_test(allocation_without_a_script_uses_its_first_node),
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}
