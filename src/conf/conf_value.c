/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "base/url.h"
#include "conf/conf_internal.h"

#define PERCENT_MAX 1000000

static bool is_listed_word(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strcasecmp(text, *words))
            return true;
    return false;
}

static bool is_unlimited(const char *text)
{
    static const char *const words[] = {"UNLIMITED", "INFINITE", "-1", NULL};
    return is_listed_word(text, words);
}

static int refuse_value(const struct conf_key *key, const struct conf_value *v, struct err *err,
                        const char *expected)
{
    return conf_fail(v->at, err, "%s=%s: expected %s", key->name, v->text, expected);
}

static int parse_bool(const struct conf_key *key, const struct conf_value *v, bool *out,
                      struct err *err)
{
    static const char *const yes[] = {"YES", "Y", "TRUE", "T", "UP", "ON", "1", NULL};
    static const char *const no[] = {"NO", "N", "FALSE", "F", "DOWN", "OFF", "0", NULL};

    if (is_listed_word(v->text, yes))
        *out = true;
    else if (is_listed_word(v->text, no))
        *out = false;
    else
        return refuse_value(key, v, err, "YES or NO");
    return 0;
}

/* Parses a number in the key's range; max 0 means 'most'. */
static int parse_number(const struct conf_key *key, const struct conf_value *v, const char *text,
                        long long most, long long *out, struct err *err)
{
    long long max = key->max ? (long long)key->max : most;
    int rc = str_parse_i64(text, (long long)key->min, max, out);

    if (rc == -ERR_RANGE)
        return conf_fail(v->at, err, "%s=%s: out of range, expected %lld to %lld", key->name,
                         v->text, (long long)key->min, max);
    if (rc < 0)
        return refuse_value(key, v, err, "a whole number");
    return 0;
}

static int parse_u32(const struct conf_key *key, const struct conf_value *v, uint32_t *out,
                     struct err *err)
{
    long long n = 0;
    bool flag = false;

    if (key->max == 1 && key->min == 0) { /* a boolean that Slurm writes as a number */
        int rc = parse_bool(key, v, &flag, err);
        if (rc == 0)
            *out = flag;
        return rc;
    }
    if (key->max == 0 && is_unlimited(v->text)) {
        *out = UINT32_MAX;
        return 0;
    }
    int rc = parse_number(key, v, v->text, UINT32_MAX - 1, &n, err);
    if (rc == 0)
        *out = (uint32_t)n;
    return rc;
}

static int parse_seconds(const struct conf_key *key, const struct conf_value *v, int64_t *out,
                         struct err *err)
{
    long long n = 0;

    if (key->max == 0 && is_unlimited(v->text)) {
        *out = CONF_UNLIMITED;
        return 0;
    }
    int rc = parse_number(key, v, v->text, INT32_MAX, &n, err);
    if (rc == 0)
        *out = n;
    return rc;
}

static int parse_minutes(const struct conf_key *key, const struct conf_value *v, int64_t *out,
                         struct err *err)
{
    int64_t sec = 0;

    if (!strcmp(key->def, "0") && !strcasecmp(v->text, "NONE")) {
        *out = 0;
        return 0;
    }
    if (is_unlimited(v->text)) {
        *out = CONF_UNLIMITED;
        return 0;
    }
    if (time_parse_limit(v->text, &sec, NULL) < 0)
        return refuse_value(key, v, err, "minutes, H:MM:SS, D-HH:MM:SS or UNLIMITED");
    *out = sec;
    return 0;
}

static int parse_mib(const struct conf_key *key, const struct conf_value *v, uint64_t *out,
                     struct err *err)
{
    uint64_t mib = 0;

    if (key->min == 0 && is_unlimited(v->text)) {
        *out = 0;
        return 0;
    }
    if (size_parse_mib(v->text, &mib, NULL) < 0)
        return refuse_value(key, v, err, "a size in MiB, or with a suffix K, M, G, T");
    if (mib < key->min)
        return conf_fail(v->at, err, "%s=%s: must be at least %llu MiB", key->name, v->text,
                         (unsigned long long)key->min);
    *out = mib;
    return 0;
}

