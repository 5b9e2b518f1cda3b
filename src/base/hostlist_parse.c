/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * list  = item { separator item }       separator: commas and white space outside brackets
 * item  = text { "[" range { "," range } "]" text }
 * range = number [ "-" number ]         the first number's leading zeros give the width
 *
 * An item is parsed completely, and its names are counted, before any name is created.
 */
#include "base/hostlist.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hostlist_priv.h"
#include "base/mem.h"
#include "base/vec.h"

struct number_range {
    uint64_t lo, hi;
    unsigned width;
};

/* A piece of an item: text, then the ranges of the following brackets (none in the last piece). */
struct piece {
    const char *text;
    size_t text_len;
    size_t first_range, range_count;
    uint64_t number; /* number of the name being created */
    unsigned width;
};

struct parser {
    const char *expr, *at;
    struct err *err;
    VEC(struct piece) pieces;
    VEC(struct number_range) ranges;
    size_t most;     /* maximum number of names of the expression */
    size_t expanded; /* number of names created by earlier items */
    struct hostlist *out;
};

static int refuse_expression(const struct parser *p, int code, const char *at, size_t len,
                             const char *why)
{
    return err_set(p->err, code, "host list: %s at column %zu: \"%.*s%s\"", why,
                   (size_t)(at - p->expr) + 1, (int)(len > 64 ? 64 : len), at,
                   len > 64 ? "..." : "");
}

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Parses digits at p->at. */
static int read_number(struct parser *p, uint64_t *number, unsigned *width)
{
    size_t len = strspn(p->at, "0123456789");
    if (len == 0)
        return refuse_expression(p, -ERR_PARSE, p->at, strcspn(p->at, ",]"), "expected a number");
    if (len > HOSTLIST_DIGITS_MAX)
        return refuse_expression(p, -ERR_PARSE, p->at, len, "number has too many digits");
    hostlist_split(p->at, len, width, number);
    p->at += len;
    return 0;
}

static int read_range(struct parser *p)
{
    const char *start = p->at;
    struct number_range r;
    unsigned width_hi;
    int rc = read_number(p, &r.lo, &r.width);
    if (rc < 0)
        return rc;
    r.hi = r.lo;
    if (*p->at == '-') {
        p->at++;
        rc = read_number(p, &r.hi, &width_hi);
        if (rc < 0)
            return rc;
        if (r.hi < r.lo)
            return refuse_expression(p, -ERR_PARSE, start, (size_t)(p->at - start),
                                     "range runs backwards");
    }
    vec_push(&p->ranges, r);
    return 0;
}

/* Parses "[...]" at p->at. */
static int read_brackets(struct parser *p, struct piece *piece)
{
    const char *open = p->at++;
    const char *close = open + strcspn(open, "]");
    if (!*close)
        return refuse_expression(p, -ERR_PARSE, open, strlen(open), "bracket is not closed");
    if (close == p->at)
        return refuse_expression(p, -ERR_PARSE, open, 2, "empty brackets");
    do {
        int rc = read_range(p);
        if (rc < 0)
            return rc;
        piece->range_count++;
    } while (*p->at == ',' && p->at++);
    if (p->at != close)
        return refuse_expression(p, -ERR_PARSE, p->at, (size_t)(close - p->at),
                                 "unexpected text in brackets");
    p->at++;
    return 0;
}

/* Parses the item at p->at into pieces and ranges. */
static int read_item(struct parser *p)
{
    vec_clear(&p->pieces);
    vec_clear(&p->ranges);
    for (;;) {
        struct piece piece = {.text = p->at, .first_range = p->ranges.len};
        for (; *p->at && *p->at != '[' && !is_separator(*p->at); p->at++) {
            if (*p->at == ']')
                return refuse_expression(p, -ERR_PARSE, p->at, 1, "bracket was not opened");
            if ((unsigned char)*p->at < ' ' || *p->at == 0x7f)
                return refuse_expression(p, -ERR_PARSE, p->at, 0, "control character");
        }
        piece.text_len = (size_t)(p->at - piece.text);
        bool brackets = *p->at == '[';
        if (brackets) {
            int rc = read_brackets(p, &piece);
            if (rc < 0)
                return rc;
        }
        vec_push(&p->pieces, piece);
        if (!brackets)
            return 0;
    }
}

static unsigned count_digits(uint64_t n)
{
    unsigned count = 1;
    while (n /= 10)
        count++;
    return count;
}

/* Refuses an item with too many or too long names, before any is created. */
static int check_item(struct parser *p, const char *start)
{
    size_t item_len = (size_t)(p->at - start), longest = 0;
    uint64_t names = 1;
    vec_foreach (&p->pieces, piece) {
        uint64_t sum = 0;
        unsigned widest = 0;
        for (size_t i = 0; i < piece->range_count; i++) {
            const struct number_range *r = &p->ranges.data[piece->first_range + i];
            unsigned width = count_digits(r->hi);
            sum += r->hi - r->lo + 1; /* at most 10^18: no overflow before the check */
            if (sum > p->most)
                return refuse_expression(p, -ERR_LIMIT, start, item_len, "too many names");
            width = width < r->width ? r->width : width;
            widest = widest < width ? width : widest;
        }
        longest += piece->text_len + widest;
        if (piece->range_count)
            names *= sum;
        if (names > p->most)
            return refuse_expression(p, -ERR_LIMIT, start, item_len, "too many names");
    }
    if (longest > HOSTLIST_NAME_MAX)
        return refuse_expression(p, -ERR_LIMIT, start, item_len, "name too long");
    if (names > p->most - p->expanded)
        return refuse_expression(p, -ERR_LIMIT, start, item_len, "too many names");
    p->expanded += (size_t)names;
    return 0;
}

