/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The begin of a heterogeneous job: a command that waits for it is told of all components, and
 * neither command nor script begins before all of them are configured.
 */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-4] CPUs=4 RealMemory=4000\n"                \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=100\n"                          \
    "PartitionName=b Nodes=n[3-4] MaxTime=30\n"
#define PROLOG PB__SCRIPT_KIND__SCRIPT_PROLOG

/* Component 0 on one whole node, component 1 on two whole nodes of partition b. */
struct request {
    Pb__JobSpec first, second;
};

static struct request make_request(void)
{
    struct request r = {.first = PB__JOB_SPEC__INIT, .second = PB__JOB_SPEC__INIT};
    Pb__JobSpec *specs[] = {&r.first, &r.second};
    for (uint32_t i = 0; i < 2; i++) {
        Pb__JobSpec *s = specs[i];
        s->has_min_nodes = s->has_max_nodes = s->has_num_tasks = s->has_cpus_per_task = true;
        s->min_nodes = s->max_nodes = s->num_tasks = i + 1;
        s->cpus_per_task = 4;
    }
    r.second.partition = (char *)"b";
    return r;
}

static uint64_t allocate(struct fixture *f, struct request *q, const Pb__StepSpec *step)
{
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec *components[] = {&q->second};
    r.spec = &q->first;
    r.step = (Pb__StepSpec *)step;
    r.components = components;
    r.n_components = 1;
    control_alloc(f->control, ++f->last_call, &FIXTURE_USER, &r);
    fixture_turn(f);
    return f->last_call;
}

static uint64_t await(struct fixture *f, int64_t id, bool ready)
{
    Pb__AllocWait w = PB__ALLOC_WAIT__INIT;
    w.job_id = (uint32_t)id;
    w.has_ready = w.ready = ready;
    control_alloc_wait(f->control, ++f->last_call, &FIXTURE_USER, &w);
    fixture_turn(f);
    return f->last_call;
}

static const Pb__AllocReply *reply_to(struct fixture *f, struct arena *arena, uint64_t call)
{
    assert_int_equal(fixture_code(f, call), 0);
    vec_foreach (&f->replies, r)
        if (r->call == call)
            return arena_unpack(arena, &pb__alloc_reply__descriptor, r->data.data, r->data.len);
    return NULL;
}

/* "n1 in a, n[3-4] in b", with a '*' behind the first when it is configuring; "waits". */
static void granted_is(struct fixture *f, uint64_t call, const char *expected)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str out = STR_INIT;
    arena_init(&arena, 0);
    const Pb__AllocReply *r = reply_to(f, &arena, call);
    if (!r->granted)
        assert_int_equal(r->n_components, 0);
    str_puts(&out, r->granted ? r->nodes : "waits");
    if (r->granted)
        str_printf(&out, " in %s%s", r->partition, r->configuring ? "*" : "");
    for (size_t i = 0; i < r->n_components; i++) {
        const Pb__AllocReply *component = r->components[i];
        assert_int_equal(component->job_id, r->job_id + i + 1);
        assert_true(component->granted);
        assert_int_equal(component->n_addrs, component->n_alloc);
        str_printf(&out, ", %s in %s", component->nodes, component->partition);
    }
    assert_string_equal(str_cstr(&out), expected);
}

static void prepared(struct fixture *f, const char *node, int64_t id)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__Prepared m = PB__PREPARED__INIT;
    m.job_id = (uint32_t)id;
    e.prepared = &m;
    fixture_event(f, node, &e);
}

static void script_ended(struct fixture *f, int64_t id)
{
    Pb__ScriptEnded m = PB__SCRIPT_ENDED__INIT;
    m.kind = PROLOG;
    m.job_id = (uint32_t)id;
    control_script_ended(f->control, &m);
    fixture_turn(f);
}

static bool is_configuring(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    return fixture_job(f, &arena, (uint32_t)id)->live->configuring;
}

