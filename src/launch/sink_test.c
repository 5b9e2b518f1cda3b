/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "launch/feed.h"

#define BYTES (3u << 20)

struct world {
    struct loop *loop;
    struct sink *sink;
    struct feed *feed;
    struct str got;
    int drained, broken_code;
    bool ended;
};

static void on_drained(void *ctx)
{
    struct world *w = ctx;

    w->drained++;
}

static void on_broken(void *ctx, const struct err *why)
{
    struct world *w = ctx;

    w->broken_code = why->code;
}

/* The reader: takes everything up to the end of file. */
static void on_data(void *ctx, const void *data, size_t len)
{
    struct world *w = ctx;

    str_append(&w->got, data, len);
    w->ended = len == 0;
    if (w->ended || w->got.len == BYTES)
        loop_stop(w->loop);
}

static void init_sink_world(struct world *w)
{
    memset(w, 0, sizeof(*w));
    w->loop = loop_new(0);
}

static void free_sink_world(struct world *w)
{
    sink_free(w->sink);
    feed_free(w->feed);
    str_done(&w->got);
    loop_free(w->loop);
}

static struct sink_events make_events(struct world *w)
{
    return (struct sink_events){.on_drained = on_drained, .on_broken = on_broken, .ctx = w};
}

static void fill_pattern(char *data)
{
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (char)(i * 31 + i / 4096);
}

/* More bytes than a pipe or a socket buffers pass through completely, in order, without blocking.
 */
static void pass_bytes_through(int fds[2])
{
    struct world w;
    struct sink_events events;
    _cleanup_free_ char *data = mem_alloc(BYTES);

    init_sink_world(&w);
    events = make_events(&w);
    fill_pattern(data);
    w.sink = sink_of_fd(w.loop, fds[1], "it", &events);
    sink_write(w.sink, data, BYTES);
    assert_true(sink_backlog(w.sink) > SINK_HIGH);
    assert_int_equal(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0); /* shared flags are unchanged */
    w.feed = feed_new(w.loop, fds[0], on_data, &w);
    feed_pause(w.feed, false);
    loop_run(w.loop);
    assert_int_equal(w.got.len, BYTES);
    assert_memory_equal(w.got.data, data, BYTES);
    assert_int_equal(sink_backlog(w.sink), 0);
    assert_true(w.drained >= 1);
    free_sink_world(&w);
    close(fds[0]);
    close(fds[1]);
}

static void test_bytes_pass_through_a_pipe(void **state)
{
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    pass_bytes_through(fds);
}

static void test_bytes_pass_through_a_socket(void **state)
{
    int fds[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    pass_bytes_through(fds);
}

static void test_sink_without_a_reader_ends(void **state)
{
    struct world w;
    struct sink_events events;
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    init_sink_world(&w);
    events = make_events(&w);
    w.sink = sink_of_fd(w.loop, fds[1], "it", &events);
    close(fds[0]);
    sink_write(w.sink, "x", 1);
    assert_int_equal(w.broken_code, -EPIPE);
    w.broken_code = 0;
    sink_write(w.sink, "x", 1); /* dropped, and reported once */
    assert_int_equal(w.broken_code, 0);
    assert_int_equal(sink_backlog(w.sink), 0);
    free_sink_world(&w);
    close(fds[1]);
}

static void test_files_are_written(void **state)
{
    char path[] = "/tmp/sluice-sink-test.XXXXXX";
    struct world w;
    struct sink_events events;
    struct err err = {0};
    int fd = mkstemp(path);

    (void)state;
    init_sink_world(&w);
    events = make_events(&w);
    assert_int_equal(
        sink_of_file(w.loop, "/no/such/place/x", "stderr", false, &events, &w.sink, &err),
        -ERR_OPEN_IO);
    assert_non_null(strstr(err.text, "stderr file /no/such/place/x"));
    assert_null(w.sink);

    for (int append = 0; append < 2; append++) { /* truncated, then continued */
        if (append == 0)
            assert_int_equal(write(fd, "old", 3), 3);
        assert_int_equal(sink_of_file(w.loop, path, "stderr", append, &events, &w.sink, &err), 0);
        sink_write(w.sink, "new", 3);
        sink_free(w.sink);
        w.sink = NULL;
    }
    w.feed = feed_new(w.loop, open(path, O_RDONLY), on_data, &w); /* reads a file to its end */
    feed_pause(w.feed, false);
    loop_run(w.loop);
    assert_true(w.ended);
    assert_string_equal(str_cstr(&w.got), "newnew");

    assert_int_equal(sink_of_file(w.loop, "/dev/full", "stderr", false, &events, &w.sink, &err), 0);
    sink_write(w.sink, "x", 1);
    assert_int_equal(w.broken_code, -ENOSPC);
    free_sink_world(&w);
    unlink(path);
    close(fd);
}

/* Bytes that a pipe has not taken are written to the file, followed by later ones. */
static void test_unwritten_bytes_move_to_a_file(void **state)
{
    static char path[] = "/tmp/sink_move.XXXXXX";
    struct world w;
    struct sink_events events;
    _cleanup_free_ char *data = mem_alloc(BYTES), *back = mem_alloc(BYTES);
    int fds[2], file = mkstemp(path);
    size_t taken;

    (void)state;
    init_sink_world(&w);
    events = make_events(&w);
    fill_pattern(data);
    assert_int_equal(pipe(fds), 0);
    w.sink = sink_of_fd(w.loop, fds[1], "it", &events);
    sink_write(w.sink, data, BYTES - 5);
    taken = BYTES - 5 - sink_backlog(w.sink);
    assert_true(taken > 0 && taken < BYTES - 5);
    sink_move(w.sink, dup(file), path);
    assert_int_equal(sink_backlog(w.sink), 0);
    assert_int_equal(w.drained, 1);
    sink_write(w.sink, data + BYTES - 5, 5);
    for (size_t at = 0; at < taken;) {
        ssize_t n = read(fds[0], back + at, taken - at);

        assert_true(n > 0);
        at += (size_t)n;
    }
    assert_int_equal(pread(file, back + taken, BYTES - taken, 0), BYTES - taken);
    assert_memory_equal(back, data, BYTES);
    free_sink_world(&w);
    unlink(path);
    close(file);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_pass_through_a_pipe),
        cmocka_unit_test(test_bytes_pass_through_a_socket),
        cmocka_unit_test(test_sink_without_a_reader_ends),
        cmocka_unit_test(test_files_are_written),
        cmocka_unit_test(test_unwritten_bytes_move_to_a_file),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
