/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/bitset.h"
#include "base/ranges.h"
#include "conf/conf_internal.h"

static const struct {
    const char *word;
    enum conf_node_state state;
} state_words[] = {
    /* printed: the first word of a state */
    {"UNKNOWN", CONF_NODE_UNKNOWN}, {"DOWN", CONF_NODE_DOWN},     {"DRAIN", CONF_NODE_DRAIN},
    {"FAIL", CONF_NODE_FAIL},       {"FUTURE", CONF_NODE_FUTURE}, {"CLOUD", CONF_NODE_CLOUD},
    {"IDLE", CONF_NODE_UNKNOWN},    {"UP", CONF_NODE_UNKNOWN},    {"DRAINED", CONF_NODE_DRAIN},
    {"DRAINING", CONF_NODE_DRAIN},  {"FAILING", CONF_NODE_FAIL},
};
#define STATE_WORDS (sizeof(state_words) / sizeof(state_words[0]))

const char *conf_node_state_text(enum conf_node_state state)
{
    return state_words[state].word;
}

static int state_parse(const struct conf_value *v, enum conf_node_state *out, struct err *err)
{
    if (!v->text || !*v->text)
        return 0;
    for (size_t i = 0; i < STATE_WORDS; i++)
        if (!strcasecmp(v->text, state_words[i].word)) {
            *out = state_words[i].state;
            return 0;
        }
    return conf_fail(v->at, err, "State=%s: expected UNKNOWN, DOWN, DRAIN, FAIL, FUTURE or CLOUD",
                     v->text);
}

/* The names of the nodes of one line, as parallel lists. */
struct names {
    struct hostlist *name, *host, *addr, *bcast, *port; /* all except name: NULL if not given */
};

static void names_done(struct names *n)
{
    hostlist_free(n->name);
    hostlist_free(n->host);
    hostlist_free(n->addr);
    hostlist_free(n->bcast);
    hostlist_free(n->port);
}

static int list_parse(const struct conf_row *row, enum conf_node_key key, struct hostlist **out,
                      struct err *err)
{
    const struct conf_value *v = &row->value[key];
    struct err inner = {0};

    if (!v->text || !*v->text)
        return 0;
    if (hostlist_parse(v->text, out, &inner) < 0)
        return conf_fail(v->at, err, "%s=%s: %s", conf_node_keys[key].name, v->text, inner.text);
    return 0;
}

/* Accepts "6821-6823" and "6821,6825-6827" without brackets. */
static int ports_parse(const struct conf_row *row, struct hostlist **out, struct err *err)
{
    const struct conf_value *v = &row->value[CONF_NODE_PORT];
    struct conf_value bracketed = *v;
    struct conf_row alone = {.at = row->at};
    struct conf_value values[CONF_NODE_KEYS];
    _cleanup_free_ char *text = NULL;

    if (!v->text || !*v->text || v->text[strspn(v->text, "0123456789-,")])
        return list_parse(row, CONF_NODE_PORT, out, err);
    text = mem_printf("[%s]", v->text);
    bracketed.text = text;
    values[CONF_NODE_PORT] = bracketed;
    alone.value = values;
    return list_parse(&alone, CONF_NODE_PORT, out, err);
}

static int count_check(const struct conf_row *row, enum conf_node_key key,
                       const struct hostlist *list, size_t nodes, struct err *err)
{
    size_t n = list ? hostlist_count(list) : 1;

    if (n == 1 || n == nodes)
        return 0;
    return conf_fail(row->value[key].at, err,
                     "%s=%s has %zu entries for the %zu nodes of NodeName=%s; give one for each, "
                     "or one for all",
                     conf_node_keys[key].name, row->value[key].text, n, nodes,
                     row->value[CONF_NODE_NAME].text);
}

static int names_parse(const struct conf_row *row, struct names *n, struct err *err)
{
    int rc = list_parse(row, CONF_NODE_NAME, &n->name, err);

    if (rc == 0)
        rc = list_parse(row, CONF_NODE_HOSTNAME, &n->host, err);
    if (rc == 0)
        rc = list_parse(row, CONF_NODE_ADDR, &n->addr, err);
    if (rc == 0)
        rc = list_parse(row, CONF_NODE_BCAST_ADDR, &n->bcast, err);
    if (rc == 0)
        rc = ports_parse(row, &n->port, err);
    if (rc < 0)
        return rc;
    size_t count = hostlist_count(n->name);
    if (count == 0)
        return conf_fail(row->at, err, "NodeName=%s names no node",
                         row->value[CONF_NODE_NAME].text);
    rc = count_check(row, CONF_NODE_HOSTNAME, n->host, count, err);
    if (rc == 0)
        rc = count_check(row, CONF_NODE_ADDR, n->addr, count, err);
    if (rc == 0)
        rc = count_check(row, CONF_NODE_BCAST_ADDR, n->bcast, count, err);
    if (rc == 0)
        rc = count_check(row, CONF_NODE_PORT, n->port, count, err);
    return rc;
}

