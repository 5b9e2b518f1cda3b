/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the tests of this module: a private place, and a listing of a store. A place is named
 * by a directory; if test_url is set (the address of a PostgreSQL server), it is a schema on that
 * server instead. */
#pragma once

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "store/store.h"

static const char *test_url;

struct seen { /* the result of a load, one line per record: "2/17=bytes", "4:n1=bytes" */
    struct str records, damaged;
};

static inline void seen_done(struct seen *s)
{
    str_done(&s->records);
    str_done(&s->damaged);
}

static inline void seen_key(struct str *out, uint32_t kind, uint64_t number, const char *name)
{
    if (name)
        str_printf(out, "%u:%s", kind, name);
    else
        str_printf(out, "%u/%llu", kind, (unsigned long long)number);
}

static inline void seen_record(void *ctx, uint32_t kind, uint64_t number, const char *name,
                               const void *data, size_t len)
{
    struct seen *s = ctx;
    seen_key(&s->records, kind, number, name);
    str_printf(&s->records, "=%.*s\n", (int)len, (const char *)data);
}

static inline void seen_damaged(void *ctx, uint32_t kind, uint64_t number, const char *name,
                                const char *why)
{
    struct seen *s = ctx;
    seen_key(&s->damaged, kind, number, name);
    str_puts(&s->damaged, "\n");
}

static inline char *test_dir_new(void)
{
    char *dir = mem_strdup("/tmp/store-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return dir;
}

static inline int test_dir_remove(const char *path, const struct stat *st, int type,
                                  struct FTW *place)
{
    return remove(path);
}

static inline void test_dir_free(char *dir)
{
    assert_int_equal(nftw(dir, test_dir_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(dir);
}

static inline struct store_where test_where(const char *dir)
{
    return (struct store_where){.at = test_url ? test_url : dir, .cluster = strrchr(dir, '/') + 1};
}

static inline void put_text(struct store_batch *b, uint32_t kind, uint64_t number, const char *name,
                            const char *text)
{
    store_put(b, kind, number, name, text, strlen(text));
}

static inline struct store *open_ok(const char *dir, unsigned flags)
{
    struct store *s = NULL;
    struct err err = {0};
    struct store_where where = test_where(dir);
    if (store_open(&where, flags | STORE_TAKE_LEAD, NULL, NULL, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static inline void commit_ok(struct store *s, struct store_batch *b)
{
    struct err err = {0};
    if (store_commit_sync(s, b, &err))
        fail_msg("%s", err.text);
}

/* Asserts the records of the directory as they are on disk. */
static inline void assert_records(const char *dir, const char *expected)
{
    struct store *s = open_ok(dir, 0);
    struct seen seen = {0};
    struct err err = {0};
    assert_int_equal(store_load(s, 0, seen_record, seen_damaged, &seen, &err), 0);
    store_close(s);
    assert_string_equal(str_cstr(&seen.records), expected);
    seen_done(&seen);
}
