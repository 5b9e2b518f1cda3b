/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/auth.h"

#define NOW 1795000000000LL /* 2026-11-18 */
#define TTL 60000
#define AUDIENCE "slurmctld"
#define ADMIN 1000 /* alice: her share is the whole table */

static const struct auth_identity alice = {.uid = 1000, .gid = 100, .host = "login1"};
static struct auth_key key;
static uint8_t hash[AUTH_HASH_SIZE];

static int setup(void **state)
{
    auth_key_from_bytes("a cluster key of some length....", 32, &key);
    auth_hash("body", 4, hash);
    return 0;
}

static void mint_token(uint8_t token[AUTH_TOKEN_SIZE])
{
    auth_token_mint(&key, &alice, AUDIENCE, hash, NOW, TTL, token);
}

/* Fills nothing unless it is good. */
static int check_at(const void *token, size_t len, int64_t now_ms, struct auth_replay *replay,
                    struct err *err)
{
    struct auth_identity who, before;
    int rc;

    memset(&who, 0x5a, sizeof(who));
    before = who;
    rc = auth_token_check(&key, token, len, AUDIENCE, hash, now_ms, 0, replay, &who, err);
    if (rc < 0)
        assert_memory_equal(&who, &before, sizeof(who));
    else
        assert_memory_equal(&who, &alice, sizeof(who));
    return rc < 0 || !replay ? rc : auth_token_use(token, now_ms, replay, err);
}

static int check_token(const void *token, struct err *err)
{
    return check_at(token, AUTH_TOKEN_SIZE, NOW, NULL, err);
}

