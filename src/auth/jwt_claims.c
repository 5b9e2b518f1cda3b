/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a token says. Its signature has been proved by then, so that only holders of the key file
 * choose the bytes that are parsed here. */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "auth/jwt.h"
#include "base/mem.h"

#define SEC_MAX (INT64_MAX / 2000)

static int refuse_form(struct err *err, const char *what)
{
    return err_set(err, -ERR_AUTH, "malformed JSON Web Token: %s", what);
}

/* One part: an object, its members each once. NULL: it is not. */
static json_t *load_part(const char *text, size_t len)
{
    _cleanup_free_ uint8_t *bytes = mem_alloc(len + 1);
    int n = auth_base64url_take(text, len, bytes);
    json_t *part =
        n < 0 ? NULL : json_loadb((const char *)bytes, (size_t)n, JSON_REJECT_DUPLICATES, NULL);

    if (json_is_object(part))
        return part;
    json_decref(part);
    return NULL;
}

/* "crit" names what a receiver must understand (RFC 7515, section 4.1.11), which is nothing here.
 */
static int check_header(const char *text, size_t len, struct err *err)
{
    json_t *header = load_part(text, len);
    const char *alg = json_string_value(json_object_get(header, "alg"));
    int rc = 0;

    if (!header)
        rc = refuse_form(err, "its header is not a JSON object");
    else if (!alg || strcmp(alg, "HS256") != 0)
        rc = err_set(err, -ERR_AUTH, "the JSON Web Token must be signed with HS256");
    else if (json_object_get(header, "crit"))
        rc = refuse_form(err, "extensions ('crit') are not supported");
    json_decref(header);
    return rc;
}

/* A NumericDate may have a fraction. */
static int take_time(const json_t *claims, const char *name, int64_t *out, struct err *err)
{
    const json_t *value = json_object_get(claims, name);
    double number = json_number_value(value);

    if (!value)
        return err_set(err, -ERR_AUTH, "the JSON Web Token has no claim '%s'", name);
    if (!json_is_number(value) || !(number >= 0 && number < (double)SEC_MAX))
        return err_set(err, -ERR_AUTH,
                       "the claim '%s' of the JSON Web Token is not a number of seconds since 1970",
                       name);
    *out = json_is_integer(value) ? json_integer_value(value) : (int64_t)number;
    return 0;
}

/* Printable ASCII without blanks, as names of users in the log are to be. */
static bool is_user_name(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return false;
    return len > 0 && len <= AUTH_JWT_USER_MAX;
}

static int take_user(const json_t *claims, const char *user_claim, char *out, struct err *err)
{
    const json_t *value = json_object_get(claims, user_claim ? user_claim : "sun");
    const char *name;

    if (!value && !user_claim)
        value = json_object_get(claims, "username");
    name = json_string_value(value);
    if (!value)
        return err_set(err, -ERR_AUTH, "the JSON Web Token has no claim '%s' with a user name",
                       user_claim ? user_claim : "sun");
    if (!name || json_string_length(value) != strlen(name) || !is_user_name(name))
        return err_set(err, -ERR_AUTH,
                       "the user name of the JSON Web Token is not 1 to %d printable ASCII "
                       "characters without blanks",
                       AUTH_JWT_USER_MAX);
    memcpy(out, name, strlen(name) + 1);
    return 0;
}

/* "nbf" may be absent. */
static int take_times(const json_t *parsed, struct auth_jwt_claims *claims, struct err *err)
{
    int64_t not_before = 0;
    int rc = take_time(parsed, "exp", &claims->expires_at, err);

    if (rc == 0)
        rc = take_time(parsed, "iat", &claims->starts_at, err);
    if (rc == 0 && json_object_get(parsed, "nbf"))
        rc = take_time(parsed, "nbf", &not_before, err);
    if (not_before > claims->starts_at)
        claims->starts_at = not_before;
    return rc;
}

static int take_claims(const json_t *parsed, const char *user_claim, int64_t now_ms,
                       struct auth_jwt_claims *out, struct err *err)
{
    struct auth_jwt_claims claims = {0};
    int rc = take_user(parsed, user_claim, claims.user, err);

    if (rc == 0)
        rc = take_times(parsed, &claims, err);
    if (rc == 0)
        rc = auth_jwt_check_time(&claims, now_ms, err);
    if (rc == 0)
        *out = claims;
    return rc;
}

int auth_jwt_read(const void *signed_part, size_t len, const char *user_claim, int64_t now_ms,
                  struct auth_jwt_claims *out, struct err *err)
{
    const char *text = signed_part, *dot = len ? memchr(text, '.', len) : NULL;
    json_t *parsed;
    int rc;

    if (!dot || len > AUTH_JWT_MAX)
        return refuse_form(err, "it must have three parts separated by dots");
    rc = check_header(text, (size_t)(dot - text), err);
    if (rc < 0)
        return rc;
    parsed = load_part(dot + 1, len - (size_t)(dot + 1 - text));
    if (!parsed)
        return refuse_form(err, "its claims are not a JSON object");
    rc = take_claims(parsed, user_claim, now_ms, out, err);
    json_decref(parsed);
    return rc;
}

int auth_jwt_make(const struct auth_jwt_key *key, const char *user_claim, const char *user,
                  int64_t now_sec, int64_t expires_at, struct str *out, struct err *err)
{
    if (!is_user_name(user))
        return err_set(err, -ERR_RANGE,
                       "no token can name user '%s': a name is 1 to %d printable ASCII characters "
                       "without blanks",
                       user, AUTH_JWT_USER_MAX);
    static const char header[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
    json_t *claims = json_pack("{sI sI ss}", "exp", (json_int_t)expires_at, "iat",
                               (json_int_t)now_sec, user_claim ? user_claim : "sun", user);
    char *text = json_dumps(claims, JSON_COMPACT);
    uint8_t signature[AUTH_HASH_SIZE];
    size_t start = out->len;

    assert(text); /* all names in it are ASCII */
    auth_base64url_put(header, sizeof(header) - 1, out);
    str_putc(out, '.');
    auth_base64url_put(text, strlen(text), out);
    auth_jwt_sign(key, out->data + start, out->len - start, signature);
    str_putc(out, '.');
    auth_base64url_put(signature, sizeof(signature), out);
    mem_wipe(signature, sizeof(signature));
    json_decref(claims);
    free(text);
    return 0;
}
