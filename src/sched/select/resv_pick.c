/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/select/resv_pick.h"

#include <string.h>

#include "base/words.h"
#include "cluster/node/constraint.h"
#include "sched/select/select.h"

#define LOOK_AHEAD 16 /* occurrences that are compared, of two reservations that repeat */
#define CORES_MAX 1000000

/* --- others --------------------------------------------------------------------------------------
 */

static bool meets_in_time(const struct resv *a, const struct resv *b, int64_t now)
{
    struct resv_time t;
    int64_t at = now;
    for (int i = 0; i < LOOK_AHEAD && resv_occurs(a, at, &t); i++, at = t.end) {
        if (resv_overlaps(b, t.begin > now ? t.begin : now, t.end))
            return true;
        if (t.end == RESV_NEVER || a->flags & RESV_TIME_FLOAT)
            break;
    }
    return false;
}

static bool may_overlap(const struct resv *a, const struct resv *b)
{
    return (a->flags | b->flags) & RESV_FIRST;
}

/* Whether it stands in the way of the new one, in time and in kind. */
static bool is_beside(const struct resv_pick *p, const struct resv *r, const struct resv *other)
{
    return other != p->self && !may_overlap(other, r) &&
           (meets_in_time(r, other, p->now_sec) || meets_in_time(other, r, p->now_sec));
}

struct beside { /* others that have some cores of the nodes */
    VEC(const struct resv *) list;
};

/* With all that are there then. */
static bool fits_at(const struct resv_pick *p, const struct resv *r, const struct beside *others,
                    int64_t at)
{
    struct beside there = {0};
    bool fits = true;
    vec_foreach (&others->list, other)
        if (resv_is_at(*other, p->now_sec, at))
            vec_push(&there.list, *other);
    bitset_foreach (r->nodes, i) {
        uint64_t sum = r->units[i];
        vec_foreach (&there.list, other)
            sum += (*other)->units[i];
        fits = fits && sum <= p->cluster->nodes.data[i]->units;
    }
    vec_done(&there.list);
    return fits;
}

/* Whether all of them have their cores at once: most are wanted when one of them begins. */
static bool fits_beside(const struct resv_pick *p, const struct resv *r,
                        const struct beside *others, const struct resv *one)
{
    struct resv_time t;
    int64_t at = p->now_sec;
    for (int i = 0; i < LOOK_AHEAD && resv_occurs(one, at, &t); i++, at = t.end) {
        int64_t begin = t.begin > p->now_sec ? t.begin : p->now_sec;
        if (resv_is_at(r, p->now_sec, begin) && !fits_at(p, r, others, begin))
            return false;
        if (t.end == RESV_NEVER || one->flags & RESV_TIME_FLOAT)
            break;
    }
    return true;
}

/* The first other one with which it would have more of a node of the set than there is. */
static const struct resv *find_conflict(const struct resv_pick *p, const struct resv *r,
                                        const struct bitset *nodes)
{
    const struct resv *found = NULL;
    struct beside others = {0};
    vec_foreach (&p->cluster->resvs, other) {
        if (!bitset_intersects((*other)->nodes, nodes) || !is_beside(p, r, *other))
            continue;
        if (!found && (!r->units || !(*other)->units))
            found = *other;
        vec_push(&others.list, *other);
    }
    for (size_t i = 0; i < others.list.len && !found; i++)
        if (!fits_beside(p, r, &others, others.list.data[i]) ||
            (i == 0 && !fits_beside(p, r, &others, r)))
            found = others.list.data[i];
    vec_done(&others.list);
    return found;
}

static void remove_taken(const struct resv_pick *p, const struct resv *r, struct bitset *set)
{
    vec_foreach (&p->cluster->resvs, other)
        if (is_beside(p, r, *other))
            bitset_andnot(set, (*other)->nodes);
}

/* Nodes where a job may still run when it begins. units: of each node, those that such jobs have;
 * may be NULL. */
