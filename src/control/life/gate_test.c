/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each gate of reason.def: what closes it, the reason that the job gets, and what a submission is
 * told under EnforcePartLimits. */
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/job/burst.h"
#include "control/fixture.h"
#include "control/internal.h"
#include "control/life/enqueue.h"

#define CONF                                                                                       \
    "SchedulerParameters=ignore_constraint_validation\n"                                           \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-2] CPUs=4 RealMemory=4000\n"                \
    "Licenses=a:1\nMaxBatchRequeue=2\nBurstBufferType=burst_buffer/lua\n"                          \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 MaxNodes=1 MaxMemPerNode=2000\n"             \
    "PartitionName=b Nodes=ALL\n"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
    const char *gate;
    bool of_partition;
    enum reason reasons[5]; /* REASON_NONE behind the last one */
} rows[] = {
#define GATE_JOB(name, find, update, always, ...) {#name, false, {__VA_ARGS__}},
#define GATE_PARTITION(name, find, update, refuse, refusal, ...) {#name, true, {__VA_ARGS__}},
#define GATE_START(name, find, keeps_place, ...) {#name, false, {__VA_ARGS__}},
#include "cluster/job/reason.def"
};

/* --- before the submission ----------------------------------------------------------------------
 */

static void ask_for_hold(struct fixture *f, Pb__JobSpec *s)
{
    (void)f;
    s->has_hold = s->hold = true;
}

static void depend_on_held(struct fixture *f, Pb__JobSpec *s)
{
    Pb__JobSpec first = *s;
    ask_for_hold(f, &first);
    assert_int_equal(fixture_submit(f, &FIXTURE_ROOT, &first), 1);
    s->dependency = (char *)"afterok:1";
}

static void depend_on_cancelled(struct fixture *f, Pb__JobSpec *s)
{
    depend_on_held(f, s);
    assert_int_equal(fixture_cancel(f, &FIXTURE_ROOT, 1, NULL, 0), 0);
}

static void begin_later(struct fixture *f, Pb__JobSpec *s)
{
    s->has_begin_at_sec = true;
    s->begin_at_sec = f->wall_ms / 1000 + 100;
}

static void exceed_time(struct fixture *f, Pb__JobSpec *s)
{
    (void)f;
    s->has_time_limit_sec = true;
    s->time_limit_sec = 7200;
}

static void exceed_nodes(struct fixture *f, Pb__JobSpec *s)
{
    (void)f;
    *s = fixture_spec(2, 1);
}

static void exceed_memory(struct fixture *f, Pb__JobSpec *s)
{
    (void)f;
    s->has_mem_per_node_mib = true;
    s->mem_per_node_mib = 3000;
}

static void miss_nodes(struct fixture *f, Pb__JobSpec *s)
{
    (void)f;
    *s = fixture_spec(3, 1);
    s->partition = (char *)"b";
}

static void miss_cpus(struct fixture *f, Pb__JobSpec *s)
{
    (void)f;
    *s = fixture_spec(1, 9);
    s->partition = (char *)"b";
}

static void miss_memory(struct fixture *f, Pb__JobSpec *s)
{
    ask_for_hold(f, s);
    s->partition = (char *)"b";
    s->has_mem_per_node_mib = true;
    s->mem_per_node_mib = 9000;
}

static void name_feature(struct fixture *f, Pb__JobSpec *s)
{
    (void)f;
    s->features = (char *)"x";
}

static void throttle_array(struct fixture *f, Pb__JobSpec *s)
{
    fixture_register(f, "n1", "i");
    s->array_inx = (char *)"0-1%1";
}

static void take_license(struct fixture *f, Pb__JobSpec *s)
{
    fixture_register(f, "n1", "i");
    s->licenses = (char *)"a:1";
    assert_int_equal(fixture_submit(f, &FIXTURE_ROOT, s), 1);
}

/* --- after it -----------------------------------------------------------------------------------
 */

static void hold_as_admin(struct control *c, struct job *j)
{
    (void)c;
    j->admin_hold = true;
}

static void hold_requeued(struct control *c, struct job *j)
{
    j->admin_hold = true;
    j->auto_requeues = c->conf->max_batch_requeue;
}

static void release_job(struct control *c, struct job *j)
{
    (void)c;
    j->held = false;
}

static void lose_reservation(struct control *c, struct job *j)
{
    (void)c;
    j->held = j->resv_gone = true;
}

static void ask_for_reservation(struct control *c, struct job *j)
{
    (void)c;
    j->resv_asked = true;
}

static void miss_deadline(struct control *c, struct job *j)
{
    j->deadline_at = control_wall(c) - 1;
}

