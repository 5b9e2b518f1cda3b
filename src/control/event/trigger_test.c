/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Event triggers: access, time of delivery, and no loss by a crash. */
#include <stdio.h>
#include <string.h>

#include "cluster/trigger.h"
#include "control/core/filter.h"
#include "control/fixture.h"
#include "control/life/depend.h"

#define NODES                                                                                      \
    "NodeName=n[1-4] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SlurmdTimeout=0\nMinJobAge=10\n"
#define USERS NODES "SlurmctldParameters=allow_user_triggers\n"
#define KIND PB__SCRIPT_KIND__SCRIPT_TRIGGER
#define SEC INT64_C(1000)
#define EVERY (15 * SEC)

struct ask {
    uint32_t types, job_id, flags;
    int64_t offset_sec;
    const char *nodes, *program, *request_id;
    bool is_element; /* task is an element of the job array job_id */
    uint32_t task;
    bool is_component; /* offset is a component of the heterogeneous job job_id */
    uint32_t offset;
};

static uint64_t ask_for(struct fixture *f, const struct caller *who, const struct ask *a)
{
    Pb__TriggerRecord m = PB__TRIGGER_RECORD__INIT;
    m.types = a->types;
    m.flags = a->flags;
    m.offset_sec = a->offset_sec;
    m.has_job_id = a->job_id != 0;
    m.job_id = a->job_id;
    m.has_array_task = a->is_element;
    m.array_task = a->task;
    m.has_set_offset = a->is_component;
    m.set_offset = a->offset;
    m.nodes = (char *)a->nodes;
    m.program = (char *)(a->program ? a->program : "/p");
    if (a->request_id) {
        m.has_request_id = true;
        m.request_id = (ProtobufCBinaryData){16, (uint8_t *)a->request_id};
    }
    control_trigger_set(f->control, ++f->last_call, who, &m);
    fixture_turn(f);
    return f->last_call;
}

static const Pb__TriggerReply *reply_of(struct fixture *f, struct arena *arena, uint64_t call)
{
    vec_foreach (&f->replies, r)
        if (r->call == call && !r->code)
            return arena_unpack(arena, &pb__trigger_reply__descriptor, r->data.data, r->data.len);
    return NULL;
}

/* Sets a trigger as root or 'who': returns its id. */
static uint32_t set_as(struct fixture *f, const struct caller *who, struct ask a)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint64_t call = ask_for(f, who, &a);
    const Pb__TriggerReply *reply = reply_of(f, &arena, call);
    if (!reply)
        fail_msg("%s", fixture_text(f, call));
    return reply->id;
}

static uint32_t set_trigger(struct fixture *f, struct ask a)
{
    return set_as(f, &FIXTURE_ROOT, a);
}

static int get_refusal_code(struct fixture *f, const struct caller *who, struct ask a)
{
    return fixture_code(f, ask_for(f, who, &a));
}

/* Returns the arguments of the next program, which then ends; "" if there is none. */
static const char *run_next_program(struct fixture *f)
{
    static char text[256];
    *text = 0;
    if (!f->scripts.len)
        return text;
    const struct fixture_script *s = &f->scripts.data[f->scripts.len - 1];
    snprintf(text, sizeof text, "%s %s", s->path, str_cstr(&s->argv));
    for (char *c = text; *c; c++)
        *c = *c == '\n' ? (c[1] ? ' ' : 0) : *c;
    assert_int_equal(s->limit_sec, 300);
    fixture_script_ended(f, KIND, s->job_id, 0);
    return text;
}

static size_t count_as(struct fixture *f, const struct caller *who)
{
    _cleanup_arena_ struct arena arena;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    Pb__TriggerFilter filter = PB__TRIGGER_FILTER__INIT;
    arena_init(&arena, 0);
    while (control_list_triggers(f->control, who, &filter, &cursor, 100, &out))
        ;
    const Pb__TriggerList *list =
        arena_unpack(&arena, &pb__trigger_list__descriptor, out.data, out.len);
    str_done(&out);
    return list->n_triggers;
}

static size_t count_triggers(struct fixture *f)
{
    return count_as(f, &FIXTURE_ROOT);
}

static size_t count_records(struct fixture *f)
{
    size_t number = 0;
    vec_foreach (&f->records, r)
        number += r->kind == RECORD_TRIGGER;
    return number;
}

static struct fixture *make_world(const char *lines)
{
    struct fixture *f = fixture_new(lines);
    for (int i = 1; i <= 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        fixture_register(f, name, "i");
    }
    return f;
}

static uint32_t run_job(struct fixture *f, const struct caller *who, uint32_t limit_sec)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_time_limit_sec = limit_sec > 0;
    s.time_limit_sec = limit_sec;
    s.req_nodes = (char *)"n1";
    int64_t id = fixture_submit(f, who, &s);
    assert_true(id > 0);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    return (uint32_t)id;
}

static void end_job(struct fixture *f, uint32_t id)
{
    fixture_batch_ended(f, "n1", id, 0, 0);
    fixture_gone(f, "n1", id, 0);
}

/* --- requests -----------------------------------------------------------------------------------
 */