static struct bitset *busy_nodes(const struct resv_pick *p, const struct resv *r, uint32_t *units)
{
    const struct cluster *c = p->cluster;
    struct bitset *set = bitset_new(c->nodes.len);
    struct resv_time t;
    if (r->flags & RESV_IGNORE_JOBS || !resv_occurs(r, p->now_sec, &t))
        return set;
    for (struct order_link *l = order_first(&c->ends); l; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        if ((l->key <= t.begin && l->key > p->now_sec) ||
            (attempt_of(j)->resv && attempt_of(j)->resv == p->self && !(r->flags & RESV_REPLACE)))
            continue;
        vec_foreach (&attempt_of(j)->alloc, a) {
            if (a->released)
                continue;
            bitset_set(set, a->node);
            if (units)
                units[a->node] += a->units;
        }
    }
    return set;
}

static uint32_t cores_of(const struct cluster *c, long node)
{
    const struct node *n = c->nodes.data[node];
    uint32_t threads = n->row->threads ? n->row->threads : 1;
    uint32_t cores = n->units * n->cpus_per_unit / threads;
    return cores ? cores : 1;
}

/* The total dealt out evenly, unless each node has its own number. */
static void deal_cores(struct resv *r, uint32_t nodes)
{
    if (!r->cores.len || r->cores.len == nodes)
        return;
    uint32_t total = r->cores.data[0];
    vec_clear(&r->cores);
    for (uint32_t i = 0; i < nodes; i++)
        vec_push(&r->cores, total / nodes + (i < total % nodes));
}

/* --- named nodes -------------------------------------------------------------------------------
 */

/* Whether the named nodes, or enough of their cores, are free of other jobs. */
static int check_busy(const struct resv_pick *p, const struct resv *r, struct err *err)
{
    _cleanup_free_ uint32_t *used = mem_new_array(uint32_t, p->cluster->nodes.len + 1);
    _cleanup_bitset_ struct bitset *busy = busy_nodes(p, r, used);
    size_t at = 0;
    if (p->self)
        bitset_andnot(busy, p->self->nodes);
    bitset_foreach (r->nodes, i) {
        const struct node *n = p->cluster->nodes.data[i];
        uint32_t cores = at < r->cores.len ? r->cores.data[at++] : 0;
        if (r->units && cores > cores_of(p->cluster, i))
            return err_set(err, -ERR_NODES_BUSY, "%s: %u cores of %s, which has %u",
                           err_text(ERR_NODES_BUSY), cores, n->name, cores_of(p->cluster, i));
        if (bitset_test(busy, (size_t)i) && (!r->units || r->units[i] + used[i] > n->units))
            return err_set(err, -ERR_NODES_BUSY, "%s: jobs run on %s", err_text(ERR_NODES_BUSY),
                           n->name);
    }
    return 0;
}

static int check_named(const struct resv_pick *p, struct resv *r, struct err *err)
{
    size_t count = bitset_count(r->nodes);
    if (r->cores.len == 1 && r->cores.data[0] >= count)
        deal_cores(r, (uint32_t)count);
    if (r->cores.len && r->cores.len != count)
        return err_set(err, -ERR_RESV_INVALID, "%s: CoreCnt has %zu numbers for %zu nodes",
                       err_text(ERR_RESV_INVALID), r->cores.len, count);
    resv_resolve(p->cluster, r);
    const struct resv *other = find_conflict(p, r, r->nodes);
    if (other)
        return err_set(err, -ERR_RESV_OVERLAP, "%s: %s", err_text(ERR_RESV_OVERLAP), other->name);
    return check_busy(p, r, err);
}

/* --- any nodes ---------------------------------------------------------------------------------
 */

/* Of its partition. A count of nodes of its own it has when its features say how many. */
static int read_features(const struct resv_pick *p, struct resv *r, const struct part *part,
                         struct constraint **out, struct err *err)
{
    struct constraint *con = NULL;
    int rc = r->features ? constraint_parse(r->features, "Features", &con, err) : 0;
    if (rc == 0 && con)
        rc = select_check_constraint(p->cluster, part, con, err);
    uint32_t least = rc == 0 ? constraint_least_nodes(con) : 0;
    if (rc == 0 && constraint_counts(con) && r->node_count == 0)
        r->node_count = least;
    if (rc == 0 && constraint_counts(con) && r->node_count < least)
        rc = err_set(err, -ERR_NODE_COUNT, "%s: NodeCnt=%u, and Features=%s asks for %u",
                     err_text(ERR_NODE_COUNT), r->node_count, r->features, least);
    if (rc == 0)
        *out = con;
    else
        constraint_free(con);
    return rc;
}

