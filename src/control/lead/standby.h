/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decides when a controller that does not lead takes the lead. Independent of clock and network:
 * the caller reports the answers of the other controllers with their times; this file says whom to
 * ping and what to do.
 *
 * A backup waits while any controller before it in the list answers, and while any controller
 * answers that it leads. After the timeout without such answers it takes the lead. A controller
 * that claims the lead (the primary at its start, or by order of an administrator) takes it as soon
 * as no controller has it, and asks the present leader to yield.
 *
 * A controller that was itself suspended, as the clock shows, first listens again.
 *
 * A controller that was deposed and does not hear the new leader takes the lead back only when the
 * shared store has shown no sign of the new leader's work for the timeout. Otherwise two
 * controllers that reach the store but not each other would depose each other forever.
 *
 * Taking the lead fails while another controller still holds the store. It is then retried, and
 * answers still count meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum standby_will {
    STANDBY_WAIT,
    STANDBY_ASK, /* ask *peer to yield */
    STANDBY_TAKE,
};

struct standby_options {
    size_t me, count; /* me: own index; 0 is the primary */
    int64_t timeout_ms;
    bool claims;
    bool deposed; /* another controller has taken the lead from this one */
};

struct standby;
struct standby *standby_new(const struct standby_options *o, int64_t now_ms);
void standby_free(struct standby *s);

/* True: send a ping now, and report the result within standby_ping_limit(). */
bool standby_ping(struct standby *s, size_t peer, int64_t now_ms);
int64_t standby_ping_limit(const struct standby *s);
void standby_heard(struct standby *s, size_t peer, bool leads, int64_t now_ms);
/* gone: no process listens there; otherwise the state is unknown. */
void standby_silent(struct standby *s, size_t peer, bool gone, int64_t now_ms);

/* The peer has agreed to yield and needs a moment. */
void standby_accepted(struct standby *s, size_t peer, int64_t now_ms);

/* By order of an administrator: a leader that does not answer at once is not awaited, unless it has
 * agreed to yield. claims false: return to waiting. */
void standby_order(struct standby *s, bool claims);
bool standby_claims(const struct standby *s);
void standby_could_not_take(struct standby *s, int64_t now_ms);

/* Returns what to do now; *again_ms: maximum milliseconds until the next call. ASK and TAKE are
 * returned once, and again after a while. */
enum standby_will standby_next(struct standby *s, int64_t now_ms, size_t *peer, int64_t *again_ms);

/* standby_wants_signs: whether to check the store for the leader's work, at least every quarter of
 * the timeout. standby_looked: the store was read, and has changed since the last check or not. */
bool standby_wants_signs(const struct standby *s);
void standby_looked(struct standby *s, bool changed, int64_t now_ms);

long standby_leader(const struct standby *s); /* the controller that says that it leads; -1: none */
/* Like standby_leader(), if the leader has reported within the timeout. */
long standby_heard_leader(const struct standby *s, int64_t now_ms);
int64_t standby_silence(const struct standby *s, int64_t now_ms); /* duration in ms */
