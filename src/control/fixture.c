/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "control/core/filter.h"
#include "control/event/event.h"

/* --- env ---------------------------------------------------------------------------------------
 */

static int64_t on_wall(void *ctx)
{
    return ((struct fixture *)ctx)->wall_ms;
}

static int64_t on_mono(void *ctx)
{
    return ((struct fixture *)ctx)->mono_ms;
}

static void on_wake(void *ctx, int64_t mono_ms)
{
    ((struct fixture *)ctx)->wake_ms = mono_ms;
}

static struct fixture_record *find_record(struct fixture *f, enum record_kind kind, uint64_t number,
                                          const char *name)
{
    vec_foreach (&f->records, r)
        if (r->kind == kind && r->number == number && str_eq(r->name, name))
            return r;
    return NULL;
}

static void on_put(void *ctx, enum record_kind kind, uint64_t number, const char *name,
                   const void *data, size_t len)
{
    struct fixture *f = ctx;
    struct fixture_record *r = find_record(f, kind, number, name);
    if (!r) {
        vec_push(&f->records, ((struct fixture_record){kind, number, mem_strdup(name), STR_INIT}));
        r = &vec_last(&f->records);
    }
    str_clear(&r->data);
    str_append(&r->data, data, len);
    f->puts++;
    f->put_bytes += len;
}

static void on_del(void *ctx, enum record_kind kind, uint64_t number, const char *name)
{
    struct fixture *f = ctx;
    struct fixture_record *r = find_record(f, kind, number, name);
    if (!r)
        return;
    free(r->name);
    str_done(&r->data);
    vec_remove(&f->records, (size_t)(r - f->records.data));
}

static void add_reply(struct fixture *f, uint64_t call, int code, const char *text,
                      const ProtobufCMessage *m)
{
    struct fixture_reply r = {.call = call, .code = code};
    assert_int_equal(fixture_code(f, call), -1); /* exactly one reply */
    if (text)
        str_puts(&r.text, text);
    if (m)
        pb_pack(m, &r.data);
    vec_push(&f->replies, r);
}

static void on_reply(void *ctx, uint64_t call, const ProtobufCMessage *m)
{
    add_reply(ctx, call, 0, NULL, m);
}

static void on_reply_error(void *ctx, uint64_t call, int code, const char *text)
{
    add_reply(ctx, call, code, text, NULL);
}

static void on_send(void *ctx, const char *node, const Pb__NodeOrders *orders)
{
    struct fixture *f = ctx;
    struct str packed = STR_INIT;
    struct fixture_order *o = mem_new(struct fixture_order);
    o->node = mem_strdup(node);
    arena_init(&o->arena, 0);
    pb_pack(&orders->base, &packed);
    o->orders = arena_unpack(&o->arena, &pb__node_orders__descriptor, packed.data, packed.len);
    str_done(&packed);
    vec_push(&f->orders, o);
}

static void on_ack(void *ctx, const char *node, uint64_t seq)
{
    vec_push(&((struct fixture *)ctx)->acks, seq);
}

static void on_welcome(void *ctx, const char *node, uint64_t epoch)
{
}

static void on_close(void *ctx, const char *node)
{
    vec_push(&((struct fixture *)ctx)->closed, mem_strdup(node));
}

static void on_sign(void *ctx, const void *data, size_t len, uint8_t sig[64])
{
    memset(sig, 0, 64);
}

static bool on_group(void *ctx, uint32_t uid, const char *group)
{
    return str_eq(group, uid == 1000 ? "ann" : "others");
}

static const char *on_user_name(void *ctx, uint32_t uid)
{
    return uid == 1000 ? "ann" : uid == 1001 ? "bob" : NULL;
}

static const char *on_group_name(void *ctx, uint32_t gid)
{
    return "users";
}

static void on_part_key(void *ctx, const char *name, uint64_t number,
                        char key[CONTROL_PART_KEY_SIZE])
{
    snprintf(key, CONTROL_PART_KEY_SIZE, "%c%031llu", name[0], (unsigned long long)number);
}

static uint64_t on_boot(void *ctx)
{
    return ((struct fixture *)ctx)->boot;
}

