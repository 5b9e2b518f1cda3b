/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What formats and rows of a listing share. */
#pragma once

#include "show/listing.h"

struct listing_row {
    char *text; /* with its newline; the keys' texts follow it */
    size_t len;
    struct listing_sort_value {
        int64_t number;
        size_t text_at; /* offset in the row's text */
        bool is_text, natural, last;
    } key[];
};

/* The number of columns a terminal gives to text of len bytes: code points of UTF-8. */
size_t listing_text_width(const char *s, size_t len);
