/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests that could never run are rejected at once, with the reason (CORE-084). The effect of a
 * constraint on a selection is evaluated once per kind of node.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "cluster/job/license_tied.h"
#include "cluster/node/topo.h"
#include "sched/select/choose.h"
#include "sched/select/select.h"
#include "sched/select/select_memory.h"
#include "sched/select/torus_spots.h"

void select_keep_matching(const struct cluster *c, const struct constraint *con, uint32_t which,
                          struct bitset *set)
{
    _cleanup_free_ bool *good = mem_new_array(bool, c->pool.kinds.len + 1);
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        good[k] = constraint_match(con, c->pool.kinds.data[k].features, which);
    select_keep_kinds(c, good, set);
}

void select_counts_init(struct select_counts *s, const struct cluster *c,
                        const struct constraint *con)
{
    *s = (struct select_counts){0};
    struct choose_counts *counts = &s->counts;
    counts->sorts = constraint_counts(con);
    if (!counts->sorts)
        return;
    s->of = mem_new_array(uint8_t, c->pool.kinds.len + 1);
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        s->of[k] = constraint_counted(con, c->pool.kinds.data[k].features);
    for (uint32_t i = 0; i < counts->sorts; i++)
        counts->nodes[i] = constraint_count(con, i);
    counts->of = s->of;
    counts->kind = c->pool.kind;
    counts->apart = constraint_counts_apart(con);
    s->given = counts;
}

void select_counts_done(struct select_counts *s)
{
    free(s->of);
}

static uint32_t nodes_of_sort(const struct cluster *c, const struct part *p,
                              const struct constraint *con, uint32_t sort)
{
    _cleanup_free_ uint32_t *count = pool_count_kinds(&c->pool, p->nodes);
    uint32_t nodes = 0;
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        if (count[k] && constraint_counted(con, c->pool.kinds.data[k].features) >> sort & 1)
            nodes += count[k];
    return nodes;
}

int select_check_constraint(const struct cluster *c, const struct part *p,
                            const struct constraint *con, struct err *err)
{
    int rc = constraint_check(c, con, err);
    for (uint32_t i = 0; i < constraint_counts(con) && rc == 0; i++) {
        uint32_t asked = constraint_count(con, i), nodes = nodes_of_sort(c, p, con, i);
        if (asked > nodes)
            rc = err_set(err, -ERR_NODE_CONFIG,
                         "%s: count %u of the constraint asks for %u nodes, partition %s has %u "
                         "of them",
                         err_text(ERR_NODE_CONFIG), i + 1, asked, p->conf.name, nodes);
    }
    return rc;
}

#define NUMBERS_SHOWN 16 /* maximum placements listed in a message */

struct most { /* the maximum over the nodes of a partition */
    uint64_t nodes, cpus, cpus_per_node, mem_mib, mem_per_cpu_mib, tmp_mib;
    uint32_t sockets, cores, threads;
};

static struct most most_of(const struct cluster *c, const struct part *p, const struct request *r)
{
    _cleanup_free_ uint32_t *count = pool_count_kinds(&c->pool, p->nodes);
    struct most m = {0};
    for (size_t i = 0; i < c->pool.kinds.len; i++) {
        const struct node_kind *k = &c->pool.kinds.data[i];
        uint32_t most = select_part_cpus(&p->conf, r, k), cpus = k->cpus < most ? k->cpus : most;
        if (count[i] == 0)
            continue;
        m.nodes += count[i];
        m.cpus += (uint64_t)cpus * count[i];
        m.cpus_per_node = cpus > m.cpus_per_node ? cpus : m.cpus_per_node;
        uint64_t mem_mib = (uint64_t)k->amounts.mem_mib;
        m.mem_mib = mem_mib > m.mem_mib ? mem_mib : m.mem_mib;
        uint64_t whole = select_whole_mem_per_cpu(r, k);
        m.mem_per_cpu_mib = whole > m.mem_per_cpu_mib ? whole : m.mem_per_cpu_mib;
        m.tmp_mib = k->tmp_mib > m.tmp_mib ? k->tmp_mib : m.tmp_mib;
        m.sockets = k->sockets > m.sockets ? k->sockets : m.sockets;
        m.cores = k->cores > m.cores ? k->cores : m.cores;
        m.threads = k->threads > m.threads ? k->threads : m.threads;
    }
    return m;
}