static void on_run(void *ctx, const Pb__ScriptRun *m)
{
    struct fixture *f = ctx;
    struct fixture_script s = {.kind = (int)m->kind, .job_id = m->job_id, .restarts = m->restarts};
    s.limit_sec = m->has_limit_sec ? m->limit_sec : -1;
    s.uid = m->has_uid ? (int64_t)m->uid : -1;
    s.path = mem_strdup(m->path);
    s.function = mem_strdup(m->function);
    if (m->has_script)
        str_append(&s.script, m->script.data, m->script.len);
    for (size_t i = 0; i < m->n_argv; i++)
        str_printf(&s.argv, "%s\n", m->argv[i]);
    for (size_t i = 0; i < m->n_env; i++)
        str_printf(&s.env, "%s\n", m->env[i]);
    vec_push(&f->scripts, s);
}

static void on_stop(void *ctx, const Pb__ScriptRun *m)
{
    struct fixture *f = ctx;
    vec_foreach (&f->scripts, s)
        if (s->job_id == m->job_id && s->restarts == m->restarts && s->kind == (int)m->kind)
            s->stopped = true;
}

static void on_log(void *ctx, enum log_level level, const char *room, const char *text)
{
}

/* --- life --------------------------------------------------------------------------------------
 */

static struct conf *read_conf(struct fixture *f, const char *lines)
{
    struct conf *conf = NULL;
    struct err err = {0};
    FILE *file = fopen(f->path, "w");
    assert_non_null(file);
    fprintf(file, "ClusterName=test\nSlurmctldHost=h\nSelectType=select/cons_tres\n%s%s\n",
            strstr(lines, "AuthInfo=") ? "" : "AuthInfo=cred_expire=0\n", lines);
    fclose(file);
    if (conf_load(f->path, CONF_FULL, NULL, &conf, NULL, &err) != 0)
        fail_msg("%s", err.text);
    return conf;
}

struct fixture *fixture_new(const char *lines)
{
    struct fixture *f = mem_new(struct fixture);
    snprintf(f->path, sizeof f->path, "/tmp/control-test-XXXXXX");
    int fd = mkstemp(f->path);
    assert_true(fd >= 0);
    close(fd);
    f->wall_ms = 1700000000000;
    f->mono_ms = 1000000;
    f->boot = 1;
    f->env = (struct env){.ctx = f,
                          .wall_ms = on_wall,
                          .mono_ms = on_mono,
                          .wake_at = on_wake,
                          .put = on_put,
                          .del = on_del,
                          .reply = on_reply,
                          .reply_error = on_reply_error,
                          .send = on_send,
                          .ack = on_ack,
                          .welcome = on_welcome,
                          .close = on_close,
                          .sign = on_sign,
                          .user_in_group = on_group,
                          .user_name = on_user_name,
                          .user_name_if_known = on_user_name,
                          .group_name = on_group_name,
                          .part_key = on_part_key,
                          .log = on_log,
                          .boot = on_boot,
                          .run = on_run,
                          .stop = on_stop};
    f->control = control_new(read_conf(f, lines), &f->env);
    control_start(f->control);
    fixture_turn(f);
    return f;
}

void fixture_clear(struct fixture *f)
{
    vec_foreach (&f->orders, o) {
        arena_done(&(*o)->arena);
        free((*o)->node);
        free(*o);
    }
    vec_foreach (&f->replies, r) {
        str_done(&r->text);
        str_done(&r->data);
    }
    vec_foreach (&f->scripts, s) {
        free(s->path);
        free(s->function);
        str_done(&s->script);
        str_done(&s->argv);
        str_done(&s->env);
    }
    vec_clear(&f->scripts);
    vec_clear(&f->orders);
    vec_clear(&f->replies);
    vec_foreach (&f->closed, name)
        free(*name);
    vec_clear(&f->acks);
    vec_clear(&f->closed);
}

