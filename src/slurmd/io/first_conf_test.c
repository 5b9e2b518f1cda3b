/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "slurmd/io/first_conf.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct hw machine = {
    .cpus = 16, .boards = 1, .sockets = 1, .cores = 8, .threads = 2, .real_memory_mib = 31848};

static void invalid_node_lines_are_refused(void **state)
{
    static const char *const given[] = {
        "NodeName=a",  "CPUs=2 nodename=a", "CPUs=2\nNodeName=b", "CPUs=2 # x",
        "Feature=a\\", "State=IDLE",        "Feature=a\x01",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(given); i++) {
        struct str out = STR_INIT;
        struct err err = {0};
        if (!first_conf_make_keys(&machine, given[i], &out, &err))
            fail_msg("'%s' was accepted", given[i]);
        assert_non_null(strstr(err.text, "--conf: "));
        assert_int_equal(out.len, 0);
    }
    _cleanup_free_ char *huge = mem_alloc(5000);
    memset(huge, 'x', 4999);
    assert_true(first_conf_make_keys(&machine, huge, NULL, NULL) < 0);
}

/* The examples of Slurm's page. */
static void node_line_describes_the_hardware(void **state)
{
    static const struct {
        const char *given, *line;
    } cases[] = {
        {NULL, "CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=2 "
               "RealMemory=31848"},
        {"", "CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=2 "
             "RealMemory=31848"},
        {"Gres=gpu:2", "CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=2 "
                       "RealMemory=31848 Gres=gpu:2"},
        {"RealMemory=30000", "CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 "
                             "ThreadsPerCore=2 RealMemory=30000"},
        {"CPUs=16", "RealMemory=31848 CPUs=16"},
        {"cpus=16 RealMemory=30000 Gres=gpu:2", "cpus=16 RealMemory=30000 Gres=gpu:2"},
        {"Feature=CPUs=", "CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=2 "
                          "RealMemory=31848 Feature=CPUs="},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str out = STR_INIT;
        struct err err = {0};
        if (first_conf_make_keys(&machine, cases[i].given, &out, &err))
            fail_msg("case %zu: %s", i, err.text);
        assert_string_equal(str_cstr(&out), cases[i].line);
        str_done(&out);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(invalid_node_lines_are_refused),
                                              cmocka_unit_test(node_line_describes_the_hardware)};

    return cmocka_run_group_tests_name("dynamic", tests, NULL, NULL);
}
