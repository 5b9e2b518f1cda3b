/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of listings: the title of each field, alone and cut to three columns, right-justified.
 */
#pragma once

#include "show/listing.h"

struct title {
    const char *field, *title;
};

/* Right-justified titles of host lists are not cut. */
static bool is_whole(const char *title)
{
    static const char *const whole[] = {"NODELIST", "NODELIST(REASON)", "SCHEDNODES", "HOSTNAMES",
                                        "NODE_ADDR"};
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        if (str_eq(title, whole[i]))
            return true;
    return false;
}

static void check_titles(const struct listing_table *table, const struct title *v, size_t count,
                         bool by_letter)
{
    for (size_t i = 0; i < count; i++) {
        static const char *const forms[2][3] = {{"%s", "%s:3", "%s:.3"},
                                                {"%%%s", "%%3%s", "%%.3%s"}};
        const char *title = v[i].title;
        for (int form = 0; form < 3; form++) {
            _cleanup_str_ struct str out = STR_INIT, format = STR_INIT, want = STR_INIT;
            struct listing l;
            str_printf(&format, forms[by_letter][form], v[i].field);
            if (form == 0)
                str_printf(&want, by_letter ? "%s\n" : "%-20s\n", title);
            else if (form == 2 && is_whole(title))
                str_printf(&want, "%s\n", title);
            else
                str_printf(&want, form == 2 ? "%3.3s\n" : "%-3.3s\n", title);
            listing_init(&l, table);
            if (by_letter)
                listing_set_letters(&l, str_cstr(&format));
            else
                listing_set_names(&l, str_cstr(&format));
            listing_print_header(&l, &out);
            assert_string_equal(str_cstr(&out), str_cstr(&want));
            listing_done(&l);
        }
    }
}