/* Names are used in paths (%n) and on lines: letters, digits and - _ . only. */
static int name_check(const struct conf_row *row, const char *name, struct err *err)
{
    if (!strcasecmp(name, "ALL") || !strcasecmp(name, "DEFAULT"))
        return conf_fail(row->at, err, "NodeName=%s is a reserved word", name);
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.", *p))
            return conf_fail(row->at, err, "NodeName=%s: a name holds letters, digits, - _ . only",
                             name);
    if (!isalnum((unsigned char)name[0]))
        return conf_fail(row->at, err, "NodeName=%s: a name begins with a letter or a digit", name);
    return 0;
}

static const char *nth_name(const struct hostlist *list, size_t i, char buf[HOSTLIST_NAME_MAX + 1])
{
    return hostlist_nth(list, hostlist_count(list) == 1 ? 0 : i, buf);
}

/* Returns a copy of text in the arena, or 'same' if that is equal. */
static const char *keep_text(struct conf_loader *l, const char *text, const char *same)
{
    return same && !strcmp(text, same) ? same : arena_strdup(&l->priv->arena, text);
}

/* Adds node number i of the line, which is row number 'number'. */
static int node_add(struct conf_loader *l, const struct conf_row *row, const struct names *n,
                    size_t i, uint32_t number, struct err *err)
{
    char buf[HOSTLIST_NAME_MAX + 1];
    struct conf_node node = {.row = number, .port = l->conf->slurmd_port};
    long long port = 0;

    hostlist_nth(n->name, i, buf);
    int rc = name_check(row, buf, err);
    if (rc < 0)
        return rc;
    node.name = keep_text(l, buf, NULL);
    node.hostname = n->host ? keep_text(l, nth_name(n->host, i, buf), node.name) : node.name;
    node.addr = n->addr ? keep_text(l, nth_name(n->addr, i, buf), node.hostname) : node.hostname;
    node.bcast_addr = n->bcast ? keep_text(l, nth_name(n->bcast, i, buf), node.addr) : node.addr;
    if (n->port) {
        nth_name(n->port, i, buf);
        if (str_parse_i64(buf, 1, 65535, &port) < 0)
            return conf_fail(row->value[CONF_NODE_PORT].at, err,
                             "Port=%s: '%s' is not a port (1 to 65535)",
                             row->value[CONF_NODE_PORT].text, buf);
        node.port = (uint16_t)port;
    }
    vec_push(&l->conf->nodes, node);
    return 0;
}

/* Returns the number of cores that have the CPUs in the list; -1: a CPU does not belong to the
   node. */
static long count_spec_cores(const struct conf_node_row *out)
{
    uint32_t threads = out->cpus > out->sockets * out->cores ? out->threads : 1;
    _cleanup_bitset_ struct bitset *cores = bitset_new(out->cpus);
    ranges_foreach (out->cpu_spec_list, r) {
        if (r.last >= out->cpus)
            return -1;
        for (unsigned long cpu = r.first; cpu <= r.last; cpu++)
            bitset_set(cores, cpu / threads);
    }
    return (long)bitset_count(cores);
}

/* The CPUs and memory reserved for the system must leave some for jobs. */
static int spec_check(const struct conf_row *row, struct conf_node_row *out, struct err *err)
{
    const struct conf_value *list = &row->value[CONF_NODE_KEY_cpu_spec_list];
    bool listed = out->cpu_spec_list && *out->cpu_spec_list;
    if (listed && ranges_count(out->cpu_spec_list) < 0)
        return conf_fail(list->at, err, "CpuSpecList=%s: expected numbers and ranges, \"0-3,8\"",
                         list->text);
    long cores = listed ? count_spec_cores(out) : (long)out->core_spec_count;
    if (cores < 0)
        return conf_fail(list->at, err, "CpuSpecList=%s: the node has CPUs 0 to %u", list->text,
                         out->cpus - 1);
    if (listed && out->core_spec_count)
        return conf_fail(row->at, err,
                         "CoreSpecCount and CpuSpecList are both given: remove one of them");
    if (cores >= (long)out->sockets * out->cores)
        return conf_fail(row->at, err, "CoreSpecCount or CpuSpecList leaves no core for jobs");
    if (out->mem_spec_mib >= out->real_memory_mib && out->mem_spec_mib)
        return conf_fail(row->at, err, "MemSpecLimit=%llu leaves no memory for jobs",
                         (unsigned long long)out->mem_spec_mib);
    return 0;
}

