/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that wait for reserved resources: the named reservation, and the jobs that hold its
 * resources. */
#include "sched/select/resv.h"
#include "sched/why/why_test_util.h"

enum { NOW = 100000 };

#define CONF CONS "GresTypes=gpu\nNodeName=n[1-6] CPUs=4 Gres=gpu:2\nPartitionName=p Nodes=ALL\n"

struct kept {
    const char *nodes;
    uint32_t cores, gpus; /* on each node; both 0: whole nodes */
};

static struct resv *reserve(struct cluster *c, const char *name, const struct kept *k)
{
    struct resv *r = resv_new(name);
    r->start_at = NOW - 10;
    r->end_at = NOW + 7200;
    r->node_names = mem_strdup(k->nodes);
    for (size_t at = 0; at < 2; at++) { /* the reservation has no more nodes */
        if (k->cores)
            vec_push(&r->cores, k->cores);
        if (k->gpus)
            resv_keep_gres(c, r, at, 0, k->gpus);
    }
    resv_resolve(c, r);
    resv_add(c, r);
    return r;
}

static void confine(struct job *j, struct resv *r)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    spec->reservation = r->name;
    job_repack(&j->spec, &spec->base);
    j->resv_asked = true;
    resv_bind(j, r);
}

/* Job 1 holds all of n4 that the reservation has, and the queried job is confined to the
 * reservation. Job 3 is outside, and another reservation has the rest of the node. */
static void holder_of_what_a_reservation_keeps_is_named(void **state)
{
    static const struct {
        struct kept kept;
        const char *words, *resource, *cause, *keeps;
    } cases[] = {
        {{"n4", 1, 0}, "", "nodes with enough CPUs", "cpus", "cpu=1"},
        {{"n4", 0, 1}, "gres=gpu:1", "nodes with enough gres", "gres", "gres/gpu=1"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = test_cluster(CONF);
        struct selection where = {0};
        struct why *w;
        test_up(c);
        struct resv *b = reserve(c, "b", &cases[i].kept);
        reserve(c, "other", &(struct kept){"n4", 1, 0});
        struct job *first = test_job(c, 1, cases[i].words);
        _cleanup_bitset_ struct bitset *n4 = bitset_new(c->nodes.len);
        bitset_set(n4, 3);
        assert_int_equal(select_nodes(c, first, n4, NULL, &where), 0);
        confine(first, b);
        test_run_selection(c, first, &where, NOW + 100);
        resv_enter(c, first, b);
        test_run(c, 3, "n4:1", NOW + 200);
        confine(test_queue_job(c, 5, cases[i].words), b);
        const Pb__WhyReply *m = test_ask_why(c, 5, NOW, &w);
        assert_string_equal(m->rule, "resources");
        assert_string_equal(m->resource, cases[i].resource);
        assert_int_equal(m->have, 0);
        assert_int_equal(m->need, 1);
        assert_int_equal(m->could_ever, 1);
        assert_int_equal(m->n_groups, 1);
        assert_string_equal(m->groups[0]->cause, cases[i].cause);
        assert_string_equal(m->groups[0]->nodes, "n4");
        assert_int_equal(m->groups[0]->n_holders, 1);
        assert_int_equal(m->groups[0]->holders[0]->job_id, 1);
        assert_int_equal(m->n_reservations, 1);
        assert_string_equal(m->reservations[0]->name, "b");
        assert_string_equal(m->reservations[0]->keeps, cases[i].keeps);
        assert_true(m->reservations[0]->own);
        why_free(w);
        select_done(&where);
        test_cluster_free(c);
    }
}

/* Of six nodes two are busy; the others are reserved, or their rest is too small. */
static void nodes_that_are_reserved_for_others_are_not_free(void **state)
{
    static const struct {
        struct kept kept;
        const char *words, *rule;
        uint32_t free;
    } cases[] = {
        {{"n[1-2]", 0, 0}, "N=5", "resources", 2},
        {{"n[1-2]", 2, 0}, "N=5 c=3", "resources", 2},
        {{"n[1-2]", 0, 2}, "N=5 gres=gpu:1", "resources", 2},
        {{"n[1-2]", 0, 0}, "N=4", "reserved", 2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = test_cluster(CONF);
        struct why *w;
        test_up(c);
        reserve(c, "r1", &cases[i].kept);
        bool is_five = strstr(cases[i].words, "N=5");
        test_run(c, 1, "n5:4 n6:4", NOW + 100);
        test_queue_job(c, 5, is_five ? cases[i].words : "N=4");
        const Pb__WhyReply *m = test_ask_why(c, 5, NOW, &w);
        const Pb__WhyNodes *reserved = NULL, *open = NULL;
        for (size_t g = 0; g < m->n_groups; g++)
            if (str_eq(m->groups[g]->cause, "reserved"))
                reserved = m->groups[g];
            else if (str_eq(m->groups[g]->cause, "free"))
                open = m->groups[g];
        assert_non_null(reserved);
        assert_non_null(open);
        assert_string_equal(reserved->nodes, "n[1-2]");
        assert_int_equal(reserved->n_holders, 0);
        assert_int_equal(open->count, cases[i].free);
        assert_int_equal(m->n_reservations, 1);
        assert_string_equal(m->reservations[0]->name, "r1");
        if (!str_eq(m->rule, cases[i].rule))
            fail_msg("case %zu: %s", i, m->rule);
        if (is_five) {
            assert_string_equal(m->resource, "nodes that are not reserved");
            assert_int_equal(m->have, cases[i].free);
            assert_int_equal(m->need, 5);
        }
        why_free(w);
        test_cluster_free(c);
    }
}

/* Resources that other jobs hold in the reservation do not count, nor does the rest of its
 * nodes. */
static void job_could_run_in_a_reservation_that_keeps_enough_for_it(void **state)
{
    static const struct {
        struct kept kept;
        const char *words;
        bool could;
    } cases[] = {
        {{"n[1-2]", 2, 0}, "n=4", true},         {{"n[1-2]", 2, 0}, "n=5", false},
        {{"n[1-2]", 2, 0}, "c=2 n=2", true},     {{"n[1-2]", 2, 0}, "c=3", false},
        {{"n[1-2]", 2, 0}, "N=3", false},        {{"n[1-2]", 0, 1}, "N=2 gres=gpu:1", true},
        {{"n[1-2]", 0, 1}, "gres=gpu:2", false}, {{"n[1-2]", 0, 1}, "n=8", true},
        {{"n[1-2]", 0, 0}, "n=8", true},         {{"n[1-2]", 0, 0}, "n=9", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = test_cluster(CONF);
        test_up(c);
        struct resv *r = reserve(c, "r", &cases[i].kept);
        test_run(c, 1, "n1:4", NOW + 100);
        if (resv_could_serve(c, test_job(c, 2, cases[i].words), r) != cases[i].could)
            fail_msg("case %zu", i);
        test_cluster_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holder_of_what_a_reservation_keeps_is_named),
        cmocka_unit_test(nodes_that_are_reserved_for_others_are_not_free),
        cmocka_unit_test(job_could_run_in_a_reservation_that_keeps_enough_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
