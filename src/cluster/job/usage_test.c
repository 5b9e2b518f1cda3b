/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "cluster/job/usage.h"

#define CPU PB__USAGE_KIND__USAGE_CPU_USEC
#define RSS PB__USAGE_KIND__USAGE_RSS_KIB

static Pb__UsageMark make_mark(enum _Pb__UsageKind kind, uint64_t value, uint32_t task)
{
    Pb__UsageMark m = PB__USAGE_MARK__INIT;

    m.kind = kind;
    m.value = value;
    m.has_task = true;
    m.task = task;
    return m;
}

static void test_empty_usage_changes_nothing(void **state)
{
    _cleanup_arena_ struct arena arena;
    Pb__Usage all = PB__USAGE__INIT, none = PB__USAGE__INIT;

    arena_init(&arena, 0);
    usage_merge(&all, &none, "n1", &arena);
    assert_false(all.has_user_usec || all.has_max_rss_kib || all.has_tasks || all.n_most);
}

static void test_sums_and_marks(void **state)
{
    _cleanup_arena_ struct arena arena;
    Pb__Usage all = PB__USAGE__INIT, one = PB__USAGE__INIT, two = PB__USAGE__INIT;
    Pb__UsageMark marks[] = {make_mark(CPU, 5, 0), make_mark(RSS, 100, 0), make_mark(CPU, 7, 3),
                             make_mark(RSS, 100, 3)};
    Pb__UsageMark *first[] = {&marks[0], &marks[1]}, *second[] = {&marks[2], &marks[3]};

    arena_init(&arena, 0);
    one.has_user_usec = one.has_max_rss_kib = one.has_tasks = one.has_rss_kib = true;
    one.user_usec = 10;
    one.max_rss_kib = 100;
    one.rss_kib = 60;
    one.tasks = 2;
    one.most = one.least = first;
    one.n_most = one.n_least = 2;
    two = one;
    two.max_rss_kib = 90;
    two.most = two.least = second;
    usage_merge(&all, &one, "n1", &arena);
    usage_merge(&all, &two, "n2", &arena);
    assert_true(all.user_usec == 20 && all.max_rss_kib == 100 && all.rss_kib == 120);
    assert_true(all.tasks == 4 && all.n_most == 2 && all.n_least == 2);
    assert_true(all.most[0]->value == 7 && all.most[0]->task == 3);
    assert_string_equal(all.most[0]->node, "n2");
    assert_string_equal(all.most[1]->node, "n1"); /* the first of equal ones */
    assert_true(all.least[0]->value == 5 && all.least[0]->task == 0);
    assert_string_equal(all.least[0]->node, "n1");
    assert_null(marks[0].node);
}

/* A node may report arbitrary values. */
static void test_arbitrary_values_of_a_node_are_survived(void **state)
{
    _cleanup_arena_ struct arena arena;
    Pb__Usage all = PB__USAGE__INIT, bad = PB__USAGE__INIT;
    Pb__UsageMark marks[20], *list[20];

    arena_init(&arena, 0);
    for (int i = 0; i < 20; i++) {
        marks[i] = make_mark((enum _Pb__UsageKind)(i - 5), (uint64_t)i, 0);
        list[i] = &marks[i];
    }
    bad.most = bad.least = list;
    bad.n_most = bad.n_least = 20;
    bad.has_user_usec = bad.has_tasks = true;
    bad.user_usec = UINT64_MAX - 1;
    bad.tasks = UINT32_MAX - 1;
    for (int i = 0; i < 3; i++)
        usage_merge(&all, &bad, NULL, &arena);
    assert_true(all.user_usec == UINT64_MAX && all.tasks == UINT32_MAX);
    assert_true(all.n_most == 6 && all.n_least == 6);
}

static void test_usage_is_packed_and_unpacked(void **state)
{
    struct str packed = STR_INIT;
    Pb__Usage one = PB__USAGE__INIT, *all;
    Pb__UsageMark m = make_mark(RSS, 100, 2), *list[] = {&m};

    one.has_sys_usec = true;
    one.sys_usec = 7;
    one.most = list;
    one.n_most = 1;
    usage_merge_packed(&packed, &one, "n1", true);
    usage_merge_packed(&packed, &one, "n2", true);
    all = pb_unpack(&pb__usage__descriptor, packed.data, packed.len);
    assert_true(all->sys_usec == 14 && all->n_most == 1);
    assert_string_equal(all->most[0]->node, "n1");
    pb__usage__free_unpacked(all, NULL);
    usage_merge_packed(&packed, &one, "n2", false);
    all = pb_unpack(&pb__usage__descriptor, packed.data, packed.len);
    assert_true(all->sys_usec == 21 && all->n_most == 0);
    pb__usage__free_unpacked(all, NULL);
    str_clear(&packed);
    str_puts(&packed, "\xff"); /* damaged: new usage counts */
    usage_merge_packed(&packed, &one, "n2", false);
    all = pb_unpack(&pb__usage__descriptor, packed.data, packed.len);
    assert_int_equal(all->sys_usec, 7);
    pb__usage__free_unpacked(all, NULL);
    str_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_usage_changes_nothing),
        cmocka_unit_test(test_sums_and_marks),
        cmocka_unit_test(test_arbitrary_values_of_a_node_are_survived),
        cmocka_unit_test(test_usage_is_packed_and_unpacked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