/* Builds the properties shared by the nodes of a line. */
static int row_build(struct conf_loader *l, const struct conf_row *row, struct err *err)
{
    struct conf_node_row out = {.file = row->at.file,
                                .line = row->at.line,
                                .is_added = l->added_lines && row->at.file == l->added_lines};

    conf_value_defaults(conf_node_keys, CONF_NODE_KEYS, &out);
    for (size_t i = 0; i < CONF_NODE_KEYS; i++) {
        const struct conf_value *v = &row->value[i];
        if (conf_node_keys[i].offset == CONF_NO_OFFSET || !v->text)
            continue;
        int rc = conf_value_parse(&conf_node_keys[i], v, &out, err);
        if (rc < 0)
            return rc;
    }
    int rc = conf_geometry_derive(row, &out, err);
    if (rc == 0)
        rc = state_parse(&row->value[CONF_NODE_STATE], &out.state, err);
    if (rc == 0)
        rc = spec_check(row, &out, err);
    if (rc == 0)
        rc = conf_cpu_bind_check(&row->value[CONF_NODE_KEY_cpu_bind],
                                 row->value[CONF_NODE_NAME].text, err);
    if (rc == 0)
        vec_push(&l->conf->node_rows, out);
    return rc;
}

static int row_expand(struct conf_loader *l, const struct conf_row *row, struct err *err)
{
    _cleanup_(names_done) struct names n = {0};
    int rc = names_parse(row, &n, err);

    if (rc == 0)
        rc = row_build(l, row, err);
    if (rc < 0)
        return rc;
    size_t count = hostlist_count(n.name);
    if (count > CONF_NODES_MAX - l->conf->nodes.len)
        return conf_fail(row->at, err, "more than %d nodes in all", CONF_NODES_MAX);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = node_add(l, row, &n, i, (uint32_t)l->conf->node_rows.len - 1, err);
    return rc;
}

static int index_build(struct conf_loader *l, struct err *err)
{
    struct conf *c = l->conf;

    conf_index_reserve(&l->priv->node_index, c->nodes.len);
    for (size_t i = 0; i < c->nodes.len; i++) {
        long first = conf_index_add(&l->priv->node_index, c->nodes.data, sizeof(*c->nodes.data), i);
        if (first < 0)
            continue;
        const struct conf_node_row *a = &c->node_rows.data[c->nodes.data[first].row];
        const struct conf_node_row *b = &c->node_rows.data[c->nodes.data[i].row];
        return conf_fail((struct conf_place){b->file, b->line}, err,
                         "NodeName=%s is defined twice, first at %s:%d", c->nodes.data[i].name,
                         a->file, a->line);
    }
    return 0;
}

static int by_address(const void *x, const void *y)
{
    const struct conf_node *const *a = x, *const *b = y;
    int order = strcmp((*a)->addr, (*b)->addr);

    return order ? order : (int)(*a)->port - (int)(*b)->port;
}

/* Two node daemons cannot use the same port at the same address. Addresses equal to their node
 * names differ like the names; FUTURE and CLOUD nodes have no address yet. */
static void addresses_check(struct conf_loader *l)
{
    struct conf *c = l->conf;
    VEC(const struct conf_node *) given = {0};

    vec_foreach (&c->nodes, node) {
        enum conf_node_state state = c->node_rows.data[node->row].state;
        if (node->addr != node->name && state != CONF_NODE_FUTURE && state != CONF_NODE_CLOUD)
            vec_push(&given, node);
    }
    if (given.len)
        qsort(given.data, given.len, sizeof(*given.data), by_address);
    for (size_t i = 1; i < given.len; i++) {
        const struct conf_node *a = given.data[i - 1], *b = given.data[i];
        const struct conf_node_row *row = &c->node_rows.data[b->row];
        if (by_address(&a, &b))
            continue;
        conf_warn(l, (struct conf_place){row->file, row->line},
                  "nodes %s and %s both have address %s and port %u; give each a Port", a->name,
                  b->name, b->addr, b->port);
        break; /* one warning is sufficient */
    }
    vec_done(&given);
}

/* Expands the lines of files, or the additional lines, each of which names one node. */
static int expand_rows(struct conf_loader *l, bool added, struct err *err)
{
    bool complete = true;

    vec_foreach (&l->nodes.row, row) {
        if ((l->added_lines && row->at.file == l->added_lines) != added)
            continue;
        if (added && conf_find_node(l->conf, row->value[CONF_NODE_NAME].text) >= 0)
            continue;
        int rc = conf_go_on(l, row_expand(l, row, err), err);
        if (rc < 0)
            return rc;
        complete = complete && rc == 0;
    }
    return complete ? index_build(l, err) : l->first.code;
}

