/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hierarchical resources beside what else decides where the nodes of a job are (--contiguous,
 * --switches, counted features, required nodes), and several of mode 3 in a job: nodes are found
 * exactly when exhaustive search over all sets of nodes finds some (HRES-41).
 */
#include "base/test_drawn.h"
#include "cluster/job/license_tied.h"
#include "sched/layers_test_util.h"
#include "sched/select/select.h"

enum { NODES = 8, STATES = TEST_DRAWN(3000), JOBS = 4 };

static const char conf[] = CONS
    "TopologyPlugin=topology/tree\nTopologyParam=TopoOptional\n"
    "NodeName=n[1-2] CPUs=4 Feature=a\nNodeName=n[3-4] CPUs=4 Feature=b\n"
    "NodeName=n5 CPUs=2 Feature=a,b Weight=5\nNodeName=n6 CPUs=4 Feature=a Weight=5\n"
    "NodeName=n7 CPUs=4 Feature=b\nNodeName=n8 CPUs=2 Feature=c\n"
    "PartitionName=p Nodes=ALL\n"
    "TopologyConf=1 SwitchName=s1 Nodes=n[1-3]\nTopologyConf=1 SwitchName=s2 Nodes=n[4-5]\n"
    "TopologyConf=1 SwitchName=s3 Nodes=n[6-8]\nTopologyConf=1 SwitchName=top Switches=s[1-3]\n";

static const uint8_t leaf_of[NODES] = {0, 0, 0, 1, 1, 2, 2, 2};

/* --- drawn hierarchies -------------------------------------------------------------------------
 */

/* The layers of one resource in three have the same nodes as those of another one. */
static struct cluster *make(uint64_t *chance)
{
    struct cluster *c = test_cluster(conf);
    uint64_t same = *chance;
    test_draw_layers(c, chance, "watts", CONF_HRES_PER_NODE);
    test_draw_layers(c, test_between(chance, 0, 2) ? chance : &same, "pipes", CONF_HRES_PER_NODE);
    vec_foreach (&c->licenses.list, l)
        license_set_count(l, test_between(chance, 1, 2 + (uint32_t)bitset_count(l->nodes)));
    test_draw_layers(c, chance, "heat", CONF_HRES_PER_NODE);
    test_draw_layers(c, chance, "once", CONF_HRES_EACH_LAYER);
    test_draw_layers(c, chance, "one", CONF_HRES_ONE_LAYER);
    test_draw_layers(c, chance, "two", CONF_HRES_ONE_LAYER);
    test_up(c);
    return c;
}

struct drawn {
    const char *place, *needs;
    struct job *job;
};

static struct drawn draw(struct cluster *c, uint64_t *chance, uint32_t id)
{
    static const char *const specs[] = {"N=2",       "N=3", "N=4",      "n=9",
                                        "N=1-3 n=6", "N=5", "w=n1 N=2", "w=n1"};
    static const char *const places[] = {
        "", "", "contiguous", "switches=1", "switches=2", "C=[a*2&b*1]", "C=a*1", "C=[a|b]"};
    static const char *const needs[] = {"watts:1,pipes:1",
                                        "watts:1,pipes:1,heat:1",
                                        "watts:2,pipes:1,once:1",
                                        "watts:1",
                                        "watts:2",
                                        "one:3",
                                        "one:2,two:2",
                                        "one:3,watts:1",
                                        "one:2,two:2,watts:1,heat:1",
                                        "once:2,watts:1"};
    struct drawn d = {places[test_between(chance, 0, COUNT(places) - 1)],
                      needs[test_between(chance, 0, COUNT(needs) - 1)], NULL};
    const char *spec = specs[test_between(chance, 0, COUNT(specs) - 1)];
    if (d.place[0] == 'C' && d.place[2] == '[' && spec[0] == 'N' && spec[2] == '1')
        spec = "N=3";
    _cleanup_free_ char *words = mem_printf("%s %s L=%s", spec, d.place, d.needs);
    d.job = test_try_job(c, id, words);
    return d;
}