static void token_with_any_flipped_bit_is_refused(void **state)
{
    uint8_t token[AUTH_TOKEN_SIZE];
    uid_t payer = 4711;

    mint_token(token);
    for (size_t bit = 0; bit < sizeof(token) * 8; bit++) {
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(check_token(token, NULL), -ERR_AUTH);
        assert_int_equal(
            auth_token_precheck(&key, token, sizeof(token), AUDIENCE, NOW, 0, &payer, NULL),
            -ERR_AUTH);
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(check_token(token, NULL), 0);
    assert_int_equal(payer, 4711);
    assert_int_equal(
        auth_token_precheck(&key, token, sizeof(token), AUDIENCE, NOW, 0, &payer, NULL), 0);
    assert_int_equal(payer, alice.uid);
}

/* The key of the answers follows from the cluster key and all of the token. */
static void answer_key_depends_on_every_bit_of_the_token(void **state)
{
    uint8_t token[AUTH_TOKEN_SIZE];
    struct auth_key want, got, other;

    mint_token(token);
    auth_answer_key(&key, token, &want);
    assert_memory_not_equal(want.mac_key, key.mac_key, sizeof(want.mac_key));
    for (size_t bit = 0; bit < sizeof(token) * 8; bit++) {
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
        auth_answer_key(&key, token, &got);
        assert_memory_not_equal(got.mac_key, want.mac_key, sizeof(want.mac_key));
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    auth_key_from_bytes("another key of the same length..", 32, &other);
    auth_answer_key(&other, token, &got);
    assert_memory_not_equal(got.mac_key, want.mac_key, sizeof(want.mac_key));
    auth_answer_key(&key, token, &got);
    assert_memory_equal(got.mac_key, want.mac_key, sizeof(want.mac_key));
}

/* A daemon's statement about an address is valid for one token, one address, one cluster; keys
 * that are handed out cannot make it. */
static void origin_is_valid_for_one_token_address_and_key(void **state)
{
    uint8_t token[AUTH_TOKEN_SIZE], want[AUTH_MAC_SIZE], got[AUTH_MAC_SIZE];
    struct auth_key answer_key, other;

    mint_token(token);
    auth_origin_seal(&key, token, "10.0.0.1:4711", want);
    auth_origin_seal(&key, token, "10.0.0.1:4711", got);
    assert_memory_equal(got, want, sizeof(want));
    auth_origin_seal(&key, token, "10.0.0.1:471", got);
    assert_memory_not_equal(got, want, sizeof(want));
    auth_origin_seal(&key, token, "", got);
    assert_memory_not_equal(got, want, sizeof(want));
    auth_answer_key(&key, token, &answer_key);
    assert_memory_not_equal(answer_key.mac_key, want, sizeof(want));
    auth_origin_seal(&answer_key, token, "10.0.0.1:4711", got);
    assert_memory_not_equal(got, want, sizeof(want));
    auth_key_from_bytes("another key of the same length..", 32, &other);
    auth_origin_seal(&other, token, "10.0.0.1:4711", got);
    assert_memory_not_equal(got, want, sizeof(want));
    for (size_t bit = 0; bit < sizeof(token) * 8; bit++) {
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
        auth_origin_seal(&key, token, "10.0.0.1:4711", got);
        assert_memory_not_equal(got, want, sizeof(want));
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

/* For its user and its audience, however old. */
static void secret_is_valid_for_one_user_and_audience(void **state)
{
    uint8_t token[AUTH_TOKEN_SIZE];
    struct auth_key want, got;

    mint_token(token);
    auth_answer_key(&key, token, &want);
    assert_int_equal(auth_secret_of(&key, token, sizeof(token), AUDIENCE, alice.uid, &got, NULL),
                     0);
    assert_memory_equal(got.mac_key, want.mac_key, sizeof(want.mac_key));
    assert_int_equal(
        auth_secret_of(&key, token, sizeof(token), AUDIENCE, alice.uid + 1, &got, NULL), -ERR_AUTH);
    assert_int_equal(auth_secret_of(&key, token, sizeof(token), "n1", alice.uid, &got, NULL),
                     -ERR_AUTH);
    assert_int_equal(
        auth_secret_of(&key, token, sizeof(token) - 1, AUDIENCE, alice.uid, &got, NULL), -ERR_AUTH);
    for (size_t bit = 0; bit < sizeof(token) * 8; bit++) {
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(
            auth_secret_of(&key, token, sizeof(token), AUDIENCE, alice.uid, &got, NULL), -ERR_AUTH);
        token[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void token_of_another_length_is_refused(void **state)
{
    uint8_t token[AUTH_TOKEN_SIZE + 64] = {0};

    mint_token(token);
    for (size_t len = 0; len < sizeof(token); len++)
        assert_int_equal(check_at(token, len, NOW, NULL, NULL),
                         len == AUTH_TOKEN_SIZE ? 0 : -ERR_AUTH);
}

static void token_of_another_key_is_refused(void **state)
{
    struct auth_key other;
    struct auth_identity who;
    struct err err = {0};
    uint8_t token[AUTH_TOKEN_SIZE];

    auth_key_from_bytes("another cluster's key, as long..", 32, &other);
    mint_token(token);
    assert_int_equal(
        auth_token_check(&other, token, sizeof(token), AUDIENCE, hash, NOW, 0, NULL, &who, &err),
        -ERR_AUTH);
    assert_non_null(strstr(err.text, "slurm.key"));
}

static void token_for_another_audience_or_body_is_refused(void **state)
{
    static const char *const others[] = {"", "slurmctl", "slurmctld2", "Slurmctld", "node1"};
    struct auth_identity who;
    struct err err = {0};
    uint8_t token[AUTH_TOKEN_SIZE], other[AUTH_HASH_SIZE];

    mint_token(token);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(
            auth_token_check(&key, token, sizeof(token), others[i], hash, NOW, 0, NULL, &who, &err),
            -ERR_AUTH);
    auth_hash("bodY", 4, other);
    assert_int_equal(
        auth_token_check(&key, token, sizeof(token), AUDIENCE, other, NOW, 0, NULL, &who, &err),
        -ERR_AUTH);
    assert_non_null(strstr(err.text, "another message"));
    for (size_t bit = 0; bit < sizeof(hash) * 8; bit++) {
        memcpy(other, hash, sizeof(hash));
        other[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(
            auth_token_check(&key, token, sizeof(token), AUDIENCE, other, NOW, 0, NULL, &who, &err),
            -ERR_AUTH);
    }
    memset(other, 0, sizeof(other));
    assert_int_equal(
        auth_token_check(&key, token, sizeof(token), AUDIENCE, other, NOW, 0, NULL, &who, &err),
        -ERR_AUTH);
}

/* Minted under the right key, with invalid names. */
static void token_with_an_invalid_name_is_refused(void **state)
{
    static const struct {
        const char *host, *audience;
        int code;
    } rows[] = {
        {"", AUDIENCE, -ERR_AUTH},          {"a b", AUDIENCE, -ERR_AUTH},
        {"a\nb", AUDIENCE, -ERR_AUTH},      {"a\x1b[2J", AUDIENCE, -ERR_AUTH},
        {"h\xc3\xa9", AUDIENCE, -ERR_AUTH}, {"n", "", -ERR_AUTH},
        {"n", "slurmctld ", -ERR_AUTH},     {"node-1.example.org", AUDIENCE, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct auth_identity in = {.uid = 1}, out;
        uint8_t token[AUTH_TOKEN_SIZE];
        snprintf(in.host, sizeof(in.host), "%s", rows[i].host);
        auth_token_mint(&key, &in, rows[i].audience, hash, NOW, TTL, token);
        assert_int_equal(auth_token_check(&key, token, sizeof(token), rows[i].audience, hash, NOW,
                                          0, NULL, &out, NULL),
                         rows[i].code);
    }
}

static void token_for_a_too_long_audience_is_refused(void **state)
{
    char name[AUTH_NAME_MAX + 2];
    uint8_t token[AUTH_TOKEN_SIZE];
    struct auth_identity who;

    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0'; /* one more than fits */
    auth_token_mint(&key, &alice, name, hash, NOW, TTL, token);
    assert_int_equal(
        auth_token_check(&key, token, sizeof(token), name, hash, NOW, 0, NULL, &who, NULL),
        -ERR_AUTH);
    name[AUTH_NAME_MAX] = '\0';
    auth_token_mint(&key, &alice, name, hash, NOW, TTL, token);
    assert_int_equal(
        auth_token_check(&key, token, sizeof(token), name, hash, NOW, 0, NULL, &who, NULL), 0);
}

static void clock_skew_beyond_the_limit_is_refused(void **state)
{
    static const struct {
        int64_t after_ms; /* the checker's clock less the minter's */
        int code;
    } rows[] = {
        {-3600000, -ERR_SKEW},
        {-AUTH_SKEW_MS - 1, -ERR_SKEW},
        {-AUTH_SKEW_MS, 0},
        {-AUTH_SKEW_MS + 1, 0},
        {0, 0},
        {TTL - 1, 0},
        {TTL, -ERR_SKEW},
        {TTL + 1, -ERR_SKEW},
        {3600000, -ERR_SKEW},
        {315360000000LL, -ERR_SKEW},
        {-NOW, -ERR_SKEW},
    };
    uint8_t token[AUTH_TOKEN_SIZE];

    mint_token(token);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        assert_int_equal(check_at(token, sizeof(token), NOW + rows[i].after_ms, NULL, &err),
                         rows[i].code);
        if (rows[i].code) {
            assert_non_null(strstr(err.text, "2026-11-18T")); /* the minter's clock */
            assert_non_null(strstr(err.text, "login1"));
        }
    }
}

static void skew_message_names_both_clocks(void **state)
{
    struct err err = {0};
    uint8_t token[AUTH_TOKEN_SIZE];

    mint_token(token);
    check_at(token, sizeof(token), NOW + 600000, NULL, &err);
    assert_non_null(strstr(err.text, "2026-11-18T11:06:40.000Z"));
    assert_non_null(strstr(err.text, "2026-11-18T11:16:40.000Z"));
    check_at(token, sizeof(token), NOW - 600000, NULL, &err);
    assert_non_null(strstr(err.text, "2026-11-18T11:06:40.000Z"));
    assert_non_null(strstr(err.text, "2026-11-18T10:56:40.000Z"));
}

static void token_lifetime_is_checked_and_limited(void **state)
{
    static const struct {
        int64_t at, ttl;
        int code;
    } rows[] = {
        {NOW, 0, -ERR_AUTH},   {NOW, -1, -ERR_AUTH},         {NOW, INT64_MIN, -ERR_AUTH},
        {-1, 1000, -ERR_AUTH}, {INT64_MAX, 1000, -ERR_AUTH}, {INT64_MIN, 1000, -ERR_AUTH},
        {NOW, INT64_MAX, 0}, /* cut to an hour */
        {NOW, 1, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t token[AUTH_TOKEN_SIZE];
        auth_token_mint(&key, &alice, AUDIENCE, hash, rows[i].at, rows[i].ttl, token);
        assert_int_equal(check_token(token, NULL), rows[i].code);
    }
}

static void replayed_token_is_refused(void **state)
{
    struct auth_replay *r = auth_replay_new(1000, ADMIN);
    uint8_t token[AUTH_TOKEN_SIZE], next[AUTH_TOKEN_SIZE];
    struct err err = {0};

    mint_token(token);
    mint_token(next);
    assert_memory_not_equal(token, next, sizeof(token)); /* two equal calls get different tokens */
    assert_int_equal(check_at(token, sizeof(token), NOW, r, NULL), 0);
    assert_int_equal(check_at(token, sizeof(token), NOW, r, &err), -ERR_REPLAY);
    assert_int_equal(check_at(next, sizeof(next), NOW + 1, r, NULL), 0);
    assert_int_equal(check_at(token, sizeof(token), NOW + TTL - 1, r, &err), -ERR_REPLAY);
    assert_int_equal(check_at(token, sizeof(token), NOW + TTL, r, &err), -ERR_SKEW);
    auth_replay_free(r);
}

/* A refused token is not remembered: its owner may still use it. */
static void refused_token_is_not_recorded_as_used(void **state)
{
    struct auth_replay *r = auth_replay_new(1000, ADMIN);
    struct auth_identity who;
    uint8_t token[AUTH_TOKEN_SIZE], other[AUTH_HASH_SIZE] = {1};

    mint_token(token);
    assert_int_equal(
        auth_token_check(&key, token, sizeof(token), AUDIENCE, other, NOW, 0, r, &who, NULL),
        -ERR_AUTH);
    assert_int_equal(check_at(token, sizeof(token), NOW, r, NULL), 0);
    auth_replay_free(r);
}

/* Before anything is done with its request. */
static void used_token_is_refused_by_the_check(void **state)
{
    struct auth_replay *r = auth_replay_new(10, ADMIN);
    struct auth_identity who;
    uint8_t token[AUTH_TOKEN_SIZE];

    mint_token(token);
    assert_int_equal(auth_token_use(token, NOW, r, NULL), 0);
    assert_int_equal(
        auth_token_check(&key, token, sizeof(token), AUDIENCE, hash, NOW, 0, r, &who, NULL),
        -ERR_REPLAY);
    auth_replay_free(r);
}

static void used_token_is_remembered_until_it_expires(void **state)
{
    enum { MAX = 200 };
    struct auth_replay *r = auth_replay_new(MAX, ADMIN);
    uint8_t token[AUTH_TOKEN_SIZE], other[AUTH_TOKEN_SIZE];
    int rc = 0;

    mint_token(token);
    assert_int_equal(auth_token_use(token, NOW, r, NULL), 0);
    for (int i = 0; i < MAX && rc == 0; i++) { /* until expired entries are searched for */
        mint_token(other);
        rc = auth_token_use(other, NOW + TTL - 1, r, NULL);
    }
    assert_int_equal(rc, -ERR_BUSY);
    assert_int_equal(auth_token_use(token, NOW + TTL - 1, r, NULL), -ERR_REPLAY);
    auth_replay_free(r);
}

static void replayed_token_is_refused_after_a_restart(void **state)
{
    struct auth_identity who;
    uint8_t token[AUTH_TOKEN_SIZE];

    mint_token(token);
    assert_int_equal(auth_token_check(&key, token, sizeof(token), AUDIENCE, hash, NOW + 5, NOW + 1,
                                      NULL, &who, NULL),
                     -ERR_REPLAY);
    assert_int_equal(auth_token_check(&key, token, sizeof(token), AUDIENCE, hash, NOW + 5, NOW,
                                      NULL, &who, NULL),
                     0);
}

static void replay_memory_is_bounded(void **state)
{
    enum { MAX = 1000 };
    struct auth_replay *r = auth_replay_new(MAX, ADMIN);
    static uint8_t tokens[MAX + 1][AUTH_TOKEN_SIZE];

    for (int i = 0; i < MAX + 1; i++)
        mint_token(tokens[i]);
    for (int i = 0; i < MAX; i++)
        assert_int_equal(check_at(tokens[i], AUTH_TOKEN_SIZE, NOW, r, NULL), 0);
    assert_int_equal(check_at(tokens[MAX], AUTH_TOKEN_SIZE, NOW, r, NULL), -ERR_BUSY);
    for (int i = 0; i < MAX; i++)
        assert_int_equal(check_at(tokens[i], AUTH_TOKEN_SIZE, NOW, r, NULL), -ERR_REPLAY);
    /* Once they have expired there is room again. */
    for (int i = 0; i < MAX; i++) {
        int64_t later = NOW + TTL + AUTH_SKEW_MS;
        auth_token_mint(&key, &alice, AUDIENCE, hash, later, TTL, tokens[i]);
        assert_int_equal(check_at(tokens[i], AUTH_TOKEN_SIZE, later, r, NULL), 0);
    }
    auth_replay_free(r);
}

/* How many tokens of this user are accepted in a row, up to 'want'. */
static unsigned use_tokens(struct auth_replay *r, uid_t uid, unsigned want, int64_t now_ms)
{
    const struct auth_identity user = {.uid = uid, .gid = 100, .host = "login1"};
    struct auth_identity who;
    uint8_t token[AUTH_TOKEN_SIZE];
    struct err err = {0};

    for (unsigned i = 0; i < want; i++) {
        auth_token_mint(&key, &user, AUDIENCE, hash, now_ms, TTL, token);
        assert_int_equal(
            auth_token_check(&key, token, sizeof(token), AUDIENCE, hash, now_ms, 0, r, &who, NULL),
            0);
        if (auth_token_use(token, now_ms, r, &err) == 0)
            continue;
        assert_int_equal(err.code, -ERR_BUSY);
        assert_non_null(strstr(err.text, "try again"));
        return i;
    }
    return want;
}

static void flooding_user_leaves_replay_entries_for_other_users(void **state)
{
    enum { MAX = 1600, OTHERS = MAX - MAX / 16, FLOODING = 6 };
    struct auth_replay *r = auth_replay_new(MAX, ADMIN);
    unsigned used = 0;

    for (unsigned i = 0; i < FLOODING; i++) {
        unsigned got = use_tokens(r, 5000 + i, MAX, NOW);
        assert_int_equal(got, (OTHERS - used + 1) / 2);
        used += got;
    }
    assert_int_equal(use_tokens(r, 6000, 5, NOW), 5); /* a later user */
    assert_int_equal(use_tokens(r, 0, 40, NOW), 40);
    assert_int_equal(use_tokens(r, ADMIN, MAX, NOW), MAX - used - 45);
    assert_int_equal(use_tokens(r, 0, 1, NOW), 0);
    /* A share is free again when the tokens have expired, and others need not wait for a sweep. */
    assert_int_equal(use_tokens(r, 5000, 100, NOW + TTL + AUTH_SKEW_MS), 100);
    auth_replay_free(r);
}

static void checked_token_takes_no_replay_entry_before_use(void **state)
{
    struct auth_replay *r = auth_replay_new(100, ADMIN);
    struct auth_identity who;
    uint8_t token[AUTH_TOKEN_SIZE];

    mint_token(token);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            auth_token_check(&key, token, sizeof(token), AUDIENCE, hash, NOW, 0, r, &who, NULL), 0);
    assert_int_equal(use_tokens(r, ADMIN, 101, NOW), 100);
    assert_int_equal(auth_token_use(token, NOW, r, NULL), -ERR_BUSY);
    auth_replay_free(r);
}

/* The wall clock goes forward, all nonces are dropped, and the clock is set back. */
static void replayed_token_is_refused_after_the_clock_is_set_back(void **state)
{
    enum { MANY = 200 };
    struct auth_replay *r = auth_replay_new(MANY, ADMIN);
    uint8_t token[AUTH_TOKEN_SIZE], filler[AUTH_TOKEN_SIZE];
    int64_t future = NOW + 86400000;

    mint_token(token);
    assert_int_equal(check_at(token, sizeof(token), NOW, r, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        auth_token_mint(&key, &alice, AUDIENCE, hash, future, TTL, filler);
        assert_int_equal(check_at(filler, sizeof(filler), future, r, NULL), 0);
    }
    assert_int_equal(check_at(token, sizeof(token), NOW + 1000, r, NULL), -ERR_REPLAY);
    /* A new token is valid as soon as the memory has space for it. */
    auth_replay_free(r);
    r = auth_replay_new(2 * MANY, ADMIN);
    auth_token_mint(&key, &alice, AUDIENCE, hash, future, TTL, filler);
    assert_int_equal(check_at(filler, sizeof(filler), future, r, NULL), 0);
    auth_token_mint(&key, &alice, AUDIENCE, hash, NOW + 1000, TTL, token);
    assert_int_equal(check_at(token, sizeof(token), NOW + 1000, r, NULL), 0);
    auth_replay_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_with_any_flipped_bit_is_refused),
        cmocka_unit_test(answer_key_depends_on_every_bit_of_the_token),
        cmocka_unit_test(origin_is_valid_for_one_token_address_and_key),
        cmocka_unit_test(secret_is_valid_for_one_user_and_audience),
        cmocka_unit_test(token_of_another_length_is_refused),
        cmocka_unit_test(token_of_another_key_is_refused),
        cmocka_unit_test(token_for_another_audience_or_body_is_refused),
        cmocka_unit_test(token_with_an_invalid_name_is_refused),
        cmocka_unit_test(token_for_a_too_long_audience_is_refused),
        cmocka_unit_test(clock_skew_beyond_the_limit_is_refused),
        cmocka_unit_test(skew_message_names_both_clocks),
        cmocka_unit_test(token_lifetime_is_checked_and_limited),
        cmocka_unit_test(replayed_token_is_refused),
        cmocka_unit_test(refused_token_is_not_recorded_as_used),
        cmocka_unit_test(used_token_is_refused_by_the_check),
        cmocka_unit_test(used_token_is_remembered_until_it_expires),
        cmocka_unit_test(replayed_token_is_refused_after_a_restart),
        cmocka_unit_test(replay_memory_is_bounded),
        cmocka_unit_test(flooding_user_leaves_replay_entries_for_other_users),
        cmocka_unit_test(checked_token_takes_no_replay_entry_before_use),
        cmocka_unit_test(replayed_token_is_refused_after_the_clock_is_set_back),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