void fixture_free(struct fixture *f)
{
    fixture_clear(f);
    vec_foreach (&f->records, r) {
        free(r->name);
        str_done(&r->data);
    }
    control_free(f->control);
    vec_done(&f->orders);
    vec_done(&f->replies);
    vec_done(&f->scripts);
    vec_done(&f->records);
    vec_done(&f->acks);
    vec_done(&f->closed);
    unlink(f->path);
    free(f);
}

void fixture_restart(struct fixture *f)
{
    struct conf *conf = NULL;
    struct err err = {0};
    VEC(const struct fixture_record *) damaged = {0};
    control_free(f->control);
    fixture_clear(f);
    assert_int_equal(conf_load(f->path, CONF_FULL, NULL, &conf, NULL, &err), 0);
    f->control = control_new(conf, &f->env);
    vec_foreach (&f->records, r) {
        if (control_restore(f->control, r->kind, r->number, r->name, r->data.data, r->data.len,
                            &err) == 0)
            continue;
        if (!f->has_damaged)
            fail_msg("%s", err.text);
        vec_push(&damaged, r);
    }
    vec_foreach (&damaged, r)
        control_set_aside(f->control, (*r)->kind, (*r)->number, (*r)->name, false);
    vec_done(&damaged);
    control_set_rank(f->control, f->rank);
    control_start(f->control);
    fixture_turn(f);
}

const char *fixture_reread(struct fixture *f, const char *lines, bool preview)
{
    uint64_t call = ++f->last_call;
    struct conf *conf = read_conf(f, lines);
    (preview ? control_reconfigure_preview : control_reconfigure)(f->control, call, conf, NULL);
    fixture_turn(f);
    vec_foreach (&f->replies, r) {
        if (r->call != call)
            continue;
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const Pb__ReconfigureReply *reply =
            arena_unpack(&arena, &pb__reconfigure_reply__descriptor, r->data.data, r->data.len);
        str_clear(&r->text);
        str_puts(&r->text, reply->changes);
        return str_cstr(&r->text);
    }
    fail_msg("no reply to a reconfiguration");
    return NULL;
}

void fixture_reconfigure(struct fixture *f, const char *lines)
{
    fixture_reread(f, lines, false);
}

void fixture_turn(struct fixture *f)
{
    struct err err = {0};
    control_turn(f->control);
    if (control_check(f->control, &err) != 0)
        fail_msg("%s", err.text);
}

void fixture_pass(struct fixture *f, int64_t ms)
{
    int64_t until = f->mono_ms + ms;
    while (f->wake_ms && f->wake_ms <= until) {
        int64_t by = f->wake_ms > f->mono_ms ? f->wake_ms - f->mono_ms : 0;
        f->mono_ms += by;
        f->wall_ms += by;
        f->wake_ms = 0;
        control_tick(f->control);
        fixture_turn(f);
    }
    f->wall_ms += until - f->mono_ms;
    f->mono_ms = until;
}

/* --- nodes -------------------------------------------------------------------------------------
 */

struct fixture *fixture_new_up(const char *lines, unsigned nodes)
{
    struct fixture *f = fixture_new(lines);
    for (unsigned i = 1; i <= nodes; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", i);
        fixture_register(f, name, "i1");
    }
    return f;
}

void fixture_register(struct fixture *f, const char *node, const char *incarnation)
{
    fixture_register_as(f, node, incarnation, false);
}

void fixture_register_as(struct fixture *f, const char *node, const char *incarnation, bool is_old)
{
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;
    r.name = (char *)node;
    r.version = (char *)"test";
    r.incarnation = (char *)incarnation;
    r.has_tells_prepared = r.tells_prepared = !is_old;
    r.has_takes_attempt = r.takes_attempt = !is_old;
    control_node_register(f->control, node, &r);
    fixture_turn(f);
}

void fixture_event(struct fixture *f, const char *node, Pb__NodeEvent *event)
{
    Pb__NodeReport r = PB__NODE_REPORT__INIT;
    event->seq = ++f->last_seq;
    r.events = &event;
    r.n_events = 1;
    control_node_report(f->control, node, &r);
    fixture_turn(f);
}

