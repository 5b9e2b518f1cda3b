/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A feed with receivers played by the test: they report and close as told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cast/feed.h"
#include "rpc/server.h"

#define PEERS 7
#define SIZE (3u * CAST_BLOCK_MIN + 100)
#define TIMEOUT_MS 2000

struct world;

struct peer {
    struct world *world;
    struct rpc_server *server;
    struct rpc_session *session;
    uint16_t port;
    uint64_t at; /* its position, and its first report */
    unsigned hellos, pieces;
    size_t below; /* in the last hello */
    bool mute, die_at_hello, die_at_data, has_sum, committed, over;
};

struct world {
    struct loop *loop;
    struct auth_key key;
    struct cast_feed *feed;
    struct peer peers[PEERS];
    Pb__CastNode nodes[PEERS], *list[PEERS];
    char file[SIZE], copy[SIZE];
    Pb__CastPhase phases[PEERS];
    unsigned states, ends, failures, reads;
    bool fed;
    int read_error;
    bool (*until)(struct world *w);
};

static void send_state(struct peer *p, unsigned of, Pb__CastPhase phase, bool first)
{
    Pb__CastStatus m = PB__CAST_STATUS__INIT;
    Pb__CastState state = PB__CAST_STATE__INIT, *states[] = {&state};

    state.index = of * 10;
    state.phase = phase;
    m.states = states;
    m.n_states = phase != PB__CAST_PHASE__CAST_WAITING;
    m.has_at = first;
    m.at = p->at;
    rpc_session_send(p->session, RPC_CAST_STATUS, &m.base);
}

static void stop_when_true(struct world *w)
{
    if (w->until && w->until(w))
        loop_stop(w->loop);
}

static void disconnect_peer(struct peer *p)
{
    rpc_session_free(take_ptr(p->session));
    rpc_server_unlisten(p->server);
}

static void on_data(struct peer *p, const Pb__CastData *m)
{
    struct world *w = p->world;

    if (p->die_at_data) {
        disconnect_peer(p);
        return;
    }
    assert_int_equal(m->at, p->at);
    assert_true(m->at + m->data.len <= SIZE);
    assert_memory_equal(m->data.data, w->file + m->at, m->data.len);
    p->at += m->data.len;
    p->pieces++;
}

static void on_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    struct peer *p = ctx;
    const Pb__CastHello *hello = (const Pb__CastHello *)body;

    if (rpc->number == RPC_CAST_HELLO) {
        p->hellos++;
        p->below = hello->n_below;
        if (p->die_at_hello)
            disconnect_peer(p);
        else if (!p->mute)
            send_state(p, (unsigned)(p - p->world->peers), PB__CAST_PHASE__CAST_WAITING, true);
    } else if (rpc->number == RPC_CAST_DATA) {
        on_data(p, (const Pb__CastData *)body);
    } else if (rpc->number == RPC_CAST_SUM) {
        p->has_sum = ((const Pb__CastSum *)body)->crc == 42;
    } else if (rpc->number == RPC_CAST_ORDER) {
        bool over = ((const Pb__CastOrder *)body)->verdict == PB__CAST_VERDICT__CAST_OVER;

        p->over |= over;
        p->committed |= !over;
    }
    stop_when_true(p->world);
}

static void on_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct peer *p = ctx;

    p->session = NULL;
    stop_when_true(p->world);
}

static void on_session(void *ctx, struct rpc_session *s, const char *peer_name)
{
    struct peer *p = ctx;
    const struct rpc_session_events events = {
        .on_message = on_message, .on_close = on_close, .ctx = p};

    rpc_session_free(p->session);
    p->session = s;
    rpc_session_set_events(s, &events);
}

static int read_file(void *ctx, uint64_t at, void *buf, size_t len, struct err *err)
{
    struct world *w = ctx;

    if (w->read_error)
        return err_set(err, w->read_error, "cannot be read");
    assert_true(at + len <= SIZE);
    memcpy(buf, w->file + at, len);
    w->reads++;
    return 0;
}

