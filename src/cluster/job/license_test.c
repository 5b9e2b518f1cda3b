/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resources that are tied to nodes: which nodes of a set they leave to a job, and what jobs hold.
 */
#include "cluster/cluster_test_util.h"
#include "cluster/job/license_layer.h"
#include "cluster/job/license_tied.h"
#include "cluster/resv/license_kept.h"

static const char conf[] = CONS "Licenses=x:3\nNodeName=n[1-8] CPUs=4 RealMemory=400\n"
                                "PartitionName=p Nodes=ALL\n";

static struct bitset *make_node_set(const struct cluster *c, size_t first, size_t count)
{
    struct bitset *nodes = bitset_new(c->nodes.len);
    bitset_set_range(nodes, first, count);
    return nodes;
}

/* Layers of 2, 4 and 8 nodes, given from the largest one down. */
static void add_tree(struct cluster *c, const char *name, bool per_node, const uint64_t *totals)
{
    for (size_t size = 8, at = 0; size >= 2; size /= 2)
        for (size_t first = 0; first < 8; first += size)
            license_add_layer(c, name, per_node ? CONF_HRES_PER_NODE : CONF_HRES_EACH_LAYER,
                              make_node_set(c, first, size), totals[at++]);
}

static struct cluster *make_cluster_with_layers(void)
{
    static const uint64_t flat[] = {24, 16, 16, 12, 12, 12, 12};
    static const uint64_t power[] = {9000, 6000, 8000, 3500, 4000, 4000, LICENSE_UNLIMITED};
    struct cluster *c = test_cluster(conf);
    add_tree(c, "flat", false, flat);
    add_tree(c, "power", true, power);
    test_up(c);
    return c;
}

/* The amount in use of the layer that has 'count' nodes from 'first' on. */
static uint64_t get_used_amount(const struct cluster *c, const char *name, size_t first,
                                size_t count)
{
    _cleanup_bitset_ struct bitset *nodes = make_node_set(c, first, count);
    vec_foreach (&c->licenses.list, l)
        if (str_eq(l->name, name) && bitset_equal(l->nodes, nodes))
            return l->used;
    fail_msg("no layer of %s", name);
    return 0;
}

