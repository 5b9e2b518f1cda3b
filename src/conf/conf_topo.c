/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Switches and blocks of nodes: from topology.yaml if it exists, otherwise from topology.conf if
 * TopologyPlugin requires it. Unknown nodes are ignored with a warning, because files are often
 * ahead of clusters; an inconsistent network is an error. Also lists the changes between two
 * configurations, of which nodes moved by scontrol are not part.
 */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/path.h"
#include "conf/conf_internal.h"
#include "conf/conf_topo.h"
#include "conf/conf_topo_file.h"

#define DEFAULT_NAME "default" /* name of the network in topology.conf */
#define SWITCH_NAME_MAX 64     /* characters */

static const struct conf_topo_words kinds[] = {
    [CONF_TOPO_TREE] = {"topology/tree", "tree", "SwitchName", "switch", "switches"},
    [CONF_TOPO_BLOCK] = {"topology/block", "block", "BlockName", "block", "blocks"},
    [CONF_TOPO_RING] = {"topology/ring", "ring", "RingName", "ring", "rings"},
    [CONF_TOPO_TORUS] = {"topology/torus3d", "torus3d", "TorusName", "torus", "toruses"},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

const struct conf_topo_words *conf_topo_words(enum conf_topo kind)
{
    return kind < KINDS && kinds[kind].kind ? &kinds[kind] : NULL;
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool has_value(const struct conf_row *row, enum conf_topo_key key)
{
    return row->value[key].text && *row->value[key].text;
}

int conf_topo_check_name(const struct conf_value *v, const char *key, struct err *err)
{
    if (v->text[strcspn(v->text, "[],=\" ")])
        return conf_fail(v->at, err, "%s=%s: expected one name", key, v->text);
    return 0;
}

/* Returns the existing nodes of a leaf, except those of another leaf. */
static int leaf_nodes(struct conf_loader *l, struct conf_switch *s, const struct conf_value *v,
                      struct bitset *taken, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    struct err inner = {0};
    char buf[HOSTLIST_NAME_MAX + 1];
    if (strcasecmp(v->text, "ALL") == 0) {
        bitset_fill(s->node_set);
        bitset_andnot(s->node_set, taken);
        bitset_or(taken, s->node_set);
        bitset_foreach (s->node_set, i)
            vec_push(&s->order, (uint32_t)i);
        return 0;
    }
    if (hostlist_parse(v->text, &list, &inner) < 0)
        return conf_fail(v->at, err, "Nodes=%s: %s", v->text, inner.text);
    size_t unknown = 0, twice = 0;
    char first[HOSTLIST_NAME_MAX + 1] = "", again[HOSTLIST_NAME_MAX + 1] = "";
    for (size_t i = 0; i < hostlist_count(list); i++) {
        const char *name = hostlist_nth(list, i, buf);
        long node = conf_find_node(l->conf, name);
        if (node < 0) {
            if (unknown++ == 0)
                memcpy(first, buf, sizeof first);
        } else if (bitset_test(taken, (size_t)node)) {
            if (!bitset_test(s->node_set, (size_t)node) && twice++ == 0)
                memcpy(again, buf, sizeof again);
        } else {
            bitset_set(taken, (size_t)node);
            bitset_set(s->node_set, (size_t)node);
            vec_push(&s->order, (uint32_t)node);
        }
    }
    if (unknown)
        conf_warn(l, v->at, "%s: %zu of its nodes are not in slurm.conf, the first is %s", s->name,
                  unknown, first);
    if (twice)
        conf_warn(l, v->at, "%s: %zu of its nodes are on another one before it, the first is %s",
                  s->name, twice, again);
    return 0;
}

static const enum conf_topo_key name_keys[] = {[CONF_TOPO_TREE] = CONF_TOPO_SWITCH,
                                               [CONF_TOPO_BLOCK] = CONF_TOPO_BLOCK_NAME,
                                               [CONF_TOPO_RING] = CONF_TOPO_RING_NAME,
                                               [CONF_TOPO_TORUS] = CONF_TOPO_TORUS_NAME};

static int add_switch(struct conf_loader *l, struct conf_network *net, const struct conf_row *row,
                      struct bitset *taken, struct err *err)
{
    const struct conf_value *v = row->value;
    enum conf_topo_key key = name_keys[net->kind];
    const char *word = kinds[net->kind].key;
    int rc = conf_topo_check_name(&v[key], word, err);
    if (rc < 0)
        return rc;
    if (net->kind == CONF_TOPO_TREE && strlen(v[key].text) > SWITCH_NAME_MAX)
        return conf_fail(v[key].at, err, "SwitchName=%s: more than %d characters", v[key].text,
                         SWITCH_NAME_MAX);
    if (net->switches.len == CONF_SWITCHES_MAX)
        return conf_fail(row->at, err, "more than %d lines", CONF_SWITCHES_MAX);
    struct conf_switch s = {.name = v[key].text,
                            .link_speed = 1,
                            .parent = CONF_NO_SWITCH,
                            .file = row->at.file,
                            .line = row->at.line,
                            .column = row->at.column};
    bool nodes = has_value(row, CONF_TOPO_NODES), children = has_value(row, CONF_TOPO_SWITCHES);
    if (net->kind != CONF_TOPO_TREE && (!nodes || children))
        return conf_fail(row->at, err, "%s=%s: expected Nodes=", word, s.name);
    if (nodes == children)
        return conf_fail(row->at, err, "SwitchName=%s: expected Nodes= or Switches=, %s", s.name,
                         nodes ? "not both" : "one of them");
    if (has_value(row, CONF_TOPO_SPEED)) {
        long long speed;
        if (str_parse_i64(v[CONF_TOPO_SPEED].text, 0, UINT32_MAX, &speed) < 0)
            return conf_fail(v[CONF_TOPO_SPEED].at, err, "LinkSpeed=%s: expected a number",
                             v[CONF_TOPO_SPEED].text);
        s.link_speed = (uint32_t)speed;
    }
    s.switches = s.file_switches = children ? v[CONF_TOPO_SWITCHES].text : NULL;
    s.node_set = bitset_new(l->conf->nodes.len);
    rc = nodes ? leaf_nodes(l, &s, &v[CONF_TOPO_NODES], taken, err) : 0;
    if (rc == 0 && net->kind == CONF_TOPO_RING && s.order.len > CONF_RING_NODES_MAX)
        rc = conf_fail(v[CONF_TOPO_NODES].at, err, "RingName=%s: %zu nodes, a ring has at most %d",
                       s.name, s.order.len, CONF_RING_NODES_MAX);
    vec_push(&net->switches, s);
    return rc;
}

/* Each size must be a power of two times the previous one. */
static int read_sizes(struct conf_network *net, const struct conf_value *v, struct err *err)
{
    for (const char *at = v->text; *at;) {
        char *end;
        unsigned long size = strtoul(at, &end, 10);
        uint32_t last = net->block_sizes.len ? vec_last(&net->block_sizes) : 0;
        unsigned long times = last ? size / last : 1;
        bool fits = end > at && (!*end || *end == ',') && size > last && size <= CONF_NODES_MAX &&
                    (!last || (size % last == 0 && (times & (times - 1)) == 0));
        if (!fits)
            return conf_fail(v->at, err,
                             "BlockSizes=%s: expected numbers of nodes, each the one before times "
                             "a power of two",
                             v->text);
        vec_push(&net->block_sizes, (uint32_t)size);
        at = end + (*end == ',');
    }
    return 0;
}

/* Returns the kind of network of the line, by its first key; CONF_TOPO_FLAT: it has no such key,
 * or several. */
static enum conf_topo find_row_kind(const struct conf_row *row)
{
    static const struct {
        enum conf_topo_key key;
        enum conf_topo kind;
    } first[] = {
        {CONF_TOPO_SWITCH, CONF_TOPO_TREE},      {CONF_TOPO_BLOCK_NAME, CONF_TOPO_BLOCK},
        {CONF_TOPO_SIZES, CONF_TOPO_BLOCK},      {CONF_TOPO_RING_NAME, CONF_TOPO_RING},
        {CONF_TOPO_TORUS_NAME, CONF_TOPO_TORUS}, {CONF_TOPO_REGION, CONF_TOPO_TORUS},
        {CONF_TOPO_PLACEMENT, CONF_TOPO_TORUS},
    };
    enum conf_topo kind = CONF_TOPO_FLAT;
    size_t count = 0;
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        if (has_value(row, first[i].key)) {
            kind = first[i].kind;
            count++;
        }
    return count == 1 ? kind : CONF_TOPO_FLAT;
}

static int take_row(struct conf_loader *l, struct conf_network *net, const struct conf_row *row,
                    struct bitset *taken, struct err *err)
{
    enum conf_topo kind = find_row_kind(row);
    if (kind == CONF_TOPO_FLAT)
        return conf_fail(row->at, err,
                         "a line begins with SwitchName=, BlockName=, BlockSizes= or RingName=");
    if (kind != net->kind)
        return conf_fail(row->at, err,
                         "TopologyPlugin=%s takes lines of %s=", l->conf->topology_plugin,
                         kinds[net->kind].key);
    if (kind == CONF_TOPO_TORUS)
        return conf_torus_take_row(l, net, row, taken, err);
    return has_value(row, CONF_TOPO_SIZES) ? read_sizes(net, &row->value[CONF_TOPO_SIZES], err)
                                           : add_switch(l, net, row, taken, err);
}

/* --- the trees -------------------------------------------------------------------------------- */

static struct conf_place get_switch_place(const struct conf_switch *s)
{
    return (struct conf_place){s->file, s->line, s->column};
}

static int index_names(const struct conf_network *net, struct conf_index *index, size_t more,
                       struct err *err)
{
    conf_index_reserve(index, net->switches.len + more);
    for (size_t i = 0; i < net->switches.len; i++) {
        const struct conf_switch *s = &net->switches.data[i];
        if (conf_index_add(index, net->switches.data, sizeof(*s), i) >= 0)
            return conf_fail(get_switch_place(s), err, "%s is defined twice", s->name);
    }
    return 0;
}

static int join_children(struct conf_loader *l, struct conf_network *net,
                         const struct conf_index *index, uint32_t number, struct err *err)
{
    struct conf_switch *s = &net->switches.data[number];
    _cleanup_hostlist_ struct hostlist *list = NULL;
    struct err inner = {0};
    char buf[HOSTLIST_NAME_MAX + 1];
    if (hostlist_parse(s->switches, &list, &inner) < 0)
        return conf_fail(get_switch_place(s), err, "Switches=%s: %s", s->switches, inner.text);
    for (size_t i = 0; i < hostlist_count(list); i++) {
        const char *name = hostlist_nth(list, i, buf);
        long child = conf_index_find(index, net->switches.data, sizeof(*s), name);
        if (child < 0)
            return conf_fail(get_switch_place(s), err, "Switches=%s: there is no switch %s",
                             s->switches, name);
        struct conf_switch *c = &net->switches.data[child];
        if (c->parent == CONF_NO_SWITCH)
            c->parent = number;
        else
            conf_warn(l, get_switch_place(s), "%s is below %s already", name,
                      net->switches.data[c->parent].name);
    }
    return 0;
}

/* Sets levels and nodes of all switches above a leaf; fails for a cycle. */
static int note_levels(struct conf_network *net, const struct conf_switch *leaf, struct err *err)
{
    uint32_t level = 0;
    for (uint32_t up = leaf->parent; up != CONF_NO_SWITCH; up = net->switches.data[up].parent) {
        struct conf_switch *s = &net->switches.data[up];
        if (++level == CONF_SWITCH_LEVELS_MAX)
            return conf_fail(get_switch_place(s), err,
                             "%s: more than %d levels of switches, or a circle", s->name,
                             CONF_SWITCH_LEVELS_MAX);
        s->level = level > s->level ? level : s->level;
        if (leaf->node_set && !leaf->switches)
            bitset_or(s->node_set, leaf->node_set);
    }
    return 0;
}

static void warn_unconnected(struct conf_loader *l, const struct conf_network *net,
                             const struct bitset *taken)
{
    size_t out = l->conf->nodes.len - bitset_count(taken);
    long first = bitset_next_clear(taken, 0);
    if (out && first >= 0 && net->switches.len)
        conf_warn(l, get_switch_place(&vec_last(&net->switches)),
                  "%zu nodes are in no %s, the first is %s: %s", out, kinds[net->kind].unit,
                  l->conf->nodes.data[first].name,
                  net->kind == CONF_TOPO_TORUS ? "jobs that this topology places get none of them"
                                               : "each is alone");
}

/* Records the state defined by the file alone. */
static void note_file(struct conf_network *net, size_t nodes)
{
    net->file_count = net->switches.len;
    net->file_leaf = mem_new_array(uint32_t, nodes + 1);
    for (size_t i = 0; i < nodes; i++)
        net->file_leaf[i] = CONF_NO_SWITCH;
    for (uint32_t i = 0; i < net->switches.len; i++) {
        conf_torus_reset(&net->switches.data[i]);
        if (!net->switches.data[i].switches)
            bitset_foreach (net->switches.data[i].node_set, node)
                net->file_leaf[node] = i;
    }
}

/* Restores the state recorded by note_file(). */
static void reset_network(struct conf_network *net, size_t nodes)
{
    while (net->switches.len > net->file_count) {
        struct conf_switch *added = &net->switches.data[--net->switches.len];
        bitset_free(added->node_set);
        vec_done(&added->cells);
    }
    vec_foreach (&net->switches, s) {
        s->switches = s->file_switches;
        s->parent = CONF_NO_SWITCH;
        s->level = 0;
        bitset_zero(s->node_set);
        conf_torus_reset(s);
    }
    for (size_t i = 0; i < nodes; i++)
        if (net->file_leaf[i] != CONF_NO_SWITCH)
            bitset_set(net->switches.data[net->file_leaf[i]].node_set, i);
}

static int join_network(struct conf_loader *l, struct conf_network *net, const char *const *placed,
                        struct err *err)
{
    _cleanup_bitset_ struct bitset *taken = bitset_new(l->conf->nodes.len);
    struct conf_index index = {0};
    vec_foreach (&net->switches, s)
        bitset_or(taken, s->node_set);
    int rc = index_names(net, &index, conf_topo_units_most(l->conf, placed), err);
    if (rc == 0 && net->kind == CONF_TOPO_TORUS)
        conf_torus_move_nodes(l, net, placed, taken);
    else if (rc == 0 && net->kind == CONF_TOPO_RING)
        conf_ring_move_nodes(l, net, placed, &index, taken);
    else if (rc == 0)
        conf_topo_move_nodes(l, net, placed, &index, taken);
    for (uint32_t i = 0; i < net->switches.len && rc == 0; i++)
        if (net->switches.data[i].switches)
            rc = join_children(l, net, &index, i, err);
    conf_index_done(&index);
    for (uint32_t i = 0; i < net->switches.len && rc == 0; i++)
        rc = note_levels(net, &net->switches.data[i], err);
    if (rc == 0)
        warn_unconnected(l, net, taken);
    return rc;
}

static void warn_small_blocks(struct conf_loader *l, const struct conf_network *net)
{
    uint32_t base = net->block_sizes.len ? net->block_sizes.data[0] : 0;
    vec_foreach (&net->switches, s)
        if (s->order.len < base)
            conf_warn(l, get_switch_place(s),
                      "BlockName=%s: %zu nodes, fewer than the first of BlockSizes, %u", s->name,
                      s->order.len, base);
}

static int build_network(struct conf_loader *l, struct conf_network *net,
                         const struct conf_row *rows, size_t count, struct err *err)
{
    _cleanup_bitset_ struct bitset *taken = bitset_new(l->conf->nodes.len);
    int rc = 0;
    for (size_t i = 0; i < count && rc >= 0; i++)
        rc = take_row(l, net, &rows[i], taken, err);
    if (rc < 0 || net->kind == CONF_TOPO_FLAT)
        return rc;
    warn_small_blocks(l, net);
    note_file(net, l->conf->nodes.len);
    conf_torus_warn(l, net);
    return join_network(l, net, NULL, err);
}

int conf_topo_place(struct conf *c, const char *const *placed, struct err *err)
{
    struct conf_loader l = {.conf = c, .priv = c->priv};
    int rc = 0;
    vec_foreach (&c->networks, net)
        if (net->kind != CONF_TOPO_FLAT)
            reset_network(net, c->nodes.len);
    arena_reset(&c->priv->units_arena, 0);
    for (size_t i = 0; i < c->networks.len && rc == 0; i++)
        if (c->networks.data[i].kind != CONF_TOPO_FLAT)
            rc = join_network(&l, &c->networks.data[i], placed, err);
    return rc;
}

static enum conf_topo find_plugin_kind(const char *plugin)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind && strstr(plugin, kinds[i].kind))
            return (enum conf_topo)i;
    return CONF_TOPO_FLAT;
}

