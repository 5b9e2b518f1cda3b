/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A receiver of files and the slurmd that starts it, with this process as controller and sender:
 * what credentials permit, and what a sender may not send. Argument: the directory of the built
 * programs.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "cast/block.h"
#include "proto/cast.pb-c.h"
#include "rpc/session.h"
#include "slurmstepd/test/fake.h"

#define NOBODY 65534
#define TIMEOUT_MS 5000
#define TEXT "what is sent"
#define SIZE (sizeof(TEXT) - 1)

static const char sent[] = TEXT;
static const char *programs;

struct sender {
    struct fake f;
    struct bench b;
    struct rpc_fanout *call;
    struct rpc_session *session;
    bool answered, open, closed;
    int code;
    char text[ERR_TEXT_MAX];
    Pb__CastReceiving reply;
    bool ready, deposed;
    uint64_t at;
    Pb__CastPhase phase;
    int state_code;
    Pb__CastFile file;
    uint32_t timeout_ms;
};

static const struct bench_cred for_files = {
    .job_id = 5, .step_id = 0xfffffffc, .tasks = 0, .cast = true};

/* --- asking for a receiver -------------------------------------------------------------------- */

static void on_answer(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                      const struct err *err)
{
    struct sender *s = ctx;

    s->answered = true;
    s->code = -code;
    snprintf(s->text, sizeof(s->text), "%s", code ? err->text : "");
    if (!code) {
        s->reply.port = ((const Pb__CastReceiving *)reply)->port;
        s->reply.pid = ((const Pb__CastReceiving *)reply)->pid;
    }
}

static bool is_answered(struct bench *b, void *ctx)
{
    return ((struct sender *)ctx)->answered;
}

static int request_receiver(struct sender *s, const struct bench_cred *c)
{
    struct rpc_node_target target = {BENCH_NODE, "127.0.0.1", s->b.node_port};
    Pb__CastReceive m = PB__CAST_RECEIVE__INIT;

    bench_sign(&s->b, c, &m.cred, &m.signature);
    m.key = (ProtobufCBinaryData){sizeof(s->f.token), s->f.token};
    m.file = &s->file;
    m.timeout_ms = s->timeout_ms;
    m.wait_ms = s->timeout_ms;
    s->answered = false;
    rpc_fanout_free(s->call);
    s->call = rpc_fanout_start(s->b.loop, s->f.conf, &target, 1, RPC_CAST_RECEIVE, &m.base, 0,
                               on_answer, s);
    free(m.cred.data);
    free(m.signature.data);
    assert_true(bench_until(&s->b, is_answered, s));
    return s->code;
}

static void begin_sender(struct sender *s)
{
    memset(s, 0, sizeof(*s));
    fake_begin(&s->b, &s->f, programs);
    pb__cast_file__init(&s->file);
    s->file.path = mem_printf("%s/copy", s->b.dir);
    s->file.mode = 0644;
    s->file.size = SIZE;
    s->timeout_ms = TIMEOUT_MS;
}

static void end_sender(struct sender *s, uint32_t job_id)
{
    if (s->session)
        rpc_session_free(take_ptr(s->session));
    rpc_fanout_free(s->call);
    free(s->file.path);
    fake_end(&s->b, &s->f, job_id);
}

