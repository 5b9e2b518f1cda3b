/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listings: parses formats and sort keys, turns records into rows of text, and sorts the rows. */
#include "show/listing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/timefmt.h"

struct listing_row {
    char *text; /* the line with its newline, followed by the texts of the sort keys */
    size_t len;
    struct listing_sort_value {
        int64_t number;
        size_t text_at; /* offset in the row's text */
        bool is_text, natural, last;
    } key[];
};

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

const struct listing_field *listing_find_letter(const struct listing_table *t, char letter)
{
    for (size_t i = 0; letter && i < t->count; i++)
        if (t->fields[i].letter == letter)
            return &t->fields[i];
    return NULL;
}

const struct listing_field *listing_find_name(const struct listing_table *t, const char *name,
                                              size_t len)
{
    for (size_t i = 0; len && i < t->count; i++)
        if (!strncasecmp(t->fields[i].name, name, len) && !t->fields[i].name[len])
            return &t->fields[i];
    return NULL;
}

static void add_column(struct listing *l, struct listing_column c, struct str *before)
{
    if (l->columns.len >= LISTING_COLUMNS_MAX) {
        str_clear(before);
        free(c.suffix);
        return;
    }
    c.before = str_take(before);
    vec_push(&l->columns, c);
}

static void add_all(struct listing *l, struct str *before)
{
    for (size_t i = 0; i < l->table->count; i++)
        if (l->table->fields[i].letter && l->table->fields[i].letter != '#')
            add_column(
                l,
                (struct listing_column){.field = &l->table->fields[i], .suffix = mem_strdup("|")},
                before);
    if (l->columns.len) {
        free(vec_last(&l->columns).suffix);
        vec_last(&l->columns).suffix = NULL;
    }
}

static unsigned parse_width(const char **s)
{
    unsigned width = 0;
    for (; isdigit((unsigned char)**s); (*s)++)
        if (width < LISTING_WIDTH_MAX)
            width = width * 10 + (unsigned)(**s - '0');
    return width < LISTING_WIDTH_MAX ? width : LISTING_WIDTH_MAX;
}

bool listing_set_letters(struct listing *l, const char *format)
{
    bool known = true;
    _cleanup_str_ struct str before = STR_INIT;
    for (const char *s = format; *s;) {
        if (*s != '%') {
            str_putc(&before, *s++);
            continue;
        }
        const char *start = s++;
        if (!strncasecmp(s, "all", 3)) {
            add_all(l, &before);
            s += 3;
            continue;
        }
        struct listing_column c = {0};
        if (*s == '#') {
            c.widest = true;
            s++;
        }
        if (*s == '.') {
            c.right = true;
            s++;
        }
        c.width = parse_width(&s);
        c.field = listing_find_letter(l->table, *s);
        if (!c.field) {
            known = false;
            l->report("Invalid %s format specification: %.1s", l->table->what, s);
            str_append(&before, start, (size_t)(s - start));
            continue;
        }
        s++;
        add_column(l, c, &before);
    }
    if (before.len)
        add_column(l, (struct listing_column){0}, &before);
    return known;
}

bool listing_set_names(struct listing *l, const char *format)
{
    bool known = true;
    for (const char *s = format; *s;) {
        struct listing_column c = {.width = LISTING_NAME_WIDTH};
        struct str before = STR_INIT;
        size_t len = strcspn(s, ","), name_len = strcspn(s, ",:");
        if (name_len == 3 && !strncasecmp(s, "all", 3)) {
            add_all(l, &before);
        } else {
            c.field = listing_find_name(l->table, s, name_len);
            const char *at = s + name_len + (s[name_len] == ':');
            if (*at == '.' && at < s + len) {
                c.right = true;
                at++;
            }
            if (s[name_len] == ':')
                c.width = at < s + len ? parse_width(&at) : 0;
            if (c.field &&
                at <
                    s + len) /* in "JobID:.10|" the text after the width is a suffix of the value */
                c.suffix = mem_strndup(at, (size_t)(s + len - at));
            if (c.field) {
                add_column(l, c, &before);
            } else {
                known = false;
                l->report("Invalid %s format specification: %.*s", l->table->what, (int)name_len,
                          s);
            }
        }
        str_done(&before);
        s += len + (s[len] == ',');
    }
    return known;
}

bool listing_set_sort(struct listing *l, const char *keys)
{
    bool known = true;
    for (const char *s = keys; *s;) {
        size_t len = strcspn(s, ",");
        struct listing_key key = {0};
        const char *name = s;
        size_t name_len = len;
        bool natural = false;
        while (name_len && (*name == '+' || *name == '-' || *name == '#')) {
            key.down = key.down || *name == '-';
            natural = natural || *name == '#';
            name++;
            name_len--;
        }
        /* "#P" sorts in the controller's order if the table has a field for that order. */
        key.field = natural ? listing_find_letter(l->table, '#') : NULL;
        if (!key.field)
            key.field = name_len == 1 ? listing_find_letter(l->table, *name)
                                      : listing_find_name(l->table, name, name_len);
        s += len + (s[len] == ',');
        if (key.field && l->keys.len < LISTING_COLUMNS_MAX) {
            vec_push(&l->keys, key);
            continue;
        }
        known = false;
        l->report("Invalid sort specification: %.*s", (int)name_len, name);
    }
    return known;
}

void listing_put_fields(const struct listing_table *t, struct str *out)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct listing_field *f = &t->fields[i];
        const char letter[] = {'%', f->letter, 0};
        if (*f->help)
            str_printf(out, "%-20s %-2s  %s\n", f->name, f->letter ? letter : "", f->help);
    }
}

/* The number of columns a terminal gives to text of len bytes: code points of UTF-8. */
static size_t measure_text(const char *s, size_t len)
{
    size_t width = 0;
    for (size_t i = 0; i < len; i++)
        width += (s[i] & 0xc0) != 0x80;
    return width;
}

/* The number of bytes that the first 'width' columns take. */
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
    size_t columns = c->width ? measure_text(text, len) + (mark != 0) : 0;
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

/* Titles of host lists are not cut, as their values are not. */
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

/* Escapes text that the owner of a job chose: control characters would change the terminal. */
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

/* As with printf(), a narrow column that is justified left shows nothing instead of "(null)". */
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
        size_t width = measure_text(str_cstr(&l->cell), l->cell.len);
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

/* The text of the row is the printed line, followed by the texts of the sort keys. */
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

static int compare_rows(const struct listing *l, const struct listing_row *a,
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

/* A stable merge sort: equal rows keep the controller's order. Halves that are in order already, as
 * most are, need a single comparison to join. */
static void sort_rows(const struct listing *l, struct listing_row **rows,
                      struct listing_row **spare, size_t count)
{
    if (count < 2)
        return;
    size_t half = count / 2, i = 0, k = half, n = 0;
    sort_rows(l, rows, spare, half);
    sort_rows(l, rows + half, spare, count - half);
    if (compare_rows(l, rows[half - 1], rows[half]) <= 0)
        return;
    memcpy(spare, rows, half * sizeof(*rows));
    while (i < half && k < count)
        rows[n++] = compare_rows(l, rows[k], spare[i]) < 0 ? rows[k++] : spare[i++];
    while (i < half)
        rows[n++] = spare[i++];
}

void listing_print_rows(struct listing *l, struct str *out)
{
    if (l->keys.len && l->rows.len > 1) {
        struct listing_row **spare = mem_new_array(struct listing_row *, l->rows.len);
        sort_rows(l, l->rows.data, spare, l->rows.len);
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
