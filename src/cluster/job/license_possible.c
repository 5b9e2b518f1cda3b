/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request for licences and hierarchical resources could ever have, on an empty cluster, and
 * what is wrong with one that could not. */
#include <string.h>

#include "base/hostlist.h"
#include "cluster/cluster.h"

/* --- layers --------------------------------------------------------------------------------------
 */

#define SHORT_MAX 3    /* layers in a message */
#define AROUND_MAX 100 /* layers that may be around one */

/* Of a resource: what its layers could give to a job of so many nodes. */
struct look {
    const struct license *l; /* all layers */
    uint64_t *room;
    struct bitset *set;            /* nodes that the job may have */
    const struct bitset *required; /* NULL: none */
    uint32_t count, nodes;
};

/* The nodes of the request's partition that it does not exclude; NULL: all. The caller frees. */
static struct bitset *find_allowed(const struct job *j)
{
    struct bitset *among = j->part ? bitset_dup(j->part->nodes) : NULL;
    if (among && j->want.exc)
        bitset_andnot(among, j->want.exc);
    return among;
}

static void begin_look(struct look *k, const struct bitset *among)
{
    for (uint32_t i = 0; i < k->l->layers; i++)
        k->room[i] = k->l[i].total;
    bitset_fill(k->set);
    if (among)
        bitset_and(k->set, among);
}

static bool has_node(const struct look *k, uint32_t i)
{
    return license_count_in_layer(&k->l[i], k->set) > 0;
}

/* In modes 2 and 3. *most: on how many nodes the job could run. */
static bool layers_have_all(const struct cluster *c, const struct license_need *need,
                            const struct look *k, size_t *most)
{
    _cleanup_bitset_ struct bitset *left = bitset_dup(k->set);
    license_trim(c, need, k->room, k->required, NULL, left);
    *most = bitset_count(left);
    return *most && *most >= k->nodes && (!k->required || bitset_contains(left, k->required));
}

/* Whether the layer has too little for those of these nodes that are in it; in modes 1 and 2 for
 * any of them. */
static bool is_short_of(const struct look *k, uint32_t i, const struct bitset *nodes)
{
    size_t in = license_count_in_layer(&k->l[i], nodes);
    if (k->l->mode == CONF_HRES_PER_NODE)
        return k->count && in > k->room[i] / k->count;
    return in && k->room[i] < k->count;
}

/* The layers of mode 3 that pass on less than the layers within them could give. */
static void find_narrow(const struct look *k, bool *narrow)
{
    _cleanup_free_ uint64_t *below = mem_new_array(uint64_t, k->l->layers);
    _cleanup_free_ size_t *in_below = mem_new_array(size_t, k->l->layers);
    for (uint32_t i = 0; i < k->l->layers; i++) {
        size_t in = license_count_in_layer(&k->l[i], k->set);
        uint64_t wanted = below[i] + in - in_below[i], most = k->room[i] / k->count;
        narrow[i] = most < wanted;
        if (k->l[i].parent < 0)
            continue;
        below[k->l[i].parent] += most < wanted ? most : wanted;
        in_below[k->l[i].parent] += in;
    }
}

/* Those around a layer stand behind it. Where layers overlap in part, only so many are looked at:
 * of a layer within others further away the message says too much. */
static bool is_within(const struct look *k, uint32_t i, const bool *layers)
{
    if (k->l->is_tree) {
        int32_t parent = k->l[i].parent;
        while (parent >= 0 && !layers[parent])
            parent = k->l[parent].parent;
        return parent >= 0;
    }
    for (uint32_t around = i + 1; around < k->l->layers && around - i <= AROUND_MAX; around++)
        if (layers[around] && bitset_contains(k->l[around].nodes, k->l[i].nodes))
            return true;
    return false;
}

/* Marks the layers because of which the job cannot have its nodes: those that have too little for
 * the nodes that it requires, or else for as many as it needs. */
static bool find_short(const struct look *k, bool *is_short)
{
    bool any = false;
    for (uint32_t i = 0; k->required && i < k->l->layers; i++)
        any |= is_short[i] = is_short_of(k, i, k->required);
    if (any)
        return true;
    if (k->l->mode != CONF_HRES_PER_NODE)
        for (uint32_t i = 0; i < k->l->layers; i++)
            is_short[i] = is_short_of(k, i, k->set);
    else if (k->count && k->l->is_tree)
        find_narrow(k, is_short);
    for (uint32_t i = 0; i < k->l->layers; i++) /* the outermost ones decide */
        any |= is_short[i] = is_short[i] && !is_within(k, i, is_short);
    return any;
}

