/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records that were set aside: their ids, jobs that still run, and nodes and partitions with
 * unknown states. */
#include <string.h>

#include "control/fixture.h"

#define LINES                                                                                      \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"                           \
    "NodeName=n[1-2] CPUs=4 RealMemory=4000\n"                                                     \
    "PartitionName=p Nodes=ALL Default=YES MaxTime=UNLIMITED\n"

struct aside_row {
    enum record_kind kind;
    uint64_t number;
    const char *name;
};

static bool is_row(const struct fixture_record *r, const struct aside_row *a)
{
    return r->kind == a->kind && (a->name ? str_eq(r->name, a->name) : r->number == a->number);
}

/* Restarts with one record set aside; before: an earlier start has set it aside. */
static void restart_without(struct fixture *f, const struct aside_row *a, bool before)
{
    struct conf *conf = NULL;
    struct err err = {0};
    control_free(f->control);
    fixture_clear(f);
    assert_int_equal(conf_load(f->path, CONF_FULL, NULL, &conf, NULL, &err), 0);
    f->control = control_new(conf, &f->env);
    for (size_t i = f->records.len; i-- > 0;) {
        struct fixture_record *r = &f->records.data[i];
        if (!is_row(r, a))
            continue;
        free(r->name);
        str_done(&r->data);
        vec_remove(&f->records, i);
    }
    vec_foreach (&f->records, r)
        if (control_restore(f->control, r->kind, r->number, r->name, r->data.data, r->data.len,
                            &err) != 0)
            fail_msg("%s", err.text);
    control_set_aside(f->control, a->kind, a->number, a->name, before);
    control_start(f->control);
    fixture_turn(f);
}

static void register_with(struct fixture *f, const char *node, uint32_t job)
{
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;
    Pb__Presence p = PB__PRESENCE__INIT, *all = &p;
    r.name = (char *)node;
    r.version = (char *)"1";
    r.incarnation = (char *)"a";
    p.job_id = job;
    r.present = &all;
    r.n_present = 1;
    control_node_register(f->control, node, &r);
    fixture_turn(f);
}

static int cancel_job(struct fixture *f, const struct caller *who, uint32_t job, int signal)
{
    return fixture_cancel(f, who, job, NULL, signal);
}

static const char *get_reason(struct fixture *f, struct arena *arena, const char *node, bool *drain)
{
    const Pb__NodeRecord *n = fixture_node(f, arena, node);
    *drain = n->has_drain && n->drain;
    return n->reason ? n->reason : "";
}

static struct fixture *make_running_job(uint32_t *job)
{
    struct fixture *f = fixture_new(LINES);
    fixture_register(f, "n1", "a");
    *job = (uint32_t)fixture_submit(f, &FIXTURE_USER, NULL);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, *job), PB__JOB_STATE__RUNNING);
    fixture_launched(f, "n1", *job, 0);
    fixture_turn(f);
    return f;
}