static void bad_requests_are_refused(void **state)
{
    char control[] = "/p\nq", lengthy[TRIGGER_PROGRAM_MAX + 8];
    memset(lengthy, '/', sizeof lengthy);
    lengthy[sizeof lengthy - 1] = 0;
    const struct {
        struct ask ask;
        int code;
    } cases[] = {
        {{.types = 0}, ERR_PARSE},
        {{.types = 1u << 31}, ERR_PARSE},
        {{.types = TRIGGER_DOWN, .flags = 4}, ERR_PARSE},
        {{.types = TRIGGER_DOWN, .program = "p"}, ERR_PARSE},
        {{.types = TRIGGER_DOWN, .program = ""}, ERR_PARSE},
        {{.types = TRIGGER_DOWN, .program = control}, ERR_PARSE},
        {{.types = TRIGGER_DOWN, .program = lengthy}, ERR_RANGE},
        {{.types = TRIGGER_DOWN, .offset_sec = INT64_MAX}, ERR_RANGE},
        {{.types = TRIGGER_DOWN, .offset_sec = INT64_MIN}, ERR_RANGE},
        {{.types = TRIGGER_FINI}, ERR_PARSE},
        {{.types = TRIGGER_TIME}, ERR_PARSE},
        {{.types = TRIGGER_IDLE, .job_id = 1}, ERR_PARSE},
        {{.types = TRIGGER_RECONFIG, .job_id = 1}, ERR_PARSE},
        {{.types = TRIGGER_DOWN, .job_id = 1, .nodes = "n1"}, ERR_PARSE},
        {{.types = TRIGGER_PRI_CTLD_FAIL, .nodes = "n1"}, ERR_PARSE},
        {{.types = TRIGGER_PRI_CTLD_FAIL | TRIGGER_DOWN}, ERR_PARSE},
        {{.types = TRIGGER_IDLE, .flags = TRIGGER_FRONT_END}, ERR_PARSE},
        {{.types = TRIGGER_DOWN, .nodes = "n9"}, ERR_NO_NODE},
        {{.types = TRIGGER_FINI, .job_id = 77}, ERR_NO_JOB},
    };
    (void)state;
    struct fixture *f = make_world(NODES);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (get_refusal_code(f, &FIXTURE_ROOT, cases[i].ask) != cases[i].code)
            fail_msg("case %zu: %d: %s", i, fixture_code(f, f->last_call),
                     fixture_text(f, f->last_call));
    assert_int_equal(count_records(f), 0);
    fixture_free(f);
}

static void only_permitted_users_set_triggers(void **state)
{
    struct ask down = {.types = TRIGGER_DOWN};
    (void)state;
    struct fixture *f = make_world(NODES);
    assert_int_equal(get_refusal_code(f, &FIXTURE_USER, down), ERR_ACCESS);
    fixture_free(f);

    f = make_world(USERS);
    uint32_t job = run_job(f, &FIXTURE_USER, 0);
    struct ask fini = {.types = TRIGGER_FINI, .job_id = job};
    assert_int_equal(get_refusal_code(f, &FIXTURE_OTHER, fini), ERR_ACCESS);
    set_as(f, &FIXTURE_USER, fini);
    set_as(f, &FIXTURE_OTHER, down);
    end_job(f, job);
    assert_int_equal(vec_last(&f->scripts).uid, 1000);
    assert_string_equal(run_next_program(f), "/p 1");
    assert_int_equal(get_refusal_code(f, &FIXTURE_USER, fini), ERR_JOB_DONE);
    fixture_free(f);

    f = make_world(USERS "SlurmUser=nobody\n"); /* it cannot change its user */
    struct caller root = FIXTURE_ROOT, slurm = FIXTURE_ROOT;
    slurm.uid = control_conf(f->control)->slurm_uid;
    assert_int_equal(get_refusal_code(f, &root, down), ERR_ACCESS);
    assert_int_equal(get_refusal_code(f, &FIXTURE_USER, down), ERR_ACCESS);
    set_as(f, &slurm, down);
    fixture_free(f);
}

static void number_of_triggers_is_bounded(void **state)
{
    char program[32];
    (void)state;
    struct fixture *f = make_world(USERS);
    for (int i = 0; i < 1000; i++) {
        const struct caller *who = i < 100 ? &FIXTURE_USER : &FIXTURE_ROOT;
        snprintf(program, sizeof program, "/p %d", i);
        set_as(f, who, (struct ask){.types = TRIGGER_DOWN, .program = program});
        if (i == 99)
            assert_int_equal(get_refusal_code(f, who, (struct ask){.types = TRIGGER_DOWN}),
                             ERR_LIMIT);
        fixture_clear(f);
    }
    assert_int_equal(get_refusal_code(f, &FIXTURE_ROOT, (struct ask){.types = TRIGGER_DOWN}),
                     ERR_LIMIT);
    assert_int_equal(fixture_update_node(f, "n1", "DOWN", "x"), 0);
    size_t own = 0;
    vec_foreach (&f->scripts, s)
        own += s->uid == 1000;
    assert_int_equal(own, 4); /* triggers of users do not use up the limit of others */
    assert_int_equal(f->scripts.len, 32);
    size_t all = 0;
    for (; f->scripts.len; all++)
        run_next_program(f);
    assert_int_equal(all, 1000);
    fixture_free(f);
}

