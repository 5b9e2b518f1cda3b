/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice of nodes for a job that needs tied pools. license_narrow()
 * leaves nodes of which the job may have any: that is one choice among many, and the best one when
 * only the number of nodes matters and one resource counts it. Where the places of nodes matter
 * too, or where several resources count them, a search follows: it chooses without a look at the
 * pools, and where a pool does not have enough for the choice, it tries the choice without one of
 * the pool's nodes, and the choices that have this node. So it finds nodes whenever choose_nodes()
 * does, until its budget ends.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/job/license_tied.h"
#include "sched/license.h"
#include "sched/select/license_internal.h"
#include "sched/select/select.h"

#define BUDGET 200000 /* nodes that all choices of a search look at */
#define CHOICES_MIN 16
#define CHOICES_MAX 5000

struct tied_search {
    const struct cluster *c;
    const struct job *j;
    const struct free_view *view;
    struct chooser *ch;
    struct chooser given; /* its bounds as they were */
    bool counts_only;     /* the number of nodes and tasks matters, and not where they are */
    uint32_t left;        /* choices */
    uint32_t useful;      /* nodes that the job has use for */
    /* By node: equal where nodes have equal pools and take equal numbers of tasks. NULL: not asked
     * for yet. */
    uint64_t *sort;
    const struct bitset *open; /* the nodes of all branches */
    struct bitset *scratch;
};

struct branch { /* nodes that the job may have, and those of them that it must have */
    struct bitset *fits, *required;
};

static uint64_t room_of(const struct tied_search *s, const struct license_need *need, uint32_t i)
{
    return s->view->pools[need->at + (int32_t)i];
}

/* The tied pools of the need; NULL: it has none. */
static const struct license *find_tied(const struct tied_search *s, const struct license_need *need)
{
    return license_is_tied(s->c, need) ? &s->c->licenses.list.data[need->at] : NULL;
}

/* Those that give a job its count for each node. */
static const struct license *find_per_node(const struct tied_search *s,
                                           const struct license_need *need)
{
    const struct license *l = find_tied(s, need);
    return l && license_is_per_node(l) && need->count ? l : NULL;
}

/* The same, if no two of them overlap in part. */
static const struct license *find_tree(const struct tied_search *s, const struct license_need *need)
{
    const struct license *l = find_per_node(s, need);
    return l && l->is_tree ? l : NULL;
}

/* Those of which one pays. */
static const struct license *find_paying(const struct tied_search *s,
                                         const struct license_need *need)
{
    const struct license *l = find_tied(s, need);
    return l && license_has_payer(l) && need->count ? l : NULL;
}

static bool choose_within(struct tied_search *s, const struct bitset *fits,
                          const struct bitset *required)
{
    struct chooser *ch = s->ch;
    bitset_copy(ch->fits, fits);
    bitset_zero(ch->chosen);
    ch->count = 0;
    ch->sum = ch->sum_more = 0;
    ch->min = s->given.min;
    ch->max = s->given.max;
    ch->good = s->given.good;
    ch->required = bitset_empty(required) ? NULL : required;
    s->left -= s->left > 0;
    bool found = choose_nodes(ch);
    ch->required = s->given.required;
    return found;
}

/* --- what the pools leave ---------------------------------------------------------------------
 */

/* Removes the nodes of pools that have enough for the required ones alone. False: they do not. */
static bool leave_out_full(const struct tied_search *s, struct branch *b)
{
    vec_foreach (&s->j->want.licenses.list, need) {
        const struct license *l = find_per_node(s, need);
        for (uint32_t i = 0; l && i < l->pools; i++) {
            uint64_t most = room_of(s, need, i) / need->count;
            size_t has = license_count_in_scope(&l[i], b->required);
            if (has > most)
                return false;
            if (has == most)
                license_drop_scope(&l[i], b->fits);
        }
    }
    bitset_or(b->fits, b->required);
    return true;
}

/* Nodes of the set that have a pool with room for the need. */
static void find_paying_nodes(const struct tied_search *s, const struct license_need *need,
                              const struct bitset *among, struct bitset *out)
{
    const struct license *l = find_paying(s, need);
    bitset_zero(out);
    for (uint32_t i = 0; i < l->pools; i++)
        if (room_of(s, need, i) >= need->count)
            bitset_or(out, l[i].nodes);
    bitset_and(out, among);
}

