/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "base/vec.h"

static char *append_text(char *at, const char *text)
{
    size_t len = strlen(text);
    memcpy(at, text, len);
    return at + len;
}

static char *append_number(char *at, uint64_t number)
{
    if (number > 9)
        at = append_number(at, number / 10);
    *at = (char)('0' + number % 10);
    return at + 1;
}

/* A soft limit of this process that may be the reason. */
static char *append_limit(char *at, int resource, const char *name, const char *option)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return at;
    at = append_text(append_text(at, ": "), name);
    at = append_number(append_text(at, " is "), limit.rlim_cur / 1024);
    at = append_text(append_text(at, " KiB, raise it with 'ulimit "), option);
    return append_text(at, "'");
}

/* Neither allocation nor stdio, since no memory is left. */
static _Noreturn void out_of_memory(void)
{
    char message[256], *at = append_text(message, "fatal: out of memory");
    at = append_limit(at, RLIMIT_DATA, "RLIMIT_DATA", "-d");
    at = append_limit(at, RLIMIT_AS, "RLIMIT_AS", "-v");
    at = append_text(at, "\n");
    ssize_t ignored = write(STDERR_FILENO, message, (size_t)(at - message));
    (void)ignored;
    abort();
}

void *mem_alloc(size_t size)
{
    return mem_alloc_array(1, size);
}

void *mem_alloc_array(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *mem_realloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *mem_dup(const void *src, size_t size)
{
    if (!src)
        return NULL;
    void *p = malloc(size ? size : 1);
    if (!p)
        out_of_memory();
    return memcpy(p, src, size);
}

char *mem_strdup(const char *s)
{
    return s ? mem_dup(s, strlen(s) + 1) : NULL;
}

char *mem_strndup(const char *s, size_t max)
{
    if (!s)
        return NULL;
    size_t len = strnlen(s, max);
    char *p = mem_alloc(len + 1);
    memcpy(p, s, len);
    return p;
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        out_of_memory();
    va_end(ap);
    return text;
}

void mem_wipe(void *p, size_t size)
{
    if (p)
        explicit_bzero(p, size);
}

size_t vec_grow(void **data, size_t len, size_t size, size_t most)
{
    size_t want = len < 4 ? 8 : len * 2;
    size_t bytes;
    want = want < len || want > most ? most : want;
    /* A size that no allocator can provide ends the process in the usual way. */
    if (want <= len || __builtin_mul_overflow(want, size, &bytes))
        bytes = SIZE_MAX / 2;
    *data = mem_realloc(*data, bytes);
    return want;
}
