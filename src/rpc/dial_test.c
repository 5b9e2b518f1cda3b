/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/dial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/rpc.h"

/* Which address is tried, and how long, if each address does not answer ('s') or fails at once
 * ('f'): the last one gets enough time, and the total does not exceed the limit. */
static void addresses_share_the_time_limit(void **state)
{
    static const struct {
        const char *addresses;
        int64_t ms;
        const char *tried;
        int64_t each_ms; /* 0: no limit */
    } rows[] = {
        {"", 1000, ""},
        {"s", 1000, "0:1000 "},
        {"f", 1000, "0:1000 "},
        {"ff", 1000, "0:250 1:250 "},
        {"ss", 10000, "0:250 1:250 0:4750 1:4750 "},
        {"fs", 10000, "0:250 1:250 1:9750 "},
        {"sfs", 1000, "0:166 1:208 2:250 0:292 2:292 "},
        {"ss", 100, "0:25 1:37 0:19 1:19 "},
        {"ss", 0, "0:0 1:0 "},
        {"s", 10000, "0:2000 ", 2000},
        {"s", 1000, "0:1000 ", 2000},
        {"ss", 10000, "0:250 1:250 0:2000 1:2000 ", 2000},
        {"ss", 10000, "0:100 1:100 0:100 1:100 ", 100},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char tried[200] = "";
        struct rpc_tries t;
        int64_t now = 77, ms;
        int at;

        rpc_set_connect_timeout(rows[i].each_ms);
        rpc_tries_init(&t, (int)strlen(rows[i].addresses), now + rows[i].ms);
        while ((at = rpc_tries_next(&t, now, &ms)) >= 0) {
            snprintf(tried + strlen(tried), sizeof(tried) - strlen(tried), "%d:%d ", at, (int)ms);
            if (rows[i].addresses[at] != 's')
                continue;
            rpc_tries_note_timeout(&t);
            now += ms;
        }
        assert_string_equal(tried, rows[i].tried);
        assert_true(now <= 77 + rows[i].ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses_share_the_time_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
