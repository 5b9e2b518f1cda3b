/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/test_fds.h"
#include "slurmd/attempt/events.h"

static char dir[] = "/tmp/events-test.XXXXXX", path[64];
static int lowest_fd;

static int set_up(void **state)
{
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof(path), "%s/events", dir);
    lowest_fd = test_lowest_fd();
    return 0;
}

static int tear_down(void **state)
{
    unlink(path);
    return rmdir(dir);
}

static struct events *open_events(void)
{
    struct events *e = NULL;

    assert_int_equal(events_open(path, 1, &e, NULL), 0);
    return e;
}

static void push_event(struct events *e, uint32_t job_id)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__JobGone gone = PB__JOB_GONE__INIT;

    gone.job_id = job_id;
    event.job_gone = &gone;
    events_push(e, &event);
}

static void collect_event(void *ctx, const Pb__NodeEvent *event)
{
    str_printf(ctx, "%llu:%u ", (unsigned long long)event->seq, event->job_gone->job_id);
}

static void expect_events(struct events *e, const char *text)
{
    _cleanup_str_ struct str s = STR_INIT;

    events_each(e, collect_event, &s);
    assert_string_equal(str_cstr(&s), text);
}

static void ignore_event(void *ctx, const Pb__NodeEvent *event)
{
}

static void test_damaged_header_is_refused(void **state)
{
    struct events *e = NULL;
    struct err err = {0};

    assert_int_equal(path_write_file(path, "this is not a queue of events", 29, 0600, NULL), 0);
    assert_int_equal(events_open(path, 1, &e, &err), -ERR_STORE_DAMAGED);
    assert_non_null(strstr(err.text, path));
    assert_null(e);
    unlink(path);
}

/* Whatever length of the file is left: a prefix of the events, with increasing numbers. */
static void test_event_file_truncated_at_any_byte_is_read(void **state)
{
    _cleanup_str_ struct str whole = STR_INIT;
    struct events *e = open_events();

    for (uint32_t job = 10; job < 13; job++)
        push_event(e, job);
    assert_int_equal(events_flush(e, NULL), 0);
    events_close(e);
    assert_int_equal(path_read_file(path, 1 << 20, &whole, NULL), 0);
    for (size_t len = 24; len <= whole.len; len++) {
        _cleanup_str_ struct str s = STR_INIT;

        assert_int_equal(path_write_file(path, whole.data, len, 0600, NULL), 0);
        e = open_events();
        events_each(e, collect_event, &s);
        assert_true(!strncmp("1:10 2:11 3:12 ", str_cstr(&s), s.len));
        push_event(e, 99);
        assert_int_equal(events_flush(e, NULL), 0);
        events_close(e);
        e = open_events();
        str_printf(&s, "%zu:99 ", s.len / 5 + 1);
        expect_events(e, str_cstr(&s));
        events_close(e);
    }
    unlink(path);
}

static void test_event_file_with_flipped_bits_is_survived(void **state)
{
    _cleanup_str_ struct str whole = STR_INIT;
    struct events *e = open_events();

    push_event(e, 10);
    push_event(e, 11);
    assert_int_equal(events_flush(e, NULL), 0);
    events_close(e);
    assert_int_equal(path_read_file(path, 1 << 20, &whole, NULL), 0);
    for (size_t bit = 0; bit < 8 * whole.len; bit++) {
        _cleanup_str_ struct str s = STR_INIT;

        whole.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(path_write_file(path, whole.data, whole.len, 0600, NULL), 0);
        whole.data[bit / 8] ^= (char)(1 << bit % 8);
        e = NULL;
        if (!events_open(path, 1, &e, NULL))
            events_each(e, collect_event, &s);
        else
            assert_true(bit < 8 * 24);
        assert_true(!strncmp("1:10 2:11 ", str_cstr(&s), s.len));
        events_close(e);
    }
    unlink(path);
}