/* Ten users together cannot keep administrators from setting triggers. */
static void some_triggers_are_reserved_for_administrators(void **state)
{
    (void)state;
    struct fixture *f = make_world(USERS);
    struct caller user = FIXTURE_USER;
    size_t accepted = 0;
    for (unsigned i = 0; i < 1000; i++) {
        char program[32];
        snprintf(program, sizeof program, "/p %u", i);
        user.uid = 1000 + i / 100;
        accepted += get_refusal_code(f, &user,
                                     (struct ask){.types = TRIGGER_DOWN, .program = program}) == 0;
        fixture_clear(f);
    }
    assert_int_equal(accepted, 900);
    set_trigger(f, (struct ask){.types = TRIGGER_DOWN});
    fixture_free(f);
}

static void repeated_request_sets_one_trigger(void **state)
{
    struct ask a = {.types = TRIGGER_DOWN, .request_id = "0123456789abcdef"};
    (void)state;
    struct fixture *f = make_world(NODES);
    uint32_t id = set_trigger(f, a);
    assert_int_equal(set_trigger(f, a), id);
    a.request_id = "another one 1234";
    assert_int_equal(get_refusal_code(f, &FIXTURE_ROOT, a), ERR_TRIGGER_EXISTS);
    assert_int_equal(count_triggers(f), 1);
    fixture_free(f);
}

/* --- nodes --------------------------------------------------------------------------------------
 */

static void triggers_fire_when_nodes_go_down_and_return(void **state)
{
    (void)state;
    struct fixture *f = make_world(NODES);
    set_trigger(f, (struct ask){.types = TRIGGER_DOWN, .program = "/d -x 1"});
    set_trigger(f, (struct ask){.types = TRIGGER_UP, .nodes = "n[2-3]", .program = "/u"});
    assert_int_equal(fixture_update_node(f, "n[1-3]", "DOWN", "x"), 0);
    assert_string_equal(run_next_program(f), "/d -x 1 n[1-3]");
    assert_int_equal(fixture_update_node(f, "n1", "RESUME", NULL), 0);
    assert_string_equal(run_next_program(f), "");
    assert_int_equal(fixture_update_node(f, "n3", "RESUME", NULL), 0);
    assert_string_equal(run_next_program(f), "/u n3");
    assert_int_equal(count_triggers(f), 0);
    fixture_pass(f, EVERY);
    assert_int_equal(count_records(f), 0); /* no record is left */
    fixture_free(f);
}

/* Events while a program runs, or shortly after, go to the trigger that is set in its place. */
static void successor_fires_missed_triggers(void **state)
{
    struct ask a = {.types = TRIGGER_DOWN};
    (void)state;
    struct fixture *f = make_world(NODES);
    set_trigger(f, a);
    assert_int_equal(fixture_update_node(f, "n1", "DOWN", "x"), 0);
    assert_int_equal(fixture_update_node(f, "n2", "DOWN", "x"), 0);
    fixture_restart(f);
    assert_string_equal(run_next_program(f), "/p n1"); /* again: its end was not seen */
    assert_int_equal(count_triggers(f), 0);
    set_trigger(f, a);
    assert_string_equal(run_next_program(f), ""); /* it fires no more often than a permanent one */
    fixture_pass(f, EVERY);
    assert_string_equal(run_next_program(f), "/p n2");
    assert_int_equal(fixture_update_node(f, "n3", "DOWN", "x"), 0);
    fixture_pass(f, EVERY);
    set_trigger(f, a); /* too late */
    assert_string_equal(run_next_program(f), "");
    assert_int_equal(fixture_update_node(f, "n4", "DOWN", "x"), 0);
    assert_string_equal(run_next_program(f), "/p n4");
    fixture_free(f);
}

/* A program that sets its trigger again each time, on a node that goes up and down all the time,
 * runs as often as a permanent trigger would, also across restarts. */
static void chained_triggers_are_limited_in_rate(void **state)
{
    struct ask a = {.types = TRIGGER_DOWN};
    size_t runs = 0;
    (void)state;
    struct fixture *f = make_world(NODES);
    set_trigger(f, a);
    for (unsigned sec = 0; sec < 60; sec++) {
        assert_int_equal(fixture_update_node(f, "n1", "DOWN", "x"), 0);
        assert_int_equal(fixture_update_node(f, "n1", "RESUME", NULL), 0);
        if (sec == 20)
            fixture_restart(f);
        if (f->scripts.len) {
            assert_string_equal(run_next_program(f), "/p n1");
            set_trigger(f, a);
            runs++;
        }
        fixture_pass(f, SEC);
    }
    assert_int_equal(runs, 4);
    fixture_free(f);
}

