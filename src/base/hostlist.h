/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Host lists: "lx[0001-0512,7],login", and several dimensions "r[0-1]n[0-15]". Names are stored as
 * ranges, so 100,000 numbered names take a few dozen bytes. The order is the order of insertion
 * until the list is sorted; duplicates stay until hostlist_uniq(). Grammar and output are Slurm's:
 * format("a1,a2,a3") is "a[1-3]", leading zeros determine the width, bare numbers "1,2,3" give
 * "[1-3]". Only the digits at the end of a name form a range: "r[0-1]n[0-2]" is formatted as
 * "r0n[0-2],r1n[0-2]" and "a[1-2]-ib" as "a1-ib,a2-ib".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define HOSTLIST_NAME_MAX 255 /* bytes of a name, without NUL */
#define HOSTLIST_COUNT_MAX                                                                         \
    1048576 /* names per expression; "[0-999999999]" is refused before allocating */

struct hostlist;

struct hostlist *hostlist_new(void);
void hostlist_free(struct hostlist *h);
void hostlist_freep(struct hostlist **h);
#define _cleanup_hostlist_ __attribute__((cleanup(hostlist_freep)))

/* Creates a list from an expression ("": the empty list). Fails with -ERR_PARSE (err names the
 * offending part and its column) or -ERR_LIMIT. */
int hostlist_parse(const char *expr, struct hostlist **out, struct err *err);
/* The same of an expression from a stranger: -ERR_LIMIT, before names are made, for more than so
 * many names. */
int hostlist_parse_most(const char *expr, size_t most, struct hostlist **out, struct err *err);
int hostlist_push_expr(struct hostlist *h, const char *expr,
                       struct err *err); /* h is unchanged on failure */
void hostlist_push(struct hostlist *h,
                   const char *name); /* one plain name, truncated to HOSTLIST_NAME_MAX */

void hostlist_push_list(struct hostlist *h, const struct hostlist *more);

size_t hostlist_count(const struct hostlist *h);

/* Writes name number i (0 <= i < count) to buf, by binary search in the ranges. Returns buf. */
const char *hostlist_nth(const struct hostlist *h, size_t i, char buf[HOSTLIST_NAME_MAX + 1]);
long hostlist_find(const struct hostlist *h, const char *name); /* its index or -1 */
bool hostlist_remove(struct hostlist *h, const char *name);     /* removes its first occurrence */
void hostlist_sort(struct hostlist *h); /* by prefix, length of the number, number */
void hostlist_uniq(struct hostlist *h); /* sorts, then removes duplicates */

/* Appends the compressed expression. */
void hostlist_format(const struct hostlist *h, struct str *out);
