/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/lead/standby.h"

#include <stdlib.h>

#include "base/mem.h"

#define PING_EVERY_MAX_MS 1000
#define PING_EVERY_MIN_MS 100
#define PING_HANDOVER_MS 50 /* while the leader hands over */
#define PING_LIMIT_MAX_MS 2000
#define ASK_AGAIN_MS 2000
/* Time for the orderly end of a leader that has agreed to yield. */
#define YIELD_GRACE_MS 12000
#define TAKE_AGAIN_MS 500
/* The yielding leader may be slightly slower than its reply. */
#define TAKE_AGAIN_CLAIMED_MS 100

struct peer {
    int64_t heard_ms, led_ms; /* its last answer, and its last answer that it leads */
    int64_t asked_ms, accepted_ms;
    bool asked, known; /* asked: a ping is running; known: a ping has ended */
    bool leads;
    bool missed; /* the last ping was not answered */
};

struct standby {
    struct standby_options o;
    struct peer *peers;
    int64_t start_ms;
    int64_t seen_ms;  /* when this process was last seen to run */
    int64_t awake_ms; /* since when it has run without a gap */
    int64_t yield_ms; /* last request to yield */
    bool yielding;    /* the leader agreed and has not yielded yet */
    int64_t take_ms;  /* earliest time to take the lead */
    bool ordered;
    /* Last check of the leader's work; last time with progress or an unknown state. */
    int64_t looked_ms, sign_ms;
};

struct standby *standby_new(const struct standby_options *o, int64_t now_ms)
{
    struct standby *s = mem_new(struct standby);
    s->o = *o;
    s->peers = mem_new_array(struct peer, o->count);
    s->start_ms = now_ms;
    s->seen_ms = now_ms;
    s->awake_ms = INT64_MIN;
    s->looked_ms = s->sign_ms = now_ms - o->timeout_ms;
    s->take_ms = now_ms;
    for (size_t i = 0; i < o->count; i++)
        s->peers[i] = (struct peer){.heard_ms = INT64_MIN,
                                    .led_ms = INT64_MIN,
                                    .asked_ms = INT64_MIN,
                                    .accepted_ms = INT64_MIN};
    return s;
}

void standby_free(struct standby *s)
{
    if (!s)
        return;
    free(s->peers);
    free(s);
}

