/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/bitset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Around word boundaries, where errors are likely. */
static const size_t sizes[] = {0, 1, 2, 63, 64, 65, 127, 128, 129, 1000};
#define SIZE_LAST 1000
#define EACH_SIZE(n)                                                                               \
    (size_t k_ = 0, n = 0; k_ < sizeof(sizes) / sizeof(sizes[0]) && (n = sizes[k_], 1); k_++)

static void null_is_freed(void **state)
{
    bitset_free(NULL);
    assert_null(bitset_dup(NULL));
}

static void fill_leaves_the_tail_clear(void **state)
{
    for
        EACH_SIZE(n)
        {
            _cleanup_bitset_ struct bitset *b = bitset_new(n);
            assert_true(bitset_empty(b));
            assert_int_equal(bitset_next(b, 0), -1);
            bitset_fill(b);
            assert_int_equal(bitset_count(b), n);
            assert_int_equal(bitset_next_clear(b, 0), -1);
            assert_int_equal(bitset_next(b, n), -1);
            assert_int_equal(bitset_next(b, n + 1000), -1);
            if (n % 64)
                assert_int_equal(b->word[n / 64] >> (n % 64), 0);
            bitset_zero(b);
            assert_true(bitset_empty(b));
            assert_int_equal(bitset_next_clear(b, 0), n ? 0 : -1);
        }
}

/* The model: one byte per bit. */
struct model {
    struct bitset *bits;
    char bytes[SIZE_LAST + 1];
};

static void check_model(const struct model *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->bits->size; i++) {
        assert_int_equal(bitset_test(m->bits, i), m->bytes[i]);
        count += (size_t)m->bytes[i];
    }
    assert_int_equal(bitset_count(m->bits), count);
    assert_int_equal(bitset_empty(m->bits), count == 0);
    for (size_t from = 0; from <= m->bits->size; from++) {
        const char *set = memchr(m->bytes + from, 1, m->bits->size - from);
        const char *clear = memchr(m->bytes + from, 0, m->bits->size - from);
        assert_int_equal(bitset_next(m->bits, from), set ? set - m->bytes : -1);
        assert_int_equal(bitset_next_clear(m->bits, from), clear ? clear - m->bytes : -1);
    }
    size_t seen = 0;
    bitset_foreach (m->bits, i) {
        assert_int_equal(m->bytes[i], 1);
        seen++;
    }
    assert_int_equal(seen, count);
}

static void draw_model(struct model *m, size_t n, unsigned percent)
{
    m->bits = bitset_new(n);
    memset(m->bytes, 0, sizeof(m->bytes));
    for (size_t i = 0; i < n; i++)
        if ((unsigned)random() % 100 < percent) {
            m->bytes[i] = 1;
            bitset_set(m->bits, i);
        }
}

static void set_range_stays_within_the_bitset(void **state)
{
    static const size_t edges[][2] = {{0, 0},  {0, 1},   {0, 64},  {0, 65},    {63, 1},
                                      {63, 2}, {64, 64}, {1, 200}, {990, 100}, {5, (size_t)-1}};
    for
        EACH_SIZE(n)
        {
            for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++) {
                struct model m;
                draw_model(&m, n, 0);
                size_t first = edges[e][0], count = edges[e][1];
                bitset_set_range(m.bits, first, count);
                for (size_t i = first; i < n && i - first < count; i++)
                    m.bytes[i] = 1;
                check_model(&m);
                bitset_free(m.bits);
            }
        }
}

static void operations_follow_the_model(void **state)
{
    srandom(1);
    for
        EACH_SIZE(n)
        {
            for (unsigned percent = 0; percent <= 100; percent += 25) {
                struct model a, b;
                draw_model(&a, n, percent);
                draw_model(&b, n, 50);
                check_model(&a);
                size_t both = 0, missing = 0;
                for (size_t i = 0; i < n; i++) {
                    both += (size_t)(a.bytes[i] & b.bytes[i]);
                    missing += (size_t)(b.bytes[i] & !a.bytes[i]);
                }
                assert_int_equal(bitset_count_and(a.bits, b.bits), both);
                assert_int_equal(bitset_intersects(a.bits, b.bits), both > 0);
                assert_int_equal(bitset_contains(a.bits, b.bits), missing == 0);
                struct model r[3];
                void (*const op[3])(struct bitset *,
                                    const struct bitset *) = {bitset_and, bitset_or, bitset_andnot};
                for (int k = 0; k < 3; k++) {
                    r[k].bits = bitset_dup(a.bits);
                    assert_true(bitset_equal(r[k].bits, a.bits));
                    op[k](r[k].bits, b.bits);
                    memset(r[k].bytes, 0, sizeof(r[k].bytes));
                    for (size_t i = 0; i < n; i++)
                        r[k].bytes[i] = (char)(k == 0   ? a.bytes[i] & b.bytes[i]
                                               : k == 1 ? a.bytes[i] | b.bytes[i]
                                                        : a.bytes[i] & !b.bytes[i]);
                    check_model(&r[k]);
                    bitset_free(r[k].bits);
                }
                if (n) {
                    bitset_copy(b.bits, a.bits);
                    if (a.bytes[n - 1])
                        bitset_unset(b.bits, n - 1);
                    else
                        bitset_set(b.bits, n - 1);
                    assert_false(bitset_equal(a.bits, b.bits));
                }
                bitset_free(a.bits);
                bitset_free(b.bits);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_freed),
        cmocka_unit_test(fill_leaves_the_tail_clear),
        cmocka_unit_test(set_range_stays_within_the_bitset),
        cmocka_unit_test(operations_follow_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
