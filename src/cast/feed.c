/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cast/feed.h"
#include "rpc/session.h"

size_t cast_tree_groups(size_t count, size_t width)
{
    return count < width ? count : width;
}

struct cast_range cast_tree_group(size_t count, size_t width, size_t i)
{
    size_t groups = cast_tree_groups(count, width);
    size_t small = count / groups, larger = count % groups;

    return (struct cast_range){.first = i * small + (i < larger ? i : larger),
                               .count = small + (i < larger)};
}

/* One receiver of the list. */
struct fed {
    Pb__CastNode node;
    Pb__CastPhase phase;
    int code;
    char *text;
};

/* A receiver that we send to: the first of a range of the list; the others of the range are below
   it. */
struct child {
    struct cast_feed *feed;
    struct child *next;
    struct cast_range range;
    struct rpc_session *session;
    bool ready; /* it has reported its position */
    uint64_t at;
    int64_t heard_at;
};

struct cast_feed {
    struct loop *loop;
    struct cast_plan plan;
    char *name;
    struct cast_feed_events events;
    struct cast_blocks *blocks;
    struct fed *list;
    size_t count;
    struct child *children;
    uint64_t has;
    bool has_sum, commit, ending, end_told, fail_told;
    uint32_t crc;
    struct loop_timer *beat, *step;
    int64_t beat_at;
    VEC(struct cast_range) adopt; /* ranges to be served from here in the next turn */
    struct err failed;            /* to be reported in the next turn */
};

bool cast_phase_is_failed(Pb__CastPhase phase)
{
    return phase == PB__CAST_PHASE__CAST_LOST || phase == PB__CAST_PHASE__CAST_REFUSED;
}

bool cast_phase_is_final(Pb__CastPhase phase)
{
    return phase == PB__CAST_PHASE__CAST_PLACED || cast_phase_is_failed(phase);
}

int64_t cast_feed_beat_ms(int64_t timeout_ms)
{
    return timeout_ms / 4 < CAST_BEAT_MS ? timeout_ms / 4 : CAST_BEAT_MS;
}

static void step_soon(struct cast_feed *f)
{
    loop_timer_set(f->step, 0);
}

static void fail_feed(struct cast_feed *f, const struct err *why)
{
    if (!f->failed.code)
        f->failed = *why;
    step_soon(f);
}

/* --- known states ----------------------------------------------------------------------------- */

static void fill_state(const struct fed *one, Pb__CastState *m)
{
    pb__cast_state__init(m);
    m->index = one->node.index;
    m->phase = one->phase;
    m->has_code = one->code != 0;
    m->code = one->code;
    m->text = one->text;
}

void cast_feed_each(const struct cast_feed *f, cast_state_fn *fn, void *ctx)
{
    Pb__CastState m;

    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].phase != PB__CAST_PHASE__CAST_WAITING) {
            fill_state(&f->list[i], &m);
            fn(ctx, &m);
        }
}

/* Phases only advance; a receiver that has put the file in place is not lost any longer. */
static void set_phase(struct cast_feed *f, struct fed *one, Pb__CastPhase phase, int code,
                      const char *text)
{
    Pb__CastState m;

    if (phase <= one->phase || cast_phase_is_final(one->phase))
        return;
    one->phase = phase;
    one->code = code;
    free(one->text);
    one->text = mem_strdup(text);
    fill_state(one, &m);
    f->events.on_state(f->events.ctx, &m);
}

static bool is_over(const struct cast_feed *f, struct cast_range r)
{
    for (size_t i = r.first; i < r.first + r.count; i++)
        if (!cast_phase_is_final(f->list[i].phase))
            return false;
    return true;
}

/* --- the pieces ------------------------------------------------------------------------------- */

