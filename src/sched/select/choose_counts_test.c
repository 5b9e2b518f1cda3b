/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Constraints over all nodes of a job: by a table, and against an oracle that tries every set of
 * nodes on small clusters.
 */
#include "base/test_drawn.h"
#include "sched/sched_test_util.h"

enum { NODES = 6, CASES = TEST_DRAWN(6000) };

static const char conf[] = CONS "NodeName=n1 CPUs=4 Feature=1200MHz,fs1\n"
                                "NodeName=n2 CPUs=4 Feature=fs2,16GB_Swap\n"
                                "NodeName=n[3-4] CPUs=4 Feature=fs1,fs2,gpu Weight=5\n"
                                "NodeName=n5 CPUs=4 Feature=busy\n"
                                "PartitionName=p Nodes=ALL\n";

static void counts_of_features_choose_nodes(void **state)
{
    static const struct {
        const char *words, *where;
        int possible;
    } v[] = {
        {"N=3 C=fs1|fs2", "n1:1/0 n2:1/0 n3:1/0", 0},
        {"N=3 C=[fs1|fs2]", "n1:1/0 n3:1/0 n4:1/0", 0},
        {"N=2 C=[16GB_Swap|gpu]", "n3:1/0 n4:1/0", 0},
        {"N=4 C=[fs1|fs2]", "", -ERR_NODE_CONFIG},
        {"N=3 C=gpu*1", "n1:1/0 n2:1/0 n3:1/0", 0},
        {"C=gpu*2", "n3:1/0 n4:1/0", 0},
        {"N=4 C=gpu*3", "", -ERR_NODE_CONFIG},
        {"C=fs1*2&fs2*2", "n3:1/0 n4:1/0", 0},
        {"N=2-3 C=fs1*2&fs2*2", "n1:1/0 n2:1/0 n3:1/0", 0}, /* three are possible: light ones */
        {"C=[fs1*2&fs2*2]", "n1:1/0 n2:1/0 n3:1/0 n4:1/0", 0},
        {"C=[fs1*3&fs2*2]", "", -ERR_NODE_CONFIG},
        {"C=[(1200MHz|16GB_Swap)*1&gpu*1]", "n1:1/0 n3:1/0", 0},
        {"w=n2 C=[(1200MHz|16GB_Swap)*1&gpu*1]", "n2:1/0 n3:1/0", 0},
        {"w=n1,n2 N=2 C=gpu*1", "", -ERR_NODE_CONFIG},
        {"n=12 C=gpu*1", "n1:4/0 n2:4/0 n3:4/0", 0},
        {"n=9 N=3 C=[gpu*1&fs2*2]", "n2:4/0 n3:4/0 n4:1/0", 0},
        {"contiguous C=[1200MHz*1&gpu*1]", "n1:1/0 n2:1/0 n3:1/0", -1},
        {"contiguous C=gpu*1&16GB_Swap*1", "n2:1/0 n3:1/0", 0},
        {"prefer=gpu", "n3:1/0", 0},
        {"prefer=busy", "n1:1/0", 0}, /* none of them is free */
        {"N=2 prefer=gpu C=fs1", "n3:1/0 n4:1/0", 0},
        {"N=3 prefer=gpu C=fs1", "n1:1/0 n3:1/0 n4:1/0", 0},
        {"N=2 prefer=[gpu*1&1200MHz*1]", "n1:1/0 n3:1/0", 0},
        {"N=1 prefer=gpu*2", "n1:1/0", 0},
    };
    struct cluster *c = test_cluster(conf);
    (void)state;
    test_up(c);
    test_run(c, 1000, "n5:4", 2000);
    for (size_t i = 0; i < COUNT(v); i++) {
        struct job *j = test_job(c, (uint32_t)i + 1, v[i].words);
        _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
        struct selection s = {0};
        struct err err = {0};
        int rc = select_nodes(c, j, allowed, NULL, &s);
        _cleanup_free_ char *text = test_selection(c, &s);
        if (v[i].possible == -1) { /* n2 is of no sort: it cannot be in between */
            assert_int_not_equal(rc, 0);
            continue;
        }
        if (!str_eq(text, v[i].where) || rc != (*text ? 0 : -ERR_NODES_BUSY))
            fail_msg("'%s': %s", v[i].words, text);
        assert_int_equal(select_possible(c, j, &err), v[i].possible);
        select_done(&s);
    }
    test_cluster_free(c);
}

/* The error names the number of missing nodes. */
static void error_names_the_number_of_missing_nodes(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct err err = {0};
    (void)state;
    struct job *j = test_job(c, 1, "C=[fs1*1&gpu*3]");
    assert_int_equal(select_possible(c, j, &err), -ERR_NODE_CONFIG);
    assert_non_null(strstr(err.text, "count 2 of the constraint asks for 3 nodes"));
    assert_non_null(strstr(err.text, "partition p has 2 of them"));
    test_cluster_free(c);
}

