/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A growable string or byte buffer. It always has a NUL after the last byte, and may contain NULs.
 * A cap makes it safe to fill from outside: an append beyond the cap sets 'overflow' and adds
 * nothing, and callers check 'overflow' once at the end.
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

/* For a str made with mem_new(); frees its content, too; NULL is allowed. */
void str_free(struct str *s);
void str_done(struct str *s);  /* frees the content; s is empty and usable afterwards */
void str_clear(struct str *s); /* keeps the memory */
void str_reserve(struct str *s, size_t more);
void str_append(struct str *s, const void *data, size_t len);
void str_puts(struct str *s, const char *text); /* NULL appends nothing */
void str_putc(struct str *s, char c);
void str_put_quoted(struct str *s, const char *text); /* in single quotes, as one shell word */
void str_printf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vprintf(struct str *s, const char *fmt, va_list ap);
void str_consume(struct str *s, size_t len); /* drops bytes from the front */
const char *str_cstr(const struct str *s);
/* Returns the content, never NULL, which the caller frees; s is empty afterwards. */
char *str_take(struct str *s);

/* Plain C string helpers. */
bool str_eq(const char *a, const char *b);      /* NULL equals NULL only */
bool str_case_eq(const char *a, const char *b); /* the same, ignoring ASCII case */
uint64_t str_hash(const char *s); /* FNV-1a: equal on all machines; not resistant to attacks */
bool str_starts(const char *s, const char *prefix);
char *str_trim(char *s); /* in place, both ends; returns the first byte kept */

/* Parses a whole string as a decimal number; -ERR_PARSE or -ERR_RANGE (outside of min..max), with
 * *out unchanged. */
int str_parse_i64(const char *s, long long min, long long max, long long *out);

/* Edit distance (Levenshtein) with an upper bound, for "did you mean". Strings longer than 64
 * bytes give 'bound'. */
unsigned str_distance(const char *a, const char *b, unsigned bound);
