/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void empty_vector_can_be_walked_and_freed(void **state)
{
    VEC(int) v = {0};
    int seen = 0;
    vec_foreach (&v, p)
        seen++;
    assert_int_equal(seen, 0);
    vec_clear(&v);
    vec_done(&v);
    vec_done(&v);
}

static void elements_are_pushed_popped_and_removed(void **state)
{
    VEC(long) v = {0};
    for (long i = 0; i < 1000; i++)
        vec_push(&v, i * i);
    assert_int_equal(v.len, 1000);
    assert_int_equal(vec_last(&v), 999 * 999);
    assert_int_equal(vec_pop(&v), 999 * 999);
    vec_remove(&v, 0);
    vec_remove(&v, v.len - 1);
    vec_remove(&v, 1); /* 1 4 9 -> 1 9 */
    assert_int_equal(v.len, 996);
    assert_int_equal(v.data[0], 1);
    assert_int_equal(v.data[1], 9);
    assert_int_equal(vec_last(&v), 997 * 997);
    long sum = 0, count = 0;
    vec_foreach (&v, p) {
        sum += *p;
        count++;
    }
    assert_int_equal(count, 996);
    assert_int_equal(sum, 997L * 998 * 1995 / 6 - 4);
    size_t room = v.room;
    vec_clear(&v);
    assert_int_equal(v.len, 0);
    assert_int_equal(v.room, room);
    vec_done(&v);
    assert_null(v.data);
}

static void reserved_space_is_used_by_pushes(void **state)
{
    VEC(int) v = {0};
    vec_reserve(&v, 100);
    assert_int_equal(v.len, 0);
    int *data = v.data;
    for (int i = 0; i < 100; i++)
        vec_push(&v, i);
    assert_ptr_equal(v.data, data);
    vec_reserve(&v, 10);
    assert_int_equal(v.room, 100);
    vec_push(&v, 100);
    assert_int_equal(v.data[100], 100);
    vec_done(&v);
}

static void trim_frees_unused_space(void **state)
{
    VEC(int) v = {0};
    vec_trim(&v);
    assert_null(v.data);
    for (int i = 0; i < 100000; i++)
        vec_push(&v, i);
    size_t room = v.room;
    v.len = room / 4;
    vec_trim(&v);
    assert_int_equal(v.room, room);
    v.len = 10000;
    vec_trim(&v);
    assert_int_equal(v.room, 20000);
    assert_int_equal(v.data[9999], 9999);
    vec_clear(&v);
    vec_trim(&v);
    assert_int_equal(v.room, VEC_KEPT);
    vec_trim(&v);
    assert_int_equal(v.room, VEC_KEPT);
    vec_done(&v);
}

static void lower_bound_is_found(void **state)
{
    static const struct {
        int number;
        size_t at;
    } vectors[] = {{-1, 0}, {0, 0}, {1, 1}, {2, 1}, {7, 3}, {8, 5}, {9, 6}};
    VEC(int) v = {0};
    assert_int_equal(vec_lower(&v, p, *p < 5), 0);
    static const int sorted[] = {0, 2, 6, 7, 7, 8};
    for (size_t i = 0; i < sizeof sorted / sizeof sorted[0]; i++)
        vec_push(&v, sorted[i]);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        assert_int_equal(vec_lower(&v, p, *p < vectors[i].number), vectors[i].at);
    vec_done(&v);
}

/* As many elements as its lengths can count, and no more. */
static void vector_of_small_lengths_is_bounded(void **state)
{
    VEC32(char) v = {0};
    for (int i = 0; i < 100; i++)
        vec_push(&v, (char)i);
    assert_int_equal(v.len, 100);
    assert_int_equal(v.data[99], 99);
    assert_int_equal(sizeof v, sizeof(char *) + 8);
    void *data = v.data;
    assert_int_equal(vec_grow(&data, 128, 1, 200), 200);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_vector_can_be_walked_and_freed),
        cmocka_unit_test(elements_are_pushed_popped_and_removed),
        cmocka_unit_test(reserved_space_is_used_by_pushes),
        cmocka_unit_test(trim_frees_unused_space),
        cmocka_unit_test(lower_bound_is_found),
        cmocka_unit_test(vector_of_small_lengths_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
