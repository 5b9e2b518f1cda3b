/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: a host list. In every accepted list each name is found, and the formatted text gives the
 * same names again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"

/* A list may have a million names; thousands of small lists find more defects than one large list.
 */
#define NAMES_CHECKED 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_same(const struct hostlist *a, const struct hostlist *b)
{
    char x[HOSTLIST_NAME_MAX + 1], y[HOSTLIST_NAME_MAX + 1];
    require(hostlist_count(a) == hostlist_count(b));
    for (size_t i = 0; i < hostlist_count(a); i++)
        require(strcmp(hostlist_nth(a, i, x), hostlist_nth(b, i, y)) == 0);
}

static void check_round_trip(const struct hostlist *h)
{
    _cleanup_str_ struct str text = STR_INIT, again = STR_INIT;
    _cleanup_hostlist_ struct hostlist *copy = NULL;
    hostlist_format(h, &text);
    require(hostlist_parse(str_cstr(&text), &copy, NULL) == 0);
    check_same(h, copy);
    hostlist_format(copy, &again);
    require(strcmp(str_cstr(&text), str_cstr(&again)) == 0);
}

static void check_names(const struct hostlist *h)
{
    char name[HOSTLIST_NAME_MAX + 1], found[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < hostlist_count(h); i++) {
        long at = hostlist_find(h, hostlist_nth(h, i, name));
        require(at >= 0 && (size_t)at <= i);
        require(strcmp(hostlist_nth(h, (size_t)at, found), name) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *expr = mem_strndup((const char *)data, size);
    _cleanup_hostlist_ struct hostlist *h = NULL;
    struct err err = {0};
    int rc = hostlist_parse(expr, &h, &err);
    if (rc < 0) {
        require(!h && err.code == rc && err.text[0]);
        return 0;
    }
    size_t count = hostlist_count(h);
    require(count <= HOSTLIST_COUNT_MAX);
    if (count > NAMES_CHECKED)
        return 0;
    check_names(h);
    check_round_trip(h);
    hostlist_sort(h);
    require(hostlist_count(h) == count);
    check_round_trip(h);
    hostlist_uniq(h);
    require(hostlist_count(h) <= count);
    check_round_trip(h);
    char name[HOSTLIST_NAME_MAX + 1];
    size_t left = hostlist_count(h);
    if (left) {
        hostlist_nth(h, left / 2, name);
        require(hostlist_remove(h, name) && hostlist_find(h, name) < 0);
        require(hostlist_count(h) == left - 1);
        check_round_trip(h);
    }
    return 0;
}