int conf_node_build(struct conf_loader *l, struct err *err)
{
    int rc = expand_rows(l, false, err);

    if (rc == 0 && l->added_lines)
        rc = expand_rows(l, true, err);
    if (rc == 0)
        addresses_check(l);
    return rc;
}

/* Returns which node of the line has the name, or runs on the host; -1: none. */
static long row_find(const struct names *n, const char *node_name, const char *host)
{
    const struct hostlist *hosts = n->host ? n->host : n->name;

    if (node_name)
        return hostlist_find(n->name, node_name);
    return hostlist_find(hosts, host);
}

/* Searches the lines for a node; 1: found and built. */
static int pick_node(struct conf_loader *l, const char *node_name, const char *host,
                     struct err *err)
{
    vec_foreach (&l->nodes.row, row) {
        _cleanup_(names_done) struct names n = {0};
        int rc = names_parse(row, &n, err);
        if (rc < 0)
            return rc;
        long i = row_find(&n, node_name, host);
        if (i < 0)
            continue;
        rc = row_build(l, row, err);
        if (rc == 0)
            rc = node_add(l, row, &n, (size_t)i, 0, err);
        return rc < 0 ? rc : 1;
    }
    return 0;
}

int conf_node_pick(struct conf_loader *l, const char *node_name, struct err *err)
{
    struct conf_place top = {l->conf->path, 1};
    char host[HOSTLIST_NAME_MAX + 1] = "";
    int rc;

    if (node_name) {
        rc = pick_node(l, node_name, NULL, err);
        if (rc == 0)
            return conf_fail(top, err, "no NodeName line defines %s", node_name);
    } else {
        if (gethostname(host, sizeof(host) - 1) < 0)
            host[0] = '\0';
        rc = pick_node(l, NULL, host, err);
        char *dot = strchr(host, '.');
        if (rc == 0 && dot) {
            *dot = '\0';
            rc = pick_node(l, NULL, host, err);
        }
        if (rc == 0)
            rc = pick_node(l, NULL, "localhost", err);
        if (rc == 0)
            return conf_fail(top, err,
                             "no NodeName line has NodeHostname %s; add one, or start slurmd with "
                             "-N NODENAME",
                             host);
    }
    if (rc < 0)
        return rc;
    conf_index_reserve(&l->priv->node_index, 1);
    conf_index_add(&l->priv->node_index, l->conf->nodes.data, sizeof(struct conf_node), 0);
    return 0;
}

/* Copies each row used by the line's nodes, with the new state, because a row may be shared with
 * nodes that the line does not name. */
static int down_apply(struct conf_loader *l, const struct conf_row *down,
                      const struct hostlist *list, struct err *err)
{
    struct conf *c = l->conf;
    char buf[HOSTLIST_NAME_MAX + 1];
    size_t rows = c->node_rows.len, count = hostlist_count(list);
    /* 0: not copied yet */
    _cleanup_free_ uint32_t *copy = mem_new_array(uint32_t, rows ? rows : 1);
    enum conf_node_state state = CONF_NODE_DOWN;
    int rc = state_parse(&down->value[CONF_DOWN_STATE], &state, err);

    for (size_t i = 0; i < count && rc == 0; i++) {
        long found = conf_find_node(c, hostlist_nth(list, i, buf));
        if (found < 0)
            return conf_fail(down->at, err,
                             "DownNodes: node %s is not defined by any NodeName line", buf);
        struct conf_node *node = &c->nodes.data[found];
        if (node->row >= rows)
            continue; /* listed twice on this line */
        if (!copy[node->row]) {
            struct conf_node_row changed = c->node_rows.data[node->row];
            changed.state = state;
            if (down->value[CONF_DOWN_REASON].text)
                changed.reason = down->value[CONF_DOWN_REASON].text;
            vec_push(&c->node_rows, changed);
            copy[node->row] = (uint32_t)c->node_rows.len - 1;
        }
        node->row = copy[node->row];
    }
    return rc;
}

int conf_node_downs(struct conf_loader *l, struct err *err)
{
    vec_foreach (&l->downs.row, down) {
        _cleanup_hostlist_ struct hostlist *list = NULL;
        struct err inner = {0};
        const char *text = down->value[CONF_DOWN_NODES].text;
        if (!strcasecmp(text, "ALL")) {
            list = hostlist_new();
            vec_foreach (&l->conf->nodes, node)
                hostlist_push(list, node->name);
        } else if (hostlist_parse(text, &list, &inner) < 0)
            return conf_fail(down->at, err, "DownNodes=%s: %s", text, inner.text);
        int rc = down_apply(l, down, list, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
