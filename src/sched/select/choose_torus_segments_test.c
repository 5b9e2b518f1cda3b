/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice in a network of toruses: by a table, and on random toruses against an oracle that
 * tries every placement at every corner, cell by cell; on large ones by the number of steps.
 */
#include "sched/sched_test_util.h"
#include "sched/select/choose.h"

enum { NODES = 28, CASES = 4000, PLACEMENTS = 3, TORUSES = 2 };

#define T "TopologyConf=1 "
#define TORUS "TopologyConf=net:torus3d:default\n"

/*
 * z=0  n1* n2  n3  n4     z=1  n9  n10 n11 n12     the second torus  n17 n18
 *      n5  n6  n7  n8          n13 n14 n15 n16                       n19 n20 (heavy)
 * n1 is busy.
 */
static void placement_that_costs_fewest_others_is_chosen(void **state)
{
    static const char conf[] = CONS
        "NodeName=n[1-19] CPUs=2\nNodeName=n20 CPUs=4 Weight=9\nPartitionName=p Nodes=ALL\n" TORUS T
        "TorusName=a Dims=4x2x2 Nodes=n[1-16]\n" T "Placement=1x1x1\n" T
        "Placement=2x2x1 AnchorSpacing=1x2x1\n" T "Placement=4x1x1\n" T "Placement=4x2x1\n" T
        "Placement=2x2x2 AnchorSeed=1x0x0\n" T "TorusName=b Dims=2x2x1 Nodes=n[17-20]\n" T
        "Placement=2x2x1\n";
    static const struct test_choice v[] = {
        {"N=1", "n4"}, /* most other spots with it are blocked anyway */
        {"N=1 w=n20", ""},
        {"N=2", ""},
        {"N=4", "n[2-3,6-7]"},      /* n20 is heavy */
        {"N=4 w=n4", "n[3-4,7-8]"}, /* 2x2x1; 4x1x1 would need n1 */
        {"N=4 w=n2", "n[2-3,6-7]"},
        {"N=4 w=n9,n12,n13", "n[9,12-13,16]"}, /* wraps around on the first axis */
        {"N=4 w=n4,n5", ""},
        {"N=4 w=n17", "n[17-20]"},
        {"N=8", "n[9-16]"},
        {"N=8 w=n6", "n[2-3,6-7,10-11,14-15]"},
        {"N=8 w=n5", ""},
        {"N=4-8", "n[9-16]"},
        {"N=5-7", ""},
        {"n=16 c=1", "n[9-16]"},      /* as many nodes as its tasks need */
        {"n=10 c=1 N=4", "n[17-20]"}, /* n20 has more CPUs */
        {"N=4 contiguous", "n[2-3,6-7]"},
        {"N=8 segment=4", "n[2-3,6-7,9,12-13,16]"},
        {"N=4 segment=8", "n[2-3,6-7]"},
        {"N=4 w=n5", "n[5-8]"},
        {"N=8 segment=8", "n[9-16]"},
        {"N=12 segment=4 w=n20,n2", "n[2-3,6-7,9,12-13,16-20]"},
        {"N=16 segment=8", ""},
    };
    (void)state;
    test_check_choices(conf, "n1:2", v, COUNT(v));
}

/* --- random toruses ------------------------------------------------------------------------------
 */

struct shape {
    uint32_t dims[CONF_AXES], seed[CONF_AXES], spacing[CONF_AXES];
};

struct drawn_torus {
    uint32_t dims[CONF_AXES];
    int node[NODES]; /* by cell; -1: none */
    struct shape shapes[PLACEMENTS];
    uint32_t count;
};

struct world {
    struct drawn_torus toruses[TORUSES];
    uint32_t count, nodes;
    uint32_t weight[NODES];
    struct str conf;
};