static void test_credentials_are_checked_for_casts(void **state)
{
    struct sender s;
    struct bench_cred c = for_files;
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;

    begin_sender(&s);
    c.cast = false; /* one of a step */
    c.tasks = 1;
    assert_int_equal(request_receiver(&s, &c), ERR_CREDENTIAL);
    assert_non_null(strstr(s.text, "not one for files"));
    c = for_files;
    c.node = "n9";
    assert_int_equal(request_receiver(&s, &c), ERR_CREDENTIAL);
    c = for_files;
    c.cluster = "other";
    assert_int_equal(request_receiver(&s, &c), ERR_CREDENTIAL);
    c = for_files;
    c.life_ms = -1000;
    assert_int_equal(request_receiver(&s, &c), ERR_CREDENTIAL_EXPIRED);
    /* A credential for files starts nothing else, whatever is in it. */
    c = for_files;
    c.tasks = 1;
    c.step_id = 0;
    fake_launch(&s.f, &c, &m, "echo >ran");
    assert_true(bench_until(&s.b, fake_is_answered, &s.f));
    assert_int_equal(s.f.code, ERR_CREDENTIAL);
    assert_false(bench_has_file(&s.b, "ran"));
    s.timeout_ms = 1;
    assert_int_equal(request_receiver(&s, &for_files), ERR_PROTOCOL);
    s.timeout_ms = TIMEOUT_MS;
    /* A key of another user's. */
    fake_token(&s.f, geteuid() + 1);
    assert_int_equal(request_receiver(&s, &for_files), ERR_AUTH);
    fake_token(&s.f, geteuid());
    assert_false(bench_has_file(&s.b, "copy"));
    end_sender(&s, 0);
}

static void test_cast_to_an_ended_job_is_refused(void **state)
{
    struct sender s;

    begin_sender(&s);
    bench_terminate(&s.b, 5, 0, 0, NULL);
    assert_non_null(bench_job_gone(&s.b, 5));
    assert_int_equal(request_receiver(&s, &for_files), ERR_CREDENTIAL_REVOKED);
    end_sender(&s, 0);
}

/* For example through another node of a tree. */
static void test_repeated_request_reaches_the_same_receiver(void **state)
{
    struct sender s;
    uint32_t port;

    begin_sender(&s);
    assert_int_equal(request_receiver(&s, &for_files), 0);
    port = s.reply.port;
    assert_int_equal(request_receiver(&s, &for_files), 0);
    assert_int_equal(s.reply.port, port);
    fake_token(&s.f, geteuid()); /* of another transfer */
    assert_int_equal(request_receiver(&s, &for_files), 0);
    assert_int_not_equal(s.reply.port, port);
    end_sender(&s, 5);
}

/* --- feeding it ------------------------------------------------------------------------------- */

static void on_message(void *ctx, struct rpc_session *session, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    struct sender *s = ctx;
    const Pb__CastStatus *m = (const Pb__CastStatus *)body;

    if (rpc->number != RPC_CAST_STATUS)
        return;
    s->ready |= m->has_at;
    s->at = m->has_at ? m->at : s->at;
    s->deposed |= m->has_deposed && m->deposed;
    for (size_t i = 0; i < m->n_states; i++) {
        s->phase = m->states[i]->phase;
        s->state_code = m->states[i]->code;
    }
}

static void on_open(void *ctx, struct rpc_session *session)
{
    ((struct sender *)ctx)->open = true;
}

static void on_close(void *ctx, struct rpc_session *session, const struct err *why)
{
    struct sender *s = ctx;

    s->closed = true;
    if (s->session == session)
        s->session = NULL;
    rpc_session_free(session);
}

static bool is_open(struct bench *b, void *ctx)
{
    return ((struct sender *)ctx)->open;
}

static bool is_ready(struct bench *b, void *ctx)
{
    return ((struct sender *)ctx)->ready || ((struct sender *)ctx)->closed;
}

static bool is_closed(struct bench *b, void *ctx)
{
    return ((struct sender *)ctx)->closed;
}

static bool is_whole(struct bench *b, void *ctx)
{
    return ((struct sender *)ctx)->phase >= PB__CAST_PHASE__CAST_WHOLE;
}

static bool is_final(struct bench *b, void *ctx)
{
    return ((struct sender *)ctx)->phase >= PB__CAST_PHASE__CAST_PLACED;
}

static bool is_over(struct bench *b, void *ctx)
{
    return kill((pid_t)((struct sender *)ctx)->reply.pid, 0) < 0;
}

static void connect_to(struct sender *s)
{
    struct rpc_target to = {"127.0.0.1", (uint16_t)s->reply.port};
    struct rpc_session_events events = {.accepts = RPC_WHO_KEY,
                                        .on_open = on_open,
                                        .on_message = on_message,
                                        .on_close = on_close,
                                        .ctx = s};

    s->open = s->closed = s->ready = false;
    s->session = rpc_session_connect(s->b.loop, &s->f.key, "test", &to, 1, false, &events);
    assert_true(bench_until(&s->b, is_open, s));
}