/* Whether each resource by itself leaves enough. False: no choice within the branch does. */
static bool may_have_choice(struct tied_search *s, const struct branch *b)
{
    vec_foreach (&s->j->want.licenses.list, need) {
        if (find_paying(s, need)) {
            find_paying_nodes(s, need, b->fits, s->scratch);
            if (bitset_empty(s->scratch))
                return false;
        }
        if (!find_per_node(s, need))
            continue;
        bitset_copy(s->scratch, b->fits);
        license_trim(s->c, need, &s->view->pools[need->at], b->required, s->ch->tasks, s->scratch);
        uint64_t tasks = 0;
        bitset_foreach (s->scratch, i)
            tasks += s->ch->tasks[i];
        if (bitset_count(s->scratch) < s->given.min || tasks < s->given.need ||
            (s->counts_only && !choose_within(s, s->scratch, b->required)))
            return false;
    }
    return true;
}

/* --- which node decides ------------------------------------------------------------------------
 */

/* How many pools have too little for the choice because of each of its nodes. */
static bool count_conflicts(const struct tied_search *s, uint32_t *conflicts)
{
    bool any = false;
    const struct bitset *chosen = s->ch->chosen;
    vec_foreach (&s->j->want.licenses.list, need) {
        const struct license *l = find_per_node(s, need);
        for (uint32_t i = 0; l && i < l->pools; i++) {
            if (license_count_in_scope(&l[i], chosen) <= room_of(s, need, i) / need->count)
                continue;
            any = true;
            bitset_foreach (chosen, k)
                conflicts[k] += bitset_test(l[i].nodes, (size_t)k);
        }
    }
    return any;
}

/* Of the chosen ones that are not required, the node that the most pools have too little for; of
 * several, the one with the fewest tasks. -1: all pools have enough. */
static long find_conflict(const struct tied_search *s, const struct branch *b)
{
    _cleanup_free_ uint32_t *conflicts = mem_new_array(uint32_t, s->c->nodes.len + 1);
    long worst = -1;
    if (!count_conflicts(s, conflicts))
        return -1;
    bitset_foreach (s->ch->chosen, i)
        if (conflicts[i] && !bitset_test(b->required, (size_t)i) &&
            (worst < 0 || conflicts[i] > conflicts[worst] ||
             (conflicts[i] == conflicts[worst] && s->ch->tasks[i] < s->ch->tasks[worst])))
            worst = i;
    return worst;
}

/* A node that would pay for a need that no node of the choice pays for; -1: all are paid. */
static long find_payer(struct tied_search *s, const struct branch *b)
{
    long best = -1;
    vec_foreach (&s->j->want.licenses.list, need) {
        if (!find_paying(s, need))
            continue;
        find_paying_nodes(s, need, b->fits, s->scratch);
        if (bitset_intersects(s->scratch, s->ch->chosen))
            continue;
        bitset_foreach (s->scratch, i)
            if (best < 0 || s->ch->tasks[i] > s->ch->tasks[best])
                best = i;
        break;
    }
    return best;
}

/* --- the search --------------------------------------------------------------------------------
 */

static bool search_branch(struct tied_search *s, const struct branch *of);

static bool search_with(struct tied_search *s, const struct branch *of, size_t node, bool pays)
{
    if (pays && bitset_count(of->required) >= s->useful)
        return false;
    struct branch b = {of->fits, bitset_dup(of->required)};
    bitset_set(b.required, node);
    bool found = search_branch(s, &b);
    bitset_free(b.required);
    return found;
}

static uint64_t mix(uint64_t sum, uint64_t number)
{
    sum = (sum ^ number) * UINT64_C(0x9E3779B97F4A7C15);
    return sum ^ sum >> 32;
}

static void sort_nodes(struct tied_search *s)
{
    s->sort = mem_new_array(uint64_t, s->open->size + 1);
    bitset_foreach (s->open, i)
        s->sort[i] = s->ch->tasks[i];
    vec_foreach (&s->j->want.licenses.list, need) {
        const struct license *l = find_tied(s, need);
        for (uint32_t i = 0; l && i < l->pools; i++)
            bitset_foreach (l[i].nodes, k)
                s->sort[k] = mix(s->sort[k], (uint64_t)need->at + i);
    }
}

