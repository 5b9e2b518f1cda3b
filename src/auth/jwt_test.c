/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON Web Tokens: published vectors, and everything that is to be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "auth/jwt.h"
#include "base/mem.h"
#include "base/path.h"

#define NOW_SEC 1795000000LL
#define NOW_MS (NOW_SEC * 1000)
#define HS256 "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"

static struct auth_jwt_key key;

static int setup(void **state)
{
    auth_jwt_key_from_bytes("a key for HS256 of 32 bytes.....", 32, &key);
    return 0;
}

/* "HEADER.CLAIMS" of these texts. */
static void encode_token(const char *header, const char *claims, struct str *out)
{
    auth_base64url_put(header, strlen(header), out);
    str_putc(out, '.');
    auth_base64url_put(claims, strlen(claims), out);
}

/* RFC 7515, appendix A.1. */
static void published_token_gets_the_published_signature(void **state)
{
    static const char secret[] =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    static const char token[] = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
                                "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
                                "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
                                "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    uint8_t bytes[64], signature[AUTH_HASH_SIZE];
    struct auth_jwt_key published;
    struct auth_jwt_claims claims;
    struct auth_jwt jwt;
    struct err err;

    assert_int_equal(auth_base64url_take(secret, strlen(secret), bytes), sizeof(bytes));
    auth_jwt_key_from_bytes(bytes, sizeof(bytes), &published);
    assert_int_equal(auth_jwt_split(token, &jwt, &err), 0);
    auth_jwt_sign(&published, jwt.signed_part, jwt.signed_len, signature);
    assert_memory_equal(signature, jwt.signature, sizeof(signature));
    assert_int_equal(auth_jwt_read(jwt.signed_part, jwt.signed_len, "iss", NOW_MS, &claims, &err),
                     -ERR_AUTH);
    assert_string_equal(err.text, "the JSON Web Token has no claim 'iat'");
}

/* RFC 4231, test cases 2 and 6: a key shorter than a block of the hash, and a longer one. */
static void keys_of_any_length_sign_as_hmac(void **state)
{
    static const uint8_t short_mac[] = {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e,
                                        0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7,
                                        0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83,
                                        0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
    static const uint8_t long_mac[] = {0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f,
                                       0x0d, 0x8a, 0x26, 0xaa, 0xcb, 0xf5, 0xb7, 0x7f,
                                       0x8e, 0x0b, 0xc6, 0x21, 0x37, 0x28, 0xc5, 0x14,
                                       0x05, 0x46, 0x04, 0x0f, 0x0e, 0xe3, 0x7f, 0x54};
    static const char long_text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    struct auth_jwt_key k;
    uint8_t mac[AUTH_HASH_SIZE], secret[131];

    auth_jwt_key_from_bytes("Jefe", 4, &k);
    auth_jwt_sign(&k, "what do ya want for nothing?", 28, mac);
    assert_memory_equal(mac, short_mac, sizeof(mac));
    memset(secret, 0xaa, sizeof(secret));
    auth_jwt_key_from_bytes(secret, sizeof(secret), &k);
    auth_jwt_sign(&k, long_text, strlen(long_text), mac);
    assert_memory_equal(mac, long_mac, sizeof(mac));
}

static void base64url_has_one_form(void **state)
{
    static const struct {
        const char *text;
        int len; /* of the bytes; negative: refused */
    } cases[] = {
        {"", 0},      {"_w", 1},    {"__8", 2},    {"____", 3},   {"AAAA", 3},
        {"A", -1},    {"_x", -1},   {"__9", -1},   {"AAAAA", -1}, {"_w==", -1},
        {"+/AA", -1}, {"AA A", -1}, {"AAA\n", -1}, {"A.AA", -1},  {"AAAA\xc3\xa4", -1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[16];
        _cleanup_str_ struct str again = STR_INIT;
        int n = auth_base64url_take(cases[i].text, strlen(cases[i].text), bytes);
        assert_int_equal(n < 0 ? -1 : n, cases[i].len);
        if (n < 0)
            continue;
        auth_base64url_put(bytes, (size_t)n, &again);
        assert_string_equal(str_cstr(&again), cases[i].text);
    }
}

static void only_three_parts_with_an_hs256_signature_are_a_token(void **state)
{
    static const char good[] = "a.b.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    static const char *const bad[] = {
        "",
        "a",
        "daemon",
        "a.b",
        "a.b.",
        "..",
        "a.b.c.d",
        "a.b.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",   /* 42 digits */
        "a.b.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", /* 44 */
        "a.b.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB",  /* bits behind the last byte */
        "a.b.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "a.b.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
        "a.b.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA.",
    };
    _cleanup_str_ struct str large = STR_INIT;
    struct auth_jwt jwt;
    struct err err;

    assert_int_equal(auth_jwt_split(good, &jwt, &err), 0);
    assert_int_equal(jwt.signed_len, 3);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct auth_jwt before = jwt;
        assert_int_equal(auth_jwt_split(bad[i], &jwt, &err), -ERR_AUTH);
        assert_memory_equal(&jwt, &before, sizeof(jwt));
        assert_true(bad[i][0] == '\0' || strlen(bad[i]) < 3 || !strstr(err.text, bad[i]));
    }
    for (int extra = -1; extra <= 1; extra++) { /* the limit, and beside it */
        str_clear(&large);
        while (large.len < (size_t)(AUTH_JWT_MAX - 2 + extra))
            str_putc(&large, 'a');
        str_puts(&large, good + 1);
        assert_int_equal(auth_jwt_split(str_cstr(&large), &jwt, &err),
                         extra > 0 ? -ERR_TOO_BIG : 0);
    }
}

