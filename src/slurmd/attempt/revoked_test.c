/* SPDX-License-Identifier: GPL-3.0-or-later */
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

#include "base/step_id.h"
#include "slurmd/attempt/revoked.h"

static char path[] = "/tmp/revoked-test.XXXXXX";

static int set_up(void **state)
{
    int fd = mkstemp(path);

    return fd < 0 || close(fd);
}

static int tear_down(void **state)
{
    return unlink(path);
}

static struct revoked *open_list(void)
{
    struct revoked *r = NULL;

    assert_int_equal(revoked_open(path, &r, NULL), 0);
    return r;
}

static void test_revoked_jobs_are_kept_across_restarts(void **state)
{
    struct revoked *r = open_list();

    assert_false(revoked_has(r, 1, 0));
    revoked_add(r, 1, 0);
    revoked_add(r, 1, 0);
    revoked_add(r, 2, 5);
    revoked_close(r);
    assert_int_equal(truncate(path, 15), 0); /* the second was cut */
    r = open_list();
    assert_true(revoked_has(r, 1, 0));
    assert_false(revoked_has(r, 1, 1) || revoked_has(r, 2, 5));
    revoked_add(r, 3, 0);
    revoked_close(r);
    r = open_list();
    assert_true(revoked_has(r, 1, 0) && revoked_has(r, 3, 0));
    revoked_close(r);
    assert_int_equal(truncate(path, 0), 0);
}

static void fill_file(const char *bytes_path, uint32_t count)
{
    FILE *f = fopen(bytes_path, "w");

    for (uint32_t i = 0; i < count; i++) {
        uint32_t entry[2] = {i, 0};

        fwrite(entry, sizeof(entry), 1, f);
    }
    fclose(f);
}

static void test_number_of_revoked_jobs_is_bounded(void **state)
{
    struct revoked *r;
    struct stat st;

    fill_file(path, 3 * REVOKED_MAX - 1);
    r = open_list();
    assert_true(revoked_has(r, 2 * REVOKED_MAX - 1, 0));
    assert_false(revoked_has(r, 2 * REVOKED_MAX - 2, 0));
    revoked_add(r, 9999999, 0); /* the file is long enough: rewritten */
    assert_true(revoked_has(r, 9999999, 0));
    revoked_close(r);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, REVOKED_MAX * 8);
    r = open_list();
    assert_true(revoked_has(r, 9999999, 0) && revoked_has(r, 3 * REVOKED_MAX - 2, 0));
    revoked_close(r);
}

/* Limits the size of files of this process. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The disk becomes full in the middle of an entry, and has space again for the next. */
static void test_incomplete_entry_is_ignored(void **state)
{
    struct revoked *r;

    assert_int_equal(truncate(path, 0), 0);
    r = open_list();
    revoked_add(r, 1, 0);
    limit_files(8 + 3);
    revoked_add(r, 2, 0);
    limit_files(RLIM_INFINITY);
    revoked_add(r, 3, 0);
    revoked_close(r);
    r = open_list();
    assert_true(revoked_has(r, 1, 0) && revoked_has(r, 3, 0));
    revoked_close(r);
}

/* The file could not be rewritten for a long time: it has the maximum size, and is readable. */
static void test_file_of_maximum_size_is_readable(void **state)
{
    struct rlimit before, none;
    struct revoked *r;

    fill_file(path, 4 * REVOKED_MAX - 2);
    r = open_list();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (uint32_t i = 0; i < 5; i++)
        revoked_add(r, 9999990 + i, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(revoked_has(r, 9999994, 0));
    revoked_close(r);
    r = open_list();
    assert_true(revoked_has(r, 9999990, 0));
    revoked_add(r, 9999995, 0); /* now it can */
    revoked_close(r);
    r = open_list();
    assert_true(revoked_has(r, 9999995, 0));
    revoked_close(r);
}

static void test_only_the_cancelled_step_is_revoked(void **state)
{
    static const struct cancelled_step others[] = {
        {5, 0, 2}, {5, 1, 1}, {6, 0, 1}, {0, 0, 0}, {5, 0, STEP_ID_BATCH}};
    struct cancelled_step s = {5, 0, 1};
    struct cancelled c = {0};

    assert_false(cancelled_has(&c, &s));
    assert_true(cancelled_add(&c, &s));
    assert_true(cancelled_has(&c, &s));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(cancelled_has(&c, &others[i]));
    assert_false(cancelled_add(&c, &s));
    assert_int_equal(c.list.len, 1);
    cancelled_done(&c);
}

static void test_oldest_cancelled_step_is_dropped(void **state)
{
    struct cancelled c = {0};

    for (uint32_t i = 0; i < 3 * CANCELLED_MAX; i++) {
        struct cancelled_step s = {i, 0, 0}, oldest = {i - CANCELLED_MAX, 0, 0},
                              next = {i - CANCELLED_MAX + 1, 0, 0};

        assert_true(cancelled_add(&c, &s));
        assert_true(cancelled_has(&c, &s));
        if (i < CANCELLED_MAX)
            continue;
        assert_false(cancelled_has(&c, &oldest));
        assert_true(cancelled_has(&c, &next));
    }
    assert_int_equal(c.list.len, CANCELLED_MAX);
    cancelled_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_revoked_jobs_are_kept_across_restarts),
                                       cmocka_unit_test(test_number_of_revoked_jobs_is_bounded),
                                       cmocka_unit_test(test_incomplete_entry_is_ignored),
                                       cmocka_unit_test(test_file_of_maximum_size_is_readable),
                                       cmocka_unit_test(test_only_the_cancelled_step_is_revoked),
                                       cmocka_unit_test(test_oldest_cancelled_step_is_dropped)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
