/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/cast/receiver.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cast/feed.h"

#define ORPHAN_PERIODS 3 /* silence periods: another node has to notice the loss, too */
#define LAST_WORDS_MS 2000

struct receiver {
    struct loop *loop;
    struct auth_key key;
    char *node;
    struct cast_sink *sink;
    struct cast_feed *feed;
    char *unpacked; /* buffer for one uncompressed piece */
    uint64_t size;
    int64_t timeout_ms;

    struct rpc_session *parent; /* NULL: none yet, or it has gone */
    bool parent_is_root, greeted;
    int64_t heard_at, give_up_at; /* give_up_at: deadline while there is no parent */
    unsigned guests;
    uint32_t index; /* of this node; valid with 'greeted' */

    Pb__CastPhase phase;
    int code;
    char *text;
    bool has_sum, ending;
    uint32_t crc;
    struct loop_timer *beat, *last;
    int64_t beat_at;
};

/* --- reports to the parent -------------------------------------------------------------------- */

static void send_state(struct receiver *r, const Pb__CastState *state)
{
    Pb__CastStatus m = PB__CAST_STATUS__INIT;
    Pb__CastState *states[] = {(Pb__CastState *)state};

    if (!r->parent)
        return;
    m.states = states;
    m.n_states = 1;
    rpc_session_send(r->parent, RPC_CAST_STATUS, &m.base);
}

static void fill_own(const struct receiver *r, Pb__CastState *m)
{
    pb__cast_state__init(m);
    m->index = r->index;
    m->phase = r->phase;
    m->has_code = r->code != 0;
    m->code = r->code;
    m->text = r->text;
}

static void set_phase(struct receiver *r, Pb__CastPhase phase)
{
    Pb__CastState own;

    r->phase = phase;
    fill_own(r, &own);
    send_state(r, &own);
}