static void draw_shape(uint64_t *at, const struct drawn_torus *t, struct shape *s, struct str *out)
{
    bool custom = test_between(at, 0, 1);
    for (size_t i = 0; i < CONF_AXES; i++) {
        s->dims[i] = test_between(at, 1, t->dims[i]);
        s->seed[i] = custom ? test_between(at, 0, t->dims[i] - 1) : 0;
        s->spacing[i] = custom ? test_between(at, 1, 3) : s->dims[i];
    }
    str_printf(out, T "Placement=%ux%ux%u", s->dims[0], s->dims[1], s->dims[2]);
    if (custom)
        str_printf(out, " AnchorSeed=%ux%ux%u AnchorSpacing=%ux%ux%u", s->seed[0], s->seed[1],
                   s->seed[2], s->spacing[0], s->spacing[1], s->spacing[2]);
    str_puts(out, "\n");
}

static void draw_torus(uint64_t *at, struct world *w)
{
    struct drawn_torus *t = &w->toruses[w->count];
    _cleanup_str_ struct str nodes = STR_INIT;
    do
        for (size_t i = 0; i < CONF_AXES; i++)
            t->dims[i] = test_between(at, 1, 4);
    while (w->nodes + t->dims[0] * t->dims[1] * t->dims[2] > NODES);
    uint32_t cells = t->dims[0] * t->dims[1] * t->dims[2];
    for (uint32_t i = 0; i < cells; i++) {
        bool is_empty = test_between(at, 0, 15) == 0;
        t->node[i] = is_empty ? -1 : (int)w->nodes++;
        str_printf(&nodes, "%s%c%u", i ? "," : "", is_empty ? 'm' : 'n',
                   is_empty ? i + 1 : w->nodes);
    }
    str_printf(&w->conf, T "TorusName=t%u Dims=%ux%ux%u Nodes=%s\n", w->count, t->dims[0],
               t->dims[1], t->dims[2], str_cstr(&nodes));
    t->count = test_between(at, 1, PLACEMENTS);
    for (uint32_t i = 0; i < t->count; i++)
        draw_shape(at, t, &t->shapes[i], &w->conf);
    w->count++;
}

static void draw_world(uint64_t *at, struct world *w)
{
    _cleanup_str_ struct str toruses = STR_INIT;
    uint32_t count = test_between(at, 1, TORUSES);
    for (uint32_t i = 0; i < count && w->nodes + 4 < NODES; i++)
        draw_torus(at, w);
    toruses = w->conf;
    w->conf = (struct str)STR_INIT;
    str_puts(&w->conf, CONS);
    w->nodes += w->nodes == 0;
    for (uint32_t i = 0; i < w->nodes; i++) {
        w->weight[i] = test_between(at, 0, 3) ? 1 : 4;
        str_printf(&w->conf, "NodeName=n%u CPUs=2 Weight=%u\n", i + 1, w->weight[i]);
    }
    str_printf(&w->conf, "PartitionName=p Nodes=ALL\n" TORUS "%s", str_cstr(&toruses));
}

/* Returns the nodes of the shape from the corner on; 0: a cell is empty. */
static uint32_t lay_shape(const struct drawn_torus *t, const struct shape *s,
                          const uint32_t corner[CONF_AXES])
{
    uint32_t set = 0;
    for (uint32_t x = 0; x < s->dims[0]; x++)
        for (uint32_t y = 0; y < s->dims[1]; y++)
            for (uint32_t z = 0; z < s->dims[2]; z++) {
                uint32_t cell = (corner[0] + x) % t->dims[0] +
                                (corner[1] + y) % t->dims[1] * t->dims[0] +
                                (corner[2] + z) % t->dims[2] * t->dims[0] * t->dims[1];
                if (t->node[cell] < 0)
                    return 0;
                set |= 1u << t->node[cell];
            }
    return set;
}

struct sets {
    VEC(uint32_t) list;
};

