/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The components of a heterogeneous job that an id names, in all requests with an id. */
#include <stdio.h>
#include <string.h>

#include "base/step_id.h"
#include "cluster/job/job_set.h"
#include "cluster/trigger.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-4] CPUs=4 RealMemory=4000\n"                \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=100\n"
#define NONE (-1) /* no offset */

static Pb__JobSpec make_spec(uint32_t cpus)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_max_nodes = s.has_cpus_per_task = s.has_num_tasks = true;
    s.min_nodes = s.max_nodes = s.num_tasks = 1;
    s.cpus_per_task = cpus;
    s.has_requeue = s.requeue = true;
    return s;
}

/* Submits three components, which run, or wait because all nodes are in use. */
static uint32_t submit_set(struct fixture *f)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {make_spec(4), make_spec(4), make_spec(4)};
    return (uint32_t)fixture_submit_set(f, &user, specs, 3);
}

static uint32_t submit_waiting(struct fixture *f)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec all = make_spec(4);
    all.min_nodes = all.max_nodes = all.num_tasks = 4;
    fixture_submit(f, &user, &all);
    return submit_set(f);
}

static Pb__StepId make_id(uint32_t job_id, int offset)
{
    Pb__StepId id = PB__STEP_ID__INIT;
    id.job_id = job_id;
    id.has_set_offset = offset != NONE;
    id.set_offset = (uint32_t)offset;
    return id;
}

/* Expects the offsets of the components in this state, as "0 2". */
#define expect_which(f, leader, is, expected) expect_at(f, leader, is, expected, __LINE__)
static void expect_at(struct fixture *f, uint32_t leader, bool (*is)(const Pb__JobLive *live),
                      const char *expected, int line)
{
    struct str out = STR_INIT;
    for (uint32_t i = 0; i < 3; i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        if (is(fixture_job(f, &arena, leader + i)->live))
            str_printf(&out, "%s%u", out.len ? " " : "", i);
    }
    if (!str_eq(str_cstr(&out), expected))
        fail_msg("line %d: components '%s', expected '%s'", line, str_cstr(&out), expected);
    str_done(&out);
}

static bool is_held(const Pb__JobLive *live)
{
    return str_eq(live->reason, "JobHeldUser");
}

static bool is_cancelled(const Pb__JobLive *live)
{
    return live->state == PB__JOB_STATE__CANCELLED;
}

static bool is_limited(const Pb__JobLive *live)
{
    return live->time_limit_sec == 600;
}

static int update_job(struct fixture *f, Pb__JobUpdate *r, uint32_t job_id, int offset)
{
    struct caller user = FIXTURE_USER;
    r->job_id = job_id;
    r->has_set_offset = offset != NONE;
    r->set_offset = (uint32_t)offset;
    return fixture_update_job(f, &user, r);
}

static int hold_job(struct fixture *f, uint32_t job_id, int offset, bool wanted)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.has_hold = true;
    r.hold = wanted;
    return update_job(f, &r, job_id, offset);
}

static int limit_job(struct fixture *f, uint32_t job_id, int offset, int64_t sec)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    set.has_time_limit_sec = true;
    set.time_limit_sec = sec;
    r.set = &set;
    return update_job(f, &r, job_id, offset);
}

/* HET-37, HET-48, HET-49: the leader's id names all components, an offset or a component's own id
 * one. */
static void update_applies_to_all_components_or_one(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    uint32_t id = submit_waiting(f);
    (void)state;
    assert_int_equal(limit_job(f, id, 2, 600), 0);
    expect_which(f, id, is_limited, "2");
    assert_int_equal(limit_job(f, id + 1, NONE, 600), 0);
    expect_which(f, id, is_limited, "1 2");
    assert_int_equal(limit_job(f, id, 0, 600), 0);
    expect_which(f, id, is_limited, "0 1 2");
    assert_int_equal(limit_job(f, id, NONE, 300), 0);
    expect_which(f, id, is_limited, "");
    fixture_free(f);
}