static struct conf_network *add_network(struct conf_loader *l, const char *name,
                                        enum conf_topo kind)
{
    bool optional = conf_list_has(l->conf->topology_param, "TopoOptional");
    vec_push(&l->conf->networks,
             ((struct conf_network){.name = name, .kind = kind, .optional = optional}));
    return &vec_last(&l->conf->networks);
}

static int build_conf_network(struct conf_loader *l, struct err *err)
{
    const char *plugin = l->conf->topology_plugin ? l->conf->topology_plugin : "";
    struct conf_network *net = add_network(l, DEFAULT_NAME, find_plugin_kind(plugin));
    if (net->kind == CONF_TOPO_FLAT)
        return 0;
    if (net->kind == CONF_TOPO_TORUS)
        return conf_fail(l->priv->written[CONF_KEY_topology_plugin].at, err,
                         "TopologyPlugin=%s: toruses cannot be in topology.conf: write them in "
                         "topology.yaml beside slurm.conf",
                         plugin);
    int rc = build_network(l, net, l->topo.row.data, l->topo.row.len, err);
    if (rc == 0 && !net->switches.len)
        rc = conf_fail(l->priv->written[CONF_KEY_topology_plugin].at, err,
                       "TopologyPlugin=%s: no lines of %s in topology.conf beside slurm.conf",
                       plugin, kinds[net->kind].key);
    return rc;
}

