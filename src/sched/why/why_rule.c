/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rule that keeps a job from starting. */
#include "sched/common.h"
#include "sched/plan/depth.h"
#include "sched/plan/preempt.h"
#include "sched/plan/set_turn.h"
#include "sched/select/select.h"
#include "sched/why/why_state.h"

#define ANYTHING (RELAX_OF_REQUEST | RELAX_BIT(PARTITION) | RELAX_BIT(PRIORITY))

static const struct {
    const char *word, *sentence;
    enum reason reason;
    uint32_t kinds;
} rules[WHY_RULES] = {
#define WHY(id, word_, reason_, kinds_, sentence_)                                                 \
    [WHY_##id] = {word_, sentence_, REASON_##reason_, kinds_},
#include "sched/why/why.def"
#undef WHY
};

const char *why_word(enum why_rule rule)
{
    return rules[rule].word;
}

const char *why_sentence(enum why_rule rule)
{
    return rules[rule].sentence;
}

enum reason why_reason(enum why_rule rule)
{
    return rules[rule].reason;
}

bool why_is_of_common(enum why_rule rule)
{
    return common_has_reason(rules[rule].reason);
}

uint32_t why_kinds(enum why_rule rule)
{
    return rules[rule].kinds;
}

bool why_is_before_nodes(enum why_rule rule)
{
    return rule > WHY_OTHER && rules[rule].kinds != ANYTHING;
}

bool why_rule_of_reason(enum reason reason, enum why_rule *rule)
{
    for (int i = 0; reason && i < WHY_RULES; i++)
        if (rules[i].reason == reason) {
            *rule = (enum why_rule)i;
            return true;
        }
    return false;
}

struct bitset *why_allowed_nodes(const struct why *w, const struct job *j)
{
    struct bitset *set = select_candidates(w->cluster, j);
    bitset_and(set, w->cluster->pool.usable);
    resv_restrict(resv_home(j), set);
    return set;
}

/* The job fits on these nodes. Either reservations block it or something else. */
static enum why_rule rule_of_reservations(const struct why *w, const struct job *j,
                                          struct bitset *allowed, enum why_rule otherwise)
{
    struct selection where = {0};
    const struct resv *in = resv_home(j);
    struct resv_plan *r = w->plan.resv;
    if (!resv_narrow(r, j, in, w->now_sec, allowed))
        return WHY_RESERVATION;
    const struct free_view *view = resv_view(r, j, in, w->now_sec, &w->cluster->pool.now);
    bool fits = select_nodes(w->cluster, j, allowed, view, &where) == 0;
    select_done(&where);
    return fits ? otherwise : WHY_RESERVED;
}

/* Whether the job starts, or would start, by preemption: asks the planner about a job waiting in
 * its place, without keeping the result. */
static bool find_preemption_rule(struct why *w, const struct job *j, enum why_rule *rule)
{
    struct plan *p = &w->plan;
    struct bitset *kept = p->kept ? bitset_dup(p->kept) : NULL;
    size_t in_vain = p->preempted_in_vain.len;
    int64_t look_at = 0;
    p->asks = true; /* notes about the job belong to another request */
    bool found = depth_is_served(p, j) && preempt_look(p, j, &look_at);
    p->asks = false;
    bitset_free(p->kept);
    p->kept = kept;
    p->preempted_in_vain.len = in_vain;
    *rule = !found ? WHY_EXEMPT : p->victims.len ? WHY_DISPLACES : WHY_ROOM;
    vec_clear(&p->victims);
    return found || look_at;
}

/* For a job that waits for resources only. */
static enum why_rule rule_of_needs(struct why *w, const struct job *j, bool of_set)
{
    const struct plan *p = &w->plan;
    enum why_rule room, rule;
    struct selection where = {0};
    _cleanup_bitset_ struct bitset *allowed = why_allowed_nodes(w, j);
    if (of_set && w->set.never)
        return WHY_APART;
    if (of_set && w->set.unusable)
        return WHY_UNUSABLE;
    if ((p->blocked && !p->backfill) || set_turn_is_kept_out(p, j))
        return WHY_ORDER;
    if (p->backfill && depth_is_reached(p))
        return WHY_DEPTH;
    if (!of_set && find_preemption_rule(w, j, &room)) /* sets do not preempt */
        return room;
    if (!select_fits_idle(w->cluster, j, allowed))
        return select_possible(w->cluster, j, NULL) != 0 ? WHY_BAD_CONSTRAINTS : WHY_UNUSABLE;
    if (w->set.together)
        return WHY_TOGETHER;
    const struct resv *home = resv_home(j);
    const struct free_view *now = &w->cluster->pool.now, *view = now;
    if (home && resv_in_parts(home)) /* other jobs of the reservation may hold its parts of nodes */
        view = resv_view(w->plan.resv, j, home, w->now_sec, now);
    bool fits = select_nodes(w->cluster, j, allowed, view, &where) == 0;
    struct job any = *j;
    any.switches_waived = true;
    select_clear(&where);
    bool otherwise =
        !fits && j->want.switches && select_nodes(w->cluster, &any, allowed, view, &where) == 0;
    any.topology_waived = true;
    select_clear(&where);
    bool anywhere = !fits && !otherwise && select_topo(w->cluster, j) &&
                    select_nodes(w->cluster, &any, allowed, view, &where) == 0;
    select_done(&where);
    if (fits && why_rule_of_reason(
                    common_find_closed(&w->plan.claims, w->cluster, j, allowed, w->now_sec), &rule))
        return rule;
    if (fits)
        return rule_of_reservations(w, j, allowed, WHY_KEPT);
    if (otherwise || anywhere)
        return otherwise ? WHY_SWITCHES : WHY_TOPOLOGY;
    return w->head ? WHY_BEHIND : WHY_RESOURCES;
}

/* For a job that waits for licences: whether it would have them if no job held any. */
static enum why_rule rule_of_licenses(const struct why *w, const struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (need->at < 0)
            return WHY_LICENSE_GONE;
    return license_possible(w->cluster, j, NULL) == 0 ? WHY_LICENSES : WHY_TOO_FEW;
}

static bool may_have_alternative(const struct why *w, const struct job *j, uint32_t n)
{
    struct job_copy room;
    return license_possible(w->cluster, license_view_alternative(j, n, &room), NULL) == 0;
}

uint32_t why_choose_awaited(struct why *w, const struct job *j)
{
    uint32_t awaited = plan_choose_awaited(&w->plan, j);
    if (!j->want.licenses.any || may_have_alternative(w, j, awaited))
        return awaited;
    for (uint32_t n = 0; n < license_count_alternatives(j); n++)
        if (may_have_alternative(w, j, n))
            return n;
    return awaited;
}

enum why_rule why_find_rule(struct why *w, const struct job *leader, const struct job *j)
{
    bool queued = w->q.guest || job_partitions_is_queued(j);
    enum why_rule rule;
    struct job_copy same;
    struct decision d;
    if (why_rule_of_reason(j->reason, &rule) && !job_partitions_is_queued(j) &&
        j->state == PB__JOB_STATE__PENDING) /* otherwise a guest has no reason */
        return rule == WHY_PARTITION_DOWN && !j->part ? WHY_PART_GONE : rule;
    if (w->q.announced)
        return WHY_SHUTDOWN;
    if (j->state != PB__JOB_STATE__PENDING)
        return WHY_RETURNING;
    if (!queued || relax_make(w->cluster, j, w->spec, NULL, 0, &same) != 0)
        return j->want.req_gone ? WHY_REQ_NODE_NOT_AVAIL : WHY_OTHER;
    same.job.want.req_gone = j->want.req_gone;
    why_ask(w, leader, &same, &d);
    bool starts = d.kind == PLAN_START;
    const struct request *r = &same.job.want;
    if (starts)
        rule = WHY_NOW;
    else if (r->req && !bitset_contains(w->cluster->pool.usable, r->req))
        rule = WHY_REQ_NODE_NOT_AVAIL;
    else {
        if (j->in_set) {
            w->license = why_choose_awaited(w, &same.job);
            license_choose_alternative(&same.job, w->license);
        }
        if (!why_rule_of_reason(d.reason, &rule))
            rule = rule_of_needs(w, &same.job, j->in_set);
    }
    if (rule == WHY_LICENSES)
        rule = rule_of_licenses(w, j->in_set ? &same.job : j);
    plan_decision_done(&d);
    free(d.detail);
    relax_done(&same);
    return rule;
}
