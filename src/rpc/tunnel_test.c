/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two tunnels whose sessions are queues: a message sent by one is received by the other in the
   next turn. */
#include "rpc/tunnel.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/mem.h"

#include "base/vec.h"

#define BIG (3u << 20)

struct side {
    struct tunnel *tunnel;
    VEC(struct str) sent; /* packed */
    size_t data;          /* bytes of streams, in all */
    int server;           /* the other end of what open() made; -1 */
    bool refuse, full;
};

static struct loop *loop;
static struct side a, b; /* a accepts, b opens */

static void on_send(void *ctx, const Pb__TunnelData *m)
{
    struct side *s = ctx;
    struct str bytes = STR_INIT;

    pb_pack(&m->base, &bytes);
    vec_push(&s->sent, bytes);
    s->data += m->has_data ? m->data.len : 0;
}

static bool on_room(void *ctx)
{
    const struct side *s = ctx;

    return !s->full;
}

static int on_open(void *ctx)
{
    struct side *s = ctx;
    int pair[2];

    if (s->refuse)
        return -1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    s->server = pair[1];
    return pair[0];
}

/* Streams begin with "key", which is replaced by "KEY+". */
static enum tunnel_look on_look(void *ctx, struct str *head)
{
    size_t len = head->len < 3 ? head->len : 3;

    (void)ctx;
    if (len > 0 && memcmp(head->data, "key", len) != 0)
        return TUNNEL_REFUSE;
    if (head->len < 3)
        return TUNNEL_MORE;
    str_consume(head, 3);
    struct str made = STR_INIT;
    str_puts(&made, "KEY+");
    str_append(&made, head->data, head->len);
    str_done(head);
    *head = made;
    return TUNNEL_PASS;
}

static void deliver_messages(struct side *from, struct side *to)
{
    while (from->sent.len > 0) {
        struct str bytes = from->sent.data[0];
        Pb__TunnelData *m;

        vec_remove(&from->sent, 0);
        m = pb_unpack(&pb__tunnel_data__descriptor, bytes.data, bytes.len);
        str_done(&bytes);
        assert_non_null(m);
        tunnel_message(to->tunnel, m);
        pb__tunnel_data__free_unpacked(m, NULL);
    }
}

static void on_tick(void *ctx)
{
    (void)ctx;
    loop_stop(loop);
}

/* Runs ready events and their consequences. */
static void settle(void)
{
    struct loop_timer *tick = loop_timer_new(loop, on_tick, NULL);

    for (int i = 0; i < 4; i++) {
        loop_timer_set(tick, 0);
        loop_run(loop);
        deliver_messages(&a, &b);
        deliver_messages(&b, &a);
    }
    loop_timer_free(tick);
}

static int begin_tunnels(bool looks)
{
    struct tunnel_events here = {.send = on_send, .has_room = on_room, .ctx = &a};
    struct tunnel_events there = {
        .send = on_send, .open = on_open, .look = looks ? on_look : NULL, .ctx = &b};

    loop = loop_new(0);
    a = b = (struct side){.server = -1};
    a.tunnel = tunnel_new(loop, &here);
    b.tunnel = tunnel_new(loop, &there);
    return 0;
}

static void end_tunnels(void)
{
    tunnel_free(a.tunnel);
    tunnel_free(b.tunnel);
    vec_foreach (&a.sent, s)
        str_done(s);
    vec_foreach (&b.sent, s)
        str_done(s);
    vec_done(&a.sent);
    vec_done(&b.sent);
    if (b.server >= 0)
        close(b.server);
    loop_free(loop);
}

/* A client that has connected: its own end. */
static int connect_client(void)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    tunnel_take(a.tunnel, pair[1]);
    settle();
    return pair[0];
}

static bool is_closed(int fd)
{
    char c;

    return read(fd, &c, 1) == 0;
}

