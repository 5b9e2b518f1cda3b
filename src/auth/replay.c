/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nonces of accepted tokens in an open-addressed table. Nonces are random and covered by the MAC,
 * so their own bytes are a good hash. Expired nonces are dropped when the table or a user's share
 * is full, not before.
 *
 * The table is shared by all users, and each user has a share: at most as many entries as are free
 * for all other users, so that free entries are left for others. A part of the table is reserved
 * for root and one more user (SlurmUser).
 */
#include "auth/replay.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define SLOTS_MIN 64
#define SWEEP_PAUSE_MS 1000 /* minimum pause between two searches for expired entries */
/* One entry in this number is reserved for root and the administrator. */
#define RESERVED_PART 16

struct slot {
    uint8_t nonce[AUTH_NONCE_SIZE];
    int64_t expires_at_ms; /* 0: free */
    uid_t uid;
};

/* The number of entries of a user, including expired ones. */
struct share {
    uid_t uid;
    size_t count;
    UT_hash_handle hh;
};

struct auth_replay {
    struct slot *slots;
    size_t room;  /* capacity: a power of two, at least twice 'count' */
    size_t count; /* used slots, including expired ones */
    size_t max;
    uid_t admin_uid;
    struct share *shares;
    int64_t last_now_ms;
    int64_t next_sweep_ms;
    int64_t floor_ms; /* tokens minted before are refused, since their nonces may be lost */
};

struct auth_replay *auth_replay_new(size_t max, uid_t admin_uid)
{
    struct auth_replay *r = mem_new(struct auth_replay);

    r->max = max;
    r->admin_uid = admin_uid;
    r->room = SLOTS_MIN;
    r->slots = mem_new_array(struct slot, r->room);
    return r;
}

static void free_shares(struct auth_replay *r)
{
    struct share *s, *next;

    HASH_ITER (hh, r->shares, s, next) {
        HASH_DEL(r->shares, s);
        free(s);
    }
}

static size_t *share_of(struct auth_replay *r, uid_t uid)
{
    struct share *s;

    HASH_FIND(hh, r->shares, &uid, sizeof(uid), s);
    if (!s) {
        s = mem_new(struct share);
        s->uid = uid;
        HASH_ADD(hh, r->shares, uid, sizeof(s->uid), s);
    }
    return &s->count;
}

void auth_replay_free(struct auth_replay *r)
{
    if (!r)
        return;
    free_shares(r);
    free(r->slots);
    free(r);
}

static struct slot *find_slot(struct slot *slots, size_t room, const uint8_t *nonce)
{
    uint64_t h;

    memcpy(&h, nonce, sizeof(h));
    for (size_t i = h & (room - 1);; i = (i + 1) & (room - 1)) {
        struct slot *s = &slots[i];
        if (s->expires_at_ms == 0 || memcmp(s->nonce, nonce, AUTH_NONCE_SIZE) == 0)
            return s;
    }
}

/* Drops the expired entries; the others fill at most a quarter of the new table. */
static void rebuild_table(struct auth_replay *r, int64_t now_ms)
{
    size_t live = 0, room = SLOTS_MIN;
    struct slot *slots;

    for (size_t i = 0; i < r->room; i++)
        live += r->slots[i].expires_at_ms > now_ms;
    while (room < live * 4)
        room *= 2;
    slots = mem_new_array(struct slot, room);
    free_shares(r);
    for (size_t i = 0; i < r->room; i++) {
        if (r->slots[i].expires_at_ms <= now_ms)
            continue;
        *find_slot(slots, room, r->slots[i].nonce) = r->slots[i];
        (*share_of(r, r->slots[i].uid))++;
    }
    free(r->slots);
    r->slots = slots;
    r->room = room;
    r->count = live;
    r->next_sweep_ms = now_ms + SWEEP_PAUSE_MS;
}

/* Returns the reason why the user may not add an entry; NULL: the user may. */
static const char *why_full(struct auth_replay *r, uid_t uid)
{
    bool is_admin = uid == 0 || uid == r->admin_uid;
    size_t max = is_admin ? r->max : r->max - r->max / RESERVED_PART;

    if (r->count >= max)
        return "too many requests of all users";
    if (!is_admin && *share_of(r, uid) >= max - r->count)
        return "too many requests of this user";
    return NULL;
}

/* Like why_full(), after an attempt to make space. */
static const char *reserve_entry(struct auth_replay *r, uid_t uid, int64_t now_ms)
{
    const char *why = why_full(r, uid);

    if ((why && now_ms >= r->next_sweep_ms) || r->count >= r->room / 2) {
        rebuild_table(r, now_ms);
        why = why_full(r, uid);
    }
    return why;
}

bool auth_replay_has(const struct auth_replay *r, const uint8_t nonce[AUTH_NONCE_SIZE])
{
    return find_slot(r->slots, r->room, nonce)->expires_at_ms != 0;
}

int auth_replay_add(struct auth_replay *r, const uint8_t nonce[AUTH_NONCE_SIZE], uid_t uid,
                    int64_t minted_at_ms, int64_t ttl_ms, int64_t now_ms, struct err *err)
{
    const char *why;
    struct slot *s;

    /* The wall clock was set back: expired and dropped nonces may be valid again. */
    if (now_ms < r->last_now_ms - AUTH_SKEW_MS) {
        r->floor_ms = now_ms;
        r->next_sweep_ms = 0;
        r->last_now_ms = now_ms;
    } else if (now_ms > r->last_now_ms) {
        r->last_now_ms = now_ms;
    }

    if (auth_replay_has(r, nonce))
        return err_set(err, -ERR_REPLAY, "replayed: this token was used before");
    if (minted_at_ms < r->floor_ms)
        return err_set(err, -ERR_REPLAY,
                       "the token was made before the clock here was set back; try again");
    why = reserve_entry(r, uid, now_ms);
    if (why)
        return err_set(err, -ERR_BUSY,
                       "%s (uid %u) over the network in the last minute: try again in a minute",
                       why, (unsigned)uid);
    s = find_slot(r->slots, r->room, nonce);
    memcpy(s->nonce, nonce, AUTH_NONCE_SIZE);
    s->uid = uid;
    /* A sweep may use a clock slightly ahead of a later 'now', so entries are kept longer by the
       skew. */
    s->expires_at_ms = minted_at_ms + ttl_ms + AUTH_SKEW_MS;
    r->count++;
    (*share_of(r, uid))++;
    return 0;
}
