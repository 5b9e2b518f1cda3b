/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/symbols.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_table_has_the_functions_of_the_library(void **state)
{
    struct {
        size_t (*strlen)(const char *text);
        int (*atoi)(const char *text);
        void *missing;
    } table = {0};
    const struct symbol symbols[] = {
        {"strlen", (size_t)((char *)&table.strlen - (char *)&table)},
        {"atoi", (size_t)((char *)&table.atoi - (char *)&table)},
        {"no_such_function", (size_t)((char *)&table.missing - (char *)&table)},
    };
    void *library = dlopen(NULL, RTLD_NOW);
    (void)state;
    assert_non_null(library);
    assert_null(symbols_find(library, symbols, 2, &table));
    assert_int_equal(table.strlen("four"), 4);
    assert_int_equal(table.atoi("17"), 17);
    assert_string_equal(symbols_find(library, symbols, 3, &table), "no_such_function");
    assert_null(table.missing);
    dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_the_functions_of_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