/* What it could have, of its partition. */
static int find_candidates(const struct resv_pick *p, struct resv *r, struct bitset **out,
                           struct constraint **con, struct err *err)
{
    const struct cluster *c = p->cluster;
    const struct part *part = r->part ? cluster_find_part(c, r->part) : cluster_default_part(c);
    if (!part)
        return err_set(err, -ERR_NO_PARTITION, "%s: %s", err_text(ERR_NO_PARTITION),
                       r->part ? r->part : "there is no default one");
    if (!r->part)
        r->part = mem_strdup(part->conf.name);
    int rc = read_features(p, r, part, con, err);
    if (rc != 0)
        return rc;
    _cleanup_bitset_ struct bitset *busy = busy_nodes(p, r, NULL);
    *out = bitset_dup(part->nodes);
    remove_taken(p, r, *out);
    bitset_andnot(*out, busy);
    bitset_and(*out, c->pool.usable);
    return 0;
}

/* So many cores, on as few nodes as it takes from the first on. */
static bool take_cores(const struct resv_pick *p, struct resv *r, const struct bitset *from,
                       struct bitset *chosen)
{
    uint32_t left = r->cores.data[0];
    vec_clear(&r->cores);
    bitset_foreach (from, i) {
        uint32_t here = cores_of(p->cluster, i);
        here = here < left ? here : left;
        if (!here)
            break;
        bitset_set(chosen, (size_t)i);
        vec_push(&r->cores, here);
        left -= here;
    }
    return left == 0;
}

/* Lightest nodes, and such that lie together. */
static bool take_nodes(const struct resv_pick *p, uint32_t count, const struct bitset *keep,
                       const struct choose_counts *counts, const struct bitset *from,
                       struct bitset *chosen)
{
    size_t n = p->cluster->nodes.len;
    struct chooser ch = {.fits = bitset_dup(from),
                         .chosen = chosen,
                         .tasks = mem_new_array(uint32_t, n + 1),
                         .weight = p->cluster->pool.weight,
                         .required = keep,
                         .counts = counts,
                         .min = count,
                         .max = count,
                         .good = count};
    if (keep)
        bitset_or(ch.fits, keep);
    bitset_foreach (ch.fits, i)
        ch.tasks[i] = 1;
    bool found = choose_nodes(&ch);
    bitset_free(ch.fits);
    free(ch.tasks);
    return found;
}

/* What it wants of each node, or in all. */
static int read_cores(const struct resv_pick *p, struct resv *r, struct err *err)
{
    size_t nodes = p->cluster->nodes.len;
    if (r->node_count > nodes)
        return err_set(err, -ERR_NODE_COUNT, "%s: NodeCnt=%u of %zu nodes",
                       err_text(ERR_NODE_COUNT), r->node_count, nodes);
    if (!r->core_count)
        vec_clear(&r->cores);
    else if (!resv_parse_cores(r->core_count, r))
        return err_set(err, -ERR_RESV_INVALID, "%s: CoreCnt=%s", err_text(ERR_RESV_INVALID),
                       r->core_count);
    if (r->cores.len > 1 && r->cores.len != r->node_count)
        return err_set(err, -ERR_RESV_INVALID, "%s: CoreCnt=%s for %u nodes",
                       err_text(ERR_RESV_INVALID), r->core_count, r->node_count);
    return 0;
}

/* As many nodes as it wants. */
static bool take_count(const struct resv_pick *p, struct resv *r, const struct bitset *keep,
                       const struct choose_counts *counts, struct bitset *from,
                       struct bitset *chosen)
{
    uint32_t most = 0;
    deal_cores(r, r->node_count);
    vec_foreach (&r->cores, n)
        most = *n > most ? *n : most;
    bitset_foreach (from, i)
        if (cores_of(p->cluster, i) < most)
            bitset_unset(from, (size_t)i);
    return take_nodes(p, r->node_count, keep, counts, from, chosen);
}

