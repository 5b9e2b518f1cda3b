/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_het.h"

#include <string.h>
#include <strings.h>

#include "conf/conf_internal.h"

static const struct {
    const char *name, *text;
} limits[CONF_HET_LIMITS] = {
#define HET_LIMIT(name, text) {#name, text},
#include "conf/conf_het.def"
#undef HET_LIMIT
};

static bool is_word(const char *word, size_t len, const char *name)
{
    return strlen(name) == len && !strncasecmp(word, name, len);
}

/* The bits that the word sets; false: it is unknown. */
static bool read_word(const char *word, size_t len, uint32_t *bits)
{
    if (is_word(word, len, "none"))
        return true;
    if (is_word(word, len, "documented")) {
        *bits |= (UINT32_C(1) << CONF_HET_LIMITS) - 1;
        return true;
    }
    for (size_t i = 0; i < CONF_HET_LIMITS; i++)
        if (is_word(word, len, limits[i].name)) {
            *bits |= UINT32_C(1) << i;
            return true;
        }
    return false;
}

static int refuse_word(const struct conf_value *v, const char *word, size_t len, struct err *err)
{
    _cleanup_str_ struct str known = STR_INIT;
    for (size_t i = 0; i < CONF_HET_LIMITS; i++)
        str_printf(&known, " %s", limits[i].name);
    return conf_fail(v->at, err, "HetLimits=%s: '%.*s' is not one of: none documented%s", v->text,
                     (int)len, word, str_cstr(&known));
}

int conf_het_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = &l->priv->written[CONF_KEY_het_limits];
    uint32_t bits = 0;
    for (const char *word = v->text ? v->text : ""; *word;) {
        size_t len = strcspn(word, ",");
        if (len && !read_word(word, len, &bits))
            return refuse_word(v, word, len, err);
        word += len;
        word += *word == ',';
    }
    l->conf->het_kept = bits;
    return 0;
}

bool conf_het_keeps(const struct conf *c, enum conf_het_limit limit)
{
    return c->het_kept >> limit & 1;
}

int conf_het_refuse(const struct conf *c, enum conf_het_limit limit, int code, const char *wording,
                    struct err *err)
{
    if (!conf_het_keeps(c, limit))
        return 0;
    return err_set(err, code, "%s: %s (HetLimits=%s)", wording, limits[limit].text,
                   limits[limit].name);
}
