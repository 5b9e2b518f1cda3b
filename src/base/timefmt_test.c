/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/timefmt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void set_time_zone(const char *name)
{
    setenv("TZ", name, 1);
    tzset();
}

static void invalid_time_limits_are_refused(void **state)
{
    static const char *const rows[] = {
        NULL,  "",   " ",   "x",    "1x",   "-",       "-2",         "1-",
        "1-:", ":1", "1:",  "1::2", "1:2:", "1:2:3:4", "1-2:3:4:5",  "1-2-3",
        "1 ",  " 1", "1.5", "+1",   "1:-2", "0x10",    "UNLIMITEDx", "INFINIT",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        int64_t sec = 4711;
        if (time_parse_limit(rows[i], &sec, &err) != -ERR_PARSE)
            fail_msg("\"%s\" was taken", rows[i] ? rows[i] : "(null)");
        assert_int_equal(err.code, -ERR_PARSE);
        assert_int_equal(sec, 4711);
    }
}

/* The longest limit is the same in each form. */
static void longest_time_limit_is_the_same_in_each_form(void **state)
{
    static const struct {
        const char *longest, *above;
    } rows[] = {
        {"2290649224", "2290649225"},
        {"2290649224:32", "2290649224:33"},
        {"0:137438953472", "0:137438953473"},
        {"38177487:04:32", "38177487:04:33"},
        {"0:0:137438953472", "0:0:137438953473"},
        {"1590728-15", "1590728-16"},
        {"1590728-15:04:32", "1590728-15:04:33"},
        {"0-38177487", "0-38177488"},
        {"00000000000000000000000001", "99999999999999999999999999"},
        {"1", "9223372036854775808:9223372036854775808:9223372036854775808"},
        {"1", "9999999999999-9999999999999:9999999999999:9999999999999"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        int64_t sec = 4711;
        if (time_parse_limit(rows[i].above, &sec, &err) != -ERR_RANGE)
            fail_msg("\"%s\" was taken", rows[i].above);
        assert_non_null(strstr(err.text, "2290649224 minutes"));
        assert_int_equal(sec, 4711);
        if (time_parse_limit(rows[i].longest, &sec, NULL) != 0)
            fail_msg("\"%s\" was refused", rows[i].longest);
    }
}

/* The forms of --time. */
static void time_limits_are_parsed(void **state)
{
    static const struct {
        const char *text;
        int64_t sec;
    } rows[] = {
        {"0", 0},
        {"1", 60},
        {"90", 5400},
        {"1:30", 90},
        {"90:00", 5400},
        {"0:05", 5},
        {"1:00:00", 3600},
        {"100:00:00", 360000},
        {"1-0", 86400},
        {"1-12", 129600},
        {"1-12:30", 131400},
        {"1-12:30:15", 131415},
        {"0-0:1", 60},
        {"365-00:00:00", 31536000},
        {"UNLIMITED", TIME_UNLIMITED},
        {"unlimited", TIME_UNLIMITED},
        {"Infinite", TIME_UNLIMITED},
        {"-1", TIME_UNLIMITED},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t sec = -5;
        assert_int_equal(time_parse_limit(rows[i].text, &sec, NULL), 0);
        assert_true(sec == rows[i].sec);
    }
}

static void time_limits_are_formatted(void **state)
{
    static const struct {
        int64_t sec;
        const char *limit, *shortest;
    } rows[] = {
        {0, "00:00:00", "0:00"},
        {5, "00:00:05", "0:05"},
        {300, "00:05:00", "5:00"},
        {3599, "00:59:59", "59:59"},
        {3600, "01:00:00", "1:00:00"},
        {86399, "23:59:59", "23:59:59"},
        {86400, "1-00:00:00", "1-00:00:00"},
        {131415, "1-12:30:15", "1-12:30:15"},
        {31536000, "365-00:00:00", "365-00:00:00"},
        {TIME_UNLIMITED, "UNLIMITED", "UNLIMITED"},
        {TIME_UNLIMITED - 1, "106751991167300-15:30:06", "106751991167300-15:30:06"},
        {-1, "INVALID", "INVALID"},
        {INT64_MIN, "INVALID", "INVALID"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char buf[TIME_TEXT_MAX];
        assert_string_equal(time_format_limit(rows[i].sec, buf), rows[i].limit);
        assert_string_equal(time_format_short(rows[i].sec, buf), rows[i].shortest);
    }
}

static void dates_are_formatted_in_the_zone(void **state)
{
    char buf[TIME_TEXT_MAX];
    set_time_zone("UTC0");
    assert_string_equal(time_format_date(0, "N/A", buf), "N/A");
    assert_string_equal(time_format_date(0, NULL, buf), "Unknown");
    assert_string_equal(time_format_date(1, "N/A", buf), "1970-01-01T00:00:01");
    assert_string_equal(time_format_date(INT64_C(4294967296), "", buf), "2106-02-07T06:28:16");
    assert_string_equal(time_format_date(INT64_MAX, "", buf), "Invalid");
    set_time_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    assert_string_equal(time_format_date(1, "N/A", buf), "1970-01-01T01:00:01");
}

#define NOW INT64_C(1795235400) /* 2026-11-21T04:30:00 UTC, a Saturday */

static void utc_does_not_follow_the_zone(void **state)
{
    static const struct {
        int64_t at;
        const char *text;
    } v[] = {{0, "1970-01-01T00:00:00"},
             {1700000000, "2023-11-14T22:13:20"},
             {TIME_DATE_MAX, "9999-12-31T23:59:59"},
             {INT64_MAX, "9223372036854775807"}};
    char buf[TIME_TEXT_MAX];
    set_time_zone("America/New_York");
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        assert_string_equal(time_format_utc(v[i].at, buf), v[i].text);
    set_time_zone("UTC");
}

static void invalid_dates_are_refused(void **state)
{
    static const char *const rows[] = {
        NULL,
        "",
        " ",
        "soon",
        "2026",
        "2026-",
        "noon-",
        "-noon",
        "noon--tomorrow",
        "2026-13-01",
        "2026-00-01",
        "2026-02-30",
        "2027-02-29",
        "1969-12-31",
        "2026-11-21T",
        "2026-11-21T25:00",
        "2026-11-21T12",
        "2026-11-21T12:60",
        "2026-11-21T12:00:60",
        "2026-11-21X12:00",
        "12:0013:00",
        "noonishtomorrow",
        "tomorroww",
        "24:00",
        "1",
        "123",
        "12345",
        "1234567",
        "1301",
        "013126123",
        "now+",
        "now+x",
        "now+1fortnight",
        "now1",
        "now+-1",
        "now+1234567890",
        "nowish",
        "13:00pm",
        "0:30am",
        "1:00xm",
        "noonish",
        "uts",
        "utsx",
        "uts1x",
        "uts-1",
        "uts253402300800",
        "uts17740000074000000",
        "12/32",
        "13/01",
        "12/31/2",
        "2026-11-21T12:00Z",
    };
    set_time_zone("UTC0");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        int64_t at = 4711;
        if (time_parse_date(rows[i], NOW, &at, &err) != -ERR_PARSE)
            fail_msg("\"%s\" was taken", rows[i] ? rows[i] : "(null)");
        assert_int_equal(err.code, -ERR_PARSE);
        assert_int_equal(at, 4711);
    }
    int64_t at = 4711;
    assert_int_equal(time_parse_date("now+1", INT64_MAX, &at, NULL), -ERR_PARSE);
}

/* The forms of --begin. */
static void dates_are_parsed(void **state)
{
    static const struct {
        const char *text, *date;
    } rows[] = {
        {"now", "2026-11-21T04:30:00"},
        {"NOW", "2026-11-21T04:30:00"},
        {"now+60", "2026-11-21T04:31:00"},
        {"now+10minutes", "2026-11-21T04:40:00"},
        {"now + 1 hour", "2026-11-21T05:30:00"},
        {"now+2days", "2026-11-23T04:30:00"},
        {"now+1week", "2026-11-28T04:30:00"},
        {"now-1day", "2026-11-20T04:30:00"},
        {"05:00", "2026-11-21T05:00:00"},
        {"04:30", "2026-11-21T04:30:00"}, /* not past yet */
        {"04:29:59", "2026-11-22T04:29:59"},
        {"4:00", "2026-11-22T04:00:00"},
        {"4:00pm", "2026-11-21T16:00:00"},
        {"12:15 AM", "2026-11-22T00:15:00"},
        {"12:15pm", "2026-11-21T12:15:00"},
        {"midnight", "2026-11-22T00:00:00"},
        {"noon", "2026-11-21T12:00:00"},
        {"fika", "2026-11-21T15:00:00"},
        {"teatime", "2026-11-21T16:00:00"},
        {"today", "2026-11-21T00:00:00"},
        {"tomorrow", "2026-11-22T00:00:00"},
        {"tomorrow 10:00", "2026-11-22T10:00:00"},
        {"tomorrow noon", "2026-11-22T12:00:00"},
        {"16:00 tomorrow", "2026-11-22T16:00:00"},
        {"noon-tomorrow", "2026-11-22T12:00:00"},
        {"tomorrow-elevenses", "2026-11-22T11:00:00"},
        {"tomorrow-12:00", "2026-11-22T12:00:00"},
        {"tomorrow18:00", "2026-11-22T18:00:00"},
        {"18:00Tomorrow", "2026-11-22T18:00:00"},
        {"noontomorrow", "2026-11-22T12:00:00"},
        {"12/24teatime", "2026-12-24T16:00:00"},
        {"12:00 13:00", "2026-11-21T13:00:00"}, /* the last one counts */
        {"tomorrow noon midnight", "2026-11-22T00:00:00"},
        {"tomorrow today 12:00", "2026-11-21T12:00:00"},
        {"12/24/27-18:05", "2027-12-24T18:05:00"},
        {"2026-12-24", "2026-12-24T00:00:00"},
        {"2026-1-2", "2026-01-02T00:00:00"},
        {"2026-12-24T18:05", "2026-12-24T18:05:00"},
        {"2026-12-24T18:05:07", "2026-12-24T18:05:07"},
        {"2026-12-24 18:05", "2026-12-24T18:05:00"},
        {"2010-01-20T12:34:00", "2010-01-20T12:34:00"}, /* the past, said in full */
        {"2028-02-29", "2028-02-29T00:00:00"},
        {"1224", "2026-12-24T00:00:00"},
        {"0120", "2027-01-20T00:00:00"}, /* passed this year */
        {"122427", "2027-12-24T00:00:00"},
        {"12/24", "2026-12-24T00:00:00"},
        {"12/24/27", "2027-12-24T00:00:00"},
        {"12.24.2027", "2027-12-24T00:00:00"},
        {"1121 04:00", "2027-11-21T04:00:00"},
        {"uts1000000000", "2001-09-09T01:46:40"},
        {"uts253402300799", "9999-12-31T23:59:59"},
    };
    set_time_zone("UTC0");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        int64_t at = 0;
        if (time_parse_date(rows[i].text, NOW, &at, &err) != 0)
            fail_msg("%s", err.text);
        char buf[TIME_TEXT_MAX];
        time_format_date(at, "zero", buf);
        if (strcmp(buf, rows[i].date) != 0)
            fail_msg("\"%s\" is %s, not %s", rows[i].text, buf, rows[i].date);
    }
}

/* 2026-10-25: a day of 25 hours in this zone. */
static void dates_on_days_of_daylight_saving_are_parsed(void **state)
{
    static const char *const rows[][2] = {
        {"tomorrow", "2026-10-26T00:00:00"},
        {"11:00", "2026-10-26T11:00:00"},
        {"today 23:00", "2026-10-25T23:00:00"},
    };
    set_time_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    int64_t now;
    assert_int_equal(time_parse_date("2026-10-25T12:00", NOW, &now, NULL), 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t at;
        char buf[TIME_TEXT_MAX];
        assert_int_equal(time_parse_date(rows[i][0], now, &at, NULL), 0);
        assert_string_equal(time_format_date(at, "zero", buf), rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_time_limits_are_refused),
        cmocka_unit_test(longest_time_limit_is_the_same_in_each_form),
        cmocka_unit_test(time_limits_are_parsed),
        cmocka_unit_test(time_limits_are_formatted),
        cmocka_unit_test(dates_are_formatted_in_the_zone),
        cmocka_unit_test(utc_does_not_follow_the_zone),
        cmocka_unit_test(invalid_dates_are_refused),
        cmocka_unit_test(dates_are_parsed),
        cmocka_unit_test(dates_on_days_of_daylight_saving_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