/* HET-47: only the leader sends mail, also when it is requested later. */
static void components_send_no_mail(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    uint32_t id = submit_waiting(f);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    (void)state;
    set.mail_type = (char *)"ALL";
    r.set = &set;
    assert_int_equal(update_job(f, &r, id, NONE), 0);
    assert_int_equal(update_job(f, &r, id, 1), 0);
    for (uint32_t i = 0; i < 3; i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const char *mail = fixture_job(f, &arena, id + i)->spec->mail_type;
        assert_true(i ? mail == NULL : str_eq(mail, "ALL"));
    }
    fixture_free(f);
}

static void refused_offset_lists_the_existing_offsets(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct caller user = FIXTURE_USER, other = {.uid = 77, .gid = 77};
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    uint32_t id = submit_waiting(f), single = (uint32_t)fixture_submit(f, &user, NULL);
    const struct {
        uint32_t id;
        int offset;
        const char *text;
    } rows[] = {
        {id, 3, "job %u has components 0 to 2"},
        {single, 0, "job %u is not a heterogeneous job"},
        {id + 1, 0, "job %u is component 1 of heterogeneous job 2: use 2+1"},
    };
    (void)state;
    assert_int_equal(id, 2);
    r.has_hold = r.hold = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128] = "Invalid job id specified: ";
        snprintf(text + strlen(text), sizeof text - strlen(text), rows[i].text, rows[i].id);
        assert_int_equal(update_job(f, &r, rows[i].id, rows[i].offset), ERR_NO_JOB);
        assert_string_equal(fixture_text(f, f->last_call), text);
    }
    assert_int_equal(update_job(f, &r, 99, 0), ERR_NO_JOB);
    r.job_id = id; /* ownership is checked first */
    r.has_set_offset = true;
    r.set_offset = 7;
    assert_int_equal(fixture_update_job(f, &other, &r), ERR_ACCESS);
    fixture_free(f);
}

/* HET-16, HET-53 to HET-56. */
static void hold_and_release_follow_whole_hetjob(void **state)
{
    static const char *const words[] = {"", "SchedulerParameters=whole_hetjob\n",
                                        "SchedulerParameters=whole_pack\n"};
    (void)state;
    for (int whole = 0; whole < 3; whole++) {
        char conf[512];
        snprintf(conf, sizeof conf, "%s%s", CONF, words[whole]);
        struct fixture *f = fixture_new_up(conf, 4);
        uint32_t id = submit_waiting(f);
        assert_int_equal(hold_job(f, id + 1, NONE, true), 0);
        expect_which(f, id, is_held, whole ? "0 1 2" : "1");
        assert_int_equal(hold_job(f, id, 1, false), 0);
        expect_which(f, id, is_held, whole ? "0 2" : "");
        assert_int_equal(hold_job(f, id, NONE, true), 0);
        assert_int_equal(hold_job(f, id + 2, NONE, false), 0);
        expect_which(f, id, is_held, whole ? "" : "0 1");
        assert_int_equal(hold_job(f, id, NONE, false), 0);
        expect_which(f, id, is_held, "");
        assert_int_equal(limit_job(f, id + 1, NONE, 600), 0); /* no other update */
        expect_which(f, id, is_limited, "1");
        fixture_free(f);
    }
}

static int cancel_job(struct fixture *f, uint32_t job_id, int offset, char **text)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    Pb__StepId target = make_id(job_id, offset), *targets = &target;
    static struct arena arena;
    arena_done(&arena);
    arena_init(&arena, 0);
    r.target = &targets;
    r.n_target = 1;
    control_job_signal(f->control, ++f->last_call, &user, &r);
    fixture_turn(f);
    vec_foreach (&f->replies, reply) {
        if (reply->call != f->last_call)
            continue;
        const Pb__JobSignalReply *m = arena_unpack(&arena, &pb__job_signal_reply__descriptor,
                                                   reply->data.data, reply->data.len);
        const Pb__JobSignalReply__Result *result = m->results[0];
        assert_int_equal(result->job_id, job_id);
        assert_int_equal(result->has_set_offset, offset != NONE);
        *text = result->text;
        return result->code;
    }
    fail_msg("no reply");
    return -1;
}