void fixture_register_job(struct fixture *f, const char *node, uint32_t job, bool has_step)
{
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;
    Pb__Presence p = PB__PRESENCE__INIT, *list = &p;
    uint32_t id = 0;
    r.name = (char *)node;
    r.version = (char *)"test";
    r.incarnation = (char *)"i1";
    r.present = &list;
    r.n_present = 1;
    p.job_id = job;
    p.step_ids = &id;
    p.n_step_ids = has_step;
    control_node_register(f->control, node, &r);
}

void fixture_launched(struct fixture *f, const char *node, uint32_t job, uint32_t restarts)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__Launched m = PB__LAUNCHED__INIT;
    m.job_id = job;
    m.restarts = restarts;
    e.launched = &m;
    fixture_event(f, node, &e);
}

void fixture_step_ended(struct fixture *f, const char *node, uint32_t job, uint32_t step,
                        int exit_status)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__StepEnded m = PB__STEP_ENDED__INIT;
    m.job_id = job;
    m.step_id = step;
    m.exit_status = exit_status;
    e.step_ended = &m;
    fixture_event(f, node, &e);
}

void fixture_batch_ended(struct fixture *f, const char *node, uint32_t job, uint32_t restarts,
                         int exit_status)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__BatchEnded m = PB__BATCH_ENDED__INIT;
    m.job_id = job;
    m.restarts = restarts;
    m.exit_status = exit_status;
    e.batch_ended = &m;
    fixture_event(f, node, &e);
}

void fixture_gone(struct fixture *f, const char *node, uint32_t job, uint32_t restarts)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__JobGone m = PB__JOB_GONE__INIT;
    m.job_id = job;
    m.restarts = restarts;
    e.job_gone = &m;
    fixture_event(f, node, &e);
}

/* --- requests ----------------------------------------------------------------------------------
 */

int fixture_code(const struct fixture *f, uint64_t call)
{
    vec_foreach (&f->replies, r)
        if (r->call == call)
            return r->code;
    return -1;
}

const char *fixture_text(const struct fixture *f, uint64_t call)
{
    vec_foreach (&f->replies, r)
        if (r->call == call)
            return str_cstr(&r->text);
    return NULL;
}

int64_t fixture_submit_set(struct fixture *f, const struct caller *who, const Pb__JobSpec *specs,
                           size_t count)
{
    Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
    Pb__SubmitRequest r = PB__SUBMIT_REQUEST__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    payload.has_script = true;
    payload.script = (ProtobufCBinaryData){10, (uint8_t *)"#!/bin/sh\n"};
    r.spec = (Pb__JobSpec *)specs;
    r.payload = &payload;
    r.components = arena_alloc(&arena, count * sizeof(*r.components));
    for (size_t i = 1; i < count; i++)
        r.components[r.n_components++] = (Pb__JobSpec *)&specs[i];
    uint64_t call = ++f->last_call;
    control_submit(f->control, call, who, &r);
    fixture_turn(f);
    vec_foreach (&f->replies, at) {
        if (at->call != call)
            continue;
        if (at->code)
            return -at->code;
        const Pb__SubmitReply *reply =
            arena_unpack(&arena, &pb__submit_reply__descriptor, at->data.data, at->data.len);
        return reply->job_id;
    }
    fail_msg("no reply to a submission");
    return 0;
}

int64_t fixture_submit(struct fixture *f, const struct caller *who, const Pb__JobSpec *given)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    return fixture_submit_set(f, who, given ? given : &spec, 1);
}

Pb__JobSpec fixture_spec(uint32_t nodes, uint32_t cpus)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_max_nodes = s.has_cpus_per_task = s.has_num_tasks = true;
    s.min_nodes = s.max_nodes = s.num_tasks = nodes;
    s.cpus_per_task = cpus;
    return s;
}

