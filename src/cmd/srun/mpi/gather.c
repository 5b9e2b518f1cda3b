/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/mpi/gather.h"

#include <stdbool.h>
#include <string.h>

#include "base/bitset.h"
#include "base/hash.h"
#include "base/mem.h"

struct group {
    UT_hash_handle hh;
    char *name;
    uint32_t *nodes;
    size_t node_count, arrived;
    struct bitset *wanted, *here;
    struct str data;
};

struct gather {
    uint32_t nodes;
    struct group *groups, *over; /* over: the group that was returned to the caller */
    struct Pb__PmixFence all;
    size_t bytes;
    uint64_t meetings; /* number of finished meetings */
};

struct gather *gather_new(uint32_t nodes)
{
    struct gather *g = mem_new(struct gather);

    g->nodes = nodes;
    return g;
}

static void group_free(struct group *m)
{
    if (m == NULL)
        return;
    bitset_free(m->wanted);
    bitset_free(m->here);
    str_done(&m->data);
    free(m->nodes);
    free(m->name);
    free(m);
}

void gather_free(struct gather *g)
{
    struct group *m, *next;

    if (g == NULL)
        return;
    HASH_ITER (hh, g->groups, m, next) {
        HASH_DEL(g->groups, m);
        group_free(m);
    }
    group_free(g->over);
    free(g);
}

static int group_new(struct gather *g, const struct Pb__PmixFence *part, struct group **out,
                     struct err *err)
{
    struct group *m;

    if (HASH_COUNT(g->groups) >= GATHER_GROUPS_MAX)
        return err_set(err, -ERR_LIMIT, "more than %u PMIx fences at a time", GATHER_GROUPS_MAX);
    m = mem_new(struct group);
    m->wanted = bitset_new(g->nodes);
    m->here = bitset_new(g->nodes);
    for (size_t i = 0; i < part->n_node; i++)
        if (part->node[i] < g->nodes)
            bitset_set(m->wanted, part->node[i]);
    m->node_count = bitset_count(m->wanted);
    if (m->node_count != part->n_node) {
        group_free(m);
        return err_set(err, -ERR_PROTOCOL, "a PMIx fence of nodes that this step has not");
    }
    m->nodes = mem_dup(part->node, part->n_node * sizeof(*part->node));
    m->name = mem_strdup(part->group);
    HASH_ADD_KEYPTR(hh, g->groups, m->name, strlen(m->name), m);
    *out = m;
    return 0;
}

static int check_part(const struct gather *g, const struct group *m, uint32_t node,
                      const struct Pb__PmixFence *part, struct err *err)
{
    if (node >= g->nodes || !bitset_test(m->wanted, node) || part->n_node != m->node_count ||
        memcmp(part->node, m->nodes, m->node_count * sizeof(*m->nodes)) != 0)
        return err_set(err, -ERR_PROTOCOL, "PMIx fence %.40s is of other nodes", m->name);
    if (bitset_test(m->here, node))
        return err_set(err, -ERR_PROTOCOL, "a node is in PMIx fence %.40s twice", m->name);
    if (part->data.len > GATHER_GROUP_MAX - m->data.len ||
        part->data.len > GATHER_BYTES_MAX - g->bytes)
        return err_set(err, -ERR_LIMIT, "PMIx: more than %u bytes in one fence", GATHER_GROUP_MAX);
    return 0;
}

static void complete_group(struct gather *g, struct group *m)
{
    HASH_DEL(g->groups, m);
    group_free(g->over);
    g->over = m;
    g->bytes -= m->data.len;
    pb__pmix_fence__init(&g->all);
    g->all.group = m->name;
    g->all.has_context = 1;
    g->all.context = ++g->meetings;
    g->all.node = m->nodes;
    g->all.n_node = m->node_count;
    g->all.has_data = 1;
    g->all.data.data = (uint8_t *)m->data.data;
    g->all.data.len = m->data.len;
}

int gather_part(struct gather *g, uint32_t node, const struct Pb__PmixFence *part,
                const struct Pb__PmixFence **all, struct err *err)
{
    struct group *m;
    int code = 0;

    HASH_FIND(hh, g->groups, part->group, strlen(part->group), m);
    if (m == NULL)
        code = group_new(g, part, &m, err);
    if (code == 0)
        code = check_part(g, m, node, part, err);
    if (code < 0)
        return code;
    bitset_set(m->here, node);
    str_append(&m->data, part->data.data, part->data.len);
    g->bytes += part->data.len;
    if (++m->arrived < m->node_count)
        return 0;
    complete_group(g, m);
    *all = &g->all;
    return 1;
}
