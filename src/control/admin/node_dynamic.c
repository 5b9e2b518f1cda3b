/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dynamic nodes, which no configuration file defines: created by scontrol, or by their own
 * registration (slurmd -Z). Their lines are kept in one stored record and are appended to those of
 * slurm.conf; a change of them is a reconfiguration with the same file and other appended lines. A
 * node that the file defines later belongs to the file from then on.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/pb.h"
#include "control/admin/node_dynamic.h"
#include "control/admin/reconfig.h"
#include "control/internal.h"

#define KEYS_MAX 4096 /* bytes of a node's line */

struct node_dynamic_plan {
    VEC(struct node_dynamic) nodes; /* all dynamic nodes after the change */
    VEC(char *) removed;
    size_t room; /* number of nodes that MaxNodeCount still permits */
    uint32_t limit;
};

static void free_dynamic_node(struct node_dynamic *n)
{
    free(n->name);
    free(n->keys);
}

void node_dynamic_free(struct control *c)
{
    vec_foreach (&c->dynamic_nodes, n)
        free_dynamic_node(n);
    vec_done(&c->dynamic_nodes);
}

void control_node_dynamic_free(struct node_dynamic_plan *p)
{
    if (!p)
        return;
    vec_foreach (&p->nodes, n)
        free_dynamic_node(n);
    vec_foreach (&p->removed, name)
        free(*name);
    vec_done(&p->nodes);
    vec_done(&p->removed);
    free(p);
}

struct node_dynamic_plan *control_node_dynamic_begin(const struct control *c)
{
    struct node_dynamic_plan *p = mem_new(struct node_dynamic_plan);
    size_t now = c->conf->nodes.len;
    p->limit = c->conf->max_node_count;
    p->room = p->limit > now ? p->limit - now : 0;
    vec_foreach (&c->dynamic_nodes, n)
        vec_push(&p->nodes,
                 ((struct node_dynamic){mem_strdup(n->name), mem_strdup(n->keys), n->dynamic}));
    return p;
}

static void add_line(const struct node_dynamic *n, struct str *out)
{
    str_printf(out, "NodeName=%s %s\n", n->name, n->keys);
}

void control_node_dynamic_lines(const struct node_dynamic_plan *p, struct str *out)
{
    vec_foreach (&p->nodes, n)
        add_line(n, out);
}

void control_node_dynamic_present(const struct control *c, struct str *out)
{
    vec_foreach (&c->dynamic_nodes, n)
        add_line(n, out);
}

/* --- requests -----------------------------------------------------------------------------------
 */

/* Returns the next Key=Value of a line; a value may be quoted. */
struct word {
    const char *key, *value;
    size_t key_len, value_len;
};

static bool next_word(const char **at, struct word *w)
{
    const char *s = *at + strspn(*at, " "), *end;
    if (!*s)
        return false;
    w->key = s;
    w->key_len = strcspn(s, "= ");
    w->value = s + w->key_len + (s[w->key_len] == '=');
    end = *w->value == '"' ? strchr(w->value + 1, '"') : NULL;
    end = end ? end + 1 : w->value + strcspn(w->value, " ");
    w->value_len = (size_t)(end - w->value);
    *at = end;
    return true;
}

static bool is_key(const struct word *w, const char *key)
{
    return w->key_len == strlen(key) && !strncasecmp(w->key, key, w->key_len);
}

static int check_state(const struct word *w, bool dynamic, struct err *err)
{
    static const char *const states[] = {"CLOUD", "FUTURE"};
    if (dynamic)
        return err_set(err, -ERR_PARSE,
                       "State: a node that registers itself has the state it is in");
    for (size_t i = 0; i < 2; i++)
        if (w->value_len == strlen(states[i]) && !strncasecmp(w->value, states[i], w->value_len))
            return 0;
    return err_set(err, -ERR_PARSE, "State=%.*s: a node is created with State=CLOUD or FUTURE",
                   (int)w->value_len, w->value);
}

/* Rejects everything that could begin another line or name other nodes. */
static int check_keys(const char *keys, bool dynamic, struct err *err)
{
    struct word w;
    bool state = dynamic;
    if (strlen(keys) > KEYS_MAX)
        return err_set(err, -ERR_TOO_BIG, "a node's line has more than %d bytes", KEYS_MAX);
    for (const char *p = keys; *p; p++)
        if (iscntrl((unsigned char)*p) || strchr("#\\", *p))
            return err_set(err, -ERR_PARSE, "a node's line holds no control characters, # or \\");
    for (const char *at = keys; next_word(&at, &w);) {
        int rc = 0;
        if (is_key(&w, "NodeName"))
            rc = err_set(err, -ERR_PARSE, "NodeName is given twice");
        else if (is_key(&w, "State"))
            rc = check_state(&w, dynamic, err);
        if (rc)
            return rc;
        state = state || is_key(&w, "State");
    }
    return state ? 0
                 : err_set(err, -ERR_PARSE, "a node is created with State=CLOUD or State=FUTURE");
}

