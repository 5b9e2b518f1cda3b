/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice events: recording, consumers, deletion, and access. */
#include <stdio.h>
#include <string.h>

#include "cluster/job/transition.h"
#include "control/event/event.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "NodeName=n[1-2] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSlurmdTimeout=0\n"

static uint64_t request_log(struct fixture *f, struct caller who, const char *consumer,
                            int64_t since, bool wait, bool attempts)
{
    Pb__EventRequest r = PB__EVENT_REQUEST__INIT;
    r.has_attempts = r.attempts = attempts;
    r.consumer = (char *)consumer;
    r.has_since = since >= 0;
    r.since = since >= 0 ? (uint64_t)since : 0;
    r.has_wait = r.wait = wait;
    control_events(f->control, ++f->last_call, &who, &r);
    fixture_turn(f);
    return f->last_call;
}

static uint64_t request_events(struct fixture *f, struct caller who, const char *consumer,
                               int64_t since, bool wait)
{
    return request_log(f, who, consumer, since, wait, false);
}

static uint64_t request_rows(struct fixture *f, struct caller who, int64_t since)
{
    return request_log(f, who, NULL, since, false, true);
}

static int forget_consumer(struct fixture *f, struct caller who, const char *consumer)
{
    Pb__EventRequest r = PB__EVENT_REQUEST__INIT;
    r.consumer = (char *)consumer;
    r.has_forget = r.forget = true;
    control_events(f->control, ++f->last_call, &who, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static size_t count_stored(const struct fixture *f, enum record_kind kind)
{
    size_t count = 0;
    vec_foreach (&f->records, r)
        count += r->kind == kind;
    return count;
}

static const Pb__EventList *find_reply(struct fixture *f, uint64_t call, struct arena *arena)
{
    vec_foreach (&f->replies, r)
        if (r->call == call && r->code == 0)
            return arena_unpack(arena, &pb__event_list__descriptor, r->data.data, r->data.len);
    return NULL;
}

/* Expects the events in the reply, "2:1>1 ...": job:from>to, or the name of a node. */
static void expect_events(struct fixture *f, uint64_t call, const char *wanted)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str out = STR_INIT;
    arena_init(&arena, 0);
    const Pb__EventList *list = find_reply(f, call, &arena);
    assert_non_null(list);
    uint64_t last = list->since;
    for (size_t i = 0; i < list->n_events; i++) {
        const Pb__Event *e =
            arena_unpack(&arena, &pb__event__descriptor, list->events[i].data, list->events[i].len);
        assert_non_null(e);
        assert_true(e->number > last && e->number <= list->next);
        last = e->number;
        if (e->attempt)
            str_printf(&out, "%u/%u:%d ", e->attempt->live->job_id, e->attempt->live->restarts,
                       (int)e->attempt->live->state);
        else if (e->step)
            str_printf(&out, "%u.%u/%u ", e->step->job_id, e->step->step_id, e->step->restarts);
        else if (e->job)
            str_printf(&out, "%u:%d>%d ", e->job->job_id, (int)e->job->from, (int)e->job->to);
        else
            str_printf(&out, "%s:%u>%u ", e->node->name, e->node->from, e->node->to);
    }
    assert_string_equal(str_cstr(&out), wanted);
}

static void no_event_is_recorded_without_a_consumer(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = (uint32_t)fixture_submit(f, &FIXTURE_USER, NULL);
    fixture_launched(f, "n1", id, 0);
    fixture_end(f, id, 0);
    assert_int_equal(count_stored(f, RECORD_EVENT), 0);
    assert_int_equal(count_stored(f, RECORD_CONSUMER), 0);
    expect_events(f, request_events(f, FIXTURE_ROOT, NULL, -1, false),
                  ""); /* the consumer begins now */
    assert_int_equal(count_stored(f, RECORD_CONSUMER), 1);
    assert_int_equal(forget_consumer(f, FIXTURE_ROOT, NULL), 0);
    fixture_submit(f, &FIXTURE_USER, NULL);
    assert_int_equal(count_stored(f, RECORD_EVENT), 0);
    fixture_free(f);
}

static void events_are_kept_until_all_consumers_acknowledge(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    request_events(f, FIXTURE_ROOT, "a", -1, false);
    request_events(f, FIXTURE_ROOT, "b", -1, false);
    uint32_t id = (uint32_t)fixture_submit(f, &FIXTURE_USER, NULL);
    assert_int_equal(count_stored(f, RECORD_EVENT), 2);
    expect_events(f, request_events(f, FIXTURE_ROOT, "a", -1, false), "1:0>0 1:0>1 ");
    expect_events(f, request_events(f, FIXTURE_ROOT, "a", -1, false),
                  "1:0>0 1:0>1 "); /* not acknowledged */
    expect_events(f, request_events(f, FIXTURE_ROOT, "a", 1, false), "1:0>1 ");
    expect_events(f, request_events(f, FIXTURE_ROOT, "a", 2, false), "");
    assert_int_equal(count_stored(f, RECORD_EVENT), 2); /* for b */
    fixture_restart(f);
    expect_events(f, request_events(f, FIXTURE_ROOT, "b", -1, false), "1:0>0 1:0>1 ");
    expect_events(f, request_events(f, FIXTURE_ROOT, "a", -1, false), "");
    request_events(f, FIXTURE_ROOT, "b", 2, false);
    assert_int_equal(count_stored(f, RECORD_EVENT), 0);
    fixture_register(f, "n1", "i1");
    fixture_launched(f, "n1", id, 0);
    fixture_end(f, id, 0);
    expect_events(f, request_events(f, FIXTURE_ROOT, "b", -1, false), "1:1>3 ");
    fixture_restart(f); /* numbers continue */
    fixture_submit(f, &FIXTURE_USER, NULL);
    expect_events(f, request_events(f, FIXTURE_ROOT, "b", 3, false), "2:0>0 ");
    forget_consumer(f, FIXTURE_ROOT, "a");
    forget_consumer(f, FIXTURE_ROOT, "b");
    fixture_restart(f); /* also if no record is left */
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__EventList *list =
        find_reply(f, request_events(f, FIXTURE_ROOT, "a", -1, false), &arena);
    assert_true(list && list->created && list->next >= 4);
    fixture_free(f);
}

static void call_waits_for_an_event_that_the_caller_may_see(void **state)
{
    struct fixture *f = fixture_new_up(CONF "PrivateData=jobs,nodes\n", 2);
    request_events(f, FIXTURE_USER, NULL, -1, false);
    request_events(f, FIXTURE_OTHER, NULL, -1, false);
    uint64_t own = request_events(f, FIXTURE_USER, NULL, 0, true),
             other = request_events(f, FIXTURE_OTHER, NULL, 0, true);
    assert_int_equal(fixture_code(f, own), -1);
    assert_int_equal(fixture_code(f, other), -1);
    uint32_t id = (uint32_t)fixture_submit(f, &FIXTURE_USER, NULL);
    expect_events(f, own, "1:0>0 1:0>1 ");
    fixture_update_node(f, "n2", "DRAIN", "disk");
    assert_int_equal(fixture_code(f, other), -1);
    fixture_pass(f, EVENT_WAIT_MS); /* answered without events, with the position */
    expect_events(f, other, "");
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(find_reply(f, other, &arena)->next, 3);
    expect_events(f, request_events(f, FIXTURE_ROOT, NULL, 0, false), "1:0>0 1:0>1 n2:0>2 ");
    uint64_t gone = request_events(f, FIXTURE_USER, NULL, 3, true);
    control_call_gone(f->control, gone);
    fixture_cancel(f, &FIXTURE_USER, id, NULL, 0);
    assert_int_equal(fixture_code(f, gone), -1);
    expect_events(f, request_events(f, FIXTURE_USER, NULL, 3, true), "1:1>4 ");
    fixture_free(f);
}

static void consumers_are_bounded(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    char name[EVENT_NAME_MAX + 2];
    static const char *const bad[] = {"", "a b", "a/b", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(fixture_code(f, request_events(f, FIXTURE_USER, bad[i], -1, false)),
                         ERR_RANGE);
    memset(name, 'x', sizeof name);
    name[EVENT_NAME_MAX + 1] = 0;
    assert_int_equal(fixture_code(f, request_events(f, FIXTURE_USER, name, -1, false)), ERR_RANGE);
    for (int i = 0; i <= EVENT_CONSUMERS_USER; i++) {
        snprintf(name, sizeof name, "c%d", i);
        assert_int_equal(fixture_code(f, request_events(f, FIXTURE_USER, name, -1, false)),
                         i < EVENT_CONSUMERS_USER ? 0 : ERR_LIMIT);
    }
    for (int i = 0; i <= EVENT_CALLS_USER; i++) {
        uint64_t call = request_events(f, FIXTURE_USER, "c0", -1, true);
        assert_int_equal(fixture_code(f, call), i < EVENT_CALLS_USER ? -1 : ERR_LIMIT);
    }
    /* Another user's consumer. */
    assert_int_equal(forget_consumer(f, FIXTURE_OTHER, "c0"), ERR_RANGE);
    assert_int_equal(count_stored(f, RECORD_CONSUMER), EVENT_CONSUMERS_USER);
    fixture_pass(f, EVENT_FORGET_SEC * INT64_C(1000) + 1000);
    fixture_submit(f, &FIXTURE_USER, NULL);
    assert_int_equal(count_stored(f, RECORD_CONSUMER), 0); /* no request for too long */
    fixture_free(f);
}

static void some_consumers_are_reserved_for_operators(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    struct caller user = FIXTURE_USER;
    size_t accepted = 0;
    for (unsigned i = 0; i < EVENT_CONSUMERS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%u", i);
        user.uid = 1000 + i / EVENT_CONSUMERS_USER;
        accepted += fixture_code(f, request_events(f, user, name, -1, false)) == 0;
    }
    assert_int_equal(accepted, EVENT_CONSUMERS_MAX - EVENT_CONSUMERS_RESERVED);
    assert_int_equal(fixture_code(f, request_events(f, FIXTURE_ROOT, "r", -1, false)), 0);
    fixture_free(f);
}

static void full_disk_leaves_a_gap_in_the_events(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    uint32_t id = (uint32_t)fixture_submit(f, &FIXTURE_USER, NULL);
    fixture_launched(f, "n1", id, 0);
    request_events(f, FIXTURE_ROOT, NULL, -1, false);
    control_set_store_low(f->control, true);
    fixture_end(f, id, 0);
    assert_int_equal(count_stored(f, RECORD_EVENT), 0);
    control_set_store_low(f->control, false);
    fixture_submit(f, &FIXTURE_USER, NULL);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__EventList *list =
        find_reply(f, request_events(f, FIXTURE_ROOT, NULL, -1, false), &arena);
    assert_true(list && list->has_first && list->first == 2 && list->n_events == 2);
    fixture_free(f);
}

static void requeue_keeps_the_archived_row_of_the_attempt_before(void **state)
{
    struct fixture *f = fixture_new_up(CONF "SchedulerParameters=requeue_delay=0\n", 2);
    Pb__JobSpec spec = fixture_spec(1, 4);
    spec.has_requeue = spec.requeue = true;
    uint32_t id = (uint32_t)fixture_submit(f, &FIXTURE_USER, &spec);
    fixture_launched(f, "n1", id, 0);
    fixture_update_node(f, "n1", "DOWN", "smoke");
    assert_int_equal(count_stored(f, RECORD_ATTEMPT), 1); /* in the commit of the requeue */
    fixture_restart(f);
    fixture_register(f, "n2", "i1");
    fixture_launched(f, "n2", id, 1);
    fixture_batch_ended(f, "n2", id, 1, 0);
    fixture_gone(f, "n2", id, 1);
    assert_int_equal(count_stored(f, RECORD_ATTEMPT), 2);
    fixture_pass(f, 400000); /* the job is purged */
    assert_int_equal(count_stored(f, RECORD_JOB), 0);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint64_t call = request_rows(f, FIXTURE_ROOT, -1);
    expect_events(f, call, "1/0:7 1/1:3 ");
    const Pb__EventList *list = find_reply(f, call, &arena);
    assert_true(list->created && !list->has_first);
    const Pb__Event *e =
        arena_unpack(&arena, &pb__event__descriptor, list->events[0].data, list->events[0].len);
    assert_string_equal(e->attempt->live->nodes, "n1");
    assert_string_equal(e->attempt->live->reason, "NodeDown");
    assert_int_equal(e->attempt->live->num_cpus, 4);
    assert_true(e->attempt->live->start_at && e->attempt->live->end_at);
    expect_events(f, request_rows(f, FIXTURE_ROOT, 2), "");
    assert_int_equal(count_stored(f, RECORD_ATTEMPT), 0); /* acknowledged */
    fixture_restart(f);
    expect_events(f, request_rows(f, FIXTURE_ROOT, -1), "");
    fixture_free(f);
}

static void each_component_has_an_archived_row(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    Pb__JobSpec specs[] = {fixture_spec(1, 1), fixture_spec(1, 2)};
    uint32_t id = (uint32_t)fixture_submit_set(f, &FIXTURE_USER, specs, 2);
    fixture_cancel(f, &FIXTURE_USER, id, NULL, 0);
    fixture_gone(f, "n1", id, 0);
    fixture_gone(f, "n1", id + 1, 0);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__EventList *list = find_reply(f, request_rows(f, FIXTURE_ROOT, -1), &arena);
    assert_int_equal(list->n_events, 2);
    for (size_t i = 0; i < list->n_events; i++) {
        const Pb__Event *e =
            arena_unpack(&arena, &pb__event__descriptor, list->events[i].data, list->events[i].len);
        const Pb__JobLive *live = e->attempt->live;
        assert_int_equal(live->set_id, id);
        assert_int_equal(live->set_offset, live->job_id - id);
        assert_int_equal(live->state, PB__JOB_STATE__CANCELLED);
        assert_int_equal(live->cancelled_by, FIXTURE_USER.uid);
    }
    fixture_free(f);
}

static void archive_is_bounded_without_a_consumer(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    _cleanup_str_ struct str record = STR_INIT;
    Pb__StepRecord step = PB__STEP_RECORD__INIT;
    step.job_id = 1;
    pb_pack(&step.base, &record);
    for (int i = 0; i <= EVENT_KEEP_UNREAD; i++)
        event_keep_row(f->control, 0, EVENT_ROW_STEP, &record);
    size_t kept = count_stored(f, RECORD_ATTEMPT);
    assert_true(kept <= EVENT_KEEP_UNREAD && kept > EVENT_KEEP_UNREAD / 2);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__EventList *list = find_reply(f, request_rows(f, FIXTURE_ROOT, -1), &arena);
    assert_true(list && list->since == EVENT_KEEP_UNREAD + 1 - kept && !list->has_first);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_consumers_are_reserved_for_operators),
        cmocka_unit_test(no_event_is_recorded_without_a_consumer),
        cmocka_unit_test(events_are_kept_until_all_consumers_acknowledge),
        cmocka_unit_test(call_waits_for_an_event_that_the_caller_may_see),
        cmocka_unit_test(consumers_are_bounded),
        cmocka_unit_test(full_disk_leaves_a_gap_in_the_events),
        cmocka_unit_test(requeue_keeps_the_archived_row_of_the_attempt_before),
        cmocka_unit_test(each_component_has_an_archived_row),
        cmocka_unit_test(archive_is_bounded_without_a_consumer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
