/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How requests, reservations, operators and the records of jobs name layers and variables of
 * hierarchical resources. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "cluster/cluster.h"
#include "cluster/job/license_layer.h"
#include "cluster/job/license_tied.h"
#include "conf/conf_license.h"

/* --- layers by their nodes -----------------------------------------------------------------------
 */

/* "n[01-016]" as n[01-16]: the first number says how wide they are. */
static char *trim_width(const char *expr)
{
    _cleanup_str_ struct str out = STR_INIT;
    size_t width = 0;
    for (const char *s = expr; *s;) {
        size_t len = strspn(s, "0123456789");
        if (!len) {
            width = *s == '-' ? width : 0;
            str_putc(&out, *s++);
            continue;
        }
        size_t zeros = strspn(s, "0"), drop = 0;
        if (width && s > expr && s[-1] == '-' && len > width)
            drop = zeros < len - width ? zeros : len - width;
        str_append(&out, s + drop, len - drop);
        width = len;
        s += len;
    }
    return str_take(&out);
}

/* Layers are sorted by their number of names, the smallest first. If some of the names are not
 * configured, several layers may have the same nodes: the first of them is the lowest. */
static bool is_lowest(const struct license *l, uint32_t layers, uint32_t at)
{
    for (uint32_t i = 0; i < layers; i++)
        if (i != at && bitset_contains(l[at].nodes, l[i].nodes) && !bitset_empty(l[i].nodes) &&
            (i < at || !bitset_equal(l[i].nodes, l[at].nodes)))
            return false;
    return true;
}

/* The layer that has just these nodes, which are also the answer in *nodes. -1: there is none. */
static int32_t find_layer_of_nodes(const struct cluster *c, int32_t first, const char *expr,
                                   struct bitset **nodes)
{
    const struct license *l = &c->licenses.list.data[first];
    _cleanup_free_ char *text = trim_width(expr);
    _cleanup_hostlist_ struct hostlist *names = NULL;
    _cleanup_str_ struct str sorted =
        STR_INIT; /* as the configuration writes the nodes of layers */
    if (cluster_parse_hosts(c, text, &names, NULL) != 0)
        return -1;
    hostlist_uniq(names);
    hostlist_format(names, &sorted);
    for (uint32_t i = 0; i < l->pools; i++)
        if (l[i].conf && str_eq(l[i].conf->nodes, str_cstr(&sorted)))
            return first + (int32_t)i;
    if (cluster_node_set(c, text, nodes, NULL) != 0 || bitset_empty(*nodes))
        return -1;
    for (uint32_t i = 0; i < l->pools; i++)
        if (bitset_equal(l[i].nodes, *nodes))
            return first + (int32_t)i;
    return -1;
}

/* The layer that has just these nodes; or the only one of the lowest layers that has all of them.
 * -1: neither. */
static int32_t find_layer(const struct cluster *c, int32_t first, const char *expr)
{
    const struct license *l = &c->licenses.list.data[first];
    _cleanup_bitset_ struct bitset *nodes = NULL;
    int32_t found = find_layer_of_nodes(c, first, expr, &nodes), count = 0;
    if (found >= 0 || !nodes || bitset_empty(nodes))
        return found;
    for (uint32_t i = 0; i < l->pools; i++)
        if (bitset_contains(l[i].nodes, nodes) && is_lowest(l, l->pools, i)) {
            found = first + (int32_t)i;
            count++;
        }
    return count == 1 ? found : -1;
}

#define LISTED_MAX 12 /* layers in a message */

static void put_layers(const struct license *l, struct str *out)
{
    for (uint32_t i = 0; i < l->pools && i < LISTED_MAX; i++) {
        str_puts(out, i ? ", " : "");
        license_format_pool(&l[i], out);
    }
    if (l->pools > LISTED_MAX)
        str_printf(out, " and %u more", l->pools - LISTED_MAX);
}

