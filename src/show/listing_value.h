/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Macros for the values in tables of fields, for files that include such a table. */
#pragma once

#include "show/listing.h"

#define VALUE(kind_, text_, number_)                                                               \
    (struct listing_value)                                                                         \
    {                                                                                              \
        .kind = (kind_), .text = (text_), .number = (int64_t)(number_)                             \
    }
#define TEXT(value) VALUE(LISTING_TEXT, value, 0)
#define OR_NA(value) TEXT((value) ? (value) : "N/A")
#define BLANK(value) VALUE(LISTING_BLANK, value, 0)
#define RANKED(value, rank) VALUE(LISTING_RANKED, value, rank)
#define NUMBER(value) VALUE(LISTING_NUMBER, NULL, value)
