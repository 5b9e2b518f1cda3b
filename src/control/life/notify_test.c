/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol notify: rejections, the message of a script, and messages to waiting clients. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "NodeName=n[1-2] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSlurmdTimeout=0\n"
#define NO_STEP 0xffffffffu

static struct fixture *make_fixture(void)
{
    return fixture_new_up(CONF, 2);
}

static int notify_job(struct fixture *f, struct caller who, int64_t id, uint32_t step,
                      const char *text)
{
    Pb__JobNotify r = PB__JOB_NOTIFY__INIT;
    Pb__StepId target = PB__STEP_ID__INIT;
    target.job_id = (uint32_t)id;
    target.has_step_id = step != NO_STEP;
    target.step_id = step;
    r.target = &target;
    r.text = (char *)text;
    control_job_notify(f->control, ++f->last_call, &who, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static int64_t start_batch(struct fixture *f)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = true;
    s.min_nodes = 2;
    s.has_exclusive = s.exclusive = true;
    int64_t id = fixture_submit(f, &FIXTURE_USER, &s);
    assert_true(id > 0);
    return id;
}

static void invalid_notices_are_refused(void **state)
{
    struct fixture *f = make_fixture();
    char text[1026];
    (void)state;
    int64_t runs = start_batch(f), waits = start_batch(f);
    fixture_launched(f, "n1", (uint32_t)runs, 0);
    memset(text, 'x', sizeof text);
    text[1025] = 0;
    assert_int_equal(notify_job(f, FIXTURE_USER, 4711, NO_STEP, "x"), ERR_NO_JOB);
    assert_int_equal(notify_job(f, FIXTURE_OTHER, runs, NO_STEP, "x"), ERR_ACCESS);
    assert_int_equal(notify_job(f, FIXTURE_OTHER, runs, NO_STEP, ""), ERR_ACCESS);
    assert_int_equal(notify_job(f, FIXTURE_USER, runs, NO_STEP, ""), ERR_LIMIT);
    assert_int_equal(notify_job(f, FIXTURE_USER, runs, NO_STEP, text), ERR_LIMIT);
    assert_int_equal(notify_job(f, FIXTURE_USER, runs, NO_STEP, text + 1), 0);
    assert_int_equal(notify_job(f, FIXTURE_USER, runs, 3, "x"), ERR_NO_STEP);
    assert_int_equal(notify_job(f, FIXTURE_USER, waits, NO_STEP, "x"), ERR_JOB_PENDING);
    fixture_batch_ended(f, "n1", (uint32_t)runs, 0, 0);
    assert_int_equal(notify_job(f, FIXTURE_ROOT, runs, NO_STEP, "x"), ERR_JOB_DONE);
    fixture_free(f);
}

/* Returns the message that n1 was ordered to write for this job; nonces differ. */
static const char *find_message(const struct fixture *f, int64_t id, uint64_t *nonce)
{
    const char *line = NULL;
    vec_foreach (&f->orders, at)
        for (size_t i = 0; i < (*at)->orders->n_orders; i++) {
            const Pb__SignalJob *m = (*at)->orders->orders[i]->signal;
            if (!m || m->job_id != id || !m->say)
                continue;
            assert_string_equal((*at)->node, "n1");
            assert_int_equal(m->step_id, STEP_ID_BATCH);
            assert_int_equal(m->signal, 0);
            assert_true(m->nonce != *nonce);
            *nonce = m->nonce;
            line = m->say;
        }
    return line;
}

static void notice_to_a_script_is_one_printable_line(void **state)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"hello", "hello"},
        {"a\nb\tc\x1b[2J\x7f", "a b c [2J "},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2\x9bX\x9bY\xc3", "?X?Y?"}, /* C1 controls and invalid bytes */
        {"g\xe2\x80\xaeh\xe2\x80\xa8 i\xe2\x81\xa6k", "g?h? i?k"}, /* bidi controls, a line */
        {"\xe2\x80\xa7\xe2\x80\xaf\xe2", "\xe2\x80\xa7\xe2\x80\xaf?"},
    };
    struct fixture *f = make_fixture();
    uint64_t nonce = 0;
    (void)state;
    int64_t id = start_batch(f);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        _cleanup_free_ char *line = mem_printf("slurmstepd: error: %s\n", cases[i].line);
        fixture_clear(f);
        assert_int_equal(
            notify_job(f, FIXTURE_ROOT, id, i % 2 ? STEP_ID_BATCH : NO_STEP, cases[i].text), 0);
        assert_string_equal(find_message(f, id, &nonce), line);
    }
    fixture_free(f);
}