/* Nodes that the job requires and no layer has. False: there are none. */
static bool put_outside(const struct cluster *c, const struct look *k, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();
    if (k->required)
        bitset_foreach (k->required, i)
            if (!bitset_test(k->l->scope, (size_t)i))
                hostlist_push(names, c->nodes.data[i]->name);
    if (!hostlist_count(names))
        return false;
    str_puts(out, ": no layer has ");
    hostlist_format(names, out);
    return true;
}

/* ": power(n[1-4]) has 2100 (count 2500, base 400)": what keeps the job from its nodes. */
static void put_short(const struct cluster *c, const struct look *k, struct str *out)
{
    _cleanup_free_ bool *is_short = mem_new_array(bool, k->l->layers);
    unsigned found = 0;
    if (put_outside(c, k, out) || !find_short(k, is_short))
        return;
    for (uint32_t i = 0; i < k->l->layers; i++) {
        if (!is_short[i] || found++ >= SHORT_MAX)
            continue;
        str_puts(out, found == 1 ? ": " : ", ");
        license_format_total(&k->l[i], out);
    }
    if (found > SHORT_MAX)
        str_printf(out, " and %u more", found - SHORT_MAX);
}

/* What the resource has at most for one job that needs one layer. */
static int check_largest_layer(const struct cluster *c, const struct license_need *need,
                               const struct bitset *among, struct err *err)
{
    const struct license *l = &c->licenses.list.data[need->at], *most = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    for (uint32_t i = 0; i < l->layers; i++)
        if ((!among || bitset_intersects(l[i].nodes, among)) && (!most || l[i].total > most->total))
            most = &l[i];
    if (!most)
        return err_set(err, -ERR_LICENSE,
                       "%s: %u of %s requested, no layer of it has a node that the job may use",
                       err_text(ERR_LICENSE), need->count, need->name);
    if (most->total >= need->count)
        return 0;
    license_format_total(most, &text);
    return err_set(err, -ERR_LICENSE,
                   "%s: %u of %s requested, none of its layers has more than %llu: %s",
                   err_text(ERR_LICENSE), need->count, need->name, (unsigned long long)most->total,
                   str_cstr(&text));
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
    _cleanup_free_ uint64_t *room = mem_new_array(uint64_t, l->layers);
    _cleanup_bitset_ struct bitset *set = bitset_new(c->nodes.len);
    _cleanup_str_ struct str layers = STR_INIT;
    struct look k = {l, room, set, required, need->count, nodes};
    size_t most;
    begin_look(&k, among);
    if (layers_have_all(c, need, &k, &most))
        return 0;
    if (err)
        put_short(c, &k, &layers);
    if (most < nodes || !most)
        return err_set(err, -ERR_LICENSE,
                       "%s: %u of %s requested on %u node%s, its layers have it for %zu%s",
                       err_text(ERR_LICENSE), need->count, need->name, nodes, nodes == 1 ? "" : "s",
                       most, str_cstr(&layers));
    return err_set(err, -ERR_LICENSE,
                   "%s: %u of %s requested, its layers do not have it for all of the requested "
                   "nodes%s",
                   err_text(ERR_LICENSE), need->count, need->name, str_cstr(&layers));
}

/* --- higher counts -------------------------------------------------------------------------------
 */

/* What the job needs of a layer to run wherever it likes within it. */
static uint64_t count_wanted(const struct look *k, uint32_t i)
{
    size_t in = license_count_in_layer(&k->l[i], k->set);
    if (k->l->mode != CONF_HRES_PER_NODE)
        return k->count;
    return (uint64_t)k->count * (in < k->nodes ? in : k->nodes);
}

/* False: it has what the job needs. */
static bool raise_layer(struct look *k, uint32_t i)
{
    uint64_t wanted = count_wanted(k, i);
    if (k->room[i] >= wanted)
        return false;
    k->room[i] = wanted;
    return true;
}

/* Gives the layers that are short what the job needs, until it could run. */
static bool raise_layers(const struct cluster *c, const struct license_need *need, struct look *k)
{
    _cleanup_free_ bool *is_short = mem_new_array(bool, k->l->layers);
    bool raised = true;
    size_t most;
    if (k->required && !bitset_contains(k->l->scope, k->required))
        return false;
    while (!layers_have_all(c, need, k, &most)) {
        if (!raised || !find_short(k, is_short))
            return false;
        raised = false;
        for (uint32_t i = 0; i < k->l->layers; i++)
            raised |= is_short[i] && raise_layer(k, i);
    }
    return true;
}

