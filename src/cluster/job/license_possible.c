/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request for licences and hierarchical resources could ever have, on an empty cluster, and
 * what is wrong with one that could not. */
#include <string.h>

#include "cluster/cluster.h"

/* What the resource has at most for one job that needs one layer. */
static int check_largest_layer(const struct cluster *c, const struct license_need *need,
                               const struct bitset *among, struct err *err)
{
    const struct license *l = &c->licenses.list.data[need->at];
    uint64_t most = 0;
    for (uint32_t i = 0; i < l->layers; i++)
        if (!among || bitset_intersects(l[i].nodes, among))
            most = l[i].total > most ? l[i].total : most;
    if (most >= need->count)
        return 0;
    return err_set(err, -ERR_LICENSE,
                   "%s: %u of %s requested, none of its layers has more than %llu",
                   err_text(ERR_LICENSE), need->count, need->name, (unsigned long long)most);
}

/* -ERR_LICENSE: the layers never have it for so many nodes, of those (NULL: of all), with all that
 * are required (NULL: none). */
static int check_every_layer(const struct cluster *c, const struct license_need *need,
                             uint32_t nodes, const struct bitset *among,
                             const struct bitset *required, struct err *err)
{
    const struct license *l = &c->licenses.list.data[need->at];
    if (l->mode == CONF_HRES_ONE_LAYER)
        return check_largest_layer(c, need, among, err);
    _cleanup_bitset_ struct bitset *set = bitset_new(c->nodes.len);
    _cleanup_free_ uint64_t *room = mem_new_array(uint64_t, l->layers);
    for (uint32_t i = 0; i < l->layers; i++)
        room[i] = l[i].total;
    bitset_fill(set);
    if (among)
        bitset_and(set, among);
    license_trim(c, need, room, required, NULL, set);
    size_t most = bitset_count(set);
    if (most < nodes || !most)
        return err_set(err, -ERR_LICENSE,
                       "%s: %u of %s requested on %u nodes, its layers have it for %zu",
                       err_text(ERR_LICENSE), need->count, need->name, nodes, most);
    if (required && !bitset_contains(set, required))
        return err_set(err, -ERR_LICENSE,
                       "%s: %u of %s requested, its layers do not have it for all of the requested "
                       "nodes",
                       err_text(ERR_LICENSE), need->count, need->name);
    return 0;
}

static int is_possible(const struct cluster *c, const struct job *j, struct err *err)
{
    int rc = license_needs_possible(c, &j->want.licenses, err);
    if (rc != 0 || !license_needs_tied(c, j))
        return rc;
    _cleanup_bitset_ struct bitset *among = NULL;
    if (j->part) {
        among = bitset_dup(j->part->nodes);
        if (j->want.exc)
            bitset_andnot(among, j->want.exc);
    }
    vec_foreach (&j->want.licenses.list, need)
        if (rc == 0 && license_is_tied(c, need))
            rc = check_every_layer(c, need, j->want.min_nodes, among, j->want.req, err);
    return rc;
}

/* A name that is unknown is an error, also where an alternative is known. Else the first error. */
int license_possible(const struct cluster *c, const struct job *j, struct err *err)
{
    int rc = 0;
    if (j->want.licenses.any)
        vec_foreach (&j->want.licenses.list, need)
            if (need->at < 0)
                return license_refuse_unknown(c, need, err);
    for (uint32_t n = 0; n < license_count_alternatives(j); n++) {
        struct job_copy room;
        int failed = is_possible(c, license_view_alternative(j, n, &room), rc ? NULL : err);
        if (!failed)
            return 0;
        rc = rc ? rc : failed;
    }
    return rc;
}

/* Of a request that names nothing that there is. */
int license_refuse_unknown(const struct cluster *c, const struct license_need *need,
                           struct err *err)
{
    const char *colon = strchr(need->name, ':');
    if (!colon)
        return err_set(err, -ERR_LICENSE, "%s: the cluster has none of %s", err_text(ERR_LICENSE),
                       need->name);
    _cleanup_free_ char *name = mem_strndup(need->name, (size_t)(colon - need->name));
    const struct conf_hres *h = conf_hres_find(&c->conf->hres, name);
    _cleanup_str_ struct str known = STR_INIT;
    if (h)
        vec_foreach (&h->variables, v)
            str_printf(&known, ", %s", v->name);
    if (known.len)
        return err_set(err, -ERR_LICENSE, "%s: \"%s\": expected a number, or a variable of %s: %s",
                       err_text(ERR_LICENSE), need->name, name, str_cstr(&known) + 2);
    return err_set(err, -ERR_LICENSE, "%s: \"%s\" is not NAME or NAME:COUNT", err_text(ERR_LICENSE),
                   need->name);
}

int license_needs_possible(const struct cluster *c, const struct license_needs *n, struct err *err)
{
    vec_foreach (&n->list, need) {
        if (need->at < 0)
            return license_refuse_unknown(c, need, err);
        if (license_is_tied(c, need)) {
            int rc = check_every_layer(c, need, 1, NULL, NULL, err);
            if (rc != 0)
                return rc;
        } else if (need->count > c->licenses.list.data[need->at].total)
            return err_set(err, -ERR_LICENSE, "%s: %u of %s asked, the cluster has %llu",
                           err_text(ERR_LICENSE), need->count, need->name,
                           (unsigned long long)c->licenses.list.data[need->at].total);
    }
    return 0;
}
