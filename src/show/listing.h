/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Listings as squeue and sinfo print them: a table of fields, formats over it ("%.18i %.9P", or
 * "JobID:10,Name"), sort keys, and rows in one buffer.
 *
 * A record is turned into text when it is added and never looked at again, so it may live in the
 * memory of a message that is gone a moment later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

#define LISTING_WIDTH_MAX 4096
#define LISTING_COLUMNS_MAX 1024
#define LISTING_NAME_WIDTH 20 /* of a column of --Format without a colon */

enum listing_kind {
    LISTING_TEXT,   /* NULL prints "(null)"; sorted as text */
    LISTING_BLANK,  /* the same, but NULL prints nothing */
    LISTING_RANKED, /* text, sorted by number */
    LISTING_NUMBER,
    LISTING_DATE,  /* wall seconds; 0 prints "N/A" */
    LISTING_SHORT, /* a duration, "1:02:03"; TIME_UNLIMITED prints "UNLIMITED" */
};

struct listing_value {
    enum listing_kind kind;
    const char *text; /* valid until the next get() */
    int64_t number;
    const char *key; /* sorted by this text instead, with numbers in it by value; lives as text */
    bool last;       /* sorted behind all others, up or down: there is no value */
    bool whole;      /* not cut to a width when justified right, as host lists and durations */
    char mark;       /* follows the text, and stays when that is cut: "main*" */
};

/* scratch is empty; text may point into it. */
typedef struct listing_value listing_get(const void *record, struct str *scratch);

struct listing_field {
    const char *name; /* of --Format; "" for none */
    char letter;      /* of --format; 0 for none */
    const char *title;
    listing_get *get;
    const char *help;
};
struct listing_table {
    const struct listing_field *fields;
    size_t count;
    const char *what; /* "job": for messages */
};

struct listing_column {
    const struct listing_field *field; /* NULL: text only */
    char *before;                      /* literal text, owned */
    unsigned width;                    /* 0: as wide as the value */
    bool right, widest;                /* widest: "%#X", see listing_measure() */
    char *suffix;                      /* text after the value, owned; NULL: none */
};
struct listing_key {
    const struct listing_field *field;
    bool down;
};
struct listing_row;

/* Hears what is wrong with a format or with sort keys. */
typedef void listing_report_fn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct listing {
    const struct listing_table *table;
    listing_report_fn *report; /* listing_init() sets one that ignores it */
    VEC(struct listing_column) columns;
    VEC(struct listing_key) keys;
    VEC(struct listing_row *) rows;
    struct arena memory;            /* of the rows */
    struct str scratch, cell, line; /* buffers of the row being made */
};

void listing_init(struct listing *l, const struct listing_table *table);
void listing_done(struct listing *l);

/* "%[.][width]letter" and text between; "%all" for every field. What is not known is
 * reported and printed as it stands, as Slurm does; false: there was some. */
bool listing_set_letters(struct listing *l, const char *format);
/* "name[:[.][width][suffix]],..."; "all". A colon without a width: as wide as the value, as Slurm
 * has it. Unknown names are reported and left out; false: there were some. */
bool listing_set_names(struct listing *l, const char *format);
/* "[+-]letter,..." or names; "#letter" sorts by the field with letter '#' where the table has one.
 * Keys that are not known are reported and left out; false: there were some. */
bool listing_set_sort(struct listing *l, const char *keys);

/* Before the rows are added: widens the columns that shall be as wide as their widest value. */
void listing_measure(struct listing *l, const void *record);
void listing_add(struct listing *l, const void *record);

/* The one column's value of a record, without width; for tests and grouping. */
void listing_put_value(struct listing *l, const struct listing_field *field, const void *record,
                       struct str *out);

/* A line: "Tue Jan 20 12:00:00 2026". */
void listing_print_date(struct str *out);
void listing_print_header(struct listing *l, struct str *out);
/* Sorts (stably) and prints; the rows are gone afterwards. */
void listing_print_rows(struct listing *l, struct str *out);

/* --helpformat: a line for each field that has a help text: name, letter, help. */
void listing_put_fields(const struct listing_table *t, struct str *out);

/* Finders; NULL: unknown. Names in any case. */
const struct listing_field *listing_find_letter(const struct listing_table *t, char letter);
const struct listing_field *listing_find_name(const struct listing_table *t, const char *name,
                                              size_t len);
