/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/bind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

static const struct {
    bool memory;
    const char *text, *expect; /* expect NULL: rejected */
} rows[] = {
    {false, "none", "1"},
    {false, "no", "1"},
    {false, "cores", "3"},
    {false, "core", "3"},
    {false, "Threads", "2"},
    {false, "sockets", "4"},
    {false, "ldoms", "5"},
    {false, "rank", "6"},
    {false, "rank_ldom", "9"},
    {false, "verbose", "0 verbose"},
    {false, "v,cores", "3 verbose"},
    {false, "cores,v", "3 verbose"},
    {false, "quiet,mask_cpu:0x1,f", "8 quiet 0x1 f"},
    {false, "map_cpu:0*2,3", "7 0 0 3"},
    {false, "map_cpu=1", "7 1"},
    {false, "map_ldom:1", "10 1"},
    {false, "mask_ldom:0x3*3", "11 0x3 0x3 0x3"},
    {false, "", "0"},
    {false, "help", "help"},
    {false, "core,thread", NULL},
    {false, "n", NULL},
    {false, "cpu", NULL},
    {false, "coresx", NULL},
    {false, "cores:1", NULL},
    {false, "map_cpu", NULL},
    {false, "map_cpu:", NULL},
    {false, "map_cpu:,", NULL},
    {false, "map_cpu:1,,2", NULL},
    {false, "map_cpu:*4", NULL},
    {false, "map_cpu:1*", NULL},
    {false, "map_cpu:1*x", NULL},
    {false, "map_cpu:1*-1", NULL},
    {false, "map_cpu:1*65537", NULL},
    {false, "map_cpu:1*99999999999999999999", NULL},
    {false, "local", NULL},
    {true, "local", "12"},
    {true, "p,local", "12 prefer"},
    {true, "v,prefer,map_mem:0,1", "7 verbose prefer 0 1"},
    {true, "mask_mem:0x1*2", "8 0x1 0x1"},
    {true, "sort,local", "12"},
    {true, "cores", NULL},
    {true, "map_cpu:1", NULL},
};

static void format_bind(const Pb__Bind *b, struct str *out)
{
    str_printf(out, "%d", (int)b->kind);
    str_puts(out, b->verbose ? " verbose" : b->quiet ? " quiet" : "");
    str_puts(out, b->prefer ? " prefer" : "");
    for (size_t i = 0; i < b->n_list; i++)
        str_printf(out, " %s", b->list[i]);
}

static void test_bind_words_are_parsed(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_arena_ struct arena arena;
        _cleanup_str_ struct str got = STR_INIT;
        struct err err = {0};
        Pb__Bind *b = NULL;
        arena_init(&arena, 0);
        int rc =
            (rows[i].memory ? bind_read_memory : bind_read_cpu)(rows[i].text, &arena, &b, &err);
        print_message("%s\n", rows[i].text);
        if (!rows[i].expect) {
            assert_int_equal(rc, -ERR_BIND);
            assert_non_null(strstr(err.text, rows[i].text));
            continue;
        }
        if (rc == 1)
            str_puts(&got, "help");
        else
            format_bind(b, &got);
        assert_string_equal(str_cstr(&got), rows[i].expect);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bind_words_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