static void list_shape(const struct drawn_torus *t, const struct shape *s, uint32_t fits,
                       struct sets *out)
{
    uint32_t at[CONF_AXES], step[CONF_AXES];
    for (size_t i = 0; i < CONF_AXES; i++) /* as long as the axis: equal from each cell */
        step[i] = s->dims[i] == t->dims[i] ? t->dims[i] : s->spacing[i];
    for (uint32_t x = 0; x < t->dims[0]; x += step[0])
        for (uint32_t y = 0; y < t->dims[1]; y += step[1])
            for (uint32_t z = 0; z < t->dims[2]; z += step[2]) {
                at[0] = (x + s->seed[0]) % t->dims[0];
                at[1] = (y + s->seed[1]) % t->dims[1];
                at[2] = (z + s->seed[2]) % t->dims[2];
                uint32_t set = lay_shape(t, s, at);
                if (set && (set & fits) == set)
                    vec_push(&out->list, set);
            }
}

/* Lists all free spots of 'size' nodes. */
static struct sets list_spots(const struct world *w, uint32_t size, uint32_t fits)
{
    struct sets out = {0};
    for (uint32_t i = 0; i < w->count; i++)
        for (uint32_t k = 0; k < w->toruses[i].count; k++) {
            const struct shape *s = &w->toruses[i].shapes[k];
            if (s->dims[0] * s->dims[1] * s->dims[2] == size)
                list_shape(&w->toruses[i], s, fits, &out);
        }
    return out;
}

/* Whether this number of spots, from the given one on, can be added to the set without overlap.
 * "exact": giving exactly that set. */
static bool can_pack(const struct sets *spots, size_t from, uint32_t count, uint32_t set,
                     uint32_t required, uint32_t exact)
{
    if (!count)
        return (set & required) == required && (!exact || set == exact);
    for (size_t i = from; i < spots->list.len; i++)
        if (!(spots->list.data[i] & set) &&
            can_pack(spots, i + 1, count - 1, set | spots->list.data[i], required, exact))
            return true;
    return false;
}

static uint32_t weigh(const struct world *w, uint32_t set)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < w->nodes; i++)
        sum += set >> i & 1 ? w->weight[i] : 0;
    return sum;
}

/* Counts the nodes of all free spots with a node of the set. */
static uint32_t count_cost(const struct sets *all, uint32_t set)
{
    uint32_t cost = 0;
    vec_foreach (&all->list, other)
        cost += *other & set ? (uint32_t)__builtin_popcount(*other) : 0;
    return cost;
}

/* Checks one spot: no other spot with all required nodes is lighter, or of the same weight and
 * blocks fewer other spots. */
static void check_best(const struct world *w, const struct sets *spots, uint32_t fits, uint32_t set,
                       uint32_t required)
{
    struct sets all = {0};
    for (uint32_t i = 0; i < w->count; i++)
        for (uint32_t k = 0; k < w->toruses[i].count; k++)
            list_shape(&w->toruses[i], &w->toruses[i].shapes[k], fits, &all);
    vec_foreach (&spots->list, other) {
        uint32_t weight = weigh(w, *other), own = weigh(w, set);
        if ((*other & required) != required || weight > own)
            continue;
        if (weight < own || count_cost(&all, *other) < count_cost(&all, set))
            fail_msg("%s: %x is better than %x of %x", str_cstr(&w->conf), *other, set, fits);
    }
    vec_done(&all.list);
}

static uint32_t draw_size(uint64_t *at, const struct world *w)
{
    const struct drawn_torus *t = &w->toruses[test_between(at, 0, w->count - 1)];
    const struct shape *s = &t->shapes[test_between(at, 0, t->count - 1)];
    bool other = test_between(at, 0, 9) == 0;
    return other ? test_between(at, 1, 8) : s->dims[0] * s->dims[1] * s->dims[2];
}