static void on_known(void *ctx, const Pb__CastState *state)
{
    send_state(ctx, state);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void stop_receiver(void *ctx)
{
    struct receiver *r = ctx;

    loop_stop(r->loop);
}

/* Tells the children, waits a short time for them to receive it, and ends. */
static void end_receiver(struct receiver *r, const char *why)
{
    if (r->ending)
        return;
    r->ending = true;
    loop_timer_set(r->last, LAST_WORDS_MS);
    if (r->feed)
        cast_feed_end(r->feed, why);
    else if (!r->parent)
        loop_stop(r->loop);
    if (r->parent)
        rpc_session_finish(r->parent);
}

void receiver_fail(struct receiver *r, const struct err *why)
{
    if (r->ending || cast_phase_is_final(r->phase))
        return;
    r->code = -why->code;
    r->text = mem_strdup(why->text);
    set_phase(r, PB__CAST_PHASE__CAST_REFUSED);
    cast_feed_free(take_ptr(r->feed));
    cast_sink_free(take_ptr(r->sink));
    r->ending = true;
    loop_timer_set(r->last, r->parent ? r->timeout_ms : 0);
    if (r->parent)
        rpc_session_finish(r->parent);
}

/* --- children --------------------------------------------------------------------------------- */

static int read_own(void *ctx, uint64_t at, void *buf, size_t len, struct err *err)
{
    struct receiver *r = ctx;

    return cast_sink_read(r->sink, at, buf, len, err);
}

static bool is_fed(void *ctx)
{
    const struct receiver *r = ctx;

    return r->parent && !rpc_session_has_ended(r->parent);
}

static void on_feed_fail(void *ctx, const struct err *why)
{
    receiver_fail(ctx, why);
}

static void begin_feed(struct receiver *r, const Pb__CastHello *m)
{
    const struct cast_feed_events events = {.read = read_own,
                                            .on_state = on_known,
                                            .is_fed = is_fed,
                                            .on_fail = on_feed_fail,
                                            .on_end = stop_receiver,
                                            .ctx = r};
    struct cast_plan plan = {.key = r->key,
                             .size = r->size,
                             .width = m->width,
                             .block = m->block,
                             .pack = m->has_pack && m->pack,
                             .timeout_ms = r->timeout_ms,
                             .name = r->node};

    r->unpacked = mem_alloc(m->block);
    r->feed = cast_feed_new(r->loop, &plan, m->below, m->n_below, &events);
    auth_key_done(&plan.key);
}

/* --- the parent ------------------------------------------------------------------------------- */

static void check_whole(struct receiver *r)
{
    struct err err = {0};

    if (r->phase != PB__CAST_PHASE__CAST_WAITING || !r->has_sum || cast_sink_at(r->sink) < r->size)
        return;
    if (cast_sink_check(r->sink, r->crc, &err))
        receiver_fail(r, &err);
    else
        set_phase(r, PB__CAST_PHASE__CAST_WHOLE);
}

static int write_piece(struct receiver *r, const Pb__CastData *m, struct err *err)
{
    uint64_t at = cast_sink_at(r->sink);
    const void *data = m->data.data;
    size_t len = m->data.len;
    int rc;

    if (m->at != at)
        return err_set(err, -ERR_PROTOCOL, "a piece of the file is missing");
    if (m->has_packed_len) {
        if (m->packed_len > CAST_BLOCK_MAX)
            return err_set(err, -ERR_PROTOCOL, "a piece of the file is too long");
        r->unpacked = mem_realloc(r->unpacked, m->packed_len ? m->packed_len : 1);
        rc = cast_block_unpack(m->data.data, m->data.len, r->unpacked, m->packed_len, err);
        if (rc)
            return rc;
        data = r->unpacked;
        len = m->packed_len;
    }
    rc = cast_sink_write(r->sink, data, len, err);
    if (rc)
        return rc;
    if (m->has_packed_len)
        cast_feed_keep(r->feed, at, len, m->data.data, m->data.len);
    cast_feed_piece(r->feed, at, data, len);
    return 0;
}

static void on_data(struct receiver *r, const Pb__CastData *m)
{
    struct err err = {0};

    if (write_piece(r, m, &err))
        receiver_fail(r, &err);
    else
        check_whole(r);
}

static void on_sum(struct receiver *r, const Pb__CastSum *m)
{
    struct err err = {0};

    if (r->has_sum)
        return;
    if (m->size != r->size) {
        err_set(&err, -ERR_PROTOCOL, "the file has not the length that was announced");
        receiver_fail(r, &err);
        return;
    }
    r->has_sum = true;
    r->crc = m->crc;
    cast_feed_sum(r->feed, m->crc);
    check_whole(r);
}

static void on_order(struct receiver *r, const Pb__CastOrder *m)
{
    struct err err = {0};

    if (m->verdict == PB__CAST_VERDICT__CAST_OVER) {
        end_receiver(r, m->why);
    } else if (r->phase == PB__CAST_PHASE__CAST_WHOLE) {
        cast_feed_commit(r->feed);
        if (cast_sink_place(r->sink, &err))
            receiver_fail(r, &err);
        else
            set_phase(r, PB__CAST_PHASE__CAST_PLACED);
    }
}

static void on_parent_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                              const ProtobufCMessage *body)
{
    struct receiver *r = ctx;

    r->heard_at = loop_mono_ms();
    if (r->ending)
        return;
    if (rpc->number == RPC_CAST_DATA)
        on_data(r, (const Pb__CastData *)body);
    else if (rpc->number == RPC_CAST_SUM)
        on_sum(r, (const Pb__CastSum *)body);
    else if (rpc->number == RPC_CAST_ORDER)
        on_order(r, (const Pb__CastOrder *)body);
}

static void lose_parent(struct receiver *r)
{
    r->parent = NULL;
    r->give_up_at = loop_mono_ms() + ORPHAN_PERIODS * r->timeout_ms;
    if (r->ending) {
        if (!r->feed)
            loop_stop(r->loop);
    } else if (r->parent_is_root) {
        end_receiver(r, "the sender of the file has ended");
    }
}

static void on_parent_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    lose_parent(ctx);
}

/* Another node sends to us now; tells the previous one that it was replaced. */
static void depose_feeder(struct receiver *r)
{
    static const struct rpc_session_events none = {0};
    Pb__CastStatus m = PB__CAST_STATUS__INIT;

    if (!r->parent)
        return;
    m.has_deposed = m.deposed = true;
    rpc_session_send(r->parent, RPC_CAST_STATUS, &m.base);
    rpc_session_set_events(r->parent, &none);
    rpc_session_finish(take_ptr(r->parent));
}

static void send_state_to_all(struct receiver *r)
{
    Pb__CastStatus m = PB__CAST_STATUS__INIT;
    Pb__CastState own, *states[] = {&own};

    fill_own(r, &own);
    m.has_at = true;
    m.at = cast_sink_at(r->sink);
    m.states = states;
    m.n_states = r->phase != PB__CAST_PHASE__CAST_WAITING;
    rpc_session_send(r->parent, RPC_CAST_STATUS, &m.base);
    cast_feed_each(r->feed, on_known, r);
}

