/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "slurmd/node/hw.h"

static void test_hardware_of_this_machine_is_detected(void **state)
{
    struct hw hw = {0};

    assert_int_equal(hw_detect("/no/such/place", NULL, &hw, NULL), 0);
    assert_int_equal(hw.tmp_disk_mib, 0);
    assert_int_equal(hw_detect("/tmp", NULL, &hw, NULL), 0);
    assert_int_equal(hw.boards, 1);
    assert_true(hw.cpus >= 1 && hw.sockets >= 1 && hw.cores >= 1 && hw.threads >= 1);
    assert_true(hw.sockets * hw.cores * hw.threads <= hw.cpus);
    assert_true(hw.real_memory_mib > 0 && hw.tmp_disk_mib > 0);
    assert_false(hw_changed("/tmp", &hw));
    hw.real_memory_mib--;
    assert_true(hw_changed("/tmp", &hw));
}

/* numa_node_as_socket and l3cache_as_socket, on machines that hwloc makes up. */
static void test_parameters_decide_what_a_socket_is(void **state)
{
    static const struct {
        const char *machine, *parameters;
        uint32_t sockets, cores, threads;
    } v[] = {
        {"pack:2 l3:4 core:2 pu:2", NULL, 2, 8, 2},
        {"pack:2 l3:4 core:2 pu:2", "config_overrides", 2, 8, 2},
        {"pack:2 l3:4 core:2 pu:2", "config_overrides,l3cache_as_socket", 8, 2, 2},
        {"pack:2 [numa] l3:4 core:2 pu:2", "l3cache_as_socket", 8, 2, 2},
        {"pack:2 group:2 [numa] l3:2 core:2 pu:2", "numa_node_as_socket", 4, 4, 2},
        {"pack:2 group:2 [numa] [numa] core:4 pu:1", "numa_node_as_socket", 4, 4, 1},
        {"pack:2 l3:1 core:4 pu:1", "l3cache_as_socket", 2, 4, 1},
        {"pack:2 core:4 pu:1", "l3cache_as_socket", 2, 4, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct hw hw = {0};
        setenv("HWLOC_SYNTHETIC", v[i].machine, 1);
        assert_int_equal(hw_detect("/tmp", v[i].parameters, &hw, NULL), 0);
        if (hw.sockets != v[i].sockets || hw.cores != v[i].cores || hw.threads != v[i].threads)
            fail_msg("%s, %s: %u:%u:%u", v[i].machine, v[i].parameters, hw.sockets, hw.cores,
                     hw.threads);
    }
    unsetenv("HWLOC_SYNTHETIC");
}

static void test_hardware_is_formatted(void **state)
{
    static const struct {
        int64_t up;
        const char *text;
    } vectors[] = {
        {0, "UpTime=0-00:00:00\n"},
        {59, "UpTime=0-00:00:59\n"},
        {86399, "UpTime=0-23:59:59\n"},
        {86400 * 400 + 3661, "UpTime=400-01:01:01\n"},
    };
    struct hw hw = {16, 1, 2, 4, 2, 64000, 99, 16};

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct str out = STR_INIT;
        struct str want = STR_INIT;

        hw_format(&hw, "lx1", vectors[i].up, &out);
        str_printf(&want,
                   "NodeName=lx1 CPUs=16 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 "
                   "ThreadsPerCore=2 RealMemory=64000\n%s",
                   vectors[i].text);
        assert_string_equal(str_cstr(&out), str_cstr(&want));
        str_done(&out);
        str_done(&want);
    }
}

/* Two sockets of two cores of two threads; the kernel counts the second threads last. */
static struct hw machine = {
    .cpus = 8,
    .mapped = 8,
    .cpu = {{0, 0}, {4, 0}, {1, 0}, {5, 0}, {2, 1}, {6, 1}, {3, 1}, {7, 1}},
};

static const struct {
    const char *what;
    struct conf_node_row row;
    const char *expect; /* NULL: it cannot be told */
} rows[] = {
    {"as it is",
     {.cpus = 8, .sockets = 2, .cores = 2, .threads = 2},
     "0 4 1 5 2 6 3 7 each 1 threads 2 socket 4"},
    {"CPUs are cores",
     {.cpus = 4, .sockets = 2, .cores = 2, .threads = 2},
     "0 4 1 5 2 6 3 7 each 2 threads 1 socket 2"},
    {"CPUs are sockets",
     {.cpus = 2, .sockets = 2, .cores = 2, .threads = 2},
     "0 4 1 5 2 6 3 7 each 4 threads 1 socket 1"},
    {"fewer", {.cpus = 2, .sockets = 2, .cores = 1, .threads = 1}, "0 4 each 1 threads 1 socket 1"},
    {"one", {.cpus = 1, .sockets = 1, .cores = 1, .threads = 1}, "0 each 1 threads 1 socket 1"},
    {"more", {.cpus = 9, .sockets = 9, .cores = 1, .threads = 1}, NULL},
    {"more threads", {.cpus = 4, .sockets = 1, .cores = 4, .threads = 4}, NULL},
    {"none", {.cpus = 0, .sockets = 1, .cores = 1, .threads = 1}, NULL},
};

static void test_cpus_are_mapped_to_kernel_numbers(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_arena_ struct arena arena;
        _cleanup_str_ struct str got = STR_INIT;
        struct err err = {0};
        arena_init(&arena, 0);
        const Pb__CpuMap *m = hw_map_cpus(&machine, &rows[i].row, &arena, &err);
        print_message("%s\n", rows[i].what);
        assert_int_equal(m == NULL, rows[i].expect == NULL);
        if (!m) {
            assert_int_equal(err.code, -ERR_NODE_CONFIG);
            continue;
        }
        for (size_t k = 0; k < m->n_number; k++) {
            str_printf(&got, "%u ", m->number[k]);
            assert_int_equal(m->numa[k], m->number[k] % 4 >= 2);
        }
        str_printf(&got, "each %u threads %u socket %u", m->each, m->threads, m->per_socket);
        assert_string_equal(str_cstr(&got), rows[i].expect);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hardware_of_this_machine_is_detected),
                                       cmocka_unit_test(test_parameters_decide_what_a_socket_is),
                                       cmocka_unit_test(test_hardware_is_formatted),
                                       cmocka_unit_test(test_cpus_are_mapped_to_kernel_numbers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