/* --- the topologies of topology.yaml ---------------------------------------------------------- */

static bool begins_topology(const struct conf_row *row)
{
    return strcmp(row->value[CONF_TOPO_MARK].text, CONF_TOPO_MARK_LINE) != 0;
}

/* Builds a topology from its first row, "TopologyConf=NAME:KIND[:default]", and its other rows. */
static int build_topology(struct conf_loader *l, const struct conf_row *rows, size_t count,
                          bool *has_default, struct err *err)
{
    const char *mark = rows->value[CONF_TOPO_MARK].text;
    size_t len = strcspn(mark, ":");
    const char *name = arena_printf(&l->priv->arena, "%.*s", (int)len, mark);
    bool is_default = strstr(mark + len, ":default") != NULL;
    if (conf_find_network(l->conf, name) >= 0)
        return conf_fail(rows->at, err, "topology %s is defined twice", name);
    uint32_t number = (uint32_t)l->conf->networks.len;
    struct conf_network *net = add_network(l, name, find_plugin_kind(mark + len));
    if (is_default && *has_default)
        conf_warn(l, rows->at, "topology %s: cluster_default is true of %s already", name,
                  conf_default_network(l->conf)->name);
    else if (is_default)
        l->conf->default_network = number;
    *has_default = *has_default || is_default;
    int rc = build_network(l, net, rows + 1, count - 1, err);
    if (rc == 0 && net->kind != CONF_TOPO_FLAT && !net->switches.len)
        rc = conf_fail(rows->at, err, "topology %s has no %s", name, kinds[net->kind].units);
    return rc;
}

