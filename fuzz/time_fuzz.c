/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input: a time limit and a date. Accepted values are in range, and a printed limit parses to the
 * same value. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timefmt.h"

#define NOW_SEC 1774000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_limit(const char *text)
{
    char printed[TIME_TEXT_MAX], again[TIME_TEXT_MAX];
    int64_t sec = -7, same = -7;
    if (time_parse_limit(text, &sec, NULL) != 0) {
        require(sec == -7);
        return;
    }
    require(sec >= 0);
    time_format_limit(sec, printed);
    require(time_parse_limit(printed, &same, NULL) == 0 && same == sec);
    time_format_short(sec, again);
    require(strlen(again) > 0);
}

static void check_date(const char *text)
{
    char printed[TIME_TEXT_MAX];
    int64_t at = -7;
    if (time_parse_date(text, NOW_SEC, &at, NULL) != 0) {
        require(at == -7);
        return;
    }
    require(at >= 0 && at <= TIME_DATE_MAX);
    require(strlen(time_format_date(at, "Unknown", printed)) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    if (!ready) {
        setenv("TZ", "Europe/Berlin", 1);
        ready = true;
    }
    _cleanup_free_ char *text = mem_strndup((const char *)data, size);
    check_limit(text);
    check_date(text);
    return 0;
}