/* HET-42 to HET-46, HET-53, HET-55. */
static void components_are_cancelled_alone(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    uint32_t id = submit_set(f);
    char *text;
    (void)state;
    assert_int_equal(cancel_job(f, id, 1, &text), 0);
    expect_which(f, id, is_cancelled, "1");
    assert_int_equal(cancel_job(f, id + 2, NONE, &text), 0);
    expect_which(f, id, is_cancelled, "1 2");
    assert_int_equal(cancel_job(f, id, 9, &text), ERR_NO_JOB);
    assert_string_equal(text, "Invalid job id specified: job 1 has components 0 to 2");
    assert_int_equal(cancel_job(f, id, 0, &text), 0);
    expect_which(f, id, is_cancelled, "0 1 2");
    fixture_free(f);
    f = fixture_new_up(CONF, 4);
    id = submit_waiting(f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cancel_job(f, id, i, &text), ERR_NOT_WHOLE_SET);
        expect_which(f, id, is_cancelled, "");
    }
    assert_int_equal(cancel_job(f, id, NONE, &text), 0);
    expect_which(f, id, is_cancelled, "0 1 2");
    fixture_free(f);
}

static void cancelling_follows_whole_hetjob(void **state)
{
    struct fixture *f = fixture_new_up(CONF "SchedulerParameters=whole_hetjob\n", 4);
    uint32_t id = submit_set(f);
    char *text;
    (void)state;
    assert_int_equal(cancel_job(f, id, 2, &text), 0);
    expect_which(f, id, is_cancelled, "2");
    assert_int_equal(cancel_job(f, id + 1, NONE, &text), 0);
    expect_which(f, id, is_cancelled, "0 1 2");
    fixture_free(f);
    f = fixture_new_up(CONF "SchedulerParameters=whole_hetjob\n", 4);
    id = submit_waiting(f);
    assert_int_equal(cancel_job(f, id + 1, NONE, &text), 0);
    expect_which(f, id, is_cancelled, "0 1 2");
    fixture_free(f);
}

/* HET-50 to HET-52. */
static void whole_operations_are_refused_for_a_component(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct caller root = FIXTURE_ROOT;
    uint32_t id = submit_set(f);
    (void)state;
    for (int i = 0; i < 4; i++) {
        Pb__JobUpdate requeue = PB__JOB_UPDATE__INIT;
        Pb__JobSuspend suspend = PB__JOB_SUSPEND__INIT;
        requeue.has_requeue = requeue.requeue = true;
        suspend.job_id = i < 3 ? id : id + 1;
        suspend.has_set_offset = i < 3;
        suspend.set_offset = (uint32_t)i;
        for (int resume = 0; resume < 2; resume++) {
            suspend.has_resume = suspend.resume = resume;
            control_job_suspend(f->control, ++f->last_call, &root, &suspend);
            fixture_turn(f);
            assert_int_equal(fixture_code(f, f->last_call), ERR_NOT_WHOLE_SET);
            assert_non_null(strstr(fixture_text(f, f->last_call), "use the job id 1"));
        }
        assert_int_equal(update_job(f, &requeue, suspend.job_id, i < 3 ? i : NONE),
                         ERR_NOT_WHOLE_SET);
        assert_string_equal(fixture_text(f, f->last_call),
                            "Operation is only possible for a whole heterogeneous job: use the "
                            "job id 1");
    }
    fixture_free(f);
}