/* 'alike': in vain with the node, and so with all that are alike where only numbers count. */
static bool search_without(struct tied_search *s, const struct branch *of, size_t node, bool alike)
{
    struct branch b = {bitset_dup(of->fits), of->required};
    bitset_unset(b.fits, node);
    if (alike && !s->sort)
        sort_nodes(s);
    if (alike)
        bitset_foreach (of->fits, i)
            if (s->sort[i] == s->sort[node] && !bitset_test(b.required, (size_t)i))
                bitset_unset(b.fits, (size_t)i);
    bool found = search_branch(s, &b);
    bitset_free(b.fits);
    return found;
}

/* One resource after the other leaves what it has enough for. */
static bool choose_trimmed(struct tied_search *s, const struct branch *b)
{
    _cleanup_bitset_ struct bitset *set = bitset_dup(b->fits);
    vec_foreach (&s->j->want.licenses.list, need)
        if (find_per_node(s, need))
            license_trim(s->c, need, &s->view->pools[need->at], b->required, s->ch->tasks, set);
    return choose_within(s, set, b->required) && find_payer(s, b) < 0;
}

static bool search_branch(struct tied_search *s, const struct branch *of)
{
    if (!s->left)
        return false;
    struct branch b = {bitset_dup(of->fits), bitset_dup(of->required)};
    bool found = false;
    if (leave_out_full(s, &b) && may_have_choice(s, &b)) {
        found = choose_trimmed(s, &b);
        if (!found && choose_within(s, b.fits, b.required)) {
            long payer = find_payer(s, &b), conflict = payer < 0 ? find_conflict(s, &b) : -1;
            size_t node = (size_t)(payer < 0 ? conflict : payer);
            if (payer < 0 && conflict < 0)
                found = true;
            else if (payer >= 0 || s->counts_only)
                found = search_with(s, &b, node, payer >= 0) ||
                        search_without(s, &b, node, s->counts_only);
            else
                found = search_without(s, &b, node, false) || search_with(s, &b, node, false);
        }
    }
    bitset_free(b.fits);
    bitset_free(b.required);
    return found;
}

/* Whether one pool pays for the need on whichever of the nodes the job runs. */
static bool is_paid_anywhere(const struct tied_search *s, const struct license_need *need,
                             const struct bitset *fits)
{
    const struct license *l = find_paying(s, need);
    bool paid = false;
    for (uint32_t i = l->pools; i-- > 0 && !paid;)
        paid = room_of(s, need, i) >= need->count && bitset_contains(l[i].nodes, fits);
    return paid;
}

/* Needs for which the choice of nodes matters: counts of them. */
static void count_needs(const struct tied_search *s, const struct bitset *fits, uint32_t *per_node,
                        uint32_t *paying)
{
    *per_node = *paying = 0;
    vec_foreach (&s->j->want.licenses.list, need) {
        *per_node += find_per_node(s, need) != NULL;
        *paying += find_paying(s, need) && !is_paid_anywhere(s, need, fits);
    }
}

/* Whether license_narrow() leaves the best nodes there are, so that no other choice would do. */
static bool is_exact(const struct tied_search *s, const struct bitset *fits)
{
    uint32_t per_node, paying;
    count_needs(s, fits, &per_node, &paying);
    return (!per_node && !paying) ||
           (s->counts_only && ((!paying && per_node == 1) || (!per_node && paying == 1)));
}

/* Leaves out the nodes that no pool has, and those of pools that have too little for any job. */
static void leave_out_closed(const struct tied_search *s, struct bitset *set)
{
    vec_foreach (&s->j->want.licenses.list, need) {
        const struct license *l = find_tied(s, need);
        if (l && license_is_per_node(l))
            bitset_and(set, l->scope);
        else if (l)
            license_trim(s->c, need, &s->view->pools[need->at], NULL, NULL, set);
    }
}