static void on_state(void *ctx, const Pb__CastState *m)
{
    struct world *w = ctx;

    assert_int_equal(m->index % 10, 0);
    assert_true(m->index / 10 < PEERS && m->phase > w->phases[m->index / 10]);
    w->phases[m->index / 10] = m->phase;
    w->states++;
    stop_when_true(w);
}

static bool is_fed(void *ctx)
{
    const struct world *w = ctx;

    return w->fed;
}

static void on_fail(void *ctx, const struct err *why)
{
    struct world *w = ctx;

    w->failures++;
    stop_when_true(w);
}

static void on_end(void *ctx)
{
    struct world *w = ctx;

    w->ends++;
    stop_when_true(w);
}

static int set_up(void **state)
{
    struct world *w = mem_new(struct world);

    w->loop = loop_new(0);
    w->fed = true;
    auth_key_from_bytes("secret", 6, &w->key);
    for (size_t i = 0; i < SIZE; i++)
        w->file[i] = (char)(i * 7 + i / 251);
    for (size_t i = 0; i < PEERS; i++) {
        struct peer *p = &w->peers[i];
        struct rpc_server_options options = {
            .loop = w->loop, .key = &w->key, .audience = "x", .refuse_plain = true};
        struct rpc_server_events events = {.on_session = on_session, .ctx = p};
        int port;

        p->world = w;
        p->server = rpc_server_new(&options, &events);
        port = rpc_server_listen_tcp(p->server, "127.0.0.1", 0, NULL);
        assert_true(port > 0);
        p->port = (uint16_t)port;
        pb__cast_node__init(&w->nodes[i]);
        w->nodes[i].index = (uint32_t)i * 10;
        w->nodes[i].node = (char *)"node";
        w->nodes[i].addr = (char *)"127.0.0.1";
        w->nodes[i].port = p->port;
        w->list[i] = &w->nodes[i];
    }
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    cast_feed_free(w->feed);
    for (size_t i = 0; i < PEERS; i++)
        rpc_server_free(w->peers[i].server);
    loop_free(w->loop);
    free(w);
    return 0;
}

static void begin_feed(struct world *w, uint32_t width)
{
    const struct cast_feed_events events = {.read = read_file,
                                            .on_state = on_state,
                                            .is_fed = is_fed,
                                            .on_fail = on_fail,
                                            .on_end = on_end,
                                            .ctx = w};
    struct cast_plan plan = {.key = w->key,
                             .size = SIZE,
                             .width = width,
                             .block = CAST_BLOCK_MIN,
                             .timeout_ms = TIMEOUT_MS,
                             .name = "test"};

    w->feed = cast_feed_new(w->loop, &plan, w->list, PEERS, &events);
}

static void run_world_until(struct world *w, bool (*until)(struct world *w))
{
    w->until = until;
    if (!until(w))
        loop_run(w->loop);
    w->until = NULL;
    assert_true(until(w));
}

static bool two_peers_have_file(struct world *w)
{
    return w->peers[0].at == SIZE && w->peers[4].at == SIZE;
}

static bool two_peers_committed(struct world *w)
{
    return w->peers[0].committed && w->peers[4].committed && w->peers[0].has_sum &&
           w->peers[4].has_sum;
}

static bool feed_has_ended(struct world *w)
{
    return w->ends && w->peers[0].over && w->peers[4].over;
}

/* Seven in two groups: 0 with 1 to 3 below, 4 with 5 and 6. */
static void first_node_of_each_group_is_fed(void **state)
{
    struct world *w = *state;

    begin_feed(w, 2);
    cast_feed_has(w->feed, 10);
    cast_feed_has(w->feed, CAST_BLOCK_MIN + 5); /* whole pieces only */
    cast_feed_sum(w->feed, 42);
    cast_feed_has(w->feed, SIZE);
    run_world_until(w, two_peers_have_file);
    assert_int_equal(w->peers[0].below, 3);
    assert_int_equal(w->peers[4].below, 2);
    assert_int_equal(w->peers[0].pieces, 4);
    assert_int_equal(w->reads, 4); /* once for both */
    cast_feed_commit(w->feed);
    run_world_until(w, two_peers_committed);
    cast_feed_end(w->feed, NULL);
    run_world_until(w, feed_has_ended);
    assert_int_equal(w->peers[1].hellos, 0);
    assert_int_equal(w->states, 0);
}