/* A new line by an administrator must be valid: errors are reported instead of stored. */
static int check_known(const struct conf_report *report, struct err *err)
{
    vec_foreach (&report->warnings, w) {
        const char *end = strstr(w->text, " is ignored");
        if (end && str_starts(w->text, "unknown key "))
            return err_set(err, -ERR_PARSE, "%.*s", (int)(end - w->text), w->text);
    }
    return 0;
}

/* A node that registers itself is accepted nevertheless: it must not be lost for such an error. */
static int check_topology(const struct control *c, const char *keys, size_t count, struct err *err)
{
    struct word w;
    int rc = 0;
    for (const char *at = keys; rc == 0 && next_word(&at, &w);) {
        bool quoted = w.value_len > 1 && *w.value == '"';
        _cleanup_free_ char *value = mem_strndup(w.value + quoted, w.value_len - 2 * quoted);
        if (is_key(&w, "Topology"))
            rc = conf_topo_check_units(c->conf, value, count, err);
    }
    return rc;
}

/* Parses the line like the file, as far as possible without the file. */
static int check_line(const struct node_dynamic *n, struct err *err)
{
    struct str text = STR_INIT;
    struct conf *conf = NULL;
    struct conf_report report = {0};
    str_puts(&text, "SlurmctldHost=localhost\n");
    add_line(n, &text);
    int rc =
        conf_load_text(str_cstr(&text), text.len, "new node", CONF_FULL, NULL, &conf, &report, err);
    if (rc == 0 && !n->dynamic)
        rc = check_known(&report, err);
    if (rc == 0 && conf->nodes.len != 1)
        rc = err_set(err, -ERR_PARSE, "NodeName=%s is a reserved word", n->name);
    conf_free(conf);
    conf_report_done(&report);
    str_done(&text);
    return rc;
}

/* For several names: the address and port of each node. */
static int split_keys(const char *keys, size_t index, size_t count, struct str *out,
                      struct err *err)
{
    struct word w;
    char name[HOSTLIST_NAME_MAX + 1];
    for (const char *at = keys; next_word(&at, &w);) {
        _cleanup_hostlist_ struct hostlist *list = NULL;
        bool many = is_key(&w, "NodeAddr") || is_key(&w, "NodeHostname") || is_key(&w, "Port");
        _cleanup_free_ char *value = mem_strndup(w.value, w.value_len);
        str_printf(out, "%s%.*s=", out->len ? " " : "", (int)w.key_len, w.key);
        if (!many || hostlist_parse(value, &list, NULL) || hostlist_count(list) == 1) {
            str_puts(out, value);
            continue;
        }
        if (hostlist_count(list) != count)
            return err_set(err, -ERR_PARSE, "%.*s=%s has %zu entries for %zu nodes", (int)w.key_len,
                           w.key, value, hostlist_count(list), count);
        str_puts(out, hostlist_nth(list, index, name));
    }
    return 0;
}

static long find_planned_node(const struct node_dynamic_plan *p, const char *name)
{
    for (size_t i = 0; i < p->nodes.len; i++)
        if (str_eq(p->nodes.data[i].name, name))
            return (long)i;
    return -1;
}

static int create_node(const struct control *c, struct node_dynamic_plan *p, const char *name,
                       struct str *keys, bool dynamic, struct err *err)
{
    struct node_dynamic n = {.dynamic = dynamic};
    if (cluster_find_node(c->cluster, name) || find_planned_node(p, name) >= 0)
        return err_set(err, -ERR_NODE_EXISTS, "%s: %s", err_text(ERR_NODE_EXISTS), name);
    n.name = mem_strdup(name);
    n.keys = str_take(keys);
    int rc = check_line(&n, err);
    if (rc) {
        free_dynamic_node(&n);
        return rc;
    }
    vec_push(&p->nodes, n);
    p->room--;
    return 0;
}