static void test_events_are_kept_until_acknowledged(void **state)
{
    struct events *e = open_events();
    _cleanup_str_ struct str forgotten = STR_INIT;
    Pb__NodeEvent **list;
    struct stat st;

    push_event(e, 10);
    assert_int_equal(events_take_unsent(e, &list), 0); /* not before it is on disk */
    assert_int_equal(events_flush(e, NULL), 0);
    push_event(e, 11);
    assert_int_equal(events_take_unsent(e, &list), 1);
    assert_int_equal(list[0]->job_gone->job_id, 10);
    assert_int_equal(events_take_unsent(e, &list), 0);
    assert_int_equal(events_flush(e, NULL), 0);
    assert_int_equal(events_take_unsent(e, &list), 1);
    events_resend(e);
    assert_int_equal(events_take_unsent(e, &list), 2);
    events_ack(e, 1, collect_event, &forgotten);
    assert_string_equal(str_cstr(&forgotten), "1:10 ");
    events_close(e);
    e = open_events();
    expect_events(e, "1:10 2:11 "); /* sent again, which does no harm */
    events_ack(e, 2, ignore_event, NULL);
    expect_events(e, "");
    events_close(e);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 24);
    e = open_events();
    push_event(e, 12);
    expect_events(e, "3:12 "); /* numbers never start again */
    events_close(e);
    unlink(path);
}

/* Limits the size of files of this process. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The disk becomes full in the middle of an event, and the events before it are acknowledged
   then. */
static void test_compaction_drops_an_incomplete_event(void **state)
{
    struct events *e = open_events();
    const uint32_t many = 300000;
    struct stat st;
    char text[32];

    for (uint32_t i = 1; i <= many; i++)
        push_event(e, i);
    assert_int_equal(events_flush(e, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 4 << 20);
    limit_files((rlim_t)st.st_size + 5);
    push_event(e, many + 1);
    assert_int_equal(events_flush(e, NULL), -EFBIG);
    limit_files(RLIM_INFINITY);
    events_ack(e, many - 1, ignore_event, NULL);
    assert_int_equal(events_flush(e, NULL), 0);
    events_ack(e, many, ignore_event, NULL);
    events_close(e);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 1 << 20);
    e = open_events();
    snprintf(text, sizeof(text), "%u:%u ", many + 1, many + 1);
    expect_events(e, text);
    events_close(e);
    unlink(path);
}

static void test_unwritten_events_cannot_be_acknowledged(void **state)
{
    struct events *e = open_events();

    push_event(e, 10);
    events_ack(e, 99, ignore_event, NULL); /* not written, so not sent, so not acknowledged */
    expect_events(e, "1:10 ");
    assert_int_equal(events_flush(e, NULL), 0);
    events_ack(e, 99, ignore_event, NULL);
    expect_events(e, "");
    events_close(e);
    unlink(path);
}

static void test_many_events_are_listed_in_parts(void **state)
{
    struct events *e = open_events();
    Pb__NodeEvent **list;
    struct stat st;
    size_t count = 0, part;

    for (uint32_t i = 0; i < 300000; i++) {
        push_event(e, i);
        if (i % 1000 == 999) {
            assert_int_equal(events_flush(e, NULL), 0);
            events_ack(e, i > 5000 ? i - 5000 : 0, ignore_event, NULL);
        }
    }
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 5 << 20); /* acknowledged events are removed eventually */
    events_close(e);
    e = open_events();
    while ((part = events_take_unsent(e, &list))) {
        assert_true(part <= EVENTS_REPORT_MAX);
        count += part;
    }
    assert_true(count >= 5000);
    events_close(e);
    unlink(path);
}

static void test_no_descriptor_is_left_open(void **state)
{
    assert_int_equal(test_lowest_fd(), lowest_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_header_is_refused),
        cmocka_unit_test(test_event_file_truncated_at_any_byte_is_read),
        cmocka_unit_test(test_event_file_with_flipped_bits_is_survived),
        cmocka_unit_test(test_events_are_kept_until_acknowledged),
        cmocka_unit_test(test_compaction_drops_an_incomplete_event),
        cmocka_unit_test(test_unwritten_events_cannot_be_acknowledged),
        cmocka_unit_test(test_many_events_are_listed_in_parts),
        cmocka_unit_test(test_no_descriptor_is_left_open),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