static void a_command_is_granted_all_components(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct request q = make_request();
    uint8_t id[16] = "0123456789abcde";
    Pb__JobIdRequest info = PB__JOB_ID_REQUEST__INIT;
    Pb__JobComplete done = PB__JOB_COMPLETE__INIT;
    q.first.has_request_id = true;
    q.first.request_id = (ProtobufCBinaryData){sizeof id, id};
    granted_is(f, allocate(f, &q, NULL), "n1 in a, n[3-4] in b");
    granted_is(f, allocate(f, &q, NULL), "n1 in a, n[3-4] in b"); /* the request came again */
    assert_int_equal(fixture_count_jobs(f), 2);
    fixture_restart(f);
    info.job_id = 1;
    control_alloc_info(f->control, ++f->last_call, &FIXTURE_USER, &info);
    fixture_turn(f);
    granted_is(f, f->last_call, "n1 in a, n[3-4] in b");
    info.job_id = 2; /* of one component nothing else is said */
    control_alloc_info(f->control, ++f->last_call, &FIXTURE_USER, &info);
    fixture_turn(f);
    granted_is(f, f->last_call, "n[3-4] in b");
    /* The command says when the job is over, and all components are. */
    done.job_id = 1;
    control_job_complete(f->control, ++f->last_call, &FIXTURE_USER, &done);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__COMPLETED);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__COMPLETED);
    fixture_free(f);
}

static void a_command_waits_until_all_components_fit(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct request q = make_request();
    Pb__JobSpec other = PB__JOB_SPEC__INIT;
    other.req_nodes = (char *)"n4";
    int64_t blocker = fixture_submit(f, &FIXTURE_USER, &other);
    granted_is(f, allocate(f, &q, NULL), "waits");
    uint64_t call = await(f, blocker + 1, false);
    assert_int_equal(fixture_code(f, call), -1);
    fixture_launched(f, "n4", (uint32_t)blocker, 0);
    fixture_end(f, (uint32_t)blocker, 0);
    granted_is(f, call, "n1 in a, n[3-4] in b");
    fixture_free(f);
}

/* --immediate: at once or not at all, and nothing is left of it. */
static void an_immediate_request_leaves_no_component(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct request q = make_request();
    Pb__JobSpec other = PB__JOB_SPEC__INIT;
    other.req_nodes = (char *)"n4";
    q.first.has_immediate = q.first.immediate = true;
    granted_is(f, allocate(f, &q, NULL), "n1 in a, n[3-4] in b");
    assert_int_equal(fixture_cancel(f, &FIXTURE_USER, 1, NULL, 0), 0);
    fixture_gone(f, "n1", 1, 0);
    fixture_gone(f, "n3", 2, 0);
    fixture_gone(f, "n4", 2, 0);
    fixture_submit(f, &FIXTURE_USER, &other);
    size_t jobs = fixture_count_jobs(f);
    assert_int_equal(fixture_code(f, allocate(f, &q, NULL)), ERR_NODES_BUSY);
    assert_int_equal(fixture_count_jobs(f), jobs);
    fixture_free(f);
}

static void a_wrong_component_refuses_the_allocation(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct request q = make_request();
    Pb__StepSpec step = PB__STEP_SPEC__INIT, part = PB__STEP_SPEC__INIT, *parts[] = {&part};
    step.parts = parts;
    step.n_parts = 1;
    part.has_set_offset = true;
    part.set_offset = 2; /* there are 0 and 1 */
    assert_int_equal(fixture_code(f, allocate(f, &q, &step)), ERR_COMPONENT);
    q.second.partition = (char *)"none";
    uint64_t call = allocate(f, &q, NULL);
    assert_int_equal(fixture_code(f, call), ERR_NO_PARTITION);
    assert_non_null(strstr(fixture_text(f, call), "(component 1)"));
    assert_int_equal(fixture_count_jobs(f), 0);
    fixture_free(f);
}

/* A command that goes away while the job waits ends it: also when the controller restarts. */
static void set_without_its_client_ends_as_a_whole(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct request q = make_request();
    Pb__JobSpec other = PB__JOB_SPEC__INIT;
    other.req_nodes = (char *)"n4";
    fixture_submit(f, &FIXTURE_USER, &other);
    granted_is(f, allocate(f, &q, NULL), "waits");
    fixture_restart(f);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__PENDING);
    fixture_pass(f, 200000);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__CANCELLED);
    assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__CANCELLED);
    fixture_free(f);
}