static int refuse_layer(const struct cluster *c, int32_t first, const struct conf_license *one,
                        struct err *err)
{
    _cleanup_str_ struct str known = STR_INIT;
    put_layers(&c->licenses.list.data[first], &known);
    if (!one->nodes)
        return err_set(err, -ERR_LICENSE, "%s: %s has layers, and a reservation names one: %s",
                       err_text(ERR_LICENSE), one->name, str_cstr(&known));
    return err_set(err, -ERR_LICENSE, "%s: %s(%s) is no layer, nor within one lowest layer: %s",
                   err_text(ERR_LICENSE), one->name, one->nodes, str_cstr(&known));
}

static int find_pool(const struct cluster *c, const struct conf_license *one,
                     struct license_need *out, struct err *err)
{
    *out = license_resolve_item(c, one);
    if (out->at < 0)
        return license_refuse_unknown(c, out, err);
    bool layered = license_is_tied(c, out);
    if (!layered && one->nodes)
        return err_set(err, -ERR_LICENSE,
                       "%s: %s(%s): %s is a license of the cluster, without "
                       "layers",
                       err_text(ERR_LICENSE), one->name, one->nodes, one->name);
    int32_t at = layered && one->nodes ? find_layer(c, out->at, one->nodes) : out->at;
    if (layered && (!one->nodes || at < 0))
        return refuse_layer(c, out->at, one, err);
    out->at = at;
    return 0;
}

int license_pools_possible(const struct cluster *c, const struct license_needs *pools,
                           struct err *err)
{
    vec_foreach (&pools->list, need) {
        const struct license *l = &c->licenses.list.data[need->at];
        _cleanup_str_ struct str name = STR_INIT;
        license_format_pool(l, &name);
        if (need->count > l->total)
            return err_set(err, -ERR_LICENSE, "%s: %u of %s asked, the cluster has %llu",
                           err_text(ERR_LICENSE), need->count, str_cstr(&name),
                           (unsigned long long)l->total);
    }
    return 0;
}

/* Reads the known pools, even if other names of the text are refused. */
int license_read_pools(const struct cluster *c, const char *text, struct license_needs *out,
                       struct err *err)
{
    struct conf_licenses l;
    *out = (struct license_needs){0};
    int rc = conf_license_items_parse(text, &l, err);
    if (rc != 0)
        return rc;
    if (l.any)
        rc = err_set(err, -ERR_LICENSE, "%s: \"%.80s\" has a |, which is for the requests of jobs",
                     err_text(ERR_LICENSE), text);
    vec_foreach (&l.list, one) {
        struct license_need need;
        int failed = find_pool(c, one, &need, rc ? NULL : err);
        if (failed == 0)
            failed = license_add_need(out, &need, rc ? NULL : err);
        else
            free(need.name);
        rc = rc ? rc : failed;
    }
    conf_licenses_done(&l);
    return rc;
}

/* A resource that is named without its layer: what there is to name. */
static int refuse_whole(const struct cluster *c, const char *name, struct err *err)
{
    _cleanup_str_ struct str known = STR_INIT;
    struct conf_license one = {.name = (char *)name, .count = 1};
    struct license_need need = license_resolve_item(c, &one);
    free(need.name);
    if (need.at < 0)
        return err_set(err, -ERR_LICENSE, "%s: the cluster has none of %s", err_text(ERR_LICENSE),
                       name);
    const struct license *l = &c->licenses.list.data[need.at];
    if (!l->nodes)
        return err_set(err, -ERR_LICENSE,
                       "%s: %s is a license of the cluster, without layers: change Licenses= in "
                       "slurm.conf",
                       err_text(ERR_LICENSE), name);
    put_layers(l, &known);
    return err_set(err, -ERR_LICENSE,
                   "%s: %s has layers with a count each: name one of %s, as in license='%s(%s)'",
                   err_text(ERR_LICENSE), name, str_cstr(&known), name,
                   l->conf ? l->conf->nodes : "NODES");
}