static void test_bytes_pass_in_both_directions(void **state)
{
    char text[32] = "";
    int client;

    begin_tunnels(false);
    client = connect_client();
    assert_int_equal(write(client, "to you", 6), 6);
    assert_int_equal(write(b.server, "to me", 5), 5);
    settle();
    assert_int_equal(read(b.server, text, sizeof(text)), 6);
    assert_memory_equal(text, "to you", 6);
    assert_int_equal(read(client, text, sizeof(text)), 5);
    assert_memory_equal(text, "to me", 5);
    assert_int_equal(tunnel_count(a.tunnel), 1);
    assert_int_equal(write(client, "last", 4), 4);
    close(client); /* data that it wrote before arrives */
    settle();
    assert_int_equal(read(b.server, text, sizeof(text)), 4);
    assert_true(is_closed(b.server));
    assert_int_equal(tunnel_count(a.tunnel), 0);
    assert_int_equal(tunnel_count(b.tunnel), 0);
    end_tunnels();
}

static void test_close_of_one_end_reaches_the_other(void **state)
{
    char text[32];
    int client;

    begin_tunnels(false);
    client = connect_client();
    assert_int_equal(write(b.server, "bye", 3), 3);
    close(take_fd(&b.server));
    settle();
    assert_int_equal(read(client, text, sizeof(text)), 3);
    assert_true(is_closed(client));
    assert_int_equal(tunnel_count(a.tunnel) + tunnel_count(b.tunnel), 0);
    close(client);
    b.refuse = true;
    client = connect_client();
    assert_true(is_closed(client));
    close(client);
    end_tunnels();
}

/* A reader that stops holds at most a window's bytes, and all bytes arrive when it continues. */
static void test_stopped_reader_holds_at_most_a_window(void **state)
{
    static uint8_t block[65536];
    size_t sent = 0, got = 0;
    int client, idle = 0;

    begin_tunnels(false);
    client = connect_client();
    while (idle < 3) {
        ssize_t n = write(client, block, sizeof(block));

        sent += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        settle();
    }
    assert_true(a.data <= 2 * TUNNEL_WINDOW + (1u << 20)); /* and what the kernel holds */
    assert_true(a.data < sent || sent < BIG);
    while (sent < BIG || got < sent) {
        ssize_t n = sent < BIG ? write(client, block, sizeof(block)) : 0;

        sent += n > 0 ? (size_t)n : 0;
        settle();
        while ((n = read(b.server, block, sizeof(block))) > 0)
            got += (size_t)n;
    }
    assert_int_equal(got, sent);
    close(client);
    end_tunnels();
}

/* While the session has no space, nothing is read, and nothing is lost. */
static void test_full_session_delays_reading(void **state)
{
    char text[16];
    int client;

    begin_tunnels(false);
    client = connect_client();
    settle();
    a.full = true;
    assert_int_equal(write(client, "waits", 5), 5);
    settle();
    assert_int_equal(a.data, 0);
    a.full = false;
    tunnel_drained(a.tunnel);
    settle();
    assert_int_equal(a.data, 5);
    assert_int_equal(read(b.server, text, sizeof(text)), 5);
    close(client);
    end_tunnels();
}

static void test_first_bytes_are_checked_before_connecting(void **state)
{
    char text[32];
    int client;

    begin_tunnels(true);
    client = connect_client();
    assert_int_equal(write(client, "k", 1), 1);
    settle();
    /* Nothing before the beginning is accepted. */
    assert_int_equal(read(b.server, text, sizeof(text)), -1);
    assert_int_equal(write(client, "ey and more", 11), 11);
    settle();
    assert_int_equal(read(b.server, text, sizeof(text)), 13);
    assert_memory_equal(text, "KEY+ and more", 13);
    close(take_fd(&b.server));
    close(client);
    client = connect_client();
    assert_int_equal(write(client, "GET", 3), 3);
    settle();
    assert_true(is_closed(client));
    assert_int_equal(b.server, -1); /* nothing was opened for it */
    close(client);
    client = connect_client(); /* it closes before its first message is complete */
    assert_int_equal(write(client, "ke", 2), 2);
    close(client);
    settle();
    assert_int_equal(b.server, -1);
    assert_int_equal(tunnel_count(a.tunnel) + tunnel_count(b.tunnel), 0);
    end_tunnels();
}

