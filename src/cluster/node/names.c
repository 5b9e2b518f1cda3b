/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/node/names.h"

#include <string.h>

#include "base/hostlist.h"
#include "cluster/cluster.h"

struct node *cluster_find_node(const struct cluster *c, const char *name)
{
    long index = conf_find_node(c->conf, name);
    return index < 0 ? NULL : c->nodes.data[index];
}

struct part *cluster_find_part(const struct cluster *c, const char *name)
{
    vec_foreach (&c->parts, p)
        if (str_eq((*p)->conf.name, name))
            return *p;
    return NULL;
}

struct part *cluster_default_part(const struct cluster *c)
{
    vec_foreach (&c->parts, p)
        if ((*p)->conf.is_default)
            return *p;
    return NULL;
}

static bool add_feature(const struct cluster *c, const char *word, struct bitset *set)
{
    _cleanup_free_ char *feature = conf_function_argument(word, "feature");
    for (size_t i = 0; feature && i < c->nodes.len; i++)
        if (node_features_have(c->nodes.data[i]->features, feature, strlen(feature)))
            bitset_set(set, i);
    return feature != NULL;
}

int cluster_add_named(const struct cluster *c, const char *word, struct bitset *set,
                      struct err *err)
{
    long index = conf_find_node(c->conf, word);
    const struct bitset *named = index < 0 ? conf_find_node_set(c->conf, word) : NULL;
    if (index >= 0)
        bitset_set(set, (size_t)index);
    else if (named)
        bitset_or(set, named);
    if (index >= 0 || named || add_feature(c, word, set))
        return 0;
    int rc = conf_add_function(c->conf, word, set, err);
    return rc == 0  ? err_set(err, -ERR_NO_NODE, "%s: %s", err_text(ERR_NO_NODE), word)
           : rc > 0 ? 0
                    : rc;
}

int cluster_parse_hosts(const struct cluster *c, const char *expr, struct hostlist **out,
                        struct err *err)
{
    return hostlist_parse_most(expr, 1024 + 4 * c->nodes.len + strlen(expr), out, err);
}

int cluster_node_set(const struct cluster *c, const char *expr, struct bitset **out,
                     struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    int rc = cluster_parse_hosts(c, expr, &list, err);
    if (rc != 0)
        return rc;
    struct bitset *set = bitset_new(c->nodes.len);
    for (size_t i = 0; i < hostlist_count(list) && rc == 0; i++) {
        char name[HOSTLIST_NAME_MAX + 1];
        rc = cluster_add_named(c, hostlist_nth(list, i, name), set, err);
    }
    if (rc == 0)
        *out = set;
    else
        bitset_free(set);
    return rc;
}

bool cluster_is_edit(const char *expr)
{
    return *expr == '+' || *expr == '-';
}

/* Bytes of the first word; commas in brackets are part of it. */
static size_t measure_word(const char *expr)
{
    size_t len = 0, depth = 0;
    for (; expr[len] && (expr[len] != ',' || depth); len++)
        if (expr[len] == '[')
            depth++;
        else if (expr[len] == ']' && depth)
            depth--;
    return len;
}

int cluster_edit_nodes(const struct cluster *c, const char *expr, struct bitset *nodes,
                       struct err *err)
{
    char sign = '+';
    for (const char *at = expr; *at; at += *at == ',') {
        size_t len = measure_word(at), skip = cluster_is_edit(at);
        _cleanup_free_ char *word = mem_strndup(at + skip, len - skip);
        _cleanup_bitset_ struct bitset *some = NULL;
        sign = skip ? *at : sign;
        if (!*word)
            return err_set(err, -ERR_NO_NODE, "%s: no node follows '%c'", err_text(ERR_NO_NODE),
                           sign);
        int rc = cluster_node_set(c, word, &some, err);
        if (rc != 0)
            return rc;
        if (sign == '-' && !bitset_contains(nodes, some))
            return err_set(err, -ERR_NO_NODE, "%s: %s is not among the nodes to remove from",
                           err_text(ERR_NO_NODE), word);
        if (sign == '+')
            bitset_or(nodes, some);
        else
            bitset_andnot(nodes, some);
        at += len;
    }
    return 0;
}
