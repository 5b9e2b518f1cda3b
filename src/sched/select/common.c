/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/common.h"

static const struct {
    enum reason reason;
    const struct common_ops *ops;
} kinds[] = {
#define COMMON_RESOURCE(id, scope, noun, reason, ...) {REASON_##reason, &common_##noun},
#include "cluster/resource/resource_kind.def"
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

bool common_fits(const struct cluster *c, const struct job *j, const struct resv *in,
                 const struct selection *where, int64_t now_sec)
{
    bool fits = true;
    for (size_t i = 0; i < KINDS && fits; i++)
        fits = !kinds[i].ops->fits || kinds[i].ops->fits(c, j, in, where, now_sec);
    return fits;
}

enum reason common_find_closed(const struct license_claims *claims, const struct cluster *c,
                               const struct job *j, const struct bitset *allowed, int64_t now_sec)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].ops->leaves_nodes &&
            !kinds[i].ops->leaves_nodes(claims, c, j, allowed, now_sec))
            return kinds[i].reason;
    return REASON_NONE;
}

bool common_has_reason(enum reason reason)
{
    bool has = false;
    for (size_t i = 0; i < KINDS && !has; i++)
        has = kinds[i].reason == reason;
    return has;
}

bool common_find_short(const struct cluster *c, const struct job *j, enum reason reason,
                       int64_t now_sec, struct common_short *out)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].reason == reason && kinds[i].ops->find_short &&
            kinds[i].ops->find_short(c, j, now_sec, out)) {
            out->kind = kinds[i].ops;
            return true;
        }
    return false;
}