/* Expects the ids in a listing of jobs, priorities or steps, as "2 3". */
static void expect_listed(struct fixture *f, uint32_t job_id, int offset, const char *expected)
{
    struct caller user = FIXTURE_USER;
    Pb__JobFilter jobs = PB__JOB_FILTER__INIT;
    Pb__PrioFilter prio = PB__PRIO_FILTER__INIT;
    Pb__JobComponent component = PB__JOB_COMPONENT__INIT, *components = &component;
    component.job_id = job_id;
    component.set_offset = (uint32_t)offset;
    jobs.job_id = prio.job_id = &job_id;
    jobs.n_job_id = prio.n_job_id = offset == NONE;
    jobs.component = prio.component = &components;
    jobs.n_component = prio.n_component = offset != NONE;
    for (int kind = 0; kind < 2; kind++) {
        struct str out = STR_INIT, ids = STR_INIT;
        uint64_t cursor = 0;
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        if (kind == 0)
            assert_false(control_list_jobs(f->control, &user, &jobs, &cursor, 1 << 20, &out));
        else
            assert_false(control_list_prio(f->control, &user, &prio, &cursor, 1 << 20, &out));
        if (kind == 0) {
            const Pb__JobList *m =
                arena_unpack(&arena, &pb__job_list__descriptor, out.data, out.len);
            for (size_t i = 0; i < m->n_jobs; i++)
                str_printf(&ids, "%s%u", i ? " " : "", m->jobs[i]->live->job_id);
        } else {
            const Pb__PrioList *m =
                arena_unpack(&arena, &pb__prio_list__descriptor, out.data, out.len);
            for (size_t i = 0; i < m->n_jobs; i++)
                str_printf(&ids, "%s%u", i ? " " : "", m->jobs[i]->job_id);
        }
        assert_string_equal(str_cstr(&ids), expected);
        str_done(&ids);
        str_done(&out);
    }
}

/* HET-38. */
static void listing_shows_all_components_or_one(void **state)
{
    struct fixture *f = fixture_new_up(CONF "PriorityType=priority/multifactor\n", 4);
    uint32_t id = submit_waiting(f);
    (void)state;
    expect_listed(f, id, NONE, "2 3 4");
    expect_listed(f, id, 0, "2");
    expect_listed(f, id, 2, "4");
    expect_listed(f, id + 1, NONE, "3");
    expect_listed(f, id, 3, "");
    expect_listed(f, id + 1, 0, "");
    fixture_free(f);
}

/* "1+0.batch 1+1.extern" */
static void expect_steps(struct fixture *f, uint32_t job_id, int offset, const char *expected)
{
    struct caller user = FIXTURE_USER;
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    Pb__StepId id = make_id(job_id, offset), *ids = &id;
    struct str out = STR_INIT, names = STR_INIT;
    uint64_t cursor = 0;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    filter.ids = &ids;
    filter.n_ids = 1;
    assert_false(control_list_steps(f->control, &user, &filter, &cursor, 1 << 20, &out));
    const Pb__StepList *m = arena_unpack(&arena, &pb__step_list__descriptor, out.data, out.len);
    for (size_t i = 0; i < m->n_steps; i++) {
        char name[STEP_ID_NAME_MAX];
        assert_true(m->steps[i]->has_set_id);
        str_printf(&names, "%s%u+%u.%s", i ? " " : "", m->steps[i]->set_id, m->steps[i]->set_offset,
                   step_id_name(m->steps[i]->step_id, name));
    }
    assert_string_equal(str_cstr(&names), expected);
    str_done(&names);
    str_done(&out);
}

static void listed_steps_name_their_component(void **state)
{
    struct fixture *f = fixture_new_up(CONF "PrologFlags=Contain\n", 4);
    uint32_t id = submit_set(f);
    (void)state;
    for (uint32_t i = 1; i <= 3; i++) {
        char node[4];
        snprintf(node, sizeof node, "n%u", i);
        fixture_launched(f, node, id + i - 1, 0);
    }
    expect_steps(f, id, NONE, "1+0.batch 1+0.extern 1+1.extern 1+2.extern");
    expect_steps(f, id, 0, "1+0.batch 1+0.extern");
    expect_steps(f, id, 2, "1+2.extern");
    expect_steps(f, id + 1, NONE, "1+1.extern");
    expect_steps(f, id, 3, "");
    fixture_free(f);
}

static void only_the_leader_has_a_script(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    struct caller user = FIXTURE_USER;
    Pb__JobIdRequest r = PB__JOB_ID_REQUEST__INIT;
    struct err err = {0};
    uint32_t payload = 0, bytes;
    (void)state;
    r.job_id = submit_set(f);
    assert_int_equal(control_may_read_script(f->control, &user, &r, &payload, &bytes, &err), 0);
    assert_int_equal(payload, r.job_id);
    r.has_set_offset = true;
    assert_int_equal(control_may_read_script(f->control, &user, &r, &payload, &bytes, &err), 0);
    r.set_offset = 1;
    assert_int_equal(control_may_read_script(f->control, &user, &r, &payload, &bytes, &err),
                     -ERR_NO_JOB);
    assert_string_equal(err.text, "Invalid job id specified: job 1+1 has no script: that of "
                                  "heterogeneous job 1 is its leader's");
    fixture_free(f);
}