static void warn_default(struct conf_loader *l, bool has_default, struct conf_place first)
{
    const struct conf_network *net = conf_default_network(l->conf);
    const struct conf_value *plugin = &l->priv->written[CONF_KEY_topology_plugin];
    if (!has_default && l->conf->networks.len > 1)
        conf_warn(l, first, "no topology has cluster_default: true: the first one, %s, is used",
                  net->name);
    if (plugin->text && find_plugin_kind(l->conf->topology_plugin) != net->kind)
        conf_warn(l, plugin->at, "TopologyPlugin=%s is ignored: topology.yaml is there",
                  plugin->text);
}

static int build_topologies(struct conf_loader *l, struct err *err)
{
    const struct conf_row *rows = l->topo.row.data;
    size_t count = l->topo.row.len, end;
    bool has_default = false;
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i = end) {
        for (end = i + 1; end < count && !begins_topology(&rows[end]); end++)
            ;
        rc = build_topology(l, &rows[i], end - i, &has_default, err);
    }
    if (rc == 0)
        warn_default(l, has_default, rows->at);
    return rc;
}

int conf_topo_build(struct conf_loader *l, struct err *err)
{
    if (l->bad_topo) {
        add_network(l, DEFAULT_NAME, CONF_TOPO_FLAT);
        return 0;
    }
    bool is_yaml = l->topo.row.len && begins_topology(l->topo.row.data);
    l->conf->networks_are_named = is_yaml;
    int rc = is_yaml ? build_topologies(l, err) : build_conf_network(l, err);
    if (rc == 0)
        conf_topo_check_nodes(l);
    return rc;
}