static bool first_peer_has_block(struct world *w)
{
    return w->peers[1].at == SIZE && w->phases[0] == PB__CAST_PHASE__CAST_LOST;
}

/* CORE-229: receivers below a lost one continue at their positions. */
static void nodes_below_a_lost_node_are_fed_from_its_successor(void **state)
{
    struct world *w = *state;

    w->peers[0].die_at_data = true;
    for (int i = 1; i < PEERS; i++)
        w->peers[i].at = CAST_BLOCK_MIN * 2;
    begin_feed(w, 1);
    cast_feed_has(w->feed, SIZE);
    run_world_until(w, first_peer_has_block);
    assert_int_equal(w->peers[1].pieces, 2);
    assert_int_equal(w->peers[1].below, PEERS - 2);
    assert_int_equal(w->peers[2].hellos, 0);
    assert_int_equal(w->states, 1);
}

static bool last_peer_has_file(struct world *w)
{
    return w->peers[PEERS - 1].at == SIZE && w->states == PEERS - 1;
}

/* CORE-228: whatever happened to the receivers in between. */
static void last_remaining_node_is_fed(void **state)
{
    struct world *w = *state;

    disconnect_peer(&w->peers[0]);
    w->peers[1].die_at_hello = w->peers[2].die_at_data = w->peers[3].die_at_hello = true;
    disconnect_peer(&w->peers[4]);
    w->peers[5].mute = true; /* until the time is over */
    begin_feed(w, 1);
    cast_feed_has(w->feed, SIZE);
    run_world_until(w, last_peer_has_file);
    for (int i = 0; i < PEERS - 1; i++)
        assert_int_equal(w->phases[i], PB__CAST_PHASE__CAST_LOST);
}

static bool third_peer_is_fed(struct world *w)
{
    return w->peers[3].at == SIZE && w->peers[0].at == SIZE;
}

/* A receiver that refuses gets no further pieces. What it has reported about others before is
 * valid: they have ended, and are not contacted. */
static void states_of_nodes_below_are_checked(void **state)
{
    struct world *w = *state;

    begin_feed(w, 2); /* 0: 1, 2, 3 */
    cast_feed_has(w->feed, SIZE);
    run_world_until(w, two_peers_have_file);
    send_state(&w->peers[0], 1, PB__CAST_PHASE__CAST_PLACED, false);
    send_state(&w->peers[0], 2, PB__CAST_PHASE__CAST_PLACED, false);
    send_state(&w->peers[0], 2, PB__CAST_PHASE__CAST_LOST, false); /* too late for that */
    send_state(&w->peers[0], 5, PB__CAST_PHASE__CAST_LOST, false); /* not below it */
    send_state(&w->peers[0], 0, PB__CAST_PHASE__CAST_REFUSED, false);
    run_world_until(w, third_peer_is_fed);
    assert_int_equal(w->phases[0], PB__CAST_PHASE__CAST_REFUSED);
    assert_int_equal(w->phases[1], PB__CAST_PHASE__CAST_PLACED);
    assert_int_equal(w->phases[2], PB__CAST_PHASE__CAST_PLACED);
    assert_int_equal(w->phases[5], PB__CAST_PHASE__CAST_WAITING);
    assert_int_equal(w->states, 3);
    assert_int_equal(w->peers[3].below, 0);
}

static bool one_peer_is_lost(struct world *w)
{
    return w->phases[0] == PB__CAST_PHASE__CAST_LOST && w->states == 2;
}

static bool remaining_peers_are_fed(struct world *w)
{
    return w->peers[1].hellos && w->peers[5].hellos;
}

/* Replaced by its parent: the parent serves its children, so this node must not, unless they
 * reconnect, as to a node whose sender and child are lost at the same time. */