/* Parses a port, or the first of FIRST-LAST; conf_check.c checks the last. */
static int parse_port(const struct conf_key *key, const struct conf_value *v, uint16_t *out,
                      struct err *err)
{
    const char *dash = strchr(v->text, '-');
    long long n = 0;
    char first[16];

    if (dash && (size_t)(dash - v->text) < sizeof(first) && dash > v->text) {
        memcpy(first, v->text, (size_t)(dash - v->text));
        first[dash - v->text] = '\0';
    } else
        dash = NULL;
    int rc = parse_number(key, v, dash ? first : v->text, 65535, &n, err);
    if (rc == 0)
        *out = (uint16_t)n;
    return rc;
}

static int parse_level(const struct conf_key *key, const struct conf_value *v, uint32_t *out,
                       struct err *err)
{
    int level = log_parse_level(v->text);

    if (!*v->text && !*key->def) {
        *out = LOG_LVL_UNSET;
        return 0;
    }
    if (level < 0)
        return refuse_value(
            key, v, err, "quiet, fatal, error, info, verbose, debug, debug2, debug3 or a number");
    *out = (uint32_t)level;
    return 0;
}

/* Parses a percentage into hundredths of a percent. */
static int parse_percent(const struct conf_key *key, const struct conf_value *v, uint32_t *out,
                         struct err *err)
{
    unsigned long long whole = 0;
    unsigned part = 0, unit = 10;
    const char *at = v->text;

    if (!isdigit((unsigned char)*at))
        return refuse_value(key, v, err, "a percentage such as 50, 101.5 or 100%");
    for (; isdigit((unsigned char)*at) && whole <= PERCENT_MAX; at++)
        whole = whole * 10 + (unsigned)(*at - '0');
    if (*at == '.')
        for (at++; isdigit((unsigned char)*at); at++, unit /= 10)
            part += (unsigned)(*at - '0') * unit;
    at += *at == '%';
    if (*at || whole > PERCENT_MAX)
        return refuse_value(key, v, err, "a percentage such as 50, 101.5 or 100%");
    *out = (uint32_t)whole * 100 + part;
    return 0;
}

int conf_value_parse(const struct conf_key *key, const struct conf_value *v, void *base,
                     struct err *err)
{
    void *member = (char *)base + key->offset;
    bool is_default = !strcasecmp(v->text, key->def);

    switch (key->type) {
    case CONF_T_STR:
    case CONF_T_PATH:
    case CONF_T_URL:
    case CONF_T_USER:
        *(const char **)member = *v->text ? v->text : NULL;
        return 0;
    case CONF_T_BOOL:
        return parse_bool(key, v, member, err);
    case CONF_T_U32:
        return parse_u32(key, v, member, err);
    case CONF_T_SEC:
    case CONF_T_MIN:
        /* Means "not set" for this key, not "unlimited" */
        if (is_default && !strcmp(key->def, "-1")) {
            *(int64_t *)member = -1;
            return 0;
        }
        if (key->type == CONF_T_SEC)
            return parse_seconds(key, v, member, err);
        return parse_minutes(key, v, member, err);
    case CONF_T_MIB:
        return parse_mib(key, v, member, err);
    case CONF_T_PORT:
        return parse_port(key, v, member, err);
    case CONF_T_LEVEL:
        return parse_level(key, v, member, err);
    case CONF_T_PERCENT:
        return parse_percent(key, v, member, err);
    }
    return 0;
}

void conf_value_defaults(const struct conf_key *keys, size_t count, void *base)
{
    for (size_t i = 0; i < count; i++) {
        struct conf_value v = {.text = keys[i].def, .at = {"defaults", 0}};
        if (keys[i].offset != CONF_NO_OFFSET && (*keys[i].def || keys[i].type == CONF_T_LEVEL))
            (void)conf_value_parse(&keys[i], &v, base, NULL);
    }
}

