/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights of trackable resources: "CPU=1000,Mem=2000,GRES/gpu=3000". */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/words.h"
#include "conf/conf_internal.h"
#include "conf/conf_license.h"
#include "conf/conf_rows.h"
#include "conf/conf_tres.h"

/* Returns the factor of a weight for one unit of the suffix, "0.25G"; the unit of memory is MiB, of
 * other resources one. 0: no suffix. */
static double find_scale(char suffix, bool is_memory)
{
    static const char suffixes[] = "KMGTP";
    const char *at = suffix ? strchr(suffixes, toupper((unsigned char)suffix)) : NULL;
    return at ? ldexp(1, (is_memory ? 20 : 0) - 10 * (int)(at - suffixes + 1)) : 0;
}

/* 'scaled': the weight may have a suffix. */
static int parse_one(const char *word, size_t len, bool scaled, struct conf_tres_weight *t,
                     struct err *err)
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
    bool is_memory = strcmp(t->name, "mem") == 0 || strncmp(t->name, "bb/", 3) == 0;
    double scale = scaled && end == word + len - 1 ? find_scale(*end, is_memory) : 0;
    if (scale > 0 && end > equals + 1) {
        t->weight *= scale;
        end++;
    }
    if (end == equals + 1 || end != word + len || !isfinite(t->weight) ||
        fabs(t->weight) > UINT32_MAX)
        return err_set(err, -ERR_PARSE, "'%.*s': the weight is not a number", (int)len, word);
    return 0;
}

static int parse_list(const char *text, bool scaled, struct conf_tres_weight *out, size_t *count,
                      struct err *err)
{
    size_t n = 0;

    words_foreach (text, w) {
        if (w.len && n == CONF_TRES_MAX)
            return err_set(err, -ERR_PARSE, "there are more than %d weights", CONF_TRES_MAX);
        int rc = w.len ? parse_one(w.at, w.len, scaled, &out[n], err) : 0;
        if (rc != 0)
            return rc;
        n += w.len > 0;
    }
    *count = n;
    return 0;
}

int conf_tres_parse(const char *text, struct conf_tres_weight *out, size_t *count, struct err *err)
{
    return parse_list(text, false, out, count, err);
}

int conf_tres_parse_billing(const char *text, struct conf_tres_weight *out, size_t *count,
                            struct err *err)
{
    int rc = parse_list(text, true, out, count, err);
    for (size_t i = 0; rc == 0 && i < *count; i++)
        if (out[i].weight < 0)
            rc = err_set(err, -ERR_PARSE, "'%s': the weight is negative", out[i].name);
    return rc;
}

enum conf_billing conf_billing_rule(const struct conf *c)
{
    const char *flags = c->priority_flags;
    return !flags                                  ? CONF_BILLING_SUM
           : conf_list_has(flags, "MAX_TRES_GRES") ? CONF_BILLING_MAX_GRES
           : conf_list_has(flags, "MAX_TRES")      ? CONF_BILLING_MAX
                                                   : CONF_BILLING_SUM;
}

static bool has_effect(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "mem") == 0 || strcmp(name, "node") == 0 ||
           strncmp(name, "gres/", 5) == 0;
}

