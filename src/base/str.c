/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/mem.h"

#define DISTANCE_MAX 64

void str_done(struct str *s)
{
    free(s->data);
    s->data = NULL;
    s->len = s->room = 0;
    s->overflow = false;
}

void str_free(struct str *s)
{
    if (s)
        str_done(s);
    free(s);
}

void str_clear(struct str *s)
{
    s->len = 0;
    s->overflow = false;
    if (s->data)
        s->data[0] = '\0';
}

void str_reserve(struct str *s, size_t more)
{
    size_t need;
    if (__builtin_add_overflow(s->len, more, &need) || __builtin_add_overflow(need, 1, &need))
        need = SIZE_MAX / 2; /* too large for any allocator, so the process ends */
    if (need <= s->room)
        return;
    size_t room = s->room < 32 ? 64 : s->room * 2;
    if (room < need)
        room = need;
    s->data = mem_realloc(s->data, room);
    s->data[s->len] = '\0';
    s->room = room;
}

/* Whether 'more' bytes may be appended; records an overflow if not. */
static bool may_append(struct str *s, size_t more)
{
    if (s->cap && (more > s->cap || s->len > s->cap - more))
        s->overflow = true;
    return !s->overflow;
}

void str_append(struct str *s, const void *data, size_t len)
{
    if (len == 0 || !may_append(s, len))
        return;
    str_reserve(s, len);
    memcpy(s->data + s->len, data, len);
    s->len += len;
    s->data[s->len] = '\0';
}

void str_puts(struct str *s, const char *text)
{
    if (text)
        str_append(s, text, strlen(text));
}

void str_putc(struct str *s, char c)
{
    str_append(s, &c, 1);
}

void str_put_quoted(struct str *s, const char *text)
{
    str_putc(s, '\'');
    for (; *text; text++)
        if (*text == '\'')
            str_puts(s, "'\\''"); /* closes the quotes, adds a quote, and opens quotes again */
        else
            str_putc(s, *text);
    str_putc(s, '\'');
}

void str_printf(struct str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(s, fmt, ap);
    va_end(ap);
}

void str_vprintf(struct str *s, const char *fmt, va_list ap)
{
    if (s->overflow)
        return;
    va_list again;
    va_copy(again, ap);
    size_t spare = s->room - s->len;
    int n = vsnprintf(spare ? s->data + s->len : NULL, spare, fmt, ap);
    if (n > 0 && may_append(s, (size_t)n)) {
        if ((size_t)n >= spare) {
            str_reserve(s, (size_t)n);
            vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
        }
        s->len += (size_t)n;
    } else if (spare) {
        s->data[s->len] = '\0';
    }
    va_end(again);
}

void str_consume(struct str *s, size_t len)
{
    if (len >= s->len) {
        s->len = 0;
    } else if (len) {
        memmove(s->data, s->data + len, s->len - len);
        s->len -= len;
    }
    if (s->data)
        s->data[s->len] = '\0';
}

const char *str_cstr(const struct str *s)
{
    return s->data ? s->data : "";
}

char *str_take(struct str *s)
{
    char *data = s->data ? s->data : mem_strdup("");
    s->data = NULL;
    s->len = s->room = 0;
    s->overflow = false;
    return data;
}

bool str_eq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

uint64_t str_hash(const char *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return h;
}

bool str_case_eq(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    for (;; a++, b++) {
        unsigned char x = (unsigned char)*a, y = (unsigned char)*b;
        if (x >= 'A' && x <= 'Z')
            x |= 0x20;
        if (y >= 'A' && y <= 'Z')
            y |= 0x20;
        if (x != y)
            return false;
        if (!x)
            return true;
    }
}

bool str_starts(const char *s, const char *prefix)
{
    return s && prefix && strncmp(s, prefix, strlen(prefix)) == 0;
}

char *str_trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return s;
}

int str_parse_i64(const char *s, long long min, long long max, long long *out)
{
    if (!s)
        return -ERR_PARSE;
    const char *digit = s + (*s == '-' || *s == '+');
    if (*digit < '0' || *digit > '9')
        return -ERR_PARSE;
    char *end;
    errno = 0;
    long long value = strtoll(s, &end, 10);
    if (*end)
        return -ERR_PARSE;
    if (errno == ERANGE || value < min || value > max)
        return -ERR_RANGE;
    *out = value;
    return 0;
}

unsigned str_distance(const char *a, const char *b, unsigned bound)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > DISTANCE_MAX || b_len > DISTANCE_MAX)
        return bound;
    unsigned row[DISTANCE_MAX + 1];
    for (unsigned j = 0; j <= b_len; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b_len] < bound ? row[b_len] : bound;
}
