/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Both calendars give the same answers in thousands of random states. */
#include "cluster/job/license_tied.h"
#include "sched/plan/shadow.h"

#include "base/test_drawn.h"
#include "cluster/job/license_layer.h"
#include "sched/plan/timeline.h"
#include "sched/sched_test_util.h"
#include "sched/select/resv.h"
#include "sched/select/resv_pick.h"

enum { NOW = 1000, STATES = TEST_DRAWN(10000), JOBS = 10, ASKED = 12 };

static const char conf[] =
    CONS "GresTypes=gpu\nNodeName=n[1-4] CPUs=4 RealMemory=400\n"
         "NodeName=t[1-2] Sockets=1 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=500 Weight=5\n"
         "NodeName=big CPUs=8 RealMemory=1600 Weight=3 Gres=gpu:2\n"
         "PartitionName=p Nodes=ALL\n";

static const char *const specs[] = {"",
                                    "n=3",
                                    "N=2",
                                    "N=4",
                                    "N=1-3 n=6",
                                    "c=4",
                                    "N=2 n=7",
                                    "exclusive",
                                    "exclusive N=2",
                                    "mem=350",
                                    "mem-per-cpu=90 n=4",
                                    "c=2 n=3",
                                    "N=5",
                                    "N=3 contiguous",
                                    "n=12",
                                    "c=2 N=3"};
static const char *const needs[] = {"L=once:1", "L=each:1", "L=each:2", "L=one:2", ""};

/* Three resources whose layers divide the nodes, each in a different mode. */
static void add_layers(struct cluster *c)
{
    static const struct {
        const char *name;
        enum conf_hres_mode mode;
        uint64_t each;
    } rows[] = {{"once", CONF_HRES_EACH_LAYER, 1},
                {"each", CONF_HRES_PER_NODE, 2},
                {"one", CONF_HRES_ONE_LAYER, 1}};
    static const uint32_t layers[][2] = {{0, 7}, {0, 3}, {3, 4}};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t k = 0; k < COUNT(layers); k++) {
            struct bitset *nodes = bitset_new(c->nodes.len);
            bitset_set_range(nodes, layers[k][0], layers[k][1]);
            license_add_layer(c, rows[i].name, rows[i].mode, nodes, rows[i].each * layers[k][1]);
        }
}

static struct job *draw(struct cluster *c, uint64_t *chance, uint32_t id)
{
    for (;;) {
        const char *spec = specs[test_between(chance, 0, COUNT(specs) - 1)];
        const char *need =
            c->licenses.has_tied ? needs[test_between(chance, 0, COUNT(needs) - 1)] : "";
        _cleanup_free_ char *words = mem_printf("%s %s", spec, need);
        struct job *j = test_job(c, id, words);
        j->limit_sec = test_between(chance, 0, 20) ? test_between(chance, 1, 40) * 10 : INT64_MAX;
        if (select_possible(c, j, NULL) == 0)
            return j;
        cluster_remove_job(c, j);
    }
}

/* Runs some of the jobs until random times, some of them beyond their limits. */
static void fill(struct cluster *c, uint64_t *chance)
{
    for (uint32_t id = 1; id <= JOBS; id++) {
        struct job *j = draw(c, chance, id);
        _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
        struct selection where = {0};
        bitset_and(allowed, c->pool.usable);
        const struct license_claims none = {0};
        _cleanup_(license_view_done) struct license_view v = {0};
        const struct free_view *view = license_view_init(&v, &none, c, j, NULL, NOW, &c->pool.now);
        if (select_nodes(c, j, allowed, view, &where) == 0) {
            test_run_selection(c, j, &where, NOW - 20 + test_between(chance, 0, 30) * 10);
        } else {
            cluster_remove_job(c, j);
        }
        select_done(&where);
    }
}

struct both {
    struct cluster *c;
    struct resv_plan resv;
    struct shadow shadow;
    struct timeline timeline;
    struct calendar *fast, *full; /* the two calendars of the same jobs */
    struct license_claims claims;
    uint64_t seed;
    size_t yes, no, foreseen;
    bool reserved; /* reservations existed, and both calendars were queried */
    bool layered;  /* the planned job needs layers */
};

static void wrong(const struct both *b, const struct job *j, const char *what)
{
    fail_msg("seed %llu, job %u: %s", (unsigned long long)b->seed, j->id, what);
}