static int no_node(struct err *err, const char *what, uint64_t asked, const char *unit,
                   uint64_t most, const struct part *p)
{
    return err_set(err, -ERR_NODE_CONFIG,
                   "%s: %s can not be satisfied: %llu%s asked, at most %llu%s on a "
                   "node of partition %s",
                   err_text(ERR_NODE_CONFIG), what, (unsigned long long)asked, unit,
                   (unsigned long long)most, unit, p->conf.name);
}

/* Checks what no single node can satisfy. */
static int check_one_node(const struct job *j, const struct most *most, struct err *err)
{
    const struct request *r = &j->want;
    uint64_t cpus = r->cpus_per_task; /* at least 1 */
    if (r->ntasks_per_node && !r->tasks_given && !r->overcommit)
        cpus *= r->ntasks_per_node;
    cpus = cpus > r->min_cpus ? cpus : r->min_cpus;
    assert(cpus);
    if (r->sockets > most->sockets)
        return no_node(err, "Socket count per node", r->sockets, "", most->sockets, j->part);
    if (r->cores > most->cores)
        return no_node(err, "Core count per socket", r->cores, "", most->cores, j->part);
    if (r->threads > most->threads)
        return no_node(err, "Thread count per core", r->threads, "", most->threads, j->part);
    if (cpus > most->cpus_per_node)
        return no_node(err, "CPU count per node", cpus, "", most->cpus_per_node, j->part);
    uint64_t mem = r->mem_node_mib == UINT64_MAX ? 0 : r->mem_node_mib;
    if (!mem && r->mem_cpu_mib > most->mem_mib / cpus)
        return no_node(err, "Memory specification", r->mem_cpu_mib, "M per CPU",
                       most->mem_mib / cpus, j->part);
    if (!mem && r->exclusive && r->mem_cpu_mib > most->mem_per_cpu_mib)
        return no_node(err, "Memory specification", r->mem_cpu_mib, "M for each CPU of a node",
                       most->mem_per_cpu_mib, j->part);
    if (mem > most->mem_mib)
        return no_node(err, "Memory specification", mem, "M", most->mem_mib, j->part);
    if (r->tmp_mib > most->tmp_mib)
        return no_node(err, "Temporary disk specification", r->tmp_mib, "M", most->tmp_mib,
                       j->part);
    return 0;
}

/* --- the whole request on idle nodes ------------------------------------------------------------
 */

struct idle {       /* an idle node of a kind */
    uint32_t tasks; /* number of tasks that fit */
    uint64_t more;  /* rest for the job's total request */
};

static const struct node *first_of(const struct cluster *c, size_t kind)
{
    for (size_t i = 0; i < c->nodes.len; i++)
        if (c->pool.kind[i] == kind)
            return c->nodes.data[i];
    return NULL;
}

/* Computes the values by kind if the brackets of the constraint stand for alternative number
 * 'which'. */
static void measure_idle_kinds(const struct cluster *c, const struct job *j,
                               const struct constraint *con, uint32_t which, struct idle *idle)
{
    for (size_t i = 0; i < c->pool.kinds.len; i++) {
        const struct node_kind *k = &c->pool.kinds.data[i];
        struct select_room room = {k->units, select_part_cpus(&j->part->conf, &j->want, k),
                                   k->amounts, true, k->gres_total};
        room.like = request_is_bound(&j->want) ? first_of(c, i) : NULL;
        select_divide_units(c, j, k, &room);
        _cleanup_bitset_ struct bitset *idle_units =
            room.units < k->units && !room.like && j->part->conf.max_cpus_per_socket == UINT32_MAX
                ? bitset_new(k->units)
                : NULL;
        room.node = idle_units ? first_of(c, i) : NULL; /* its sockets have different open units */
        room.busy = idle_units;
        bool could = select_kind_could(c, j, k) && constraint_match(con, k->features, which);
        idle[i] = (struct idle){0};
        idle[i].tasks = could ? select_tasks_fit(c, j, k, &room, &idle[i].more) : 0;
    }
}

