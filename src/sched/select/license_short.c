/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of what a job needs as licences, the pool that keeps it from its start. */
#include "base/hostlist.h"
#include "cluster/job/license_tied.h"
#include "cluster/resv/license_kept.h"
#include "sched/common.h"
#include "sched/plan.h"
#include "sched/select/resv.h"

/* How far a pool is from what the job needs; the larger the grade, the surer it is the one. */
enum grade {
    GRADE_ENOUGH,   /* it does not keep the job */
    GRADE_NEVER,    /* it does, and never has enough: the job may have other nodes */
    GRADE_CROWDED,  /* counted by nodes: it cannot have all of its nodes that the job might have */
    GRADE_SHORT,    /* it keeps the job from some of the nodes */
    GRADE_REQUIRED, /* it keeps the job from nodes that the job must have */
};

struct shortage {               /* of a need */
    const struct license *pool; /* that keeps the job from its start; NULL: it is not configured */
    uint64_t have, need;
};

struct look {
    const struct cluster *c;
    const struct job *j;
    const struct license_need *need;
    const struct bitset *candidates;
    uint64_t nodes; /* that the job needs at least */
    int64_t now_sec;
};

static uint64_t count_free(const struct look *k, int32_t at)
{
    const struct license *l = &k->c->licenses.list.data[at];
    uint64_t taken = l->used + license_kept(k->c, at, resv_home(k->j), k->now_sec,
                                            job_ends_at(k->j, k->now_sec));
    return l->total > taken ? l->total - taken : 0;
}

/* Nodes of the pool that the job has wherever it runs. */
static uint64_t count_certain(const struct look *k, const struct license *l)
{
    uint64_t in = bitset_count_and(k->candidates, l->nodes),
             outside = bitset_count(k->candidates) - in,
             rest = k->nodes > outside ? k->nodes - outside : 0,
             required = k->j->want.req ? bitset_count_and(k->j->want.req, l->nodes) : 0;
    return rest > required ? rest : required;
}

static enum grade grade_tied(const struct look *k, const struct license *l, struct shortage *s)
{
    uint64_t in = bitset_count_and(k->candidates, l->nodes), certain = count_certain(k, l);
    if (!in)
        return GRADE_ENOUGH;
    if (license_is_per_node(l) && !certain) {
        uint64_t has = k->need->count ? s->have / k->need->count : in;
        s->need = (has + 1) * k->need->count;
        return has < in && has < k->nodes ? GRADE_CROWDED : GRADE_ENOUGH;
    }
    if (license_is_per_node(l))
        s->need = certain * k->need->count;
    if (s->have >= s->need)
        return GRADE_ENOUGH;
    bool is_required = certain && !license_has_payer(l);
    return is_required ? GRADE_REQUIRED : l->total < s->need ? GRADE_NEVER : GRADE_SHORT;
}

/* Where one pool pays, one with enough is sufficient: it has a node that the job may have. */
static bool is_sufficient(const struct look *k, const struct license *l, const struct shortage *s)
{
    const struct bitset *required = k->j->want.req;
    bool may_have_others = !required || bitset_count(required) < k->nodes;
    return l->nodes && license_has_payer(l) && s->have >= s->need &&
           bitset_intersects(may_have_others ? k->candidates : required, l->nodes);
}

/* Where one pool pays, one with enough would do: the one that lacks the least. Otherwise the one
 * that keeps the job from the most nodes, of several the one that lacks the most. */
static bool is_nearer(const struct look *k, const struct license *l, const struct shortage *s,
                      const struct shortage *than)
{
    if (license_has_payer(l) || !l->nodes)
        return s->have > than->have;
    uint64_t in = bitset_count_and(k->candidates, l->nodes),
             other = bitset_count_and(k->candidates, than->pool->nodes);
    return in != other ? in > other : s->need - s->have > than->need - than->have;
}

/* False: no pool keeps the job from its start, and *out is one of the pools. */
static bool find_short_pool(const struct cluster *c, const struct job *j,
                            const struct license_need *need, int64_t now_sec, struct shortage *out)
{
    _cleanup_bitset_ struct bitset *candidates = select_candidates(c, j);
    uint32_t least = j->part->conf.min_nodes;
    least = j->want.min_nodes > least ? j->want.min_nodes : least;
    struct look k = {c, j, need, candidates, least, now_sec};
    enum grade best = GRADE_ENOUGH;
    *out = (struct shortage){.need = need->count};
    for (int32_t i = 0; need->at >= 0 && i < (int32_t)c->licenses.list.data[need->at].pools; i++) {
        const struct license *l = &c->licenses.list.data[need->at + i];
        struct shortage s = {l, count_free(&k, need->at + i), need->count};
        enum grade grade = l->nodes               ? grade_tied(&k, l, &s)
                           : s.have < need->count ? GRADE_REQUIRED
                                                  : GRADE_ENOUGH;
        if (is_sufficient(&k, l, &s)) {
            *out = s;
            return false;
        }
        if (out->pool && (grade < best || (grade == best && !is_nearer(&k, l, &s, out))))
            continue;
        *out = s;
        best = grade;
    }
    return need->at < 0 || best > GRADE_ENOUGH;
}

char *license_name_pool(const struct cluster *c, const struct license_need *need,
                        const struct license *l)
{
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    _cleanup_str_ struct str text = STR_INIT;
    if (!l || !l->nodes)
        return mem_printf("license:%s", need->name);
    if (l->conf) /* also with nodes that do not exist: so users and operators name it */
        return mem_printf("license:%s(%s)", need->name, l->conf->nodes);
    bitset_foreach (l->nodes, i)
        hostlist_push(list, c->nodes.data[i]->name);
    hostlist_format(list, &text);
    return mem_printf("license:%s(%s)", need->name, str_cstr(&text));
}

/* When the job is short of none, the last need stands for all: claims of others keep it. */
bool license_find_short(const struct cluster *c, const struct job *j, int64_t now_sec,
                        struct common_short *out)
{
    vec_foreach (&j->want.licenses.list, need) {
        struct shortage s;
        if (!find_short_pool(c, j, need, now_sec, &s) && need != &vec_last(&j->want.licenses.list))
            continue;
        *out = (struct common_short){
            .what = license_name_pool(c, need, s.pool),
            .have = s.have,
            .need = s.need,
            .at = s.pool ? (int32_t)(s.pool - c->licenses.list.data) : -1,
        };
        return true;
    }
    return false;
}
