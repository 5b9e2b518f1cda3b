/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions in host lists: feature{NAME}, and for networks block{NAME}, switch{NAME}, ring{NAME},
   torus{NAME}, blockwith{NODE}, switchwith{NODE}, ringwith{NODE} and toruswith{NODE}. */
#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_internal.h"

static const struct function {
    const char *name;
    enum conf_topo kind;
    bool is_with; /* the argument is a node of the unit */
} functions[] = {
    {"block", CONF_TOPO_BLOCK},
    {"switch", CONF_TOPO_TREE},
    {"blockwith", CONF_TOPO_BLOCK, true},
    {"switchwith", CONF_TOPO_TREE, true},
    {"ring", CONF_TOPO_RING},
    {"ringwith", CONF_TOPO_RING, true},
    {"torus", CONF_TOPO_TORUS},
    {"toruswith", CONF_TOPO_TORUS, true},
};

char *conf_function_argument(const char *word, const char *function)
{
    size_t len = strlen(function), all = strlen(word);
    if (all < len + 2 || strncmp(word, function, len) != 0 || word[len] != '{' ||
        word[all - 1] != '}')
        return NULL;
    return mem_strndup(word + len + 1, all - len - 2);
}

/* Returns the leaf that has the node, or the unit with that name. */
static const struct conf_switch *find_unit(const struct conf *c, const struct conf_network *net,
                                           const struct function *f, const char *argument)
{
    long node = f->is_with ? conf_find_node(c, argument) : -1;
    if (net->kind != f->kind)
        return NULL;
    vec_foreach (&net->switches, s)
        if (f->is_with ? node >= 0 && !s->switches && bitset_test(s->node_set, (size_t)node)
                       : strcmp(s->name, argument) == 0)
            return s;
    return NULL;
}

/* Searches the cluster's default network first. */
static const struct conf_switch *find_anywhere(const struct conf *c, const struct function *f,
                                               const char *argument)
{
    const struct conf_switch *found = find_unit(c, conf_default_network(c), f, argument);
    for (size_t i = 0; i < c->networks.len && !found; i++)
        found = find_unit(c, &c->networks.data[i], f, argument);
    return found;
}

static int add_unit(const struct conf *c, const struct function *f, const char *argument,
                    struct bitset *out, struct err *err)
{
    const struct conf_switch *unit = find_anywhere(c, f, argument);
    const struct conf_topo_words *words = conf_topo_words(f->kind);
    if (!unit && f->is_with)
        return err_set(err, -ERR_NO_NODE, "%s{%.200s}: no %s has a node of this name", f->name,
                       argument, words->unit);
    if (!unit)
        return err_set(err, -ERR_NO_NODE, "%s{%.200s}: no topology has a %s of this name", f->name,
                       argument, words->unit);
    bitset_or(out, unit->node_set);
    return 1;
}

static void add_feature(const struct conf *c, const char *feature, struct bitset *out)
{
    for (size_t i = 0; i < c->nodes.len; i++) {
        const char *features = c->node_rows.data[c->nodes.data[i].row].features;
        if (features && conf_list_has(features, feature))
            bitset_set(out, i);
    }
}

int conf_add_function(const struct conf *c, const char *word, struct bitset *out, struct err *err)
{
    _cleanup_free_ char *feature = conf_function_argument(word, "feature");
    if (feature) {
        add_feature(c, feature, out);
        return 1;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        _cleanup_free_ char *argument = conf_function_argument(word, functions[i].name);
        if (argument)
            return add_unit(c, &functions[i], argument, out, err);
    }
    return 0;
}

#define CONF_PART_NAME_MAX 255

static const char *const state_words[] = {"UP", "DOWN", "DRAIN", "INACTIVE"};
static const char *const share_words[] = {"NO", "YES", "FORCE", "EXCLUSIVE"};
#define SHARE_MAX_DEFAULT 4

const char *conf_part_state_text(enum conf_part_state state)
{
    return state_words[state];
}

const char *conf_part_share_text(enum conf_oversubscribe share)
{
    return share_words[share];
}

static int word_find(const char *text, size_t len, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strlen(words[i]) == len && !strncasecmp(words[i], text, len))
            return i;
    return -1;
}

