/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's world: a clock that jumps from event to event, and a store whose commits take
 * time. As in slurmctld one commit is under way at a time; what later turns change and say waits in
 * the next batch. A crash loses what is not on disk, and every message that waited for it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/sim.h"

void sim_event_done(struct sim_event *e)
{
    str_done(&e->body);
}

static bool event_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->number < b->number;
}

void sim_push(struct sim *s, int64_t after_ms, struct sim_event event)
{
    event.at_ms = s->now_ms + after_ms;
    event.number = s->next_event++;
    vec_push(&s->queue, event);
    size_t i = s->queue.len - 1;
    while (i > 0 && event_before(&s->queue.data[i], &s->queue.data[(i - 1) / 2])) {
        struct sim_event swap = s->queue.data[i];
        s->queue.data[i] = s->queue.data[(i - 1) / 2];
        s->queue.data[(i - 1) / 2] = swap;
        i = (i - 1) / 2;
    }
}

void sim_trace(struct sim *s, const void *data, size_t len)
{
    const unsigned char *p = data;
    uint64_t h = s->result->trace ^ (uint64_t)s->now_ms;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    s->result->trace = h;
}

void sim_break(struct sim *s, const char *fmt, ...)
{
    if (s->broken.code)
        return;
    va_list ap;
    va_start(ap, fmt);
    err_vset(&s->broken, -ERR_INTERNAL, fmt, ap);
    va_end(ap);
    err_prefix(&s->broken, "seed %llu at %lld ms", (unsigned long long)s->options.seed,
               (long long)s->now_ms);
}

/* --- the env that control sees
 * --------------------------------------------------------------------------------- */

static int64_t env_wall_ms(void *ctx)
{
    return INT64_C(1700000000000) + ((struct sim *)ctx)->now_ms;
}

static int64_t env_mono_ms(void *ctx)
{
    return ((struct sim *)ctx)->now_ms;
}

static void env_wake_at(void *ctx, int64_t mono_ms)
{
    struct sim *s = ctx;
    s->wake_at_ms = mono_ms;
    int64_t after = mono_ms > s->now_ms ? mono_ms - s->now_ms : 0;
    sim_push(
        s, after,
        (struct sim_event){.kind = SIM_TICK, .generation = s->life, .value = (uint64_t)mono_ms});
}

static struct sim_batch *batch(struct sim *s)
{
    if (!s->next)
        s->next = mem_new(struct sim_batch);
    return s->next;
}

static void env_put(void *ctx, enum record_kind kind, uint64_t number, const char *name,
                    const void *data, size_t len)
{
    struct sim *s = ctx;
    sim_trace(s, data, len);
    struct sim_record record = {kind, number, mem_strdup(name), mem_alloc(len + 1), len};
    memcpy(record.data, data, len);
    vec_push(&batch(s)->changes, record);
}

static void env_del(void *ctx, enum record_kind kind, uint64_t number, const char *name)
{
    struct sim *s = ctx;
    struct sim_record record = {.kind = kind, .number = number, .name = mem_strdup(name)};
    vec_push(&batch(s)->changes, record);
}

static void say(struct sim *s, struct sim_event event)
{
    sim_trace(s, event.body.data, event.body.len);
    vec_push(&batch(s)->out, event);
}

static void env_reply(void *ctx, uint64_t call, const ProtobufCMessage *reply)
{
    struct sim_event event = {.kind = SIM_REPLY, .value = call};
    pb_pack(reply, &event.body);
    say(ctx, event);
}

static void env_reply_error(void *ctx, uint64_t call, int code, const char *text)
{
    struct sim_event event = {.kind = SIM_REPLY, .value = call, .code = code < 0 ? -code : code};
    str_puts(&event.body, text);
    say(ctx, event);
}

static long node_index(const struct sim *s, const char *name)
{
    for (size_t i = 0; i < s->nodes.len; i++)
        if (strcmp(s->nodes.data[i].name, name) == 0)
            return (long)i;
    return -1;
}