static bool take_wanted(const struct resv_pick *p, struct resv *r, const struct bitset *keep,
                        const struct choose_counts *counts, struct bitset *from,
                        struct bitset *chosen)
{
    if (r->node_count)
        return take_count(p, r, keep, counts, from, chosen);
    if (r->cores.len)
        return take_cores(p, r, from, chosen);
    bitset_copy(chosen, from);
    return !bitset_empty(from);
}

static int find_nodes(const struct resv_pick *p, struct resv *r, const struct bitset *keep,
                      struct err *err)
{
    const struct cluster *c = p->cluster;
    struct constraint *con = NULL;
    _cleanup_bitset_ struct bitset *from = NULL, *chosen = bitset_new(c->nodes.len);
    int rc = find_candidates(p, r, &from, &con, err);
    if (rc == 0)
        rc = read_cores(p, r, err);
    bool found = false;
    struct select_counts counts;
    select_counts_init(&counts, c, con);
    for (uint32_t i = 0; rc == 0 && i < constraint_alternatives(con) && !found; i++) {
        _cleanup_bitset_ struct bitset *same = bitset_dup(from);
        select_keep_matching(c, con, i, same);
        bitset_zero(chosen);
        if (i > 0) /* which the last one may have dealt out */
            rc = read_cores(p, r, err);
        found = rc == 0 && take_wanted(p, r, keep, counts.given, same, chosen);
    }
    select_counts_done(&counts);
    constraint_free(con);
    if (rc == 0 && !found)
        rc = err_set(err, -ERR_NODES_BUSY, "%s", err_text(ERR_NODES_BUSY));
    if (rc == 0)
        resv_set_nodes(c, r, chosen);
    return rc;
}

static uint64_t stock_of(const struct resv *r, int32_t at)
{
    vec_foreach (&r->stock, s)
        if (s->at == at)
            return s->count;
    return 0;
}

int resv_pick_licenses(const struct resv_pick *p, struct resv *r, struct err *err)
{
    resv_resolve(p->cluster, r);
    vec_foreach (&r->stock, s) {
        const struct license *l = &p->cluster->licenses.list.data[s->at];
        const struct resv *last = NULL;
        uint64_t sum = s->count;
        vec_foreach (&p->cluster->resvs, other) {
            uint64_t theirs = *other == p->self ? 0 : stock_of(*other, s->at);
            if (!theirs || may_overlap(*other, r) ||
                (!meets_in_time(r, *other, p->now_sec) && !meets_in_time(*other, r, p->now_sec)))
                continue;
            sum += theirs;
            last = *other;
        }
        if (last && sum > l->total)
            return err_set(err, -ERR_RESV_OVERLAP, "%s: %s, and only %llu of %s exist",
                           err_text(ERR_RESV_OVERLAP), last->name, (unsigned long long)l->total,
                           l->name);
    }
    return 0;
}

int resv_pick(const struct resv_pick *p, struct resv *r, const struct bitset *keep, struct err *err)
{
    int rc = resv_pick_licenses(p, r, err);
    if (rc != 0 || r->flags & RESV_ANY_NODES)
        return rc;
    return r->flags & RESV_SPEC_NODES ? check_named(p, r, err) : find_nodes(p, r, keep, err);
}

bool resv_parse_cores(const char *text, struct resv *r)
{
    vec_clear(&r->cores);
    words_foreach (text, w) {
        _cleanup_free_ char *word = word_dup(w);
        long long n;
        if (str_parse_i64(word, 1, CORES_MAX, &n) < 0)
            return false;
        vec_push(&r->cores, (uint32_t)n);
    }
    return r->cores.len > 0;
}

struct bitset *resv_keepers(const struct cluster *c, const struct resv *r)
{
    bool down = !(r->flags & (RESV_STATIC | RESV_SPEC_NODES | RESV_ANY_NODES | RESV_PART_NODES));
    if (!down || !r->node_count || r->cores.len)
        return NULL;
    struct bitset *keep = bitset_dup(r->nodes);
    bitset_and(keep, c->pool.usable);
    if (r->flags & RESV_REPLACE)
        bitset_foreach (keep, i)
            if (c->nodes.data[i]->jobs)
                bitset_unset(keep, (size_t)i);
    if (bitset_count(keep) == r->node_count) {
        bitset_free(keep);
        return NULL;
    }
    return keep;
}
