/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs with --segment in a network of blocks: by a table, and against an oracle that tries every
 * set of nodes on small clusters.
 */
#include "sched/sched_test_util.h"

enum { NODES = 12, BLOCK = 4, BLOCKS = NODES / BLOCK, CASES = 3000 };

#define T "TopologyConf=1 "
#define BLOCKS_OF_4                                                                                \
    CONS "TopologyPlugin=topology/block\nNodeName=n[1-16] CPUs=4\nPartitionName=p Nodes=ALL\n" T   \
         "BlockName=b1 Nodes=n[1-4]\n" T "BlockName=b2 Nodes=n[5-8]\n" T                           \
         "BlockName=b3 Nodes=n[9-12]\n" T "BlockName=b4 Nodes=n[13-16]\n" T

/* Two nodes of the first block and a core of n12 are busy. */
static void segments_lie_within_blocks(void **state)
{
    static const struct test_choice v[] = {
        {"N=6", "n[1-2,5-8]"}, /* without segments: two blocks of the first pair */
        {"N=6 segment=2", "n[1-2,5-8]"},
        {"N=6 segment=3", "n[9-11,13-15]"},
        {"N=4 segment=2", "n[5-8]"},
        {"N=4 segment=2 apart", "n[1-2,5-6]"},
        {"N=8 segment=4", "n[9-16]"},
        {"N=12 segment=4", "n[5-16]"},
        {"N=12 segment=4 together", ""},
        {"N=6 segment=2 together", "n[1-2,5-8]"},
        {"N=8 segment=2 apart", "n[1-2,5-6,9-10,13-14]"},
        {"N=3 segment=4", "n[5-7]"}, /* one segment holds all nodes: like without --segment */
        {"N=4 segment=2 w=n2,n12", "n[1-2,9,12]"},
        {"N=4 segment=2 w=n1,n5", "n[1-2,5-6]"},
        {"N=2-5 segment=2", "n[1-2]"},
        {"N=4-8 n=24 segment=2", "n[9-16]"},
        {"N=10 segment=5", ""},
        {"N=4 segment=2 w=n1,n5,n9", ""},
    };
    (void)state;
    test_check_choices(BLOCKS_OF_4 "BlockSizes=4,8\n", "n3:4 n4:4 n12:1", v, COUNT(v));
}

static void segments_have_no_effect_in_other_networks(void **state)
{
    static const struct test_choice v[] = {{"N=3 segment=2", "n[1-3]"}};
    (void)state;
    test_check_choices(CONS "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL\n", "n4:4", v,
                       COUNT(v));
}

static void invalid_segments_are_refused(void **state)
{
    static const struct {
        const char *words, *why; /* NULL: possible */
    } v[] = {
        {"N=6 segment=4", "6 nodes are not a whole number of segments of 4 (--segment)"},
        {"N=5-7 segment=4", "5 nodes are not a whole number of segments of 4 (--segment)"},
        {"N=5-8 segment=4", NULL},
        {"N=3 segment=4", NULL},
        {"N=8 segment=4 contiguous", "--segment, and --contiguous or --constraint with counts"},
        {"N=10 segment=5", "Requested node configuration is not available"},
        {"N=10 segment=2 apart", "Requested node configuration is not available"},
        {"N=8 segment=4 together", NULL},
        {"N=16 segment=4 together", "Requested node configuration is not available"},
        {"N=16 segment=4", NULL},
    };
    struct cluster *c = test_cluster(BLOCKS_OF_4 "BlockSizes=4,8\n");
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct err err = {0};
        int rc = select_possible(c, test_job(c, (uint32_t)i + 1, v[i].words), &err);
        if (rc != (v[i].why ? -ERR_NODE_CONFIG : 0) || (v[i].why && !strstr(err.text, v[i].why)))
            fail_msg("'%s': %d, %s", v[i].words, rc, err.text);
    }
    test_cluster_free(c);
}

/* --- the oracle --- */

struct wish {
    uint32_t nodes, segment, required; /* required: a mask */
    bool apart, together;
};

static bool holds(const struct wish *w, uint32_t fits, uint32_t set)
{
    uint32_t pairs = 0; /* pairs of blocks */
    if ((uint32_t)__builtin_popcount(set) != w->nodes || (set & fits) != set ||
        (set & w->required) != w->required)
        return false;
    for (uint32_t b = 0; b < BLOCKS; b++) {
        uint32_t count = (uint32_t)__builtin_popcount(set >> b * BLOCK & 15);
        pairs |= count ? 1u << b / 2 : 0;
        if (count % w->segment || (w->apart && count > w->segment))
            return false;
    }
    return !w->together || (pairs & (pairs - 1)) == 0;
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
    struct cluster *c = test_cluster(
        CONS "TopologyPlugin=topology/block\nNodeName=n[1-12] CPUs=1\n"
             "PartitionName=p Nodes=ALL\n" T "BlockName=b1 Nodes=n[1-4]\n" T
             "BlockName=b2 Nodes=n[5-8]\n" T "BlockName=b3 Nodes=n[9-12]\n" T "BlockSizes=4,8\n");
    _cleanup_str_ struct str words = STR_INIT;
    uint32_t set = 0;
    uint64_t at = seed;
    struct wish w = {.segment = test_between(&at, 1, 4)};
    w.nodes = w.segment * test_between(&at, 2, NODES / w.segment);
    w.apart = test_between(&at, 0, 3) == 0;
    w.together = test_between(&at, 0, 3) == 0;
    test_up(c);
    uint32_t fits = test_draw_busy(c, &at, NODES, 1);
    str_printf(&words, "N=%u segment=%u%s%s", w.nodes, w.segment, w.apart ? " apart" : "",
               w.together ? " together" : "");
    w.required = test_draw_required(&at, NODES, &words);
    set = test_choose_set(c, test_job(c, 1, str_cstr(&words)));
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_lie_within_blocks),
        cmocka_unit_test(segments_have_no_effect_in_other_networks),
        cmocka_unit_test(invalid_segments_are_refused),
        cmocka_unit_test(choices_agree_with_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