static void invalid_claims_are_refused(void **state)
{
    static const char *const none = NULL;
    const struct {
        const char *header, *claims, *user_claim;
        int rc;
        const char *what; /* the user, or part of the message */
    } cases[] = {
        {HS256, "{\"exp\":1795000001,\"iat\":1795000000,\"sun\":\"alice\"}", none, 0, "alice"},
        {"{\"alg\":\"HS256\"}", "{\"exp\":1795000001,\"iat\":0,\"sun\":\"alice\"}", none, 0,
         "alice"},
        {HS256, "{\"exp\":1795000001.5,\"iat\":1794999999.25,\"sun\":\"a\"}", none, 0, "a"},
        {HS256, "{\"exp\":253402300799,\"iat\":1,\"username\":\"bob\"}", none, 0, "bob"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\",\"username\":\"b\"}", none, 0, "a"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\",\"x\":{\"y\":[1,{}]}}", none, 0, "a"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"p\":\"c\",\"sun\":\"a\"}", "p", 0, "c"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"nbf\":1795000010,\"sun\":\"a\"}", none, 0, "a"},
        {HS256, "{\"exp\":1795000001,\"iat\":1795000010,\"sun\":\"a\"}", none, 0, "a"},
        /* times */
        {HS256, "{\"exp\":1795000000,\"iat\":1,\"sun\":\"a\"}", none, -ERR_SKEW,
         "user 'a' has expired at 2026-11-18T"},
        {HS256, "{\"exp\":0,\"iat\":0,\"sun\":\"a\"}", none, -ERR_SKEW, "expired at 1970-01-01T"},
        {HS256, "{\"exp\":1795009999,\"iat\":1795000011,\"sun\":\"a\"}", none, -ERR_SKEW,
         "is not valid before"},
        {HS256, "{\"exp\":1795009999,\"iat\":1,\"nbf\":1795000011,\"sun\":\"a\"}", none, -ERR_SKEW,
         "is not valid before"},
        {HS256, "{\"exp\":-1,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "'exp'"},
        {HS256, "{\"exp\":1e300,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "'exp'"},
        {HS256, "{\"exp\":9223372036854775807,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "'exp'"},
        {HS256, "{\"exp\":99999999999999999999,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH,
         "claims"},
        {HS256, "{\"exp\":\"1795000001\",\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "'exp'"},
        {HS256, "{\"exp\":null,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "'exp'"},
        {HS256, "{\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "no claim 'exp'"},
        {HS256, "{\"exp\":1795000001,\"sun\":\"a\"}", none, -ERR_AUTH, "no claim 'iat'"},
        {HS256, "{\"exp\":1795000001,\"iat\":true,\"sun\":\"a\"}", none, -ERR_AUTH, "'iat'"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"nbf\":[],\"sun\":\"a\"}", none, -ERR_AUTH,
         "'nbf'"},
        /* users */
        {HS256, "{\"exp\":1795000001,\"iat\":1}", none, -ERR_AUTH, "no claim 'sun'"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}", "p", -ERR_AUTH, "no claim 'p'"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"\"}", none, -ERR_AUTH, "user name"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":0}", none, -ERR_AUTH, "user name"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":[\"root\"]}", none, -ERR_AUTH, "user name"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":null,\"username\":\"a\"}", none, -ERR_AUTH,
         "user name"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a b\"}", none, -ERR_AUTH, "user name"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\\u001b[2J\"}", none, -ERR_AUTH,
         "user name"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"root\\u0000x\"}", none, -ERR_AUTH,
         "claims"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"\\u00e4\"}", none, -ERR_AUTH, "user name"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\",\"sun\":\"root\"}", none, -ERR_AUTH,
         "claims"},
        /* the algorithm */
        {"{\"alg\":\"none\"}", "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH,
         "HS256"},
        {"{\"alg\":\"hs256\"}", "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH,
         "HS256"},
        {"{\"alg\":\"RS256\"}", "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH,
         "HS256"},
        {"{\"alg\":[\"HS256\"]}", "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH,
         "HS256"},
        {"{\"alg\":\"none\",\"alg\":\"HS256\"}", "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}",
         none, -ERR_AUTH, "header"},
        {"{}", "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "HS256"},
        {"{\"alg\":\"HS256\",\"crit\":[\"b64\"],\"b64\":false}",
         "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "crit"},
        /* the form */
        {"", "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "header"},
        {"[]", "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "header"},
        {HS256 "x", "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}", none, -ERR_AUTH, "header"},
        {HS256, "", none, -ERR_AUTH, "claims"},
        {HS256, "\"sun\"", none, -ERR_AUTH, "claims"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"", none, -ERR_AUTH, "claims"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"a\"}{}", none, -ERR_AUTH, "claims"},
        {HS256, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"\xff\"}", none, -ERR_AUTH, "claims"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        struct auth_jwt_claims claims, before;
        struct err err = {0};
        int rc;

        memset(&claims, 0x5a, sizeof(claims));
        before = claims;
        encode_token(cases[i].header, cases[i].claims, &text);
        rc = auth_jwt_read(text.data, text.len, cases[i].user_claim, NOW_MS, &claims, &err);
        if (rc != cases[i].rc || (rc && !strstr(err.text, cases[i].what)))
            fail_msg("case %zu: %d %s", i, rc, err.text);
        if (rc == 0)
            assert_string_equal(claims.user, cases[i].what);
        else
            assert_memory_equal(&claims, &before, sizeof(claims));
    }
}

static void long_user_names_are_refused(void **state)
{
    for (size_t len = AUTH_JWT_USER_MAX - 1; len <= AUTH_JWT_USER_MAX + 1; len++) {
        _cleanup_str_ struct str claims = STR_INIT, text = STR_INIT;
        struct auth_jwt_claims out;
        str_puts(&claims, "{\"exp\":1795000001,\"iat\":1,\"sun\":\"");
        for (size_t i = 0; i < len; i++)
            str_putc(&claims, 'a');
        str_puts(&claims, "\"}");
        encode_token(HS256, str_cstr(&claims), &text);
        assert_int_equal(auth_jwt_read(text.data, text.len, NULL, NOW_MS, &out, NULL),
                         len <= AUTH_JWT_USER_MAX ? 0 : -ERR_AUTH);
    }
}

/* What is made is taken, until it expires; every bit of it counts. */
static void created_token_is_valid_until_it_expires(void **state)
{
    static const char *const user_claims[] = {NULL, "preferred_username"};

    for (size_t i = 0; i < 2; i++) {
        _cleanup_str_ struct str token = STR_INIT;
        uint8_t signature[AUTH_HASH_SIZE];
        struct auth_jwt_claims claims;
        struct auth_jwt jwt;
        struct err err;
        assert_int_equal(
            auth_jwt_make(&key, user_claims[i], "n\xc3\xa4me", NOW_SEC, NOW_SEC + 60, &token, NULL),
            -ERR_RANGE);
        assert_int_equal(
            auth_jwt_make(&key, user_claims[i], "alice", NOW_SEC, NOW_SEC + 60, &token, NULL), 0);
        assert_int_equal(auth_jwt_split(str_cstr(&token), &jwt, &err), 0);
        auth_jwt_sign(&key, jwt.signed_part, jwt.signed_len, signature);
        assert_memory_equal(signature, jwt.signature, sizeof(signature));
        assert_int_equal(
            auth_jwt_read(jwt.signed_part, jwt.signed_len, user_claims[i], NOW_MS, &claims, &err),
            0);
        assert_string_equal(claims.user, "alice");
        assert_int_equal(auth_jwt_check_time(&claims, NOW_MS + 59999, &err), 0);
        assert_int_equal(auth_jwt_check_time(&claims, NOW_MS + 60000, &err), -ERR_SKEW);
        assert_int_equal(auth_jwt_check_time(&claims, NOW_MS - AUTH_SKEW_MS, &err), 0);
        assert_int_equal(auth_jwt_check_time(&claims, NOW_MS - AUTH_SKEW_MS - 1, &err), -ERR_SKEW);
        for (size_t bit = 0; bit < jwt.signed_len * 8; bit++) {
            uint8_t other[AUTH_HASH_SIZE];
            token.data[bit / 8] = (char)(token.data[bit / 8] ^ 1 << bit % 8);
            auth_jwt_sign(&key, jwt.signed_part, jwt.signed_len, other);
            assert_memory_not_equal(other, signature, sizeof(other));
            token.data[bit / 8] = (char)(token.data[bit / 8] ^ 1 << bit % 8);
        }
    }
}

static void key_file_that_others_may_read_is_refused(void **state)
{
    static const struct {
        size_t len;
        mode_t mode;
        int rc;
        const char *what;
    } cases[] = {
        {32, 0600, 0, ""},
        {32, 0400, 0, ""},
        {4096, 0600, 0, ""},
        {4097, 0600, -ERR_TOO_BIG, "at most 4096"},
        {31, 0600, -ERR_CONFIG, "at least 32"},
        {0, 0600, -ERR_CONFIG, "at least 32"},
        {32, 0644, -ERR_CONFIG, "lets others in"},
        {32, 0640, -ERR_CONFIG, "lets others in"},
        {32, 0604, -ERR_CONFIG, "lets others in"},
    };
    char dir[] = "/tmp/jwt_test.XXXXXX", path[64], link_path[64];
    static uint8_t bytes[4097];
    struct auth_jwt_key loaded;
    struct err err;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/jwt_hs256.key", dir);
    snprintf(link_path, sizeof(link_path), "%s/link", dir);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&err, 0, sizeof(err));
        assert_int_equal(path_write_file(path, bytes, cases[i].len, 0600, NULL), 0);
        assert_int_equal(chmod(path, cases[i].mode), 0);
        assert_int_equal(auth_jwt_key_load(path, geteuid(), &loaded, &err), cases[i].rc);
        assert_non_null(strstr(err.text, cases[i].what));
        unlink(path);
    }
    assert_int_equal(path_write_file(path, bytes, 32, 0600, NULL), 0);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(auth_jwt_key_load(link_path, geteuid(), &loaded, &err), -ERR_CONFIG);
    unlink(link_path);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_token_gets_the_published_signature),
        cmocka_unit_test(keys_of_any_length_sign_as_hmac),
        cmocka_unit_test(base64url_has_one_form),
        cmocka_unit_test(only_three_parts_with_an_hs256_signature_are_a_token),
        cmocka_unit_test(invalid_claims_are_refused),
        cmocka_unit_test(long_user_names_are_refused),
        cmocka_unit_test(created_token_is_valid_until_it_expires),
        cmocka_unit_test(key_file_that_others_may_read_is_refused),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