static Pb__CastNode self = PB__CAST_NODE__INIT;

static void send_hello(struct sender *s, Pb__CastHello *m)
{
    self.node = (char *)BENCH_NODE;
    self.addr = (char *)"127.0.0.1";
    self.index = self.index ? self.index : 3;
    self.port = 1;
    if (!m->you)
        m->you = &self;
    m->width = m->width ? m->width : 2;
    m->block = m->block ? m->block : CAST_BLOCK_MIN;
    rpc_session_send(s->session, RPC_CAST_HELLO, &m->base);
    assert_true(bench_until(&s->b, is_ready, s));
}

static void send_piece(struct sender *s, uint64_t at, const char *data, size_t len)
{
    Pb__CastData m = PB__CAST_DATA__INIT;

    m.at = at;
    m.data = (ProtobufCBinaryData){len, (uint8_t *)data};
    rpc_session_send(s->session, RPC_CAST_DATA, &m.base);
}

static void send_sum(struct sender *s, uint64_t size, uint32_t crc)
{
    Pb__CastSum m = PB__CAST_SUM__INIT;

    m.size = size;
    m.crc = crc;
    rpc_session_send(s->session, RPC_CAST_SUM, &m.base);
}

static void send_verdict(struct sender *s, Pb__CastVerdict verdict)
{
    Pb__CastOrder m = PB__CAST_ORDER__INIT;

    m.verdict = verdict;
    rpc_session_send(s->session, RPC_CAST_ORDER, &m.base);
}

static void begin_fed(struct sender *s)
{
    Pb__CastHello m = PB__CAST_HELLO__INIT;

    begin_sender(s);
    assert_int_equal(request_receiver(s, &for_files), 0);
    connect_to(s);
    send_hello(s, &m);
    assert_true(s->ready && s->at == 0);
}

static void test_file_is_received_and_placed(void **state)
{
    struct sender s;

    begin_fed(&s);
    send_verdict(&s, PB__CAST_VERDICT__CAST_COMMIT); /* too early */
    send_piece(&s, 0, TEXT, 4);
    send_sum(&s, SIZE, crc32c(0, TEXT, SIZE));
    send_piece(&s, 4, sent + 4, SIZE - 4);
    assert_true(bench_until(&s.b, is_whole, &s));
    assert_int_equal(s.phase, PB__CAST_PHASE__CAST_WHOLE);
    assert_false(bench_has_file(&s.b, "copy"));
    send_verdict(&s, PB__CAST_VERDICT__CAST_COMMIT);
    assert_true(bench_until(&s.b, is_final, &s));
    assert_int_equal(s.phase, PB__CAST_PHASE__CAST_PLACED);
    _cleanup_free_ char *text = bench_read(&s.b, "copy");
    assert_string_equal(text, TEXT);
    send_verdict(&s, PB__CAST_VERDICT__CAST_OVER);
    assert_true(bench_until(&s.b, is_over, &s));
    end_sender(&s, 5);
}

static void send_place(struct sender *s)
{
    send_piece(s, 0, TEXT, SIZE);
    send_sum(s, SIZE, crc32c(0, TEXT, SIZE));
    assert_true(bench_until(&s->b, is_whole, s));
    send_verdict(s, PB__CAST_VERDICT__CAST_COMMIT);
    assert_true(bench_until(&s->b, is_final, s));
    assert_int_equal(s->phase, PB__CAST_PHASE__CAST_PLACED);
    send_verdict(s, PB__CAST_VERDICT__CAST_OVER);
    assert_true(bench_until(&s->b, is_over, s));
}

/* Another job of the user: the processes left by its shepherd are killed, and no others of the
   user. */