static uint32_t start_alloc(struct fixture *f)
{
    Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    r.spec = &spec;
    control_alloc(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
    fixture_turn(f);
    vec_foreach (&f->replies, reply)
        if (reply->call == f->last_call) {
            const Pb__AllocReply *m = arena_unpack(&arena, &pb__alloc_reply__descriptor,
                                                   reply->data.data, reply->data.len);
            return m->job_id;
        }
    return 0;
}

static void wait_end(struct fixture *f, uint64_t call, uint32_t id, uint64_t seen, uint32_t step)
{
    Pb__JobIdRequest r = PB__JOB_ID_REQUEST__INIT;
    struct caller user = FIXTURE_USER;
    r.job_id = id;
    r.has_notices_seen = seen != UINT64_MAX;
    r.notices_seen = seen;
    r.has_step_id = step != NO_STEP;
    r.step_id = step;
    r.has_of_job = true;
    r.of_job = step == NO_STEP;
    control_job_wait_end(f->control, call, &user, &r);
    fixture_turn(f);
}

/* Returns the number of the message in the call's reply; 0: it waits, or the job has ended. */
static uint64_t find_notice(const struct fixture *f, uint64_t call, const char *text)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    vec_foreach (&f->replies, reply)
        if (reply->call == call) {
            const Pb__JobEnd *m =
                arena_unpack(&arena, &pb__job_end__descriptor, reply->data.data, reply->data.len);
            if (!m->notice)
                return 0;
            assert_string_equal(m->notice, text);
            assert_int_equal(m->state, PB__JOB_STATE__RUNNING);
            return m->notice_number;
        }
    return 0;
}

static void waiting_clients_get_each_notice_once(void **state)
{
    struct fixture *f = make_fixture();
    (void)state;
    uint32_t id = start_alloc(f);
    wait_end(f, 800, id, 0, NO_STEP);    /* salloc */
    wait_end(f, 801, id, UINT64_MAX, 0); /* wants no messages */
    assert_int_equal(notify_job(f, FIXTURE_USER, id, NO_STEP, "one"), 0);
    assert_int_equal(notify_job(f, FIXTURE_USER, id, NO_STEP, "two"), 0);
    uint64_t one = find_notice(f, 800, "one");
    assert_true(one > 0);
    wait_end(f, 802, id, one, NO_STEP);
    uint64_t two = find_notice(f, 802, "two");
    assert_true(two > one);
    wait_end(f, 803, id, two, NO_STEP);
    assert_int_equal(find_notice(f, 803, ""), 0);
    assert_int_equal(fixture_code(f, 801), -1);
    control_call_gone(f->control, 803); /* no client is connected */
    assert_int_equal(notify_job(f, FIXTURE_USER, id, NO_STEP, "three"), 0);
    assert_int_equal(fixture_code(f, 803), -1);
    wait_end(f, 804, id, two, NO_STEP);
    assert_true(find_notice(f, 804, "three") > two);
    fixture_free(f);
}

static void last_eight_notices_are_kept(void **state)
{
    struct fixture *f = make_fixture();
    char text[8];
    (void)state;
    uint32_t id = start_alloc(f);
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_int_equal(notify_job(f, FIXTURE_USER, id, NO_STEP, text), 0);
    }
    uint64_t seen = 0;
    for (int i = 12; i < 20; i++) {
        snprintf(text, sizeof text, "%d", i);
        wait_end(f, 900 + (uint64_t)i, id, seen, NO_STEP);
        seen = find_notice(f, 900 + (uint64_t)i, text);
        assert_true(seen > 0);
    }
    wait_end(f, 950, id, seen, NO_STEP);
    assert_int_equal(fixture_code(f, 950), -1);
    fixture_free(f);
}

static void waiting_client_is_told_the_end(void **state)
{
    struct fixture *f = make_fixture();
    Pb__JobComplete end = PB__JOB_COMPLETE__INIT;
    struct caller user = FIXTURE_USER;
    (void)state;
    uint32_t id = start_alloc(f);
    wait_end(f, 800, id, 0, NO_STEP);
    end.job_id = id;
    control_job_complete(f->control, ++f->last_call, &user, &end);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, 800), 0);
    assert_int_equal(find_notice(f, 800, ""), 0);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_notices_are_refused),
        cmocka_unit_test(notice_to_a_script_is_one_printable_line),
        cmocka_unit_test(waiting_clients_get_each_notice_once),
        cmocka_unit_test(last_eight_notices_are_kept),
        cmocka_unit_test(waiting_client_is_told_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
