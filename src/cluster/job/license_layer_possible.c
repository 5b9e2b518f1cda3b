/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The units that the layers of a hierarchical resource can give to a job on an empty cluster; the
 * layers that have too few, and the effect of higher counts. */
#include "base/hostlist.h"
#include "cluster/cluster.h"
#include "cluster/job/license_layer.h"
#include "cluster/job/license_tied.h"

#define SHORT_MAX 3    /* layers in a message */
#define AROUND_MAX 100 /* layers that may be around one */

/* The units that the layers of a resource can give to a job with 'nodes' nodes. */
struct look {
    const struct license *l; /* all layers */
    uint64_t *room;
    struct bitset *set;            /* nodes that the job may have */
    const struct bitset *required; /* NULL: none */
    uint32_t count, nodes;
};

static void begin_look(struct look *k, const struct bitset *among)
{
    for (uint32_t i = 0; i < k->l->pools; i++)
        k->room[i] = k->l[i].total;
    bitset_fill(k->set);
    if (among)
        bitset_and(k->set, among);
}

static bool has_node(const struct look *k, uint32_t i)
{
    return license_count_in_scope(&k->l[i], k->set) > 0;
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

/* Whether the layer has too few units for the given nodes that it contains; in modes 1 and 2 for a
 * single one of them. */
static bool is_short_of(const struct look *k, uint32_t i, const struct bitset *nodes)
{
    size_t in = license_count_in_scope(&k->l[i], nodes);
    if (k->l->mode == CONF_HRES_PER_NODE)
        return k->count && in > k->room[i] / k->count;
    return in && k->room[i] < k->count;
}

/* The layers of mode 3 that pass on less than the layers within them could give. */
static void find_narrow(const struct look *k, bool *narrow)
{
    _cleanup_free_ uint64_t *below = mem_new_array(uint64_t, k->l->pools);
    _cleanup_free_ size_t *in_below = mem_new_array(size_t, k->l->pools);
    for (uint32_t i = 0; i < k->l->pools; i++) {
        size_t in = license_count_in_scope(&k->l[i], k->set);
        uint64_t wanted = below[i] + in - in_below[i], most = k->room[i] / k->count;
        narrow[i] = most < wanted;
        if (k->l[i].parent < 0)
            continue;
        below[k->l[i].parent] += most < wanted ? most : wanted;
        in_below[k->l[i].parent] += in;
    }
}

/* Layers around a layer come after it. Where layers overlap in part, AROUND_MAX of them are looked
 * at; the message may then name a layer although a layer around it is named, too. */
static bool is_within(const struct look *k, uint32_t i, const bool *layers)
{
    if (k->l->is_tree) {
        int32_t parent = k->l[i].parent;
        while (parent >= 0 && !layers[parent])
            parent = k->l[parent].parent;
        return parent >= 0;
    }
    for (uint32_t around = i + 1; around < k->l->pools && around - i <= AROUND_MAX; around++)
        if (layers[around] && bitset_contains(k->l[around].nodes, k->l[i].nodes))
            return true;
    return false;
}

/* Marks the layers that prevent the job from getting its nodes: the layers with too few units for
 * its required nodes, otherwise for its number of nodes. */
static bool find_short(const struct look *k, bool *is_short)
{
    bool any = false;
    for (uint32_t i = 0; k->required && i < k->l->pools; i++)
        any |= is_short[i] = is_short_of(k, i, k->required);
    if (any)
        return true;
    if (k->l->mode != CONF_HRES_PER_NODE)
        for (uint32_t i = 0; i < k->l->pools; i++)
            is_short[i] = is_short_of(k, i, k->set);
    else if (k->count && k->l->is_tree)
        find_narrow(k, is_short);
    for (uint32_t i = 0; i < k->l->pools; i++) /* the outermost ones decide */
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
    _cleanup_free_ bool *is_short = mem_new_array(bool, k->l->pools);
    unsigned found = 0;
    if (put_outside(c, k, out) || !find_short(k, is_short))
        return;
    for (uint32_t i = 0; i < k->l->pools; i++) {
        if (!is_short[i] || found++ >= SHORT_MAX)
            continue;
        str_puts(out, found == 1 ? ": " : ", ");
        license_format_total(&k->l[i], out);
    }
    if (found > SHORT_MAX)
        str_printf(out, " and %u more", found - SHORT_MAX);
}

/* Checks the need of a job that uses one layer against the largest layer. */
static int check_largest_layer(const struct cluster *c, const struct license_need *need,
                               const struct bitset *among, struct err *err)
{
    const struct license *l = &c->licenses.list.data[need->at], *most = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    for (uint32_t i = 0; i < l->pools; i++)
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

int license_check_nodes(const struct cluster *c, const struct license_need *need, uint32_t nodes,
                        const struct bitset *among, const struct bitset *required, struct err *err)
{
    const struct license *l = &c->licenses.list.data[need->at];
    if (l->mode == CONF_HRES_ONE_LAYER)
        return check_largest_layer(c, need, among, err);
    _cleanup_free_ uint64_t *room = mem_new_array(uint64_t, l->pools);
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

/* Counts the units of a layer with which the job can use any nodes of the layer. */
static uint64_t count_wanted(const struct look *k, uint32_t i)
{
    size_t in = license_count_in_scope(&k->l[i], k->set);
    if (k->l->mode != CONF_HRES_PER_NODE)
        return k->count;
    return (uint64_t)k->count * (in < k->nodes ? in : k->nodes);
}

/* Returns false if the layer has enough units already. */
static bool raise_layer(struct look *k, uint32_t i)
{
    uint64_t wanted = count_wanted(k, i);
    if (k->room[i] >= wanted)
        return false;
    k->room[i] = wanted;
    return true;
}

/* Raises the layers with too few units until the job could run. */
static bool raise_layers(const struct cluster *c, const struct license_need *need, struct look *k)
{
    _cleanup_free_ bool *is_short = mem_new_array(bool, k->l->pools);
    bool raised = true;
    size_t most;
    if (k->required && !bitset_contains(k->l->scope, k->required))
        return false;
    while (!layers_have_all(c, need, k, &most)) {
        if (!raised || !find_short(k, is_short))
            return false;
        raised = false;
        for (uint32_t i = 0; i < k->l->pools; i++)
            raised |= is_short[i] && raise_layer(k, i);
    }
    return true;
}

/* In mode 1: the layer that has the most. */
static bool raise_largest(struct look *k)
{
    uint32_t largest = k->l->pools;
    for (uint32_t i = 0; i < k->l->pools; i++)
        if (has_node(k, i) && (largest == k->l->pools || k->room[i] > k->room[largest]))
            largest = i;
    if (largest == k->l->pools || k->room[largest] >= k->count)
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
    _cleanup_free_ uint64_t *room = mem_new_array(uint64_t, l->pools);
    _cleanup_bitset_ struct bitset *set = bitset_new(c->nodes.len),
                                   *among = license_find_allowed(j);
    struct look k = {l, room, set, j->want.req, need->count, j->want.min_nodes};
    size_t found = 0, needed = 0, most;
    begin_look(&k, among);
    if (one_layer ? !raise_largest(&k) : !raise_layers(c, need, &k))
        return 0;
    for (uint32_t i = 0; i < l->pools && !one_layer; i++) { /* leave out what is not needed */
        uint64_t raised = room[i];
        room[i] = l[i].total;
        if (raised == room[i] || layers_have_all(c, need, &k, &most))
            continue;
        room[i] = raised;
        if (++needed > LICENSE_RAISES_MAX)
            return 0;
    }
    for (uint32_t i = 0; i < l->pools; i++) {
        if (room[i] == l[i].total)
            continue;
        out[found++] = (struct license_raise){need->at + (int32_t)i, room[i],
                                              is_enough_in_file(&l[i], room[i])};
    }
    return found;
}