static void test_killed_receiver_leaves_other_processes_alone(void **state)
{
    struct bench_cred files = for_files, c = {.job_id = 6, .uid = NOBODY};
    Pb__CastHello m = PB__CAST_HELLO__INIT;
    struct sender s;

    if (geteuid() != 0) /* all processes have the same user, so they cannot be distinguished */
        skip();
    begin_sender(&s);
    assert_int_equal(chmod(s.b.dir, 0777), 0);
    files.uid = NOBODY;
    assert_int_equal(request_receiver(&s, &files), 0);
    connect_to(&s);
    send_hello(&s, &m);
    bench_launch(&s.b, &c, "#!/bin/sh\ncut -d' ' -f4 /proc/$$/stat >stepd\nexec sleep 1000\n");
    assert_true(bench_wait_text(&s.b, "stepd", "\n"));
    _cleanup_free_ char *text = bench_read(&s.b, "stepd");
    assert_int_equal(kill((pid_t)atoi(text), SIGKILL), 0);
    assert_string_equal(bench_batch_ended(&s.b, 6)->text, "slurmstepd was killed");
    assert_non_null(s.session);
    send_place(&s);
    bench_terminate(&s.b, 6, 0, 0, NULL);
    assert_non_null(bench_job_gone(&s.b, 6));
    end_sender(&s, 5);
}

static void assert_sender_refused(struct sender *s, int code)
{
    assert_true(bench_until(&s->b, is_final, s));
    assert_int_equal(s->phase, PB__CAST_PHASE__CAST_REFUSED);
    assert_int_equal(s->state_code, code);
    assert_true(bench_until(&s->b, is_over, s));
    assert_false(bench_has_file(&s->b, "copy"));
    end_sender(s, 5);
}

static void test_unexpected_messages_are_refused(void **state)
{
    Pb__CastData packed = PB__CAST_DATA__INIT;
    struct sender s;

    begin_fed(&s); /* a piece is missing */
    send_piece(&s, 1, TEXT, 4);
    assert_sender_refused(&s, ERR_PROTOCOL);
    begin_fed(&s); /* or connects again */
    send_piece(&s, 0, TEXT, 4);
    send_piece(&s, 0, TEXT, 4);
    assert_sender_refused(&s, ERR_PROTOCOL);
    begin_fed(&s); /* more than was announced */
    send_piece(&s, 0, TEXT TEXT, 2 * SIZE);
    assert_sender_refused(&s, ERR_PROTOCOL);
    begin_fed(&s); /* another length */
    send_sum(&s, SIZE + 1, 0);
    assert_sender_refused(&s, ERR_PROTOCOL);
    begin_fed(&s); /* other bytes */
    send_piece(&s, 0, TEXT, SIZE);
    send_sum(&s, SIZE, 1);
    assert_sender_refused(&s, EIO);
    begin_fed(&s); /* data that cannot be decompressed, and data that would be too large */
    packed.data = (ProtobufCBinaryData){4, (uint8_t *)"\xff\xff\xff\xff"};
    packed.has_packed_len = true;
    packed.packed_len = 4;
    rpc_session_send(s.session, RPC_CAST_DATA, &packed.base);
    assert_sender_refused(&s, cast_block_can_pack() ? ERR_PROTOCOL : ERR_NOT_SUPPORTED);
    begin_fed(&s);
    packed.packed_len = UINT32_MAX;
    rpc_session_send(s.session, RPC_CAST_DATA, &packed.base);
    assert_sender_refused(&s, ERR_PROTOCOL);
}