void conf_topo_done(struct conf *c)
{
    vec_foreach (&c->networks, net) {
        vec_foreach (&net->switches, s) {
            bitset_free(s->node_set);
            vec_done(&s->order);
            vec_done(&s->cells);
            vec_done(&s->placements);
        }
        vec_done(&net->switches);
        vec_done(&net->block_sizes);
        free(net->file_leaf);
    }
    vec_done(&c->networks);
}

long conf_find_network(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->networks.len; i++)
        if (strcmp(c->networks.data[i].name, name) == 0)
            return (long)i;
    return -1;
}

uint32_t conf_network_index(const struct conf *c, const char *name)
{
    long found = name && *name ? conf_find_network(c, name) : -1;
    return found < 0 ? c->default_network : (uint32_t)found;
}

const struct conf_network *conf_default_network(const struct conf *c)
{
    return &c->networks.data[c->default_network];
}

/* --- reading it ------------------------------------------------------------------------------- */

static int read_topologies(struct conf_loader *l, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    const char *plugin = l->priv->written[CONF_KEY_topology_plugin].text;
    if (l->scope != CONF_FULL || !slash)
        return 0;
    _cleanup_free_ char *yaml = mem_printf("%.*s/topology.yaml", (int)(slash - path), path);
    _cleanup_free_ char *file = mem_printf("%.*s/topology.conf", (int)(slash - path), path);
    bool asks = false;
    for (size_t i = 0; i < KINDS && plugin; i++)
        asks = asks || (kinds[i].kind && strcasestr(plugin, kinds[i].kind));
    if (access(yaml, F_OK) == 0)
        return conf_topo_read_yaml(l, yaml, err);
    if (!asks || access(file, F_OK) != 0)
        return 0;
    l->prefix = CONF_TOPO_PREFIX;
    int rc = conf_lines_read(l, file, err);
    l->prefix = NULL;
    return rc;
}

