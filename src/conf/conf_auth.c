/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AuthAltTypes and AuthAltParameters: JSON Web Tokens. */
#include <string.h>

#include "base/words.h"
#include "conf/conf_internal.h"

#define LIFESPAN_MAX (INT64_C(100) * 365 * 86400)

static int check_types(const struct conf_value *v, struct conf_auth_alt *a, struct err *err)
{
    words_foreach (v->text, w) {
        if (!w.len)
            continue;
        if (!word_case_eq(w, "auth/jwt") && !word_case_eq(w, "jwt"))
            return conf_fail(v->at, err, "AuthAltTypes: '%.*s' is not supported: use auth/jwt",
                             (int)w.len, w.at);
        a->jwt = true;
    }
    return 0;
}

static int take_lifespan(const struct conf_value *v, const char *value, struct conf_auth_alt *a,
                         struct err *err)
{
    long long sec;

    if (str_parse_i64(value, 1, LIFESPAN_MAX, &sec) < 0)
        return conf_fail(v->at, err,
                         "AuthAltParameters: invalid max_token_lifespan '%s': use a number of "
                         "seconds from 1 to %lld",
                         value, (long long)LIFESPAN_MAX);
    a->max_token_lifespan_sec = sec;
    return 0;
}

static int take_key_path(const struct conf_value *v, const char *value, struct conf_auth_alt *a,
                         struct err *err)
{
    if (value[0] != '/')
        return conf_fail(v->at, err, "AuthAltParameters: jwt_key=%s is not an absolute path",
                         value);
    a->jwt_key_path = value;
    return 0;
}

static int take_user_claim(const struct conf_value *v, const char *value, struct conf_auth_alt *a,
                           struct err *err)
{
    for (const char *p = value; *p; p++)
        if (*p <= ' ' || *p > '~')
            return conf_fail(v->at, err,
                             "AuthAltParameters: userclaimfield=%s: use printable ASCII characters",
                             value);
    if (!*value)
        return conf_fail(v->at, err,
                         "AuthAltParameters: userclaimfield= needs the name of a claim");
    a->user_claim = value;
    return 0;
}

/* Handles "name" or "name=value". */
static int take_parameter(struct conf_loader *l, const struct conf_value *v, char *word,
                          struct conf_auth_alt *a, struct err *err)
{
    char *value = strchr(word, '=');

    if (value)
        *value++ = '\0';
    if (value && str_case_eq(word, "max_token_lifespan"))
        return take_lifespan(v, value, a, err);
    if (value && str_case_eq(word, "jwt_key"))
        return take_key_path(v, value, a, err);
    if (value && str_case_eq(word, "userclaimfield"))
        return take_user_claim(v, value, a, err);
    if (!value && str_case_eq(word, "disable_token_creation"))
        a->disable_token_creation = true;
    else if (str_case_eq(word, "jwks"))
        return conf_fail(v->at, err,
                         "AuthAltParameters: jwks= is not supported: RS256 tokens are not "
                         "accepted; use jwt_key= and tokens signed with HS256");
    else if (str_case_eq(word, "use_jwt_client_ids_only"))
        return conf_fail(v->at, err,
                         "AuthAltParameters: use_jwt_client_ids_only is not supported: users of "
                         "tokens must exist on the controller's host");
    else if (str_case_eq(word, "use_jwt_client_ids"))
        conf_warn(l, v->at,
                  "AuthAltParameters: 'use_jwt_client_ids' has no effect: users of tokens are "
                  "looked up on the controller's host");
    else
        return conf_fail(v->at, err,
                         "AuthAltParameters: unknown or incomplete '%s': use "
                         "disable_token_creation, jwt_key=FILE, max_token_lifespan=SECONDS or "
                         "userclaimfield=NAME",
                         word);
    return 0;
}

int conf_auth_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *types = &l->priv->written[CONF_KEY_auth_alt_types];
    const struct conf_value *v = &l->priv->written[CONF_KEY_auth_alt_parameters];
    struct conf_auth_alt *a = &l->conf->auth_alt;
    struct arena *arena = &l->priv->arena;
    int rc = check_types(types, a, err);

    a->jwt_key_path = arena_printf(arena, "%s/jwt_hs256.key", l->conf->state_save_location);
    words_foreach (v->text, w) {
        if (rc == 0 && w.len)
            rc = take_parameter(l, v, arena_printf(arena, "%.*s", (int)w.len, w.at), a, err);
    }
    if (rc == 0 && v->text && *v->text && !a->jwt)
        conf_warn(l, v->at, "AuthAltParameters has no effect without AuthAltTypes=auth/jwt");
    return rc;
}