static struct job *start_job_on(struct cluster *c, uint32_t id, const char *words, uint32_t first,
                                uint32_t count)
{
    struct job *j = test_job(c, id, words);
    for (uint32_t i = first; i < first + count; i++)
        assert_int_equal(alloc_take(c, j, i, 1, 0, NULL), 0);
    assert_int_equal(job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    assert_int_equal(resource_license.check(c, NULL), 0);
    return j;
}

/* The sum is not what is left of it at 32 bits. */
static void overflowing_sums_are_refused(void **state)
{
    static const char *const texts[] = {
        "x:1000000000,x:1000000000",
        "x:1000000000,x:1000000000,x:1000000000,x:1000000000,x:294967297", "x:4000000000"};
    (void)state;
    struct cluster *c = make_cluster_with_layers();
    for (size_t i = 0; i < 3; i++) {
        struct license_needs needs = {0}, pools = {0};
        struct err err = {0};
        assert_int_equal(license_read(c, texts[i], &needs, &err), -ERR_LICENSE);
        assert_int_equal(license_read_pools(c, texts[i], &pools, &err), -ERR_LICENSE);
        if (i < 2)
            assert_non_null(strstr(err.text, "at most 1000000000 can be counted"));
        license_needs_done(&needs);
        license_needs_done(&pools);
    }
    test_cluster_free(c);
}

static void names_of_a_request_are_limited(void **state)
{
    (void)state;
    struct cluster *c = make_cluster_with_layers();
    for (size_t k = 0; k < 4; k++) { /* names that are all needed, and alternatives */
        size_t count = LICENSE_NAMES_MAX + k / 2;
        _cleanup_str_ struct str text = STR_INIT;
        struct license_needs needs = {0};
        struct err err = {0};
        for (size_t i = 0; i < count; i++)
            str_printf(&text, "%sx:1", !i ? "" : k % 2 ? "|" : ",");
        assert_int_equal(license_read(c, str_cstr(&text), &needs, &err),
                         count > LICENSE_NAMES_MAX ? -ERR_LICENSE : 0);
        if (err.code)
            assert_non_null(strstr(err.text, "65 names, a request has at most 64"));
        license_needs_done(&needs);
    }
    test_cluster_free(c);
}

static void layers_are_ordered_by_size(void **state)
{
    (void)state;
    struct cluster *c = make_cluster_with_layers();
    assert_int_equal(c->licenses.list.len, 1 + 7 + 7);
    for (size_t i = 1; i < 15; i++)
        assert_int_equal(c->licenses.list.data[i].pools, i % 7 == 1 ? 7 : 0);
    assert_int_equal(bitset_count(c->licenses.list.data[4].nodes), 2);
    assert_int_equal(bitset_count(c->licenses.list.data[7].nodes), 8);
    test_cluster_free(c);
}

/* As layers have it whose other nodes are not configured. */
static void first_of_layers_with_equal_nodes_is_the_lowest(void **state)
{
    struct cluster *c = test_cluster(conf);
    static const char *const texts[] = {"same(n1):1", "same(n[1-2]):1"};
    (void)state;
    license_add_layer(c, "same", CONF_HRES_PER_NODE, make_node_set(c, 0, 2), 5);
    license_add_layer(c, "same", CONF_HRES_PER_NODE, make_node_set(c, 0, 2), 7);
    license_add_layer(c, "same", CONF_HRES_PER_NODE, make_node_set(c, 0, 8), 9);
    for (size_t i = 0; i < 2; i++) {
        struct license_needs pools = {0};
        struct err err = {0};
        if (license_read_pools(c, texts[i], &pools, &err) != 0)
            fail_msg("%s: %s", texts[i], err.text);
        assert_int_equal(pools.list.len, 1);
        assert_int_equal(c->licenses.list.data[pools.list.data[0].at].total, 5);
        license_needs_done(&pools);
    }
    test_cluster_free(c);
}

static void job_uses_each_layer_of_its_nodes(void **state)
{
    (void)state;
    struct cluster *c = make_cluster_with_layers();
    struct job *one = start_job_on(c, 1, "L=flat:5,x:1", 0, 2),
               *wide = start_job_on(c, 2, "L=flat:2", 1, 2);
    assert_int_equal(get_used_amount(c, "flat", 0, 2), 7);
    assert_int_equal(get_used_amount(c, "flat", 2, 2), 2);
    assert_int_equal(get_used_amount(c, "flat", 0, 4), 7);
    assert_int_equal(get_used_amount(c, "flat", 0, 8), 7);
    assert_int_equal(get_used_amount(c, "flat", 4, 4), 0);
    assert_int_equal(c->licenses.list.data[0].used, 1);
    alloc_drop(c, wide, 0); /* n2 */
    assert_int_equal(get_used_amount(c, "flat", 0, 2), 5);
    assert_int_equal(get_used_amount(c, "flat", 0, 8), 7);
    assert_int_equal(resource_license.check(c, NULL), 0);
    job_set_state(c, one, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL);
    assert_int_equal(get_used_amount(c, "flat", 0, 8), 2);
    alloc_clear(c, one); /* its nodes come later, and count for nothing */
    assert_int_equal(get_used_amount(c, "flat", 0, 8), 2);
    assert_int_equal(resource_license.check(c, NULL), 0);
    test_cluster_free(c);
}

static void per_node_amounts_sum_up(void **state)
{
    (void)state;
    struct cluster *c = make_cluster_with_layers();
    struct job *j = start_job_on(c, 1, "L=power:1000", 1, 5);
    assert_int_equal(get_used_amount(c, "power", 0, 2), 1000);
    assert_int_equal(get_used_amount(c, "power", 2, 2), 2000);
    assert_int_equal(get_used_amount(c, "power", 4, 2), 2000);
    assert_int_equal(get_used_amount(c, "power", 0, 4), 3000);
    assert_int_equal(get_used_amount(c, "power", 0, 8), 5000);
    assert_int_equal(get_used_amount(c, "power", 6, 2), 0);
    alloc_release(c, j, &attempt_of(j)->alloc.data[0]); /* it failed */
    assert_int_equal(get_used_amount(c, "power", 0, 2), 0);
    assert_int_equal(get_used_amount(c, "power", 0, 8), 4000);
    assert_int_equal(resource_license.check(c, NULL), 0);
    job_set_state(c, j, PB__JOB_STATE__PENDING, CAUSE_NONE, NULL); /* requeued */
    assert_int_equal(get_used_amount(c, "power", 0, 8), 0);
    alloc_clear(c, j);
    assert_int_equal(resource_license.check(c, NULL), 0);
    test_cluster_free(c);
}

static void reservation_of_a_layer_counts_its_jobs(void **state)
{
    (void)state;
    struct cluster *c = make_cluster_with_layers();
    struct resv *r = resv_new("r");
    struct job *j = test_job(c, 1, "L=flat:3");
    r->start_at = 10;
    r->end_at = 100;
    resv_add(c, r);
    vec_push(&r->stock, ((struct resv_license){.at = 1, .count = 4}));
    resv_enter(c, j, r);
    assert_int_equal(alloc_take(c, j, 0, 1, 0, NULL), 0);
    job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    assert_int_equal(r->stock.data[0].used, 3);
    assert_int_equal(license_kept(c, 1, NULL, 20, 30), 1);
    assert_int_equal(license_kept(c, 2, NULL, 20, 30), 0);
    assert_int_equal(alloc_take(c, j, 1, 1, 0, NULL), 0); /* in the same layer */
    assert_int_equal(r->stock.data[0].used, 3);
    alloc_clear(c, j);
    assert_int_equal(r->stock.data[0].used, 0);
    job_set_state(c, j, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL);
    resv_leave(c, j);
    assert_int_equal(r->stock.data[0].used, 0);
    test_cluster_free(c);
}

static void impossible_request_is_refused(void **state)
{
    static const struct {
        const char *words;
        bool possible;
    } cases[] = {
        {"L=flat:12", true},        {"L=flat:13", false},        {"L=flat:1 N=8", true},
        {"L=power:1000 N=8", true}, {"L=power:1200 N=8", false}, {"L=power:1200 N=7", true},
        {"L=power:3500", true},     {"L=power:4000 N=2", true},  {"L=power:4000 N=3", false},
        {"L=power:9000", false},    {"L=power:9001", false},     {"L=flat:1,power:1", true},
        {"L=flat:13,x:1", false},   {"L=x:4,flat:1", false},
    };
    (void)state;
    struct cluster *c = make_cluster_with_layers();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = {0};
        struct job *j = test_job(c, 1, cases[i].words);
        int rc = resource_possible(c, j, &err);
        if ((rc == 0) != cases[i].possible)
            fail_msg("%s: %s", cases[i].words, rc ? err.text : "possible");
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

static void swap_total(struct cluster *c, struct license_raise *r)
{
    uint64_t *total = &c->licenses.list.data[r->at].total, was = *total;
    *total = r->total;
    r->total = was;
}

/* With all of them the request is possible, and without any one of them it is not. */
static void raised_layers_make_a_request_possible(void **state)
{
    static const char *const cases[] = {"L=flat:13", "L=flat:25", "L=power:1200 N=8",
                                        "L=power:4000 N=3", "L=power:9000 N=1"};
    (void)state;
    struct cluster *c = make_cluster_with_layers();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct license_raise raises[LICENSE_RAISES_MAX];
        struct job *j = test_job(c, 1, cases[i]);
        size_t count = license_find_raises(c, j, &j->want.licenses.list.data[0], raises);
        if (!count)
            fail_msg("%s: no layer is named", cases[i]);
        for (size_t k = 0; k < count; k++)
            swap_total(c, &raises[k]);
        assert_int_equal(license_possible(c, j, NULL), 0);
        for (size_t k = 0; k < count; k++) {
            swap_total(c, &raises[k]);
            assert_int_equal(license_possible(c, j, NULL), -ERR_LICENSE);
            swap_total(c, &raises[k]);
        }
        for (size_t k = 0; k < count; k++)
            swap_total(c, &raises[k]);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

/* Higher counts do not help a job that requires a node that no layer has: the refusal names it,
 * also where layers have too little. */
static void required_node_without_a_layer_is_named(void **state)
{
    static const char *const cases[] = {"L=part:1 w=n7 N=1", "L=part:5 w=n7 N=1",
                                        "L=part:5 w=n[1-2],n7 N=3", "L=part:2 w=n[6-7] N=2"};
    (void)state;
    for (int per_node = 0; per_node < 2; per_node++) {
        enum conf_hres_mode mode = per_node ? CONF_HRES_PER_NODE : CONF_HRES_EACH_LAYER;
        struct cluster *c = make_cluster_with_layers();
        license_add_layer(c, "part", mode, make_node_set(c, 0, 4), 4);
        license_add_layer(c, "part", mode, make_node_set(c, 0, 6), 4);
        for (size_t i = 0; i < COUNT(cases); i++) {
            struct license_raise raises[LICENSE_RAISES_MAX];
            struct err err = {0};
            struct job *j = test_job(c, 1, cases[i]);
            assert_int_equal(license_possible(c, j, &err), -ERR_LICENSE);
            if (!strstr(err.text, ": no layer has n7"))
                fail_msg("%s: %s", cases[i], err.text);
            assert_int_equal(license_find_raises(c, j, &j->want.licenses.list.data[0], raises), 0);
            cluster_remove_job(c, j);
        }
        test_cluster_free(c);
    }
}

/* More layers than are named, each of which is needed, and many more that are not. */
static void many_short_layers_have_no_raises(void **state)
{
    (void)state;
    for (uint32_t needed = LICENSE_RAISES_MAX; needed <= LICENSE_RAISES_MAX + 1; needed++) {
        struct cluster *c = test_cluster(conf);
        struct license_raise raises[LICENSE_RAISES_MAX];
        for (uint32_t i = 0; i < 8; i++)
            license_add_layer(c, "one", CONF_HRES_PER_NODE, make_node_set(c, i, 1),
                              i < needed ? 1 : 2);
        test_up(c);
        struct job *j = test_job(c, 1, "L=one:2 N=8");
        size_t count = license_find_raises(c, j, &j->want.licenses.list.data[0], raises);
        assert_int_equal(count, needed == LICENSE_RAISES_MAX ? needed : 0);
        test_cluster_free(c);
    }
}

/* --- against exhaustive search ------------------------------------------------------------------
 */

struct tree {
    struct cluster *c;
    struct license_need need;
    uint64_t room[16];
    uint32_t weight[8];
};

/* Layers that divide the nodes again and again, of random totals. */
static void divide_into_layers(struct tree *t, uint64_t *chance, uint32_t first, uint32_t count,
                               bool per_node)
{
    if (test_between(chance, 0, 4))
        license_add_layer(t->c, "r", per_node ? CONF_HRES_PER_NODE : CONF_HRES_EACH_LAYER,
                          make_node_set(t->c, first, count), 1);
    uint32_t left = count > 1 ? test_between(chance, 1, count - 1) : 0;
    if (left && test_between(chance, 0, 3)) {
        divide_into_layers(t, chance, first, left, per_node);
        divide_into_layers(t, chance, first + left, count - left, per_node);
    }
}

static bool set_fits(const struct tree *t, uint32_t set)
{
    const struct license *l = &t->c->licenses.list.data[t->need.at];
    uint32_t seen = 0;
    for (uint32_t i = 0; i < l->pools; i++) {
        uint32_t in = set & (uint32_t)l[i].nodes->word[0];
        seen |= in;
        if (license_amount(&l[i], &t->need, (uint32_t)__builtin_popcount(in)) > t->room[i])
            return false;
    }
    return seen == set;
}

static uint32_t weigh_set(const struct tree *t, uint32_t set)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 8; i++)
        sum += set >> i & 1 ? t->weight[i] : 0;
    return sum;
}

/* All sets within 'of': the largest one, and the greatest weight; or that there is one that has all
 * of 'keep'. */
static void compare_with_all_sets(const struct tree *t, uint64_t seed, uint32_t of, uint32_t keep,
                                  uint32_t found)
{
    uint32_t most = 0, greatest = 0;
    bool kept = false;
    for (uint32_t set = 0; set < 256; set++) {
        if (set & ~of || !set_fits(t, set))
            continue;
        uint32_t size = (uint32_t)__builtin_popcount(set), weight = weigh_set(t, set);
        most = size > most ? size : most;
        greatest = weight > greatest ? weight : greatest;
        kept = kept || (set & keep) == keep;
    }
    bool keeps = (found & keep) == keep;
    if (found & ~of || !set_fits(t, found) || (uint32_t)__builtin_popcount(found) != most ||
        (!keep && weigh_set(t, found) != greatest) || keeps != kept)
        fail_msg("seed %llu: of %x (%x to be kept) %x is left", (unsigned long long)seed, of, keep,
                 found);
}

static void largest_set_is_left(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        uint64_t chance = seed;
        struct tree t = {.c = test_cluster(conf), .need = {(char *)"r", 1, 1}};
        license_add_layer(t.c, "r", seed % 2 ? CONF_HRES_PER_NODE : CONF_HRES_EACH_LAYER,
                          make_node_set(t.c, 0, 1), 1);
        divide_into_layers(&t, &chance, 0, 8, seed % 2);
        for (size_t i = 0; i < COUNT(t.room); i++)
            t.room[i] = test_between(&chance, 0, 9);
        for (size_t i = 0; i < COUNT(t.weight); i++)
            t.weight[i] = test_between(&chance, 0, 5);
        t.need.count = test_between(&chance, 1, 3);
        _cleanup_bitset_ struct bitset *set = bitset_new(8), *keep = bitset_new(8);
        set->word[0] = test_between(&chance, 0, 255);
        keep->word[0] = seed % 3 ? 0 : set->word[0] & test_between(&chance, 0, 255);
        uint32_t of = (uint32_t)set->word[0];
        bool trimmed = license_trim(t.c, &t.need, t.room, keep, t.weight, set);
        assert_int_equal(trimmed, of != set->word[0]);
        compare_with_all_sets(&t, seed, of, (uint32_t)keep->word[0], (uint32_t)set->word[0]);
        test_cluster_free(t.c);
    }
}