int license_read_layer(const struct cluster *c, const char *name, const char *nodes, int32_t *at,
                       struct err *err)
{
    _cleanup_free_ char *text = mem_printf("%s(%s)", name, nodes);
    _cleanup_bitset_ struct bitset *set = NULL;
    _cleanup_str_ struct str known = STR_INIT;
    struct license_needs pools = {0};
    int32_t first = 0, found = -1;
    int rc = *nodes ? license_read_pools(c, text, &pools, err) : refuse_whole(c, name, err);
    if (rc == 0) {
        assert(pools.list.data && pools.list.len == 1);
        first = pools.list.data[0].at;
        while (!c->licenses.list.data[first].pools)
            first--;
        found = find_layer_of_nodes(c, first, nodes, &set);
    }
    license_needs_done(&pools);
    if (found >= 0)
        *at = found;
    if (rc || found >= 0)
        return rc;
    put_layers(&c->licenses.list.data[first], &known);
    return err_set(err, -ERR_LICENSE, "%s: %s is no layer: %s", err_text(ERR_LICENSE), text,
                   str_cstr(&known));
}

int license_refuse_nodes(const struct conf_license *one, struct err *err)
{
    return err_set(
        err, -ERR_LICENSE,
        "%s: %s(%s) names a layer, which is for reservations: a job's nodes decide which "
        "layers it uses",
        err_text(ERR_LICENSE), one->name, one->nodes);
}

int license_refuse_outside(const struct license_need *need, const char *node, struct err *err)
{
    return err_set(err, -ERR_LICENSE, "%s: node %s is in no layer of %s", err_text(ERR_LICENSE),
                   node, need->name);
}

/* --- variables -----------------------------------------------------------------------------------
 */

bool license_find_variable(const struct cluster *c, const char *name, const char *variable,
                           uint64_t *value)
{
    const struct conf_hres *h = conf_hres_find(&c->conf->hres, name);
    const struct conf_hres_amount *v = h ? conf_hres_find_variable(h, variable) : NULL;
    if (v)
        *value = v->value;
    return v != NULL;
}

bool license_may_have_variables(const struct cluster *c, const char *name)
{
    return conf_hres_find(&c->conf->hres, name) != NULL;
}

void license_format_variables(const struct cluster *c, const char *name, struct str *out)
{
    const struct conf_hres *h = conf_hres_find(&c->conf->hres, name);
    if (h)
        vec_foreach (&h->variables, v)
            str_printf(out, "%s%s", out->len ? ", " : "", v->name);
}

/* --- in the record of a job ----------------------------------------------------------------------
 */

/* The nodes of the one layer that pays; NULL: none or several, of a resource that had another mode
 * then. */
static const char *find_only_layer(const struct conf_licenses *l, const char *name)
{
    const char *only = NULL;
    size_t count = 0;
    vec_foreach (&l->list, one)
        if (one->nodes && str_eq(one->name, name)) {
            only = one->nodes;
            count++;
        }
    return count == 1 ? only : NULL;
}

/* Sets the layers of mode 1 by such a text. */
void license_restore_payers(const struct cluster *c, struct job *j, const char *text)
{
    struct conf_licenses l;
    if (!license_needs_tied(c, j) || conf_license_items_parse(text, &l, NULL) != 0)
        return;
    vec_foreach (&j->want.licenses.list, need) {
        const char *nodes = license_is_one_layer(c, need) ? find_only_layer(&l, need->name) : NULL;
        for (uint32_t i = 0; nodes && i < c->licenses.list.data[need->at].pools; i++) {
            const struct license *layer = &c->licenses.list.data[need->at + (int32_t)i];
            if (layer->conf && str_eq(layer->conf->nodes, nodes))
                license_set_payer(j, need->at + (int32_t)i);
        }
    }
    conf_licenses_done(&l);
}