static void add_burst(struct job *j, enum burst_phase phase)
{
    j->burst = mem_new(struct job_burst);
    j->burst->phase = phase;
}

static void miss_component(struct control *c, struct job *j)
{
    assert_int_equal(job_set_join(c->cluster, j, j->id, 0, 2, NULL), 0);
}

static void fail_burst(struct control *c, struct job *j)
{
    (void)c;
    add_burst(j, BURST_SETUP);
    j->burst->failed = j->admin_hold = true;
}

static void stage_in(struct control *c, struct job *j)
{
    (void)c;
    add_burst(j, BURST_DATA_IN);
}

static void want_pool(struct control *c, struct job *j)
{
    (void)c;
    add_burst(j, BURST_PENDING);
    j->burst->pool = mem_strdup("unknown");
}

static void stop_partition(struct control *c, struct job *j)
{
    (void)c;
    j->part->conf.state = CONF_PART_DOWN;
}

static void idle_partition(struct control *c, struct job *j)
{
    (void)c;
    j->part->conf.state = CONF_PART_INACTIVE;
}

static void allow_account(struct control *c, struct job *j)
{
    (void)c;
    j->part->conf.allow_accounts = "x";
}

static void lose_node(struct control *c, struct job *j)
{
    (void)c;
    j->want.req_gone = true;
}

/* --- the cases ----------------------------------------------------------------------------------
 */

static const struct gate_case {
    const char *gate;
    enum reason reason;
    void (*ask)(struct fixture *f, Pb__JobSpec *s);
    void (*change)(struct control *c, struct job *j);
    int refused; /* under EnforcePartLimits=ALL; 0: the job is accepted */
} cases[] = {
    {"missing_component", REASON_SYSTEM_FAILURE, NULL, miss_component, 0},
    {"burst_buffer_failed", REASON_BURST_BUFFER_OPERATION, NULL, fail_burst, 0},
    {"hold", REASON_JOB_HOLD_MAX_REQUEUE, NULL, hold_requeued, 0},
    {"hold", REASON_JOB_HELD_ADMIN, NULL, hold_as_admin, 0},
    {"hold", REASON_RESERVATION_DELETED, NULL, lose_reservation, 0},
    {"hold", REASON_JOB_HELD_USER, ask_for_hold, NULL, 0},
    {"dependency", REASON_DEPENDENCY, depend_on_held, NULL, 0},
    {"dependency", REASON_DEPENDENCY_NEVER_SATISFIED, depend_on_cancelled, NULL, 0},
    {"begin_time", REASON_BEGIN_TIME, begin_later, NULL, 0},
    {"deadline", REASON_DEADLINE, NULL, miss_deadline, 0},
    {"reservation", REASON_RESERVATION, NULL, ask_for_reservation, 0},
    {"burst_buffer", REASON_BURST_BUFFER_RESOURCES, NULL, want_pool, 0},
    {"burst_buffer", REASON_BURST_BUFFER_STAGE_IN, NULL, stage_in, 0},
    {"partition_state", REASON_PARTITION_DOWN, NULL, stop_partition, 0},
    {"partition_state", REASON_PARTITION_INACTIVE, NULL, idle_partition, 0},
    {"partition_accounts", REASON_ACCOUNT_NOT_ALLOWED, NULL, allow_account, 0},
    {"partition_limits", REASON_PARTITION_TIME_LIMIT, exceed_time, NULL, ERR_TIME_LIMIT},
    {"partition_limits", REASON_PARTITION_NODE_LIMIT, exceed_nodes, NULL, ERR_NODE_COUNT},
    {"partition_limits", REASON_MAX_MEM_PER_LIMIT, exceed_memory, NULL, ERR_MEMORY},
    {"fit", REASON_PARTITION_NODE_LIMIT, miss_nodes, NULL, ERR_NODE_COUNT},
    {"fit", REASON_PARTITION_CONFIG, miss_cpus, NULL, ERR_TOO_MANY_CPUS},
    {"fit", REASON_BAD_CONSTRAINTS, miss_memory, release_job, ERR_NODE_CONFIG},
    {"required_nodes", REASON_REQ_NODE_NOT_AVAIL, NULL, lose_node, 0},
    {"constraint", REASON_CONSTRAINTS, name_feature, NULL, 0},
    {"array_throttle", REASON_JOB_ARRAY_TASK_LIMIT, throttle_array, NULL, 0},
    {"licenses", REASON_LICENSES, take_license, NULL, 0},
};

