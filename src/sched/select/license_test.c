/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hierarchical resources in all modes: a job starts when, and as early as, exhaustive search over
 * all sets of nodes finds a placement; and sluice why names the layer.
 */
#include "base/pb.h"
#include "base/test_drawn.h"
#include "cluster/job/license_layer.h"
#include "cluster/job/license_tied.h"
#include "sched/sched_test_util.h"
#include "sched/why/why.h"

enum { NOW = 1000, NODES = 6, RUNNING = 5, STATES = TEST_DRAWN(4000) };

static const char conf[] = CONS "NodeName=n[1-4] CPUs=4 RealMemory=400\n"
                                "NodeName=m[1-2] CPUs=2 RealMemory=800 Weight=5\n"
                                "PartitionName=p Nodes=ALL\n";

static void add_layer(struct cluster *c, const char *name, enum conf_hres_mode mode, uint32_t first,
                      uint32_t count, uint64_t total)
{
    struct bitset *nodes = bitset_new(c->nodes.len);
    bitset_set_range(nodes, first, count);
    license_add_layer(c, name, mode, nodes, total);
}

static void divide(struct cluster *c, uint64_t *chance, const char *name, enum conf_hres_mode mode,
                   uint32_t first, uint32_t count)
{
    uint32_t left = count > 1 ? test_between(chance, 1, count - 1) : 0;
    add_layer(c, name, mode, first, count, test_between(chance, 2, 4 + 2 * count));
    if (left && test_between(chance, 0, 2)) {
        divide(c, chance, name, mode, first, left);
        divide(c, chance, name, mode, first + left, count - left);
    }
}

static struct job *draw(struct cluster *c, uint64_t *chance, uint32_t id)
{
    static const char *const specs[] = {"",          "n=3",     "N=2",     "N=3",
                                        "N=1-3 n=6", "c=2 n=4", "mem=300", "N=2-4 mem-per-cpu=150"};
    static const char *const needs[] = {"L=once:1", "L=once:2",        "L=each:1",      "L=each:2",
                                        "L=each:3", "L=once:3,each:1", "L=one:1",       "L=one:3",
                                        "L=one:5",  "L=one:2,each:1",  "L=once:1,one:4"};
    _cleanup_free_ char *words =
        mem_printf("%s %s", specs[test_between(chance, 0, COUNT(specs) - 1)],
                   needs[test_between(chance, 0, COUNT(needs) - 1)]);
    struct job *j = test_job(c, id, words);
    j->limit_sec = test_between(chance, 1, 30) * 10;
    return j;
}

static struct cluster *make(uint64_t *chance)
{
    struct cluster *c = test_cluster(conf);
    divide(c, chance, "once", CONF_HRES_EACH_LAYER, 0, NODES);
    divide(c, chance, "each", CONF_HRES_PER_NODE, 0, NODES);
    divide(c, chance, "one", CONF_HRES_ONE_LAYER, 0, NODES);
    test_up(c);
    return c;
}

#define LAYERS_MAX 64 /* pools of a drawn cluster */

/* --- exhaustive search --------------------------------------------------------------------------
 */

struct state { /* what is free at some time */
    const struct cluster *c;
    uint32_t units[NODES];
    uint64_t mem_mib[NODES];
    uint64_t layers[LAYERS_MAX];
};

static void see_now(struct state *s)
{
    for (size_t i = 0; i < NODES; i++) {
        s->units[i] = s->c->pool.now.units[i];
        s->mem_mib[i] = (uint64_t)s->c->pool.now.amounts[i].mem_mib;
    }
    assert_true(s->c->licenses.list.len <= LAYERS_MAX);
    vec_foreach (&s->c->licenses.list, l) {
        assert_true(l->used <= l->total);
        s->layers[l - s->c->licenses.list.data] = l->total - l->used;
    }
}

static void give_back(struct state *s, const struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a) {
        s->units[a->node] += a->units;
        s->mem_mib[a->node] += alloc_memory_mib(a);
    }
    for (size_t i = 0; i < s->c->licenses.list.len; i++)
        s->layers[i] += license_of_job(s->c, j, (int32_t)i);
}

static bool layers_allow(const struct state *s, const struct job *j, uint32_t set)
{
    vec_foreach (&j->want.licenses.list, need) {
        const struct license *l = &s->c->licenses.list.data[need->at];
        bool pays = l->mode != CONF_HRES_ONE_LAYER;
        for (uint32_t i = 0; i < l->pools; i++) {
            uint32_t in = (uint32_t)__builtin_popcount(set & (uint32_t)l[i].nodes->word[0]);
            if (l->mode == CONF_HRES_ONE_LAYER)
                pays = pays || (in && need->count <= s->layers[(size_t)need->at + i]);
            else if (license_amount(&l[i], need, in) > s->layers[(size_t)need->at + i])
                return false;
        }
        if (!pays)
            return false;
    }
    return true;
}

