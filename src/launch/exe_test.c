/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/exe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define HEAD 64 /* bytes of the ELF header */

static struct str ours; /* this program */

static int read_bytes(const void *data, size_t len, struct exe *out)
{
    int fd = memfd_create("exe", MFD_CLOEXEC), rc;

    assert_int_equal(path_write_all(fd, data, len), 0);
    rc = exe_read_fd(fd, out, NULL);
    close(fd);
    return rc;
}

static void test_other_files_are_not_programs(void **state)
{
    static const char *const texts[] = {"", "\177", "#!/bin/sh\necho\n", "\177ELF",
                                        "hello, world: more than a head"};
    struct exe e = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_not_equal(read_bytes(texts[i], strlen(texts[i]), &e), 0);
    assert_int_equal(exe_read("/nonexistent", &e, NULL), -2);
    assert_int_equal(exe_read("/", &e, NULL), -ERR_PARSE);
    assert_int_equal(exe_read("/dev/zero", &e, NULL), -ERR_PARSE);
    assert_null(e.needed.data);
}

/* Truncated at any byte of the header and the segments, or with any byte of the header changed:
 * reading fails, or at least terminates. */
static void test_damaged_programs_are_survived(void **state)
{
    struct exe e = {0};

    (void)state;
    for (size_t len = 0; len < 1024; len++) {
        assert_int_not_equal(read_bytes(ours.data, len, &e), 0);
        assert_null(e.needed.data);
    }
    for (size_t at = 0; at < HEAD; at++) {
        char kept = ours.data[at];

        for (int value = 0; value < 256; value += 15) {
            ours.data[at] = (char)value;
            if (read_bytes(ours.data, ours.len, &e) == 0)
                exe_done(&e);
        }
        ours.data[at] = kept;
    }
}

static void test_program_of_another_machine_is_refused(void **state)
{
    struct exe e = {0};
    char machine = ours.data[18], class = ours.data[4];

    (void)state;
    ours.data[18] = (char)~machine;
    assert_int_equal(read_bytes(ours.data, ours.len, &e), -ERR_NOT_SUPPORTED);
    ours.data[18] = machine;
    ours.data[4] = 9;
    assert_int_equal(read_bytes(ours.data, ours.len, &e), -ERR_NOT_SUPPORTED);
    ours.data[4] = class;
}

static void test_libraries_of_a_program_are_found(void **state)
{
    struct exe e = {0};
    bool libc = false;

    (void)state;
    assert_int_equal(read_bytes(ours.data, ours.len, &e), 0);
    assert_true(e.dynamic);
    vec_foreach (&e.needed, n)
        libc |= str_starts(*n, "libc.so");
    assert_true(libc);
    exe_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_files_are_not_programs),
        cmocka_unit_test(test_damaged_programs_are_survived),
        cmocka_unit_test(test_program_of_another_machine_is_refused),
        cmocka_unit_test(test_libraries_of_a_program_are_found),
    };
    int failed;

    if (path_read_file("/proc/self/exe", 64u << 20, &ours, NULL) < 0)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    str_done(&ours);
    return failed;
}
