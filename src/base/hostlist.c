/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The canonical form of every name: prefix, number, width. The number is the sequence of digits at
 * the end of the name, and the width is its length. A range has names with equal prefix and width,
 * so [9-11] is two ranges, and equal names always have the same form, however they were written.
 * Formatting joins the ranges again.
 */
#include "base/hostlist.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hostlist_priv.h"
#include "base/mem.h"
#include "base/vec.h"

/* 10^width for widths up to HOSTLIST_DIGITS_MAX. */
static uint64_t power_of_ten(unsigned width)
{
    uint64_t power = 1;
    while (width--)
        power *= 10;
    return power;
}

struct hostlist *hostlist_new(void)
{
    return mem_new(struct hostlist);
}

void hostlist_free(struct hostlist *h)
{
    if (!h)
        return;
    vec_foreach (&h->ranges, r)
        free(r->prefix);
    vec_done(&h->ranges);
    free(h);
}

void hostlist_freep(struct hostlist **h)
{
    hostlist_free(*h);
    *h = NULL;
}

void hostlist_push_range(struct hostlist *h, const char *prefix, size_t prefix_len, unsigned width,
                         uint64_t lo, size_t count)
{
    if (h->ranges.len && width) {
        struct host_range *last = &vec_last(&h->ranges);
        if (last->width == width && last->lo + last->count == lo &&
            strncmp(last->prefix, prefix, prefix_len) == 0 && !last->prefix[prefix_len]) {
            last->count += count;
            h->count += count;
            return;
        }
    }
    struct host_range range = {
        .prefix = mem_strndup(prefix, prefix_len),
        .width = width,
        .lo = lo,
        .count = count,
        .first = h->count,
    };
    vec_push(&h->ranges, range);
    h->count += count;
}

size_t hostlist_split(const char *name, size_t len, unsigned *width, uint64_t *number)
{
    size_t digits = 0;
    while (digits < len && digits < HOSTLIST_DIGITS_MAX && name[len - digits - 1] >= '0' &&
           name[len - digits - 1] <= '9')
        digits++;
    *width = (unsigned)digits;
    *number = 0;
    for (size_t i = len - digits; i < len; i++)
        *number = *number * 10 + (uint64_t)(name[i] - '0');
    return len - digits;
}

void hostlist_push(struct hostlist *h, const char *name)
{
    size_t len = strnlen(name, HOSTLIST_NAME_MAX);
    unsigned width;
    uint64_t number;
    size_t prefix_len = hostlist_split(name, len, &width, &number);
    hostlist_push_range(h, name, prefix_len, width, number, 1);
}

void hostlist_push_list(struct hostlist *h, const struct hostlist *more)
{
    vec_foreach (&more->ranges, r)
        hostlist_push_range(h, r->prefix, strlen(r->prefix), r->width, r->lo, r->count);
}

size_t hostlist_count(const struct hostlist *h)
{
    return h->count;
}

const char *hostlist_nth(const struct hostlist *h, size_t i, char buf[HOSTLIST_NAME_MAX + 1])
{
    size_t low = 0, high = h->ranges.len;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (h->ranges.data[middle].first <= i)
            low = middle;
        else
            high = middle;
    }
    const struct host_range *r = &h->ranges.data[low];
    if (!r->width) {
        snprintf(buf, HOSTLIST_NAME_MAX + 1, "%s", r->prefix);
        return buf;
    }
    /* Written without printf(), because it takes most of the time of listing 100,000 names. */
    size_t len = strlen(r->prefix);
    memcpy(buf, r->prefix, len);
    uint64_t number = r->lo + (i - r->first);
    for (size_t at = len + r->width; at > len; number /= 10)
        buf[--at] = (char)('0' + number % 10);
    buf[len + r->width] = '\0';
    return buf;
}

/* Returns the range that has a name, and its offset there, or -1. */
static long find_range(const struct hostlist *h, const char *name, size_t *offset)
{
    size_t len = strlen(name);
    unsigned width;
    uint64_t number;
    size_t prefix_len = hostlist_split(name, len, &width, &number);
    for (size_t i = 0; i < h->ranges.len; i++) {
        const struct host_range *r = &h->ranges.data[i];
        if (r->width == width && number >= r->lo && number - r->lo < r->count &&
            strncmp(r->prefix, name, prefix_len) == 0 && !r->prefix[prefix_len]) {
            *offset = (size_t)(number - r->lo);
            return (long)i;
        }
    }
    return -1;
}

long hostlist_find(const struct hostlist *h, const char *name)
{
    size_t offset;
    long i = find_range(h, name, &offset);
    return i < 0 ? -1 : (long)(h->ranges.data[i].first + offset);
}