static bool has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Whether Slurm bills the resource, and jobs here have no amount of it. */
static bool is_never_allocated(const char *name)
{
    static const char *const names[] = {"billing", "energy", "pages", "vmem"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return has_prefix(name, "bb/") || has_prefix(name, "fs/") || has_prefix(name, "ic/");
}

static bool is_gres_type(const struct conf *c, const char *name)
{
    _cleanup_free_ char *type = mem_strndup(name, strcspn(name, ":"));
    return conf_list_has(c->gres_types, type);
}

int conf_tres_check_billed(const struct conf *c, const char *name, struct err *err)
{
    if (strcmp(name, "cpu") == 0 || strcmp(name, "mem") == 0 || strcmp(name, "node") == 0)
        return 0;
    if (has_prefix(name, "gres/"))
        return is_gres_type(c, name + 5)
                   ? 0
                   : err_set(err, -ERR_PARSE, "'%s' is not in GresTypes", name);
    if (has_prefix(name, "license/"))
        return conf_license_is_known(c, name + 8)
                   ? 0
                   : err_set(err, -ERR_PARSE, "'%s' is neither in Licenses nor in resources.yaml",
                             name);
    if (is_never_allocated(name))
        return err_set(err, 1, "'%s' has no effect: jobs have no amount of it", name);
    return err_set(err, -ERR_PARSE,
                   "unknown resource '%s': use cpu, mem, node, gres/NAME or license/NAME", name);
}

int conf_tres_check_billing(const char *text, struct conf_place at, struct err *err)
{
    struct conf_tres_weight weights[CONF_TRES_MAX];
    struct err why = {0};
    size_t n = 0;
    if (text && conf_tres_parse_billing(text, weights, &n, &why) != 0)
        return conf_fail(at, err, "TRESBillingWeights=%s: %s", text, why.text);
    return 0;
}

static void check_billed_names(struct conf_loader *l, const struct conf_value *v)
{
    struct conf_tres_weight weights[CONF_TRES_MAX];
    struct err why = {0};
    size_t n = 0;
    if (!v->text || conf_tres_parse_billing(v->text, weights, &n, NULL) != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        int rc = conf_tres_check_billed(l->conf, weights[i].name, &why);
        if (rc < 0)
            conf_fault(l, v->at, "TRESBillingWeights: %s", why.text);
        else if (rc > 0)
            conf_warn(l, v->at, "TRESBillingWeights: %s", why.text);
    }
}

/* Partitions share the value of a DEFAULT line, which is checked once. */
int conf_billing_check(struct conf_loader *l, struct err *err)
{
    const char *checked = NULL;
    (void)err;
    vec_foreach (&l->parts.row, row) {
        const struct conf_value *v = &row->value[CONF_PART_KEY_tres_billing_weights];
        if (v->text != checked)
            check_billed_names(l, v);
        checked = v->text;
    }
    return 0;
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

/* --- billing ------------------------------------------------------------------------------------
 */

void conf_bill_begin(struct conf_bill *b, const char *weights, uint32_t rule)
{
    *b = (struct conf_bill){.rule = (enum conf_billing)rule};
    b->has_weights =
        weights && *weights && conf_tres_parse_billing(weights, b->weights, &b->n, NULL) == 0;
}

static const struct conf_tres_weight *find_weight(const struct conf_bill *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcasecmp(b->weights[i].name, name) == 0)
            return &b->weights[i];
    return NULL;
}

void conf_bill_add(struct conf_bill *b, const char *name, double amount)
{
    const struct conf_tres_weight *w = find_weight(b, name);
    double value = w ? w->weight * amount : 0;
    bool is_gres = strncasecmp(name, "gres/", 5) == 0;
    bool is_of_node = is_gres || strcasecmp(name, "cpu") == 0 || strcasecmp(name, "mem") == 0 ||
                      strcasecmp(name, "node") == 0;
    if (strcasecmp(name, "cpu") == 0)
        b->cpus += amount;
    if (b->rule == CONF_BILLING_SUM || !is_of_node)
        b->other += value;
    else if (b->rule == CONF_BILLING_MAX_GRES && is_gres)
        b->gres += value;
    else
        b->most = value > b->most ? value : b->most;
}

/* The length of the first licence of the list: a comma in parentheses or brackets does not end it.
 */
static size_t find_item_length(const char *list)
{
    size_t len = 0;
    int depth = 0;
    for (; list[len] && (list[len] != ',' || depth); len++)
        depth += (list[len] == '(') - (depth > 0 && list[len] == ')');
    return len;
}

void conf_bill_add_licenses(struct conf_bill *b, const char *list)
{
    char name[80];
    while (b->has_weights && list && *list) {
        size_t len = find_item_length(list), name_len = strcspn(list, ":,|@(");
        const char *nodes = memchr(list, '(', len), *close = memchr(list, ')', len);
        const char *count = nodes && close ? close + 1 : list + name_len;
        if (name_len && name_len <= len && name_len + sizeof "license/" <= sizeof name) {
            snprintf(name, sizeof name, "license/%.*s", (int)name_len, list);
            conf_bill_add(b, name, *count == ':' ? (double)strtoul(count + 1, NULL, 10) : 1);
        }
        list += len + (list[len] == ',');
    }
}

double conf_bill_sum(const struct conf_bill *b)
{
    return b->has_weights ? b->most + b->gres + b->other : b->cpus;
}