static bool send_piece(struct child *c)
{
    struct cast_feed *f = c->feed;
    Pb__CastData m = PB__CAST_DATA__INIT;
    size_t len = cast_blocks_len(f->blocks, c->at, f->plan.size);
    struct cast_piece piece;
    struct err err = {0};

    if (f->has - c->at < len)
        return false;
    if (cast_blocks_get(f->blocks, c->at, len, &piece, &err)) {
        fail_feed(f, &err);
        return false;
    }
    m.at = c->at;
    m.data = (ProtobufCBinaryData){piece.len, (uint8_t *)piece.data};
    m.has_packed_len = piece.packed;
    m.packed_len = (uint32_t)piece.raw_len;
    rpc_session_send(c->session, RPC_CAST_DATA, &m.base);
    c->at += len;
    return true;
}

static void send_pieces(struct child *c)
{
    const struct cast_feed *f = c->feed;

    while (c->ready && !f->ending && !f->failed.code && c->at < f->has &&
           rpc_session_backlog(c->session) < RPC_SESSION_HIGH)
        if (!send_piece(c))
            break;
}

static void send_sum(struct child *c)
{
    Pb__CastSum m = PB__CAST_SUM__INIT;

    m.size = c->feed->plan.size;
    m.crc = c->feed->crc;
    rpc_session_send(c->session, RPC_CAST_SUM, &m.base);
}

static void send_order(struct child *c, Pb__CastVerdict verdict, const char *why)
{
    Pb__CastOrder m = PB__CAST_ORDER__INIT;

    m.verdict = verdict;
    m.why = (char *)why;
    rpc_session_send(c->session, RPC_CAST_ORDER, &m.base);
}

/* --- children --------------------------------------------------------------------------------- */

static void free_child(struct child *c)
{
    rpc_session_free(c->session);
    free(c);
}

static void drop_child(struct child *c)
{
    struct child **at = &c->feed->children;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free_child(c);
}

/* Serves the receivers below a lost one, from the next turn on. */
static void queue_range_below(struct cast_feed *f, struct cast_range r)
{
    struct cast_range below = {r.first + 1, r.count - 1};

    if (below.count && !f->ending)
        vec_push(&f->adopt, below);
    step_soon(f);
}

static void fail_child(struct child *c, Pb__CastPhase phase, int code, const char *text)
{
    struct cast_feed *f = c->feed;
    struct cast_range range = c->range;

    drop_child(c);
    if (!f->ending)
        set_phase(f, &f->list[range.first], phase, code, text);
    queue_range_below(f, range);
}

static void on_feed_open(void *ctx, struct rpc_session *s)
{
    struct child *c = ctx;
    struct cast_feed *f = c->feed;
    Pb__CastHello m = PB__CAST_HELLO__INIT;
    _cleanup_free_ Pb__CastNode **below = mem_new_array(Pb__CastNode *, c->range.count);

    c->heard_at = loop_mono_ms();
    for (size_t i = 1; i < c->range.count; i++)
        below[i - 1] = &f->list[c->range.first + i].node;
    m.you = &f->list[c->range.first].node;
    m.below = below;
    m.n_below = c->range.count - 1;
    m.width = f->plan.width;
    m.block = f->plan.block;
    m.has_pack = m.has_root = true;
    m.pack = f->plan.pack;
    m.root = f->plan.root;
    rpc_session_send(s, RPC_CAST_HELLO, &m.base);
    rpc_session_send_bulk(s);
    if (f->ending) {
        send_order(c, PB__CAST_VERDICT__CAST_OVER, NULL);
        rpc_session_finish(s);
    }
}

static void on_feed_ready(struct child *c, uint64_t at)
{
    const struct cast_feed *f = c->feed;

    if (c->ready || f->ending)
        return;
    c->ready = true;
    c->at = at;
    if (f->has_sum)
        send_sum(c);
    if (f->commit)
        send_order(c, PB__CAST_VERDICT__CAST_COMMIT, NULL);
    send_pieces(c);
}

/* NULL: it is not below that child. */
static struct fed *find_fed(const struct child *c, uint32_t index)
{
    struct fed *list = c->feed->list + c->range.first;
    size_t low = 0, high = c->range.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list[middle].node.index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->range.count && list[low].node.index == index ? &list[low] : NULL;
}