static void paused_feed_opens_no_connection(void **state)
{
    struct world *w = *state;

    w->peers[0].die_at_data = true;
    w->peers[4].die_at_data = true;
    begin_feed(w, 2);
    w->fed = false;
    cast_feed_has(w->feed, SIZE);
    run_world_until(w, one_peer_is_lost);
    for (int i = 1; i < 4; i++)
        assert_int_equal(w->peers[i].hellos, 0);
    w->fed = true;
    cast_feed_resume(w->feed);
    run_world_until(w, remaining_peers_are_fed);
}

static bool feed_has_failed(struct world *w)
{
    return w->failures > 0;
}

static void deposed_reply_fails_the_feed(void **state)
{
    struct world *w = *state;
    Pb__CastStatus m = PB__CAST_STATUS__INIT;

    begin_feed(w, 2);
    cast_feed_has(w->feed, SIZE);
    run_world_until(w, two_peers_have_file);
    m.has_deposed = m.deposed = true;
    rpc_session_send(w->peers[0].session, RPC_CAST_STATUS, &m.base);
    run_world_until(w, feed_has_failed);
    assert_int_equal(w->states, 0); /* it is not lost */
    assert_int_equal(w->failures, 1);
}

static void unreadable_file_fails_the_feed(void **state)
{
    struct world *w = *state;

    w->read_error = -5;
    begin_feed(w, 2);
    cast_feed_has(w->feed, SIZE);
    run_world_until(w, feed_has_failed);
    assert_int_equal(w->failures, 1);
}

static bool other_peer_has_file(struct world *w)
{
    return w->peers[4].at == SIZE;
}

/* It claims to have more than there is: nothing is sent to it, and nothing breaks. */
static void node_that_claims_too_many_bytes_is_skipped(void **state)
{
    struct world *w = *state;

    w->peers[0].at = UINT64_MAX;
    begin_feed(w, 2);
    cast_feed_has(w->feed, SIZE);
    run_world_until(w, other_peer_has_file);
    assert_int_equal(w->peers[0].pieces, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* CORE-225: the groups are the list, in order, none empty, and of one size or nearly. */
static void groups_cover_the_list_evenly(void **state)
{
    for (size_t count = 1; count < 200; count++)
        for (size_t width = 1; width <= CAST_WIDTH_MAX; width++) {
            size_t at = 0, groups = cast_tree_groups(count, width);

            assert_true(groups >= 1 && groups <= width && groups <= count);
            for (size_t i = 0; i < groups; i++) {
                struct cast_range r = cast_tree_group(count, width, i);

                assert_int_equal(r.first, at);
                assert_true(r.count >= count / groups && r.count <= count / groups + 1);
                at += r.count;
            }
            assert_int_equal(at, count);
        }
}

static unsigned depth_of(size_t count, size_t width)
{
    unsigned most = 0;

    for (size_t i = 0; count && i < cast_tree_groups(count, width); i++) {
        unsigned depth = 1 + depth_of(cast_tree_group(count, width, i).count - 1, width);

        most = depth > most ? depth : most;
    }
    return most;
}

/* CORE-225: as deep as the logarithm of the number. */
static void depth_of_the_tree_is_bounded(void **state)
{
    assert_int_equal(depth_of(0, 2), 0);
    assert_int_equal(depth_of(16, 1), 16);
    assert_int_equal(depth_of(14, 2), 3);
    assert_int_equal(depth_of(64, 16), 2);
    assert_true(depth_of(10000, 2) <= 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(first_node_of_each_group_is_fed),
                                       TEST(nodes_below_a_lost_node_are_fed_from_its_successor),
                                       TEST(last_remaining_node_is_fed),
                                       TEST(states_of_nodes_below_are_checked),
                                       TEST(paused_feed_opens_no_connection),
                                       TEST(deposed_reply_fails_the_feed),
                                       TEST(unreadable_file_fails_the_feed),
                                       TEST(node_that_claims_too_many_bytes_is_skipped),
                                       cmocka_unit_test(groups_cover_the_list_evenly),
                                       cmocka_unit_test(depth_of_the_tree_is_bounded)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