static void permanent_trigger_fires_repeatedly(void **state)
{
    (void)state;
    struct fixture *f = make_world(NODES);
    set_trigger(f, (struct ask){.types = TRIGGER_DOWN, .flags = TRIGGER_PERM});
    assert_int_equal(fixture_update_node(f, "n1", "DOWN", "x"), 0);
    assert_string_equal(run_next_program(f), "/p n1");
    assert_int_equal(fixture_update_node(f, "n2", "DOWN", "x"), 0);
    assert_int_equal(fixture_update_node(f, "n3", "DOWN", "x"), 0);
    assert_string_equal(run_next_program(f), ""); /* many events are delivered together */
    fixture_restart(f);
    fixture_pass(f, EVERY);
    assert_string_equal(run_next_program(f), "/p n[2-3]");
    assert_int_equal(count_triggers(f), 1);
    fixture_free(f);
}

static void drained_trigger_fires_when_the_last_job_ends(void **state)
{
    (void)state;
    struct fixture *f = make_world(NODES);
    uint32_t job = run_job(f, &FIXTURE_USER, 0);
    set_trigger(f, (struct ask){.types = TRIGGER_DRAINED});
    set_trigger(f, (struct ask){.types = TRIGGER_DRAINED, .job_id = job, .program = "/j"});
    assert_int_equal(fixture_update_node(f, "n1", "DRAIN", "x"), 0);
    assert_string_equal(run_next_program(f), "/j 1"); /* DRAINING: a job is on the node */
    assert_string_equal(run_next_program(f), "");
    fixture_batch_ended(f, "n1", job, 0, 0);
    assert_string_equal(run_next_program(f), "");
    fixture_gone(f, "n1", job, 0);
    assert_string_equal(run_next_program(f), "/p n1");
    set_trigger(f, (struct ask){.types = TRIGGER_DRAINED});
    set_trigger(f, (struct ask){.types = TRIGGER_FAIL, .program = "/f"});
    fixture_pass(f, EVERY);
    assert_int_equal(fixture_update_node(f, "n2", "DRAIN", "x"), 0);
    assert_string_equal(run_next_program(f), "/p n2");
    assert_int_equal(fixture_update_node(f, "n3", "FAIL", "x"), 0);
    assert_string_equal(run_next_program(f), "/f n3");
    fixture_free(f);
}

static void idle_trigger_fires_after_its_offset(void **state)
{
    struct ask a = {.types = TRIGGER_IDLE, .offset_sec = 600, .nodes = "n[1-2]"};
    (void)state;
    struct fixture *f = make_world(NODES);
    uint32_t job = run_job(f, &FIXTURE_USER, 0);
    set_trigger(f, a);
    fixture_pass(f, 599 * SEC);
    assert_string_equal(run_next_program(f), "");
    fixture_pass(f, 2 * SEC);
    assert_string_equal(run_next_program(f), "/p n2");
    set_trigger(f, a); /* not for the same idle period */
    assert_string_equal(run_next_program(f), "");
    end_job(f, job);
    fixture_pass(f, 599 * SEC);
    assert_string_equal(run_next_program(f), "");
    fixture_pass(f, 2 * SEC);
    assert_string_equal(run_next_program(f), "/p n1");
    fixture_free(f);
}

static void idle_trigger_fires_once_across_restarts(void **state)
{
    (void)state;
    struct fixture *f = make_world(NODES);
    set_trigger(f, (struct ask){.types = TRIGGER_IDLE, .nodes = "n[1-2]", .flags = TRIGGER_PERM});
    assert_string_equal(run_next_program(f), "/p n[1-2]");
    fixture_restart(f);
    fixture_register(f, "n1", "i");
    fixture_register(f, "n2", "i");
    fixture_pass(f, EVERY);
    assert_string_equal(run_next_program(f), "");
    end_job(f, run_job(f, &FIXTURE_USER, 0));
    fixture_restart(f);
    fixture_register(f, "n1", "i");
    fixture_register(f, "n2", "i");
    fixture_pass(f, EVERY);
    assert_string_equal(run_next_program(f), "/p n1"); /* it was in use meanwhile */
    fixture_free(f);
}

static void reconfiguration_trigger_fires(void **state)
{
    (void)state;
    struct fixture *f = make_world(NODES);
    set_trigger(f, (struct ask){.types = TRIGGER_RECONFIG});
    set_trigger(
        f,
        (struct ask){.types = TRIGGER_DOWN, .nodes = "n[3-4]", .offset_sec = 30, .program = "/d"});
    assert_int_equal(fixture_update_node(f, "n4", "DOWN", "x"), 0);
    assert_string_equal(run_next_program(f), "/p reconfig"); /* "or when a node state changes" */
    set_trigger(f, (struct ask){.types = TRIGGER_RECONFIG});
    fixture_reconfigure(f, "NodeName=n[1-3] CPUs=4\nPartitionName=a Nodes=ALL\nSlurmdTimeout=0\n");
    fixture_pass(f, EVERY);
    assert_string_equal(run_next_program(f), "/p reconfig");
    fixture_pass(f, 16 * SEC);
    assert_string_equal(run_next_program(f), "/d n4"); /* removed meanwhile, but it went down */
    fixture_pass(f, EVERY);
    set_trigger(f, (struct ask){.types = TRIGGER_RECONFIG});
    fixture_restart(f);
    assert_string_equal(run_next_program(f), "/p reconfig");
    fixture_free(f);
}

/* --- jobs ---------------------------------------------------------------------------------------
 */

