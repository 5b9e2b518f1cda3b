/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights of trackable resources: "CPU=1000,Mem=2000,GRES/gpu=3000". */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "conf/conf_internal.h"
#include "conf/conf_tres.h"

static int parse_one(const char *word, size_t len, struct conf_tres_weight *t, struct err *err)
{
    const char *equals = memchr(word, '=', len);
    size_t name_len = equals ? (size_t)(equals - word) : len;
    char *end = NULL;

    if (!equals || !name_len || name_len >= sizeof t->name)
        return err_set(err, -ERR_PARSE, "'%.*s' is not NAME=WEIGHT", (int)len, word);
    for (size_t i = 0; i < name_len; i++)
        t->name[i] = (char)tolower((unsigned char)word[i]);
    t->name[name_len] = 0;
    t->weight = strtod(equals + 1, &end);
    if (end == equals + 1 || end != word + len || !isfinite(t->weight) ||
        fabs(t->weight) > UINT32_MAX)
        return err_set(err, -ERR_PARSE, "'%.*s': the weight is not a number", (int)len, word);
    return 0;
}

int conf_tres_parse(const char *text, struct conf_tres_weight *out, size_t *count, struct err *err)
{
    size_t n = 0;

    words_foreach (text, w) {
        if (w.len && n == CONF_TRES_MAX)
            return err_set(err, -ERR_PARSE, "there are more than %d weights", CONF_TRES_MAX);
        int rc = w.len ? parse_one(w.at, w.len, &out[n], err) : 0;
        if (rc != 0)
            return rc;
        n += w.len > 0;
    }
    *count = n;
    return 0;
}

static bool has_effect(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "mem") == 0 || strcmp(name, "node") == 0 ||
           strncmp(name, "gres/", 5) == 0;
}

int conf_tres_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = &l->priv->written[CONF_KEY_priority_weight_tres];
    struct conf_tres_weight weights[CONF_TRES_MAX];
    struct err why = {0};
    size_t n = 0;

    if (!v->text)
        return 0;
    if (conf_tres_parse(v->text, weights, &n, &why) != 0)
        return conf_fail(v->at, err, "PriorityWeightTRES=%s: %s", v->text, why.text);
    for (size_t i = 0; i < n; i++)
        if (!has_effect(weights[i].name))
            conf_warn(l, v->at,
                      "PriorityWeightTRES: '%s' has no effect; cpu, mem, node and gres/NAME have",
                      weights[i].name);
    return 0;
}
