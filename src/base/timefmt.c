/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/timefmt.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/str.h"

#define DAY_SEC 86400
/* About 4000 years: the range of 32 bits of minutes. */
#define LIMIT_MAX_SEC (INT64_C(1) << 37)

/* Parses any number of decimal digits at *p; a number above LIMIT_MAX_SEC becomes LIMIT_MAX_SEC +
   1. */
static bool take_limit_number(const char **p, int64_t *value)
{
    size_t len = strspn(*p, "0123456789");
    *value = 0;
    for (size_t i = 0; i < len; i++, (*p)++)
        if (*value <= LIMIT_MAX_SEC)
            *value = *value * 10 + (**p - '0');
    if (*value > LIMIT_MAX_SEC)
        *value = LIMIT_MAX_SEC + 1;
    return len > 0;
}

/* Parses 1 to 'most' decimal digits at *p. */
static bool take_number(const char **p, size_t most, int64_t *value)
{
    size_t len = strspn(*p, "0123456789");
    if (len == 0 || len > most)
        return false;
    *value = 0;
    for (; len; len--)
        *value = *value * 10 + (*(*p)++ - '0');
    return true;
}

static bool take_char(const char **p, char c)
{
    bool there = **p == c;
    *p += there;
    return there;
}

static bool take_prefix(const char **p, const char *word)
{
    size_t len = strlen(word);
    if (strncasecmp(*p, word, len) != 0)
        return false;
    *p += len;
    return true;
}

/* Parses a word at *p that is not followed by a letter. */
static bool take_word(const char **p, const char *word)
{
    return !isalpha((unsigned char)(*p)[strnlen(*p, strlen(word))]) && take_prefix(p, word);
}

int time_parse_limit(const char *text, int64_t *sec, struct err *err)
{
    const char *p = text ? text : "";
    if (str_case_eq(p, "UNLIMITED") || str_case_eq(p, "INFINITE") || str_eq(p, "-1")) {
        *sec = TIME_UNLIMITED;
        return 0;
    }
    int64_t days = 0, field[3] = {0};
    int count = 0;
    bool ok = take_limit_number(&p, &field[count++]);
    bool with_days = ok && take_char(&p, '-');
    if (with_days) {
        days = field[0];
        ok = take_limit_number(&p, &field[0]);
    }
    while (ok && count < 3 && take_char(&p, ':'))
        ok = take_limit_number(&p, &field[count++]);
    if (!ok || *p)
        return err_set(err, -ERR_PARSE,
                       "\"%s\" is not a time limit: use minutes, minutes:seconds, "
                       "hours:minutes:seconds, days-hours[:minutes[:seconds]] or UNLIMITED",
                       text ? text : "");
    /* After days the first field is hours; otherwise the last of two fields is seconds. */
    int64_t unit = with_days || count == 3 ? 3600 : 60;
    int64_t sum = days * DAY_SEC;
    for (int i = 0; i < count; i++, unit /= 60)
        sum += field[i] * unit;
    if (sum > LIMIT_MAX_SEC)
        return err_set(err, -ERR_RANGE,
                       "time limit \"%s\" is too long: the longest is %" PRIi64
                       " minutes; use UNLIMITED",
                       text, LIMIT_MAX_SEC / 60);
    *sec = sum;
    return 0;
}

const char *time_format_limit(int64_t sec, char buf[TIME_TEXT_MAX])
{
    int64_t day = sec / DAY_SEC, hour = sec / 3600 % 24, min = sec / 60 % 60;
    if (sec == TIME_UNLIMITED)
        snprintf(buf, TIME_TEXT_MAX, "UNLIMITED");
    else if (sec < 0)
        snprintf(buf, TIME_TEXT_MAX, "INVALID");
    else if (day)
        snprintf(buf, TIME_TEXT_MAX, "%" PRId64 "-%02d:%02d:%02d", day, (int)hour, (int)min,
                 (int)(sec % 60));
    else
        snprintf(buf, TIME_TEXT_MAX, "%02d:%02d:%02d", (int)hour, (int)min, (int)(sec % 60));
    return buf;
}