static void trigger_fires_when_a_job_ends(void **state)
{
    (void)state;
    struct fixture *f = make_world(NODES);
    uint32_t job = run_job(f, &FIXTURE_USER, 0);
    set_trigger(f, (struct ask){.types = TRIGGER_FINI, .job_id = job});
    set_trigger(f, (struct ask){.types = TRIGGER_UP, .job_id = job}); /* deleted with the job */
    set_trigger(
        f, (struct ask){.types = TRIGGER_FINI, .job_id = job, .offset_sec = 60, .program = "/l"});
    assert_int_equal(fixture_update_node(f, "n1", "DOWN", "x"), 0); /* requeues the job */
    fixture_gone(f, "n1", job, 0);
    assert_string_equal(run_next_program(f), "");
    assert_int_equal(fixture_state(f, job), PB__JOB_STATE__PENDING);
    Pb__JobSignal s = PB__JOB_SIGNAL__INIT;
    Pb__StepId id = PB__STEP_ID__INIT, *ids = &id;
    id.job_id = job;
    s.target = &ids;
    s.n_target = 1;
    control_job_signal(f->control, ++f->last_call, &FIXTURE_ROOT, &s);
    fixture_turn(f);
    assert_string_equal(run_next_program(f), "/p 1");
    assert_int_equal(count_triggers(f), 1);
    fixture_pass(f, 30 * SEC); /* the job's record is purged */
    fixture_restart(f);
    assert_string_equal(run_next_program(f), "");
    fixture_pass(f, 31 * SEC);
    assert_string_equal(run_next_program(f), "/l 1");
    fixture_turn(f);
    assert_int_equal(count_records(f), 0);
    fixture_free(f);
}

static void trigger_fires_before_and_at_the_time_limit(void **state)
{
    (void)state;
    struct fixture *f = make_world(NODES);
    uint32_t job = run_job(f, &FIXTURE_USER, 600);
    set_trigger(f, (struct ask){.types = TRIGGER_TIME, .job_id = job, .offset_sec = -120});
    set_trigger(f, (struct ask){.types = TRIGGER_TIME, .job_id = job, .program = "/t"});
    set_trigger(
        f, (struct ask){.types = TRIGGER_TIME, .job_id = job, .offset_sec = 60, .program = "/l"});
    set_trigger(
        f, (struct ask){
               .types = TRIGGER_TIME, .job_id = job, .program = "/perm", .flags = TRIGGER_PERM});
    fixture_pass(f, 479 * SEC);
    assert_string_equal(run_next_program(f), "");
    fixture_restart(f);
    fixture_pass(f, 2 * SEC);
    assert_string_equal(run_next_program(f), "/p 1");
    fixture_pass(f, 118 * SEC);
    assert_string_equal(run_next_program(f), "");
    fixture_pass(f, 2 * SEC);
    assert_string_equal(run_next_program(f), "/perm 1");
    assert_string_equal(run_next_program(f), "/t 1");
    fixture_pass(f, 58 * SEC);
    assert_string_equal(run_next_program(f), "");
    fixture_pass(f, 3 * SEC);
    assert_string_equal(run_next_program(f), "/l 1");
    fixture_turn(f);
    assert_int_equal(count_triggers(f), 0);
    fixture_free(f);
}

static void trigger_fires_when_a_node_of_the_job_goes_down(void **state)
{
    (void)state;
    struct fixture *f = make_world(NODES);
    uint32_t job = run_job(f, &FIXTURE_USER, 0);
    set_trigger(f, (struct ask){.types = TRIGGER_DOWN, .job_id = job});
    assert_int_equal(fixture_update_node(f, "n2", "DOWN", "x"), 0);
    assert_string_equal(run_next_program(f), "");
    assert_int_equal(fixture_update_node(f, "n1", "DOWN", "x"), 0);
    assert_string_equal(run_next_program(f), "/p 1");
    fixture_free(f);
}

static void end_batch(struct fixture *f, const char *node, uint32_t job_id)
{
    fixture_launched(f, node, job_id, 0);
    fixture_batch_ended(f, node, job_id, 0, 0);
    fixture_gone(f, node, job_id, 0);
}

static void trigger_of_an_array_fires_after_its_last_element(void **state)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    (void)state;
    struct fixture *f = make_world(NODES);
    s.req_nodes = (char *)"n1";
    s.array_inx = (char *)"1-2";
    uint32_t id = (uint32_t)fixture_submit(f, &FIXTURE_USER, &s);
    set_trigger(f, (struct ask){.types = TRIGGER_FINI, .job_id = id});
    for (uint32_t i = id; i <= id + 1; i++) {
        assert_string_equal(run_next_program(f), "");
        end_batch(f, "n1", i);
    }
    assert_string_equal(run_next_program(f), "/p 1");
    fixture_free(f);
}

/* A trigger for an element is about this element only, although the last of the pending elements
 * gets the id of their shared record. */