/* PrologSlurmctld runs for each component; its command waits for the last one. */
static void a_command_waits_for_the_prologs_of_all(void **state)
{
    for (int last = 0; last < 2; last++) {
        struct fixture *f = fixture_new_up(CONF "PrologSlurmctld=/p\n", 4);
        struct request q = make_request();
        granted_is(f, allocate(f, &q, NULL), "n1 in a*, n[3-4] in b");
        uint64_t call = await(f, 1, true);
        script_ended(f, last ? 1 : 2);
        assert_int_equal(fixture_code(f, call), -1);
        assert_true(is_configuring(f, 1));
        script_ended(f, last ? 2 : 1);
        granted_is(f, call, "n1 in a, n[3-4] in b");
        assert_false(is_configuring(f, 1));
        fixture_free(f);
    }
}

/* A script waits for nodes of another component, also through a restart. */
static void a_script_waits_for_the_nodes_of_all(void **state)
{
    for (int restarts = 0; restarts < 2; restarts++) {
        struct fixture *f = fixture_new_up(CONF, 4);
        struct request q = make_request();
        Pb__JobSpec specs[] = {q.first, q.second};
        specs[1].has_wait_all_nodes = specs[1].wait_all_nodes = true;
        int64_t id = fixture_submit_set(f, &FIXTURE_USER, specs, 2);
        assert_true(is_configuring(f, id));
        assert_true(is_configuring(f, id + 1));
        assert_int_equal(fixture_launches(f, "n1", (uint32_t)id), 0);
        if (restarts) {
            fixture_restart(f);
            for (int i = 1; i <= 4; i++) {
                char node[8];
                snprintf(node, sizeof node, "n%d", i);
                fixture_register(f, node, "i1");
            }
        }
        prepared(f, "n3", id + 1);
        assert_int_equal(fixture_launches(f, "n1", (uint32_t)id), 0);
        prepared(f, "n4", id + 1);
        assert_int_equal(fixture_launches(f, "n1", (uint32_t)id), 1);
        assert_false(is_configuring(f, id));
        fixture_free(f);
    }
}

/* HET-115: the leader's own nodes may be the last ones, too. */
static void a_script_waits_for_its_own_nodes(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct request q = make_request();
    Pb__JobSpec specs[] = {q.first, q.second};
    specs[0].has_wait_all_nodes = specs[0].wait_all_nodes = true;
    specs[1].has_wait_all_nodes = specs[1].wait_all_nodes = true;
    int64_t id = fixture_submit_set(f, &FIXTURE_USER, specs, 2);
    prepared(f, "n3", id + 1);
    prepared(f, "n4", id + 1);
    assert_int_equal(fixture_launches(f, "n1", (uint32_t)id), 0);
    prepared(f, "n1", id);
    assert_int_equal(fixture_launches(f, "n1", (uint32_t)id), 1);
    fixture_free(f);
}

/* The component that the leader waits for is cancelled: the others go on without it. */
static void a_cancelled_component_is_not_waited_for(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct request q = make_request();
    Pb__JobSpec specs[] = {q.first, q.second};
    specs[1].has_wait_all_nodes = specs[1].wait_all_nodes = true;
    int64_t id = fixture_submit_set(f, &FIXTURE_USER, specs, 2);
    assert_true(is_configuring(f, id));
    assert_int_equal(fixture_cancel(f, &FIXTURE_USER, id + 1, NULL, 0), 0);
    fixture_turn(f);
    assert_int_equal(fixture_launches(f, "n1", (uint32_t)id), 1);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_granted_all_components),
        cmocka_unit_test(a_command_waits_until_all_components_fit),
        cmocka_unit_test(an_immediate_request_leaves_no_component),
        cmocka_unit_test(a_wrong_component_refuses_the_allocation),
        cmocka_unit_test(set_without_its_client_ends_as_a_whole),
        cmocka_unit_test(a_command_waits_for_the_prologs_of_all),
        cmocka_unit_test(a_script_waits_for_the_nodes_of_all),
        cmocka_unit_test(a_script_waits_for_its_own_nodes),
        cmocka_unit_test(a_cancelled_component_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