/* --- exhaustive search -------------------------------------------------------------------------
 */

static bool layers_allow(const struct cluster *c, const struct job *j, const uint64_t *room,
                         uint32_t set)
{
    vec_foreach (&j->want.licenses.list, need) {
        const struct license *l = &c->licenses.list.data[need->at];
        bool pays = l->mode != CONF_HRES_ONE_LAYER;
        for (uint32_t i = 0; i < l->pools; i++) {
            uint32_t in = (uint32_t)__builtin_popcount(set & (uint32_t)l[i].nodes->word[0]);
            if (l->mode == CONF_HRES_ONE_LAYER)
                pays = pays || (in && need->count <= room[(size_t)need->at + i]);
            else if (license_amount(&l[i], need, in) > room[(size_t)need->at + i])
                return false;
        }
        if (!pays)
            return false;
    }
    return true;
}

static uint32_t set_of(const char *digits)
{
    uint32_t set = 0;
    for (; *digits; digits++)
        set |= 1u << (*digits - '1');
    return set;
}

static bool place_allows(const char *place, uint32_t set)
{
    uint32_t a = set_of("1256"), b = set_of("3457"), leaves = 0;
    for (uint32_t i = 0; i < NODES; i++)
        leaves |= set >> i & 1 ? 1u << leaf_of[i] : 0;
    uint32_t low = set & -set, as = set & a, bs = set & b;
    if (str_eq(place, "contiguous"))
        return ((set + low) & set) == 0;
    if (str_eq(place, "switches=1"))
        return __builtin_popcount(leaves) <= 1;
    if (str_eq(place, "switches=2"))
        return __builtin_popcount(leaves) <= 2;
    if (str_eq(place, "C=a*1"))
        return as != 0;
    if (str_eq(place, "C=[a|b]"))
        return as == set || bs == set;
    if (str_eq(place, "C=[a*2&b*1]")) /* a node counts for one of them */
        return (as | bs) == set && __builtin_popcount(as) >= 2 && bs &&
               __builtin_popcount(set) >= 3;
    return true;
}

static bool set_does(const struct cluster *c, const struct drawn *d, const uint64_t *room,
                     uint32_t set)
{
    const struct request *r = &d->job->want;
    uint32_t tasks = 0, nodes = (uint32_t)__builtin_popcount(set);
    for (uint32_t i = 0; i < NODES; i++)
        tasks += set >> i & 1 ? c->nodes.data[i]->units : 0;
    if (r->req)
        bitset_foreach (r->req, i)
            if (!(set >> i & 1))
                return false;
    return nodes >= r->min_nodes && nodes <= r->max_nodes && tasks >= r->tasks &&
           nodes <= (r->tasks > r->good_nodes ? r->tasks : r->good_nodes) &&
           place_allows(d->place, set) && layers_allow(c, d->job, room, set);
}

static bool any_set_does(const struct cluster *c, const struct drawn *d, const uint64_t *room)
{
    for (uint32_t set = 1; set < 1u << NODES; set++)
        if (set_does(c, d, room, set))
            return true;
    return false;
}

/* --- and the choice ----------------------------------------------------------------------------
 */

struct tally {
    size_t found, none, possible, impossible;
};