/* Reserves whole or partial nodes; begins and ends coincide with those of jobs. */
static void reserve(struct cluster *c, uint64_t *chance)
{
    char name[] = "r0";
    for (uint32_t n = test_between(chance, 0, 3); n > 0; n--, name[1]++) {
        struct resv *r = resv_new(name);
        uint32_t first = test_between(chance, 1, 4), parts = test_between(chance, 0, 1);
        r->start_at = NOW + test_between(chance, 0, 30) * 10 - 50;
        r->end_at = r->start_at + 10 + test_between(chance, 0, 20) * 10;
        r->node_names = mem_printf("n%u", first);
        if (parts)
            assert_true(resv_parse_cores("1", r));
        resv_resolve(c, r);
        resv_add(c, r);
    }
}

/* Asks both calendars the same question; a job that may begin is started in both. */
static void ask(struct both *b, struct job *j)
{
    _cleanup_bitset_ struct bitset *allowed = select_candidates(b->c, j);
    struct selection one = {0}, other = {0};
    bitset_and(allowed, b->c->pool.usable);
    const struct free_view *now = &b->c->pool.now;
    resv_narrow(&b->resv, j, NULL, NOW, allowed);
    _cleanup_(license_view_done) struct license_view v = {0};
    const struct free_view *view = resv_view(&b->resv, j, NULL, NOW, now);
    view = license_view_init(&v, &b->claims, b->c, j, NULL, NOW, view);
    if (select_nodes(b->c, j, allowed, view, &one) == 0) {
        struct spare_need need = plan_need(j);
        if (!resv_might_fit(&b->resv, j, &need))
            wrong(b, j, "a glance beside reservations says no");
        bool fits = calendar_fits_now(b->full, j, NULL, allowed, &other);
        if (calendar_fits_now(b->fast, j, NULL, allowed, &one) != fits)
            wrong(b, j, fits ? "the shadow says no" : "the shadow says yes");
        if (fits && !calendar_might_fit(b->fast, j))
            wrong(b, j, "a glance at the shadow says no");
        if (fits && !calendar_might_fit(b->full, j))
            wrong(b, j, "a glance at the timeline says no");
        b->yes += fits;
        b->no += !fits;
        if (fits) {
            _cleanup_free_ char *a = test_selection(b->c, &one);
            _cleanup_free_ char *z = test_selection(b->c, &other);
            if (!str_eq(a, z))
                wrong(b, j, "other nodes");
            calendar_start(b->fast, j, &one);
            calendar_start(b->full, j, &other);
            license_begin(&b->claims, b->c, j, NULL, &one, NOW);
            test_run_selection(b->c, j, &one, job_ends_at(j, NOW));
        }
    }
    select_done(&one);
    select_done(&other);
}

/* No start beside the planned job is before the time given by shadow_foresee(), and a search from
 * there finds the result of a complete search. */
static void compare_foreseen(struct both *b, const struct job *j)
{
    _cleanup_bitset_ struct bitset *allowed = select_candidates(b->c, j);
    struct selection one = {0}, other = {0};
    int64_t at;
    bitset_and(allowed, b->c->pool.usable);
    if (!shadow_foresee(b->c, j, allowed, NOW, NOW, &at))
        return;
    b->timeline.in = NULL;
    b->timeline.not_before = NOW;
    int64_t first = timeline_find(&b->timeline, j, allowed, &one);
    int64_t found = timeline_find_from(&b->timeline, j, allowed, at, &other);
    _cleanup_free_ char *a = test_selection(b->c, &one);
    _cleanup_free_ char *z = test_selection(b->c, &other);
    if (first < at || first != found || !str_eq(a, z))
        wrong(b, j, "a foreseen moment changes its start");
    b->foreseen++;
    select_done(&one);
    select_done(&other);
}