/* Used if the position of nodes matters. */
static bool fits_in_row(const struct cluster *c, const struct job *j, struct chooser *ch,
                        const struct bitset *set, const struct idle *idle)
{
    _cleanup_free_ uint64_t *pools = license_list_totals(c, j);
    const struct free_view view = {.pools = pools};

    ch->fits = bitset_new(c->nodes.len);
    ch->chosen = bitset_new(c->nodes.len);
    ch->tasks = mem_new_array(uint32_t, c->nodes.len + 1);
    ch->more = mem_new_array(uint64_t, c->nodes.len + 1);
    ch->weight = c->pool.weight;
    bitset_foreach (set, i) {
        ch->tasks[i] = idle[c->pool.kind[i]].tasks;
        ch->more[i] = idle[c->pool.kind[i]].more;
        if (ch->tasks[i])
            bitset_set(ch->fits, (size_t)i);
    }
    bool found = select_choose_tied(c, j, &view, ch);
    bitset_free(ch->fits);
    bitset_free(ch->chosen);
    free(ch->tasks);
    free(ch->more);
    return found;
}

struct lot { /* available nodes of a kind */
    struct idle each;
    uint32_t count;
};

static int by_tasks(const void *a, const void *b)
{
    const struct idle *x = &((const struct lot *)a)->each, *y = &((const struct lot *)b)->each;
    return x->tasks != y->tasks ? (x->tasks < y->tasks) - (x->tasks > y->tasks)
                                : (x->more < y->more) - (x->more > y->more);
}

static int by_more(const void *a, const void *b)
{
    const struct idle *x = &((const struct lot *)a)->each, *y = &((const struct lot *)b)->each;
    return x->more != y->more ? (x->more < y->more) - (x->more > y->more)
                              : (x->tasks < y->tasks) - (x->tasks > y->tasks);
}

static void take_idle(struct chooser *ch, const struct idle *each, uint32_t count)
{
    ch->count += count;
    ch->sum += (uint64_t)each->tasks * count;
    ch->sum_more += each->more < GRES_COUNT_MAX / (count + 1) ? each->more * count : GRES_COUNT_MAX;
}

/* Takes up to 'max' nodes, the best first. Every node may be a kind of its own. */
static void take_best(const struct cluster *c, struct chooser *ch, const uint32_t *count,
                      const struct idle *idle, int (*better)(const void *, const void *))
{
    _cleanup_free_ struct lot *lots = mem_new_array(struct lot, c->pool.kinds.len + 1);
    size_t n = 0;
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        if (count[k] && idle[k].tasks)
            lots[n++] = (struct lot){idle[k], count[k]};
    qsort(lots, n, sizeof(*lots), better);
    for (size_t i = 0; i < n && ch->count < ch->max; i++)
        take_idle(ch, &lots[i].each,
                  lots[i].count < ch->max - ch->count ? lots[i].count : ch->max - ch->count);
}

static bool satisfies_bounds(const struct chooser *ch)
{
    return ch->count >= ch->min && ch->sum >= ch->need && ch->sum_more >= ch->need_more;
}