static int64_t submit_case(struct fixture *f, const struct gate_case *t)
{
    Pb__JobSpec s = fixture_spec(1, 1);
    if (t->ask)
        t->ask(f, &s);
    return fixture_submit(f, &FIXTURE_ROOT, &s);
}

static const Pb__GatesReply *ask_gates(struct fixture *f, struct arena *arena, const Pb__StepId *id)
{
    control_job_gates(f->control, ++f->last_call, &FIXTURE_USER, id);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    const struct fixture_reply *r = &f->replies.data[f->replies.len - 1];
    return arena_unpack(arena, &pb__gates_reply__descriptor, r->data.data, r->data.len);
}

/* All gates are answered for, in their order, and the first one that is closed is this one. */
static void expect_closed(struct fixture *f, const struct job *j, const struct gate_case *t)
{
    _cleanup_arena_ struct arena arena;
    Pb__StepId id = PB__STEP_ID__INIT;
    const Pb__Gate *first = NULL;
    arena_init(&arena, 0);
    id.job_id = j->id;
    const Pb__GatesReply *reply = ask_gates(f, &arena, &id);
    assert_int_equal(reply->job_id, j->id);
    assert_int_equal(reply->n_gates, COUNT(rows));
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(reply->gates[i]->name, rows[i].gate);
        assert_int_equal(!reply->gates[i]->partition, !rows[i].of_partition);
        first = first || !reply->gates[i]->reason ? first : reply->gates[i];
    }
    assert_non_null(first);
    assert_string_equal(first->name, t->gate);
    assert_string_equal(first->reason, reason_word(t->reason));
}

static bool row_gives(size_t row, const char *gate, enum reason reason)
{
    for (size_t i = 0; i < COUNT(rows[row].reasons); i++)
        if (rows[row].reasons[i] == reason)
            return str_eq(rows[row].gate, gate);
    return false;
}

static void test_cases_cover_each_reason_of_each_gate(void **state)
{
    (void)state;
    size_t reasons = 0;
    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t i = 0; rows[r].reasons[i]; i++)
            reasons++;
    assert_int_equal(reasons, COUNT(cases));
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t found = 0;
        for (size_t r = 0; r < COUNT(rows); r++)
            found += row_gives(r, cases[i].gate, cases[i].reason);
        if (found != 1)
            fail_msg("%s gives %s in %zu rows", cases[i].gate, reason_word(cases[i].reason), found);
    }
}

static void closed_gate_sets_the_reason_of_the_job(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture *f = fixture_new(CONF);
        int64_t id = submit_case(f, &cases[i]);
        assert_true(id > 0);
        struct job *j = cluster_find_job(f->control->cluster, (uint32_t)id);
        if (cases[i].change) {
            cases[i].change(f->control, j);
            enqueue_job(f->control, j);
        }
        if (j->reason == REASON_PRIORITY) /* open until the planner comes to it */
            fixture_turn(f);
        if (j->reason != cases[i].reason)
            fail_msg("%s: %s, not %s", cases[i].gate, reason_word(j->reason),
                     reason_word(cases[i].reason));
        expect_closed(f, j, &cases[i]);
        fixture_free(f);
    }
}

static void enforced_partition_limits_refuse_the_submission(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture *f = fixture_new(CONF "EnforcePartLimits=ALL\n");
        int64_t id = submit_case(f, &cases[i]);
        if (cases[i].refused ? id != -cases[i].refused : id <= 0)
            fail_msg("%s: %s: %d", cases[i].gate, reason_word(cases[i].reason), (int)id);
        fixture_free(f);
    }
}

/* A gate behind a closed one is asked, too; and each partition has gates of its own. */
static void all_gates_of_each_partition_are_reported(void **state)
{
    static const char *const closed[] = {"hold", "begin_time", "partition_limits of a"};
    struct fixture *f = fixture_new(CONF);
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec s = fixture_spec(2, 1);
    Pb__StepId id = PB__STEP_ID__INIT;
    size_t at = 0;
    (void)state;
    arena_init(&arena, 0);
    ask_for_hold(f, &s);
    begin_later(f, &s);
    s.partition = (char *)"b,a";
    id.job_id = (uint32_t)fixture_submit(f, &FIXTURE_ROOT, &s);
    const Pb__GatesReply *reply = ask_gates(f, &arena, &id);
    for (size_t i = 0; i < reply->n_gates; i++) {
        const Pb__Gate *g = reply->gates[i];
        _cleanup_free_ char *text =
            mem_printf("%s%s%s", g->name, g->partition ? " of " : "", g->partition ?: "");
        if (g->reason)
            assert_string_equal(text, at < COUNT(closed) ? closed[at++] : "none");
    }
    assert_int_equal(at, COUNT(closed));
    fixture_free(f);
}

