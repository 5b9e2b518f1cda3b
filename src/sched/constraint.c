/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/constraint.h"

#include <string.h>

#include "sched/plan.h"

#define NAMES_MAX 64

static size_t word_len(const char *at)
{
    return strcspn(at, "&|,[]");
}

uint32_t constraint_alternatives(const char *expr)
{
    const char *open = expr ? strchr(expr, '[') : NULL;
    uint32_t count = 1;
    for (; open && *open && *open != ']'; open++)
        count += *open == '|';
    return count;
}

/* The group "[a|b|c]" at 'at' counts as its word number 'which'; sets where it ends. */
static bool group_matches(const char *features, const char *at, uint32_t which, const char **end)
{
    for (at++; which > 0; which--)
        at += word_len(at) + 1;
    bool has = node_features_have(features, at, word_len(at));
    *end = strchr(at, ']') + 1;
    return has;
}

bool constraint_match(const char *features, const char *expr, uint32_t which)
{
    bool result = false, first = true;
    char op = '|';
    for (const char *at = expr; *at;) {
        const char *end = at + word_len(at);
        bool has = *at == '[' ? group_matches(features, at, which, &end)
                              : node_features_have(features, at, (size_t)(end - at));
        result = first ? has : op == '|' ? result || has : result && has;
        first = false;
        op = *end;
        at = end + (*end != 0);
    }
    return result;
}

bool constraint_match_any(const char *features, const char *expr)
{
    for (uint32_t i = 0; i < constraint_alternatives(expr); i++)
        if (constraint_match(features, expr, i))
            return true;
    return false;
}

static int bad_form(const char *expr, struct err *err)
{
    return err_set(err, -ERR_FEATURE,
                   "%s: %s: expected names joined by & and |, of which one group [a|b] may stand "
                   "for one feature that all nodes share",
                   err_text(ERR_FEATURE), expr);
}

/* Words and operators by turns, one group at most, in it nothing but names and '|'. Each name is
 * held against each kind of node, for each of a group, whenever a plan is made. */
static int check_form(const char *expr, struct err *err)
{
    bool inside = false, grouped = false;
    size_t names = 0;
    for (const char *at = expr;; at++) {
        if (*at == '[' && !grouped) {
            inside = grouped = true;
            at++;
        }
        size_t len = word_len(at);
        at += len;
        if (++names > NAMES_MAX)
            return err_set(err, -ERR_FEATURE, "%s: more than %d names", err_text(ERR_FEATURE),
                           NAMES_MAX);
        if (len && *at == ']' && inside) {
            inside = false;
            at++;
        }
        if (len == 0 || (*at && !strchr(inside ? "|" : "&|,", *at)) || (!*at && inside))
            return bad_form(expr, err);
        if (!*at)
            return 0;
    }
}

int constraint_check(const struct cluster *c, const char *expr, struct err *err)
{
    int rc = check_form(expr, err);
    for (const char *at = expr; rc == 0 && *at;) {
        size_t len = word_len(at);
        bool known = len == 0; /* a bracket */
        vec_foreach (&c->pool.kinds, k)
            known = known || node_features_have(k->features, at, len);
        if (!known)
            return err_set(err, -ERR_FEATURE, "%s: %.*s", err_text(ERR_FEATURE), (int)len, at);
        at += len + (at[len] != 0);
    }
    return rc;
}
