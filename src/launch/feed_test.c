/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/feed.h"

#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"

struct reader {
    struct loop *loop;
    struct loop_timer *next;
    struct feed *feed[2];
    int out, running, lines;
    struct str text;
};

static void on_data(void *ctx, const void *data, size_t len)
{
    struct reader *r = ctx;

    str_append(&r->text, data, len);
    if (len == 0 && --r->running == 0)
        loop_stop(r->loop);
    else if (len > 0 && ((const char *)data)[len - 1] == '\n')
        loop_timer_set(r->next, 0);
}

static void on_next(void *ctx)
{
    struct reader *r = ctx;

    if (r->lines-- > 0)
        assert_int_equal(write(r->out, "line\n", 5), 5);
    else
        close(r->out);
}

/* Two readers wait for the same bytes, like programs with a common standard input: one gets the
 * bytes, and the other one keeps waiting. */
static void read_twice(int in, int out)
{
    struct reader r = {.loop = loop_new(0), .out = out, .running = 2, .lines = 3};
    int flags = fcntl(in, F_GETFL);

    r.next = loop_timer_new(r.loop, on_next, &r);
    loop_timer_set(r.next, 0);
    for (int i = 0; i < 2; i++) {
        r.feed[i] = feed_new(r.loop, in, on_data, &r);
        feed_pause(r.feed[i], false);
    }
    loop_run(r.loop);
    assert_string_equal(str_cstr(&r.text), "line\nline\nline\n");
    for (int i = 0; i < 2; i++)
        feed_free(r.feed[i]);
    assert_int_equal(fcntl(in, F_GETFL), flags); /* the caller's flags are unchanged */
    close(in);
    str_done(&r.text);
    loop_timer_free(r.next);
    loop_free(r.loop);
}

static void test_pipe_is_read_and_paused(void **state)
{
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    read_twice(fds[0], fds[1]);
}

static void test_socket_is_read_and_paused(void **state)
{
    int fds[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    read_twice(fds[0], fds[1]);
}

static void test_terminal_is_read_and_paused(void **state)
{
    int master, slave;

    (void)state;
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    read_twice(slave, master);
}

/* The position belongs to the open file; other readers continue there. */
static void test_position_of_a_file_is_kept_for_other_readers(void **state)
{
    struct reader r = {.loop = loop_new(0), .running = 1};
    char name[] = "/tmp/sluice-feed-test.XXXXXX", rest[8];
    int fd = mkstemp(name);

    (void)state;
    unlink(name);
    assert_int_equal(write(fd, "first", 5), 5);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    r.feed[0] = feed_new(r.loop, fd, on_data, &r);
    feed_pause(r.feed[0], false);
    loop_run(r.loop);
    assert_string_equal(str_cstr(&r.text), "first");
    feed_free(r.feed[0]);
    assert_int_equal(pwrite(fd, "second", 6, 5), 6);
    assert_int_equal(read(fd, rest, sizeof(rest)), 6);
    close(fd);
    str_done(&r.text);
    loop_free(r.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipe_is_read_and_paused),
        cmocka_unit_test(test_socket_is_read_and_paused),
        cmocka_unit_test(test_terminal_is_read_and_paused),
        cmocka_unit_test(test_position_of_a_file_is_kept_for_other_readers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