/* The child has another sender: the nodes above have replaced us. */
static void on_deposed(struct child *c)
{
    struct err why = {0};

    err_set(&why, -ERR_TIMEOUT, "others went on without it");
    fail_feed(c->feed, &why);
    drop_child(c);
}

static void on_status(struct child *c, const Pb__CastStatus *m)
{
    struct cast_feed *f = c->feed;
    struct fed *self = &f->list[c->range.first];

    if (m->has_deposed && m->deposed) {
        on_deposed(c);
        return;
    }
    for (size_t i = 0; i < m->n_states; i++) {
        const Pb__CastState *state = m->states[i];
        struct fed *one = find_fed(c, state->index);

        if (one)
            set_phase(f, one, state->phase, state->code, state->text);
    }
    if (cast_phase_is_failed(self->phase)) {
        struct cast_range range = c->range;

        drop_child(c);
        queue_range_below(f, range);
    } else if (m->has_at && m->at <= f->plan.size) {
        on_feed_ready(c, m->at);
    }
}

static void on_feed_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                            const ProtobufCMessage *body)
{
    struct child *c = ctx;

    c->heard_at = loop_mono_ms();
    if (rpc->number == RPC_CAST_STATUS)
        on_status(c, (const Pb__CastStatus *)body);
}

static void on_feed_drained(void *ctx, struct rpc_session *s)
{
    send_pieces(ctx);
}

static void on_feed_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct child *c = ctx;

    fail_child(c, PB__CAST_PHASE__CAST_LOST, -why->code, why->text);
}

static void feed_one(struct cast_feed *f, struct cast_range range)
{
    const Pb__CastNode *node = &f->list[range.first].node;
    struct rpc_target to = {node->addr, (uint16_t)node->port};
    struct child *c = mem_new(struct child);
    struct rpc_session_events events = {.accepts = RPC_WHO_KEY,
                                        .on_open = on_feed_open,
                                        .on_message = on_feed_message,
                                        .on_drained = on_feed_drained,
                                        .on_close = on_feed_close,
                                        .ctx = c};

    c->feed = f;
    c->range = range;
    c->heard_at = loop_mono_ms();
    c->next = f->children;
    f->children = c;
    c->session = rpc_session_connect(f->loop, &f->plan.key, f->name, &to, 1, false, &events);
}

/* Divides a range like the nodes above and below; if the first receiver of a group is lost, the
 * rest of the group is divided again. */
static void feed_range(struct cast_feed *f, struct cast_range r)
{
    size_t groups = r.count ? cast_tree_groups(r.count, f->plan.width) : 0;

    for (size_t i = 0; i < groups; i++) {
        struct cast_range group = cast_tree_group(r.count, f->plan.width, i);

        group.first += r.first;
        if (is_over(f, group))
            continue;
        if (cast_phase_is_failed(f->list[group.first].phase))
            feed_range(f, (struct cast_range){group.first + 1, group.count - 1});
        else
            feed_one(f, group);
    }
}

/* --- the whole feed --------------------------------------------------------------------------- */

static void tell_end(struct cast_feed *f)
{
    if (!f->ending || f->children || f->end_told)
        return;
    f->end_told = true;
    f->events.on_end(f->events.ctx); /* may free f */
}

static void on_feed_step(void *ctx)
{
    struct cast_feed *f = ctx;
    bool fed = !f->events.is_fed || f->events.is_fed(f->events.ctx);

    while (f->adopt.len && (fed || f->ending)) {
        struct cast_range r = vec_pop(&f->adopt);

        if (!f->ending)
            feed_range(f, r);
    }
    if (f->failed.code && !f->ending && !f->fail_told) {
        struct err why = f->failed;

        f->fail_told = true;
        f->events.on_fail(f->events.ctx, &why); /* may free f */
        return;
    }
    tell_end(f);
}

