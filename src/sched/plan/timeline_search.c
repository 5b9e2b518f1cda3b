/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search of the earliest time on a timeline at which a job fits, in steps of one check of the
 * nodes. */
#include "sched/plan/timeline_priv.h"
#include "sched/select/select.h"

/* Maximum times after the first possible one that are checked one by one. */
#define TRIES 32

/* First finds the first time at which running jobs leave enough. The job fits from then on, because
 * only ends of jobs are foreseen: so the step doubles until the job fits, and the last step is
 * bisected. */
static void double_step(struct timeline_search *s, bool fits, size_t last)
{
    if (fits) {
        s->phase = s->low < s->high ? SEARCH_HALVE : SEARCH_AGAIN;
    } else if (s->high == last) {
        s->phase = SEARCH_NONE;
    } else {
        s->low = s->high + 1;
        s->high = s->high * 2 + 1 < last ? s->high * 2 + 1 : last;
    }
}

static void halve_step(struct timeline_search *s, bool fits)
{
    size_t middle = (s->low + s->high) / 2;
    if (fits)
        s->high = middle;
    else
        s->low = middle + 1;
    if (s->low == s->high)
        s->phase = SEARCH_AGAIN;
}

/* Reservations may exclude a start there. The job fits at the last time, when all of them have
 * ended. */
static void scan_step(struct timeline_search *s, bool fits, size_t last)
{
    if (fits) {
        s->phase = SEARCH_FOUND;
    } else if (s->high == last) {
        s->phase = SEARCH_NONE;
    } else {
        s->step = s->tries++ < TRIES ? 1 : s->step * 2;
        s->high = s->high + s->step < last ? s->high + s->step : last;
    }
}

/* Returns the furthest time that this step may reach. */
static size_t next_moment(const struct timeline_search *s)
{
    if (s->phase == SEARCH_DOUBLE)
        return s->high * 2 + 1;
    return s->phase == SEARCH_AGAIN ? s->high + 1 + s->step * 2 : s->high;
}

/* Returns the first time at or after 'from', or the number of times. The timeline is filled up to
 * there. */
static size_t find_moment(const struct timeline *t, int64_t from)
{
    size_t low = 0, high = t->moments.len - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->moments.data[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the first time at which the job's licences are available and it has waited for
 * switches. */
static size_t first_moment(struct timeline *t, const struct timeline_search *s)
{
    int64_t from = s->switches == SWITCHES_WAITED ? s->waits_until : t->calendar.now_sec;
    from = from > t->not_before ? from : t->not_before;
    if (from <= t->calendar.now_sec)
        return 0;
    timeline_fill_until(t, from);
    return find_moment(t, from);
}

/* Whether its licences are free from that time to its limit, beside the claims of other jobs. */
static bool has_licenses(struct timeline *t, const struct job *j, int64_t from)
{
    uint64_t work = 0;
    return !t->claims || license_is_due(t->claims, t->cluster, j,
                                        from == TIMELINE_NOW ? t->calendar.now_sec : from, &work);
}

static bool step_of_search(struct timeline *t, const struct job *j, const struct bitset *allowed,
                           struct timeline_search *s, struct selection *where)
{
    size_t first = first_moment(t, s);
    if (s->phase == SEARCH_DOUBLE && s->high < first)
        s->low = s->high = first;
    timeline_fill_moments(t, next_moment(s));
    size_t last = t->moments.len - 1;
    size_t middle = (s->low + s->high) / 2;
    int64_t high = t->moments.data[s->high];
    switch (s->phase) {
    case SEARCH_DOUBLE:
        double_step(s, timeline_is_foreseen(t, j, allowed, high, where), last);
        break;
    case SEARCH_HALVE:
        halve_step(s, timeline_is_foreseen(t, j, allowed, t->moments.data[middle], where));
        break;
    case SEARCH_AGAIN:
        scan_step(s, has_licenses(t, j, high) && timeline_fits_from(t, j, allowed, high, where),
                  last);
        break;
    case SEARCH_FOUND:
    case SEARCH_NONE:
        break;
    }
    return s->phase != SEARCH_FOUND && s->phase != SEARCH_NONE;
}

/* First searches the start on any number of switches, unless it is known. */
static void begin_switches(const struct timeline *t, const struct job *j, struct timeline_search *s)
{
    if (!j->want.switches || j->switches_waived || !select_topo(t->cluster, j)) {
        s->switches = SWITCHES_ASIDE;
        return;
    }
    s->waits_until = plan_switches_until(t->cluster, j);
    s->switches = s->waits_until ? SWITCHES_FEW : SWITCHES_ANY;
}

/* Ends the search for one number of switches. True: a search for another number follows. The last
 * search includes the requested number. */
static bool next_switches(struct timeline *t, const struct job *j, struct timeline_search *s)
{
    bool found = s->phase == SEARCH_FOUND;
    int64_t at = timeline_search_found(t, s);
    if (s->switches == SWITCHES_ANY && found) {
        *s = (struct timeline_search){.switches = SWITCHES_FEW};
        s->waits_until = at + plan_switches_wait(t->cluster, j);
        return true;
    }
    if (s->switches != SWITCHES_FEW || (found && at <= s->waits_until))
        return false;
    *s = (struct timeline_search){.switches = SWITCHES_WAITED, .waits_until = s->waits_until};
    if (s->waits_until > t->calendar.now_sec)
        timeline_add_moment(t, s->waits_until);
    return true;
}

bool timeline_search_step(struct timeline *t, const struct job *j, const struct bitset *allowed,
                          struct timeline_search *s, struct selection *where)
{
    if (s->switches == SWITCHES_UNKNOWN)
        begin_switches(t, j, s);
    if (s->switches == SWITCHES_ASIDE || s->switches == SWITCHES_FEW)
        return step_of_search(t, j, allowed, s, where) || next_switches(t, j, s);
    struct job any = *j;
    any.switches_waived = true;
    return step_of_search(t, &any, allowed, s, where) || next_switches(t, j, s);
}

int64_t timeline_search_found(const struct timeline *t, const struct timeline_search *s)
{
    if (s->phase != SEARCH_FOUND)
        return t->calendar.now_sec + CLUSTER_NO_LIMIT_SEC;
    return s->high == 0 ? t->calendar.now_sec : t->moments.data[s->high];
}

int64_t timeline_find(struct timeline *t, const struct job *j, const struct bitset *allowed,
                      struct selection *where)
{
    struct timeline_search s = {0};
    while (timeline_search_step(t, j, allowed, &s, where))
        ;
    return timeline_search_found(t, &s);
}

int64_t timeline_find_from(struct timeline *t, const struct job *j, const struct bitset *allowed,
                           int64_t foreseen_at, struct selection *where)
{
    struct timeline_search s = {.phase = SEARCH_AGAIN, .switches = SWITCHES_ASIDE};
    timeline_add_moment(t, foreseen_at);
    timeline_fill_until(t, foreseen_at);
    s.high = find_moment(t, foreseen_at);
    while (timeline_search_step(t, j, allowed, &s, where))
        ;
    return timeline_search_found(t, &s);
}