static void one_trial(uint64_t seed, uint32_t counts[2][2])
{
    struct world w = {.conf = STR_INIT};
    _cleanup_str_ struct str words = STR_INIT;
    uint64_t at = seed;
    draw_world(&at, &w);
    struct cluster *c = test_cluster(str_cstr(&w.conf));
    test_up(c);
    uint32_t fits = test_draw_busy(c, &at, w.nodes, 2), size = draw_size(&at, &w);
    uint32_t segments = test_between(&at, 0, 1) ? test_between(&at, 2, 4) : 1;
    uint32_t least = segments > 1 ? test_between(&at, 2, segments) : 1;
    str_printf(&words, "N=%u-%u", size * least, size * segments);
    if (segments > 1)
        str_printf(&words, " segment=%u", size);
    uint32_t required = size * segments > 1 ? test_draw_required(&at, w.nodes, &words) : 0;
    uint32_t set = test_choose_set(c, test_job(c, 1, str_cstr(&words)));
    struct sets spots = list_spots(&w, size, fits);
    uint32_t most = segments; /* the maximum possible number */
    while (most > least && !can_pack(&spots, 0, most, 0, required, 0))
        most--;
    bool could = can_pack(&spots, 0, most, 0, required, 0);
    bool holds = set && can_pack(&spots, 0, most, 0, required, set);
    test_compare_choice(seed, str_cstr(&words), set, fits, holds, !set && could);
    if (set && segments == 1)
        check_best(&w, &spots, fits, set, required);
    counts[segments > 1][set != 0]++;
    vec_done(&spots.list);
    str_done(&w.conf);
    test_cluster_free(c);
}

static void choices_agree_with_the_oracle(void **state)
{
    uint32_t counts[2][2] = {{0}};
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        one_trial(seed, counts);
    for (size_t i = 0; i < 2; i++)
        assert_in_range(counts[i][true], CASES / 20, CASES / 2);
}

/* --- large toruses -------------------------------------------------------------------------------
 */

enum { SIDE = 40, CELLS = SIDE * SIDE * SIDE };

struct large {
    const char *placements;
    uint32_t kinds; /* number of placements */
    uint32_t segment, least, good, most;
    uint32_t busy;     /* every busy-th node is busy; 0: none */
    uint32_t required; /* number of required nodes, from the last one down */
    uint32_t need;     /* tasks; every second node takes two of them, the others one */
    bool found;
};

static void check_large(const struct large *v, const struct chooser *ch, bool found)
{
    /* Without backtracking, each spot is examined twice; a spot of d nodes on an axis reaches 2d -
     * 1 corners on it, so at most eight for each cell; and its required nodes. */
    uint64_t most = TORUS_STEPS_MOST + (uint64_t)4 * 12 * CELLS * v->kinds;
    if (found != v->found || ch->steps > most)
        fail_msg("%s: %u to %u segments of %u, every %u busy: %s after %llu steps", v->placements,
                 v->least, v->most, v->segment, v->busy, found ? "found" : "not found",
                 (unsigned long long)ch->steps);
    if (!found)
        return;
    assert_in_range(ch->count, v->least * v->segment, v->most * v->segment);
    assert_int_equal(bitset_count(ch->chosen), ch->count);
    assert_true(ch->sum >= v->need);
    assert_true(bitset_contains(ch->fits, ch->chosen));
    assert_true(!ch->required || bitset_contains(ch->chosen, ch->required));
}

static void choose_large(const struct cluster *c, const struct large *v)
{
    struct chooser ch = {.topo = c->topos[0],
                         .segment = v->segment,
                         .min = v->least * v->segment,
                         .max = v->most * v->segment,
                         .good = v->good * v->segment,
                         .need = v->need,
                         .fits = bitset_new(CELLS),
                         .tasks = mem_new_array(uint32_t, CELLS),
                         .weight = mem_new_array(uint32_t, CELLS),
                         .more = mem_new_array(uint64_t, CELLS),
                         .chosen = bitset_new(CELLS)};
    _cleanup_bitset_ struct bitset *required = bitset_new(CELLS);
    for (uint32_t i = 0; i < CELLS; i++) {
        ch.tasks[i] = i % 2 ? 2 : 1;
        if (!v->busy || i % v->busy)
            bitset_set(ch.fits, i);
        if (i >= CELLS - v->required)
            bitset_set(required, i);
    }
    ch.required = v->required ? required : NULL;
    check_large(v, &ch, choose_torus_segments(&ch, v->least, v->good, v->most));
    bitset_free(ch.fits);
    bitset_free(ch.chosen);
    free(ch.tasks);
    free((void *)ch.weight);
    free(ch.more);
}