/* Leaves out the nodes of pools that have too little for a single one, too. */
static void leave_out_empty(const struct tied_search *s, struct bitset *set)
{
    leave_out_closed(s, set);
    vec_foreach (&s->j->want.licenses.list, need) {
        const struct license *l = find_per_node(s, need);
        for (uint32_t i = 0; l && i < l->pools; i++)
            if (room_of(s, need, i) < need->count)
                license_drop_scope(&l[i], set);
    }
}

static bool is_payable(const struct tied_search *s, const struct license_need *need,
                       const struct bitset *set)
{
    const struct license *l = find_paying(s, need);
    for (uint32_t i = 0; i < l->pools; i++)
        if (room_of(s, need, i) >= need->count && license_has_node(&l[i], set))
            return true;
    return false;
}

static bool have_same_scopes(const struct license *a, const struct license *b)
{
    bool same = a->pools == b->pools && a->is_tree && b->is_tree;
    for (uint32_t i = 0; i < a->pools && same; i++)
        same = a == b || bitset_equal(a[i].nodes, b[i].nodes);
    return same;
}

/* The first resource that counts nodes, if all such resources group the nodes in the same way, and
 * the number of nodes alone matters: by pool, room gets the number of nodes for which all of them
 * have enough. NULL: that is not so. The caller frees room. */
static const struct license_need *merge_trees(const struct tied_search *s,
                                              const struct bitset *fits, uint64_t **room)
{
    const struct license_need *first = NULL;
    uint32_t per_node, paying;
    count_needs(s, fits, &per_node, &paying);
    if (paying || !s->counts_only)
        return NULL;
    vec_foreach (&s->j->want.licenses.list, need) {
        const struct license *l = find_per_node(s, need);
        first = first ? first : l ? need : NULL;
        if (l && !have_same_scopes(find_per_node(s, first), l))
            return NULL;
    }
    const struct license *l = first ? find_per_node(s, first) : NULL;
    *room = l ? mem_new_array(uint64_t, l->pools) : NULL;
    for (uint32_t i = 0; l && i < l->pools; i++) {
        (*room)[i] = UINT64_MAX;
        vec_foreach (&s->j->want.licenses.list, need)
            if (find_per_node(s, need) && room_of(s, need, i) / need->count < (*room)[i])
                (*room)[i] = room_of(s, need, i) / need->count;
    }
    return first;
}

/* Resources that group the nodes in the same way are as one that has the least of them: its best
 * nodes are the best nodes there are. */
static bool choose_merged(struct tied_search *s, const struct license_need *first,
                          const uint64_t *room, const struct bitset *fits)
{
    _cleanup_bitset_ struct bitset *set = bitset_dup(fits), *required = bitset_new(fits->size);
    const struct license_need merged = {.name = first->name, .count = 1, .at = first->at};
    if (s->given.required)
        bitset_or(required, s->given.required);
    leave_out_closed(s, set);
    license_trim(s->c, &merged, room, required, s->ch->tasks, set);
    return bitset_contains(set, required) && choose_within(s, set, required);
}

/* 'fits': nodes that take tasks. */
static bool search_tied(struct tied_search *s, const struct bitset *fits)
{
    struct chooser *ch = s->ch;
    uint64_t choices = BUDGET / (fits->size + 1);
    s->left = choices < CHOICES_MIN   ? CHOICES_MIN
              : choices > CHOICES_MAX ? CHOICES_MAX
                                      : (uint32_t)choices;
    struct branch b = {bitset_dup(fits), bitset_new(fits->size)};
    if (s->given.required)
        bitset_or(b.required, s->given.required);
    leave_out_closed(s, b.fits);
    s->scratch = bitset_new(fits->size);
    s->open = b.fits;
    bool found = bitset_contains(b.fits, b.required) && search_branch(s, &b);
    free(s->sort);
    bitset_free(s->scratch);
    bitset_free(b.fits);
    bitset_free(b.required);
    ch->required = s->given.required;
    return found;
}

bool select_tied_may_fit(const struct cluster *c, const struct job *j, const struct free_view *view,
                         const struct bitset *allowed, uint32_t nodes, struct bitset **out)
{
    *out = NULL;
    if (!view->pools)
        return true;
    const struct tied_search s = {.c = c, .j = j, .view = view};
    const struct bitset *required = j->want.req;
    struct bitset *open = *out = bitset_dup(allowed);
    leave_out_empty(&s, open);
    vec_foreach (&j->want.licenses.list, need)
        if (find_paying(&s, need)
                ? !is_payable(&s, need, open)
                : find_tree(&s, need) &&
                      !license_leaves_nodes(c, need, &view->pools[need->at], required, open, nodes))
            return false;
    return bitset_count(open) >= nodes;
}