static void trigger_of_an_element_fires_when_it_ends(void **state)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    (void)state;
    struct fixture *f = make_world(NODES);
    s.req_nodes = (char *)"n1";
    s.array_inx = (char *)"1-3";
    uint32_t id = (uint32_t)fixture_submit(f, &FIXTURE_USER, &s);
    struct ask fini = {.types = TRIGGER_FINI, .job_id = id, .is_element = true, .task = 3};
    set_trigger(f, fini);
    assert_int_equal(get_refusal_code(f, &FIXTURE_ROOT, fini), ERR_TRIGGER_EXISTS);
    fini.task = 1;
    set_trigger(f, fini);
    fini.task = 4;
    assert_int_equal(get_refusal_code(f, &FIXTURE_ROOT, fini), ERR_NO_JOB);
    fixture_restart(f);
    fixture_turn(f);
    end_batch(f, "n1", id + 1);
    assert_string_equal(run_next_program(f), "/p 1_1");
    assert_string_equal(run_next_program(f), "");
    fini.task = 1;
    assert_int_equal(get_refusal_code(f, &FIXTURE_ROOT, fini), ERR_JOB_DONE);
    end_batch(f, "n1", id + 2);
    assert_string_equal(run_next_program(f), "");
    end_batch(f, "n1", id);
    assert_string_equal(run_next_program(f), "/p 1_3");
    assert_string_equal(run_next_program(f), "");
    fixture_free(f);
}

/* A heterogeneous job stands for all of its components, a component (also the first one) for
 * itself, and a job array for all components of all elements. */
static void triggers_of_sets_watch_the_nodes_of_their_components(void **state)
{
    (void)state;
    static const char *const nodes[] = {"n1", "n2", "n3"};
    static const struct {
        const char *elements;
        uint32_t by_id; /* of the component with this offset; 0: of the whole job */
        bool is_component;
        uint32_t offset;
        const char *argument;
        bool is_told[3]; /* when the node of component 0, 1 or 2 goes down */
    } vectors[] = {
        {NULL, 0, false, 0, "1", {true, true, true}},
        {NULL, 1, false, 0, "2", {false, true, false}},
        {NULL, 0, true, 0, "1+0", {true, false, false}},
        {NULL, 0, true, 1, "2", {false, true, false}},
        {"1", 0, false, 0, "1", {true, true, true}},
        {"1", 0, true, 0, "1_1+0", {true, false, false}},
        {"1", 0, true, 2, "3", {false, false, true}},
    };
    for (size_t v = 0; v < sizeof(vectors) / sizeof(*vectors); v++)
        for (int down = 0; down < 3; down++) {
            struct fixture *f = make_world(NODES);
            Pb__JobSpec specs[3] = {PB__JOB_SPEC__INIT, PB__JOB_SPEC__INIT, PB__JOB_SPEC__INIT};
            _cleanup_free_ char *said = mem_printf("/p %s", vectors[v].argument);
            for (int i = 0; i < 3; i++)
                specs[i].req_nodes = (char *)nodes[i];
            specs[0].array_inx = (char *)vectors[v].elements;
            uint32_t id = (uint32_t)fixture_submit_set(f, &FIXTURE_USER, specs, 3);
            set_trigger(f, (struct ask){.types = TRIGGER_DOWN,
                                        .job_id = id + vectors[v].by_id,
                                        .is_component = vectors[v].is_component,
                                        .offset = vectors[v].offset});
            fixture_restart(f);
            assert_int_equal(fixture_update_node(f, nodes[down], "DOWN", "x"), 0);
            assert_string_equal(run_next_program(f), vectors[v].is_told[down] ? said : "");
            fixture_free(f);
        }
}

/* --- crashes ------------------------------------------------------------------------------------
 */

static void crash_loses_no_trigger(void **state)
{
    (void)state;
    struct fixture *f = make_world(NODES);
    uint32_t first = set_trigger(f, (struct ask){.types = TRIGGER_DOWN, .offset_sec = 60});
    fixture_restart(f);
    assert_int_equal(fixture_update_node(f, "n1", "DOWN", "x"), 0);
    fixture_restart(f); /* between the event and its program */
    fixture_pass(f, 59 * SEC);
    assert_string_equal(run_next_program(f), "");
    fixture_pass(f, 2 * SEC);
    assert_int_equal(f->scripts.len, 1);
    fixture_restart(f); /* while the program runs */
    fixture_turn(f);
    assert_string_equal(run_next_program(f), "/p n1");
    fixture_restart(f); /* after its end */
    fixture_turn(f);
    assert_string_equal(run_next_program(f), "");
    fixture_pass(f, EVERY);
    assert_int_equal(count_records(f), 0);
    fixture_restart(f);
    assert_true(set_trigger(f, (struct ask){.types = TRIGGER_DOWN}) >
                first); /* ids are never reused */
    fixture_free(f);
}

static void a_damaged_record_is_refused(void **state)
{
    struct err err = {0};
    (void)state;
    struct fixture *f = make_world(NODES);
    uint32_t id = set_trigger(f, (struct ask){.types = TRIGGER_DOWN});
    vec_foreach (&f->records, r) {
        if (r->kind != RECORD_TRIGGER)
            continue;
        assert_int_equal(
            control_restore(f->control, r->kind, id, NULL, r->data.data, r->data.len, &err),
            -ERR_STORE_DAMAGED); /* twice */
        assert_int_equal(
            control_restore(f->control, r->kind, id + 1, NULL, r->data.data, r->data.len, &err),
            -ERR_STORE_DAMAGED); /* the id of another trigger */
    }
    assert_int_equal(control_restore(f->control, RECORD_TRIGGER, 9, NULL, "\xff", 1, &err),
                     -ERR_STORE_DAMAGED);
    fixture_free(f);
}