static void steps_on_large_toruses_are_bounded(void **state)
{
    static const char one[] = T "Placement=1x1x1\n",
                      cubes[] = T "Placement=2x2x2 AnchorSpacing=1x1x1\n",
                      large[] = T "Placement=16x16x16 AnchorSpacing=1x1x1\n",
                      several[] = T "Placement=2x2x2 AnchorSpacing=1x1x1\n" T
                                    "Placement=8x1x1 AnchorSpacing=1x1x1\n" T
                                    "Placement=1x8x1 AnchorSpacing=1x1x1\n" T
                                    "Placement=1x1x8 AnchorSpacing=1x1x1\n";
    static const struct large v[] = {
        {one, 1, 1, CELLS, CELLS, CELLS, 0, 0, 0, true},
        {one, 1, 1, CELLS, CELLS, CELLS, 0, CELLS, 0, true},
        {one, 1, 1, CELLS, CELLS, CELLS, 9, 0, 0, false},
        {one, 1, 1, 1, CELLS, CELLS, 9, 9, 0, false}, /* the last required node is busy */
        {one, 1, 1, 1, CELLS, CELLS, 9, 0, CELLS, true},
        {one, 1, 1, CELLS / 2, CELLS / 2, CELLS / 2, 0, 0, CELLS, true},
        {one, 1, 1, CELLS / 2, CELLS / 2, CELLS / 2, 0, 0, CELLS + 1, false},
        {one, 1, 1, 1, 1, CELLS, 0, 0, CELLS, true},
        {cubes, 1, 8, CELLS / 8, CELLS / 8, CELLS / 8, 0, 0, 0, true},
        {cubes, 1, 8, CELLS / 8, CELLS / 8, CELLS / 8, 0, CELLS, 0, true},
        {cubes, 1, 8, 1000, 1000, 1000, 37, 0, 0, true},
        {cubes, 1, 8, 7000, 7000, 7000, 37, 0, 0, false},
        {cubes, 1, 8, 1, CELLS / 8, CELLS / 8, 37, 0, 0, true},
        {cubes, 1, 8, 2, 2, CELLS / 8, 37, 0, CELLS, true},
        {large, 1, 4096, 8, 8, 8, 0, 0, 0, true},
        {large, 1, 4096, 9, 9, 9, 0, 0, 0, false},
        {large, 1, 4096, 9, 9, 15, 0, 1, 0, false},
        {several, 4, 8, CELLS / 8, CELLS / 8, CELLS / 8, 0, 0, 0, true},
        {several, 4, 8, 7000, 7000, 7000, 37, 0, 0, false},
        {several, 4, 8, 1, CELLS / 8, CELLS / 8, 37, 0, 0, true},
    };
    struct cluster *c = NULL;
    for (size_t i = 0; i < COUNT(v); i++) {
        if (!i || v[i].placements != v[i - 1].placements) {
            _cleanup_str_ struct str conf = STR_INIT;
            if (c)
                test_cluster_free(c);
            str_printf(&conf,
                       CONS "NodeName=n[1-%u] CPUs=2\nPartitionName=p Nodes=ALL\n" TORUS T
                            "TorusName=a Dims=%ux%ux%u Nodes=n[1-%u]\n%s",
                       CELLS, SIDE, SIDE, SIDE, CELLS, v[i].placements);
            c = test_cluster(str_cstr(&conf));
        }
        choose_large(c, &v[i]);
    }
    test_cluster_free(c);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placement_that_costs_fewest_others_is_chosen),
        cmocka_unit_test(steps_on_large_toruses_are_bounded),
        cmocka_unit_test(choices_agree_with_the_oracle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