static bool is_sound(const struct receiver *r, const Pb__CastHello *m)
{
    uint32_t last = m->you->index;

    if (!str_eq(m->you->node, r->node) || (r->greeted && m->you->index != r->index) || !m->width ||
        m->width > CAST_WIDTH_MAX || m->block != cast_block_round(m->block) ||
        m->n_below > CAST_NODES_MAX)
        return false;
    for (size_t i = 0; i < m->n_below; i++) {
        const Pb__CastNode *n = m->below[i];

        if (n->index <= last || !n->port || n->port > 65535)
            return false;
        last = n->index;
    }
    return true;
}

static void on_hello(struct receiver *r, struct rpc_session *s, const Pb__CastHello *m)
{
    const struct rpc_session_events events = {
        .on_message = on_parent_message, .on_close = on_parent_close, .ctx = r};

    if (r->ending || !is_sound(r, m)) {
        rpc_session_finish(s);
        return;
    }
    depose_feeder(r);
    r->parent = s;
    r->parent_is_root = m->has_root && m->root;
    r->heard_at = loop_mono_ms();
    r->index = m->you->index;
    rpc_session_set_events(s, &events);
    if (!r->greeted)
        begin_feed(r, m);
    else
        cast_feed_resume(r->feed);
    r->greeted = true;
    send_state_to_all(r);
}

/* --- guests ----------------------------------------------------------------------------------- */

static void on_guest_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                             const ProtobufCMessage *body)
{
    struct receiver *r = ctx;
    const struct rpc_session_events none = {0};

    r->guests--;
    rpc_session_set_events(s, &none);
    if (rpc->number == RPC_CAST_HELLO)
        on_hello(r, s, (const Pb__CastHello *)body);
    else
        rpc_session_finish(s);
}

static void on_guest_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct receiver *r = ctx;

    r->guests--;
}

void receiver_session(struct receiver *r, struct rpc_session *s)
{
    const struct rpc_session_events events = {
        .on_message = on_guest_message, .on_close = on_guest_close, .ctx = r};

    if (r->guests >= RECEIVER_GUESTS_MAX) {
        rpc_session_finish(s);
        return;
    }
    r->guests++;
    rpc_session_set_events(s, &events);
    rpc_session_send_bulk(s);
}

/* --- time ------------------------------------------------------------------------------------- */

static void on_beat(void *ctx)
{
    struct receiver *r = ctx;
    Pb__CastStatus m = PB__CAST_STATUS__INIT;
    int64_t now = loop_mono_ms();
    /* This process was stopped, so the silence was ours. */
    bool slept = now - r->beat_at > r->timeout_ms / 2;

    r->beat_at = now;
    if (slept) {
        r->heard_at = now;
        r->give_up_at += r->timeout_ms;
    }
    if (r->parent && !r->ending) {
        rpc_session_send(r->parent, RPC_CAST_STATUS, &m.base);
        if (now - r->heard_at > r->timeout_ms) {
            static const struct rpc_session_events none = {0};

            rpc_session_set_events(r->parent, &none);
            rpc_session_free(r->parent);
            lose_parent(r);
        }
    } else if (!r->parent && now > r->give_up_at) {
        end_receiver(r, "no sender of the file is left");
    }
    loop_timer_set(r->beat, cast_feed_beat_ms(r->timeout_ms));
}

/* --- the beginning and the end ---------------------------------------------------------------- */

struct receiver *receiver_new(struct loop *l, const Pb__CastStart *m, const struct auth_key *key,
                              struct cast_sink *sink)
{
    struct receiver *r = mem_new(struct receiver);

    r->loop = l;
    r->key = *key;
    r->node = mem_strdup(m->node);
    r->sink = sink;
    r->size = m->file->size;
    r->timeout_ms = m->timeout_ms;
    r->beat = loop_timer_new(l, on_beat, r);
    r->last = loop_timer_new(l, stop_receiver, r);
    r->beat_at = loop_mono_ms();
    r->give_up_at = r->beat_at + m->wait_ms;
    loop_timer_set(r->beat, cast_feed_beat_ms(r->timeout_ms));
    return r;
}

void receiver_free(struct receiver *r)
{
    if (!r)
        return;
    cast_feed_free(r->feed);
    cast_sink_free(r->sink);
    loop_timer_free(r->beat);
    loop_timer_free(r->last);
    auth_key_done(&r->key);
    free(r->unpacked);
    free(r->text);
    free(r->node);
    free(r);
}
