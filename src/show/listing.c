/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows: values to text, widths, sorting. */
#include "show/listing.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "show/listing_priv.h"

static void ignore_report(const char *fmt, ...)
{
}

void listing_init(struct listing *l, const struct listing_table *table)
{
    *l = (struct listing){.table = table, .report = ignore_report};
    arena_init(&l->memory, 0);
}

static void drop_rows(struct listing *l)
{
    arena_done(&l->memory);
    vec_clear(&l->rows);
}

void listing_done(struct listing *l)
{
    drop_rows(l);
    vec_foreach (&l->columns, c) {
        free(c->before);
        free(c->suffix);
    }
    vec_done(&l->columns);
    vec_done(&l->keys);
    vec_done(&l->rows);
    str_done(&l->scratch);
    str_done(&l->cell);
    str_done(&l->line);
}

size_t listing_text_width(const char *s, size_t len)
{
    size_t width = 0;
    for (size_t i = 0; i < len; i++)
        width += (s[i] & 0xc0) != 0x80;
    return width;
}

/* The bytes that the first 'width' columns take. */
static size_t bytes_of(const char *s, size_t len, size_t width)
{
    size_t i = 0;
    while (i < len && (width || (s[i] & 0xc0) == 0x80)) {
        width -= (s[i] & 0xc0) != 0x80;
        i++;
    }
    return i;
}

static void put_spaces(struct str *out, size_t count)
{
    static const char blanks[64] = "                                                               "
                                   " ";
    for (; count > sizeof(blanks); count -= sizeof(blanks))
        str_append(out, blanks, sizeof(blanks));
    str_append(out, blanks, count);
}

static void put_cell(const struct listing_column *c, const char *text, size_t len, bool whole,
                     char mark, struct str *out)
{
    size_t columns = c->width ? listing_text_width(text, len) + (mark != 0) : 0;
    if (c->width && columns > c->width && !(whole && c->right))
        len = bytes_of(text, len, c->width - (mark != 0));
    size_t pad = columns < c->width ? c->width - columns : 0;
    if (c->right)
        put_spaces(out, pad);
    str_append(out, text, len);
    if (mark)
        str_putc(out, mark);
    if (!c->right)
        put_spaces(out, pad);
}

/* Titles of host lists are whole as their values are. */
static bool is_whole_title(const char *title)
{
    static const char *const titles[] = {"NODELIST", "NODELIST(REASON)", "SCHEDNODES", "HOSTNAMES",
                                         "NODE_ADDR"};
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        if (str_eq(title, titles[i]))
            return true;
    return false;
}

static void put_number(struct str *out, int64_t n)
{
    char digits[24], *at = digits + sizeof(digits);
    uint64_t u = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    do
        *--at = (char)('0' + u % 10);
    while (u /= 10);
    if (n < 0)
        *--at = '-';
    str_append(out, at, (size_t)(digits + sizeof(digits) - at));
}

/* What comes from a job's owner must not drive the terminal. */
static void put_value(const struct listing_value *v, struct str *out)
{
    char buf[TIME_TEXT_MAX];
    switch (v->kind) {
    case LISTING_TEXT:
    case LISTING_RANKED:
        text_escape(v->text ? v->text : "(null)", out);
        break;
    case LISTING_BLANK:
        text_escape(v->text, out);
        break;
    case LISTING_NUMBER:
        put_number(out, v->number);
        break;
    case LISTING_DATE:
        str_puts(out, time_format_date(v->number, "N/A", buf));
        break;
    case LISTING_SHORT:
        str_puts(out, time_format_short(v->number, buf));
        break;
    }
}

void listing_put_value(struct listing *l, const struct listing_field *field, const void *record,
                       struct str *out)
{
    str_clear(&l->scratch);
    struct listing_value v = field->get(record, &l->scratch);
    put_value(&v, out);
    if (v.mark)
        str_putc(out, v.mark);
}

/* As printf() does it: of "(null)" a narrow column that is justified left shows nothing. */
static bool is_hidden_null(const struct listing_column *c, const struct listing_value *v)
{
    return v->kind == LISTING_TEXT && !v->text && !c->right && c->width &&
           c->width < strlen("(null)");
}

static void put_column(struct listing *l, const struct listing_column *c, const void *record,
                       struct str *out)
{
    struct listing_value v = {0};
    str_clear(&l->cell);
    if (record) {
        str_clear(&l->scratch);
        v = c->field->get(record, &l->scratch);
        if (!is_hidden_null(c, &v))
            put_value(&v, &l->cell);
    } else {
        v.whole = is_whole_title(c->field->title);
        str_puts(&l->cell, c->field->title);
    }
    put_cell(c, str_cstr(&l->cell), l->cell.len, v.whole, v.mark, out);
}