static bool set_does(const struct state *s, const struct job *j, uint32_t set)
{
    const struct request *r = &j->want;
    uint32_t tasks = 0, nodes = (uint32_t)__builtin_popcount(set);
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t cpus = s->units[i], here;
        if (!(set >> i & 1))
            continue;
        if (r->mem_node_mib > s->mem_mib[i])
            return false;
        if (r->mem_cpu_mib && s->mem_mib[i] / r->mem_cpu_mib < cpus)
            cpus = (uint32_t)(s->mem_mib[i] / r->mem_cpu_mib);
        here = cpus / r->cpus_per_task;
        if (!here)
            return false;
        tasks += here;
    }
    return nodes >= r->min_nodes && nodes <= r->max_nodes && tasks >= r->tasks &&
           nodes <= (r->tasks ? r->tasks : 1) && layers_allow(s, j, set);
}

static bool fits(const struct state *s, const struct job *j)
{
    for (uint32_t set = 1; set < 1u << NODES; set++)
        if (set_does(s, j, set))
            return true;
    return false;
}

/* 0: never. */
static int64_t find_earliest(const struct cluster *c, const struct job *j)
{
    struct state s = {.c = c};
    see_now(&s);
    if (fits(&s, j))
        return NOW;
    for (struct order_link *l = order_first(&c->ends); l;) {
        int64_t at = l->key;
        for (; l && l->key == at; l = order_next(l))
            give_back(&s, job_of_end(l));
        if (fits(&s, j))
            return at;
    }
    return 0;
}

/* --- and the planner ----------------------------------------------------------------------------
 */

static int64_t find_planned(struct cluster *c, const struct job *j, struct selection *where)
{
    struct license_claims none = {0};
    struct timeline t;
    _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
    timeline_init(&t, c, NOW);
    timeline_set_licenses(&t, &none, 0);
    int64_t at = timeline_find(&t, j, allowed, where);
    timeline_done(&t);
    return where->shares.len ? at : 0;
}

static void start_is_as_early_as_exhaustive_search_says(void **state)
{
    size_t later = 0, never = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= STATES; seed++) {
        uint64_t chance = seed;
        struct cluster *c = make(&chance);
        for (uint32_t id = 1; id <= RUNNING + 3; id++) {
            struct job *j = draw(c, &chance, id);
            struct selection where = {0};
            int64_t due = find_earliest(c, j), at = find_planned(c, j, &where);
            if (at != due)
                fail_msg("seed %llu, job %u: to start at %lld, and not %lld",
                         (unsigned long long)seed, id, (long long)due, (long long)at);
            if ((resource_possible(c, j, NULL) != 0) > !due)
                fail_msg("seed %llu, job %u: is not impossible", (unsigned long long)seed, id);
            later += due > NOW;
            never += !due;
            if (due == NOW && id <= RUNNING)
                test_run_selection(c, j, &where, NOW + test_between(&chance, 1, 30) * 10);
            assert_int_equal(resource_license.check(c, NULL), 0);
            select_done(&where);
        }
        test_cluster_free(c);
    }
    assert_true(later > STATES / 2 && never > STATES / 10);
}

/* Two jobs that would each have their place alone: the second one's is where the first leaves it
 * enough of the layers. A pass without anything new has the first one's place from the pass before,
 * and searches for none. */
static void places_leave_each_other_their_layers(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(conf);
    add_layer(c, "each", CONF_HRES_PER_NODE, 0, NODES, 6);
    add_layer(c, "each", CONF_HRES_PER_NODE, 0, 2, 2);
    test_up(c);
    struct job *runs = test_job(c, 1, "N=2 L=each:1"); /* n1 and n2 until 1100 */
    test_run_job(c, runs, "n1:1 n2:1", 1100);
    struct job *first = test_job(c, 2, "N=3 L=each:2"), *second = test_job(c, 3, "N=2 L=each:2");
    struct plan_notes notes = {0};
    struct plan p;
    struct decision d;
    first->priority = 2;
    first->limit_sec = second->limit_sec = runs->limit_sec = 200;
    job_partitions_queue(first);
    job_partitions_queue(second);
    for (int pass = 0; pass < 2; pass++) {
        plan_begin(&p, c, &notes, NOW, true);
        assert_true(plan_next(&p, &d));
        assert_int_equal(d.job->id, 2);
        assert_int_equal(d.reason, REASON_LICENSES);
        assert_int_equal(d.start_at, 1100);
        assert_int_equal(p.shadow != NULL, pass == 0);
        assert_true(plan_next(&p, &d));
        assert_int_equal(d.job->id, 3); /* four are free now, and it would not be over at 1100 */
        assert_int_equal(d.reason, REASON_LICENSES);
        plan_end(&p);
    }
    second->limit_sec = 100;
    plan_begin(&p, c, &notes, NOW, true);
    assert_true(plan_next(&p, &d));
    assert_true(plan_next(&p, &d));
    assert_int_equal(d.kind, PLAN_START); /* it is */
    assert_int_equal(d.job->id, 3);
    select_done(&d.where);
    plan_end(&p);
    plan_notes_done(&notes);
    test_cluster_free(c);
}