static void on_feed_beat(void *ctx)
{
    struct cast_feed *f = ctx;
    Pb__Empty m = PB__EMPTY__INIT;
    int64_t now = loop_mono_ms();
    /* This process was stopped, so the silence was ours. */
    bool slept = now - f->beat_at > f->plan.timeout_ms / 2;
    struct child *next;

    f->beat_at = now;
    for (struct child *c = f->children; c; c = next) {
        next = c->next;
        if (slept)
            c->heard_at = now;
        if (now - c->heard_at > f->plan.timeout_ms)
            fail_child(c, PB__CAST_PHASE__CAST_LOST, ERR_TIMEOUT,
                       "it has been silent for too long (--timeout)");
        else if (rpc_session_is_open(c->session))
            rpc_session_send(c->session, RPC_CAST_BEAT, &m.base);
    }
    loop_timer_set(f->beat, cast_feed_beat_ms(f->plan.timeout_ms));
}

static void copy_node(const Pb__CastNode *from, Pb__CastNode *to)
{
    *to = *from;
    to->node = mem_strdup(from->node);
    to->addr = mem_strdup(from->addr);
}

struct cast_feed *cast_feed_new(struct loop *l, const struct cast_plan *plan,
                                Pb__CastNode *const *nodes, size_t count,
                                const struct cast_feed_events *events)
{
    struct cast_feed *f = mem_new(struct cast_feed);

    f->loop = l;
    f->plan = *plan;
    f->name = mem_strdup(plan->name);
    f->events = *events;
    f->count = count;
    f->list = mem_new_array(struct fed, count + 1);
    for (size_t i = 0; i < count; i++)
        copy_node(nodes[i], &f->list[i].node);
    f->blocks = cast_blocks_new(plan->block, plan->pack, events->read, events->ctx);
    f->beat = loop_timer_new(l, on_feed_beat, f);
    f->step = loop_timer_new(l, on_feed_step, f);
    f->beat_at = loop_mono_ms();
    loop_timer_set(f->beat, cast_feed_beat_ms(plan->timeout_ms));
    feed_range(f, (struct cast_range){0, count});
    return f;
}

void cast_feed_free(struct cast_feed *f)
{
    if (!f)
        return;
    while (f->children) {
        struct child *c = f->children;
        f->children = c->next;
        free_child(c);
    }
    for (size_t i = 0; i < f->count; i++) {
        free(f->list[i].node.node);
        free(f->list[i].node.addr);
        free(f->list[i].text);
    }
    cast_blocks_free(f->blocks);
    loop_timer_free(f->beat);
    loop_timer_free(f->step);
    auth_key_done(&f->plan.key);
    vec_done(&f->adopt);
    free(f->list);
    free(f->name);
    free(f);
}

void cast_feed_has(struct cast_feed *f, uint64_t bytes)
{
    f->has = bytes;
    for (struct child *c = f->children; c; c = c->next)
        send_pieces(c);
}

void cast_feed_piece(struct cast_feed *f, uint64_t at, const void *data, size_t len)
{
    cast_blocks_lend(f->blocks, at, data, len);
    cast_feed_has(f, at + len);
    cast_blocks_lend(f->blocks, 0, NULL, 0);
}

void cast_feed_sum(struct cast_feed *f, uint32_t crc)
{
    f->has_sum = true;
    f->crc = crc;
    for (struct child *c = f->children; c; c = c->next)
        if (c->ready)
            send_sum(c);
}

void cast_feed_commit(struct cast_feed *f)
{
    f->commit = true;
    for (struct child *c = f->children; c; c = c->next)
        if (c->ready)
            send_order(c, PB__CAST_VERDICT__CAST_COMMIT, NULL);
}

void cast_feed_end(struct cast_feed *f, const char *why)
{
    if (f->ending)
        return;
    f->ending = true;
    for (struct child *c = f->children; c; c = c->next)
        if (rpc_session_is_open(c->session)) {
            send_order(c, PB__CAST_VERDICT__CAST_OVER, why);
            rpc_session_finish(c->session);
        }
    step_soon(f);
}

void cast_feed_resume(struct cast_feed *f)
{
    step_soon(f);
}

void cast_feed_keep(struct cast_feed *f, uint64_t at, size_t raw_len, const void *data, size_t len)
{
    cast_blocks_keep(f->blocks, at, raw_len, data, len);
}
