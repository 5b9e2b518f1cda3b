/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/resource_kind.h"

#include "cluster/cluster.h"

static const struct resource_ops *const kinds[] = {
#define RESOURCE(id, scope, noun, ...) &resource_##noun,
#include "cluster/resource/resource_kind.def"
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int resource_possible(const struct cluster *c, const struct job *j, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < KINDS && rc == 0; i++)
        if (kinds[i]->possible)
            rc = kinds[i]->possible(c, j, err);
    return rc;
}

int resource_set_possible(const struct cluster *c, const struct job *any, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < KINDS && rc == 0; i++)
        if (kinds[i]->set_possible)
            rc = kinds[i]->set_possible(c, any, err);
    return rc;
}

void resource_take(struct cluster *c, struct job *j)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->take)
            kinds[i]->take(c, j);
    if (attempt_of(j)->resv)
        resource_use_reserved(c, attempt_of(j)->resv, j, 1);
}

void resource_give_back(struct cluster *c, struct job *j)
{
    if (attempt_of(j)->resv)
        resource_use_reserved(c, attempt_of(j)->resv, j, -1);
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->give_back)
            kinds[i]->give_back(c, j);
}

void resource_use_reserved(const struct cluster *c, struct resv *r, const struct job *j, int by)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->use_reserved)
            kinds[i]->use_reserved(c, r, j, by);
}

void resource_follow_node(struct cluster *c, struct job *j, uint32_t node, int by)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->follow_node)
            kinds[i]->follow_node(c, j, node, by);
}

int resource_check(const struct cluster *c, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < KINDS && rc == 0; i++)
        if (kinds[i]->check)
            rc = kinds[i]->check(c, err);
    return rc;
}

void resource_pack(const struct cluster *c, const struct job *j, Pb__JobLive *m,
                   struct arena *arena)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->pack)
            kinds[i]->pack(c, j, m, arena);
}

void resource_restore(const struct cluster *c, struct job *j, const Pb__JobLive *m)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->restore)
            kinds[i]->restore(c, j, m);
}

bool resource_differs(const struct cluster *c, const struct job *j, const Pb__JobLive *m)
{
    bool differs = false;
    for (size_t i = 0; i < KINDS && !differs; i++)
        differs = kinds[i]->differs && kinds[i]->differs(c, j, m);
    return differs;
}
