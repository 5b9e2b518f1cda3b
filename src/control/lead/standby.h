/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When a controller that does not lead takes the lead. Knows neither clock nor network: it is told
 * what the other controllers answered, and when; says whom to ping, and what to do.
 *
 * A backup waits as long as anyone before it in the list answers, and as long as anyone at all
 * answers that it leads. When that has been missing for the timeout, it takes the lead. One that
 * claims the lead (the primary when it starts, and whoever is told to by an administrator) takes it
 * as soon as nobody has it, and asks the one who has it to yield.
 *
 * One that has hung itself, which it sees by the clock, listens first.
 *
 * One from which the lead was taken, and that does not hear the new leader, takes it back only when
 * the shared store has shown no sign of the new leader's work for the timeout. Otherwise two
 * controllers that reach the store and not each other would take the lead from each other for ever.
 *
 * Taking may fail: somebody still holds the store. Then it is tried again, and the others are
 * listened to meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum standby_will {
    STANDBY_WAIT,
    STANDBY_ASK, /* *peer, to yield */
    STANDBY_TAKE,
};

struct standby_options {
    size_t me, count; /* of the controllers; 0 is the primary */
    int64_t timeout_ms;
    bool claims;
    bool deposed; /* another controller has taken the lead from this one */
};

struct standby;
struct standby *standby_new(const struct standby_options *o, int64_t now_ms);
void standby_free(struct standby *s);

/* True: send a ping now, and tell what came of it within standby_ping_limit(). */
bool standby_ping(struct standby *s, size_t peer, int64_t now_ms);
int64_t standby_ping_limit(const struct standby *s);
void standby_heard(struct standby *s, size_t peer, bool leads, int64_t now_ms);
/* gone: nobody is there; else nothing is known. */
void standby_silent(struct standby *s, size_t peer, bool gone, int64_t now_ms);

/* It has agreed to yield, and needs a moment for that. */
void standby_accepted(struct standby *s, size_t peer, int64_t now_ms);

/* By order of an administrator: a leader that does not answer at once is not waited for, unless it
 * has agreed to yield. Not claims: back to waiting. */
void standby_order(struct standby *s, bool claims);
bool standby_claims(const struct standby *s);
void standby_could_not_take(struct standby *s, int64_t now_ms);

/* What to do now, and after how many milliseconds to ask again at the latest. ASK and TAKE are said
 * once, then again after a while. */
enum standby_will standby_next(struct standby *s, int64_t now_ms, size_t *peer, int64_t *again_ms);

/* Whether signs of the leader's work in the store are to be looked for, at least every quarter of
 * the timeout; the store was read, and showed another one than before or the same. */
bool standby_wants_signs(const struct standby *s);
void standby_looked(struct standby *s, bool changed, int64_t now_ms);

long standby_leader(const struct standby *s); /* who says that it leads; -1: nobody */
/* The same, if it has said so within the timeout. */
long standby_heard_leader(const struct standby *s, int64_t now_ms);
int64_t standby_silence(const struct standby *s, int64_t now_ms); /* how long, in ms */