void listing_measure(struct listing *l, const void *record)
{
    vec_foreach (&l->columns, c) {
        if (!c->widest)
            continue;
        str_clear(&l->cell);
        if (record)
            listing_put_value(l, c->field, record, &l->cell);
        else
            str_puts(&l->cell, c->field->title);
        size_t width = listing_text_width(str_cstr(&l->cell), l->cell.len);
        if (width > c->width)
            c->width = (unsigned)width;
    }
}

static void put_line(struct listing *l, const void *record, struct str *out)
{
    vec_foreach (&l->columns, c) {
        str_puts(out, c->before);
        if (!c->field)
            continue;
        put_column(l, c, record, out);
        if (c->suffix)
            str_puts(out, c->suffix);
    }
    str_putc(out, '\n');
}

/* The row's line, and behind it the texts of its keys. */
void listing_add(struct listing *l, const void *record)
{
    struct str *line = &l->line;
    struct listing_row *row =
        arena_alloc(&l->memory, sizeof(*row) + l->keys.len * sizeof(struct listing_sort_value));
    str_clear(line);
    put_line(l, record, line);
    row->len = line->len;
    for (size_t i = 0; i < l->keys.len; i++) {
        struct listing_sort_value *key = &row->key[i];
        str_clear(&l->scratch);
        struct listing_value v = l->keys.data[i].field->get(record, &l->scratch);
        *key = (struct listing_sort_value){.number = v.number, .last = v.last, .natural = v.key};
        if (v.key || v.kind == LISTING_TEXT || v.kind == LISTING_BLANK) {
            const char *text = v.key ? v.key : v.text ? v.text : "";
            key->is_text = true;
            key->text_at = line->len;
            str_append(line, text, strlen(text) + 1);
        }
    }
    row->text = arena_alloc(&l->memory, line->len);
    memcpy(row->text, str_cstr(line), line->len);
    vec_push(&l->rows, row);
}

void listing_print_date(struct str *out)
{
    char date[64];
    time_t now = time(NULL);
    struct tm tm;
    strftime(date, sizeof(date), "%a %b %d %H:%M:%S %Y", localtime_r(&now, &tm));
    str_printf(out, "%s\n", date);
}

void listing_print_header(struct listing *l, struct str *out)
{
    listing_measure(l, NULL);
    put_line(l, NULL, out);
}

static int compare(const struct listing *l, const struct listing_row *a,
                   const struct listing_row *b)
{
    for (size_t i = 0; i < l->keys.len; i++) {
        const struct listing_sort_value *x = &a->key[i], *y = &b->key[i];
        int order;
        if (x->last != y->last)
            return x->last - y->last;
        if (x->is_text && y->is_text)
            order = (x->natural ? strverscmp : strcmp)(a->text + x->text_at, b->text + y->text_at);
        else
            order = (x->number > y->number) - (x->number < y->number);
        if (order)
            return l->keys.data[i].down ? -order : order;
    }
    return 0;
}

/* Merge sort: stable, so that rows that are equal keep the controller's order; what comes in order,
 * as most does, is only looked at once. */
static void sort(const struct listing *l, struct listing_row **rows, struct listing_row **spare,
                 size_t count)
{
    if (count < 2)
        return;
    size_t half = count / 2, i = 0, k = half, n = 0;
    sort(l, rows, spare, half);
    sort(l, rows + half, spare, count - half);
    if (compare(l, rows[half - 1], rows[half]) <= 0)
        return;
    memcpy(spare, rows, half * sizeof(*rows));
    while (i < half && k < count)
        rows[n++] = compare(l, rows[k], spare[i]) < 0 ? rows[k++] : spare[i++];
    while (i < half)
        rows[n++] = spare[i++];
}

void listing_print_rows(struct listing *l, struct str *out)
{
    if (l->keys.len && l->rows.len > 1) {
        struct listing_row **spare = mem_new_array(struct listing_row *, l->rows.len);
        sort(l, l->rows.data, spare, l->rows.len);
        free(spare);
    }
    size_t total = 0;
    vec_foreach (&l->rows, row)
        total += (*row)->len;
    str_reserve(out, total);
    vec_foreach (&l->rows, row)
        str_append(out, (*row)->text, (*row)->len);
    drop_rows(l);
}
