/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "slurmd/node/caller_address.h"

/* ADR 0004: a claimed address is only used if it belongs to this host, and for local callers
   only. */
static void test_address_of_the_caller_is_found(void **state)
{
    static const struct {
        const char *peer;
        char *claimed[6];
        const char *back;
    } vectors[] = {
        {"10.0.0.1:4711", {"127.0.0.2"}, "10.0.0.1"},
        {"[::1]:4711", {"127.0.0.2"}, "::1"},
        {"local uid 1000", {NULL}, "127.0.0.1"},
        {"local uid 1000", {"203.0.113.7", "127.0.0.2"}, "127.0.0.2"},
        {"local uid 1000", {"203.0.113.7"}, "127.0.0.1"},
        {"local uid 1000", {"2001:db8::1", "", "localhost", "127.0.0.1 "}, "127.0.0.1"},
        {"local uid 1000", {"x", "x", "x", "x", "127.0.0.2"}, "127.0.0.1"}, /* too many */
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        size_t count = 0;
        char *back;

        while (count < 6 && vectors[i].claimed[count])
            count++;
        back = caller_address(vectors[i].peer, vectors[i].claimed, count);
        assert_string_equal(back, vectors[i].back);
        free(back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_address_of_the_caller_is_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
