/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times in user notation. Durations: "minutes", "minutes:seconds", "hours:minutes:seconds",
 * "days-hours", "days-hours:minutes", "days-hours:minutes:seconds", "UNLIMITED"/"INFINITE"/"-1".
 * Dates: ISO without a zone, local time.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define TIME_UNLIMITED INT64_MAX
#define TIME_TEXT_MAX 32
#define TIME_DATE_MAX 253402300799 /* the last second of the year 9999, UTC */

/* Parses a time limit to seconds; a bare number is in minutes; TIME_UNLIMITED for the words.
   Returns 0 or -ERR_PARSE. */
int time_parse_limit(const char *text, int64_t *sec, struct err *err);

/* "[D-]HH:MM:SS" (scontrol), or squeue's shortest form "M:SS", "H:MM:SS", "D-HH:MM:SS";
 * "UNLIMITED". */
const char *time_format_limit(int64_t sec, char buf[TIME_TEXT_MAX]);
const char *time_format_short(int64_t sec, char buf[TIME_TEXT_MAX]);

/* "2026-11-21T04:30:00" in local time; 0 is "Unknown" in scontrol and "N/A" in squeue, as chosen
 * by the caller. */
const char *time_format_date(int64_t at_sec, const char *when_zero, char buf[TIME_TEXT_MAX]);

/* "2026-11-21T04:30:00" in UTC; a time outside of the calendar's range is printed as a number. */
const char *time_format_utc(int64_t at_sec, char buf[TIME_TEXT_MAX]);

/* Sets the date format of time_format_date() in this process (SLURM_TIME_FORMAT): NULL or
 * "standard", "relative", or a format of strftime(). Borrowed. */
void time_set_date_format(const char *format);

/* now, now+10minutes, HH:MM[:SS], MMDD[YY], YYYY-MM-DD[THH:MM[:SS]], midnight, noon, today,
 * tomorrow, uts<seconds>; from 1970 to TIME_DATE_MAX. -ERR_PARSE. */
int time_parse_date(const char *text, int64_t now_sec, int64_t *at_sec, struct err *err);

/* A time zone, as an input of code that must not depend on the zone of its process. */
struct time_zone {
    /* Returns the same local time a number of days later (days may have 23 or 25 hours), and its
     * day of the week (0: Sunday). */
    int64_t (*shift_days)(int64_t at_sec, int days, int *week_day);
};

extern const struct time_zone time_zone_utc;
extern const struct time_zone time_zone_host; /* that of TZ or /etc/localtime */