/* ":07" */
static char *put_two(char *at, int n)
{
    *at++ = ':';
    *at++ = (char)('0' + n / 10);
    *at++ = (char)('0' + n % 10);
    return at;
}

/* Called up to a hundred thousand times per listing, so it does not use printf(). */
const char *time_format_short(int64_t sec, char buf[TIME_TEXT_MAX])
{
    if (sec < 0 || sec >= DAY_SEC)
        return time_format_limit(sec, buf);
    int hours = (int)(sec / 3600), minutes = (int)(sec / 60 % 60);
    int first = hours ? hours : minutes;
    char *at = buf;
    if (first >= 10)
        *at++ = (char)('0' + first / 10);
    *at++ = (char)('0' + first % 10);
    if (hours)
        at = put_two(at, minutes);
    *put_two(at, (int)(sec % 60)) = 0;
    return buf;
}

static const char *date_format; /* NULL: standard */

void time_set_date_format(const char *format)
{
    date_format = format && *format && !str_case_eq(format, "standard") ? format : NULL;
}

/* Formats "12:34:56" for today, "Ystday 12:34", "Mon 12:34" for the coming week, "25 Apr 12:34",
   "6 Jun 2012". */
static const char *relative_format(const struct tm *tm)
{
    struct tm today;
    time_t now = time(NULL);
    if (!localtime_r(&now, &today))
        return "%Y-%m-%dT%H:%M:%S";
    int days = tm->tm_yday - today.tm_yday;
    if (tm->tm_year != today.tm_year)
        return "%-d %b %Y";
    return days == 0              ? "%H:%M:%S"
           : days == 1            ? "Tomorr %H:%M"
           : days == -1           ? "Ystday %H:%M"
           : days > 1 && days < 7 ? "%a %H:%M"
                                  : "%-d %b %H:%M";
}

const char *time_format_date(int64_t at_sec, const char *when_zero, char buf[TIME_TEXT_MAX])
{
    time_t at = (time_t)at_sec;
    struct tm tm;
    if (at_sec == 0)
        snprintf(buf, TIME_TEXT_MAX, "%s", when_zero ? when_zero : "Unknown");
    else if (!localtime_r(&at, &tm) ||
             strftime(buf, TIME_TEXT_MAX,
                      !date_format                           ? "%Y-%m-%dT%H:%M:%S"
                      : str_case_eq(date_format, "relative") ? relative_format(&tm)
                                                             : date_format,
                      &tm) == 0)
        snprintf(buf, TIME_TEXT_MAX, "Invalid");
    return buf;
}

const char *time_format_utc(int64_t at_sec, char buf[TIME_TEXT_MAX])
{
    time_t at = (time_t)at_sec;
    struct tm tm;
    if (!gmtime_r(&at, &tm) || !strftime(buf, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm))
        snprintf(buf, TIME_TEXT_MAX, "%" PRId64, at_sec);
    return buf;
}

/* The parts of a time given in a text, before missing ones are filled in from the present time.
 * The last of several days or times of day is used. */
struct date_parts {
    bool has_day, has_year;
    int year, month, day; /* month 1 to 12 */
    int hour, minute, second;
};

static bool parts_day(struct date_parts *d, bool has_year, int64_t year, int64_t month, int64_t day)
{
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12 || day < 1 || day > month_days[month - 1] ||
        (has_year && (year < 1970 || year > 9999)))
        return false;
    d->has_day = true;
    d->has_year = has_year;
    d->year = (int)year;
    d->month = (int)month;
    d->day = (int)day;
    return true;
}

static bool parts_time(struct date_parts *d, int64_t hour, int64_t minute, int64_t second)
{
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    d->hour = (int)hour;
    d->minute = (int)minute;
    d->second = (int)second;
    return true;
}

