/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "slurmctld/node/payload.h"

#define MAX 4096

static void assert_holds(struct payload_cache *c, uint64_t number, const char *text)
{
    size_t len = 99;
    const char *data = payload_cache_get(c, number, &len);
    if (!text) {
        assert_null(data);
        assert_int_equal(len, 99);
        return;
    }
    assert_non_null(data);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(data, text, len);
}

static void too_large_is_not_kept(void **state)
{
    static const char big[MAX + 1];
    struct payload_cache *c = payload_cache_new(MAX);
    payload_cache_put(c, 1, "one", 3);
    payload_cache_put(c, 2, big, sizeof(big));
    assert_holds(c, 2, NULL);
    assert_holds(c, 1, "one");
    payload_cache_put(c, 1, big, sizeof(big)); /* the old bytes would be wrong now */
    assert_holds(c, 1, NULL);
    payload_cache_free(c);
}

static void kept_replaced_and_dropped(void **state)
{
    struct payload_cache *c = payload_cache_new(MAX);
    assert_holds(c, 1, NULL);
    payload_cache_put(c, 1, "one", 3);
    payload_cache_put(c, 2, "", 0);
    assert_holds(c, 1, "one");
    assert_holds(c, 2, "");
    payload_cache_put(c, 1, "again", 5);
    assert_holds(c, 1, "again");
    payload_cache_drop(c, 1);
    payload_cache_drop(c, 1);
    assert_holds(c, 1, NULL);
    payload_cache_free(c);
}

static void oldest_payload_is_dropped_first(void **state)
{
    static const char block[MAX / 4];
    struct payload_cache *c = payload_cache_new(MAX);
    for (uint64_t i = 1; i <= 10; i++)
        payload_cache_put(c, i, block, sizeof(block));
    for (uint64_t i = 1; i <= 10; i++) {
        size_t len;
        const void *data = payload_cache_get(c, i, &len);
        assert_int_equal(data != NULL, i > 7); /* four would fit without their heads */
    }
    payload_cache_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_large_is_not_kept),
        cmocka_unit_test(kept_replaced_and_dropped),
        cmocka_unit_test(oldest_payload_is_dropped_first),
    };
    return cmocka_run_group_tests_name("payload", tests, NULL, NULL);
}
