/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "cmd/sbatch/export_file.h"

static char *const own[] = {"PATH=/bin", "FOO=mine", "SLURM_MINE=1", "HOME=/home/u", NULL};

/* Loads this content from a descriptor; errors go to err. */
static int load_export_file(struct envlist *e, const char *data, size_t len, struct err *err)
{
    _cleanup_close_ int fd = memfd_create("export", 0);
    assert_return_code(path_write_all(fd, data, len), 0);
    assert_return_code(lseek(fd, 0, SEEK_SET), 0);
    char where[16];
    snprintf(where, sizeof(where), "%d", fd);
    return export_file_load(e, where, own, err);
}

static void test_what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *data;
        size_t len;
        const char *said;
    } v[] = {
        {"FOO", 3, "entry 1 of "},
        {"A=1\0FOO\n", 8, "entry 2 of "},
        {"A=1\0=x", 6, "entry 2 of "},
        {"A=1\0\0\0B", 7, "entry 4 of "},
    };
    struct envlist e = {0};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct err err = {0};
        assert_int_equal(load_export_file(&e, v[i].data, v[i].len, &err), -ERR_PARSE);
        assert_non_null(strstr(err.text, v[i].said));
        assert_null(e.vars.data);
    }
    struct err err = {0};
    assert_true(export_file_load(&e, "/nonexistent", own, &err) < 0);
    assert_string_equal(err.text,
                        "--export-file: cannot open /nonexistent: No such file or directory");
    assert_true(export_file_load(&e, "/", own, &err) < 0);
    assert_string_equal(err.text, "--export-file: Unable to read /: Is a directory");
    assert_true(export_file_load(&e, "999", own, &err) < 0);
    assert_string_equal(err.text,
                        "--export-file: Unable to read file descriptor 999: Bad file descriptor");
}

static void test_limits(void **state)
{
    size_t len = EXPORT_FILE_BYTES_MAX + 1;
    _cleanup_free_ char *data = mem_alloc(len);
    struct envlist e = {0};
    struct err err = {0};
    memset(data, 'A', len);
    data[1] = '=';
    assert_int_equal(load_export_file(&e, data, len, &err), -ERR_TOO_BIG);
    assert_non_null(strstr(err.text, "more than 4194304 bytes"));
    assert_int_equal(load_export_file(&e, data, EXPORT_FILE_VAR_MAX + 1, &err), -ERR_TOO_BIG);
    assert_non_null(strstr(err.text, "longer than 131071 bytes"));
    assert_int_equal(load_export_file(&e, data, EXPORT_FILE_VAR_MAX, &err), 0);
    envlist_done(&e);
    size_t at = 0;
    for (int i = 0; i <= EXPORT_FILE_VARS_MAX; i++)
        at += (size_t)snprintf(data + at, 16, "V%d=", i) + 1;
    assert_int_equal(load_export_file(&e, data, at, &err), -ERR_TOO_BIG);
    assert_non_null(strstr(err.text, "more than 16384 variables"));
}

static void test_what_is_taken(void **state)
{
    static const char data[] = "FOO=two\nlines\0EMPTY=\0A=b=c\0FOO=last\nof=two\0PATH=/opt\0\0";
    struct envlist e = {0};
    struct err err = {0};
    assert_int_equal(load_export_file(&e, data, sizeof(data), &err), 0);
    assert_string_equal(envlist_get(&e, "FOO"), "last\nof=two");
    assert_string_equal(envlist_get(&e, "EMPTY"), "");
    assert_string_equal(envlist_get(&e, "A"), "b=c");
    assert_string_equal(envlist_get(&e, "PATH"), "/opt");
    assert_string_equal(envlist_get(&e, "SLURM_MINE"), "1");
    assert_string_equal(envlist_get(&e, "HOME"), "/home/u");
    assert_int_equal(e.vars.len, 6);
    envlist_done(&e);
    assert_int_equal(load_export_file(&e, "", 0, &err), 0);
    assert_null(envlist_get(&e, "FOO"));
    envlist_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_what_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
