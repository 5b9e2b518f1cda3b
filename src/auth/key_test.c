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

static void make(const char *where, size_t len, mode_t mode)
{
    char bytes[AUTH_KEY_MAX + 2];

    memset(bytes, 'k', sizeof(bytes));
    assert_true(len <= sizeof(bytes));
    unlink(where);
    assert_int_equal(path_write_file(where, bytes, len, 0600, NULL), 0);
    assert_int_equal(chmod(where, mode), 0);
}

static int load(struct err *err)
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

static void lengths(void **state)
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
        make(path, rows[i].len, 0600);
        assert_int_equal(load(&err), rows[i].code);
        if (rows[i].code)
            assert_non_null(strstr(err.text, path));
    }
}

static void modes(void **state)
{
    for (unsigned bit = 0; bit < 6; bit++) {
        struct err err = {0};
        make(path, 64, 0600 | 1u << bit);
        assert_int_equal(load(&err), -ERR_CONFIG);
        assert_non_null(strstr(err.text, "chmod"));
    }
    make(path, 64, 0400);
    assert_int_equal(load(NULL), 0);
}

static void not_a_file(void **state)
{
    struct err err = {0};

    assert_int_equal(load(&err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    make(other, 64, 0600);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(load(&err), -ERR_CONFIG);
    assert_non_null(strstr(err.text, "link"));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(load(&err), -ERR_CONFIG);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(load(&err) < 0);
    rmdir(path);
}

static void owner(void **state)
{
    struct auth_key key;
    struct err err = {0};

    if (geteuid() != 0)
        skip();
    make(path, 64, 0600);
    assert_int_equal(chown(path, 4711, 0), 0);
    assert_int_equal(auth_key_load(path, 4712, &key, &err), -ERR_CONFIG);
    assert_non_null(strstr(err.text, "4711"));
    assert_int_equal(auth_key_load(path, 4711, &key, &err), 0);
}

static void created(void **state)
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
        cmocka_unit_test_setup_teardown(lengths, setup, teardown),
        cmocka_unit_test_setup_teardown(modes, setup, teardown),
        cmocka_unit_test_setup_teardown(not_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(owner, setup, teardown),
        cmocka_unit_test_setup_teardown(created, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