bool hostlist_remove(struct hostlist *h, const char *name)
{
    size_t offset;
    long found = find_range(h, name, &offset);
    if (found < 0)
        return false;
    size_t i = (size_t)found;
    struct host_range *r = &h->ranges.data[i];
    size_t after = r->count - offset - 1;
    if (offset && after) {
        struct host_range tail = *r;
        tail.prefix = mem_strdup(r->prefix);
        tail.lo += offset + 1;
        tail.count = after;
        r->count = offset;
        vec_push(&h->ranges, tail); /* reserves space; then moved to its place */
        memmove(&h->ranges.data[i + 2], &h->ranges.data[i + 1],
                (h->ranges.len - i - 2) * sizeof(tail));
        h->ranges.data[i + 1] = tail;
    } else if (r->count > 1) {
        r->lo += offset == 0;
        r->count--;
    } else {
        free(r->prefix);
        vec_remove(&h->ranges, i);
    }
    h->count--;
    size_t first = 0;
    vec_foreach (&h->ranges, p) {
        p->first = first;
        first += p->count;
    }
    return true;
}

static int range_compare(const void *a, const void *b)
{
    const struct host_range *x = a, *y = b;
    int order = strcmp(x->prefix, y->prefix);
    if (order == 0)
        order = (x->width > y->width) - (x->width < y->width);
    if (order == 0)
        order = (x->lo > y->lo) - (x->lo < y->lo);
    return order;
}

static int number_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Pushes overlapping ranges, as sorted names or as their union. */
static void push_overlapping(struct hostlist *to, const struct host_range *r, size_t n, bool uniq)
{
    size_t prefix_len = strlen(r->prefix), total = 0, at = 0;
    uint64_t end = r->lo;
    for (size_t i = 0; i < n; i++) {
        total += r[i].count;
        if (r[i].lo + r[i].count > end)
            end = r[i].lo + r[i].count;
    }
    if (uniq || n == 1) {
        hostlist_push_range(to, r->prefix, prefix_len, r->width, r->lo, (size_t)(end - r->lo));
        return;
    }
    _cleanup_free_ uint64_t *numbers = mem_new_array(uint64_t, total);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < r[i].count; k++)
            numbers[at++] = r[i].lo + k;
    qsort(numbers, total, sizeof(numbers[0]), number_compare);
    for (size_t i = 0; i < total; i++)
        hostlist_push_range(to, r->prefix, prefix_len, r->width, numbers[i], 1);
}

static void sort_ranges(struct hostlist *h, bool uniq)
{
    if (h->ranges.len)
        qsort(h->ranges.data, h->ranges.len, sizeof(h->ranges.data[0]), range_compare);
    struct hostlist *sorted = hostlist_new();
    for (size_t i = 0, n; i < h->ranges.len; i += n) {
        const struct host_range *r = &h->ranges.data[i];
        uint64_t end = r->lo + r->count;
        for (n = 1; i + n < h->ranges.len; n++) {
            const struct host_range *next = &r[n];
            if (next->width != r->width || next->lo >= end || strcmp(next->prefix, r->prefix) != 0)
                break;
            if (next->lo + next->count > end)
                end = next->lo + next->count;
        }
        push_overlapping(sorted, r, n, uniq);
    }
    struct hostlist swap = *h;
    *h = *sorted;
    *sorted = swap;
    hostlist_free(sorted);
}

void hostlist_sort(struct hostlist *h)
{
    sort_ranges(h, false);
}

void hostlist_uniq(struct hostlist *h)
{
    sort_ranges(h, true);
}

/* Whether b's numbers continue a's in the same notation: 9 then 10, 099 then 100. */
static bool continues_range(const struct host_range *a, const struct host_range *b)
{
    return b->width == a->width + 1 && a->lo + a->count == power_of_ten(a->width) &&
           b->lo == power_of_ten(a->width) && strcmp(a->prefix, b->prefix) == 0;
}

void hostlist_format(const struct hostlist *h, struct str *out)
{
    if (!h->ranges.len)
        return;
    const struct host_range *r = h->ranges.data, *end = r + h->ranges.len;
    for (bool first = true; r < end; first = false) {
        if (!first)
            str_putc(out, ',');
        str_puts(out, r->prefix);
        if (!r->width) {
            r++;
            continue;
        }
        /* Brackets, unless this prefix has a single number. */
        const struct host_range *group = r;
        bool next_same = r + 1 < end && r[1].width && strcmp(r[1].prefix, r->prefix) == 0;
        bool brackets = r->count > 1 || next_same;
        if (brackets)
            str_putc(out, '[');
        while (r < end && r->width && strcmp(r->prefix, group->prefix) == 0) {
            const struct host_range *last = r;
            while (last + 1 < end && continues_range(last, last + 1))
                last++;
            if (r != group)
                str_putc(out, ',');
            str_printf(out, "%0*" PRIu64, (int)r->width, r->lo);
            if (last != r || r->count > 1)
                str_printf(out, "-%0*" PRIu64, (int)last->width, last->lo + last->count - 1);
            r = last + 1;
        }
        if (brackets)
            str_putc(out, ']');
    }
}
