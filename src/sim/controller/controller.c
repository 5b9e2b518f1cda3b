/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A controller: its env for control/, the messages of nodes, and the start from the records on
 * disk.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/controller/controller.h"

/* --- the env that control sees ------------------------------------------------------------------
 */

static int64_t env_wall_ms(void *ctx)
{
    return sim_wall_ms(ctx);
}

static int64_t env_mono_ms(void *ctx)
{
    const struct sim *s = ctx;
    return s->now_ms - s->c->mono_offset_ms;
}

static void env_wake_at(void *ctx, int64_t mono_ms)
{
    struct sim *s = ctx;
    s->c->wake_at_ms = mono_ms + s->c->mono_offset_ms;
    sim_push(s, s->c->wake_at_ms - s->now_ms,
             (struct sim_event){
                 .kind = SIM_TICK, .generation = s->c->life, .value = (uint64_t)s->c->wake_at_ms});
}

static void env_put(void *ctx, enum record_kind kind, uint64_t number, const char *name,
                    const void *data, size_t len)
{
    struct sim *s = ctx;
    sim_trace(s, data, len);
    struct sim_record record = {kind, number, mem_strdup(name), mem_alloc(len + 1), len};
    memcpy(record.data, data, len);
    vec_push(&sim_store_batch(s)->changes, record);
    if (s->c == s->lead) /* the decisions of a deposed controller have no effect */
        sim_watch_put(s, &record);
}

static void env_del(void *ctx, enum record_kind kind, uint64_t number, const char *name)
{
    struct sim *s = ctx;
    struct sim_record record = {.kind = kind, .number = number, .name = mem_strdup(name)};
    vec_push(&sim_store_batch(s)->changes, record);
    if (s->c == s->lead) /* the decisions of a deposed controller have no effect */
        sim_watch_put(s, &record);
}

static void add_event(struct sim *s, struct sim_event event)
{
    sim_trace(s, event.body.data, event.body.len);
    sim_store_say(s, event);
}

/* Each call has exactly one reply. */
static void check_answer(struct sim *s, uint64_t number)
{
    struct sim_call *call = number && number <= s->calls.len ? &s->calls.data[number - 1] : NULL;
    if (!call || !call->arrived || call->life != s->c->life)
        sim_break(s, "an answer to a call that was not made", "call %llu",
                  (unsigned long long)number);
    else if (call->answered)
        sim_break(s, "a second answer to a call", "call %llu, request %d",
                  (unsigned long long)number, (int)call->request);
    else
        call->answered = true;
}

static void env_reply(void *ctx, uint64_t call, const ProtobufCMessage *reply)
{
    struct sim_event event = {.kind = SIM_REPLY, .value = call};
    if (call == SIM_NO_CALL)
        return;
    check_answer(ctx, call);
    pb_pack(reply, &event.body);
    add_event(ctx, event);
}

static void env_reply_error(void *ctx, uint64_t call, int code, const char *text)
{
    struct sim_event event = {.kind = SIM_REPLY, .value = call, .code = code < 0 ? -code : code};
    check_answer(ctx, call);
    str_puts(&event.body, text);
    add_event(ctx, event);
}

static void to_node(struct sim *s, const char *name, enum sim_message message, uint64_t value,
                    const ProtobufCMessage *body)
{
    long index = sim_node_index(s, name);
    if (index < 0) {
        sim_break(s, "a message to an unknown node", "%s", name);
        return;
    }
    struct sim_event event = {
        .kind = SIM_TO_NODE, .message = message, .index = (unsigned)index, .value = value};
    event.generation = s->nodes.data[index].at[s->c->index].session;
    if (!event.generation)
        return;
    if (body)
        pb_pack(body, &event.body);
    add_event(s, event);
}

static void env_send(void *ctx, const char *node, const Pb__NodeOrders *orders)
{
    to_node(ctx, node, SIM_ORDERS, 0, &orders->base);
}

static void env_ack(void *ctx, const char *node, uint64_t seq)
{
    to_node(ctx, node, SIM_ACK, seq, NULL);
}