/* Nodes of a kind are equivalent: they are counted, not chosen. */
static bool fits_somewhere(const struct cluster *c, struct chooser *ch, const struct bitset *set,
                           const struct idle *idle)
{
    _cleanup_free_ uint32_t *count = pool_count_kinds(&c->pool, set);
    uint32_t nodes = 0;
    for (size_t k = 0; k < c->pool.kinds.len; k++)
        nodes += idle[k].tasks ? count[k] : 0;
    if (!choose_largest(ch, nodes))
        return false;
    if (ch->required)
        bitset_foreach (ch->required, i) {
            uint32_t kind = c->pool.kind[i];
            if (!bitset_test(set, (size_t)i) || !idle[kind].tasks)
                return false;
            count[kind]--;
            take_idle(ch, &idle[kind], 1);
        }
    if (ch->count > ch->max)
        return false;
    struct chooser again = *ch;
    take_best(c, ch, count, idle, by_tasks);
    if (satisfies_bounds(ch) || !ch->need_more)
        return satisfies_bounds(ch);
    take_best(c, &again, count, idle, by_more);
    return satisfies_bounds(&again);
}

/* Tries the nodes that license_narrow() leaves: fast, but only a positive result is certain. */
static bool fits_counted(const struct cluster *c, const struct job *j, const struct chooser *given,
                         const struct bitset *set, const struct idle *idle)
{
    struct chooser ch = *given;
    _cleanup_bitset_ struct bitset *left = bitset_dup(set), *anchored = NULL;
    _cleanup_free_ uint32_t *tasks = mem_new_array(uint32_t, c->nodes.len + 1);
    _cleanup_free_ uint64_t *pools = license_list_totals(c, j);
    const struct free_view view = {.pools = pools};
    bitset_foreach (set, i) {
        tasks[i] = idle[c->pool.kind[i]].tasks;
        if (!tasks[i])
            bitset_unset(left, (size_t)i);
    }
    bool payable = license_narrow(c, j, &view, tasks, left, &anchored);
    ch.required = anchored ? anchored : ch.required;
    return payable && fits_somewhere(c, &ch, left, idle);
}

/* Whether jobs have shapes in the network, so that not every set of nodes is possible. */
static bool has_placements(const struct topo *t)
{
    return t && t->net->kind == CONF_TOPO_TORUS;
}

static bool fits_constrained(const struct cluster *c, const struct job *j,
                             const struct constraint *con, const struct bitset *set)
{
    _cleanup_free_ struct idle *idle = mem_new_array(struct idle, c->pool.kinds.len + 1);
    _cleanup_(select_counts_done) struct select_counts counts;
    bool fits = false, tied = license_needs_tied(c, j);
    select_counts_init(&counts, c, con);
    for (uint32_t i = 0; i < constraint_alternatives(con) && !fits; i++) {
        struct chooser ch = {.counts = counts.given, .any_will_do = true};
        select_bounds(j, &ch);
        measure_idle_kinds(c, j, con, i, idle);
        ch.topo = select_topo(c, j);
        ch.spread = j->want.spread;
        select_place_segments(j, &ch);
        bool fabrics = ch.topo && ch.topo->roots > 1;
        bool placed =
            ch.contiguous || ch.counts || ch.segment || fabrics || has_placements(ch.topo);
        fits = !placed &&
               (tied ? fits_counted(c, j, &ch, set, idle) : fits_somewhere(c, &ch, set, idle));
        if (!fits && (placed || tied))
            fits = fits_in_row(c, j, &ch, set, idle);
    }
    return fits;
}

/* One of the alternative licences suffices: tied pools decide about the nodes. */
bool select_fits_idle(const struct cluster *c, const struct job *j, const struct bitset *set)
{
    _cleanup_free_ struct job_copy *room = mem_new(struct job_copy);
    bool fits = false;
    for (uint32_t n = 0; n < license_count_alternatives(j) && !fits; n++) {
        const struct job *as = license_view_alternative(j, n, room);
        const struct request *r = &as->want;
        fits = fits_constrained(c, as, r->constraint, set) ||
               (r->preferred && fits_constrained(c, as, r->preferred, set));
    }
    return fits;
}

/* Checks the request on the empty cluster with every node up. Limits of the partition may change:
 * until then the job waits. */
