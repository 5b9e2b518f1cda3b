/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The effect of a constraint on a selection: evaluated once per kind of node. */
#include <stdlib.h>

#include "sched/select/select.h"

void select_keep_matching(const struct cluster *c, const struct constraint *con, uint32_t which,
                          struct bitset *set)
{
    _cleanup_free_ bool *good = mem_new_array(bool, c->pool.kinds.len + 1);
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        good[k] = constraint_match(con, c->pool.kinds.data[k].features, which);
    select_keep_kinds(c, good, set);
}

void select_counts_init(struct select_counts *s, const struct cluster *c,
                        const struct constraint *con)
{
    *s = (struct select_counts){0};
    struct choose_counts *counts = &s->counts;
    counts->sorts = constraint_counts(con);
    if (!counts->sorts)
        return;
    s->of = mem_new_array(uint8_t, c->pool.kinds.len + 1);
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        s->of[k] = constraint_counted(con, c->pool.kinds.data[k].features);
    for (uint32_t i = 0; i < counts->sorts; i++)
        counts->nodes[i] = constraint_count(con, i);
    counts->of = s->of;
    counts->kind = c->pool.kind;
    counts->apart = constraint_counts_apart(con);
    s->given = counts;
}

void select_counts_done(struct select_counts *s)
{
    free(s->of);
}

static uint32_t nodes_of_sort(const struct cluster *c, const struct part *p,
                              const struct constraint *con, uint32_t sort)
{
    _cleanup_free_ uint32_t *count = pool_count_kinds(&c->pool, p->nodes);
    uint32_t nodes = 0;
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        if (count[k] && constraint_counted(con, c->pool.kinds.data[k].features) >> sort & 1)
            nodes += count[k];
    return nodes;
}

int select_check_constraint(const struct cluster *c, const struct part *p,
                            const struct constraint *con, struct err *err)
{
    int rc = constraint_check(c, con, err);
    for (uint32_t i = 0; i < constraint_counts(con) && rc == 0; i++) {
        uint32_t asked = constraint_count(con, i), nodes = nodes_of_sort(c, p, con, i);
        if (asked > nodes)
            rc = err_set(err, -ERR_NODE_CONFIG,
                         "%s: count %u of the constraint asks for %u nodes, partition %s has %u "
                         "of them",
                         err_text(ERR_NODE_CONFIG), i + 1, asked, p->conf.name, nodes);
    }
    return rc;
}