static int state_parse(const struct conf_value *v, struct conf_part *p, struct err *err)
{
    if (!v->text || !*v->text)
        return 0;
    int i = word_find(v->text, strlen(v->text), state_words, 4);
    if (i < 0)
        return conf_fail(v->at, err, "State=%s: expected UP, DOWN, DRAIN or INACTIVE", v->text);
    p->state = (enum conf_part_state)i;
    return 0;
}

int conf_part_set_share(struct conf_part *p, const char *text, struct err *err)
{
    long long jobs = SHARE_MAX_DEFAULT;
    if (!text || !*text)
        return 0;
    size_t len = strcspn(text, ":");
    int i = word_find(text, len, share_words, 4);
    bool counts = i == CONF_SHARE_YES || i == CONF_SHARE_FORCE;
    if (i < 0 || (text[len] && !counts))
        return err_set(err, -ERR_PARSE,
                       "OverSubscribe=%s: expected NO, YES[:JOBS], FORCE[:JOBS] or EXCLUSIVE",
                       text);
    if (text[len] && str_parse_i64(text + len + 1, 1, 65533, &jobs) < 0)
        return err_set(err, -ERR_PARSE, "OverSubscribe=%s: the number of jobs is 1 to 65533", text);
    p->share = (enum conf_oversubscribe)i;
    p->share_max = counts ? (uint32_t)jobs : 1;
    return 0;
}

static int share_parse(const struct conf_value *v, struct conf_part *p, struct err *err)
{
    struct err why = {0};
    p->share_max = 1;
    if (conf_part_set_share(p, v->text, &why) == 0)
        return 0;
    return conf_fail(v->at, err, "%s", why.text);
}

const struct bitset *conf_find_node_set(const struct conf *c, const char *name)
{
    vec_foreach (&c->node_sets, one)
        if (!strcmp(one->name, name))
            return one->nodes;
    return NULL;
}

/* Adds the nodes of an expression to the set. 'what' is the key, for messages. */
static int nodes_add(struct conf_loader *l, bool with_sets, const char *what,
                     const struct conf_value *v, struct bitset *out, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    char buf[HOSTLIST_NAME_MAX + 1];
    struct err inner = {0};

    assert(v->text);
    if (!strcasecmp(v->text, "ALL")) {
        bitset_fill(out);
        return 0;
    }
    if (hostlist_parse(v->text, &list, &inner) < 0)
        return conf_fail(v->at, err, "%s=%s: %s", what, v->text, inner.text);
    size_t count = hostlist_count(list);
    for (size_t i = 0; i < count; i++) {
        long found = conf_find_node(l->conf, hostlist_nth(list, i, buf));
        const struct bitset *set = found < 0 && with_sets ? conf_find_node_set(l->conf, buf) : NULL;
        int rc = found < 0 && !set ? conf_add_function(l->conf, buf, out, &inner) : 0;
        if (rc < 0)
            return conf_fail(v->at, err, "%s=%s: %s", what, v->text, inner.text);
        if (rc > 0)
            continue;
        if (found >= 0)
            bitset_set(out, (size_t)found);
        else if (set)
            bitset_or(out, set);
        else if (!strcasecmp(buf, "ALL"))
            bitset_fill(out);
        else
            return conf_fail(v->at, err, "%s=%s: node %s is not defined by any NodeName line", what,
                             v->text, buf);
    }
    return 0;
}