static int check_together(const struct cluster *c, const struct job *j, struct err *err)
{
    if (j->want.min_nodes > j->part->conf.max_nodes || j->want.max_nodes < j->part->conf.min_nodes)
        return 0;
    _cleanup_bitset_ struct bitset *candidates = select_candidates(c, j);
    return select_fits_idle(c, j, candidates)
               ? 0
               : err_set(err, -ERR_NODE_CONFIG, "%s", err_text(ERR_NODE_CONFIG));
}

static int check_excluded(const struct cluster *c, const struct request *r, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *both = hostlist_new();
    _cleanup_str_ struct str names = STR_INIT;
    if (!r->req || !r->exc)
        return 0;
    bitset_foreach (r->req, i)
        if (bitset_test(r->exc, (size_t)i))
            hostlist_push(both, c->nodes.data[i]->name);
    hostlist_format(both, &names);
    return names.len ? err_set(err, -ERR_NO_NODE, "%s: %s required and excluded, too",
                               err_text(ERR_NO_NODE), str_cstr(&names))
                     : 0;
}

static int check_segments(const struct cluster *c, const struct job *j, struct err *err)
{
    const struct request *r = &j->want;
    const struct topo *topo = select_topo(c, j);
    uint32_t size = r->segment;
    if (!size || !select_has_segments(topo))
        return 0;
    if (r->contiguous || constraint_least_nodes(r->constraint))
        return err_set(err, -ERR_NODE_CONFIG,
                       "%s: --segment, and --contiguous or --constraint with counts",
                       err_text(ERR_NODE_CONFIG));
    if (r->min_nodes > size && (r->min_nodes - 1) / size == r->max_nodes / size)
        return err_set(err, -ERR_NODE_CONFIG,
                       "%s: %u nodes are not a whole number of segments of %u (--segment)",
                       err_text(ERR_NODE_CONFIG), r->min_nodes, size);
    return 0;
}