static void running_job_with_a_damaged_record_continues(void **state)
{
    uint32_t job;
    struct fixture *f = make_running_job(&job);
    _cleanup_arena_ struct arena arena;
    bool drain;
    (void)state;
    arena_init(&arena, 0);
    const struct aside_row row = {RECORD_JOB, job, NULL};
    restart_without(f, &row, false);
    for (int life = 0; life < 3; life++) { /* at each start, and each time the node registers */
        if (life)
            restart_without(f, &row, true);
        for (int times = 0; times < 2; times++) {
            fixture_clear(f);
            register_with(f, "n1", job);
            assert_int_equal(fixture_terminates(f, "n1", job), 0);
            assert_non_null(strstr(get_reason(f, &arena, "n1", &drain), "set aside"));
            assert_true(drain);
        }
        int64_t other = fixture_submit(f, &FIXTURE_USER, NULL);
        assert_true(other > job);
        assert_int_equal(fixture_state(f, (uint32_t)other), PB__JOB_STATE__PENDING);
        assert_int_equal(cancel_job(f, &FIXTURE_ROOT, (uint32_t)other, 0), 0);
    }

    /* It ends by itself: the leftovers are cleaned up, and the node is usable again. */
    fixture_clear(f);
    fixture_batch_ended(f, "n1", job, 0, 0);
    assert_int_equal(fixture_terminates(f, "n1", job), 1);
    int64_t next = fixture_submit(f, &FIXTURE_USER, NULL);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, (uint32_t)next), PB__JOB_STATE__PENDING);
    fixture_gone(f, "n1", job, 0);
    fixture_turn(f);
    get_reason(f, &arena, "n1", &drain);
    assert_false(drain);
    assert_int_equal(fixture_state(f, (uint32_t)next), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

static void operator_ends_a_job_with_a_damaged_record(void **state)
{
    uint32_t job;
    struct fixture *f = make_running_job(&job);
    _cleanup_arena_ struct arena arena;
    bool drain;
    (void)state;
    arena_init(&arena, 0);
    const struct aside_row row = {RECORD_JOB, job, NULL};
    restart_without(f, &row, false);
    register_with(f, "n1", job);
    assert_int_equal(cancel_job(f, &FIXTURE_USER, job, 0), ERR_ACCESS); /* its owner is unknown */
    assert_int_equal(cancel_job(f, &FIXTURE_ROOT, job, 10), ERR_NO_JOB);
    assert_int_equal(cancel_job(f, &FIXTURE_ROOT, job + 1, 0), ERR_NO_JOB);
    fixture_clear(f);
    assert_int_equal(cancel_job(f, &FIXTURE_ROOT, job, 0), 0);
    assert_int_equal(fixture_terminates(f, "n1", job), 1);
    assert_int_equal(cancel_job(f, &FIXTURE_ROOT, job, 0), ERR_NO_JOB);

    restart_without(f, &row, true); /* the cancellation is stored */
    fixture_clear(f);
    register_with(f, "n1", job);
    assert_true(fixture_terminates(f, "n1", job) >= 1);
    fixture_gone(f, "n1", job, 0);
    fixture_turn(f);
    get_reason(f, &arena, "n1", &drain);
    assert_false(drain);
    fixture_free(f);
}

/* A reason set by an administrator stays. */
static void reason_of_an_administrator_is_kept(void **state)
{
    uint32_t job;
    struct fixture *f = make_running_job(&job);
    _cleanup_arena_ struct arena arena;
    bool drain;
    (void)state;
    arena_init(&arena, 0);
    const struct aside_row row = {RECORD_JOB, job, NULL};
    restart_without(f, &row, false);
    assert_int_equal(fixture_update_node(f, "n1", "DRAIN", "fan"), 0);
    register_with(f, "n1", job);
    assert_int_equal(cancel_job(f, &FIXTURE_ROOT, job, 0), 0);
    fixture_gone(f, "n1", job, 0);
    assert_string_equal(get_reason(f, &arena, "n1", &drain), "fan");
    assert_true(drain);
    fixture_free(f);
}

static void ids_of_damaged_records_are_not_reused(void **state)
{
    struct fixture *f = fixture_new(LINES "FirstJobId=10\nMaxJobId=20\n");
    (void)state;
    for (uint32_t id = 10; id < 15; id++)
        assert_int_equal(fixture_submit(f, &FIXTURE_USER, NULL), id);
    restart_without(f, &(struct aside_row){RECORD_JOB, 12, NULL}, false);
    for (int i = 0; i < 2; i++) {
        for (uint32_t id = 10; id <= 20; id++)
            if (id != 12)
                cancel_job(f, &FIXTURE_ROOT, id, 0);
        fixture_pass(f, 400000); /* MinJobAge: they are purged */
        for (int n = 0; n < 8; n++)
            assert_int_not_equal(fixture_submit(f, &FIXTURE_USER, NULL), 12);
    }
    fixture_free(f);
}

/* It may have been drained, and its reason is lost: nothing starts there before a check. */
static void node_with_a_damaged_record_is_drained(void **state)
{
    struct fixture *f = fixture_new(LINES);
    _cleanup_arena_ struct arena arena;
    bool drain;
    (void)state;
    arena_init(&arena, 0);
    assert_int_equal(fixture_update_node(f, "n1", "DRAIN", "fan"), 0);
    restart_without(f, &(struct aside_row){RECORD_NODE, 0, "n1"}, false);
    assert_string_equal(get_reason(f, &arena, "n1", &drain),
                        "Its record was damaged and set aside");
    assert_true(drain);
    assert_int_equal(fixture_update_node(f, "n1", "RESUME", NULL), 0);
    restart_without(f, &(struct aside_row){RECORD_NODE, 0, "nobody"}, false);
    control_set_aside(f->control, RECORD_NODE, 0, "n1", true);
    get_reason(f, &arena, "n1", &drain);
    assert_false(drain); /* only once */
    fixture_free(f);
}

static void partition_with_a_damaged_record_is_down(void **state)
{
    struct fixture *f = fixture_new(LINES);
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    _cleanup_arena_ struct arena arena;
    (void)state;
    arena_init(&arena, 0);
    set.name = (char *)"p";
    set.has_max_nodes = true;
    set.max_nodes = 1;
    assert_int_equal(fixture_update_part(f, &set), 0);
    restart_without(f, &(struct aside_row){RECORD_PART, 0, "p"}, false);
    assert_string_equal(fixture_part(f, &arena, "p")->state, "DOWN");
    fixture_restart(f); /* the state is stored */
    assert_string_equal(fixture_part(f, &arena, "p")->state, "DOWN");
    set.has_max_nodes = false;
    set.state = (char *)"UP";
    assert_int_equal(fixture_update_part(f, &set), 0);
    restart_without(f, &(struct aside_row){RECORD_PART, 0, "none"}, true);
    assert_string_equal(fixture_part(f, &arena, "p")->state, "UP");
    fixture_free(f);
}

/* Without RECORD_META: far above all known ids. */
static void lost_metadata_is_replaced(void **state)
{
    static const struct aside_row job = {RECORD_JOB, 3, NULL}, meta = {RECORD_META, 0, NULL};
    struct fixture *f = fixture_new(LINES);
    (void)state;
    assert_false(control_lacks_meta(f->control));
    for (int i = 1; i <= 3; i++)
        assert_int_equal(fixture_submit(f, &FIXTURE_USER, NULL), i);
    assert_false(control_lacks_meta(f->control));
    uint64_t epoch = control_epoch(f->control);
    restart_without(f, &job, false);
    assert_int_equal(control_next_job_id(f->control), 4); /* job 3 is known */
    restart_without(f, &meta, false);
    assert_true(control_next_job_id(f->control) > 1000);
    assert_true(control_epoch(f->control) > epoch + 1000);
    fixture_free(f);

    f = fixture_new(LINES); /* no record is left: the same */
    struct conf *conf = NULL;
    struct err err = {0};
    assert_int_equal(conf_load(f->path, CONF_FULL, NULL, &conf, NULL, &err), 0);
    control_free(f->control);
    f->control = control_new(conf, &f->env);
    assert_false(control_lacks_meta(f->control));
    control_lost_records(f->control);
    assert_true(control_lacks_meta(f->control));
    control_start(f->control);
    fixture_turn(f);
    assert_true(fixture_submit(f, &FIXTURE_USER, NULL) > 1002);
    uint32_t next = control_next_job_id(f->control);
    fixture_restart(f);
    assert_false(control_lacks_meta(f->control));
    assert_true(control_next_job_id(f->control) >= next);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_job_with_a_damaged_record_continues),
        cmocka_unit_test(operator_ends_a_job_with_a_damaged_record),
        cmocka_unit_test(reason_of_an_administrator_is_kept),
        cmocka_unit_test(ids_of_damaged_records_are_not_reused),
        cmocka_unit_test(node_with_a_damaged_record_is_drained),
        cmocka_unit_test(partition_with_a_damaged_record_is_down),
        cmocka_unit_test(lost_metadata_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
