/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffers of connections: large ones are reused by the next connection, and freed later. */
#include "rpc/rpc_test_util.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "rpc/conn_priv.h"
#include "rpc/session.h"

#define BODY (200u << 10)

struct end {
    struct rpc_conn *conn;
    unsigned frames;
};

static int on_frame(void *owner, const struct rpc_frame *f, struct err *err)
{
    struct end *e = owner;

    assert_int_equal(f->header->body_len, BODY);
    for (size_t i = 0; i < BODY; i++)
        assert_int_equal(((const uint8_t *)f->body)[i], e->frames + 1);
    e->frames++;
    return 0;
}

static void on_closed(void *owner, const struct err *why)
{
    fail_msg("closed: %s", why->text);
}

static void on_refused(void *owner, const struct rpc_frame *f, const struct err *err)
{
    fail_msg("refused: %s", err->text);
}

static const struct rpc_conn_ops ops = {
    .on_frame = on_frame, .on_refused = on_refused, .on_closed = on_closed};

/* Two connections to as many others; all share one io. */
struct pairs {
    struct rpc_io *io;
    struct end from[2], to[2];
};

static void pairs_init(struct pairs *p)
{
    int fds[2];

    *p = (struct pairs){.io = rpc_io_new(loop)};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
                         0);
        p->from[i].conn = rpc_conn_new(p->io, fds[0], BODY, &ops, &p->from[i]);
        p->to[i].conn = rpc_conn_new(p->io, fds[1], BODY, &ops, &p->to[i]);
    }
}

static void pairs_done(struct pairs *p)
{
    for (unsigned i = 0; i < 2; i++) {
        rpc_conn_free(p->from[i].conn);
        rpc_conn_free(p->to[i].conn);
    }
    rpc_io_free(p->io);
}

static void send_body(struct end *from, uint8_t byte)
{
    static uint8_t body[BODY];
    const struct rpc_header h = {
        .version = RPC_VERSION, .rpc = RPC_IO_DATA, .id = 1, .body_len = BODY};

    memset(body, byte, sizeof(body));
    rpc_conn_send(from->conn, &h, NULL, body);
}

static bool has_frames(void *ctx)
{
    return ((const struct end *)ctx)->frames > 0;
}

static bool all_came(void *ctx)
{
    const struct pairs *p = ctx;

    return p->to[0].frames + p->to[1].frames == 3;
}

static bool is_given_back(void *ctx)
{
    return !((const struct rpc_io *)ctx)->spare.data;
}

static void test_one_large_buffer_serves_all_connections(void **state)
{
    struct pairs p;
    const char *data;

    pairs_init(&p);
    send_body(&p.from[0], 1);
    data = p.from[0].conn->out.data;
    run_until(has_frames, &p.to[0]);
    assert_null(p.from[0].conn->out.data);
    assert_ptr_equal(p.io->spare.data, data);
    send_body(&p.from[1], 1);
    assert_ptr_equal(p.from[1].conn->out.data, data);
    send_body(&p.from[0], 2); /* beside the other one: its own */
    assert_ptr_not_equal(p.from[0].conn->out.data, data);
    run_until(all_came, &p);
    assert_non_null(p.io->spare.data);
    assert_null(p.from[0].conn->out.data);
    assert_null(p.from[1].conn->out.data);
    run_until(is_given_back, p.io); /* by the sweep */
    pairs_done(&p);
}

static void test_spare_buffer_is_freed_with_its_owner(void **state)
{
    struct pairs p;

    pairs_init(&p);
    send_body(&p.from[0], 1);
    send_body(&p.from[0], 2);
    send_body(&p.from[1], 1);
    run_until(all_came, &p);
    assert_non_null(p.io->spare.data);
    pairs_done(&p); /* the sanitizers would report leaks */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_large_buffer_serves_all_connections, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(test_spare_buffer_is_freed_with_its_owner, world_setup,
                                        world_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