static int sets_build(struct conf_loader *l, struct err *err)
{
    vec_foreach (&l->sets.row, row) {
        struct conf_node_set one = {.name = row->value[CONF_SET_NAME].text};
        const struct conf_value *nodes = &row->value[CONF_SET_NODES];
        const char *feature = row->value[CONF_SET_FEATURE].text;
        if (conf_find_node(l->conf, one.name) >= 0)
            return conf_fail(row->at, err, "NodeSet=%s is the name of a node, too", one.name);
        if (conf_find_node_set(l->conf, one.name))
            return conf_fail(row->at, err, "NodeSet=%s is defined twice", one.name);
        if (!nodes->text && !feature)
            return conf_fail(row->at, err, "NodeSet=%s: give Nodes or Feature", one.name);
        one.nodes = bitset_new(l->conf->nodes.len);
        vec_push(&l->conf->node_sets, one);
        if (feature)
            add_feature(l->conf, feature, one.nodes);
        int rc = nodes->text ? nodes_add(l, false, "Nodes", nodes, one.nodes, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Lists of allowed users and groups: ALL means no restriction. */
static void lists_normalize(struct conf_part *p)
{
    const char **const lists[] = {&p->allow_groups, &p->allow_accounts, &p->allow_qos,
                                  &p->allow_alloc_nodes};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (*lists[i] && !strcasecmp(*lists[i], "ALL"))
            *lists[i] = NULL;
}

/* Exclusive is the newer spelling of three keys and overrides them. */
static int exclusive_parse(const struct conf_value *v, struct conf_part *p, struct err *err)
{
    if (!v->text || !*v->text || !strcasecmp(v->text, "NO") || !strcasecmp(v->text, "NONE"))
        return 0;
    if (!strcasecmp(v->text, "NODE"))
        p->share = CONF_SHARE_EXCLUSIVE;
    else if (!strcasecmp(v->text, "USER"))
        p->exclusive_user = true;
    else if (!strcasecmp(v->text, "TOPO"))
        p->exclusive_topo = true;
    else
        return conf_fail(v->at, err, "Exclusive=%s: expected NO, NONE, NODE, USER or TOPO",
                         v->text);
    return 0;
}

static int members_parse(struct conf_loader *l, const struct conf_row *row, struct conf_part *p,
                         struct err *err)
{
    conf_value_defaults(conf_part_keys, CONF_PART_KEYS, p);
    p->disable_root = l->conf->disable_root_jobs;
    const struct conf_value *both = &row->value[CONF_PART_PRIORITY];
    long long priority = 0;
    if (both->text && *both->text && str_parse_i64(both->text, 0, 65533, &priority) == 0)
        p->priority_tier = p->priority_job_factor = (uint32_t)priority;
    for (size_t i = 0; i < CONF_PART_KEYS; i++) {
        const struct conf_value *v = &row->value[i];
        if (conf_part_keys[i].offset == CONF_NO_OFFSET || !v->text)
            continue;
        int rc = conf_value_parse(&conf_part_keys[i], v, p, err);
        if (rc < 0)
            return rc;
    }
    if (p->over_time_limit_sec == INT64_MAX) /* UNLIMITED: the partition has no limit of its own */
        p->over_time_limit_sec = CONF_PART_OVER_UNSET;
    if (p->over_time_limit_sec > CONF_PART_OVER_MAX_SEC)
        return conf_fail(row->value[CONF_PART_KEY_over_time_limit_sec].at, err,
                         "OverTimeLimit is at most %d minutes", CONF_PART_OVER_MAX_SEC / 60);
    int rc = state_parse(&row->value[CONF_PART_STATE], p, err);
    if (rc == 0)
        rc = share_parse(&row->value[CONF_PART_SHARE], p, err);
    if (rc == 0)
        rc = exclusive_parse(&row->value[CONF_PART_EXCLUSIVE], p, err);
    p->exclusive_user = p->exclusive_user && !p->exclusive_topo;
    return rc;
}

const char *conf_part_name_fault(const char *name)
{
    if (!*name || strlen(name) > CONF_PART_NAME_MAX)
        return "a name has 1 to 255 characters";
    for (const char *c = name; *c; c++)
        if (iscntrl((unsigned char)*c) || isspace((unsigned char)*c) || strchr(",=/|\"#\\", *c))
            return "a name holds no blanks and none of , = / | \" # \\";
    return NULL;
}

void conf_part_init(struct conf_part *p, const char *name)
{
    *p = (struct conf_part){.name = name, .nodes = "", .file = "scontrol", .share_max = 1};
    conf_value_defaults(conf_part_keys, CONF_PART_KEYS, p);
    lists_normalize(p);
}

static int name_check(const struct conf_row *row, const char *name, struct err *err)
{
    const char *fault = conf_part_name_fault(name);
    return fault ? conf_fail(row->at, err, "PartitionName=%s: %s", name, fault) : 0;
}

/* Whether it is one of the four values that are valid for a partition. */
static bool is_part_select_value(int bits)
{
    unsigned units = CONF_CR_CORE | CONF_CR_SOCKET;
    return bits > 0 && (unsigned)bits & units && !((unsigned)bits & ~(units | CONF_CR_MEMORY));
}

const char *conf_part_select_parameters(const struct conf *c, const struct conf_part *p)
{
    bool may = c->select == CONF_SELECT_CONS && c->cr & (CONF_CR_CORE | CONF_CR_SOCKET);
    const char *own = p ? p->select_type_parameters : NULL;
    const struct conf_place nowhere = {0};
    int bits = may && own ? conf_cr_parse(own, nowhere, NULL) : 0;
    return is_part_select_value(bits) ? own : NULL;
}

/* Returns the partition's SelectTypeParameters, or the cluster's. */
static unsigned find_cr(const struct conf *c, const struct conf_part *p)
{
    const char *own = conf_part_select_parameters(c, p);
    const struct conf_place nowhere = {0};
    return own ? (unsigned)conf_cr_parse(own, nowhere, NULL) : c->cr;
}

bool conf_part_counts_memory(const struct conf *c, const struct conf_part *p)
{
    return find_cr(c, p) & CONF_CR_MEMORY;
}

bool conf_part_gives_sockets(const struct conf *c, const struct conf_part *p)
{
    return c->cr & CONF_CR_CORE && find_cr(c, p) & CONF_CR_SOCKET;
}

/* Warns of words that do not override the cluster's value. */
static int check_select_parameters(struct conf_loader *l, const struct conf_value *v,
                                   const struct conf_part *p, struct err *err)
{
    const struct conf *c = l->conf;
    const char *own = p->select_type_parameters;
    int bits = own ? conf_cr_parse(own, v->at, NULL) : 0;
    if (bits < 0)
        return conf_fail(v->at, err,
                         "partition %s: SelectTypeParameters=%s: use CR_Core or CR_Socket, each "
                         "with _Memory or without",
                         p->name, own);
    if (!own)
        return 0;
    conf_cr_warn(l, own, v->at);
    unsigned units = (unsigned)bits & (CONF_CR_CORE | CONF_CR_SOCKET);
    if (!bits && str_case_eq(own, "NONE"))
        return 0;
    if (!is_part_select_value(bits))
        conf_warn(l, v->at,
                  "partition %s: SelectTypeParameters=%s is ignored: use CR_Core or CR_Socket, "
                  "each with _Memory or without",
                  p->name, own);
    else if (!conf_part_select_parameters(c, p))
        conf_warn(l, v->at,
                  "partition %s: SelectTypeParameters=%s is ignored: that of the cluster is not "
                  "CR_Core or CR_Socket",
                  p->name, own);
    else if (units & CONF_CR_CORE && c->cr & CONF_CR_SOCKET)
        conf_warn(l, v->at,
                  "partition %s: SelectTypeParameters=%s: its jobs are given sockets, as those of "
                  "the cluster; only whether memory is counted is its own",
                  p->name, own);
    else if (conf_part_gives_sockets(c, p) &&
             (p->share == CONF_SHARE_FORCE || p->share == CONF_SHARE_YES))
        conf_warn(l, v->at,
                  "partition %s: SelectTypeParameters=%s: jobs that may share cores "
                  "(OverSubscribe) are given cores",
                  p->name, own);
    return 0;
}

/* Checks keys of a partition against each other. */
static int part_check(struct conf_loader *l, const struct conf_row *row, struct conf_part *p,
                      struct err *err)
{
    if (p->default_time_sec > p->max_time_sec)
        return conf_fail(row->at, err, "partition %s: DefaultTime=%s exceeds MaxTime=%s", p->name,
                         row->value[CONF_PART_KEY_default_time_sec].text,
                         row->value[CONF_PART_KEY_max_time_sec].text);
    if (p->min_nodes > p->max_nodes)
        return conf_fail(row->at, err, "partition %s: MinNodes=%s exceeds MaxNodes=%s", p->name,
                         row->value[CONF_PART_KEY_min_nodes].text,
                         row->value[CONF_PART_KEY_max_nodes].text);
    if (p->def_mem_per_cpu_mib && p->def_mem_per_node_mib) {
        conf_warn(l, row->at,
                  "partition %s: DefMemPerCPU and DefMemPerNode exclude each other; "
                  "DefMemPerCPU holds",
                  p->name);
        p->def_mem_per_node_mib = 0;
    }
    if (p->max_mem_per_cpu_mib && p->max_mem_per_node_mib) {
        conf_warn(l, row->at,
                  "partition %s: MaxMemPerCPU and MaxMemPerNode exclude each other; "
                  "MaxMemPerCPU holds",
                  p->name);
        p->max_mem_per_node_mib = 0;
    }
    if (conf_cpu_bind_check(&row->value[CONF_PART_KEY_cpu_bind], p->name, err) < 0)
        return -ERR_CONFIG;
    int wrong = conf_preempt_part_check(l, &row->value[CONF_PART_KEY_preempt_mode], p->name, err);
    if (wrong < 0)
        return wrong;
    int weights = conf_tres_check_billing(p->tres_billing_weights,
                                          row->value[CONF_PART_KEY_tres_billing_weights].at, err);
    if (weights < 0)
        return weights;
    if (p->job_defaults) {
        int rc = conf_job_defaults_parse(p->job_defaults, row->value[CONF_PART_KEY_job_defaults].at,
                                         &p->def_cpu_per_gpu, &p->def_mem_per_gpu_mib, err);
        if (rc < 0)
            return rc;
    }
    p->job_defaults = NULL; /* now stored in the two keys */
    return check_select_parameters(l, &row->value[CONF_PART_KEY_select_type_parameters], p, err);
}

static int part_add(struct conf_loader *l, const struct conf_row *row, struct err *err)
{
    const struct conf_value *nodes = &row->value[CONF_PART_NODES];
    struct conf_part p = {.name = row->value[CONF_PART_NAME].text,
                          .nodes = nodes->text ? nodes->text : "",
                          .file = row->at.file,
                          .line = row->at.line};
    int rc = name_check(row, p.name, err);

    if (rc == 0)
        rc = members_parse(l, row, &p, err);
    if (rc == 0)
        rc = part_check(l, row, &p, err);
    if (rc < 0)
        return rc;
    lists_normalize(&p);
    p.node_set = bitset_new(l->conf->nodes.len);
    vec_push(&l->conf->parts, p); /* from now on conf_free() frees the set */
    return *p.nodes ? nodes_add(l, true, "Nodes", nodes, p.node_set, err) : 0;
}

/* At most one default partition: the last. */
static void default_settle(struct conf_loader *l)
{
    struct conf_part *chosen = NULL;

    vec_foreach (&l->conf->parts, p) {
        if (!p->is_default)
            continue;
        if (chosen) {
            conf_warn(l, (struct conf_place){p->file, p->line},
                      "partition %s has Default=YES, as has %s (%s:%d); %s is the default", p->name,
                      chosen->name, chosen->file, chosen->line, p->name);
            chosen->is_default = false;
        }
        chosen = p;
    }
}

static int alternates_check(const struct conf *c, struct err *err)
{
    vec_foreach (&c->parts, p)
        if (p->alternate && conf_find_part(c, p->alternate) < 0) {
            return conf_fail((struct conf_place){p->file, p->line}, err,
                             "partition %s: Alternate=%s is not a partition", p->name,
                             p->alternate);
        }
    return 0;
}

static int topologies_check(const struct conf *c, struct err *err)
{
    vec_foreach (&c->parts, p)
        if (p->topology && *p->topology && conf_find_network(c, p->topology) < 0)
            return conf_fail((struct conf_place){p->file, p->line}, err,
                             "partition %s: unknown topology '%s': see topology.yaml", p->name,
                             p->topology);
    return 0;
}

static int index_build(struct conf_loader *l, struct err *err)
{
    struct conf *c = l->conf;

    conf_index_reserve(&l->priv->part_index, c->parts.len);
    for (size_t i = 0; i < c->parts.len; i++) {
        const struct conf_part *b = &c->parts.data[i];
        long first = conf_index_add(&l->priv->part_index, c->parts.data, sizeof(*b), i);
        if (first >= 0)
            return conf_fail((struct conf_place){b->file, b->line}, err,
                             "PartitionName=%s is defined twice, first at %s:%d", b->name,
                             c->parts.data[first].file, c->parts.data[first].line);
    }
    return 0;
}

int conf_part_build(struct conf_loader *l, struct err *err)
{
    int rc = sets_build(l, err);

    bool complete = true;

    vec_foreach (&l->parts.row, row) {
        if (rc < 0)
            return rc;
        rc = conf_go_on(l, part_add(l, row, err), err);
        complete = complete && rc == 0;
    }
    if (rc >= 0 && !complete)
        return l->first.code;
    if (rc == 0)
        rc = index_build(l, err);
    if (rc == 0)
        rc = alternates_check(l->conf, err);
    if (rc == 0)
        rc = topologies_check(l->conf, err);
    if (rc == 0)
        default_settle(l);
    return rc;
}
