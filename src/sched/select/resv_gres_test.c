/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reservations of generic resources: the nodes that they get, and what they leave to others. */
#include "sched/sched_test_util.h"
#include "sched/select/resv.h"
#include "sched/select/resv_pick.h"

enum { NOW = 100000, NODES = 4, GPU_A = 0, GPU_B = 1, NIC = 2, KINDS = 3 };

#define CONF                                                                                       \
    CONS "GresTypes=gpu,nic\n"                                                                     \
         "NodeName=n[1-3] CPUs=4 RealMemory=100 Gres=gpu:a:2,gpu:b:1,nic:4\n"                      \
         "NodeName=n4 CPUs=4 RealMemory=100 Gres=nic:4\n"                                          \
         "PartitionName=p Nodes=ALL Default=YES\n"

static const uint64_t stocks[NODES][KINDS] = {{2, 1, 4}, {2, 1, 4}, {2, 1, 4}, {0, 0, 4}};

static struct cluster *cluster_up(void)
{
    struct cluster *c = test_cluster(CONF);
    test_up(c);
    assert_int_equal(c->gres_kinds.len, KINDS);
    assert_int_equal(gres_kind_find(c, "gpu", "b"), GPU_B);
    assert_int_equal(gres_kind_find(c, "nic", NULL), NIC);
    return c;
}

struct wish {
    const char *name, *nodes, *per_node, *total;
    uint32_t count, cores;
    int64_t from, until;
    uint32_t flags;
};

static struct resv *draft(struct cluster *c, const struct wish *w)
{
    struct resv *r = resv_new(w->name);
    r->start_at = NOW + w->from;
    r->end_at = NOW + w->until;
    r->float_sec = w->from;
    r->float_length_sec = w->until - w->from;
    r->flags = w->flags | (w->nodes ? RESV_SPEC_NODES : 0);
    r->node_names = mem_strdup(w->nodes);
    r->node_count = w->count;
    r->cores_per_node = w->cores;
    r->gres_per_node = mem_strdup(w->per_node);
    r->gres_total = mem_strdup(w->total);
    resv_resolve(c, r);
    return r;
}

/* Creates the reservation in the cluster; NULL: 'rc' says why this is impossible. */
static struct resv *make(struct cluster *c, const struct wish *w, int *rc)
{
    struct resv_pick p = {c, NULL, NOW, false};
    struct resv *r = draft(c, w);
    struct err err = {0};
    *rc = resv_pick(&p, r, NULL, &err);
    if (*rc == 0) {
        resv_add(c, r);
        return r;
    }
    resv_free(r);
    return NULL;
}

/* Returns "n1 gpu:a:2 nic:1 n2 ...": the reserved GRES. The caller frees the text. */
static char *text_of(const struct cluster *c, const struct resv *r)
{
    struct str out = STR_INIT;
    bitset_foreach (r->nodes, i) {
        str_printf(&out, "%s%s", out.len ? " " : "", c->nodes.data[i]->name);
        if (r->units)
            str_printf(&out, " cpu:%u", r->units[i]);
        for (size_t k = 0; k < KINDS; k++)
            if (r->gres && r->gres[(size_t)i * KINDS + k])
                str_printf(&out, " %s%s:%u",
                           k == GPU_A   ? "a"
                           : k == GPU_B ? "b"
                                        : "nic",
                           "", (unsigned)r->gres[(size_t)i * KINDS + k]);
    }
    return str_take(&out);
}