int conf_topo_read(struct conf_loader *l, const char *path, struct err *err)
{
    int rc = read_topologies(l, path, err);
    l->bad_topo = rc < 0;
    return rc;
}

#define NO_FILE "default" /* the flat topology of a cluster without a topology file */

static void put_numbers(const uint32_t numbers[CONF_AXES], struct str *out)
{
    for (size_t i = 0; i < CONF_AXES; i++)
        str_printf(out, " %u", numbers[i]);
}

static void put_unit(const struct conf *c, const struct conf_switch *s, struct str *out)
{
    str_printf(out, "%s %u %s", s->name, s->link_speed, s->file_switches ? s->file_switches : "-");
    put_numbers(s->dims, out);
    vec_foreach (&s->placements, p) {
        str_puts(out, " placement");
        put_numbers(p->dims, out);
        put_numbers(p->seed, out);
        put_numbers(p->spacing, out);
    }
    vec_foreach (&s->order, node)
        str_printf(out, " %s", *node == CONF_NO_NODE ? "-" : c->nodes.data[*node].name);
    str_putc(out, '\n');
}

/* Prints the content of the file with node names, because node numbers may differ. */
static void put_file(const struct conf *c, const struct conf_network *net, struct str *out)
{
    vec_foreach (&net->block_sizes, size)
        str_printf(out, "%u\n", *size);
    for (size_t i = 0; i < net->file_count; i++)
        put_unit(c, &net->switches.data[i], out);
    for (size_t i = 0; net->file_leaf && i < c->nodes.len; i++)
        if (net->file_leaf[i] != CONF_NO_SWITCH)
            str_printf(out, "%s %u\n", c->nodes.data[i].name, net->file_leaf[i]);
}

