/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/select/resv_pick.h"

#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "base/words.h"
#include "cluster/job/license_tied.h"
#include "cluster/node/constraint.h"
#include "sched/select/resv_deal.h"
#include "sched/select/select.h"

#define LOOK_AHEAD 16 /* number of compared occurrences of two repeating reservations */
#define CORES_MAX 1000000

/* --- other reservations -------------------------------------------------------------------------
 */

/* Two floating reservations keep their distance. */
static bool meet_floating(const struct resv *a, const struct resv *b, int64_t now)
{
    struct resv_time s, t;
    return resv_occurs(a, now, &s) && resv_occurs(b, now, &t) && s.begin < t.end && t.begin < s.end;
}

static bool meets_in_time(const struct resv *a, const struct resv *b, int64_t now)
{
    struct resv_time t;
    int64_t at = now;
    if (a->flags & b->flags & RESV_TIME_FLOAT)
        return meet_floating(a, b, now);
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

/* Whether it conflicts with the new one by time and kind. */
static bool is_beside(const struct resv_pick *p, const struct resv *r, const struct resv *other)
{
    return other != p->self && !may_overlap(other, r) &&
           (meets_in_time(r, other, p->now_sec) || meets_in_time(other, r, p->now_sec));
}

struct beside { /* other reservations of parts of the same nodes */
    VEC(const struct resv *) list;
};

/* Adds the generic resources, by kind, that those of them reserve which are active then. */
static void add_kept(const struct beside *there, const struct cluster *c, size_t node,
                     uint64_t *sum)
{
    size_t kinds = c->gres_kinds.len;
    vec_foreach (&there->list, r)
        for (size_t k = 0; (*r)->gres && k < kinds; k++)
            sum[k] += (*r)->gres[node * kinds + k];
}

static bool fits_on_node(const struct cluster *c, const struct resv *r, const struct beside *there,
                         size_t node)
{
    const struct node *n = c->nodes.data[node];
    uint64_t units = r->units ? r->units[node] : 0, gres[GRES_KINDS_MAX] = {0};
    vec_foreach (&there->list, other)
        units += (*other)->units ? (*other)->units[node] : 0;
    add_kept(there, c, node, gres);
    for (size_t k = 0; r->gres && k < c->gres_kinds.len; k++) {
        uint64_t own = r->gres[node * c->gres_kinds.len + k];
        const struct gres_stock *stock = own ? gres_find(n, (uint32_t)k) : NULL;
        if (own && (!stock || own + gres[k] > stock->count))
            return false;
    }
    return units <= n->units;
}

static struct beside find_there(const struct resv_pick *p, const struct beside *others, int64_t at)
{
    struct beside there = {0};
    vec_foreach (&others->list, other)
        if (resv_is_at(*other, p->now_sec, at))
            vec_push(&there.list, *other);
    return there;
}

/* Whether it fits beside all that are active then. */
static bool fits_at(const struct resv_pick *p, const struct resv *r, const struct beside *others,
                    int64_t at)
{
    struct beside there = find_there(p, others, at);
    bool fits = true;
    bitset_foreach (r->nodes, i)
        fits = fits && fits_on_node(p->cluster, r, &there, (size_t)i);
    vec_done(&there.list);
    return fits;
}

/* Finds the next time after 'at' at which 'one' begins while 'r' is active. False: none is
 * considered. */
struct begins {
    const struct resv *r, *one;
    int64_t at;
    int looks;
};
static bool next_begin(const struct resv_pick *p, struct begins *b, int64_t *begin)
{
    struct resv_time t;
    while (b->looks++ < LOOK_AHEAD && resv_occurs(b->one, b->at, &t)) {
        bool last = t.end == RESV_NEVER || b->one->flags & RESV_TIME_FLOAT;
        b->looks = last ? LOOK_AHEAD : b->looks;
        b->at = t.end;
        *begin = t.begin > p->now_sec ? t.begin : p->now_sec;
        if (resv_is_at(b->r, p->now_sec, *begin))
            return true;
    }
    return false;
}

/* Whether they all get their amounts at once: demand is greatest when one of them begins. */
static bool fits_beside(const struct resv_pick *p, const struct resv *r,
                        const struct beside *others, const struct resv *one)
{
    struct begins b = {r, one, p->now_sec, 0};
    int64_t at;
    while (next_begin(p, &b, &at))
        if (!fits_at(p, r, others, at))
            return false;
    return true;
}

/* Returns the first reservation with which it would exceed a node of the set. */
static const struct resv *find_conflict(const struct resv_pick *p, const struct resv *r,
                                        const struct bitset *nodes)
{
    const struct resv *found = NULL;
    struct beside others = {0};
    vec_foreach (&p->cluster->resvs, other) {
        if (!bitset_intersects((*other)->nodes, nodes) || !is_beside(p, r, *other))
            continue;
        if (!found && (!resv_in_parts(r) || !resv_in_parts(*other)))
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

/* Whether it and the reservations active then exceed the node; returns the first such kind. */
static bool exceeds_at(const struct resv_pick *p, const struct beside *others, int64_t at,
                       struct resv_excess *out)
{
    const struct cluster *c = p->cluster;
    struct beside there = find_there(p, others, at);
    bool found = false;
    bitset_foreach (p->self->nodes, i) {
        uint64_t sum[GRES_KINDS_MAX] = {0};
        add_kept(&there, c, (size_t)i, sum);
        vec_foreach (&c->nodes.data[i]->gres, stock) {
            uint64_t own = p->self->gres[(size_t)i * c->gres_kinds.len + stock->kind];
            uint64_t kept = own + sum[stock->kind];
            if (found || !own || kept <= stock->count)
                continue;
            *out = (struct resv_excess){(size_t)i, stock->kind, kept, stock->count};
            found = true;
        }
        if (found)
            break;
    }
    vec_done(&there.list);
    return found;
}

bool resv_pick_exceeds(const struct resv_pick *p, struct resv_excess *out)
{
    const struct resv *r = p->self;
    struct beside others = {0}, times = {0};
    bool found = false;
    vec_push(&times.list, r);
    vec_foreach (&p->cluster->resvs, other)
        if (r->gres && (*other)->gres && bitset_intersects((*other)->nodes, r->nodes) &&
            is_beside(p, r, *other)) {
            vec_push(&others.list, *other);
            vec_push(&times.list, *other);
        }
    vec_foreach (&times.list, one) {
        struct begins b = {r, *one, p->now_sec, 0};
        int64_t at;
        while (others.list.len && !found && next_begin(p, &b, &at))
            found = exceeds_at(p, &others, at, out);
    }
    vec_done(&others.list);
    vec_done(&times.list);
    return found;
}

static bool wants_gres(const struct resv *r)
{
    return r->gres_total || r->gres_per_node;
}

static bool wants_cores(const struct resv *r)
{
    return r->core_count || r->cores_per_node;
}

/* Removes nodes that are reserved for others; if it requests generic resources, only nodes that
 * others have whole, or of which both request cores. */
static void remove_taken(const struct resv_pick *p, const struct resv *r, struct bitset *set)
{
    vec_foreach (&p->cluster->resvs, other)
        if (is_beside(p, r, *other) &&
            !(wants_gres(r) && resv_in_parts(*other) && !(wants_cores(r) && (*other)->units)))
            bitset_andnot(set, (*other)->nodes);
}

struct held { /* held by jobs, by node; members may be NULL */
    uint32_t *units;
    uint64_t *gres;
};

static void add_held(const struct cluster *c, const struct alloc_node *a, struct held *held)
{
    if (held->units)
        held->units[a->node] += a->units;
    if (held->gres)
        vec_foreach (&a->gres, g)
            held->gres[a->node * c->gres_kinds.len + g->kind] += g->count;
}

/* Returns the nodes on which a job may still run at its begin. Adds their holdings to 'held'. */
static struct bitset *busy_nodes(const struct resv_pick *p, const struct resv *r, struct held *held)
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
            add_held(c, a, held);
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

/* Deals the total evenly, unless each node has its own number. */
static void deal_cores(struct resv *r, uint32_t nodes)
{
    if (!r->cores.len || r->cores.len == nodes)
        return;
    uint32_t total = r->cores.data[0];
    vec_clear(&r->cores);
    for (uint32_t i = 0; i < nodes; i++)
        vec_push(&r->cores, total / nodes + (i < total % nodes));
}

/* --- stock of the nodes -------------------------------------------------------------------------
 */

/* The conflicts that are considered. */
enum regard { REGARD_NOTHING, REGARD_RESVS, REGARD_JOBS };

static void take_off(uint64_t *from, const uint64_t *what, size_t count)
{
    for (size_t i = 0; i < count; i++)
        from[i] -= what[i] < from[i] ? what[i] : from[i];
}

/* Subtracts the most that other reservations have at one time while it is active. */
static void take_off_kept(const struct resv_pick *p, const struct resv *r, struct resv_stock *s)
{
    const struct cluster *c = p->cluster;
    size_t all = c->nodes.len * s->kinds;
    _cleanup_free_ uint64_t *most = mem_new_array(uint64_t, all + 1);
    struct beside others = {0}, times = {0};
    vec_push(&times.list, r);
    vec_foreach (&c->resvs, other)
        if ((*other)->gres && is_beside(p, r, *other)) {
            vec_push(&others.list, *other);
            vec_push(&times.list, *other);
        }
    vec_foreach (&times.list, one) {
        struct begins b = {r, *one, p->now_sec, 0};
        int64_t at;
        while (others.list.len && next_begin(p, &b, &at)) {
            struct beside there = find_there(p, &others, at);
            for (size_t node = 0; node < c->nodes.len; node++) {
                uint64_t sum[GRES_KINDS_MAX] = {0};
                add_kept(&there, c, node, sum);
                for (size_t k = 0; k < s->kinds; k++)
                    if (sum[k] > most[node * s->kinds + k])
                        most[node * s->kinds + k] = sum[k];
            }
            vec_done(&there.list);
        }
    }
    take_off(s->gres, most, all);
    vec_done(&others.list);
    vec_done(&times.list);
}

/* The caller ends the stock. */
static struct resv_stock find_stock(const struct resv_pick *p, const struct resv *r,
                                    enum regard regard)
{
    struct resv_stock s;
    resv_stock_init(&s, p->cluster);
    if (regard >= REGARD_RESVS)
        take_off_kept(p, r, &s);
    if (regard == REGARD_JOBS) {
        size_t all = p->cluster->nodes.len * s.kinds;
        struct held held = {.gres = mem_new_array(uint64_t, all + 1)};
        bitset_free(busy_nodes(p, r, &held));
        take_off(s.gres, held.gres, all);
        free(held.gres);
    }
    return s;
}

void resv_pick_added(const struct resv_pick *p, struct resv *r)
{
    struct resv_stock stocks[REGARD_JOBS + 1];
    struct resv_wish wish = {0};
    if (!r->gres_per_node ||
        gres_parse(p->cluster, r->gres_per_node, GRES_PER_NODE, &wish.wants, NULL) != 0)
        return;
    for (size_t i = 0; i <= REGARD_JOBS; i++)
        stocks[i] = find_stock(p, r, (enum regard)(REGARD_JOBS - i));
    resv_wish_deal_added(p->cluster, &wish, stocks, REGARD_JOBS + 1, r);
    for (size_t i = 0; i <= REGARD_JOBS; i++)
        resv_stock_done(&stocks[i]);
    resv_wish_done(&wish);
    resv_resolve(p->cluster, r);
}

static void format_wish(const struct resv *r, struct str *out)
{
    if (r->gres_per_node)
        str_printf(out, "TRESPerNode=gres/%s", r->gres_per_node);
    else
        str_printf(out, "TRES=gres/%s", r->gres_total);
}

/* --- named nodes -------------------------------------------------------------------------------
 */

/* Whether the named nodes, or enough of their resources, are not used by other jobs. */
static int check_busy(const struct resv_pick *p, const struct resv *r, struct err *err)
{
    size_t nodes = p->cluster->nodes.len, kinds = p->cluster->gres_kinds.len, at = 0;
    _cleanup_free_ uint32_t *units = mem_new_array(uint32_t, nodes + 1);
    _cleanup_free_ uint64_t *gres = mem_new_array(uint64_t, nodes * kinds + 1);
    _cleanup_bitset_ struct bitset *busy = busy_nodes(p, r, &(struct held){units, gres});
    if (p->self)
        bitset_andnot(busy, p->self->nodes);
    bitset_foreach (r->nodes, i) {
        const struct node *n = p->cluster->nodes.data[i];
        uint32_t cores = at < r->cores.len ? r->cores.data[at++] : 0;
        if (r->units && cores > cores_of(p->cluster, i))
            return err_set(err, -ERR_NODES_BUSY, "%s: %u cores of %s, which has %u",
                           err_text(ERR_NODES_BUSY), cores, n->name, cores_of(p->cluster, i));
        if (!bitset_test(busy, (size_t)i))
            continue;
        bool fits = resv_in_parts(r) && (!r->units || r->units[i] + units[i] <= n->units);
        for (size_t k = 0; fits && r->gres && k < kinds; k++) {
            const struct gres_stock *stock = gres_find(n, (uint32_t)k);
            uint64_t own = r->gres[(size_t)i * kinds + k], theirs = gres[(size_t)i * kinds + k];
            fits = !own || (stock && own + theirs <= stock->count);
        }
        if (!fits)
            return err_set(err, -ERR_NODES_BUSY, "%s: jobs run on %s", err_text(ERR_NODES_BUSY),
                           n->name);
    }
    return 0;
}

/* Deals what jobs and other reservations leave, if that suffices; otherwise the following checks
 * name the obstacle. */
static int deal_named(const struct resv_pick *p, struct resv *r, struct err *err)
{
    struct resv_wish wish;
    size_t node = 0;
    int rc = resv_wish_read(p->cluster, r, &wish, err);
    if (rc != 0)
        return rc;
    bool found = false;
    for (int regard = REGARD_JOBS; regard >= REGARD_NOTHING && !found; regard--) {
        struct resv_stock stock = find_stock(p, r, (enum regard)regard);
        found = resv_wish_deal(p->cluster, &wish, &stock, r->nodes, r, &node);
        resv_stock_done(&stock);
    }
    resv_wish_done(&wish);
    if (found)
        return 0;
    _cleanup_str_ struct str text = STR_INIT;
    format_wish(r, &text);
    return err_set(err, -ERR_GRES, "%s: %s: node %s has too little that can be reserved",
                   err_text(ERR_GRES), str_cstr(&text), p->cluster->nodes.data[node]->name);
}

static void give_each(struct resv *r, size_t nodes)
{
    vec_clear(&r->cores);
    for (size_t i = 0; i < nodes; i++)
        vec_push(&r->cores, r->cores_per_node);
}

static int check_named(const struct resv_pick *p, struct resv *r, struct err *err)
{
    size_t count = bitset_count(r->nodes);
    if (r->cores_per_node)
        give_each(r, count);
    if (r->cores.len == 1 && r->cores.data[0] >= count)
        deal_cores(r, (uint32_t)count);
    if (r->cores.len == 1 && count > 1)
        return err_set(err, -ERR_RESV_INVALID, "%s: CoreCnt=%u is fewer cores than %zu nodes",
                       err_text(ERR_RESV_INVALID), r->cores.data[0], count);
    if (r->cores.len && r->cores.len != count)
        return err_set(err, -ERR_RESV_INVALID, "%s: CoreCnt has %zu numbers for %zu node%s",
                       err_text(ERR_RESV_INVALID), r->cores.len, count, count == 1 ? "" : "s");
    if (!wants_gres(r))
        resv_clear_gres(r);
    int rc = wants_gres(r) && !p->stays ? deal_named(p, r, err) : 0;
    if (rc != 0)
        return rc;
    resv_resolve(p->cluster, r);
    const struct resv *other = find_conflict(p, r, r->nodes);
    if (other)
        return err_set(err, -ERR_RESV_OVERLAP, "%s: %s", err_text(ERR_RESV_OVERLAP), other->name);
    return check_busy(p, r, err);
}

/* --- any nodes ---------------------------------------------------------------------------------
 */

/* Reads the features, which may give the number of nodes. */
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

/* Finds the candidate nodes of its partition. */
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
    *out = bitset_dup(part->nodes);
    remove_taken(p, r, *out);
    if (!wants_gres(r)) {
        _cleanup_bitset_ struct bitset *busy = busy_nodes(p, r, &(struct held){0});
        bitset_andnot(*out, busy);
    }
    bitset_and(*out, c->pool.usable);
    return 0;
}

/* Takes this number of cores, on as few nodes as possible from the first one on. */
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

/* Takes the lightest nodes that are close together. */
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

/* Reads the requested cores, per node or in total. */
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

struct search { /* a search for nodes */
    const struct resv_pick *p;
    struct resv *r;
    const struct bitset *keep;
    const struct choose_counts *counts;
    struct resv_wish wish;   /* requested generic resources; empty: none */
    struct resv_stock stock; /* for the wish */
    uint32_t *held;          /* units held by jobs, by node; NULL: no candidate has jobs */
};

static int begin_resv_search(struct search *s, struct err *err)
{
    if (!wants_gres(s->r)) {
        resv_clear_gres(s->r);
        return 0;
    }
    int rc = resv_wish_read(s->p->cluster, s->r, &s->wish, err);
    if (rc != 0)
        return rc;
    s->stock = find_stock(s->p, s->r, REGARD_JOBS);
    s->held = mem_new_array(uint32_t, s->p->cluster->nodes.len + 1);
    bitset_free(busy_nodes(s->p, s->r, &(struct held){.units = s->held}));
    return 0;
}

static void end_search(struct search *s)
{
    resv_wish_done(&s->wish);
    resv_stock_done(&s->stock);
    free(s->held);
}

/* Whether the node has 'cores' cores and a node's share of the GRES request. */
static bool may_take(const struct search *s, size_t node, uint32_t cores)
{
    const struct node *n = s->p->cluster->nodes.data[node];
    uint32_t there = cores_of(s->p->cluster, (long)node);
    if (s->held && n->units)
        there = (uint32_t)((uint64_t)there *
                           (n->units > s->held[node] ? n->units - s->held[node] : 0) / n->units);
    return there >= cores &&
           (!wants_gres(s->r) || resv_wish_fits(&s->wish, &s->stock, node, 0, s->r->node_count));
}

/* Takes the requested number of nodes. */
static bool take_count(const struct search *s, struct bitset *from, struct bitset *chosen)
{
    struct resv *r = s->r;
    uint32_t most = 0;
    if (r->cores_per_node)
        give_each(r, r->node_count);
    deal_cores(r, r->node_count);
    vec_foreach (&r->cores, n)
        most = *n > most ? *n : most;
    bitset_foreach (from, i)
        if (!may_take(s, (size_t)i, most))
            bitset_unset(from, (size_t)i);
    return take_nodes(s->p, r->node_count, s->keep, s->counts, from, chosen);
}

static bool take_all(const struct search *s, const struct bitset *from, struct bitset *chosen)
{
    bitset_foreach (from, i)
        if (may_take(s, (size_t)i, s->r->cores_per_node))
            bitset_set(chosen, (size_t)i);
    if (s->r->cores_per_node)
        give_each(s->r, bitset_count(chosen));
    return !bitset_empty(chosen);
}

static bool take_wanted(const struct search *s, struct bitset *from, struct bitset *chosen)
{
    struct resv *r = s->r;
    const struct cluster *c = s->p->cluster;
    size_t node;
    bool found;
    if (!r->node_count && r->gres_total)
        return resv_wish_deal_some(c, &s->wish, &s->stock, from, r, chosen);
    if (r->node_count)
        found = take_count(s, from, chosen);
    else if (r->cores.len)
        found = take_cores(s->p, r, from, chosen);
    else
        found = take_all(s, from, chosen);
    return found && (!wants_gres(r) || resv_wish_deal(c, &s->wish, &s->stock, chosen, r, &node));
}

/* --- shortages ----------------------------------------------------------------------------------
 */

#define LATER_LOOKS 64 /* number of later times that are tried */

struct shortage { /* in nodes, or in cores if no number of nodes is requested */
    uint64_t wanted, free;
    bool of_cores;
};

static uint32_t find_most_cores(const struct resv *r)
{
    uint32_t most = r->cores_per_node;
    for (size_t i = 0; r->node_count && i < r->cores.len; i++)
        most = r->cores.data[i] > most ? r->cores.data[i] : most;
    return most;
}

/* Counts what the reservation would get if it began 'later_sec' later. False: unknown. */
static bool find_shortage(const struct search *s, int64_t later_sec, struct shortage *out)
{
    struct resv later = *s->r; /* only its times are changed */
    struct search at = {.p = s->p, .r = &later};
    struct constraint *con = NULL;
    _cleanup_bitset_ struct bitset *from = NULL, *good = bitset_new(s->p->cluster->nodes.len);
    *out = (struct shortage){.wanted = later.node_count, .of_cores = !later.node_count};
    if (out->of_cores)
        out->wanted = resv_wanted_cores(&later);
    later.start_at += later_sec;
    later.end_at += later.end_at == RESV_NEVER ? 0 : later_sec;
    if (!out->wanted || find_candidates(s->p, &later, &from, &con, NULL) != 0)
        return false;
    for (uint32_t i = 0; i < constraint_alternatives(con); i++) {
        _cleanup_bitset_ struct bitset *same = bitset_dup(from);
        select_keep_matching(s->p->cluster, con, i, same);
        bitset_or(good, same);
    }
    constraint_free(con);
    if (s->keep)
        bitset_or(good, s->keep);
    bool known = !wants_gres(&later) || begin_resv_search(&at, NULL) == 0;
    bitset_foreach (good, i)
        if (known && out->of_cores)
            out->free += cores_of(s->p->cluster, i);
        else if (known)
            out->free += may_take(&at, (size_t)i, find_most_cores(&later));
    end_search(&at);
    return known;
}

/* Returns the first end of a job, or of another reservation, after 'after'; RESV_NEVER: none. */
static int64_t find_next_end(const struct resv_pick *p, const struct resv *r, int64_t after)
{
    int64_t next = RESV_NEVER;
    struct resv_time t;
    for (struct order_link *l = order_first(&p->cluster->ends); l; l = order_next(l))
        if (l->key > after) {
            next = l->key;
            break;
        }
    vec_foreach (&p->cluster->resvs, other)
        if (*other != p->self && !may_overlap(*other, r) && !((*other)->flags & RESV_TIME_FLOAT) &&
            resv_occurs(*other, after, &t) && t.end < next)
            next = t.end;
    return next;
}

/* Appends the time at which there would be enough, if it is foreseeable. */
static void put_later(const struct search *s, struct str *out)
{
    char text[TIME_TEXT_MAX];
    struct shortage then;
    struct resv_time t;
    if (s->r->flags & (RESV_TIME_FLOAT | RESV_REPEATS) || !resv_occurs(s->r, s->p->now_sec, &t))
        return;
    int64_t at = t.begin;
    for (int i = 0; i < LATER_LOOKS; i++) {
        at = find_next_end(s->p, s->r, at);
        if (at == RESV_NEVER || !find_shortage(s, at - t.begin, &then))
            return;
        if (then.free >= then.wanted) {
            str_printf(out, "; enough are free at %s", time_format_date(at, "", text));
            return;
        }
    }
}

static int refuse_busy(const struct search *s, struct err *err)
{
    const struct resv *r = s->r;
    _cleanup_str_ struct str what = STR_INIT, later = STR_INIT;
    struct shortage now;
    if (wants_gres(r)) {
        str_puts(&what, " with ");
        format_wish(r, &what);
    }
    if (!find_shortage(s, 0, &now)) {
        return err_set(err, -ERR_NODES_BUSY,
                       "%s: too few nodes of partition %s%s are free at the start",
                       err_text(ERR_NODES_BUSY), r->part, str_cstr(&what));
    }
    if (now.free >= now.wanted) /* the obstacle is Features, or the combination */
        return err_set(err, -ERR_NODES_BUSY, "%s", err_text(ERR_NODES_BUSY));
    put_later(s, &later);
    return err_set(err, -ERR_NODES_BUSY,
                   "%s: %llu %s%s of partition %s%s needed, %llu free at the start%s",
                   err_text(ERR_NODES_BUSY), (unsigned long long)now.wanted,
                   now.of_cores ? "core" : "node", now.wanted == 1 ? "" : "s", r->part,
                   str_cstr(&what), (unsigned long long)now.free, str_cstr(&later));
}

static int find_nodes(const struct resv_pick *p, struct resv *r, const struct bitset *keep,
                      struct err *err)
{
    const struct cluster *c = p->cluster;
    struct constraint *con = NULL;
    struct select_counts counts;
    _cleanup_bitset_ struct bitset *from = NULL, *chosen = bitset_new(c->nodes.len);
    int rc = find_candidates(p, r, &from, &con, err);
    if (rc == 0)
        rc = read_cores(p, r, err);
    select_counts_init(&counts, c, con);
    struct search s = {.p = p, .r = r, .keep = keep, .counts = counts.given};
    if (rc == 0)
        rc = begin_resv_search(&s, err);
    bool found = false;
    for (uint32_t i = 0; rc == 0 && i < constraint_alternatives(con) && !found; i++) {
        _cleanup_bitset_ struct bitset *same = bitset_dup(from);
        select_keep_matching(c, con, i, same);
        bitset_zero(chosen);
        if (i > 0) /* which the previous try may have dealt */
            rc = read_cores(p, r, err);
        found = rc == 0 && take_wanted(&s, same, chosen);
    }
    if (rc == 0 && !found)
        rc = refuse_busy(&s, err);
    end_search(&s);
    select_counts_done(&counts);
    constraint_free(con);
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
        _cleanup_str_ struct str name = STR_INIT;
        license_format_pool(l, &name);
        if (last && sum > l->total)
            return err_set(err, -ERR_RESV_OVERLAP, "%s: %s, and only %llu of %s exist",
                           err_text(ERR_RESV_OVERLAP), last->name, (unsigned long long)l->total,
                           str_cstr(&name));
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

/* Whether its jobs use the node: jobs with a part of the reservation; any of its jobs if it has
 * generic resources of the node. */
static bool is_used(const struct cluster *c, const struct resv *r, size_t node)
{
    const struct node *n = c->nodes.data[node];
    if (!resv_in_parts(r))
        return n->jobs;
    vec_foreach (&n->holders, id) {
        const struct job *j = cluster_find_job(c, *id);
        if (j && attempt_of(j)->resv == r)
            return true;
    }
    return false;
}

struct bitset *resv_keepers(const struct cluster *c, const struct resv *r)
{
    bool down = !(r->flags & (RESV_STATIC | RESV_SPEC_NODES | RESV_ANY_NODES | RESV_PART_NODES));
    if (!down || !r->node_count || r->cores.len || r->gres_total)
        return NULL;
    struct bitset *keep = bitset_dup(r->nodes);
    bitset_and(keep, c->pool.usable);
    if (r->flags & RESV_REPLACE)
        bitset_foreach (keep, i)
            if (is_used(c, r, (size_t)i))
                bitset_unset(keep, (size_t)i);
    if (bitset_count(keep) == r->node_count) {
        bitset_free(keep);
        return NULL;
    }
    return keep;
}