static int by_node_count(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

struct numbers {
    VEC(uint32_t) list;
};

/* Lists the node counts of the placements of all toruses, each number once. */
static void list_placements(const struct topo *t, struct numbers *out)
{
    size_t n = 0;
    vec_foreach (&t->toruses, torus)
        vec_foreach (&torus->unit->placements, p)
            vec_push(&out->list, p->dims[0] * p->dims[1] * p->dims[2]);
    if (out->list.len)
        qsort(out->list.data, out->list.len, sizeof(*out->list.data), by_node_count);
    vec_foreach (&out->list, number)
        if (!n || out->list.data[n - 1] != *number)
            out->list.data[n++] = *number;
    out->list.len = n;
}

/* Whether the job may have the node count of a placement, or of several segments. */
static bool is_placement(const struct request *r, const struct numbers *numbers)
{
    bool in_segments = r->segment && r->max_nodes > r->segment;
    vec_foreach (&numbers->list, n) {
        bool one = *n >= r->min_nodes && *n <= r->max_nodes;
        if (one && (!r->segment || *n <= r->segment) && (!r->sizes || idset_has(r->sizes, *n)))
            return true;
        if (in_segments && *n == r->segment)
            return true;
    }
    return false;
}

/* Whether one placement has all required nodes; several segments have them in several
 * placements. */
static int check_required(const struct cluster *c, const struct job *j, const struct topo *t,
                          struct err *err)
{
    const struct request *r = &j->want;
    if (!r->req || (r->segment && r->max_nodes > r->segment))
        return 0;
    vec_foreach (&t->toruses, torus)
        if (torus_has_placement(torus->unit, r->min_nodes, r->max_nodes, j->part->nodes, r->req))
            return 0;
    _cleanup_hostlist_ struct hostlist *required = hostlist_new();
    _cleanup_str_ struct str names = STR_INIT, count = STR_INIT;
    bitset_foreach (r->req, i)
        hostlist_push(required, c->nodes.data[i]->name);
    hostlist_format(required, &names);
    str_printf(&count, "%u", r->min_nodes);
    if (r->max_nodes > r->min_nodes)
        str_printf(&count, " to %u", r->max_nodes);
    return err_set(err, -ERR_NODE_CONFIG,
                   "%s: no placement of %s node%s of topology %s in partition %s has the required "
                   "nodes %s",
                   err_text(ERR_NODE_CONFIG), str_cstr(&count), r->max_nodes == 1 ? "" : "s",
                   t->net->name, j->part->conf.name, str_cstr(&names));
}

static int check_placements(const struct cluster *c, const struct job *j, struct err *err)
{
    const struct request *r = &j->want;
    const struct topo *t = select_topo(c, j);
    struct numbers numbers = {0};
    _cleanup_str_ struct str list = STR_INIT;
    if (!has_placements(t))
        return 0;
    list_placements(t, &numbers);
    bool is_one = is_placement(r, &numbers);
    for (size_t i = 0; i < numbers.list.len && i < NUMBERS_SHOWN; i++)
        str_printf(&list, "%s%u", i ? "," : "", numbers.list.data[i]);
    if (numbers.list.len > NUMBERS_SHOWN)
        str_puts(&list, ",...");
    vec_done(&numbers.list);
    if (is_one)
        return check_required(c, j, t, err);
    bool in_segments = r->segment && r->min_nodes > r->segment;
    _cleanup_str_ struct str asked = STR_INIT;
    if (in_segments)
        str_printf(&asked, "segments of %u nodes match", r->segment);
    else if (r->max_nodes > r->min_nodes)
        str_printf(&asked, "%u to %u nodes match", r->min_nodes, r->max_nodes);
    else
        str_printf(&asked, "%u node%s", r->min_nodes, r->min_nodes == 1 ? " matches" : "s match");
    return err_set(err, -ERR_NODE_CONFIG, "%s: %s no placement of topology %s: placements have %s",
                   err_text(ERR_NODE_CONFIG), str_cstr(&asked), t->net->name,
                   list.len ? str_cstr(&list) : "no nodes");
}

/* ignore_constraint_validation: nodes with the features may be added later. */
static bool ignores_constraint(const struct cluster *c, const struct job *j)
{
    return c->conf->sched.ignore_constraint_validation && j->want.constraint;
}

int select_possible(const struct cluster *c, const struct job *j, struct err *err)
{
    struct job without;
    if (ignores_constraint(c, j)) {
        without = *j;
        without.want.constraint = NULL;
        j = &without;
    }
    const struct request *r = &j->want;
    const struct part *p = j->part;
    struct most most = most_of(c, p, r);
    int rc = gres_check_known(c, &r->gres, err);
    rc = rc == 0 ? select_check_constraint(c, j->part, r->constraint, err) : rc;
    rc = rc == 0 ? constraint_check(c, r->preferred, err) : rc;
    if (rc != 0)
        return rc;
    if (r->min_nodes > most.nodes)
        return err_set(err, -ERR_NODE_COUNT, "%s: %u nodes asked, %llu in partition %s",
                       err_text(ERR_NODE_COUNT), r->min_nodes, (unsigned long long)most.nodes,
                       p->conf.name);
    rc = check_excluded(c, r, err);
    rc = rc == 0 ? check_segments(c, j, err) : rc;
    rc = rc == 0 ? check_placements(c, j, err) : rc;
    if (rc != 0)
        return rc;
    if (r->req && !bitset_contains(p->nodes, r->req))
        return err_set(err, -ERR_NODE_CONFIG, "%s: a node of the list is not in partition %s",
                       err_text(ERR_NODE_CONFIG), p->conf.name);
    if (!r->overcommit && (uint64_t)r->tasks * r->cpus_per_task > most.cpus)
        return err_set(err, -ERR_TOO_MANY_CPUS, "%s: %llu CPUs asked, %llu in partition %s",
                       err_text(ERR_TOO_MANY_CPUS), (unsigned long long)r->tasks * r->cpus_per_task,
                       (unsigned long long)most.cpus, p->conf.name);
    rc = check_one_node(j, &most, err);
    return rc == 0 ? check_together(c, j, err) : rc;
}
