/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nonces of accepted tokens in an open-addressed table. Nonces are random and under the MAC, so
 * their own bytes are a good hash. Expired ones are dropped when the table is full, not before.
 */
#include "auth/replay.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define SLOTS_MIN 64
#define SWEEP_PAUSE_MS 1000 /* a full table is searched for expired ones this often at most */

struct slot {
    uint8_t nonce[AUTH_NONCE_SIZE];
    int64_t expires_at_ms; /* 0: free */
};

struct auth_replay {
    struct slot *slots;
    size_t room;  /* a power of two, at least twice 'count' */
    size_t count; /* used slots, the expired ones included */
    size_t max;
    int64_t last_now_ms;
    int64_t next_sweep_ms;
    int64_t floor_ms; /* tokens minted before are refused: they may have been forgotten */
};

struct auth_replay *auth_replay_new(size_t max)
{
    struct auth_replay *r = mem_new(struct auth_replay);

    r->max = max;
    r->room = SLOTS_MIN;
    r->slots = mem_new_array(struct slot, r->room);
    return r;
}

void auth_replay_free(struct auth_replay *r)
{
    if (!r)
        return;
    free(r->slots);
    free(r);
}

static struct slot *find(struct slot *slots, size_t room, const uint8_t *nonce)
{
    uint64_t h;

    memcpy(&h, nonce, sizeof(h));
    for (size_t i = h & (room - 1);; i = (i + 1) & (room - 1)) {
        struct slot *s = &slots[i];
        if (s->expires_at_ms == 0 || memcmp(s->nonce, nonce, AUTH_NONCE_SIZE) == 0)
            return s;
    }
}

/* Drops the expired; doubles the table when the live ones fill more than a quarter of it. */
static void rebuild(struct auth_replay *r, int64_t now_ms)
{
    size_t live = 0, room = SLOTS_MIN;
    struct slot *slots;

    for (size_t i = 0; i < r->room; i++)
        live += r->slots[i].expires_at_ms > now_ms;
    while (room < live * 4)
        room *= 2;
    slots = mem_new_array(struct slot, room);
    for (size_t i = 0; i < r->room; i++)
        if (r->slots[i].expires_at_ms > now_ms)
            *find(slots, room, r->slots[i].nonce) = r->slots[i];
    free(r->slots);
    r->slots = slots;
    r->room = room;
    r->count = live;
    r->next_sweep_ms = now_ms + SWEEP_PAUSE_MS;
}

static bool make_room(struct auth_replay *r, int64_t now_ms)
{
    bool at_max = r->count >= r->max;

    if (!at_max && r->count < r->room / 2)
        return true;
    if (!at_max || now_ms >= r->next_sweep_ms)
        rebuild(r, now_ms);
    return r->count < r->max;
}

int auth_replay_add(struct auth_replay *r, const uint8_t nonce[AUTH_NONCE_SIZE],
                    int64_t minted_at_ms, int64_t ttl_ms, int64_t now_ms, struct err *err)
{
    struct slot *s;

    /* The wall clock was set back: what had expired by the old time may be valid again, and may
     * have been forgotten. */
    if (now_ms < r->last_now_ms - AUTH_SKEW_MS) {
        r->floor_ms = now_ms;
        r->next_sweep_ms = 0;
        r->last_now_ms = now_ms;
    } else if (now_ms > r->last_now_ms) {
        r->last_now_ms = now_ms;
    }

    s = find(r->slots, r->room, nonce);
    if (s->expires_at_ms)
        return err_set(err, -ERR_REPLAY, "replayed: this token was used before");
    if (minted_at_ms < r->floor_ms)
        return err_set(err, -ERR_REPLAY,
                       "the token was made before the clock here was set back; try again");
    if (!make_room(r, now_ms))
        return err_set(err, -ERR_BUSY, "too many requests with tokens; try again later");
    s = find(r->slots, r->room, nonce);
    memcpy(s->nonce, nonce, AUTH_NONCE_SIZE);
    /* A sweep may run by a clock that is a little ahead of a later 'now': keep it that much longer.
     */
    s->expires_at_ms = minted_at_ms + ttl_ms + AUTH_SKEW_MS;
    r->count++;
    return 0;
}
