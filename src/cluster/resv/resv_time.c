/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a reservation is: once, again and again at the same time by the clock on the wall, or always
 * so long from now. */
#include "base/timefmt.h"
#include "cluster/resv/resv.h"

#define DAY_SEC INT64_C(86400)
#define HOUR_SEC INT64_C(3600)

static bool is_day(const struct resv *r, int week_day)
{
    bool weekend = week_day == 0 || week_day == 6;
    return !(r->flags & (weekend ? RESV_WEEKDAY : RESV_WEEKEND));
}

/* Whole days are skipped at once, a few are tried. */
static void skip_repeats(const struct resv *r, int64_t at, struct resv_time *out)
{
    int64_t length = out->end - out->begin, over = at - out->end;
    int64_t step = r->flags & RESV_WEEKLY ? 7 : 1;
    int week_day;
    if (over < 0)
        return;
    if (r->flags & RESV_HOURLY) {
        out->begin += (over / HOUR_SEC + 1) * HOUR_SEC;
        out->end = out->begin + length;
        return;
    }
    int64_t days = over / DAY_SEC / step * step;
    do {
        out->begin = time_shift_days(r->start_at, (int)days, &week_day);
        out->end = out->begin + length;
        days += step;
    } while (out->end <= at || !is_day(r, week_day));
}

bool resv_occurs(const struct resv *r, int64_t at, struct resv_time *out)
{
    *out = (struct resv_time){r->start_at, r->end_at};
    if (r->flags & RESV_TIME_FLOAT) {
        out->begin = at + r->float_sec;
        if (r->float_length_sec)
            out->end =
                r->float_length_sec == RESV_NEVER ? RESV_NEVER : out->begin + r->float_length_sec;
        return out->end > out->begin;
    }
    if (out->end > at)
        return true;
    if (!(r->flags & RESV_REPEATS))
        return false;
    skip_repeats(r, at, out);
    return true;
}

bool resv_overlaps(const struct resv *r, int64_t from, int64_t until)
{
    struct resv_time t;
    return resv_occurs(r, from, &t) && t.begin < until;
}

bool resv_is_at(const struct resv *r, int64_t from, int64_t at)
{
    struct resv_time t;
    return resv_occurs(r, r->flags & RESV_TIME_FLOAT ? from : at, &t) && t.begin <= at &&
           at < t.end;
}

bool resv_advance(struct resv *r, int64_t now)
{
    struct resv_time t;
    if (r->flags & RESV_TIME_FLOAT)
        return r->float_length_sec || r->end_at > now;
    if (!resv_occurs(r, now, &t))
        return false;
    r->start_at = t.begin;
    r->end_at = t.end;
    return true;
}

int64_t resv_period(const struct resv *r)
{
    return r->flags & RESV_HOURLY    ? HOUR_SEC
           : r->flags & RESV_WEEKLY  ? 7 * DAY_SEC
           : r->flags & RESV_REPEATS ? DAY_SEC
                                     : RESV_NEVER;
}