static const char *get_kind_text(const struct conf_network *net)
{
    const struct conf_topo_words *words = conf_topo_words(net->kind);
    return words ? words->kind : "flat";
}

static void compare_networks(const struct conf *from, const struct conf_network *a,
                             const struct conf *to, const struct conf_network *b, struct str *out)
{
    _cleanup_str_ struct str before = STR_INIT, after = STR_INIT;
    const struct conf_topo_words *words = conf_topo_words(b->kind);
    _cleanup_free_ char *what = mem_printf("topology %s", b->name);
    if (a->kind != b->kind) {
        conf_text_diff(what, "", get_kind_text(a), get_kind_text(b), out);
        return;
    }
    put_file(from, a, &before);
    put_file(to, b, &after);
    if (words && !str_eq(str_cstr(&before), str_cstr(&after)))
        str_printf(out, "%s: its %s have changed\n", what, words->units);
}

/* Whether the topology is defined in a file. */
static bool is_defined(const struct conf_network *net)
{
    return net->kind != CONF_TOPO_FLAT || !str_eq(net->name, NO_FILE);
}

void conf_topo_diff(const struct conf *from, const struct conf *to, struct str *out)
{
    vec_foreach (&from->networks, net)
        if (is_defined(net) && conf_find_network(to, net->name) < 0)
            str_printf(out, "topology %s: removed\n", net->name);
    vec_foreach (&to->networks, net) {
        const struct conf_topo_words *words = conf_topo_words(net->kind);
        long at = conf_find_network(from, net->name);
        if (at >= 0)
            compare_networks(from, &from->networks.data[at], to, net, out);
        else if (words)
            str_printf(out, "topology %s: added: %s, %zu %s\n", net->name, words->kind,
                       net->file_count, net->file_count == 1 ? words->unit : words->units);
        else if (is_defined(net))
            str_printf(out, "topology %s: added: flat\n", net->name);
    }
    if (from->networks.len && to->networks.len)
        conf_text_diff("", "cluster_default", conf_default_network(from)->name,
                       conf_default_network(to)->name, out);
}
