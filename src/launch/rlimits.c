/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/rlimits.h"

#include <sys/resource.h>

#include "cli/opt.h"

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

static bool is_propagated(const char *limit, const char *given, const struct conf *conf)
{
    if (!given && conf->propagate_resource_limits_except)
        return !opt_propagates(conf->propagate_resource_limits_except, limit);
    return opt_propagates(given ? given : conf->propagate_resource_limits, limit);
}

void rlimits_init(struct rlimits *l, const char *given, const struct conf *conf)
{
    l->count = 0;
    for (size_t i = 0; i < RLIMITS_MAX; i++) {
        struct Pb__Rlimit *item = &l->items[l->count];
        struct rlimit now;

        if (!is_propagated(table[i].name, given, conf) || getrlimit(table[i].resource, &now) < 0)
            continue;
        pb__rlimit__init(item);
        item->resource = (uint32_t)table[i].resource;
        item->soft = now.rlim_cur == RLIM_INFINITY ? UINT64_MAX : now.rlim_cur;
        item->hard = now.rlim_max == RLIM_INFINITY ? UINT64_MAX : now.rlim_max;
        l->list[l->count++] = item;
    }
}