static void a_reservation_gets_nodes_with_what_it_wants(void **state)
{
    static const struct {
        struct wish wish;
        int code;
        const char *has;
    } cases[] = {
        {{"per node", NULL, "gpu:a:1", NULL, 2}, 0, "n1 a:1 n2 a:1"},
        {{"any type", NULL, "gpu:3", NULL, 1}, 0, "n1 a:2 b:1"},
        {{"one type and any", NULL, "gpu:b:1,gpu:1", NULL, 1}, 0, "n1 a:1 b:1"},
        {{"too many", NULL, "gpu:4", NULL, 1}, ERR_NODES_BUSY, NULL},
        {{"too many nodes", NULL, "gpu:1", NULL, 4}, ERR_NODES_BUSY, NULL},
        {{"with cores", NULL, "nic:1", NULL, 2, 3}, 0, "n1 cpu:3 nic:1 n2 cpu:3 nic:1"},
        {{"too many cores", NULL, "nic:1", NULL, 2, 5}, ERR_NODES_BUSY, NULL},
        {{"in all", NULL, NULL, "nic:6"}, 0, "n1 nic:4 n2 nic:2"},
        {{"in all of several", NULL, NULL, "gpu:b:2,nic:6"}, 0, "n1 b:1 nic:4 n2 b:1 nic:2"},
        {{"in all, too many", NULL, NULL, "gpu:10"}, ERR_NODES_BUSY, NULL},
        {{"in all, evenly", NULL, NULL, "nic:5", 2}, 0, "n1 nic:3 n2 nic:2"},
        {{"in all, not evenly", NULL, NULL, "nic:9", 2}, ERR_NODES_BUSY, NULL},
        {{"all that can", NULL, "gpu:a:2", NULL}, 0, "n1 a:2 n2 a:2 n3 a:2"},
        {{"named", "n[2,4]", "nic:1", NULL, 2}, 0, "n2 nic:1 n4 nic:1"},
        {{"named, in all", "n[1-2]", NULL, "gpu:3", 2}, 0, "n1 a:2 n2 a:1"},
        {{"named, without", "n[3-4]", "gpu:1", NULL, 2}, ERR_GRES, NULL},
        {{"unknown", NULL, "tpu:1", NULL, 1}, ERR_GRES, NULL},
        {{"unknown type", NULL, "gpu:c:1", NULL, 1}, ERR_GRES, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cluster *c = cluster_up();
        struct wish w = cases[i].wish;
        int rc;
        w.until = 600;
        struct resv *r = make(c, &w, &rc);
        if (rc != -cases[i].code)
            fail_msg("%s: %d, not %d", w.name, rc, -cases[i].code);
        if (r) {
            _cleanup_free_ char *has = text_of(c, r);
            assert_string_equal(has, cases[i].has);
        }
        test_cluster_free(c);
    }
}

/* Counts the GRES of reservations without these flags. */
static uint64_t kept_at(const struct cluster *c, int64_t at, size_t node, size_t kind,
                        uint32_t flags)
{
    uint64_t sum = 0;
    vec_foreach (&c->resvs, r)
        sum += !((*r)->flags & flags) && test_is_reserved(*r, at, NOW)
                   ? (*r)->gres[node * KINDS + kind]
                   : 0;
    return sum;
}

static struct wish draw_wish(uint64_t *chance)
{
    static const uint32_t kinds[] = {0, 0, RESV_HOURLY, RESV_TIME_FLOAT};
    static const char *const wants[] = {"gpu:a:1", "gpu:1", "nic:2", "gpu:b:1,nic:1", "gpu:2"};
    static const char *const nodes[] = {"n1", "n[1-2]", "n[2-3]", "n[2,4]"};
    struct wish w = {"r", NULL, NULL, NULL, 1, 0, 0, 0, kinds[test_between(chance, 0, 3)]};
    w.from = 600 * (int64_t)test_between(chance, 0, 9);
    w.from += w.flags == RESV_TIME_FLOAT && !w.from ? 600 : 0;
    w.until = w.from + 600 * (int64_t)test_between(chance, 1, 5);
    if (test_between(chance, 0, 1))
        w.nodes = nodes[test_between(chance, 0, 3)];
    w.per_node = wants[test_between(chance, 0, 4)];
    return w;
}

/* Random reservations never reserve more than exists at one time; floating ones never become
 * active. They leave a job the minimum over its run time. */
static void reservations_never_keep_more_than_nodes_have(void **state)
{
    size_t refused = 0, made = 0, bound = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        uint64_t chance = seed;
        struct cluster *c = cluster_up();
        for (uint32_t n = test_between(&chance, 1, 5); n > 0; n--) {
            struct wish w = draw_wish(&chance);
            int rc;
            made += make(c, &w, &rc) != NULL;
            refused += rc != 0;
        }
        for (int64_t at = NOW; at < NOW + 8 * 3600; at += 600)
            for (size_t i = 0; i < NODES * KINDS; i++)
                if (kept_at(c, at, i / KINDS, i % KINDS, RESV_TIME_FLOAT) >
                    stocks[i / KINDS][i % KINDS])
                    fail_msg("seed %llu: n%zu has too little at %lld", (unsigned long long)seed,
                             i / KINDS + 1, (long long)at - NOW);
        struct resv_plan plan;
        struct job *j = test_job(c, 1, "");
        j->limit_sec = 600 * test_between(&chance, 1, 30);
        resv_plan_init(&plan, c, NOW);
        const struct free_view *view = resv_view(&plan, j, NULL, NOW, &c->pool.now);
        for (size_t i = 0; i < NODES * KINDS; i++) {
            uint64_t most = 0;
            for (int64_t at = NOW; at < NOW + j->limit_sec; at += 600) {
                uint64_t kept = kept_at(c, at, i / KINDS, i % KINDS, 0);
                most = kept > most ? kept : most;
            }
            uint64_t stock = stocks[i / KINDS][i % KINDS];
            assert_int_equal(view->gres[i], most < stock ? stock - most : 0);
            assert_true(!most || !view->whole[i / KINDS]);
            bound += most > 0;
        }
        resv_plan_done(&plan);
        test_cluster_free(c);
    }
    assert_true(refused > 500 && made > 3000 && bound > 3000);
}

