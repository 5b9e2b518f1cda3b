/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/url.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"

#define MASK "****"

static size_t scheme_len(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || (n > 0 && strchr("+-.", text[n]) && text[n]))
        n++;
    return n;
}

bool url_is(const char *text)
{
    size_t n = scheme_len(text);
    return n > 1 && text[n] == ':';
}

/* Returns the text after "SCHEME://", or the beginning of a text without one. */
static const char *rest_of(const char *url)
{
    const char *sep = strstr(url, "://");
    return sep ? sep + 3 : url;
}

static int characters_check(const char *url, struct err *err)
{
    for (const char *p = url; *p; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return err_set(err, -ERR_PARSE, "a URL holds no blanks; write them as %%20");
        if (*p == '%' && (!isxdigit((unsigned char)p[1]) || !isxdigit((unsigned char)p[2])))
            return err_set(err, -ERR_PARSE,
                           "a %% in a URL is followed by two hexadecimal digits; a plain one is "
                           "written %%25");
    }
    return 0;
}

int url_check(const char *url, const char *const *schemes, struct err *err)
{
    const char *const *scheme = schemes;
    while (*scheme && !str_starts(url, *scheme))
        scheme++;
    if (!*scheme)
        return err_set(err, -ERR_PARSE, "a URL is expected to begin with %s, not with '%.*s'",
                       schemes[0], (int)scheme_len(url), url);
    int rc = characters_check(url, err);
    if (rc)
        return rc;
    const char *rest = rest_of(url), *at = strchr(rest, '@');
    if (at && (strchr(at + 1, '@') || strcspn(rest, "/?#") < (size_t)(at - rest)))
        return err_set(err, -ERR_PARSE,
                       "the user and the password in a URL are written with %%40 for @, %%3A for "
                       ":, %%2F for /, %%3F for ? and %%23 for #");
    return 0;
}

static bool is_secret_name(const char *name, size_t len)
{
    static const char word[] = "password";
    for (size_t i = 0; i + sizeof(word) - 1 <= len; i++)
        if (!strncasecmp(name + i, word, sizeof(word) - 1))
            return true;
    return false;
}

/* Masks the parameters after the '?'; sets *hidden if there was a secret. */
static void mask_parameters(const char *p, struct str *out, bool *hidden)
{
    while (*p) {
        size_t len = strcspn(p, "&"), name = strcspn(p, "=&");
        if (name < len && is_secret_name(p, name)) {
            str_append(out, p, name + 1);
            str_puts(out, MASK);
            *hidden = true;
        } else {
            str_append(out, p, len);
        }
        p += len;
        if (*p == '&')
            str_putc(out, *p++);
    }
}

static bool mask_password(const char *url, struct str *out)
{
    const char *rest = rest_of(url);
    const char *at = strrchr(rest, '@'), *colon = strchr(rest, ':');
    bool hidden = false;
    if (at && colon && colon < at) {
        str_append(out, url, (size_t)(colon + 1 - url));
        str_puts(out, MASK);
        hidden = true;
        rest = url = at;
    }
    size_t head = (size_t)(rest - url) + strcspn(rest, "?");
    str_append(out, url, head);
    if (url[head] == '?') {
        str_putc(out, '?');
        mask_parameters(url + head + 1, out, &hidden);
    }
    return hidden;
}

char *url_mask(const char *url)
{
    if (!url)
        return NULL;
    struct str out = STR_INIT;
    mask_password(url, &out);
    return str_take(&out);
}

bool url_has_secret(const char *url)
{
    _cleanup_str_ struct str out = STR_INIT;
    return url && mask_password(url, &out);
}