/* A client that only connects does not block others for long. */
static void test_silent_client_yields_to_others(void **state)
{
    int silent[TUNNEL_MOST + 20], client, server;
    char text[8];

    begin_tunnels(true);
    client = connect_client();
    assert_int_equal(write(client, "key1", 4), 4);
    settle();
    server = take_fd(&b.server);
    assert_int_equal(write(server, "yes", 3), 3);
    settle();
    for (int i = 0; i < TUNNEL_MOST + 20; i++)
        silent[i] = connect_client();
    assert_int_equal(tunnel_count(a.tunnel), TUNNEL_MOST);
    assert_int_equal(tunnel_count(b.tunnel), TUNNEL_MOST);
    assert_true(is_closed(silent[0]));
    assert_int_equal(read(client, text, sizeof(text)), 3); /* the busy one is still there */
    assert_int_equal(read(client, text, sizeof(text)), -1);
    assert_int_equal(write(silent[TUNNEL_MOST + 19], "key2", 4), 4); /* as is the newest */
    settle();
    assert_int_equal(read(b.server, text, sizeof(text)), 5);
    for (int i = 0; i < TUNNEL_MOST + 20; i++)
        close(silent[i]);
    close(client);
    close(server);
    end_tunnels();
}

static void inject_message(struct side *to, uint32_t id, bool opens, size_t len, uint32_t taken)
{
    static uint8_t block[TUNNEL_WINDOW + 1];
    Pb__TunnelData m = PB__TUNNEL_DATA__INIT;

    m.id = id;
    m.has_opens = m.opens = opens;
    m.has_data = len > 0;
    m.data = (ProtobufCBinaryData){len, block};
    m.has_taken = taken > 0;
    m.taken = taken;
    tunnel_message(to->tunnel, &m);
}

/* Whatever the other side sends. */
static void test_protocol_violations_close_the_tunnel(void **state)
{
    begin_tunnels(false);
    inject_message(&b, 7, false, 10, 0); /* no such stream */
    inject_message(&b, 7, true, 0, 0);
    inject_message(&b, 7, true, 0, 0); /* there is one */
    assert_int_equal(tunnel_count(b.tunnel), 1);
    inject_message(&b, 7, false, 0, 0xffffffffu);
    inject_message(&b, 7, false, 0, 0xffffffffu); /* never more than the window */
    for (int i = 0; i < 40; i++) {
        static uint8_t block[65536];

        if (write(b.server, block, sizeof(block)) < 0)
            assert_int_equal(errno, EAGAIN);
        struct loop_timer *tick = loop_timer_new(loop, on_tick, NULL);
        loop_timer_set(tick, 0);
        loop_run(loop);
        loop_timer_free(tick);
    }
    assert_true(b.data <= TUNNEL_WINDOW);
    inject_message(&b, 7, false, TUNNEL_WINDOW + 1, 0);
    assert_int_equal(tunnel_count(b.tunnel), 0);
    close(take_fd(&b.server));
    inject_message(&a, 1, true, 0, 0); /* this side opens nothing for others */
    assert_int_equal(tunnel_count(a.tunnel), 0);
    for (uint32_t i = 0; i < TUNNEL_MOST + 10; i++) {
        inject_message(&b, 100 + i, true, 0, 0);
        if (b.server >= 0)
            close(take_fd(&b.server));
    }
    assert_int_equal(tunnel_count(b.tunnel), TUNNEL_MOST);
    end_tunnels();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_pass_in_both_directions),
        cmocka_unit_test(test_close_of_one_end_reaches_the_other),
        cmocka_unit_test(test_stopped_reader_holds_at_most_a_window),
        cmocka_unit_test(test_full_session_delays_reading),
        cmocka_unit_test(test_first_bytes_are_checked_before_connecting),
        cmocka_unit_test(test_silent_client_yields_to_others),
        cmocka_unit_test(test_protocol_violations_close_the_tunnel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
