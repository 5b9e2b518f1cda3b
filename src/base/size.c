/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/size.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NANO 1000000000u

/* Parses the digits at *p; false if there are none or too many. */
static bool take_digits(const char **p, uint64_t *value)
{
    const char *s = *p;
    uint64_t sum = 0;
    for (; *s >= '0' && *s <= '9'; s++)
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*s - '0'), &sum))
            return false;
    bool some = s != *p;
    *p = s;
    *value = sum;
    return some;
}

/* Parses the fraction at *p in billionths, rounded up; false if there is no digit. */
static bool take_fraction(const char **p, uint64_t *nano)
{
    const char *s = *p;
    uint64_t sum = 0, unit = NANO;
    bool rest = false;
    for (; *s >= '0' && *s <= '9'; s++) {
        unit /= 10;
        sum += unit * (uint64_t)(*s - '0');
        rest |= unit == 0 && *s != '0';
    }
    bool some = s != *p;
    *p = s;
    *nano = sum + rest;
    return some;
}

int size_parse_mib(const char *text, uint64_t *mib, struct err *err)
{
    const char *p = text ? text : "";
    if (*p < '0' || *p > '9')
        return err_set(err, -ERR_PARSE, "\"%s\" is not a size: a number with K, M, G or T", p);
    uint64_t whole, nano = 0, unit_kib = 1024;
    if (!take_digits(&p, &whole))
        return err_set(err, -ERR_RANGE, "size \"%s\" is too large", text);
    if (*p == '.') {
        p++;
        if (!take_fraction(&p, &nano))
            return err_set(err, -ERR_PARSE, "size \"%s\" has no digit after its point", text);
    }
    if (*p) {
        switch (*p++ | 0x20) {
        case 'k':
            unit_kib = 1;
            break;
        case 'm':
            break;
        case 'g':
            unit_kib = UINT64_C(1) << 20;
            break;
        case 't':
            unit_kib = UINT64_C(1) << 30;
            break;
        default:
            return err_set(err, -ERR_PARSE, "size \"%s\" has an unknown unit; use K, M, G or T",
                           text);
        }
        p += *p == 'B' || *p == 'b';
    }
    if (*p)
        return err_set(err, -ERR_PARSE, "size \"%s\" does not end after its unit", text);
    /* At most 2^64 * 2^30 * 2^30, which fits. */
    unsigned __int128 nano_kib = ((unsigned __int128)whole * NANO + nano) * unit_kib;
    unsigned __int128 nano_mib = (unsigned __int128)NANO * 1024;
    unsigned __int128 sum = (nano_kib + nano_mib - 1) / nano_mib;
    if (sum > SIZE_MIB_MAX)
        return err_set(err, -ERR_RANGE, "size \"%s\" is too large: no node has that much", text);
    *mib = (uint64_t)sum;
    return 0;
}

const char *size_format_mib(uint64_t mib, char buf[SIZE_TEXT_MAX])
{
    static const char units[] = "MGTP";
    size_t unit = 0;
    if (mib == 0) {
        snprintf(buf, SIZE_TEXT_MAX, "0");
        return buf;
    }
    for (; mib % 1024 == 0 && units[unit + 1]; unit++)
        mib /= 1024;
    snprintf(buf, SIZE_TEXT_MAX, "%" PRIu64 "%c", mib, units[unit]);
    return buf;
}

int size_parse_count(const char *text, uint64_t max, uint64_t *count, struct err *err)
{
    const char *p = text ? text : "";
    if (*p < '0' || *p > '9')
        return err_set(err, -ERR_PARSE, "\"%s\" is not a count", p);
    uint64_t value;
    bool fits = take_digits(&p, &value);
    if (fits && *p) {
        static const char suffixes[] = "kmgtp";
        const char *suffix = strchr(suffixes, *p | 0x20);
        unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
        if (!suffix || p[1])
            return err_set(err, -ERR_PARSE,
                           "\"%s\" is not a count; k, m, g, t or p may follow the number", text);
        fits = !__builtin_mul_overflow(value, UINT64_C(1) << shift, &value);
    }
    if (!fits || value > max)
        return err_set(err, -ERR_RANGE, "%s is more than %" PRIu64, text, max);
    *count = value;
    return 0;
}
