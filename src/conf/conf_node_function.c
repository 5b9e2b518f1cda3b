/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions in host lists: feature{NAME}, and for networks block{NAME}, switch{NAME}, ring{NAME},
   torus{NAME}, blockwith{NODE}, switchwith{NODE}, ringwith{NODE} and toruswith{NODE}. */
#include <string.h>

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

void conf_add_feature(const struct conf *c, const char *feature, struct bitset *out)
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
        conf_add_feature(c, feature, out);
        return 1;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        _cleanup_free_ char *argument = conf_function_argument(word, functions[i].name);
        if (argument)
            return add_unit(c, &functions[i], argument, out, err);
    }
    return 0;
}
