/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PrivateData=jobs: replies about a hidden job equal those about a job that does not exist. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "control/fixture.h"
#include "control/query/gang_list.h"

#define LINES                                                                                      \
    "NodeName=n1 CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"                  \
    "SchedulerParameters=enable_user_top\n"

#define UNKNOWN 7

typedef void ask_fn(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id);

static void ask_alloc_wait(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__AllocWait r = PB__ALLOC_WAIT__INIT;
    r.job_id = id;
    control_alloc_wait(f->control, call, who, &r);
}

static void ask_alloc_info(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__JobIdRequest r = PB__JOB_ID_REQUEST__INIT;
    r.job_id = id;
    control_alloc_info(f->control, call, who, &r);
}

static void wait_end(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__JobIdRequest r = PB__JOB_ID_REQUEST__INIT;
    r.job_id = id;
    control_job_wait_end(f->control, call, who, &r);
}

static void ask_job_complete(struct fixture *f, const struct caller *who, uint64_t call,
                             uint32_t id)
{
    Pb__JobComplete r = PB__JOB_COMPLETE__INIT;
    r.job_id = id;
    control_job_complete(f->control, call, who, &r);
}

static void step_complete(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__StepComplete r = PB__STEP_COMPLETE__INIT;
    r.job_id = id;
    control_step_complete(f->control, call, who, &r);
}

static void step_create(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__StepSpec r = PB__STEP_SPEC__INIT;
    r.has_job_id = true;
    r.job_id = id;
    control_step_create(f->control, call, who, &r);
}

static void ask_cast(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__CastAsk r = PB__CAST_ASK__INIT;
    Pb__StepId step = PB__STEP_ID__INIT;
    step.job_id = id;
    r.id = &step;
    control_cast_ask(f->control, call, who, &r);
}

static void ask_job_notify(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__JobNotify r = PB__JOB_NOTIFY__INIT;
    Pb__StepId step = PB__STEP_ID__INIT;
    step.job_id = id;
    r.target = &step;
    r.text = (char *)"hello";
    control_job_notify(f->control, call, who, &r);
}

static void ask_job_top(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__JobTop r = PB__JOB_TOP__INIT;
    r.job_id = &id;
    r.n_job_id = 1;
    control_job_top(f->control, call, who, &r);
}

static void ask_job_why(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__WhyRequest r = PB__WHY_REQUEST__INIT;
    r.job_id = id;
    control_job_why(f->control, call, who, &r);
}

static void ask_job_update(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = id;
    r.has_hold = r.hold = true;
    control_job_update(f->control, call, who, &r);
}

static void ask_job_signal(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    Pb__StepId target = PB__STEP_ID__INIT, *targets[] = {&target};
    target.job_id = id;
    r.target = targets;
    r.n_target = 1;
    control_job_signal(f->control, call, who, &r);
}

static void wait_for(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__SubmitRequest r = PB__SUBMIT_REQUEST__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
    char text[32];
    snprintf(text, sizeof(text), "afterany:%u", id);
    spec.dependency = text;
    payload.has_script = true;
    payload.script = (ProtobufCBinaryData){10, (uint8_t *)"#!/bin/sh\n"};
    r.spec = &spec;
    r.payload = &payload;
    control_submit(f->control, call, who, &r);
}

/* Returns the code, the text, and the packed reply with the job's id replaced by 0. */
static void get_answer(struct fixture *f, ask_fn *ask, const struct caller *who, uint32_t id,
                       struct str *out)
{
    uint64_t call = ++f->last_call;

    ask(f, who, call, id);
    fixture_turn(f);
    vec_foreach (&f->replies, r) {
        if (r->call != call)
            continue;
        _cleanup_str_ struct str text = STR_INIT;
        for (const char *s = str_cstr(&r->text); *s; s++)
            str_putc(&text, *s == '0' + (char)id ? '#' : *s);
        str_printf(out, "%d %s ", r->code, str_cstr(&text));
        for (size_t i = 0; i < r->data.len; i++) /* in a packed reply an id is one byte */
            str_printf(out, "%02x", (uint8_t)r->data.data[i] == id ? 0 : (uint8_t)r->data.data[i]);
    }
}

static void ask_job_gates(struct fixture *f, const struct caller *who, uint64_t call, uint32_t id)
{
    Pb__StepId r = PB__STEP_ID__INIT;
    r.job_id = id;
    control_job_gates(f->control, call, who, &r);
}

static ask_fn *const questions[] = {
    ask_job_gates, ask_alloc_wait, ask_alloc_info, wait_end,       ask_job_complete,
    step_complete, step_create,    ask_cast,       ask_job_notify, ask_job_top,
    ask_job_why,   ask_job_update, ask_job_signal, wait_for};