/* Parses the text after "HH:": MM[:SS] and am or pm. */
static bool take_clock(const char **p, struct date_parts *d, int64_t hour)
{
    int64_t minute, second = 0;
    if (!take_number(p, 2, &minute) || (take_char(p, ':') && !take_number(p, 2, &second)))
        return false;
    const char *after = *p + strspn(*p, " ");
    bool am = take_word(&after, "am"), pm = !am && take_word(&after, "pm");
    if (am || pm) {
        if (hour < 1 || hour > 12)
            return false;
        hour = hour % 12 + (pm ? 12 : 0);
        *p = after;
    }
    return parts_time(d, hour, minute, second);
}

/* Parses the text after a two-digit month and its separator ('/' or '.'): DD or DD/YY, as in
   12/31/26. */
static bool take_slashed(const char **p, struct date_parts *d, int64_t month, char separator)
{
    int64_t day, year = 0;
    if (!take_number(p, 2, &day))
        return false;
    bool has_year = take_char(p, separator);
    if (has_year) {
        size_t len = strspn(*p, "0123456789");
        if ((len != 2 && len != 4) || !take_number(p, 4, &year))
            return false;
        year += len == 2 ? 2000 : 0;
    }
    return parts_day(d, has_year, year, month, day);
}

static bool take_digits_part(const char **p, struct date_parts *d)
{
    size_t len = strspn(*p, "0123456789");
    int64_t number, month, day;
    if (!take_number(p, 6, &number))
        return false;
    if (len <= 2 && take_char(p, ':'))
        return take_clock(p, d, number);
    if (len <= 2 && (**p == '/' || **p == '.')) {
        char separator = *(*p)++;
        return take_slashed(p, d, number, separator);
    }
    if (len == 4 && take_char(p, '-'))
        return take_number(p, 2, &month) && take_char(p, '-') && take_number(p, 2, &day) &&
               parts_day(d, true, number, month, day);
    if (len == 4)
        return parts_day(d, false, 0, number / 100, number % 100);
    if (len == 6)
        return parts_day(d, true, 2000 + number % 100, number / 10000, number / 100 % 100);
    return false;
}