/* Refused greetings; the receiver waits for another sender. */
static void test_invalid_greetings_are_refused(void **state)
{
    Pb__CastNode other = PB__CAST_NODE__INIT, below = PB__CAST_NODE__INIT, *list[] = {&below};
    struct sender s;

    other.node = (char *)"n2";
    other.addr = (char *)"127.0.0.1";
    other.index = 3;
    below = other;
    below.port = 70000;
    below.index = 4;
    begin_sender(&s);
    assert_int_equal(request_receiver(&s, &for_files), 0);
    for (int i = 0; i < 7; i++) {
        Pb__CastHello m = PB__CAST_HELLO__INIT;

        connect_to(&s);
        if (i == 0)
            m.you = &other; /* for another node */
        m.width = i == 1 ? 65 : 0;
        m.block = i == 2 ? CAST_BLOCK_MIN + 1 : i == 3 ? CAST_BLOCK_MAX + CAST_BLOCK_MIN : 0;
        m.below = list;
        m.n_below = i == 4 || i == 5;
        below.index = i == 5 ? 3 : 4; /* in no order */
        below.port = i == 5 ? 1 : 70000;
        if (i == 6)
            send_piece(&s, 0, TEXT, 1); /* before any greeting */
        else
            send_hello(&s, &m);
        assert_true(bench_until(&s.b, is_closed, &s));
        assert_false(s.ready);
    }
    connect_to(&s);
    send_hello(&s, &(Pb__CastHello)PB__CAST_HELLO__INIT);
    assert_true(s.ready);
    send_verdict(&s, PB__CAST_VERDICT__CAST_OVER);
    assert_true(bench_until(&s.b, is_over, &s));
    end_sender(&s, 5);
}

/* CORE-228: the receiver continues at its position with another sender; the first one is told. */
static void test_another_sender_continues_the_file(void **state)
{
    Pb__CastHello m = PB__CAST_HELLO__INIT;
    struct rpc_session *first;
    struct sender s;

    begin_fed(&s);
    send_piece(&s, 0, TEXT, 4);
    first = take_ptr(s.session);
    do { /* until that has come */
        connect_to(&s);
        send_hello(&s, &m);
    } while (s.at < 4 && (rpc_session_free(s.session), true));
    assert_int_equal(s.at, 4);
    send_piece(&s, 4, sent + 4, SIZE - 4);
    send_sum(&s, SIZE, crc32c(0, TEXT, SIZE));
    assert_true(bench_until(&s.b, is_whole, &s));
    assert_true(s.deposed);
    (void)first; /* freed with its close */
    send_verdict(&s, PB__CAST_VERDICT__CAST_OVER);
    assert_true(bench_until(&s.b, is_over, &s));
    assert_false(bench_has_file(&s.b, "copy"));
    end_sender(&s, 5);
}

/* No sender connects, or the node that started the transfer is lost. */
static void test_abandoned_receiver_ends(void **state)
{
    Pb__CastHello m = PB__CAST_HELLO__INIT;
    struct sender s;

    begin_sender(&s);
    s.timeout_ms = 100;
    assert_int_equal(request_receiver(&s, &for_files), 0);
    assert_true(bench_until(&s.b, is_over, &s));
    end_sender(&s, 5);
    begin_sender(&s);
    s.timeout_ms = 3600000;
    assert_int_equal(request_receiver(&s, &for_files), 0);
    connect_to(&s);
    m.has_root = m.root = true;
    send_hello(&s, &m);
    send_piece(&s, 0, TEXT, 4);
    rpc_session_free(take_ptr(s.session));
    assert_true(bench_until(&s.b, is_over, &s));
    end_sender(&s, 5);
    begin_sender(&s);
    s.timeout_ms = 200;
    assert_int_equal(request_receiver(&s, &for_files), 0);
    connect_to(&s);
    send_hello(&s, &(Pb__CastHello)PB__CAST_HELLO__INIT); /* and not a word more */
    assert_true(bench_until(&s.b, is_over, &s));
    end_sender(&s, 5);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_credentials_are_checked_for_casts),
        cmocka_unit_test(test_cast_to_an_ended_job_is_refused),
        cmocka_unit_test(test_repeated_request_reaches_the_same_receiver),
        cmocka_unit_test(test_file_is_received_and_placed),
        cmocka_unit_test(test_killed_receiver_leaves_other_processes_alone),
        cmocka_unit_test(test_unexpected_messages_are_refused),
        cmocka_unit_test(test_invalid_greetings_are_refused),
        cmocka_unit_test(test_another_sender_continues_the_file),
        cmocka_unit_test(test_abandoned_receiver_ends),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: cast_test DIRECTORY [TEST]\n");
        return 1;
    }
    programs = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