/* What a reservation keeps of a layer is for its jobs. */
static void reservation_keeps_a_layer(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(conf);
    add_layer(c, "once", CONF_HRES_EACH_LAYER, 0, 2, 3);
    test_up(c);
    struct resv *r = resv_new("r");
    r->start_at = NOW - 10;
    r->end_at = NOW + 1000;
    resv_resolve(c, r);
    vec_push(&r->stock, ((struct resv_license){.at = 0, .count = 2}));
    resv_add(c, r);
    struct job *j = test_job(c, 1, "L=once:2");
    struct license_claims none = {0};
    for (int inside = 0; inside < 2; inside++) {
        struct selection where = {0};
        struct license_view v;
        const struct free_view *view =
            license_view_init(&v, &none, c, j, inside ? r : NULL, NOW, &c->pool.now);
        assert_int_equal(select_nodes(c, j, j->part->nodes, view, &where) == 0, inside);
        license_view_done(&v);
        select_done(&where);
    }
    test_cluster_free(c);
}

static void expect_why(struct cluster *c, uint32_t id, const char *words, const char *resource,
                       uint64_t have, uint64_t need)
{
    struct job *j = test_job(c, id, words);
    j->limit_sec = 100;
    job_partitions_queue(j);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec spec = test_spec(&arena, words);
    job_repack(&j->spec, &spec.base);
    struct why *w = why_new(c, &(struct why_question){.job_id = id, .backfill = true});
    while (why_step(w, NOW))
        ;
    const Pb__WhyReply *m = why_answer(w);
    if (!str_eq(m->resource, resource) || m->have != have || m->need != need)
        fail_msg("%s: %s, have %llu, need %llu", words, m->resource ? m->resource : "(nothing)",
                 (unsigned long long)m->have, (unsigned long long)m->need);
    assert_int_equal(m->n_holders, 1);
    assert_int_equal(m->holders[0]->job_id, 1);
    assert_int_equal(m->start_at, NOW + 100);
    why_free(w);
    job_set_state(c, j, PB__JOB_STATE__CANCELLED, CAUSE_NONE, NULL);
}

/* HRES-51: the layer that keeps the job from its start, with what the job needs of it. */
static void why_names_the_layer(void **state)
{
    static const struct {
        const char *words, *resource;
        uint64_t have, need;
    } v[] = {
        {"w=n3 L=once:2", "license:once(n[1-4])", 1, 2},
        {"w=m1 L=once:5", "license:once(n[1-4],m[1-2])", 4,
         5}, /* not n[1-4]: it has no node there */
        {"N=4 L=each:2", "license:each(n[1-4],m[1-2])", 6, 8},
        {"w=n3,n4 N=2 L=each:2", "license:each(n[1-4])", 2, 4},
        {"L=one:3", "license:one(n[1-2])", 2, 3}, /* not m[1-2], which lacks more */
    };
    (void)state;
    struct cluster *c = test_cluster(conf);
    add_layer(c, "once", CONF_HRES_EACH_LAYER, 0, NODES, 8);
    add_layer(c, "once", CONF_HRES_EACH_LAYER, 0, 4, 5);
    add_layer(c, "once", CONF_HRES_EACH_LAYER, 4, 2, 5);
    add_layer(c, "each", CONF_HRES_PER_NODE, 0, NODES, 10);
    add_layer(c, "each", CONF_HRES_PER_NODE, 0, 4, 6);
    add_layer(c, "each", CONF_HRES_PER_NODE, 4, 2, 9);
    add_layer(c, "one", CONF_HRES_ONE_LAYER, 0, 2, 4);
    add_layer(c, "one", CONF_HRES_ONE_LAYER, 4, 2, 1);
    test_up(c);
    struct job *runs = test_job(c, 1, "N=2 L=once:4,each:2,one:2");
    runs->limit_sec = 100;
    test_run_job(c, runs, "n1:1 n2:1", NOW + 100);
    for (size_t i = 0; i < COUNT(v); i++)
        expect_why(c, (uint32_t)i + 2, v[i].words, v[i].resource, v[i].have, v[i].need);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_is_as_early_as_exhaustive_search_says),
        cmocka_unit_test(places_leave_each_other_their_layers),
        cmocka_unit_test(reservation_keeps_a_layer),
        cmocka_unit_test(why_names_the_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