static void hidden_job_gets_the_reply_of_a_missing_job(void **state)
{
    for (unsigned hidden = 0; hidden < 2; hidden++) {
        struct fixture *f = fixture_new_up(hidden ? LINES "PrivateData=jobs\n" : LINES, 1);
        struct caller user = FIXTURE_USER, other = FIXTURE_OTHER;
        Pb__JobSpec held = PB__JOB_SPEC__INIT;
        uint32_t jobs[3], payload, bytes;

        jobs[0] = (uint32_t)fixture_submit(f, &user, NULL); /* runs */
        held.has_hold = held.hold = true;
        jobs[1] = (uint32_t)fixture_submit(f, &user, &held);
        held.array_inx = (char *)"1-3";
        jobs[2] = (uint32_t)fixture_submit(f, &user, &held);
        for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
            for (size_t k = 0; k < 3; k++) {
                _cleanup_str_ struct str one = STR_INIT, none = STR_INIT;
                get_answer(f, questions[i], &other, jobs[k], &one);
                get_answer(f, questions[i], &other, UNKNOWN, &none);
                assert_true(one.len > 0);
                if (hidden)
                    assert_string_equal(str_cstr(&one), str_cstr(&none));
                else if (questions[i] != ask_job_why || k == 1)
                    assert_string_not_equal(str_cstr(&one), str_cstr(&none));
            }
        Pb__JobIdRequest ask = PB__JOB_ID_REQUEST__INIT;
        ask.job_id = jobs[0];
        assert_int_equal(control_may_read_script(f->control, &other, &ask, &payload, &bytes, NULL),
                         hidden ? -ERR_NO_JOB : -ERR_ACCESS);
        fixture_free(f);
    }
}

/* A user sees the user's own jobs in the rotation, and the partitions of these. */
static void private_rotation_hides_jobs_of_others(void **state)
{
    static const char conf[] = "PreemptMode=GANG\nNodeName=n1 CPUs=1 RealMemory=4000\n"
                               "PartitionName=a Nodes=ALL Default=YES OverSubscribe=FORCE:4\n"
                               "PartitionName=b Nodes=ALL OverSubscribe=FORCE:4\n"
                               "PartitionName=c Nodes=ALL\nPrivateData=";
    static const struct {
        const char *hidden;
        size_t members, partitions;
    } rows[] = {{"none\n", 2, 3}, {"jobs\n", 1, 3}, {"partitions\n", 2, 2}, {"all\n", 1, 1}};
    struct caller user = FIXTURE_USER, other = FIXTURE_OTHER;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_free_ char *lines = mem_printf("%s%s", conf, rows[i].hidden);
        struct fixture *f = fixture_new_up(lines, 1);
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        _cleanup_arena_ struct arena arena;
        Pb__GangReply reply;

        arena_init(&arena, 0);
        assert_true(fixture_submit(f, &other, NULL) > 0);
        spec.partition = (char *)"b";
        assert_true(fixture_submit(f, &user, &spec) > 0);
        gang_list_describe(f->control, &other, &reply, &arena);
        assert_int_equal(reply.n_members, rows[i].members);
        assert_int_equal(reply.n_partitions, rows[i].partitions);
        assert_string_equal(reply.members[0]->partition, "a");
        assert_string_equal(reply.partitions[0], "a");
        for (size_t k = 0; k < reply.n_slots && rows[i].members == 1; k++)
            for (size_t n = 0; n < reply.slots[k]->n_job_id; n++)
                assert_int_equal(reply.slots[k]->job_id[n], reply.members[0]->job_id);
        fixture_free(f);
    }
}

/* Listings, and the holders of a licence that a job waits for. */
static void private_listings_hide_jobs_of_others(void **state)
{
    for (unsigned hidden = 0; hidden < 2; hidden++) {
        struct fixture *f =
            fixture_new_up(hidden ? LINES "Licenses=a:1\nPriorityType=priority/multifactor\n"
                                          "PrivateData=jobs\n"
                                  : LINES "Licenses=a:1\nPriorityType=priority/multifactor\n",
                           1);
        struct caller user = FIXTURE_USER, other = FIXTURE_OTHER;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        Pb__StepFilter steps = PB__STEP_FILTER__INIT;
        Pb__PrioFilter prio = PB__PRIO_FILTER__INIT;
        Pb__WhyRequest why = PB__WHY_REQUEST__INIT;
        _cleanup_arena_ struct arena arena;
        uint64_t cursors[2] = {0};
        struct str out[2] = {STR_INIT, STR_INIT};

        arena_init(&arena, 0);
        spec.licenses = (char *)"a";
        assert_true(fixture_submit(f, &user, &spec) > 0);
        assert_true(fixture_submit(f, &user, &spec) > 0);
        int64_t waits = fixture_submit(f, &other, &spec);
        control_list_steps(f->control, &other, &steps, &cursors[0], 10000, &out[0]);
        control_list_prio(f->control, &other, &prio, &cursors[1], 10000, &out[1]);
        const Pb__StepList *batch =
            arena_unpack(&arena, &pb__step_list__descriptor, out[0].data, out[0].len);
        const Pb__PrioList *pending =
            arena_unpack(&arena, &pb__prio_list__descriptor, out[1].data, out[1].len);
        assert_int_equal(batch->n_steps, hidden ? 0 : 1);
        assert_int_equal(pending->n_jobs, hidden ? 1 : 2);
        why.job_id = (uint32_t)waits;
        control_job_why(f->control, ++f->last_call, &other, &why);
        for (int i = 0; i < 200 && fixture_code(f, f->last_call) < 0; i++)
            fixture_turn(f);
        assert_int_equal(fixture_code(f, f->last_call), 0);
        vec_foreach (&f->replies, r) {
            if (r->call != f->last_call)
                continue;
            const Pb__WhyReply *m =
                arena_unpack(&arena, &pb__why_reply__descriptor, r->data.data, r->data.len);
            assert_int_equal(m->n_holders, hidden ? 0 : 1);
        }
        str_done(&out[0]);
        str_done(&out[1]);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(private_listings_hide_jobs_of_others),
        cmocka_unit_test(private_rotation_hides_jobs_of_others),
        cmocka_unit_test(hidden_job_gets_the_reply_of_a_missing_job),
    };

    return cmocka_run_group_tests_name("private", tests, NULL, NULL);
}