void fixture_expect_set(struct fixture *f, int64_t leader, const char *expected)
{
    static const char *const words[] = {"PD", "R",  "S",  "CD", "CA", "F",
                                        "TO", "NF", "PR", "BF", "DL", "OOM"};
    struct str out = STR_INIT;
    for (uint32_t i = 0; i < 9; i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const Pb__JobRecord *r = fixture_job(f, &arena, (uint32_t)leader + i);
        if (!r || !r->live->has_set_id || r->live->set_id != leader)
            break;
        assert_int_equal(r->live->set_offset, i);
        str_printf(&out, "%s%s", i ? " " : "",
                   r->live->has_completing && r->live->completing ? "CG" : words[r->live->state]);
    }
    if (!str_eq(str_cstr(&out), expected))
        fail_msg("job %lld: expected '%s', got '%s'", (long long)leader, expected, str_cstr(&out));
    str_done(&out);
}

size_t fixture_count_jobs(struct fixture *f)
{
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    control_stats(f->control, &stats);
    return stats.jobs;
}

int fixture_suspend(struct fixture *f, int64_t id, bool resume)
{
    Pb__JobSuspend r = PB__JOB_SUSPEND__INIT;
    r.job_id = (uint32_t)id;
    r.has_resume = true;
    r.resume = resume;
    control_job_suspend(f->control, ++f->last_call, &FIXTURE_ROOT, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

int fixture_update_job(struct fixture *f, const struct caller *who, const Pb__JobUpdate *r)
{
    control_job_update(f->control, ++f->last_call, who, r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

int fixture_update_part(struct fixture *f, const Pb__PartRecord *set)
{
    struct caller root = FIXTURE_ROOT;
    Pb__PartUpdate r = PB__PART_UPDATE__INIT;
    r.set = (Pb__PartRecord *)set;
    control_part_update(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

int fixture_update_node(struct fixture *f, const char *nodes, const char *state, const char *reason)
{
    struct caller root = FIXTURE_ROOT;
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    r.nodes = (char *)nodes;
    r.state = (char *)state;
    r.reason = (char *)reason;
    control_node_update(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

/* --- listings ----------------------------------------------------------------------------------
 */

const Pb__JobRecord *fixture_job(struct fixture *f, struct arena *arena, uint32_t id)
{
    struct caller root = FIXTURE_ROOT;
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    filter.job_id = &id;
    filter.n_job_id = 1;
    filter.has_all_states = filter.all_states = true;
    filter.has_with_steps = filter.with_steps = true;
    assert_false(control_list_jobs(f->control, &root, &filter, &cursor, 1 << 20, &out));
    const Pb__JobList *list = arena_unpack(arena, &pb__job_list__descriptor, out.data, out.len);
    str_done(&out);
    assert_non_null(list);
    return list->n_jobs ? list->jobs[0] : NULL;
}

enum _Pb__JobState fixture_state(struct fixture *f, uint32_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobRecord *r = fixture_job(f, &arena, id);
    assert_non_null(r);
    return r->live->state;
}

const Pb__PartRecord *fixture_part(struct fixture *f, struct arena *arena, const char *name)
{
    struct caller root = FIXTURE_ROOT;
    Pb__PartFilter filter = PB__PART_FILTER__INIT;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    filter.name = (char **)&name;
    filter.n_name = 1;
    assert_false(control_list_parts(f->control, &root, &filter, &cursor, 1 << 20, &out));
    const Pb__PartList *list = arena_unpack(arena, &pb__part_list__descriptor, out.data, out.len);
    str_done(&out);
    return list->n_parts ? list->parts[0] : NULL;
}

const Pb__NodeRecord *fixture_node(struct fixture *f, struct arena *arena, const char *name)
{
    struct caller root = FIXTURE_ROOT;
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    filter.nodes = (char *)name;
    assert_false(control_list_nodes(f->control, &root, &filter, &cursor, 1 << 20, &out));
    const Pb__NodeList *list = arena_unpack(arena, &pb__node_list__descriptor, out.data, out.len);
    str_done(&out);
    return list->n_nodes ? list->nodes[0] : NULL;
}

static size_t count_orders(const struct fixture *f, const char *node, uint32_t job, bool launch)
{
    size_t count = 0;
    vec_foreach (&f->orders, at) {
        if (!str_eq((*at)->node, node))
            continue;
        for (size_t i = 0; i < (*at)->orders->n_orders; i++) {
            const Pb__NodeOrder *o = (*at)->orders->orders[i];
            count += launch ? o->launch && o->launch->job_id == job
                            : o->terminate && o->terminate->job_id == job;
        }
    }
    return count;
}

size_t fixture_launches(const struct fixture *f, const char *node, uint32_t job)
{
    return count_orders(f, node, job, true);
}

size_t fixture_terminates(const struct fixture *f, const char *node, uint32_t job)
{
    return count_orders(f, node, job, false);
}

void fixture_script_ended(struct fixture *f, int kind, uint32_t job, int wait_status)
{
    assert_true(f->scripts.len > 0);
    struct fixture_script s = vec_pop(&f->scripts);
    Pb__ScriptEnded m = PB__SCRIPT_ENDED__INIT;
    assert_int_equal(s.kind, kind);
    assert_int_equal(s.job_id, job);
    m.kind = (Pb__ScriptKind)kind;
    m.job_id = job;
    m.restarts = s.restarts;
    m.wait_status = wait_status;
    if (wait_status)
        m.text = (char *)"PrologSlurmctld /p exited with status 1";
    free(s.path);
    str_done(&s.argv);
    str_done(&s.env);
    control_script_ended(f->control, &m);
    fixture_turn(f);
}

int fixture_cancel(struct fixture *f, const struct caller *who, int64_t id, const char *tasks,
                   int signal)
{
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    Pb__StepId target = PB__STEP_ID__INIT, *targets = &target;
    _cleanup_arena_ struct arena arena;
    uint64_t call = ++f->last_call;
    arena_init(&arena, 0);
    target.job_id = (uint32_t)id;
    target.array_tasks = (char *)tasks;
    r.target = &targets;
    r.n_target = 1;
    r.has_signal = signal != 0;
    r.signal = signal;
    control_job_signal(f->control, call, who, &r);
    fixture_turn(f);
    vec_foreach (&f->replies, reply) {
        if (reply->call != call)
            continue;
        const Pb__JobSignalReply *m = arena_unpack(&arena, &pb__job_signal_reply__descriptor,
                                                   reply->data.data, reply->data.len);
        return m->results[0]->code;
    }
    return -1;
}

void fixture_end(struct fixture *f, uint32_t id, int wait_status)
{
    for (unsigned i = 1; i < 10; i++) {
        char node[4];
        snprintf(node, sizeof node, "n%u", i);
        if (!fixture_launches(f, node, id))
            continue;
        fixture_launched(f, node, id, 0);
        fixture_batch_ended(f, node, id, 0, wait_status);
        fixture_gone(f, node, id, 0);
    }
}

void fixture_halted(struct fixture *f, const char *node, uint32_t job, uint32_t number)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Halted m = PB__HALTED__INIT;
    m.job_id = job;
    m.number = number;
    event.halted = &m;
    fixture_event(f, node, &event);
}

void fixture_obey(struct fixture *f)
{
    struct told {
        char node[16];
        uint32_t job, number;
    };
    VEC(struct told) all = {0};
    for (bool more = true; more;) {
        vec_clear(&all);
        vec_foreach (&f->orders, at)
            for (size_t i = 0; i < (*at)->orders->n_orders; i++) {
                const Pb__Halt *m = (*at)->orders->orders[i]->halt;
                if (!m)
                    continue;
                struct told told = {.job = m->job_id, .number = m->number};
                snprintf(told.node, sizeof told.node, "%s", (*at)->node);
                vec_push(&all, told);
            }
        fixture_clear(f);
        vec_foreach (&all, told)
            fixture_halted(f, told->node, told->job, told->number);
        more = all.len > 0;
        fixture_turn(f);
    }
    vec_done(&all);
}

void fixture_expect_unit(struct fixture *f, const char *name, const char *nodes)
{
    _cleanup_str_ struct str line = STR_INIT, end = STR_INIT;
    str_printf(&end, " Nodes=%s", nodes);
    assert_int_equal(conf_topo_format(control_conf(f->control), NULL, name, &line, NULL), 0);
    if (!strstr(str_cstr(&line), end.data))
        fail_msg("%s: %s instead of%s", name, str_cstr(&line), end.data);
}
