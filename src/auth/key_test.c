/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/path.h"
#include "base/test_fds.h"

static char dir[64], path[96], other[96];
static int lowest_fd;

static int setup(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/auth_key_test.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/slurm.key", dir);
    snprintf(other, sizeof(other), "%s/other", dir);
    lowest_fd = test_lowest_fd();
    return 0;
}

static int teardown(void **state)
{
    unlink(path);
    unlink(other);
    if (test_lowest_fd() != lowest_fd)
        return -1; /* a descriptor is left open */
    return rmdir(dir);
}

static void make_key_file(const char *where, size_t len, mode_t mode)
{
    char bytes[AUTH_KEY_MAX + 2];

    memset(bytes, 'k', sizeof(bytes));
    assert_true(len <= sizeof(bytes));
    unlink(where);
    assert_int_equal(path_write_file(where, bytes, len, 0600, NULL), 0);
    assert_int_equal(chmod(where, mode), 0);
}

static int load_key(struct err *err)
{
    struct auth_key key, before;
    int rc;

    memset(&key, 0x5a, sizeof(key));
    before = key;
    rc = auth_key_load(path, geteuid(), &key, err);
    if (rc < 0)
        assert_memory_equal(&key, &before, sizeof(key));
    return rc;
}

static void key_length_is_checked(void **state)
{
    static const struct {
        size_t len;
        int code;
    } rows[] = {
        {0, -ERR_CONFIG},  {1, -ERR_CONFIG},
        {31, -ERR_CONFIG}, {32, 0},
        {33, 0},           {AUTH_KEY_MAX - 1, 0},
        {AUTH_KEY_MAX, 0}, {AUTH_KEY_MAX + 1, -ERR_TOO_BIG},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        make_key_file(path, rows[i].len, 0600);
        assert_int_equal(load_key(&err), rows[i].code);
        if (rows[i].code)
            assert_non_null(strstr(err.text, path));
    }
}

static void key_file_with_an_open_mode_is_refused(void **state)
{
    for (unsigned bit = 0; bit < 6; bit++) {
        struct err err = {0};
        make_key_file(path, 64, 0600 | 1u << bit);
        assert_int_equal(load_key(&err), -ERR_CONFIG);
        assert_non_null(strstr(err.text, "chmod"));
    }
    make_key_file(path, 64, 0400);
    assert_int_equal(load_key(NULL), 0);
}

static void key_path_must_be_a_regular_file(void **state)
{
    struct err err = {0};

    assert_int_equal(load_key(&err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    make_key_file(other, 64, 0600);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(load_key(&err), -ERR_CONFIG);
    assert_non_null(strstr(err.text, "link"));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(load_key(&err), -ERR_CONFIG);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(load_key(&err) < 0);
    rmdir(path);
}

static void key_file_of_another_user_is_refused(void **state)
{
    struct auth_key key;
    struct err err = {0};

    if (geteuid() != 0)
        skip();
    make_key_file(path, 64, 0600);
    assert_int_equal(chown(path, 4711, 0), 0);
    assert_int_equal(auth_key_load(path, 4712, &key, &err), -ERR_CONFIG);
    assert_non_null(strstr(err.text, "4711"));
    assert_int_equal(auth_key_load(path, 4711, &key, &err), 0);
}

static void created_key_is_private_and_not_overwritten(void **state)
{
    struct auth_key a, b;
    struct err err = {0};
    struct stat st;
    mode_t mask = umask(0);

    assert_int_equal(auth_key_create(path, geteuid(), getegid(), NULL), 0);
    umask(mask);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(auth_key_load(path, geteuid(), &a, NULL), 0);
    assert_int_equal(auth_key_create(path, geteuid(), getegid(), &err), -EEXIST);
    assert_int_equal(auth_key_load(path, geteuid(), &b, NULL), 0);
    assert_memory_equal(&a, &b, sizeof(a));
    unlink(path);
    assert_int_equal(auth_key_create(path, geteuid(), getegid(), NULL), 0);
    assert_int_equal(auth_key_load(path, geteuid(), &b, NULL), 0);
    assert_memory_not_equal(&a, &b, sizeof(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(key_length_is_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(key_file_with_an_open_mode_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(key_path_must_be_a_regular_file, setup, teardown),
        cmocka_unit_test_setup_teardown(key_file_of_another_user_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(created_key_is_private_and_not_overwritten, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