static void env_welcome(void *ctx, const char *node, uint64_t epoch)
{
    to_node(ctx, node, SIM_WELCOME, epoch, NULL);
}

static void env_close(void *ctx, const char *node)
{
    struct sim *s = ctx;
    long index = sim_node_index(s, node);
    if (index >= 0)
        sim_ctl_end_session(s, &s->nodes.data[index]);
}

static void env_sign(void *ctx, const void *data, size_t len, uint8_t sig[64])
{
    memset(sig, 0x5a, 64);
}

static bool env_user_in_group(void *ctx, uint32_t uid, const char *group)
{
    return true;
}

static const char *env_name(void *ctx, uint32_t id)
{
    return "user";
}

static void env_part_key(void *ctx, const char *name, uint64_t number,
                         char key[CONTROL_PART_KEY_SIZE])
{
    snprintf(key, CONTROL_PART_KEY_SIZE, "%032llx", (unsigned long long)number);
}

static void env_log(void *ctx, enum log_level level, const char *room, const char *text)
{
    struct sim *s = ctx;
    sim_say(s, "%s: %s", room, text);
    if (strstr(text, "the plan does not hold"))
        sim_break(s, "a plan that does not hold", "%s", text);
}

static uint64_t env_boot(void *ctx)
{
    return 1 + ((struct sim *)ctx)->c->boot;
}

static void to_helper(struct sim *s, const Pb__ScriptRun *m, int stop)
{
    struct sim_event event = {.kind = SIM_HOOK, .generation = s->c->life, .code = stop};
    pb_pack(&m->base, &event.body);
    add_event(s, event);
}

static void env_run(void *ctx, const Pb__ScriptRun *m)
{
    to_helper(ctx, m, 0);
}

static void env_stop(void *ctx, const Pb__ScriptRun *m)
{
    Pb__ScriptRun which = *m;
    which.path = (char *)"";
    to_helper(ctx, &which, 1);
}

void sim_ctl_env(struct sim *s)
{
    s->env = (struct env){
        .ctx = s,
        .wall_ms = env_wall_ms,
        .mono_ms = env_mono_ms,
        .wake_at = env_wake_at,
        .put = env_put,
        .del = env_del,
        .reply = env_reply,
        .reply_error = env_reply_error,
        .send = env_send,
        .ack = env_ack,
        .welcome = env_welcome,
        .close = env_close,
        .sign = env_sign,
        .user_in_group = env_user_in_group,
        .user_name = env_name,
        .group_name = env_name,
        .part_key = env_part_key,
        .log = env_log,
        .boot = env_boot,
        .run = env_run,
        .stop = env_stop,
    };
}

/* --- inputs -------------------------------------------------------------------------------------
 */

/* The newest session replaces the one before. A hello that arrives after the hello of a newer
 * session belongs to a session that its node has left. No message follows in it, since the keys
 * depend on the reply too, and its end is near. */
static void accept_session(struct sim *s, struct sim_node *n, uint64_t session)
{
    unsigned index = (unsigned)(n - s->nodes.data);
    int64_t soon_ms = rng_between(&n->rng, 0, 3);
    if (!n->configured) {
        n->at[s->c->index].registrant = session;
        return;
    }
    sim_ctl_end_session(s, n);
    n->at[s->c->index].session = session;
    if (session > n->at[s->c->index].newest)
        n->at[s->c->index].newest = session;
    else
        sim_push(s, soon_ms,
                 (struct sim_event){.kind = SIM_LOST, .index = index, .generation = session});
}

/* Registration of a node that is not configured. */
static void dismiss_node(struct sim *s, unsigned index, const Pb__NodeRegister *r)
{
    struct sim_node *n = &s->nodes.data[index];
    if (r->dynamic) {
        sim_load_registrant(s, index, r);
        return;
    }
    if (n->configured) { /* configured meanwhile: the node connects again */
        sim_ctl_hang_up(s, index);
        return;
    }
    sim_ctl_end_session(s, n);
    n->at[s->c->index].session = n->at[s->c->index].registrant;
    n->at[s->c->index].registrant = 0;
    control_node_register(s->c->control, n->name, r);
    sim_ctl_close_session(s, index);
}

