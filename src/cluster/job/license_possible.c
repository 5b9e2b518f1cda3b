/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request for licences could ever have, on an empty cluster, and what is wrong with one that
 * could not. */
#include <string.h>

#include "cluster/cluster.h"
#include "cluster/job/license_tied.h"

/* The nodes of the request's partition that it does not exclude; NULL: all. The caller frees. */
struct bitset *license_find_allowed(const struct job *j)
{
    struct bitset *among = j->part ? bitset_dup(j->part->nodes) : NULL;
    if (among && j->want.exc)
        bitset_andnot(among, j->want.exc);
    return among;
}

/* For a job of so many nodes, of those (NULL: of all), with all that are required (NULL: none). */
static int check_need(const struct cluster *c, const struct license_need *need, uint32_t nodes,
                      const struct bitset *among, const struct bitset *required, struct err *err)
{
    if (need->at < 0)
        return license_refuse_unknown(c, need, err);
    if (license_is_tied(c, need))
        return license_check_nodes(c, need, nodes, among, required, err);
    const struct license *l = &c->licenses.list.data[need->at];
    if (need->count <= l->total)
        return 0;
    return err_set(err, -ERR_LICENSE, "%s: %u of %s asked, the cluster has %llu",
                   err_text(ERR_LICENSE), need->count, need->name, (unsigned long long)l->total);
}

int license_needs_possible(const struct cluster *c, const struct license_needs *n, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < n->list.len && rc == 0; i++)
        rc = check_need(c, &n->list.data[i], 1, NULL, NULL, err);
    return rc;
}

bool license_need_is_possible(const struct cluster *c, const struct job *j,
                              const struct license_need *need)
{
    _cleanup_bitset_ struct bitset *among = license_find_allowed(j);
    return check_need(c, need, j->want.min_nodes, among, j->want.req, NULL) == 0;
}

static int is_possible(const struct cluster *c, const struct job *j, struct err *err)
{
    _cleanup_bitset_ struct bitset *among =
        license_needs_tied(c, j) ? license_find_allowed(j) : NULL;
    const struct license_needs *n = &j->want.licenses;
    int rc = 0;
    for (size_t i = 0; i < n->list.len && rc == 0; i++)
        rc = check_need(c, &n->list.data[i], j->want.min_nodes, among, j->want.req, err);
    return rc;
}

bool license_has_possible_alternative(const struct cluster *c, const struct job *j)
{
    bool any = false;
    for (uint32_t n = 0; n < license_count_alternatives(j) && !any; n++) {
        struct job_copy room;
        any = is_possible(c, license_view_alternative(j, n, &room), NULL) == 0;
    }
    return any;
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

void license_format_gone(const struct cluster *c, const struct license_need *need, struct str *out)
{
    const char *colon = strchr(need->name, ':');
    _cleanup_free_ char *name =
        mem_strndup(need->name, colon ? (size_t)(colon - need->name) : strlen(need->name));
    _cleanup_str_ struct str known = STR_INIT;
    if (!colon || !license_may_have_variables(c, name)) {
        str_printf(out,
                   "The cluster has none of %s: define it in Licenses= of slurm.conf or in "
                   "resources.yaml and run scontrol reconfigure, or request something else",
                   name);
        return;
    }
    license_format_variables(c, name, &known);
    str_printf(out,
               "Resource %s has no variable %s, it has %s: define it in resources.yaml and run "
               "scontrol reconfigure, or request another",
               name, colon + 1, known.len ? str_cstr(&known) : "none");
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
    _cleanup_str_ struct str known = STR_INIT;
    license_format_variables(c, name, &known);
    if (known.len)
        return err_set(err, -ERR_LICENSE, "%s: \"%s\": expected a number, or a variable of %s: %s",
                       err_text(ERR_LICENSE), need->name, name, str_cstr(&known));
    return err_set(err, -ERR_LICENSE, "%s: \"%s\" is not NAME or NAME:COUNT", err_text(ERR_LICENSE),
                   need->name);
}