/* Jobs in a reservation get its GRES and no more of that name; other jobs leave them to it, and
 * GRES held by its jobs do not count twice. */
static void its_jobs_have_what_it_keeps(void **state)
{
    struct cluster *c = cluster_up();
    struct wish w = {"r", "n1", "gpu:a:2", NULL, 1, 0, 0, 600, 0};
    struct resv_plan plan;
    int rc;
    struct resv *r = make(c, &w, &rc);
    struct job *j = test_job(c, 1, "");
    resv_plan_init(&plan, c, NOW);
    j->limit_sec = 60;
    const struct free_view *view = resv_view(&plan, j, r, NOW, &c->pool.now);
    assert_int_equal(view->gres[GPU_A], 2);
    assert_int_equal(view->gres[GPU_B], 0); /* a GPU that is not reserved */
    assert_int_equal(view->gres[NIC], 4);
    assert_false(view->whole[0]);
    view = resv_view(&plan, j, NULL, NOW, &c->pool.now);
    assert_int_equal(view->gres[GPU_A], 0);
    assert_int_equal(view->gres[GPU_B], 1);
    assert_int_equal(view->units[0], 4);
    assert_false(view->whole[0]);
    r->flags |= RESV_FLEX; /* its jobs may use everything */
    assert_ptr_equal(resv_view(&plan, j, r, NOW, &c->pool.now), &c->pool.now);
    resv_plan_done(&plan);
    test_cluster_free(c);
}

/* Nodes are added and removed: the reservation gets its share on each node of the partition, keeps
 * its share on nodes that stay, and gets what there is on a node with too little. */
static void it_follows_its_partition(void **state)
{
    static const struct {
        const char *nodes, *has;
    } steps[] = {
        {"1110", "n1 cpu:1 a:1 nic:2 n2 cpu:1 b:1 nic:2 n3 cpu:1 a:1 nic:2"},
        {"0110", "n2 cpu:1 b:1 nic:2 n3 cpu:1 a:1 nic:2"},
        {"0000", ""},
        {"0001", "n4 cpu:1 nic:2"},
        {"1001", "n1 cpu:1 a:1 nic:2 n4 cpu:1 nic:2"},
        {"0100", "n2 cpu:1 b:1 nic:2"},
        {"1111", "n1 cpu:1 a:1 nic:2 n2 cpu:1 b:1 nic:2 n3 cpu:1 a:1 nic:2 n4 cpu:1 nic:2"},
        {"1010", "n1 cpu:1 a:1 nic:2 n3 cpu:1 a:1 nic:2"},
    };
    struct cluster *c = cluster_up();
    struct wish other = {"other", "n2", "gpu:a:2", NULL, 1, 0, 0, 600, 0};
    struct wish w = {"r", "n[1-3]", "gpu:1,nic:2", NULL, 3, 1, 0, 600, RESV_PART_NODES};
    int rc;
    (void)state;
    assert_non_null(make(c, &other, &rc)); /* n2 has only a GPU of type b left */
    struct resv *r = make(c, &w, &rc);
    assert_non_null(r);
    r->part = mem_strdup("p");
    struct bitset *nodes = cluster_find_part(c, "p")->nodes;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (size_t k = 0; k < NODES; k++)
            if (steps[i].nodes[k] == '1')
                bitset_set(nodes, k);
            else
                bitset_unset(nodes, k);
        assert_int_equal(resv_follow_part(c, r), i > 0);
        resv_pick_added(&(struct resv_pick){c, r, NOW, false}, r);
        _cleanup_free_ char *has = text_of(c, r);
        assert_string_equal(has, steps[i].has);
        assert_true(bitset_empty(r->nodes) || resv_in_parts(r));
        struct str shown = STR_INIT;
        resv_pack_shown(c, r, NOW, &shown);
        assert_true(shown.len > 0);
        str_done(&shown);
    }
    test_cluster_free(c);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reservation_gets_nodes_with_what_it_wants),
        cmocka_unit_test(reservations_never_keep_more_than_nodes_have),
        cmocka_unit_test(its_jobs_have_what_it_keeps),
        cmocka_unit_test(it_follows_its_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