void sim_ctl_receive(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    if (!s->c->control || e->value != s->c->life || e->generation == n->broken)
        return;
    if (e->message == SIM_OPEN) {
        accept_session(s, n, e->generation);
        return;
    }
    bool known =
        e->generation == n->at[s->c->index].session && e->generation == n->at[s->c->index].newest;
    if (!known && (e->generation != n->at[s->c->index].registrant || e->message != SIM_REGISTER))
        return;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    bool registers = e->message == SIM_REGISTER;
    void *body = arena_unpack(
        &arena, registers ? &pb__node_register__descriptor : &pb__node_report__descriptor,
        e->body.data, e->body.len);
    if (!known)
        dismiss_node(s, e->index, body);
    /* The controller learns of a boot only now. */
    if (registers && n->registered != n->incarnation) {
        n->registered = n->incarnation;
        sim_end_node_lost(s, e->index);
    }
    if (known && registers)
        control_node_register(s->c->control, n->name, body);
    else if (known)
        control_node_report(s->c->control, n->name, body);
    sim_ctl_turn(s);
}

void sim_ctl_lost(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    if (!s->c->control || !e->generation || n->at[s->c->index].session != e->generation)
        return;
    n->at[s->c->index].session = 0;
    control_node_lost(s->c->control, n->name);
    sim_ctl_turn(s);
}

/* --- start --------------------------------------------------------------------------------------
 */

static int restore_records(struct sim *s, struct err *err)
{
    /* The order of store_load(): the store's own record, then named records, then numbered ones. */
    static const enum record_kind order[] = {
        RECORD_META,     RECORD_NODE,  RECORD_PART,     RECORD_LICENSE, RECORD_MADE,
        RECORD_SHUTDOWN, RECORD_RESV,  RECORD_CONSUMER, RECORD_JOB,     RECORD_ARRAY,
        RECORD_TRIGGER,  RECORD_EVENT, RECORD_ATTEMPT};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        for (struct sim_stored *at = s->store; at; at = at->hh.next) {
            struct sim_record *r = &at->record;
            if (r->kind != order[i])
                continue;
            if (control_restore(s->c->control, r->kind, r->number, r->name, r->data, r->len, err) !=
                0)
                return -1;
        }
    return 0;
}

int sim_ctl_start(struct sim *s, struct err *err)
{
    struct conf *conf = NULL;
    struct str made = STR_INIT;
    const struct sim_record *stored = sim_store_find(s, RECORD_MADE, 0, NULL);
    int rc = stored ? control_node_dynamic_stored(stored->data, stored->len, &made, err) : 0;
    if (rc == 0)
        rc = sim_load_conf(s, str_cstr(&made), &conf, err);
    str_done(&made);
    if (rc != 0)
        return rc;
    s->c->life = ++s->lives;
    s->c->file = s->file;
    s->c->up_since_ms = s->now_ms;
    sim_watch_restart(s);
    sim_store_open(s);
    s->c->control = control_new(conf, &s->env);
    if (s->plan->share)
        control_set_plan_work(s->c->control, (uint64_t)s->plan->share);
    sim_ctl_learn_nodes(s);
    if (restore_records(s, err) != 0) {
        sim_break(s, "a record that is not taken back", "%s", err->text);
        return 0;
    }
    uint64_t before = s->epoch;
    control_start(s->c->control);
    sim_events_follow(s);
    if (s->epoch <= before)
        sim_break(s, "an epoch did not rise at a start", "%llu", (unsigned long long)s->epoch);
    sim_announce_check_start(s);
    sim_say(s, "the controller is up, life %llu", (unsigned long long)s->c->life);
    s->c->list_due = "after a restart";
    sim_ctl_turn(s);
    return 0;
}