/* In mode 1: the layer that has the most. */
static bool raise_largest(struct look *k)
{
    uint32_t largest = k->l->layers;
    for (uint32_t i = 0; i < k->l->layers; i++)
        if (has_node(k, i) && (largest == k->l->layers || k->room[i] > k->room[largest]))
            largest = i;
    if (largest == k->l->layers || k->room[largest] >= k->count)
        return false;
    k->room[largest] = k->count;
    return true;
}

static bool is_enough_in_file(const struct license *l, uint64_t wanted)
{
    if (!l->conf || l->count == l->conf->count)
        return false;
    struct license file = *l;
    license_set_count(&file, l->conf->count);
    return file.total >= wanted;
}

size_t license_find_raises(const struct cluster *c, const struct job *j,
                           const struct license_need *need,
                           struct license_raise out[LICENSE_RAISES_MAX])
{
    const struct license *l = &c->licenses.list.data[need->at];
    bool one_layer = l->mode == CONF_HRES_ONE_LAYER;
    _cleanup_free_ uint64_t *room = mem_new_array(uint64_t, l->layers);
    _cleanup_bitset_ struct bitset *set = bitset_new(c->nodes.len), *among = find_allowed(j);
    struct look k = {l, room, set, j->want.req, need->count, j->want.min_nodes};
    size_t found = 0, needed = 0, most;
    begin_look(&k, among);
    if (one_layer ? !raise_largest(&k) : !raise_layers(c, need, &k))
        return 0;
    for (uint32_t i = 0; i < l->layers && !one_layer; i++) { /* leave out what is not needed */
        uint64_t raised = room[i];
        room[i] = l[i].total;
        if (raised == room[i] || layers_have_all(c, need, &k, &most))
            continue;
        room[i] = raised;
        if (++needed > LICENSE_RAISES_MAX)
            return 0;
    }
    for (uint32_t i = 0; i < l->layers; i++) {
        if (room[i] == l[i].total)
            continue;
        out[found++] = (struct license_raise){need->at + (int32_t)i, room[i],
                                              is_enough_in_file(&l[i], room[i])};
    }
    return found;
}

/* --- requests ------------------------------------------------------------------------------------
 */

/* For a job of so many nodes, of those (NULL: of all), with all that are required (NULL: none). */
static int check_need(const struct cluster *c, const struct license_need *need, uint32_t nodes,
                      const struct bitset *among, const struct bitset *required, struct err *err)
{
    if (need->at < 0)
        return license_refuse_unknown(c, need, err);
    if (license_is_tied(c, need))
        return check_every_layer(c, need, nodes, among, required, err);
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
    _cleanup_bitset_ struct bitset *among = find_allowed(j);
    return check_need(c, need, j->want.min_nodes, among, j->want.req, NULL) == 0;
}

static int is_possible(const struct cluster *c, const struct job *j, struct err *err)
{
    _cleanup_bitset_ struct bitset *among = license_needs_tied(c, j) ? find_allowed(j) : NULL;
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

/* The names of the resource's variables, "x, y". */
static void put_variables(const struct cluster *c, const char *name, struct str *out)
{
    const struct conf_hres *h = conf_hres_find(&c->conf->hres, name);
    if (h)
        vec_foreach (&h->variables, v)
            str_printf(out, "%s%s", out->len ? ", " : "", v->name);
}

void license_format_gone(const struct cluster *c, const struct license_need *need, struct str *out)
{
    const char *colon = strchr(need->name, ':');
    _cleanup_free_ char *name =
        mem_strndup(need->name, colon ? (size_t)(colon - need->name) : strlen(need->name));
    _cleanup_str_ struct str known = STR_INIT;
    if (!colon || !conf_hres_find(&c->conf->hres, name)) {
        str_printf(out,
                   "The cluster has none of %s: define it in Licenses= of slurm.conf or in "
                   "resources.yaml and run scontrol reconfigure, or request something else",
                   name);
        return;
    }
    put_variables(c, name, &known);
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
    put_variables(c, name, &known);
    if (known.len)
        return err_set(err, -ERR_LICENSE, "%s: \"%s\": expected a number, or a variable of %s: %s",
                       err_text(ERR_LICENSE), need->name, name, str_cstr(&known));
    return err_set(err, -ERR_LICENSE, "%s: \"%s\" is not NAME or NAME:COUNT", err_text(ERR_LICENSE),
                   need->name);
}