/* --- the oracle --- */

struct sort {
    unsigned any; /* features, by bit: any of them suffices */
    uint32_t nodes;
};

struct asked {
    struct str words;
    unsigned filter; /* each node has one of these; 0: any node */
    bool same;       /* all nodes have the same one of the filter's features */
    bool apart;
    struct sort sorts[2];
    unsigned n_sorts;
};

struct world {
    struct cluster *c;
    struct job *j;
    unsigned features[NODES];
    uint32_t fit[NODES];
    struct asked asked;
};

static unsigned put_feature(struct str *words, uint64_t *seed)
{
    unsigned feature = test_between(seed, 0, 2);
    str_putc(words, "abc"[feature]);
    return 1u << feature;
}

static void put_sort(struct asked *a, uint64_t *seed)
{
    struct sort *sort = &a->sorts[a->n_sorts++];
    bool two = test_between(seed, 0, 3) == 0;
    str_puts(&a->words, two ? "(" : "");
    sort->any = put_feature(&a->words, seed);
    str_puts(&a->words, two ? "|" : "");
    sort->any |= two ? put_feature(&a->words, seed) : 0;
    sort->nodes = test_between(seed, 1, 3);
    str_printf(&a->words, "%s*%u", two ? ")" : "", sort->nodes);
}

static void random_constraint(struct asked *a, uint64_t *seed)
{
    uint32_t form = test_between(seed, 0, 5);
    str_puts(&a->words, " C=");
    a->apart = form == 3 || form == 4;
    a->same = form == 5;
    if (form == 0 || form == 4) {
        a->filter = put_feature(&a->words, seed);
        str_putc(&a->words, '&');
    }
    str_puts(&a->words, a->apart || a->same ? "[" : "");
    if (a->same) {
        a->filter = put_feature(&a->words, seed);
        str_putc(&a->words, '|');
        a->filter |= put_feature(&a->words, seed);
    } else {
        put_sort(a, seed);
    }
    if (form >= 2 && form <= 4) {
        str_putc(&a->words, '&');
        put_sort(a, seed);
    }
    str_puts(&a->words, a->apart || a->same ? "]" : "");
}

static void random_words(struct asked *a, uint64_t *seed)
{
    uint32_t nodes = test_between(seed, 1, 4);
    random_constraint(a, seed);
    if (test_between(seed, 0, 1))
        str_printf(&a->words, " N=%u-%u", nodes, nodes + test_between(seed, 0, 2));
    if (test_between(seed, 0, 1))
        str_printf(&a->words, " n=%u", test_between(seed, 1, 9));
    if (test_between(seed, 0, 5) == 0)
        str_printf(&a->words, " w=n%u", test_between(seed, 1, NODES));
    if (test_between(seed, 0, 5) == 0)
        str_puts(&a->words, " contiguous");
}

static bool of_sort(const struct world *w, uint32_t node, unsigned sort)
{
    return w->features[node] & w->asked.sorts[sort].any;
}

/* Tries every way in which each node counts once. */
static bool deals(const struct world *w, uint32_t set, uint32_t node, uint32_t first,
                  uint32_t second)
{
    if (first == 0 && second == 0)
        return true;
    if (node == NODES)
        return false;
    if (deals(w, set, node + 1, first, second))
        return true;
    return set >> node & 1 &&
           ((first && of_sort(w, node, 0) && deals(w, set, node + 1, first - 1, second)) ||
            (second && of_sort(w, node, 1) && deals(w, set, node + 1, first, second - 1)));
}

static bool counts_hold(const struct world *w, uint32_t set)
{
    const struct asked *a = &w->asked;
    uint32_t second = a->n_sorts > 1 ? a->sorts[1].nodes : 0;
    if (a->apart)
        return deals(w, set, 0, a->sorts[0].nodes, second);
    for (unsigned sort = 0; sort < a->n_sorts; sort++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < NODES; i++)
            count += set >> i & 1 && of_sort(w, i, sort);
        if (count < a->sorts[sort].nodes)
            return false;
    }
    return true;
}

static bool filter_holds(const struct world *w, uint32_t set)
{
    const struct asked *a = &w->asked;
    unsigned all = a->filter ? a->filter : ~0u;
    for (uint32_t i = 0; i < NODES; i++) {
        if (!(set >> i & 1))
            continue;
        if (a->filter && !(w->features[i] & a->filter))
            return false;
        if (a->apart && !of_sort(w, i, 0) && !of_sort(w, i, a->n_sorts - 1))
            return false;
        all &= w->features[i];
    }
    return !a->same || all;
}

