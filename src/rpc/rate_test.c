/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/rate.h"

int64_t __wrap_loop_mono_ms(void);
int64_t __wrap_loop_mono_ms(void)
{
    return 0;
}

static unsigned take_tokens(struct rpc_rate *r, uid_t uid, unsigned times, int64_t now_ms)
{
    unsigned got = 0;

    for (unsigned i = 0; i < times; i++)
        got += rpc_rate_take(r, uid, 1, now_ms);
    return got;
}

static void a_bucket_empties_and_fills(void **state)
{
    static const struct {
        int64_t at_ms;
        unsigned asks, gets;
    } v[] = {
        {5000, 40, 30}, /* the size of the bucket */
        {5999, 1, 0},   /* a period is not over */
        {6000, 5, 2},   /* it is */
        {6900, 5, 0},
        {7000, 1, 1}, /* counted from its beginning */
        {8000, 9, 3}, /* one was left */
        {9000, 0, 0},
        {10000, 9, 4},           /* two periods */
        {9000, 1, 0},            /* a clock that went back gives nothing */
        {1000000, 50, 30},       /* no more than it holds */
        {INT64_MAX / 2, 50, 30}, /* nothing overflows */
    };
    struct rpc_rate *r = rpc_rate_new(
        &(struct rpc_rate_options){.bucket = 30, .refill = 2, .period_ms = 1000, .users = 8});

    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        assert_int_equal(take_tokens(r, 1000, v[i].asks, v[i].at_ms), v[i].gets);
    rpc_rate_free(r);
}

static void users_do_not_share(void **state)
{
    struct rpc_rate *r = rpc_rate_new(
        &(struct rpc_rate_options){.bucket = 3, .refill = 1, .period_ms = 1000, .users = 8});

    assert_int_equal(take_tokens(r, 1, 100, 0), 3);
    assert_int_equal(take_tokens(r, 2, 100, 0), 3);
    assert_int_equal(take_tokens(r, 1, 100, 1000), 1);
    rpc_rate_free(r);
}

static void the_table_is_bounded(void **state)
{
    struct rpc_rate *r = rpc_rate_new(
        &(struct rpc_rate_options){.bucket = 2, .refill = 1, .period_ms = 1000, .users = 3});

    assert_int_equal(take_tokens(r, 1, 9, 0), 2);
    for (uid_t uid = 2; uid <= 10; uid++) {
        assert_int_equal(take_tokens(r, uid, 9, 0), 2);
        assert_int_equal(take_tokens(r, 1, 9, 0), 0); /* a user who keeps asking is remembered */
    }
    assert_int_equal(take_tokens(r, 2, 9, 0), 2); /* the user with the oldest request is dropped */
    rpc_rate_free(r);
}

static void empty_bucket_without_a_refill_stays_empty(void **state)
{
    struct rpc_rate *r = rpc_rate_new(
        &(struct rpc_rate_options){.bucket = 1, .refill = 0, .period_ms = 1, .users = 1});

    assert_int_equal(take_tokens(r, 1, 9, 0), 1);
    assert_int_equal(take_tokens(r, 1, 9, 1000000), 0);
    rpc_rate_free(r);
}

static void spent_tokens_count_afterwards(void **state)
{
    struct rpc_rate *r = rpc_rate_new(
        &(struct rpc_rate_options){.bucket = 10, .refill = 2, .period_ms = 100, .users = 2});

    rpc_rate_spend(r, 1, 7, 0);
    assert_int_equal(take_tokens(r, 1, 9, 0), 3);
    assert_int_equal(take_tokens(r, 2, 9, 0), 9);
    rpc_rate_spend(r, 1, UINT32_MAX, 100); /* no more than there are */
    assert_int_equal(take_tokens(r, 1, 9, 199), 0);
    assert_int_equal(take_tokens(r, 1, 9, 200), 2);
    rpc_rate_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_empties_and_fills),
        cmocka_unit_test(users_do_not_share),
        cmocka_unit_test(the_table_is_bounded),
        cmocka_unit_test(empty_bucket_without_a_refill_stays_empty),
        cmocka_unit_test(spent_tokens_count_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