static size_t member_size(enum conf_value_type type)
{
    switch (type) {
    case CONF_T_STR:
    case CONF_T_PATH:
    case CONF_T_URL:
    case CONF_T_USER:
        return sizeof(CONF_MEMBER_CONF_T_STR);
    case CONF_T_BOOL:
        return sizeof(CONF_MEMBER_CONF_T_BOOL);
    case CONF_T_U32:
    case CONF_T_LEVEL:
    case CONF_T_PERCENT:
        return sizeof(CONF_MEMBER_CONF_T_U32);
    case CONF_T_SEC:
    case CONF_T_MIN:
    case CONF_T_MIB:
        return sizeof(CONF_MEMBER_CONF_T_SEC);
    case CONF_T_PORT:
        return sizeof(CONF_MEMBER_CONF_T_PORT);
    }
    return 0;
}

static bool is_text(enum conf_value_type type)
{
    return type == CONF_T_STR || type == CONF_T_PATH || type == CONF_T_URL || type == CONF_T_USER;
}

bool conf_value_equal(const struct conf_key *key, const void *a, const void *b)
{
    const char *x = (const char *)a + key->offset, *y = (const char *)b + key->offset;

    if (is_text(key->type))
        return str_eq(*(const char *const *)x, *(const char *const *)y);
    return !memcmp(x, y, member_size(key->type));
}

static void seconds_text(enum conf_value_type type, int64_t sec, struct str *out)
{
    char buf[TIME_TEXT_MAX];

    if (sec == CONF_UNLIMITED)
        str_puts(out, "UNLIMITED");
    else if (sec < 0)
        str_puts(out, "unset");
    else if (type == CONF_T_MIN)
        str_puts(out, time_format_limit(sec, buf));
    else
        str_printf(out, "%lld", (long long)sec);
}

void conf_value_text(const struct conf_key *key, const void *base, struct str *out)
{
    static const char *const levels[] = {"quiet",   "fatal", "error",  "info",
                                         "verbose", "debug", "debug2", "debug3"};
    const void *member = (const char *)base + key->offset;
    const char *text;
    uint32_t n;

    switch (key->type) {
    case CONF_T_URL: {
        _cleanup_free_ char *shown = url_mask(*(const char *const *)member);
        str_puts(out, shown ? shown : "(null)");
        return;
    }
    case CONF_T_STR:
    case CONF_T_PATH:
    case CONF_T_USER:
        text = *(const char *const *)member;
        str_puts(out, text ? text : "(null)");
        return;
    case CONF_T_BOOL:
        str_puts(out, *(const bool *)member ? "Yes" : "No");
        return;
    case CONF_T_U32:
        n = *(const uint32_t *)member;
        if (n == UINT32_MAX)
            str_puts(out, "UNLIMITED");
        else
            str_printf(out, "%u", n);
        return;
    case CONF_T_SEC:
    case CONF_T_MIN:
        seconds_text(key->type, *(const int64_t *)member, out);
        return;
    case CONF_T_MIB:
        str_printf(out, "%llu", (unsigned long long)*(const uint64_t *)member);
        return;
    case CONF_T_PORT:
        str_printf(out, "%u", *(const uint16_t *)member);
        return;
    case CONF_T_PERCENT:
        n = *(const uint32_t *)member;
        str_printf(out, n % 10 ? "%u.%02u%%" : "%u.%u%%", n / 100, n % 10 ? n % 100 : n % 100 / 10);
        return;
    case CONF_T_LEVEL:
        n = *(const uint32_t *)member;
        if (n == LOG_LVL_UNSET)
            str_puts(out, "(null)");
        else
            str_puts(out, n < sizeof(levels) / sizeof(levels[0]) ? levels[n] : "debug3");
        return;
    }
}
