/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/rlimits.h"

#include <sys/resource.h>

#include "cmd/common/opt.h"

static const struct {
    const char *name;
    int resource;
} table[] = {
    {"AS", RLIMIT_AS},         {"CORE", RLIMIT_CORE},   {"CPU", RLIMIT_CPU},
    {"DATA", RLIMIT_DATA},     {"FSIZE", RLIMIT_FSIZE}, {"MEMLOCK", RLIMIT_MEMLOCK},
    {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC}, {"RSS", RLIMIT_RSS},
    {"STACK", RLIMIT_STACK},
};
_Static_assert(sizeof(table) / sizeof(table[0]) == RLIMITS_MAX, "a row per limit");

void rlimits_init(struct rlimits *l, const char *propagate)
{
    l->count = 0;
    for (size_t i = 0; i < RLIMITS_MAX; i++) {
        struct Pb__Rlimit *item = &l->items[l->count];
        struct rlimit now;

        if (!opt_propagates(propagate, table[i].name) || getrlimit(table[i].resource, &now) < 0)
            continue;
        pb__rlimit__init(item);
        item->resource = (uint32_t)table[i].resource;
        item->soft = now.rlim_cur == RLIM_INFINITY ? UINT64_MAX : now.rlim_cur;
        item->hard = now.rlim_max == RLIM_INFINITY ? UINT64_MAX : now.rlim_max;
        l->list[l->count++] = item;
    }
}