static int create_nodes(const struct control *c, struct node_dynamic_plan *p,
                        const Pb__NodeUpdate *r, bool dynamic, const struct hostlist *names,
                        struct err *err)
{
    char name[HOSTLIST_NAME_MAX + 1];
    size_t before = p->nodes.len, count = hostlist_count(names);
    int rc = check_keys(r->create, dynamic, err);
    if (rc)
        return rc;
    if (count > p->room)
        return err_set(err, -ERR_LIMIT,
                       "%s: MaxNodeCount=%u in slurm.conf allows %zu more nodes, %zu are asked for",
                       err_text(ERR_LIMIT), p->limit, p->room, count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct str keys = STR_INIT;
        rc = split_keys(r->create, i, count, &keys, err);
        if (rc == 0)
            rc = create_node(c, p, hostlist_nth(names, i, name), &keys, dynamic, err);
        str_done(&keys);
    }
    rc = rc == 0 && !dynamic ? check_topology(c, r->create, count, err) : rc;
    while (rc && p->nodes.len > before) {
        free_dynamic_node(&vec_last(&p->nodes));
        p->nodes.len--;
        p->room++;
    }
    return rc;
}

/* Returns the partition whose Nodes= names the node: the partition could not be changed without the
 * node. */
static const char *find_naming_partition(const struct control *c, const char *name)
{
    vec_foreach (&c->cluster->parts, part) {
        _cleanup_hostlist_ struct hostlist *list = NULL;
        const char *nodes = (*part)->conf.nodes;
        if (nodes && !hostlist_parse(nodes, &list, NULL) && hostlist_find(list, name) >= 0)
            return (*part)->conf.name;
    }
    return NULL;
}

static const struct resv *find_reservation(const struct control *c, const struct node *n)
{
    vec_foreach (&c->cluster->resvs, r)
        if ((*r)->nodes && n->index < (*r)->nodes->size && bitset_test((*r)->nodes, n->index))
            return *r;
    return NULL;
}

static int check_removal(const struct control *c, const char *name, struct err *err)
{
    const struct node *n = cluster_find_node(c->cluster, name);
    const char *part = find_naming_partition(c, name);
    if (!n)
        return err_set(err, -ERR_NO_NODE, "%s: %s", err_text(ERR_NO_NODE), name);
    if (!n->row->is_added)
        return err_set(err, -ERR_TRANSITION, "node %s is defined in slurm.conf: remove it there",
                       name);
    if (n->jobs || n->orphans.len)
        return err_set(err, -ERR_NODES_BUSY, "%s: %s has jobs", err_text(ERR_NODES_BUSY), name);
    const struct resv *resv = find_reservation(c, n);
    if (resv)
        return err_set(err, -ERR_NODES_BUSY, "%s: %s is in reservation %s",
                       err_text(ERR_NODES_BUSY), name, resv->name);
    if (part)
        return err_set(err, -ERR_TRANSITION, "partition %s names node %s: change its Nodes first",
                       part, name);
    return 0;
}

static int remove_nodes(const struct control *c, struct node_dynamic_plan *p,
                        const struct hostlist *names, struct err *err)
{
    char name[HOSTLIST_NAME_MAX + 1];
    size_t count = hostlist_count(names);
    for (size_t i = 0; i < count; i++) {
        int rc = check_removal(c, hostlist_nth(names, i, name), err);
        if (rc)
            return rc;
    }
    for (size_t i = 0; i < count; i++) {
        long at = find_planned_node(p, hostlist_nth(names, i, name));
        if (at < 0)
            continue; /* a duplicate name */
        free_dynamic_node(&p->nodes.data[at]);
        vec_remove(&p->nodes, (size_t)at);
        vec_push(&p->removed, mem_strdup(name));
        p->room++;
    }
    return 0;
}

int control_node_dynamic_add(const struct control *c, struct node_dynamic_plan *p,
                             const Pb__NodeUpdate *r, bool dynamic, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *names = NULL;
    struct err inner = {0};
    if (hostlist_parse(r->nodes, &names, &inner) || !hostlist_count(names))
        return err_set(err, -ERR_NO_NODE, "NodeName=%s: %s", r->nodes,
                       inner.code ? inner.text : err_text(ERR_NO_NODE));
    return r->create ? create_nodes(c, p, r, dynamic, names, err) : remove_nodes(c, p, names, err);
}

/* --- the record --------------------------------------------------------------------------------
 */