/* Another part may follow without a blank, as in "noontomorrow" and "tomorrow18:00". */
static bool take_word_part(const char **p, struct date_parts *d, const struct tm *today)
{
    if (take_prefix(p, "midnight"))
        return parts_time(d, 0, 0, 0);
    if (take_prefix(p, "noon"))
        return parts_time(d, 12, 0, 0);
    if (take_prefix(p, "elevenses"))
        return parts_time(d, 11, 0, 0);
    if (take_prefix(p, "fika"))
        return parts_time(d, 15, 0, 0);
    if (take_prefix(p, "teatime"))
        return parts_time(d, 16, 0, 0);
    bool tomorrow = take_prefix(p, "tomorrow");
    if (!tomorrow && !take_prefix(p, "today"))
        return false;
    struct tm tm = *today;
    tm.tm_mday += tomorrow;
    tm.tm_hour = 12;
    tm.tm_isdst = -1;
    mktime(&tm); /* the day after the 31st */
    return parts_day(d, true, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

/* Returns false for a day that is not in the calendar. */
static bool parts_resolve(const struct date_parts *d, const struct tm *today, int year,
                          int add_days, int64_t *at_sec)
{
    struct tm tm = {
        .tm_year = (d->has_day ? year : today->tm_year + 1900) - 1900,
        .tm_mon = d->has_day ? d->month - 1 : today->tm_mon,
        .tm_mday = (d->has_day ? d->day : today->tm_mday) + add_days,
        .tm_hour = d->hour,
        .tm_min = d->minute,
        .tm_sec = d->second,
        .tm_isdst = -1,
    };
    time_t at = mktime(&tm);
    if (d->has_day && (tm.tm_mon != d->month - 1 || tm.tm_mday != d->day))
        return false;
    *at_sec = at;
    return true;
}

static bool parse_parts(const char *p, int64_t now_sec, int64_t *at_sec)
{
    time_t now = (time_t)now_sec;
    struct tm today;
    struct date_parts d = {0};
    if (!*p || !localtime_r(&now, &today))
        return false;
    while (*p) {
        bool digit = isdigit((unsigned char)*p);
        if (!(digit ? take_digits_part(&p, &d) : take_word_part(&p, &d, &today)))
            return false;
        bool joined =
            take_char(&p, '-') || (isdigit((unsigned char)p[*p != 0]) && take_char(&p, 'T'));
        bool apart = *p == ' ' || isalpha((unsigned char)*p) || !digit;
        if (joined ? !*p : *p && !apart)
            return false;
        p += strspn(p, " ");
    }
    int year = d.has_year ? d.year : today.tm_year + 1900;
    bool ok = parts_resolve(&d, &today, year, 0, at_sec);
    /* A time without a day that has already passed today means tomorrow. */
    if (!d.has_day && ok && *at_sec < now_sec)
        ok = parts_resolve(&d, &today, year, 1, at_sec);
    else if (d.has_day && !d.has_year && (!ok || *at_sec < now_sec))
        ok = parts_resolve(&d, &today, year + 1, 0, at_sec);
    return ok;
}

/* Parses the text after "now": empty, or + or - and a count of seconds or of the named unit. */
static bool parse_now(const char *p, int64_t now_sec, int64_t *at_sec)
{
    static const struct {
        const char *word;
        int64_t sec;
    } units[] = {
        {"second", 1},     {"seconds", 1},        {"sec", 1},
        {"minute", 60},    {"minutes", 60},       {"min", 60},
        {"hour", 3600},    {"hours", 3600},       {"day", DAY_SEC},
        {"days", DAY_SEC}, {"week", 7 * DAY_SEC}, {"weeks", 7 * DAY_SEC},
    };
    int64_t count = 0, unit_sec = 1;
    p += strspn(p, " ");
    if (*p) {
        bool back = *p == '-';
        if (!back && *p != '+')
            return false;
        p++;
        p += strspn(p, " ");
        if (!take_number(&p, 9, &count))
            return false;
        p += strspn(p, " ");
        for (size_t i = 0; *p && i < sizeof(units) / sizeof(units[0]); i++)
            if (take_word(&p, units[i].word))
                unit_sec = units[i].sec;
        if (*p)
            return false;
        count *= back ? -unit_sec : unit_sec;
    }
    return !__builtin_add_overflow(now_sec, count, at_sec);
}

int time_parse_date(const char *text, int64_t now_sec, int64_t *at_sec, struct err *err)
{
    const char *p = text ? text : "";
    int64_t at = 0;
    bool ok;
    if (take_word(&p, "now"))
        ok = parse_now(p, now_sec, &at);
    else if (strncasecmp(p, "uts", 3) == 0)
        ok = (p += 3, take_number(&p, 18, &at)) && !*p;
    else
        ok = parse_parts(p, now_sec, &at);
    if (!ok)
        return err_set(err, -ERR_PARSE,
                       "\"%s\" is not a date: use YYYY-MM-DD[THH:MM[:SS]], HH:MM[:SS], MMDD[YY], "
                       "now[+COUNT[UNIT]], today, tomorrow, midnight or noon",
                       text ? text : "");
    if (at < 0 || at > TIME_DATE_MAX)
        return err_set(err, -ERR_PARSE,
                       "date '%s' is not between 1970 and the end of the year 9999",
                       text ? text : "");
    *at_sec = at;
    return 0;
}

static int64_t shift_utc_days(int64_t at_sec, int days, int *week_day)
{
    int64_t at = at_sec + (int64_t)days * 86400;
    int64_t day = at / 86400 - (at % 86400 < 0);
    *week_day = (int)(((day + 4) % 7 + 7) % 7); /* 1970 began on a Thursday */
    return at;
}

const struct time_zone time_zone_utc = {.shift_days = shift_utc_days};

static int64_t shift_host_days(int64_t at_sec, int days, int *week_day)
{
    time_t t = (time_t)at_sec;
    struct tm tm;
    localtime_r(&t, &tm);
    tm.tm_mday += days;
    tm.tm_isdst = -1;
    t = mktime(&tm);
    *week_day = tm.tm_wday;
    return t;
}

const struct time_zone time_zone_host = {.shift_days = shift_host_days};
