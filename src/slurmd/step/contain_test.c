/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "slurmd/step/contain.h"

#define MIB (UINT64_C(1) << 20)
#define NODE 1000 /* MiB */

static const struct conf_cgroup usual = {.allowed_ram_space_bp = 10000,
                                         .max_ram_percent_bp = 10000,
                                         .max_swap_percent_bp = 10000,
                                         .min_ram_space_mib = 30,
                                         .memory_swappiness = UINT32_MAX};

struct memory_row {
    bool ram, swap;
    uint32_t ram_bp, swap_bp, max_ram_bp, max_swap_bp;
    uint64_t given;
    uint64_t soft, hard, with_swap; /* MiB */
};

static void test_memory_limits_follow_the_configuration(void **state)
{
    static const struct memory_row rows[] = {
        {false, false, 10000, 0, 10000, 10000, 100, 0, 0, 0},
        {true, false, 10000, 0, 10000, 10000, 100, 100, 100, 0},
        {true, false, 15000, 0, 10000, 10000, 100, 100, 150, 0},
        {true, false, 5000, 0, 10000, 10000, 100, 50, 50, 0},
        {true, false, 10000, 0, 10000, 10000, 1, 1, 30, 0},         /* MinRAMSpace */
        {true, false, 10000, 0, 10000, 10000, 5000, 1000, 1000, 0}, /* no more than there is */
        {true, false, 10000, 0, 8000, 10000, 900, 800, 800, 0},
        {true, false, 10000, 0, 8000, 10000, 0, 0, 800, 0}, /* nothing was given */
        {true, true, 10000, 0, 10000, 10000, 100, 100, 100, 100},
        {true, true, 10000, 5000, 10000, 10000, 100, 100, 100, 150},
        {true, true, 10000, 5000, 10000, 1000, 200, 200, 200,
         200}, /* MaxSwapPercent: never below RAM */
        {true, true, 10000, 5000, 10000, 12000, 1000, 1000, 1000, 1200},
        {false, true, 5000, 5000, 10000, 10000, 100, 100, 150, 150}, /* RAM is as much as both */
        {false, true, 10000, 0, 10000, 10000, 0, 0, 1000, 1000},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct memory_row *r = &rows[i];
        struct conf_cgroup c = usual;
        struct cgroup_memory_limit got;

        c.constrain_ram_space = r->ram;
        c.constrain_swap_space = r->swap;
        c.allowed_ram_space_bp = r->ram_bp;
        c.allowed_swap_space_bp = r->swap_bp;
        c.max_ram_percent_bp = r->max_ram_bp;
        c.max_swap_percent_bp = r->max_swap_bp;
        contain_limit(&c, NODE, r->given, &got);
        if (got.soft != r->soft * MIB || got.hard != r->hard * MIB ||
            got.with_swap != r->with_swap * MIB || got.swappiness != -1)
            fail_msg("row %zu: %llu %llu %llu", i, (unsigned long long)(got.soft / MIB),
                     (unsigned long long)(got.hard / MIB),
                     (unsigned long long)(got.with_swap / MIB));
    }
}

static void test_extreme_memory_limits_do_not_overflow(void **state)
{
    struct conf_cgroup c = usual;
    struct cgroup_memory_limit got;

    c.constrain_ram_space = c.constrain_swap_space = true;
    c.allowed_ram_space_bp = c.max_ram_percent_bp = c.max_swap_percent_bp = 100000000;
    c.memory_swappiness = 7;
    contain_limit(&c, UINT64_MAX, UINT64_MAX, &got);
    assert_true(got.hard == INT64_MAX && got.with_swap >= got.hard && got.soft <= got.hard);
    assert_int_equal(got.swappiness, 7);
}

struct cpu_row {
    uint32_t each; /* CPUs of the machine in one of the configuration */
    uint32_t count;
    uint8_t set[2];
    const char *list; /* NULL: there are none */
};

/* The kernel counts the second threads of all four cores behind the first ones. */
static void test_units_become_cpus_of_the_kernel(void **state)
{
    static const struct cpu_row rows[] = {
        {1, 8, {0xff}, "0-7"},      {1, 8, {0x01}, "0"},       {1, 8, {0x03}, "0,4"},
        {1, 8, {0x0f}, "0-1,4-5"},  {1, 8, {0xc0}, "3,7"},     {2, 8, {0x01}, "0,4"},
        {2, 8, {0x0a}, "1,3,5,7"},  {1, 2, {0xfe, 0xff}, "4"}, {1, 8, {0x00}, NULL},
        {1, 8, {0x00, 0xff}, NULL}, {0, 8, {0x01}, "0"},
    };
    uint32_t numbers[8];

    for (uint32_t i = 0; i < 8; i++)
        numbers[i] = i / 2 + i % 2 * 4;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        Pb__CpuMap map = PB__CPU_MAP__INIT;
        _cleanup_str_ struct str list = STR_INIT;

        map.number = numbers;
        map.n_number = rows[i].count;
        map.each = rows[i].each;
        assert_int_equal(
            contain_cpus(&map, (ProtobufCBinaryData){2, (uint8_t *)rows[i].set}, &list),
            rows[i].list != NULL);
        if (rows[i].list)
            assert_string_equal(str_cstr(&list), rows[i].list);
    }
    numbers[0] = UINT32_MAX;
    assert_false(contain_cpus(&(Pb__CpuMap){.number = numbers, .n_number = 1},
                              (ProtobufCBinaryData){1, (uint8_t *)"\xff"}, &(struct str){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_limits_follow_the_configuration),
        cmocka_unit_test(test_extreme_memory_limits_do_not_overflow),
        cmocka_unit_test(test_units_become_cpus_of_the_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