uint64_t select_tied_kinds(const struct cluster *c, const struct job *j)
{
    uint64_t kinds = 0;
    bool all = true;
    for (size_t k = 0; k < c->pool.kinds.len; k++) {
        bool could = select_kind_could(c, j, &c->pool.kinds.data[k]);
        kinds |= could ? license_kind_bit(k) : 0;
        all = all && (could || !c->pool.kinds.data[k].nodes);
    }
    return all ? UINT64_MAX : kinds;
}

static bool class_might_do(const struct cluster *c, const struct job *j, struct license_class *of,
                           uint32_t nodes)
{
    enum license_count what = j->want.shared ? LICENSE_ALL : LICENSE_NOW;
    return license_count_class(c, of, what, NULL) >= nodes;
}

bool select_tied_might_do(const struct cluster *c, const struct job *j, uint64_t kinds,
                          uint32_t nodes)
{
    struct license_class *of = license_find_class(c, &j->want.licenses, kinds);
    return !of || class_might_do(c, j, of, nodes);
}

struct claimed {
    struct license_claimed base;
    const struct license_claims *claims;
};

/* A job ends before a claim begins, or begins after it has ended, or leaves it what it needs. */
static void subtract_claims(const struct license_claimed *claims, uint64_t *left)
{
    const struct claimed *all = (const struct claimed *)claims;
    vec_foreach (&all->claims->list, claim)
        left[claim->at] -= license_least(left[claim->at], claim->count);
    vec_foreach (&all->claims->list, claim)
        left[claim->at] = license_least(left[claim->at], claim->spare);
}

/* Whether all candidates of the job are the nodes of its kinds, and no reservation keeps pools. */
static bool is_like_its_class(const struct cluster *c, const struct job *j)
{
    if (j->want.req || j->want.exc || j->resvs.len || !j->part->has_all_nodes)
        return false;
    vec_foreach (&c->resvs, resv)
        if ((*resv)->stock.len)
            return false;
    return true;
}

enum select_gate select_tied_gate(const struct license_claims *l, const struct cluster *c,
                                  const struct job *j, uint64_t kinds, uint32_t nodes,
                                  bool *might_do)
{
    struct license_class *of = license_find_class(c, &j->want.licenses, kinds);
    const struct claimed claims = {{l->version, subtract_claims}, l};
    *might_do = true;
    if (!of)
        return SELECT_GATE_UNKNOWN;
    if (license_count_class(c, of, LICENSE_ALL, NULL) < nodes)
        return SELECT_GATE_CLOSED;
    *might_do = class_might_do(c, j, of, nodes);
    bool is_sure =
        is_like_its_class(c, j) && license_count_class(c, of, LICENSE_SURE, &claims.base) >= nodes;
    return is_sure ? SELECT_GATE_OPEN : SELECT_GATE_UNKNOWN;
}

bool select_choose_tied(const struct cluster *c, const struct job *j, const struct free_view *view,
                        struct chooser *ch)
{
    if (!view->pools)
        return choose_nodes(ch);
    struct tied_search s = {.c = c, .j = j, .view = view, .ch = ch, .given = *ch};
    s.useful = license_count_useful_nodes(j);
    _cleanup_bitset_ struct bitset *fits = bitset_dup(ch->fits), *anchored = NULL;
    bool payable = license_narrow(c, j, view, ch->tasks, ch->fits, &anchored);
    ch->required = anchored ? anchored : ch->required;
    bool found = payable && choose_nodes(ch);
    ch->required = s.given.required;
    s.counts_only = !ch->contiguous && !ch->counts && !ch->topo && !ch->need_more;
    if (found || is_exact(&s, fits))
        return found;
    _cleanup_free_ uint64_t *room = NULL;
    const struct license_need *first = merge_trees(&s, fits, &room);
    return first ? choose_merged(&s, first, room, fits) : search_tied(&s, fits);
}