static void save_nodes(struct control *c)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct str packed = STR_INIT;
    Pb__NodesMade all = PB__NODES_MADE__INIT;
    all.nodes = arena_alloc(&arena, (c->dynamic_nodes.len + 1) * sizeof(*all.nodes));
    vec_foreach (&c->dynamic_nodes, n) {
        Pb__NodeMade *m = arena_alloc(&arena, sizeof(*m));
        pb__node_made__init(m);
        m->name = n->name;
        m->keys = n->keys;
        m->has_dynamic = m->dynamic = n->dynamic;
        all.nodes[all.n_nodes++] = m;
    }
    pb_pack(&all.base, &packed);
    if (c->dynamic_nodes.len)
        c->env->put(c->env->ctx, RECORD_MADE, 0, NULL, packed.data, packed.len);
    else
        c->env->del(c->env->ctx, RECORD_MADE, 0, NULL);
    str_done(&packed);
}

/* Returns NULL if the record is damaged or of a newer version. */
static const Pb__NodesMade *unpack_nodes(struct arena *arena, const void *data, size_t len,
                                         struct err *err)
{
    arena_init(arena, 0);
    const Pb__NodesMade *all = arena_unpack(arena, &pb__nodes_made__descriptor, data, len);
    if (!all)
        err_set(err, -ERR_STORE_DAMAGED,
                "the record of the nodes that are in no file does not decode");
    else if (all->base.n_unknown_fields || pb_find_unknown(&all->base))
        err_set(err, -ERR_VERSION,
                "the record of the nodes that are in no file was written by a newer "
                "version, with what this one does not know: start that version");
    else
        return all;
    return NULL;
}

int control_node_dynamic_stored(const void *data, size_t len, struct str *out, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    const Pb__NodesMade *all = unpack_nodes(&arena, data, len, err);
    if (!all)
        return err->code;
    for (size_t i = 0; i < all->n_nodes; i++)
        str_printf(out, "NodeName=%s %s\n", all->nodes[i]->name, all->nodes[i]->keys);
    return 0;
}

int node_dynamic_restore(struct control *c, const void *data, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    const Pb__NodesMade *all = unpack_nodes(&arena, data, len, err);
    if (!all)
        return err->code;
    for (size_t i = 0; i < all->n_nodes; i++) {
        const Pb__NodeMade *m = all->nodes[i];
        vec_push(&c->dynamic_nodes, ((struct node_dynamic){mem_strdup(m->name), mem_strdup(m->keys),
                                                           m->has_dynamic && m->dynamic}));
    }
    node_dynamic_settle(c, NULL);
    return 0;
}

void node_dynamic_settle(struct control *c, struct str *report)
{
    for (size_t i = c->dynamic_nodes.len; i-- > 0;) {
        struct node_dynamic *m = &c->dynamic_nodes.data[i];
        struct node *n = cluster_find_node(c->cluster, m->name);
        if (n && n->row->is_added) {
            n->dynamic = m->dynamic;
            continue;
        }
        if (report)
            str_printf(report, "node %s: now as in slurm.conf\n", m->name);
        if (c->preview)
            continue;
        free_dynamic_node(m);
        vec_remove(&c->dynamic_nodes, i);
        if (c->started)
            save_nodes(c);
    }
}

/* --- applying a plan ----------------------------------------------------------------------------
 */

static void forget_node(struct control *c, const char *name)
{
    for (size_t i = c->cluster->gone_nodes.len; i-- > 0;) {
        struct str *packed = &c->cluster->gone_nodes.data[i];
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const Pb__NodeRecord *r =
            arena_unpack(&arena, &pb__node_record__descriptor, packed->data, packed->len);
        if (r && !str_eq(r->name, name))
            continue;
        str_done(packed);
        vec_remove(&c->cluster->gone_nodes, i);
    }
    c->env->del(c->env->ctx, RECORD_NODE, 0, name);
}

int control_node_dynamic_apply(struct control *c, struct node_dynamic_plan *p, struct conf *conf,
                               struct err *err)
{
    vec_foreach (&p->removed, name) {
        int rc = check_removal(c, *name, err); /* a job may have got it meanwhile */
        if (rc) {
            conf_free(conf);
            return rc;
        }
    }
    node_dynamic_free(c);
    memcpy(&c->dynamic_nodes, &p->nodes, sizeof c->dynamic_nodes);
    memset(&p->nodes, 0, sizeof p->nodes);
    conf->read_at = c->conf->read_at;
    reconfig_swap(c, conf);
    node_dynamic_settle(c, NULL);
    vec_foreach (&p->removed, name)
        forget_node(c, *name);
    save_nodes(c);
    return 0;
}