/* --- controllers --------------------------------------------------------------------------------
 */

static void set_of_controllers(struct fixture *f)
{
    static const struct {
        uint32_t type;
        const char *program;
    } all[] = {{TRIGGER_PRI_CTLD_FAIL, "/pf"},        {TRIGGER_PRI_CTLD_RES_OP, "/po"},
               {TRIGGER_PRI_CTLD_RES_CTRL, "/pc"},    {TRIGGER_BU_CTLD_FAIL, "/bf"},
               {TRIGGER_BU_CTLD_RES_OP, "/bo"},       {TRIGGER_BU_CTLD_AS_CTRL, "/bc"},
               {TRIGGER_PRI_CTLD_ACCT_FULL, "/never"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        set_trigger(f, (struct ask){
                           .types = all[i].type, .program = all[i].program, .flags = TRIGGER_PERM});
}

static void start_controller(struct fixture *f, uint32_t rank, const char *expected)
{
    struct str all = STR_INIT;
    f->rank = rank;
    fixture_restart(f);
    while (f->scripts.len) {
        const char *text = run_next_program(f);
        str_printf(&all, "%.*s ", (int)strcspn(text, " "), text);
    }
    assert_string_equal(str_cstr(&all), expected);
    str_done(&all);
    fixture_pass(f, EVERY);
}

static void triggers_fire_when_the_leading_controller_changes(void **state)
{
    (void)state;
    struct fixture *f = make_world(NODES "SlurmctldHost=b\nSlurmctldTimeout=120\n");
    set_of_controllers(f);
    control_stop(f->control, false);
    start_controller(f, 0, "");         /* in order */
    start_controller(f, 0, "/po /pf "); /* killed and restarted */
    start_controller(f, 1, "/bc /pf "); /* the backup takes over */
    start_controller(f, 1, "/bo /bf "); /* is killed, too, and restarted */
    control_stop(f->control, false);
    start_controller(f, 0, "/pc /po "); /* returns the lead */
    fixture_pass(f, 200 * SEC);         /* and is no longer heard */
    assert_string_equal(run_next_program(f), "/bf backup_slurmctld_failure");
    fixture_restart(f);
    while (f->scripts.len)
        run_next_program(f);
    fixture_pass(f, 200 * SEC);
    assert_string_equal(run_next_program(f), ""); /* already delivered */
    control_backup_heard(f->control, "b");
    fixture_turn(f);
    assert_string_equal(run_next_program(f), "/bo backup_slurmctld_resumed_operation");
    for (int i = 0; i < 10; i++) {
        fixture_pass(f, 60 * SEC);
        control_backup_heard(f->control, "b");
        control_backup_heard(f->control, "stranger");
        fixture_turn(f);
        assert_string_equal(run_next_program(f), "");
    }
    f->mono_ms += 3600 * SEC; /* the controller was suspended: it heard no one */
    fixture_pass(f, SEC);
    assert_string_equal(run_next_program(f), "");
    fixture_free(f);
}

/* --- listing and clearing -----------------------------------------------------------------------
 */

static int clear_as(struct fixture *f, const struct caller *who, uint32_t id, uint32_t job,
                    int64_t uid)
{
    Pb__TriggerFilter m = PB__TRIGGER_FILTER__INIT;
    uint32_t user = (uint32_t)uid;
    m.id = &id;
    m.n_id = id != 0;
    m.job_id = &job;
    m.n_job_id = job != 0;
    m.uid = &user;
    m.n_uid = uid >= 0;
    control_trigger_clear(f->control, ++f->last_call, who, &m);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static void only_owner_and_administrators_clear_triggers(void **state)
{
    (void)state;
    struct fixture *f = make_world(USERS);
    uint32_t job = run_job(f, &FIXTURE_USER, 0);
    uint32_t mine = set_as(f, &FIXTURE_USER, (struct ask){.types = TRIGGER_DOWN});
    uint32_t roots = set_trigger(f, (struct ask){.types = TRIGGER_FINI, .job_id = job});
    set_as(f, &FIXTURE_USER, (struct ask){.types = TRIGGER_FINI, .job_id = job});
    assert_int_equal(clear_as(f, &FIXTURE_ROOT, 0, 0, -1), ERR_PARSE);
    assert_int_equal(clear_as(f, &FIXTURE_OTHER, mine, 0, -1), ERR_ACCESS);
    assert_int_equal(clear_as(f, &FIXTURE_OTHER, 0, 0, 1000), ERR_ACCESS);
    assert_int_equal(clear_as(f, &FIXTURE_USER, roots, 0, -1), ERR_ACCESS);
    assert_int_equal(clear_as(f, &FIXTURE_USER, 0, job, -1), 0); /* his own of them */
    assert_int_equal(count_triggers(f), 2);
    assert_int_equal(clear_as(f, &FIXTURE_USER, 77, 0, -1), ERR_NO_TRIGGER);
    assert_int_equal(clear_as(f, &FIXTURE_USER, mine, 0, 0), ERR_NO_TRIGGER);
    assert_int_equal(clear_as(f, &FIXTURE_USER, mine, 0, -1), 0);
    assert_int_equal(clear_as(f, &FIXTURE_ROOT, 0, job, 0), 0);
    assert_int_equal(count_records(f), 0);
    fixture_restart(f);
    assert_int_equal(count_triggers(f), 0);
    end_job(f, job);
    assert_string_equal(run_next_program(f), "");
    fixture_free(f);
}

/* A cleared trigger keeps its place in the limits while its program runs. */
static void cleared_trigger_counts_in_the_limit_while_its_program_runs(void **state)
{
    (void)state;
    struct fixture *f = make_world(USERS);
    for (int i = 0; i < 20; i++) {
        char program[16];
        snprintf(program, sizeof program, "/p %d", i);
        uint32_t id =
            set_as(f, &FIXTURE_USER,
                   (struct ask){.types = TRIGGER_IDLE, .flags = TRIGGER_PERM, .program = program});
        assert_int_equal(clear_as(f, &FIXTURE_USER, id, 0, -1), 0);
        assert_int_equal(clear_as(f, &FIXTURE_USER, id, 0, -1), ERR_NO_TRIGGER);
    }
    assert_int_equal(f->scripts.len, 4);
    assert_int_equal(count_records(f), 0);
    assert_int_equal(count_triggers(f), 0);
    set_trigger(f, (struct ask){.types = TRIGGER_DOWN, .program = "/root"});
    assert_int_equal(fixture_update_node(f, "n1", "DOWN", "x"), 0);
    assert_string_equal(run_next_program(f), "/root n1");
    while (f->scripts.len)
        run_next_program(f);
    set_as(f, &FIXTURE_USER, (struct ask){.types = TRIGGER_IDLE});
    assert_string_equal(run_next_program(f), "/p n[2-4]");
    fixture_pass(f, EVERY);
    assert_int_equal(count_records(f), 0);
    fixture_restart(f);
    assert_int_equal(f->scripts.len, 0); /* cleared triggers do not return */
    fixture_free(f);
}

/* PrivateData: users see their own triggers, and those of others only of what they may see. */
static void triggers_of_hidden_jobs_and_nodes_are_hidden(void **state)
{
    static const struct {
        const char *hidden;
        size_t seen;
    } rows[] = {{"none", 3}, {"jobs", 2}, {"nodes", 2}, {"jobs,nodes", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char lines[400];
        snprintf(lines, sizeof lines, USERS "PrivateData=%s\n", rows[i].hidden);
        struct fixture *f = fixture_new_up(lines, 1);
        int64_t job = fixture_submit(f, &FIXTURE_USER, NULL), own;
        own = fixture_submit(f, &FIXTURE_OTHER, NULL);
        set_as(f, &FIXTURE_USER, (struct ask){.types = TRIGGER_FINI, .job_id = (uint32_t)job});
        set_as(f, &FIXTURE_USER, (struct ask){.types = TRIGGER_DOWN, .nodes = "n1"});
        set_as(f, &FIXTURE_OTHER, (struct ask){.types = TRIGGER_FINI, .job_id = (uint32_t)own});
        assert_int_equal(count_as(f, &FIXTURE_OTHER), rows[i].seen);
        assert_int_equal(count_triggers(f), 3);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(some_triggers_are_reserved_for_administrators),
        cmocka_unit_test(triggers_of_hidden_jobs_and_nodes_are_hidden),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(only_permitted_users_set_triggers),
        cmocka_unit_test(number_of_triggers_is_bounded),
        cmocka_unit_test(repeated_request_sets_one_trigger),
        cmocka_unit_test(triggers_fire_when_nodes_go_down_and_return),
        cmocka_unit_test(successor_fires_missed_triggers),
        cmocka_unit_test(chained_triggers_are_limited_in_rate),
        cmocka_unit_test(permanent_trigger_fires_repeatedly),
        cmocka_unit_test(drained_trigger_fires_when_the_last_job_ends),
        cmocka_unit_test(idle_trigger_fires_after_its_offset),
        cmocka_unit_test(idle_trigger_fires_once_across_restarts),
        cmocka_unit_test(reconfiguration_trigger_fires),
        cmocka_unit_test(trigger_fires_when_a_job_ends),
        cmocka_unit_test(trigger_fires_before_and_at_the_time_limit),
        cmocka_unit_test(trigger_fires_when_a_node_of_the_job_goes_down),
        cmocka_unit_test(trigger_of_an_array_fires_after_its_last_element),
        cmocka_unit_test(trigger_of_an_element_fires_when_it_ends),
        cmocka_unit_test(triggers_of_sets_watch_the_nodes_of_their_components),
        cmocka_unit_test(crash_loses_no_trigger),
        cmocka_unit_test(a_damaged_record_is_refused),
        cmocka_unit_test(triggers_fire_when_the_leading_controller_changes),
        cmocka_unit_test(only_owner_and_administrators_clear_triggers),
        cmocka_unit_test(cleared_trigger_counts_in_the_limit_while_its_program_runs),
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}
