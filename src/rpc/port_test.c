/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/port.h"

int64_t __real_loop_mono_ms(void);
int64_t __wrap_loop_mono_ms(void);
int64_t __wrap_loop_mono_ms(void)
{
    return __real_loop_mono_ms();
}

#define HEAD                                                                                       \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "  \
    "inode\n"
#define LISTENS                                                                                    \
    "   0: 0100007F:1AA1 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "  \
    "12345 1 0000000000000000 100 0 0 10 0\n"
#define CONNECTED                                                                                  \
    "   1: 0100007F:1AA1 0100007F:D431 01 00000000:00000000 00:00000000 00000000     7        0 "  \
    "12346 1 0000000000000000 20 4 30 10 -1\n"
#define OTHER                                                                                      \
    "   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "  \
    "12347 1 0000000000000000 100 0 0 10 0\n"
#define LISTENS_V6                                                                                 \
    "   3: 00000000000000000000000000000000:1AA1 00000000000000000000000000000000:0000 0A "        \
    "00000000:00000000 00:00000000 00000000 65534        0 12348 1 0000000000000000 100 0 0 10 "   \
    "0\n"

static void the_owner_of_a_port_is_found(void **state)
{
    static const struct {
        const char *table;
        int found;
        uid_t uid;
        bool listens;
    } cases[] = {
        {"", 0, 0, false},
        {HEAD, 0, 0, false},
        {HEAD OTHER, 0, 0, false},
        {"rubbish\n\n" HEAD "  x: 1AA1\n" LISTENS, 1, 1000, true},
        {HEAD OTHER LISTENS CONNECTED, 1, 1000, true},
        {HEAD CONNECTED LISTENS, 1, 1000, true},
        {HEAD CONNECTED OTHER, 1, 7, false},
        {HEAD LISTENS_V6, 1, 65534, true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FILE *f = fmemopen((char *)cases[i].table, strlen(cases[i].table) + 1, "r");
        uid_t uid = 0;
        bool listens = false;

        assert_int_equal(rpc_port_find(f, 6817, &uid, &listens), cases[i].found);
        assert_int_equal(uid, cases[i].uid);
        assert_int_equal(listens, cases[i].listens);
        fclose(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_owner_of_a_port_is_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
