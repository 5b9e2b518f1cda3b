/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice in a network of rings: by a table, and against an oracle that tries every set of nodes
 * on small clusters.
 */
#include "sched/sched_test_util.h"

enum { NODES = 12, CASES = 3000 };

#define T "TopologyConf=1 "
/* The second ring begins with n12 and runs backwards. */
static const char conf[] =
    CONS "TopologyPlugin=topology/ring\nNodeName=n[1-11] CPUs=2\nNodeName=n12 CPUs=2 Weight=5\n"
         "PartitionName=p Nodes=ALL\n" T "RingName=r1 Nodes=n[1-6]\n" T
         "RingName=r2 Nodes=n[12,11,10,9,8]\n";
static const uint32_t rings[][6] = {{0, 1, 2, 3, 4, 5}, {11, 10, 9, 8, 7}, {6}};
static const uint32_t sizes[] = {6, 5, 1};

/* n3 is busy: in the first ring n4, n5, n6, n1, n2 are consecutive. */
static void tightest_run_of_a_ring_is_chosen(void **state)
{
    static const struct test_choice v[] = {
        {"N=1", "n7"}, /* the tightest fit among equal weights */
        {"N=2", "n[1-2]"},
        {"N=3", "n[4-6]"},
        {"N=4", "n[1,4-6]"},
        {"N=5", "n[1-2,4-6]"}, /* wraps around; n12 is heavier */
        {"N=6", ""},
        {"N=2 w=n2", "n[1-2]"},
        {"N=2 w=n2,n4", ""},
        {"N=3 w=n1,n5", "n[1,5-6]"},
        {"N=2 w=n1,n8", ""},
        {"N=2 contiguous", "n[1-2]"},
        {"N=1-3", "n[4-6]"},
        {"n=5 c=2", "n[1-2,4-6]"},
        {"N=6 segment=3", "n[1-2,6,8-10]"},
        {"N=8 segment=4", "n[1-2,5-6,8-11]"},
        {"N=10 segment=5", "n[1-2,4-6,8-12]"},
        {"N=12 segment=6", ""},
        {"N=4 segment=2 w=n2,n12", "n[1-2,11-12]"},
        {"N=2 segment=4", "n[1-2]"},
    };
    (void)state;
    test_check_choices(conf, "n3:2", v, COUNT(v));
}

struct wish {
    uint32_t nodes, segment, required; /* required: a mask */
};

/* Whether the nodes in a ring form whole segments, also if the whole ring is chosen. */
static bool is_in_segments(uint32_t ring, uint32_t set, uint32_t segment, uint32_t *runs)
{
    uint32_t size = sizes[ring], count = 0, begin = size;
    for (uint32_t i = 0; i < size; i++) {
        bool is_in = set >> rings[ring][i] & 1,
             was_in = set >> rings[ring][(i + size - 1) % size] & 1;
        count += is_in;
        if (is_in && !was_in)
            begin = i;
    }
    if (begin == size) {
        *runs += count > 0;
        return count % segment == 0;
    }
    for (uint32_t i = 0, len = 0; i <= size; i++) {
        bool is_in = i < size && set >> rings[ring][(begin + i) % size] & 1;
        *runs += !is_in && len > 0;
        if (!is_in && len % segment)
            return false;
        len = is_in ? len + 1 : 0;
    }
    return true;
}

static bool holds(const struct wish *w, uint32_t fits, uint32_t set)
{
    uint32_t runs = 0;
    if ((uint32_t)__builtin_popcount(set) != w->nodes || (set & fits) != set ||
        (set & w->required) != w->required)
        return false;
    for (uint32_t ring = 0; ring < COUNT(sizes); ring++)
        if (!is_in_segments(ring, set, w->segment ? w->segment : 1, &runs))
            return false;
    return w->segment || runs == 1;
}

static bool some_set_holds(const struct wish *w, uint32_t fits)
{
    for (uint32_t set = 1; set < 1u << NODES; set++)
        if (holds(w, fits, set))
            return true;
    return false;
}

static void one_trial(uint64_t seed, uint32_t counts[2])
{
    struct cluster *c = test_cluster(conf);
    _cleanup_str_ struct str words = STR_INIT;
    uint64_t at = seed;
    struct wish w = {.segment = test_between(&at, 0, 4)};
    w.nodes =
        w.segment ? w.segment * test_between(&at, 2, NODES / w.segment) : test_between(&at, 1, 6);
    test_up(c);
    uint32_t fits = test_draw_busy(c, &at, NODES, 2);
    str_printf(&words, "N=%u", w.nodes);
    if (w.segment)
        str_printf(&words, " segment=%u", w.segment);
    if (w.nodes > 1)
        w.required = test_draw_required(&at, NODES, &words);
    uint32_t set = test_choose_set(c, test_job(c, 1, str_cstr(&words)));
    test_compare_choice(seed, str_cstr(&words), set, fits, holds(&w, fits, set),
                        !set && some_set_holds(&w, fits));
    counts[set != 0]++;
    test_cluster_free(c);
}

static void choices_agree_with_the_oracle(void **state)
{
    uint32_t counts[2] = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        one_trial(seed, counts);
    assert_in_range(counts[true], CASES / 10, CASES * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tightest_run_of_a_ring_is_chosen),
                                       cmocka_unit_test(choices_agree_with_the_oracle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
