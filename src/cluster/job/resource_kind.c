/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/resource_kind.h"

#include "cluster/cluster.h"

static const struct resource_kind kinds[] = {
#define RESOURCE(id, name, scope, ...) {name, RESOURCE_##scope, __VA_ARGS__},
#include "cluster/resource/resource_kind.def"
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const struct resource_kind *resource_kinds(size_t *count)
{
    *count = KINDS;
    return kinds;
}

int resource_possible(const struct cluster *c, const struct job *j, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < KINDS && rc == 0; i++)
        if (kinds[i].possible)
            rc = kinds[i].possible(c, j, err);
    return rc;
}

void resource_take(struct cluster *c, struct job *j)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].take)
            kinds[i].take(c, j);
    if (attempt_of(j)->resv)
        resv_use_licenses(c, attempt_of(j)->resv, j, 1);
}

void resource_give_back(struct cluster *c, struct job *j)
{
    if (attempt_of(j)->resv)
        resv_use_licenses(c, attempt_of(j)->resv, j, -1);
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].give_back)
            kinds[i].give_back(c, j);
}

void resource_follow_node(struct cluster *c, struct job *j, uint32_t node, int by)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].follow_node)
            kinds[i].follow_node(c, j, node, by);
}

int resource_check(const struct cluster *c, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < KINDS && rc == 0; i++)
        if (kinds[i].check)
            rc = kinds[i].check(c, err);
    return rc;
}
