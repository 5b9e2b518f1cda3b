/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Listings in the format of squeue and sinfo: a table of fields, formats ("%.18i %.9P", or
 * "JobID:10,Name"), sort keys, and rows in one buffer.
 *
 * A record is converted to text when it is added and is not used later, so it may be in a temporary
 * message.
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
#define LISTING_NAME_WIDTH 20 /* default width of a column of --Format without a colon */

enum listing_kind {
    LISTING_TEXT,   /* NULL prints "(null)"; sorted as text */
    LISTING_BLANK,  /* like LISTING_TEXT, but NULL prints nothing */
    LISTING_RANKED, /* text, sorted by number */
    LISTING_NUMBER,
    LISTING_DATE,  /* wall seconds; 0 prints "N/A" */
    LISTING_SHORT, /* a duration, "1:02:03"; TIME_UNLIMITED prints "UNLIMITED" */
};

struct listing_value {
    enum listing_kind kind;
    const char *text; /* valid until the next get() */
    int64_t number;
    /* Sort key in place of the text, with numbers compared by value; lives as long as text. */
    const char *key;
    bool last;  /* no value: sorted after all others, ascending and descending */
    bool whole; /* not cut if right-justified, like host lists and durations */
    char mark;  /* character after the text, which stays if the text is cut: "main*" */
};

/* scratch is empty; the result may point into it. */
typedef struct listing_value listing_get(const void *record, struct str *scratch);

struct listing_field {
    const char *name; /* for --Format; "" for none */
    char letter;      /* for --format; 0 for none */
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

/* Gets errors in a format or in sort keys. */
typedef void listing_report_fn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct listing {
    const struct listing_table *table;
    listing_report_fn *report; /* listing_init() sets a function that ignores errors */
    VEC(struct listing_column) columns;
    VEC(struct listing_key) keys;
    VEC(struct listing_row *) rows;
    struct arena memory;            /* of the rows */
    struct str scratch, cell, line; /* buffers of the row that is being made */
};

void listing_init(struct listing *l, const struct listing_table *table);
void listing_done(struct listing *l);

/* Parses "%[.][width]letter" with text in between; "%all" means every field. An unknown field is
 * reported and printed literally, as in Slurm; returns false if there is one. */
bool listing_set_letters(struct listing *l, const char *format);
/* Parses "name[:[.][width][suffix]],..." or "all". A colon without a width: as wide as the value,
 * as in Slurm. Unknown names are reported and skipped; returns false if there is one. */
bool listing_set_names(struct listing *l, const char *format);
/* Parses "[+-]letter,..." or names; "#letter" sorts by the field with letter '#' if the table has
 * one. Unknown keys are reported and skipped; returns false if there is one. */
bool listing_set_sort(struct listing *l, const char *keys);

/* Call before rows are added: widens the columns that are as wide as their widest value. */
void listing_measure(struct listing *l, const void *record);
void listing_add(struct listing *l, const void *record);

/* Appends the value of one column without its width; for tests and grouping. */
void listing_put_value(struct listing *l, const struct listing_field *field, const void *record,
                       struct str *out);

/* Prints the first line: "Tue Jan 20 12:00:00 2026". */
void listing_print_date(struct str *out);
void listing_print_header(struct listing *l, struct str *out);
/* Sorts (stably), prints and removes the rows. */
void listing_print_rows(struct listing *l, struct str *out);

/* --helpformat: one line for each field with a help text: name, letter, help. */
void listing_put_fields(const struct listing_table *t, struct str *out);

/* Find a field; NULL: unknown. Names are case-insensitive. */
const struct listing_field *listing_find_letter(const struct listing_table *t, char letter);
const struct listing_field *listing_find_name(const struct listing_table *t, const char *name,
                                              size_t len);