static void to_node(struct sim *s, const char *name, enum sim_message_kind message, uint64_t value,
                    const ProtobufCMessage *body)
{
    long index = node_index(s, name);
    if (index < 0) {
        sim_break(s, "a message to the unknown node %s", name);
        return;
    }
    struct sim_event event = {
        .kind = SIM_TO_NODE, .message = message, .index = (unsigned)index, .value = value};
    event.generation = s->nodes.data[index].session;
    if (body)
        pb_pack(body, &event.body);
    say(s, event);
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

static void env_sign(void *ctx, const void *data, size_t len, uint8_t sig[64])
{
    memset(sig, 0x5a, 64);
}

static bool env_user_in_group(void *ctx, uint32_t uid, uint32_t gid, const char *group)
{
    return true;
}

static void env_log(void *ctx, enum log_level level, const char *room, const char *text)
{
    struct sim *s = ctx;
    if (s->options.verbose)
        fprintf(stderr, "%10lld ms %s: %s\n", (long long)s->now_ms, room, text);
}

/* --- the store
 * ------------------------------------------------------------------------------------------------
 */

static void record_done(struct sim_record *r)
{
    free(r->name);
    free(r->data);
}

/* Takes the change's memory. */
static void store_apply(struct sim *s, struct sim_record *change)
{
    char key[sizeof((struct sim_stored *)0)->key] = {0};
    int len = snprintf(key, sizeof key, "%d/%llu/%s", change->kind,
                       (unsigned long long)change->number, change->name ? change->name : "");
    struct sim_stored *found;
    HASH_FIND(hh, s->store, key, (unsigned)len, found);
    if (found) {
        record_done(&found->record);
    } else if (change->data) {
        found = mem_new(struct sim_stored);
        memcpy(found->key, key, sizeof key);
        HASH_ADD(hh, s->store, key, (unsigned)len, found);
    }
    if (change->data) {
        found->record = *change;
        *change = (struct sim_record){0};
    } else if (found) {
        HASH_DEL(s->store, found);
        free(found);
    }
}

static void batch_free(struct sim_batch *b)
{
    if (!b)
        return;
    vec_foreach (&b->changes, change)
        record_done(change);
    vec_foreach (&b->out, event)
        sim_event_done(event);
    vec_done(&b->changes);
    vec_done(&b->out);
    free(b);
}

static void release_messages(struct sim *s, struct sim_batch *b)
{
    vec_foreach (&b->out, event) {
        int64_t at_ms = s->now_ms + rng_between(&s->rng, 0, 3);
        if (event->kind == SIM_TO_NODE) {
            struct sim_node *n = &s->nodes.data[event->index];
            n->to_node_at_ms = at_ms = at_ms > n->to_node_at_ms ? at_ms : n->to_node_at_ms;
        }
        sim_push(s, at_ms - s->now_ms, *event);
        event->body = STR_INIT;
    }
}

static void commit_next(struct sim *s)
{
    if (s->committing || !s->next)
        return;
    if (s->next->changes.len == 0) {
        release_messages(s, s->next);
        batch_free(s->next);
        s->next = NULL;
        return;
    }
    s->committing = take_ptr(s->next);
    sim_push(s, rng_between(&s->rng, 0, 6),
             (struct sim_event){.kind = SIM_COMMITTED, .generation = s->life});
}

static void apply_batch(struct sim *s, struct sim_batch *b)
{
    vec_foreach (&b->changes, change)
        store_apply(s, change);
}

void sim_committed(struct sim *s)
{
    struct sim_batch *b = take_ptr(s->committing);
    apply_batch(s, b);
    release_messages(s, b);
    batch_free(b);
    commit_next(s);
}

/* The check looks at everything: in large worlds it costs more than the turn, so that it is made
 * less often there. */
static bool check_is_due(struct sim *s)
{
    uint64_t every = 1 + (s->options.nodes + s->clients.len) / 500;
    return s->turns++ % every == 0 || s->quiet;
}

void sim_turn(struct sim *s)
{
    struct err err = {0};
    control_turn(s->control);
    if (check_is_due(s) && control_check(s->control, &err) != 0)
        sim_break(s, "invariant: %s", err.text);
    commit_next(s);
}

/* --- life and death of the controller
 * -------------------------------------------------------------------------- */

static int write_conf(struct sim *s, struct err *err)
{
    struct str text = STR_INIT;
    str_puts(&text, "ClusterName=sim\nSlurmctldHost=sim\nSlurmUser=0\nSlurmdUser=0\n"
                    "SlurmdParameters=config_overrides\nSelectType=select/cons_tres\n"
                    "SelectTypeParameters=CR_Core_Memory\nMinJobAge=10000000\nSlurmdTimeout=60\n"
                    "ReturnToService=2\nKillWait=2\nMaxJobCount=1000000\n");
    str_printf(&text, "NodeName=n[1-%u] CPUs=%u RealMemory=8000\n", s->options.nodes,
               s->options.cpus);
    str_puts(&text, "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n");
    snprintf(s->conf_path, sizeof s->conf_path, "/tmp/slurmsim.%ld.conf", (long)getpid());
    FILE *f = fopen(s->conf_path, "w");
    int bad = !f || fwrite(text.data, 1, text.len, f) != text.len;
    if (f)
        bad |= fclose(f) != 0;
    str_done(&text);
    return bad ? err_set(err, -ERR_GENERIC, "cannot write %s", s->conf_path) : 0;
}

static int load_conf(struct sim *s, struct conf **conf, struct err *err)
{
    struct conf_report report = {0};
    int rc = write_conf(s, err);
    if (rc == 0)
        rc = conf_load(s->conf_path, CONF_FULL, NULL, conf, &report, err);
    unlink(s->conf_path);
    conf_report_done(&report);
    return rc;
}

int sim_controller_start(struct sim *s, struct err *err)
{
    struct conf *conf = NULL;
    int rc = load_conf(s, &conf, err);
    if (rc != 0)
        return rc;
    s->life++;
    s->env = (struct env){s,           env_wall_ms, env_mono_ms,       env_wake_at, env_put,
                          env_del,     env_reply,   env_reply_error,   env_send,    env_ack,
                          env_welcome, env_sign,    env_user_in_group, env_log};
    s->control = control_new(conf, &s->env);
    for (struct sim_stored *at = s->store; at; at = at->hh.next) {
        struct sim_record *r = &at->record;
        if (r->kind == RECORD_PAYLOAD)
            continue; /* never read back by control */
        rc = control_restore(s->control, r->kind, r->number, r->name, r->data, r->len, err);
        if (rc != 0)
            return rc;
    }
    control_start(s->control);
    sim_turn(s);
    return 0;
}

void sim_controller_crash(struct sim *s)
{
    s->result->controller_crashes++;
    /* The sync under way may have reached the disk or not; its messages are lost in both cases. */
    if (s->committing && rng_chance(&s->rng, 500))
        apply_batch(s, s->committing);
    batch_free(take_ptr(s->committing));
    batch_free(take_ptr(s->next));
    control_free(take_ptr(s->control));
    s->life++;
    /* What was sent may still arrive; the nodes notice a little later, but before anyone can answer
     * again. */
    for (unsigned i = 0; i < s->nodes.len; i++)
        sim_push(s, rng_between(&s->rng, 0, 9),
                 (struct sim_event){
                     .kind = SIM_HANGUP, .index = i, .generation = s->nodes.data[i].session});
    sim_clients_lost(s);
    sim_push(s, rng_between(&s->rng, 10, 5000), (struct sim_event){.kind = SIM_RESTART});
}

void sim_world_done(struct sim *s)
{
    control_free(take_ptr(s->control));
    batch_free(take_ptr(s->committing));
    batch_free(take_ptr(s->next));
    struct sim_stored *at, *next;
    HASH_ITER (hh, s->store, at, next) {
        HASH_DEL(s->store, at);
        record_done(&at->record);
        free(at);
    }
    vec_foreach (&s->queue, e)
        sim_event_done(e);
    vec_done(&s->queue);
    vec_foreach (&s->nodes, n)
        sim_node_done(n);
    vec_done(&s->nodes);
    vec_done(&s->clients);
    vec_done(&s->ledger);
}