static void gates_of_the_named_element_are_reported(void **state)
{
    struct fixture *f = fixture_new(CONF);
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec s = fixture_spec(1, 1);
    Pb__StepId id = PB__STEP_ID__INIT;
    (void)state;
    arena_init(&arena, 0);
    throttle_array(f, &s);
    id.job_id = (uint32_t)fixture_submit(f, &FIXTURE_ROOT, &s);
    fixture_turn(f); /* element 0 starts */
    id.array_tasks = (char *)"1";
    const Pb__GatesReply *reply = ask_gates(f, &arena, &id);
    assert_string_equal(reply->gates[reply->n_gates - 2]->name, "array_throttle");
    assert_string_equal(reply->gates[reply->n_gates - 2]->reason, "JobArrayTaskLimit");
    assert_null(reply->gates[reply->n_gates - 1]->reason);
    id.array_tasks = (char *)"0";
    control_job_gates(f->control, ++f->last_call, &FIXTURE_USER, &id);
    assert_int_equal(fixture_code(f, f->last_call), ERR_TRANSITION);
    fixture_free(f);
}

static void gates_of_hidden_jobs_are_refused(void **state)
{
    struct fixture *f = fixture_new(CONF "PrivateData=jobs\n");
    Pb__JobSpec s = fixture_spec(1, 1);
    Pb__StepId id = PB__STEP_ID__INIT;
    (void)state;
    ask_for_hold(f, &s);
    id.job_id = (uint32_t)fixture_submit(f, &FIXTURE_USER, &s);
    control_job_gates(f->control, ++f->last_call, &FIXTURE_OTHER, &id);
    assert_int_equal(fixture_code(f, f->last_call), ERR_NO_JOB);
    control_job_gates(f->control, ++f->last_call, &FIXTURE_USER, &id);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    id.job_id = 77;
    control_job_gates(f->control, ++f->last_call, &FIXTURE_ROOT, &id);
    assert_int_equal(fixture_code(f, f->last_call), ERR_NO_JOB);
    fixture_free(f);
}

static void set_feature(struct fixture *f, const char *node, const char *feature)
{
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    r.nodes = (char *)node;
    r.features = (char *)feature;
    control_node_update(f->control, ++f->last_call, &FIXTURE_ROOT, &r);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    fixture_turn(f);
}

/* It waits without blocking other jobs, and starts as soon as enough nodes have the feature. */
static void a_job_may_ask_for_a_feature_that_no_node_has_yet(void **state)
{
    static const char conf[] = "NodeName=n[1-2] CPUs=4\nPartitionName=a Nodes=ALL Default=YES\n";
    struct fixture *f = fixture_new(conf);
    Pb__JobSpec s = fixture_spec(2, 1);
    (void)state;
    s.features = (char *)"x";
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), -ERR_FEATURE);
    fixture_free(f);

    _cleanup_free_ char *lenient =
        mem_printf("SchedulerParameters=ignore_constraint_validation\n%s", conf);
    f = fixture_new(lenient);
    fixture_register(f, "n1", "i");
    fixture_register(f, "n2", "i");
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), 1);
    fixture_turn(f);
    Pb__JobSpec other = fixture_spec(1, 1);
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &other), 2);
    fixture_turn(f);
    const struct job *j = cluster_find_job(f->control->cluster, 1);
    assert_int_equal(j->state, PB__JOB_STATE__PENDING);
    assert_int_equal(cluster_find_job(f->control->cluster, 2)->state, PB__JOB_STATE__RUNNING);
    set_feature(f, "n1", "x");
    assert_int_equal(j->state, PB__JOB_STATE__PENDING);
    set_feature(f, "n2", "x");
    assert_int_equal(j->state, PB__JOB_STATE__RUNNING);
    s.has_tmp_per_node_mib = true;
    s.tmp_per_node_mib = 1000000; /* what else it asks for is checked */
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), -ERR_NODE_CONFIG);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_may_ask_for_a_feature_that_no_node_has_yet),
        cmocka_unit_test(test_cases_cover_each_reason_of_each_gate),
        cmocka_unit_test(closed_gate_sets_the_reason_of_the_job),
        cmocka_unit_test(enforced_partition_limits_refuse_the_submission),
        cmocka_unit_test(all_gates_of_each_partition_are_reported),
        cmocka_unit_test(gates_of_the_named_element_are_reported),
        cmocka_unit_test(gates_of_hidden_jobs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
