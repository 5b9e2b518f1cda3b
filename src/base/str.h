/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A growable string or byte buffer. Always NUL-terminated after the last byte; may hold NULs
 * inside. A cap makes it safe to fill from outside: an append beyond the cap sets 'overflow' and
 * adds nothing more, checked once at the end.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    char *data; /* NULL while empty and never grown; str_cstr() is never NULL */
    size_t len;
    size_t room;
    size_t cap : 63; /* 0: no cap */
    bool overflow : 1;
};

#define STR_INIT ((struct str){0})
#define STR_INIT_CAP(n) ((struct str){.cap = (n)})
#define _cleanup_str_ __attribute__((cleanup(str_done)))

void str_free(struct str *s);  /* one of mem_new(), and what it holds; NULL is fine */
void str_done(struct str *s);  /* frees; s is empty and usable afterwards */
void str_clear(struct str *s); /* keeps the room */
void str_reserve(struct str *s, size_t more);
void str_append(struct str *s, const void *data, size_t len);
void str_puts(struct str *s, const char *text); /* NULL appends nothing */
void str_putc(struct str *s, char c);
void str_put_quoted(struct str *s, const char *text); /* in single quotes, as one shell word */
void str_printf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vprintf(struct str *s, const char *fmt, va_list ap);
void str_consume(struct str *s, size_t len); /* drops bytes from the front */
const char *str_cstr(const struct str *s);
char *str_take(struct str *s); /* the caller frees; never NULL; s is empty afterwards */

/* Plain C string helpers. */
bool str_eq(const char *a, const char *b);      /* NULL equals NULL only */
bool str_case_eq(const char *a, const char *b); /* the same, ignoring ASCII case */
uint64_t str_hash(const char *s); /* FNV-1a: the same on all machines, not against malice */
bool str_starts(const char *s, const char *prefix);
char *str_trim(char *s); /* in place, both ends; returns the first kept byte */

/* Decimal text of the whole string into *out; -ERR_PARSE or -ERR_RANGE (outside min..max), *out
 * untouched. */
int str_parse_i64(const char *s, long long min, long long max, long long *out);

/* Edit distance (Levenshtein) with an upper bound, for "did you mean". Inputs longer than 64 bytes
 * give 'bound'. */
unsigned str_distance(const char *a, const char *b, unsigned bound);