static size_t count_triggers(struct fixture *f, uint32_t job_id, int offset)
{
    struct caller user = FIXTURE_USER;
    Pb__TriggerFilter filter = PB__TRIGGER_FILTER__INIT;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    filter.job_id = &job_id;
    filter.n_job_id = 1;
    filter.has_set_offset = offset != NONE;
    filter.set_offset = (uint32_t)offset;
    assert_false(control_list_triggers(f->control, &user, &filter, &cursor, 1 << 20, &out));
    const Pb__TriggerList *m =
        arena_unpack(&arena, &pb__trigger_list__descriptor, out.data, out.len);
    size_t count = m->n_triggers;
    str_done(&out);
    return count;
}

static void trigger_applies_to_one_component(void **state)
{
    struct fixture *f = fixture_new_up(CONF "SlurmctldParameters=allow_user_triggers\n", 4);
    struct caller user = FIXTURE_USER;
    Pb__TriggerRecord m = PB__TRIGGER_RECORD__INIT;
    uint32_t id = submit_set(f);
    (void)state;
    m.types = TRIGGER_FINI;
    m.program = (char *)"/bin/true";
    m.has_job_id = m.has_set_offset = true;
    m.job_id = id;
    m.set_offset = 3;
    control_trigger_set(f->control, ++f->last_call, &user, &m);
    fixture_turn(f);
    assert_string_equal(fixture_text(f, f->last_call),
                        "Invalid job id specified: job 1 has components 0 to 2");
    m.set_offset = 1;
    control_trigger_set(f->control, ++f->last_call, &user, &m);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    assert_int_equal(count_triggers(f, id, 1), 1);
    assert_int_equal(count_triggers(f, id + 1, NONE), 1);
    assert_int_equal(count_triggers(f, id, 2), 0);
    assert_int_equal(count_triggers(f, id, 7), 0);
    fixture_free(f);
}

static uint32_t get_priority(struct fixture *f, uint32_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    return fixture_job(f, &arena, id)->live->priority;
}

static void top_moves_the_named_components(void **state)
{
    struct fixture *f = fixture_new_up(CONF "PriorityType=priority/basic\n", 4);
    struct caller root = FIXTURE_ROOT;
    Pb__JobTop r = PB__JOB_TOP__INIT;
    uint32_t first = submit_waiting(f), second = submit_set(f);
    Pb__StepId id = make_id(second, NONE), *ids = &id;
    (void)state;
    r.target = &ids;
    r.n_target = 1;
    assert_true(get_priority(f, first) > get_priority(f, second));
    control_job_top(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(get_priority(f, second + i) > get_priority(f, first));
    id = make_id(first, 2);
    control_job_top(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    assert_true(get_priority(f, first + 2) > get_priority(f, second));
    assert_true(get_priority(f, first) < get_priority(f, second));
    id = make_id(first, 3);
    control_job_top(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), ERR_NO_JOB);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(update_applies_to_all_components_or_one),
        cmocka_unit_test(components_send_no_mail),
        cmocka_unit_test(refused_offset_lists_the_existing_offsets),
        cmocka_unit_test(hold_and_release_follow_whole_hetjob),
        cmocka_unit_test(components_are_cancelled_alone),
        cmocka_unit_test(cancelling_follows_whole_hetjob),
        cmocka_unit_test(whole_operations_are_refused_for_a_component),
        cmocka_unit_test(listing_shows_all_components_or_one),
        cmocka_unit_test(listed_steps_name_their_component),
        cmocka_unit_test(only_the_leader_has_a_script),
        cmocka_unit_test(trigger_applies_to_one_component),
        cmocka_unit_test(top_moves_the_named_components),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