/* The answer for a class is that for the job. */
static void check_gate(const struct cluster *c, const struct drawn *d, const struct free_view *view,
                       uint64_t seed)
{
    struct license_claims none = {0};
    _cleanup_bitset_ struct bitset *set = select_candidates(c, d->job);
    uint64_t kinds = select_tied_kinds(c, d->job);
    for (uint32_t nodes = 1; nodes <= NODES; nodes++) {
        bool open = license_may_have_nodes(c, d->job, view, set, nodes);
        bool might_do;
        enum select_gate gate = select_tied_gate(&none, c, d->job, kinds, nodes, &might_do);
        if (gate != SELECT_GATE_CLOSED && might_do != select_tied_might_do(c, d->job, kinds, nodes))
            fail_msg("seed %llu, job %u (%s): the gate for %u nodes has another bound",
                     (unsigned long long)seed, d->job->id, d->needs, nodes);
        if ((gate == SELECT_GATE_OPEN && !open) || (gate == SELECT_GATE_CLOSED && open))
            fail_msg("seed %llu, job %u (%s): the gate for %u nodes is %d, its class says %d",
                     (unsigned long long)seed, d->job->id, d->needs, nodes, open, gate);
    }
}

static void compare(struct cluster *c, const struct drawn *d, uint64_t seed, struct tally *t)
{
    struct license_claims none = {0};
    struct license_view v;
    struct selection where = {0};
    const struct free_view *view =
        license_view_init(&v, &none, c, d->job, NULL, 1000, &c->pool.now);
    _cleanup_bitset_ struct bitset *allowed = select_candidates(c, d->job);
    bool found = select_nodes(c, d->job, allowed, view, &where) == 0;
    bool due = any_set_does(c, d, view->pools);
    uint32_t set = 0, least = d->job->want.min_nodes;
    c->licenses.changes++;
    for (int shared = 0; shared < 2; shared++) {
        struct job as = *d->job;
        as.want.shared = shared;
        if (due && !select_tied_might_do(c, &as, select_tied_kinds(c, d->job), least))
            fail_msg("seed %llu, job %u (%s): nodes exist, and the bound has fewer than %u",
                     (unsigned long long)seed, d->job->id, d->needs, least);
    }
    check_gate(c, d, view, seed);
    vec_foreach (&where.shares, share)
        set |= 1u << share->node;
    if (found != due || (found && !set_does(c, d, view->pools, set)))
        fail_msg("seed %llu, job %u (%s, %s): found %d (set %x), expected %d",
                 (unsigned long long)seed, d->job->id, d->place, d->needs, found, set, due);
    t->found += found;
    t->none += !found;
    license_view_done(&v);
    select_done(&where);
}

/* Of a job that is refused when it is submitted; --switches is only waited for. */
static void compare_possible(struct cluster *c, const struct drawn *d, uint64_t seed,
                             struct tally *t)
{
    _cleanup_free_ uint64_t *room = license_list_totals(c, d->job);
    struct drawn as = {strstr(d->place, "switches") ? "" : d->place, d->needs, d->job};
    bool due = any_set_does(c, &as, room);
    bool possible =
        resource_possible(c, d->job, NULL) == 0 && select_possible(c, d->job, NULL) == 0;
    if (possible != due)
        fail_msg("seed %llu, job %u (%s, %s): possible %d, expected %d", (unsigned long long)seed,
                 d->job->id, d->place, d->needs, possible, due);
    t->possible += possible;
    t->impossible += !possible;
}

static void choice_beside_layers_agrees_with_exhaustive_search(void **state)
{
    struct tally t = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= STATES; seed++) {
        uint64_t chance = seed;
        struct cluster *c = make(&chance);
        for (uint32_t id = 1; id <= JOBS; id++) {
            struct drawn d = draw(c, &chance, id);
            if (!d.job)
                continue;
            compare_possible(c, &d, seed, &t);
            vec_foreach (&c->licenses.list, l)
                l->used = 0;
            compare(c, &d, seed, &t);
            vec_foreach (&c->licenses.list, l)
                l->used = test_between(&chance, 0, 1) ? test_between(&chance, 0, 2) : 0;
            vec_foreach (&c->licenses.list, l)
                l->used = l->used < l->total ? l->used : l->total;
            compare(c, &d, seed, &t);
        }
        test_cluster_free(c);
    }
    assert_true(t.found > STATES && t.none > STATES && t.possible > STATES / 2 &&
                t.impossible > STATES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choice_beside_layers_agrees_with_exhaustive_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