static int64_t clamp_ms(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static int64_t ping_every(const struct standby *s)
{
    if (s->yielding)
        return PING_HANDOVER_MS;
    return clamp_ms(s->o.timeout_ms / 4, PING_EVERY_MIN_MS, PING_EVERY_MAX_MS);
}

int64_t standby_ping_limit(const struct standby *s)
{
    return clamp_ms(s->o.timeout_ms / 2, PING_EVERY_MIN_MS, PING_LIMIT_MAX_MS);
}

/* While this process was suspended, others may have answered all the time: they get a moment to be
 * heard before they count as unresponsive. */
static void note_awake(struct standby *s, int64_t now_ms)
{
    if (now_ms - s->seen_ms > standby_ping_limit(s) + ping_every(s))
        s->awake_ms = now_ms;
    s->seen_ms = now_ms;
}

bool standby_ping(struct standby *s, size_t peer, int64_t now_ms)
{
    struct peer *p = &s->peers[peer];
    note_awake(s, now_ms);
    if (peer == s->o.me || p->asked)
        return false;
    if (p->asked_ms != INT64_MIN && now_ms - p->asked_ms < ping_every(s))
        return false;
    p->asked_ms = now_ms;
    return p->asked = true;
}

void standby_heard(struct standby *s, size_t peer, bool leads, int64_t now_ms)
{
    struct peer *p = &s->peers[peer];
    p->asked = false;
    p->known = true;
    p->missed = false;
    p->leads = leads;
    p->heard_ms = now_ms;
    if (leads) {
        p->led_ms = now_ms;
        s->o.deposed = false;
    }
}

void standby_silent(struct standby *s, size_t peer, bool gone, int64_t now_ms)
{
    struct peer *p = &s->peers[peer];
    p->asked = false;
    p->known = p->missed = true;
    if (gone)
        p->leads = false;
}

void standby_accepted(struct standby *s, size_t peer, int64_t now_ms)
{
    s->peers[peer].accepted_ms = now_ms;
}

void standby_order(struct standby *s, bool claims)
{
    s->o.claims = s->ordered = claims;
    s->yielding = s->yielding && claims;
    for (size_t i = 0; claims && i < s->o.count; i++) {
        s->peers[i].known = false; /* their answers may be old: ask now */
        s->peers[i].asked_ms = INT64_MIN;
    }
}

bool standby_claims(const struct standby *s)
{
    return s->o.claims;
}

void standby_could_not_take(struct standby *s, int64_t now_ms)
{
    s->seen_ms = now_ms; /* an attempt may take long and is not a gap */
    s->take_ms = now_ms + (s->o.claims ? TAKE_AGAIN_CLAIMED_MS : TAKE_AGAIN_MS);
}

bool standby_wants_signs(const struct standby *s)
{
    return s->o.deposed && !s->o.claims;
}

static bool is_out_of_date(const struct standby *s, int64_t now_ms)
{
    return now_ms - s->looked_ms > s->o.timeout_ms / 2;
}

void standby_looked(struct standby *s, bool changed, int64_t now_ms)
{
    if (changed || is_out_of_date(s, now_ms))
        s->sign_ms = now_ms;
    s->looked_ms = now_ms;
}

long standby_leader(const struct standby *s)
{
    long found = -1;
    for (size_t i = 0; i < s->o.count; i++)
        if (s->peers[i].leads && (found < 0 || s->peers[i].led_ms > s->peers[found].led_ms))
            found = (long)i;
    return found;
}

long standby_heard_leader(const struct standby *s, int64_t now_ms)
{
    long leader = standby_leader(s);
    return leader >= 0 && now_ms - s->peers[leader].led_ms < s->o.timeout_ms ? leader : -1;
}

/* Returns since when no controller that this one waits for has answered. */
static int64_t find_unheard_since(const struct standby *s)
{
    int64_t since = s->start_ms;
    for (size_t i = 0; i < s->o.count; i++) {
        const struct peer *p = &s->peers[i];
        if (i < s->o.me && p->heard_ms > since)
            since = p->heard_ms;
        if (p->led_ms > since)
            since = p->led_ms;
    }
    return since;
}

int64_t standby_silence(const struct standby *s, int64_t now_ms)
{
    return now_ms - find_unheard_since(s);
}

static bool all_known(const struct standby *s)
{
    for (size_t i = 0; i < s->o.count; i++)
        if (i != s->o.me && !s->peers[i].known)
            return false;
    return true;
}

static int64_t next_ping(const struct standby *s, int64_t now_ms)
{
    int64_t after = ping_every(s);
    for (size_t i = 0; i < s->o.count; i++) {
        const struct peer *p = &s->peers[i];
        if (i == s->o.me || p->asked)
            continue;
        int64_t due = p->asked_ms == INT64_MIN ? 0 : p->asked_ms + ping_every(s) - now_ms;
        if (due < after)
            after = due < 0 ? 0 : due;
    }
    return after;
}

static enum standby_will decide_takeover(struct standby *s, int64_t now_ms, int64_t *again_ms)
{
    if (s->awake_ms != INT64_MIN && now_ms - s->awake_ms < 2 * standby_ping_limit(s))
        return STANDBY_WAIT;
    if (now_ms < s->take_ms) {
        if (s->take_ms - now_ms < *again_ms)
            *again_ms = s->take_ms - now_ms;
        return STANDBY_WAIT;
    }
    standby_could_not_take(s, now_ms); /* until it succeeds */
    return STANDBY_TAKE;
}

/* Whether a controller that reported its lead is given up. */
static bool is_given_up(const struct standby *s, const struct peer *p, int64_t now_ms)
{
    bool yields = p->accepted_ms != INT64_MIN && now_ms - p->accepted_ms < YIELD_GRACE_MS;
    return now_ms - p->led_ms >= s->o.timeout_ms || (s->ordered && p->missed && !yields);
}

static enum standby_will claim_lead(struct standby *s, int64_t now_ms, size_t *peer,
                                    int64_t *again_ms)
{
    long leader = standby_leader(s);
    if (leader < 0)
        return all_known(s) ? decide_takeover(s, now_ms, again_ms) : STANDBY_WAIT;
    if (is_given_up(s, &s->peers[leader], now_ms))
        return decide_takeover(s, now_ms, again_ms);
    if (s->yielding && now_ms - s->yield_ms < ASK_AGAIN_MS)
        return STANDBY_WAIT;
    s->yielding = true;
    s->yield_ms = now_ms;
    *peer = (size_t)leader;
    return STANDBY_ASK;
}

enum standby_will standby_next(struct standby *s, int64_t now_ms, size_t *peer, int64_t *again_ms)
{
    note_awake(s, now_ms);
    *again_ms = next_ping(s, now_ms);
    if (s->o.claims) {
        enum standby_will will = claim_lead(s, now_ms, peer, again_ms);
        if (will == STANDBY_ASK)
            *again_ms = next_ping(s, now_ms); /* earlier */
        return will;
    }
    int64_t since = find_unheard_since(s);
    if (s->o.deposed && is_out_of_date(s, now_ms))
        since = now_ms;
    else if (s->o.deposed && s->sign_ms > since)
        since = s->sign_ms;
    int64_t left = since + s->o.timeout_ms - now_ms;
    if (left <= 0)
        return decide_takeover(s, now_ms, again_ms);
    if (left < *again_ms)
        *again_ms = left;
    return STANDBY_WAIT;
}
