/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The virtual disk, and the messages that wait for it. A turn's changes become durable some
 * milliseconds later, all or none of them. Only then do the turn's messages leave (DESIGN rule 3),
 * each with its own delay.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/controller/controller.h"

static void record_done(struct sim_record *r)
{
    free(r->name);
    free(r->data);
}

/* Takes ownership of the change's memory. */
static void apply_change(struct sim *s, struct sim_record *change)
{
    char key[SIM_KEY];
    struct sim_stored *found;
    size_t len = sim_store_key(key, change->kind, change->number, change->name);
    HASH_FIND(hh, s->store, key, len, found);
    if (found) {
        record_done(&found->record);
    } else if (change->data) {
        found = mem_new(struct sim_stored);
        memcpy(found->key, key, len);
        HASH_ADD(hh, s->store, key, len, found);
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
    vec_done(&b->changes);
    free(b);
}

struct sim_batch *sim_store_batch(struct sim *s)
{
    if (!s->c->next)
        s->c->next = mem_new(struct sim_batch);
    return s->c->next;
}

/* The controller must have led when the request arrived; a deposed one must not reply. */
static void check_reply(struct sim *s, struct sim_event *event)
{
    const struct sim_call *call = &s->calls.data[event->value - 1];
    if (call->arrived_ms > s->c->deposed_ms)
        sim_break(s, "an answer of one who had lost the lead", "controller %u, request %d",
                  s->c->index + 1, (int)call->request);
    if (sim_lead_is_cut(s, s->c, SIM_CUT_COMMANDS)) {
        str_done(&event->body);
        event->code = SIM_CODE_LOST;
    }
}

/* The pong leaves the outbox. False: the receiver cannot be reached. */
static bool may_send_pong(struct sim *s, const struct sim_event *pong)
{
    /* The same millisecond may have been before the loss. */
    if ((int64_t)pong->session > s->c->deposed_ms)
        sim_break(s, "a controller says that it leads, and had lost the lead", "controller %u",
                  s->c->index + 1);
    return !sim_lead_are_apart(s, s->c, &s->ctls[pong->ctl - 1]);
}

static void release_one(struct sim *s, struct sim_event *event)
{
    int64_t at_ms = s->now_ms;
    if (event->kind == SIM_TO_NODE) {
        struct sim_node *n = &s->nodes.data[event->index];
        if (event->generation == n->at[s->c->index].ended)
            return;
        at_ms += rng_between(&n->rng, 0, 3);
        if (n->slow_until_ms > s->now_ms)
            at_ms += rng_between(&n->rng, 0, n->slow_by_ms);
        n->to_node_at_ms = at_ms = at_ms > n->to_node_at_ms ? at_ms : n->to_node_at_ms;
    } else if (event->kind == SIM_PONG) {
        if (!may_send_pong(s, event))
            return;
        at_ms += rng_between(&s->rng, 0, 2);
    } else if (event->kind == SIM_REPLY) {
        check_reply(s, event);
        at_ms += rng_between(&s->rng, 0, 3) + sim_net_late_ms(s);
        if (sim_net_loses(s)) {
            str_done(&event->body);
            event->code = SIM_CODE_LOST;
        }
    } /* other messages go to the helper on this host, which handles them in order */
    sim_push(s, at_ms - s->now_ms, *event);
    event->body = STR_INIT;
}

/* --- the outbox ---------------------------------------------------------------------------------
 */

void sim_store_say(struct sim *s, struct sim_event event)
{
    struct outbox_item *item = outbox_item_new(OUTBOX_REPLY, NULL, sizeof event + event.body.len);
    if (event.body.len)
        memcpy(item->data + sizeof event, event.body.data, event.body.len);
    item->number = event.body.len;
    str_done(&event.body);
    memcpy(item->data, &event, sizeof event);
    s->c->waiting++;
    outbox_add(s->c->outbox, item);
}

static void on_send(void *ctx, const struct outbox_item *item)
{
    struct sim *s = ctx;
    struct sim_event event;
    if (s->c->killed || s->c->may_leave == 0) {
        s->c->killed = true;
        return;
    }
    s->c->may_leave--;
    s->c->waiting--;
    memcpy(&event, item->data, sizeof event);
    event.body = STR_INIT;
    str_append(&event.body, item->data + sizeof event, item->number);
    release_one(s, &event);
    sim_event_done(&event);
}

static bool is_changed(void *ctx)
{
    const struct sim *s = ctx;
    return s->c->next && s->c->next->changes.len;
}

static void on_commit(void *ctx)
{
    struct sim *s = ctx;
    s->c->committing = s->c->next ? take_ptr(s->c->next) : mem_new(struct sim_batch);
    s->c->applied = s->c->lost = false;
    s->c->commit_from_ms = s->now_ms;
    int64_t ms = rng_between(&s->rng, 0, 6);
    if (s->slow_disk_until_ms > s->now_ms)
        ms += rng_between(&s->rng, 0, s->slow_disk_ms);
    enum sim_event_kind next = s->count > 1 ? SIM_APPLY : SIM_COMMITTED;
    sim_push(s, ms, (struct sim_event){.kind = next, .generation = s->c->life});
}

void sim_store_open(struct sim *s)
{
    s->c->outbox = outbox_new(&(struct outbox_ops){
        .send = on_send, .changed = is_changed, .commit = on_commit, .ctx = s});
    if (s->count > 1)
        outbox_prove(s->c->outbox);
    s->c->waiting = 0;
}

/* For a kill at SIM_POINT_SENDING: determines how many messages leave before it. */
static void begin_sending(struct sim *s)
{
    bool some = s->crash && s->crash_point == SIM_POINT_SENDING;
    s->c->killed = false;
    s->c->may_leave = some ? s->c->waiting * (size_t)(s->crash->keep % 100) / 100 : SIZE_MAX;
}

/* Epochs only grow, and each belongs to one controller. */
static void check_epoch(struct sim *s)
{
    uint64_t epoch = s->c->control ? control_epoch(s->c->control) : 0;
    if (!epoch)
        return;
    if (epoch < s->epoch_put || (epoch == s->epoch_put && s->epoch_life != s->c->life))
        sim_break(s, "two controllers commit in one epoch", "%llu", (unsigned long long)epoch);
    s->epoch_put = epoch;
    s->epoch_life = s->c->life;
}

static void apply_all(struct sim *s, struct sim_batch *b)
{
    if (s->disk_loses)
        return;
    check_epoch(s);
    if (s->c->life != s->counted_life) {
        s->counted_life = s->c->life;
        sim_watch_lead(s);
    }
    vec_foreach (&b->changes, change)
        apply_change(s, change);
}

void sim_store_commit(struct sim *s)
{
    begin_sending(s);
    outbox_turn(s->c->outbox);
}

/* The store's transaction checks the row that names the leader, whatever has happened to the
 * controller that requested it. */
void sim_store_applied(struct sim *s)
{
    struct sim_ctl *c = s->c;
    if (!c->committing)
        return;
    if (sim_lead_is_cut(s, c, SIM_CUT_STORE)) {
        sim_push(s, rng_between(&s->rng, 50, 500),
                 (struct sim_event){.kind = SIM_APPLY, .generation = c->life});
        return;
    }
    c->lost = c->lead != s->taken;
    if (!c->lost) {
        apply_all(s, c->committing);
        s->commits++;
        s->committed_ms = s->now_ms;
    }
    c->applied = !c->lost;
    sim_push(s, rng_between(&s->rng, 0, 3),
             (struct sim_event){.kind = SIM_COMMITTED, .generation = c->life});
}

void sim_store_release(struct sim *s)
{
    struct sim_batch *b = take_ptr(s->c->committing);
    if (!s->c->applied)
        apply_all(s, b);
    batch_free(b);
    begin_sending(s);
    outbox_durable(s->c->outbox);
    if (!s->c->killed)
        outbox_turn(s->c->outbox);
}

void sim_store_drop(struct sim *s, bool kept)
{
    bool leads = s->count == 1 || s->c->lead == s->taken;
    if (s->c->committing && kept && leads && !s->c->applied)
        apply_all(s, s->c->committing);
    batch_free(take_ptr(s->c->committing));
    batch_free(take_ptr(s->c->next));
    outbox_free(take_ptr(s->c->outbox));
}

void sim_store_done(struct sim *s)
{
    struct sim_stored *at, *next;
    for (unsigned i = 0; i < s->count; i++) {
        s->c = &s->ctls[i];
        sim_store_drop(s, false);
    }
    HASH_ITER (hh, s->store, at, next) {
        HASH_DEL(s->store, at);
        record_done(&at->record);
        free(at);
    }
}