/* Both calendars give the same start, on nodes that are also possible on the timeline. */
static void compare_starts(struct both *b, const struct job *head, const struct bitset *allowed,
                           const struct selection *where, int64_t at)
{
    struct selection there = {0};
    int64_t due;
    assert_true(calendar_find(b->full, head, allowed, 0, &there, &due));
    if (at != due || (at == CALENDAR_NEVER) != !where->shares.len)
        wrong(b, head, "begins at another time");
    _cleanup_bitset_ struct bitset *set = bitset_dup(allowed);
    resv_narrow(&b->resv, head, NULL, at, set);
    if (there.shares.len && !license_needs_tied(b->c, head))
        shadow_choose_nodes(b->c, head, set, resv_view(&b->resv, head, NULL, at, &b->timeline.view),
                            &there);
    _cleanup_free_ char *one = test_selection(b->c, where);
    _cleanup_free_ char *other = test_selection(b->c, &there);
    if (!str_eq(one, other))
        wrong(b, head, "begins on other nodes");
    select_done(&there);
}

static void compare(struct both *b, uint64_t *chance)
{
    struct job *head = draw(b->c, chance, 100);
    _cleanup_bitset_ struct bitset *allowed = select_candidates(b->c, head);
    const struct free_view *now = &b->c->pool.now;
    struct selection where = {0};
    bitset_and(allowed, b->c->pool.usable);
    _cleanup_bitset_ struct bitset *set = bitset_dup(allowed);
    resv_narrow(&b->resv, head, NULL, NOW, set);
    bool waits = select_nodes(b->c, head, set, resv_view(&b->resv, head, NULL, NOW, now), &where);
    select_clear(&where);
    int64_t at;
    uint64_t work = 0;
    shadow_begin(&b->shadow, b->c, &b->resv, NOW);
    b->shadow.claims = &b->claims;
    timeline_init(&b->timeline, b->c, NOW);
    timeline_set_resv(&b->timeline, &b->resv);
    b->timeline.claims = &b->claims;
    b->fast = &b->shadow.calendar;
    b->full = &b->timeline.calendar;
    if (waits && license_is_alone(&b->claims, b->c, head) &&
        calendar_find(b->fast, head, allowed, 0, &where, &at)) {
        compare_starts(b, head, allowed, &where, at);
        calendar_reserve(b->fast, head, &where, at);
        calendar_reserve(b->full, head, &where, at);
        if (where.shares.len)
            license_keep(&b->claims, b->c, head, &where, at, &work);
        b->layered = license_needs_tied(b->c, head);
        for (uint32_t id = 200; id < 200 + ASKED; id++) {
            struct job *j = draw(b->c, chance, id);
            compare_foreseen(b, j);
            ask(b, j);
        }
        b->reserved = b->c->resvs.len > 0;
    }
    calendar_done(b->full);
    calendar_done(b->fast);
    vec_done(&b->claims.list);
    select_done(&where);
}

static void shadow_agrees_with_the_timeline(void **state)
{
    size_t yes = 0, no = 0, reserved = 0, layered = 0, foreseen = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= STATES; seed++) {
        uint64_t chance = seed;
        struct both b = {.c = test_cluster(conf), .seed = seed};
        if (seed % 4 == 1)
            add_layers(b.c);
        test_up(b.c);
        if (seed % 3 == 0) {
            b.c->nodes.data[seed % 5]->drain = true;
            test_changed(b.c);
        }
        fill(b.c, &chance);
        if (seed % 2 == 0)
            reserve(b.c, &chance);
        resv_plan_init(&b.resv, b.c, NOW);
        compare(&b, &chance);
        resv_plan_done(&b.resv);
        test_sound(b.c);
        yes += b.yes;
        no += b.no;
        reserved += b.reserved;
        layered += b.layered;
        foreseen += b.foreseen;
        test_cluster_free(b.c);
    }
    assert_true(yes > STATES / 5 && no > STATES / 5 && reserved > STATES / 50 &&
                layered > STATES / 20 && foreseen > STATES / 5);
}

/* The shadow does not serve jobs that share cores. */
static void leaves_sharing_alone(void **state)
{
    struct cluster *c = test_cluster(CONS "NodeName=n1 CPUs=4\n"
                                          "PartitionName=p Nodes=ALL OverSubscribe=FORCE:2\n"
                                          "PartitionName=q Nodes=ALL MaxCPUsPerNode=2\n");
    struct job *j = test_job(c, 1, "n=4");
    (void)state;
    test_up(c);
    assert_false(shadow_serves(c, j));
    j = test_job(c, 2, "n=1");
    j->part = c->parts.data[1];
    job_set_sharing(c, j);
    assert_false(shadow_serves(c, j));
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_sharing_alone),
        cmocka_unit_test(shadow_agrees_with_the_timeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
