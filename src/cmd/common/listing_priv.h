/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What formats and rows of a listing share. */
#pragma once

#include "cmd/common/listing.h"

struct listing_row {
    char *text; /* with its newline; after the keys' texts in memory of the row */
    size_t len;
    struct listing_sort_value {
        int64_t number;
        const char *text; /* NULL: by number */
        bool natural, last;
    } key[];
};

/* The number of columns a terminal gives to text of len bytes: code points of UTF-8. */
size_t listing_text_width(const char *s, size_t len);