static bool is_one_run(uint32_t set)
{
    while (!(set & 1))
        set >>= 1;
    return (set & (set + 1)) == 0;
}

static bool set_holds(const struct world *w, uint32_t set)
{
    const struct request *r = &w->j->want;
    uint32_t count = 0, tasks = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        bool in = set >> i & 1;
        if ((in && !w->fit[i]) || (!in && r->req && bitset_test(r->req, i)))
            return false;
        count += in;
        tasks += in ? w->fit[i] : 0;
    }
    return count >= r->min_nodes && count <= r->max_nodes && tasks >= r->tasks &&
           (!r->contiguous || is_one_run(set)) && filter_holds(w, set) && counts_hold(w, set);
}

static uint32_t heaviest(const struct world *w, uint32_t set)
{
    const struct request *r = &w->j->want;
    uint32_t most = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        bool free = !(r->req && bitset_test(r->req, i));
        if (set >> i & 1 && free && w->c->nodes.data[i]->weight > most)
            most = w->c->nodes.data[i]->weight;
    }
    return most;
}

/* Whether a set of at most this many nodes satisfies the request with lighter nodes. */
static bool is_lighter_possible(const struct world *w, uint32_t chosen)
{
    for (uint32_t set = 1; set < 1u << NODES; set++)
        if (__builtin_popcount(set) <= __builtin_popcount(chosen) && set_holds(w, set) &&
            heaviest(w, set) < heaviest(w, chosen))
            return true;
    return false;
}

static void make_world(struct world *w, uint64_t *seed)
{
    _cleanup_str_ struct str text = STR_INIT;
    str_puts(&text, CONS);
    for (uint32_t i = 0; i < NODES; i++) {
        w->features[i] = test_between(seed, 0, 7);
        w->fit[i] = test_between(seed, 1, 4);
        str_printf(&text, "NodeName=n%u CPUs=%u Weight=%u Feature=z%s%s%s\n", i + 1, w->fit[i],
                   test_between(seed, 1, 3), w->features[i] & 1 ? ",a" : "",
                   w->features[i] & 2 ? ",b" : "", w->features[i] & 4 ? ",c" : "");
    }
    str_puts(&text, "PartitionName=p Nodes=ALL\n");
    w->c = test_cluster(str_cstr(&text));
    test_up(w->c);
    uint32_t down = test_between(seed, 0, 2 * NODES);
    if (down < NODES) {
        w->c->nodes.data[down]->drain = true;
        w->fit[down] = 0;
        test_changed(w->c);
    }
}

static void check(const struct world *w, const struct selection *s, uint64_t seed)
{
    const struct request *r = &w->j->want;
    uint32_t set = 0;
    vec_foreach (&s->shares, at)
        set |= 1u << at->node;
    if (!set_holds(w, set))
        fail_msg("seed %llu, '%s': a set that does not hold it", (unsigned long long)seed,
                 str_cstr((struct str *)&w->asked.words));
    bool exact = !r->contiguous && !w->asked.same && r->good_nodes <= r->min_nodes;
    if (exact && is_lighter_possible(w, set))
        fail_msg("seed %llu, '%s': lighter nodes would do", (unsigned long long)seed,
                 str_cstr((struct str *)&w->asked.words));
}

static bool one_trial(uint64_t seed)
{
    struct world w = {0};
    uint64_t at = seed;
    struct selection s = {0};
    make_world(&w, &at);
    random_words(&w.asked, &at);
    w.j = test_try_job(w.c, 1, str_cstr(&w.asked.words));
    int rc = -1;
    if (w.j) {
        _cleanup_bitset_ struct bitset *allowed = select_candidates(w.c, w.j);
        bitset_and(allowed, w.c->pool.usable);
        rc = select_nodes(w.c, w.j, allowed, NULL, &s);
        if (rc == 0)
            check(&w, &s, seed);
        if ((rc == 0) != select_fits_idle(w.c, w.j, allowed))
            fail_msg("seed %llu, '%s': chosen, and not possible", (unsigned long long)seed,
                     str_cstr(&w.asked.words));
        for (uint32_t set = 1; rc != 0 && set < 1u << NODES; set++)
            if (set_holds(&w, set))
                fail_msg("seed %llu, '%s': waits, and could run", (unsigned long long)seed,
                         str_cstr(&w.asked.words));
    }
    select_done(&s);
    str_done(&w.asked.words);
    test_cluster_free(w.c);
    return rc == 0;
}

static void choices_agree_with_the_oracle(void **state)
{
    uint32_t found = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        found += one_trial(seed);
    /* The requests are neither trivial nor hopeless. */
    assert_in_range(found, CASES / 5, CASES * 4 / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_features_choose_nodes),
        cmocka_unit_test(error_names_the_number_of_missing_nodes),
        cmocka_unit_test(choices_agree_with_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