/* Pushes prefix + number for a whole range at once, in canonical form: split where the number gets
 * another digit; digits at the end of the prefix become part of the number. */
static void push_numbers(struct parser *p, char *name, size_t len, const struct number_range *r)
{
    for (uint64_t lo = r->lo; lo <= r->hi;) {
        int width =
            snprintf(name + len, HOSTLIST_NAME_MAX + 1 - len, "%0*" PRIu64, (int)r->width, lo);
        uint64_t beyond = 1;
        for (int i = 0; i < width; i++)
            beyond *= 10;
        uint64_t end = r->hi + 1 < beyond ? r->hi + 1 : beyond;
        unsigned full_width;
        uint64_t number;
        size_t prefix_len = hostlist_split(name, len + (size_t)width, &full_width, &number);
        hostlist_push_range(p->out, name, prefix_len, full_width, number, (size_t)(end - lo));
        lo = end;
    }
}

static size_t put_piece_text(char *name, size_t len, const struct piece *piece)
{
    memcpy(name + len, piece->text, piece->text_len);
    return len + piece->text_len;
}

static size_t put_padded_number(char *name, size_t len, uint64_t number, unsigned width)
{
    return len + (size_t)snprintf(name + len, HOSTLIST_NAME_MAX + 1 - len, "%0*" PRIu64, (int)width,
                                  number);
}

/* Pushes the names that differ in the last brackets only. count: number of pieces with
   brackets. */
static void push_names(struct parser *p, size_t count, char *name)
{
    const struct piece *piece = &p->pieces.data[count - 1], *tail = piece + 1;
    size_t len = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        const struct piece *before = &p->pieces.data[i];
        len = put_padded_number(name, put_piece_text(name, len, before), before->number,
                                before->width);
    }
    len = put_piece_text(name, len, piece);
    for (size_t k = 0; k < piece->range_count; k++) {
        const struct number_range *r = &p->ranges.data[piece->first_range + k];
        if (tail->text_len == 0) {
            push_numbers(p, name, len, r);
            continue;
        }
        for (uint64_t n = r->lo; n <= r->hi; n++) {
            size_t end = put_piece_text(name, put_padded_number(name, len, n, r->width), tail);
            name[end] = '\0';
            hostlist_push(p->out, name);
        }
    }
}

/* Pushes every combination, in Slurm's order: the last brackets change fastest, then the first
 * ones, the second ones... left: number of other brackets without a number yet. */
static void expand_pieces(struct parser *p, size_t count, size_t left, char *name)
{
    if (left == 0) {
        push_names(p, count, name);
        return;
    }
    assert(p->pieces.data);
    struct piece *piece = &p->pieces.data[left - 1];
    for (size_t k = 0; k < piece->range_count; k++) {
        const struct number_range *r = &p->ranges.data[piece->first_range + k];
        piece->width = r->width;
        for (uint64_t n = r->lo; n <= r->hi; n++) {
            piece->number = n;
            expand_pieces(p, count, left - 1, name);
        }
    }
}

/* Pushes the names of the parsed item. */
static void push_item(struct parser *p)
{
    char name[HOSTLIST_NAME_MAX + 1];
    size_t count = p->pieces.len - 1; /* only the last piece has no brackets */
    if (count) {
        expand_pieces(p, count, count - 1, name);
        return;
    }
    name[put_piece_text(name, 0, &p->pieces.data[0])] = '\0';
    if (*name)
        hostlist_push(p->out, name);
}

int hostlist_parse(const char *expr, struct hostlist **out, struct err *err)
{
    return hostlist_parse_most(expr, HOSTLIST_COUNT_MAX, out, err);
}

int hostlist_parse_most(const char *expr, size_t most, struct hostlist **out, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *h = hostlist_new();
    struct parser p = {.expr = expr,
                       .at = expr,
                       .err = err,
                       .most = most < HOSTLIST_COUNT_MAX ? most : HOSTLIST_COUNT_MAX,
                       .out = h};
    int rc = 0;
    for (;;) {
        while (is_separator(*p.at))
            p.at++;
        if (!*p.at)
            break;
        const char *start = p.at;
        rc = read_item(&p);
        if (rc == 0)
            rc = check_item(&p, start);
        if (rc < 0)
            break;
        push_item(&p);
    }
    vec_done(&p.pieces);
    vec_done(&p.ranges);
    if (rc == 0)
        *out = take_ptr(h);
    return rc;
}

int hostlist_push_expr(struct hostlist *h, const char *expr, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *more = NULL;
    int rc = hostlist_parse(expr, &more, err);
    if (rc < 0)
        return rc;
    hostlist_push_list(h, more);
    return 0;
}