static void each_resource_kind_has_matching_operations(void **state)
{
    static const struct {
        enum resource_scope scope;
        const struct resource_ops *ops;
    } kinds[] = {
#define RESOURCE(id, scope, noun, ...) {RESOURCE_##scope, &resource_##noun},
#include "cluster/resource/resource_kind.def"
    };
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const struct resource_ops *ops = kinds[i].ops;
        assert_int_equal(!ops->take, !ops->give_back);
        assert_int_equal(!ops->pack, !ops->restore);
        assert_int_equal(!ops->pack, !ops->differs);
        if (kinds[i].scope == RESOURCE_SUBTREE) /* its amount is that of the job's nodes there */
            assert_non_null(ops->follow_node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_resource_kind_has_matching_operations),
        cmocka_unit_test(overflowing_sums_are_refused),
        cmocka_unit_test(names_of_a_request_are_limited),
        cmocka_unit_test(layers_are_ordered_by_size),
        cmocka_unit_test(first_of_layers_with_equal_nodes_is_the_lowest),
        cmocka_unit_test(job_uses_each_layer_of_its_nodes),
        cmocka_unit_test(per_node_amounts_sum_up),
        cmocka_unit_test(reservation_of_a_layer_counts_its_jobs),
        cmocka_unit_test(impossible_request_is_refused),
        cmocka_unit_test(raised_layers_make_a_request_possible),
        cmocka_unit_test(required_node_without_a_layer_is_named),
        cmocka_unit_test(many_short_layers_have_no_raises),
        cmocka_unit_test(largest_set_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
