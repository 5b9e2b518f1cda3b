/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/mpi/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static int add_fence_data(struct gather *g, uint32_t node, const char *group, uint32_t *nodes,
                          size_t count, const char *data, const struct Pb__PmixFence **all)
{
    struct Pb__PmixFence m = PB__PMIX_FENCE__INIT;

    m.group = (char *)group;
    m.node = nodes;
    m.n_node = count;
    m.has_data = 1;
    m.data.data = (uint8_t *)data;
    m.data.len = strlen(data);
    return gather_part(g, node, &m, all, NULL);
}

static void test_invalid_fences_are_refused(void **state)
{
    uint32_t ok[] = {0, 1}, twice[] = {0, 0}, beyond[] = {0, 3}, others[] = {1, 2};
    struct gather *g = gather_new(3);
    const struct Pb__PmixFence *all = NULL;

    (void)state;
    assert_int_equal(add_fence_data(g, 0, "a", twice, 2, "", &all), -ERR_PROTOCOL);
    assert_int_equal(add_fence_data(g, 0, "a", beyond, 2, "", &all), -ERR_PROTOCOL);
    assert_int_equal(add_fence_data(g, 2, "a", ok, 2, "", &all), -ERR_PROTOCOL);
    assert_int_equal(add_fence_data(g, 9, "a", ok, 2, "", &all), -ERR_PROTOCOL);
    assert_int_equal(add_fence_data(g, 0, "a", ok, 2, "x", &all), 0);
    assert_int_equal(add_fence_data(g, 0, "a", ok, 2, "x", &all), -ERR_PROTOCOL);
    assert_int_equal(add_fence_data(g, 1, "a", others, 2, "x", &all), -ERR_PROTOCOL);
    assert_int_equal(add_fence_data(g, 1, "a", ok, 1, "x", &all), -ERR_PROTOCOL);
    assert_null(all);
    gather_free(g);
}

static void test_groups_meet_independently(void **state)
{
    uint32_t two[] = {0, 2}, three[] = {0, 1, 2};
    struct gather *g = gather_new(3);
    const struct Pb__PmixFence *all = NULL;

    (void)state;
    assert_int_equal(add_fence_data(g, 2, "two", two, 2, "c", &all), 0);
    assert_int_equal(add_fence_data(g, 0, "three", three, 3, "A", &all), 0);
    assert_int_equal(add_fence_data(g, 0, "two", two, 2, "a", &all), 1);
    assert_string_equal(all->group, "two");
    assert_int_equal(all->n_node, 2);
    assert_memory_equal(all->data.data, "ca", 2);
    assert_int_equal(add_fence_data(g, 1, "three", three, 3, "", &all), 0);
    assert_int_equal(add_fence_data(g, 2, "three", three, 3, "C", &all), 1);
    assert_int_equal(all->data.len, 2);
    assert_memory_equal(all->data.data, "AC", 2);
    gather_free(g);
}

static void test_size_of_a_group_is_limited(void **state)
{
    uint32_t two[] = {0, 1};
    struct gather *g = gather_new(2);
    const struct Pb__PmixFence *all = NULL;
    char *much = mem_alloc(GATHER_GROUP_MAX);

    (void)state;
    memset(much, 'x', GATHER_GROUP_MAX - 1);
    assert_int_equal(add_fence_data(g, 0, "a", two, 2, much, &all), 0);
    assert_int_equal(add_fence_data(g, 1, "a", two, 2, "yy", &all), -ERR_LIMIT);
    assert_int_equal(add_fence_data(g, 1, "a", two, 2, "y", &all), 1);
    free(much);
    gather_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_fences_are_refused),
        cmocka_unit_test(test_groups_meet_independently),
        cmocka_unit_test(test_size_of_a_group_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
