/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Alternative licences of the components of a set: exhaustive search, layers, claims. */
#include "base/test_drawn.h"
#include "cluster/job/license_layer.h"
#include "sched/plan/joint.h"
#include "sched/sched_test_util.h"

enum { NOW = 1000, FIRST_END = NOW + 50, LAST_END = NOW + 80 };
enum { POOLS = 3, COMPONENTS = 4, ALTERNATIVES = 3, WORLDS = TEST_DRAWN(5000) };

#define NODES CONS "NodeName=n[1-4] CPUs=8\nPartitionName=p Nodes=ALL\n"

/* Queues a set with the ids from 'first' on. */
static void queue_set(struct cluster *c, uint32_t first, size_t count, const char *const *words)
{
    for (uint32_t i = 0; i < count; i++) {
        struct job *j = test_job(c, first + i, words[i]);
        j->limit_sec = 100;
        j->priority = 1000000 - first;
        assert_int_equal(job_set_join(c, j, first, i, (uint32_t)count, NULL), 0);
        job_partitions_queue(j);
    }
}

static void run_with(struct cluster *c, uint32_t id, const char *words, int64_t end_at)
{
    struct job *j = test_job(c, id, words);
    test_run_job(c, j, "n1:1", end_at);
}

/* Writes "1: 0 2" for a start with these alternatives, "1: Licenses@1050" for a waiting set. */
static void describe(const struct decision *d, struct str *out)
{
    str_printf(out, "%s%u:", out->len ? ", " : "", d->job->id);
    if (d->kind == PLAN_START) {
        str_printf(out, " %u", d->license);
        vec_foreach (&d->more.list, part)
            str_printf(out, " %u", part->license);
        return;
    }
    str_printf(out, " %s", reason_word(d->reason));
    if (d->start_at)
        str_printf(out, "@%lld", (long long)d->start_at);
}

/* Runs one pass without committing starts, so that jobs behind them only see their claims. */
static char *pass(struct cluster *c, struct plan_notes *notes)
{
    struct plan p;
    struct decision d;
    struct str out = STR_INIT;
    plan_begin(&p, c, notes, NOW, true);
    while (plan_next(&p, &d)) {
        describe(&d, &out);
        if (d.kind == PLAN_START)
            for (uint32_t i = 0; i < job_set_count(d.job); i++)
                job_partitions_unqueue(job_set_component(d.job, i));
        free(d.detail);
        plan_decision_done(&d);
    }
    plan_end(&p);
    return str_take(&out);
}

/* --- exhaustive search --------------------------------------------------------------------------
 */

struct world {
    /* Held by the job that ends first, and by the other job. */
    uint32_t total[POOLS], held[2][POOLS];
    uint32_t count; /* of components */
    uint32_t ways[COMPONENTS];
    uint32_t need[COMPONENTS][ALTERNATIVES][POOLS];
};

static void put_need(struct str *out, const uint32_t *need, uint32_t pool, uint32_t count)
{
    str_printf(out, "%c:%u", (char)('a' + pool), count);
    ((uint32_t *)need)[pool] += count;
}

static char *draw_component(struct world *w, uint32_t i, uint64_t *seed)
{
    struct str words = STR_INIT;
    uint32_t kind = test_between(seed, 0, 4);
    w->ways[i] = 1;
    if (kind == 0)
        return str_take(&words);
    str_puts(&words, "L=");
    if (kind == 1) {
        put_need(&words, w->need[i][0], 0, test_between(seed, 1, 2));
        str_puts(&words, ",");
        put_need(&words, w->need[i][0], 1, test_between(seed, 1, 2));
        return str_take(&words);
    }
    w->ways[i] = test_between(seed, 2, ALTERNATIVES);
    for (uint32_t n = 0; n < w->ways[i]; n++) {
        str_puts(&words, n ? "|" : "");
        put_need(&words, w->need[i][n], test_between(seed, 0, POOLS - 1), test_between(seed, 1, 3));
    }
    return str_take(&words);
}

static struct cluster *draw_world(struct world *w, uint64_t *seed)
{
    _cleanup_str_ struct str conf = STR_INIT;
    *w = (struct world){.count = test_between(seed, 2, COMPONENTS)};
    str_puts(&conf, "Licenses=");
    for (uint32_t k = 0; k < POOLS; k++) {
        w->total[k] = test_between(seed, 1, 6);
        str_printf(&conf, "%s%c:%u", k ? "," : "", (char)('a' + k), w->total[k]);
    }
    str_puts(&conf, "\n" NODES);
    struct cluster *c = test_cluster(str_cstr(&conf));
    test_up(c);
    for (uint32_t i = 0; i < 2; i++) {
        _cleanup_str_ struct str words = STR_INIT;
        for (uint32_t k = 0; k < POOLS; k++) {
            uint32_t left = w->total[k] - w->held[0][k];
            w->held[i][k] = test_between(seed, 0, left < 2 ? left : 2);
            if (w->held[i][k])
                str_printf(&words, "%s%c:%u", words.len ? "," : "L=", (char)('a' + k),
                           w->held[i][k]);
        }
        run_with(c, 100 + i, str_cstr(&words), i ? LAST_END : FIRST_END);
    }
    char *words[COMPONENTS];
    for (uint32_t i = 0; i < w->count; i++)
        words[i] = draw_component(w, i, seed);
    queue_set(c, 1, w->count, (const char *const *)words);
    for (uint32_t i = 0; i < w->count; i++)
        free(words[i]);
    return c;
}

/* Whether the licences suffice while these of the two jobs run. */
static bool are_enough(const struct world *w, const uint32_t *choice, uint32_t running)
{
    for (uint32_t k = 0; k < POOLS; k++) {
        uint32_t sum = 0;
        for (uint32_t i = 2 - running; i < 2; i++)
            sum += w->held[i][k];
        for (uint32_t i = 0; i < w->count; i++)
            sum += w->need[i][choice[i]][k];
        if (sum > w->total[k])
            return false;
    }
    return true;
}

/* Steps to the next choice in the order of preference. */
static bool step_choice(const struct world *w, uint32_t *choice)
{
    for (uint32_t i = w->count; i-- > 0;) {
        if (++choice[i] < w->ways[i])
            return true;
        choice[i] = 0;
    }
    return false;
}

static char *search(const struct world *w)
{
    for (uint32_t running = 2; running <= 2; running--) {
        uint32_t choice[COMPONENTS] = {0};
        struct str out = STR_INIT;
        do {
            if (!are_enough(w, choice, running))
                continue;
            if (running < 2)
                return mem_printf("1: Licenses@%d", running ? FIRST_END : LAST_END);
            str_puts(&out, "1:");
            for (uint32_t i = 0; i < w->count; i++)
                str_printf(&out, " %u", choice[i]);
            return str_take(&out);
        } while (step_choice(w, choice));
    }
    return mem_strdup("1: Licenses");
}

/* The set starts with the first free choice in the order of the alternatives; otherwise it is
 * planned for the first time at which a choice is free. */
static void exhaustive_search_finds_the_same_choice(void **state)
{
    uint64_t seed = 1;
    uint32_t starts = 0, later = 0, never = 0;
    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        struct world w;
        struct cluster *c = draw_world(&w, &seed);
        struct plan_notes notes = {0};
        _cleanup_free_ char *expected = search(&w);
        bool is_start = !strchr(expected, 'L');
        for (int round = 0; round < (is_start ? 1 : 2); round++) {
            _cleanup_free_ char *got = pass(c, &notes);
            if (!str_eq(got, expected))
                fail_msg("world %d, pass %d: expected '%s', got '%s'", i, round, expected, got);
        }
        starts += is_start;
        later += strchr(expected, '@') != NULL;
        never += !is_start && !strchr(expected, '@');
        plan_notes_done(&notes);
        test_cluster_free(c);
    }
    print_message("%u start, %u later, %u never\n", starts, later, never);
    assert_true(starts > WORLDS / 10 && later > WORLDS / 10 && never > WORLDS / 50);
}

/* --- cases --------------------------------------------------------------------------------------
 */

/* A planned start reserves the licences of its choice, and no others. */
static void planned_start_reserves_its_chosen_licences(void **state)
{
    struct cluster *c = test_cluster("Licenses=a:3,b:3\n" NODES);
    (void)state;
    test_up(c);
    run_with(c, 100, "L=a:1", FIRST_END);
    run_with(c, 101, "L=b:1", LAST_END);
    queue_set(c, 1, 2, (const char *[]){"L=b:3|a:3", "n=1"});
    queue_set(c, 3, 2, (const char *[]){"n=1", "L=a:1"});
    queue_set(c, 5, 2, (const char *[]){"n=1", "L=a:1|b:1"});
    _cleanup_free_ char *got = pass(c, NULL);
    assert_string_equal(got, "1: Licenses@1050, 3: Licenses@1150, 5: 0 1");
    test_cluster_free(c);
}

static void add_layer(struct cluster *c, uint32_t node, uint64_t total)
{
    struct bitset *nodes = bitset_new(c->nodes.len);
    bitset_set(nodes, node);
    license_add_layer(c, "power", CONF_HRES_EACH_LAYER, nodes, total);
}

/* An alternative tied to nodes is used if the set finds these nodes, otherwise the next one. */
static void layers_are_an_alternative(void **state)
{
    static const struct {
        const char *words[2], *runs, *expected;
    } v[] = {
        {{"n=1", "n=1 L=power:1|a:1"}, "n2:1", "1: 0 0"},
        {{"n=1", "n=1 L=power:1|a:1"}, "n1:8", "1: 0 1"},
        {{"n=1", "n=1 L=power:2|a:1"}, "n2:1", "1: 0 1"},
        {{"n=1 L=a:1|b:1", "n=1 L=power:1|a:1"}, "n1:8", "1: 1 1"},
        {{"n=1 L=a:1", "n=1 L=power:1|a:1"}, "n1:8", "1: Resources@1050"},
        {{"w=n1 exclusive", "n=1 L=power:1|a:1"}, "n2:1", "1: 0 1"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct cluster *c = test_cluster("Licenses=a:1,b:1\n" NODES);
        add_layer(c, 0, 1);
        test_up(c);
        test_run(c, 100, v[i].runs, FIRST_END);
        queue_set(c, 1, 2, v[i].words);
        _cleanup_free_ char *got = pass(c, NULL);
        if (!str_eq(got, v[i].expected))
            fail_msg("case %zu: expected '%s', got '%s'", i, v[i].expected, got);
        test_cluster_free(c);
    }
}

/* An alternative that never fits does not exclude the other one. */
static void other_alternative_is_awaited(void **state)
{
    struct cluster *c = test_cluster("Licenses=a:1\n" NODES);
    (void)state;
    add_layer(c, 0, 1);
    test_up(c);
    test_run(c, 100, "n2:8", FIRST_END);
    struct job *j = test_job(c, 1, "w=n2 N=1 L=power:1|a:1");
    j->limit_sec = 100;
    job_partitions_queue(j);
    _cleanup_free_ char *got = pass(c, NULL);
    assert_string_equal(got, "1: Resources@1050");
    test_cluster_free(c);
}

/* A set whose layer is free, but on a busy node, is planned with another alternative and claims
 * that one. */
static void planned_start_claims_no_layer_instead(void **state)
{
    struct cluster *c = test_cluster("Licenses=a:2\n" NODES);
    (void)state;
    add_layer(c, 0, 1);
    test_up(c);
    test_run(c, 100, "n1:8", LAST_END);
    struct job *j = test_job(c, 101, "L=a:1");
    test_run_job(c, j, "n2:1", FIRST_END);
    queue_set(c, 1, 2, (const char *[]){"n=1", "n=1 L=power:1|a:2"});
    queue_set(c, 3, 2, (const char *[]){"n=1", "L=a:1"});
    _cleanup_free_ char *got = pass(c, NULL);
    assert_string_equal(got, "1: Resources@1050, 3: Licenses");
    test_cluster_free(c);
}

/* Component 1 has its layer on n2, and the leader has its node in another layer: a job that
 * would hold the layer on n2 beyond the planned start waits, and a job that needs the other
 * layer starts. */
static void planned_start_claims_the_layers_of_its_components(void **state)
{
    (void)state;
    for (uint32_t node = 2; node <= 3; node++) {
        struct cluster *c = test_cluster("Licenses=a:2\n" NODES);
        _cleanup_free_ char *words = mem_printf("n=1 w=n%u L=power:1", node);
        for (uint32_t layer = 0; layer < 3; layer++)
            add_layer(c, layer, 1);
        test_up(c);
        test_run(c, 100, "n1:8", FIRST_END);
        queue_set(c, 1, 2, (const char *[]){"n=1 w=n1", "n=1 w=n2 L=power:1"});
        queue_set(c, 3, 2, (const char *[]){words, "n=1"});
        _cleanup_free_ char *got = pass(c, NULL);
        assert_string_equal(got, node == 2 ? "1: Resources@1050, 3: Licenses@1150"
                                           : "1: Resources@1050, 3: 0 0");
        test_cluster_free(c);
    }
}

/* Runs a pass in which no job starts; *found: a planned start was searched. */
static char *run_waiting_pass(struct cluster *c, struct plan_notes *notes, bool *found)
{
    struct plan p;
    struct decision d;
    struct str out = STR_INIT;
    plan_begin(&p, c, notes, NOW, true);
    while (plan_next(&p, &d)) {
        describe(&d, &out);
        str_printf(&out, " %u", d.license);
        free(d.detail);
        plan_decision_done(&d);
    }
    vec_foreach (&p.claims.list, claim)
        str_printf(&out, " %d:%llu@%lld", claim->at, (unsigned long long)claim->count,
                   (long long)claim->from);
    *found = p.found;
    plan_end(&p);
    return str_take(&out);
}

/* --- layers among the alternatives of several components ----------------------------------------
 */

#define LAYERED "Licenses=a:2,b:2\n" CONS "NodeName=n[1-4] CPUs=2\nPartitionName=p Nodes=ALL\n"

static struct cluster *draw_layered(uint64_t *seed, struct str *text)
{
    static const char *const pools[] = {"a", "b", "power"};
    struct cluster *c = test_cluster(LAYERED);
    char words[COMPONENTS][80];
    const char *set[COMPONENTS];
    bool has_layers = false;
    for (uint32_t node = 0; node < 4; node++)
        if (test_between(seed, 0, 1)) {
            add_layer(c, node, test_between(seed, 1, 2));
            has_layers = true;
        }
    if (!has_layers)
        add_layer(c, 0, 1);
    test_up(c);
    for (uint32_t node = 1; node <= 4; node++) {
        uint32_t units = test_between(seed, 0, 2);
        _cleanup_free_ char *where = mem_printf("n%u:%u", node, units);
        if (units)
            test_run(c, 100 + node, where, NOW + 10 * (int64_t)test_between(seed, 1, 9));
    }
    for (uint32_t i = 0; i < 2; i++)
        if (test_between(seed, 0, 1)) {
            _cleanup_free_ char *needs = mem_printf("L=%s:%u", pools[i], test_between(seed, 1, 2));
            test_run_job(c, test_job(c, 110 + i, needs), "", NOW + 15 + 20 * i);
        }
    uint32_t count = test_between(seed, 2, 3);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = test_between(seed, 0, 2), second = (first + test_between(seed, 1, 2)) % 3;
        bool named = test_between(seed, 0, 1), chooses = test_between(seed, 0, 2);
        int len = snprintf(words[i], sizeof words[i], "n=%u N=1 L=%s:%u", test_between(seed, 1, 2),
                           pools[first], test_between(seed, 1, 2));
        if (chooses)
            snprintf(words[i] + len, 20, "|%s:%u", pools[second], test_between(seed, 1, 2));
        if (named)
            snprintf(words[i] + strlen(words[i]), 20, " w=n%u", test_between(seed, 1, 4));
        set[i] = words[i];
        str_printf(text, "%s%s", i ? " : " : "", words[i]);
    }
    queue_set(c, 1, count, set);
    return c;
}

/* Returns whether the set starts with this choice, or when. */
static int64_t find_start_with(struct cluster *c, const uint32_t *of, bool *starts)
{
    struct plan p;
    struct joint_choice choice;
    struct job_copy sum;
    struct joint joint;
    struct decision d = {0};
    struct timeline t;
    const struct job *leader = cluster_find_job(c, 1);
    plan_begin(&p, c, NULL, NOW, true);
    joint_choice_begin(&choice, &p);
    memcpy(choice.of, of, COMPONENTS * sizeof *of);
    joint_licenses_init(&sum, c, leader, &choice);
    timeline_init(&t, c, NOW);
    timeline_set_resv(&t, p.resv);
    t.claims = &p.claims;
    *starts = license_may_start_somewhere(&p.claims, c, &sum.job, NOW) &&
              joint_can_start(&p, joint_component(&p, leader, 0), &d);
    plan_decision_done(&d);
    int64_t due = license_earliest(&p.claims, c, &sum.job, NOW, &p.work);
    joint_begin(&joint, &p, joint_component(&p, leader, 0));
    int64_t at = due ? joint_find_start(&joint, &t, due) : 0;
    joint_end(&joint);
    timeline_done(&t);
    joint_licenses_done(&sum);
    joint_choice_end(&choice, &p);
    plan_end(&p);
    return at;
}

/* Returns the first choice that starts, "1: 0 1"; otherwise the earliest start over all choices,
 * "@1050", or "". */
static char *search_layered(struct cluster *c)
{
    uint32_t count = job_set_count(cluster_find_job(c, 1));
    int64_t earliest = 0;
    for (uint32_t number = 0; number < 1u << count; number++) {
        uint32_t of[COMPONENTS] = {0};
        bool starts, exists = true;
        struct str out = STR_INIT;
        for (uint32_t i = 0; i < count; i++) {
            of[i] = number >> (count - 1 - i) & 1;
            exists = exists && of[i] < license_count_alternatives(cluster_find_job(c, 1 + i));
        }
        if (!exists)
            continue;
        int64_t at = find_start_with(c, of, &starts);
        earliest = at && (!earliest || at < earliest) ? at : earliest;
        if (!starts)
            continue;
        str_puts(&out, "1:");
        for (uint32_t i = 0; i < count; i++)
            str_printf(&out, " %u", of[i]);
        return str_take(&out);
    }
    return earliest ? mem_printf("@%lld", (long long)earliest) : mem_strdup("");
}

/* While nothing changes, the planned start is not searched again, and its claims stay the same. */
static void expect_remembered(struct cluster *c, const char *expected, const char *text)
{
    struct plan_notes notes = {0};
    bool found, again;
    _cleanup_free_ char *first = run_waiting_pass(c, &notes, &found);
    _cleanup_free_ char *second = run_waiting_pass(c, &notes, &again);
    if (!found || again || !str_eq(first, second) || !strstr(first, expected))
        fail_msg("expected '%s', got '%s', then '%s'%s: %s", expected, first, second,
                 again ? " anew" : "", text);
    plan_notes_done(&notes);
}

/* Whichever component has the layers: the set starts with the first choice that can start;
 * otherwise the planned start is the earliest one over all choices. */
static void layers_of_several_components_are_searched(void **state)
{
    uint64_t seed = 5;
    uint32_t starts = 0, later = 0;
    enum { ROUNDS = TEST_DRAWN(2000) };
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        _cleanup_str_ struct str text = STR_INIT;
        struct cluster *c = draw_layered(&seed, &text);
        _cleanup_free_ char *expected = search_layered(c), *got = pass(c, NULL);
        const char *at = strchr(got, '@');
        bool is_start = expected[0] == '1';
        if (!str_eq(is_start ? got : at ? at : "", expected))
            fail_msg("round %d: expected '%s', got '%s': %s", round, expected, got,
                     str_cstr(&text));
        starts += is_start;
        later += expected[0] == '@';
        if (expected[0] == '@')
            expect_remembered(c, expected, str_cstr(&text));
        test_cluster_free(c);
    }
    print_message("%u start, %u later\n", starts, later);
    assert_true(starts > ROUNDS / 10 && later > ROUNDS / 10);
}

/* --- notes --------------------------------------------------------------------------------------
 */

/* 'layered': only the first component of a set has layers, or alternatives with layers. */
static struct cluster *draw_queue(uint64_t *seed, uint32_t sets, bool layered)
{
    static const char *const licenses[] = {"", " L=a:1", " L=a:2|b:1", " L=b:2|a:1", " L=a:1,b:1"};
    static const char *const layers[] = {" L=power:1", " L=power:2|a:1", " L=b:2|power:1",
                                         " L=power:2|power:1"};
    struct cluster *c = test_cluster("Licenses=a:3,b:3\n" CONS "NodeName=n[1-4] CPUs=4\n"
                                     "PartitionName=p Nodes=ALL\n");
    for (uint32_t node = 0; layered && node < 4; node++)
        add_layer(c, node, test_between(seed, 1, 3));
    test_up(c);
    for (uint32_t set = 0; set < sets; set++) {
        char words[2][60];
        const char *both[2] = {words[0], words[1]};
        for (uint32_t i = 0; i < 2; i++)
            snprintf(words[i], sizeof words[i], "N=%u n=%u%s%s", test_between(seed, 1, 2),
                     test_between(seed, 2, 5), test_between(seed, 0, 2) ? "" : " exclusive",
                     layered && i == 0 ? layers[test_between(seed, 0, COUNT(layers) - 1)]
                                       : licenses[test_between(seed, 0, COUNT(licenses) - 1)]);
        queue_set(c, 1 + 2 * set, 2, both);
    }
    return c;
}

/* A job begins on a node, or one ends. */
static void change_something(struct cluster *c, uint64_t *seed, uint32_t id)
{
    struct order_link *first = order_first(&c->ends);
    uint32_t units = test_between(seed, 1, 3), node = test_between(seed, 0, 3);
    if (first && test_between(seed, 0, 2) == 0) {
        struct job *j = job_of_end(first);
        order_remove(&c->ends, first);
        alloc_clear(c, j);
        assert_int_equal(job_set_state(c, j, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL), 0);
    } else if (c->pool.now.units[node] >= units) {
        static const char *const words[] = {"", "L=a:1", "L=b:1"};
        _cleanup_free_ char *where = mem_printf("n%u:%u", node + 1, units);
        struct job *j = test_job(c, id, words[test_between(seed, 0, 2)]);
        if (license_may_start(&(struct license_claims){0}, c, j, NULL, NOW))
            test_run_job(c, j, where, NOW + 1000 + (int64_t)id);
    }
}

/* Runs a pass without planned starts, which are kept while nothing becomes free. */
static char *pass_counting(struct cluster *c, struct plan_notes *notes, uint64_t *looks)
{
    struct plan p;
    struct decision d;
    struct str out = STR_INIT;
    plan_begin(&p, c, notes, NOW, true);
    while (plan_next(&p, &d)) {
        d.start_at = 0;
        describe(&d, &out);
        free(d.detail);
        plan_decision_done(&d);
        if (d.kind == PLAN_START) /* not committed: the jobs behind it are not examined */
            break;
    }
    *looks = p.joint_choices;
    plan_end(&p);
    return str_take(&out);
}

/* Notes of a pass about sets with licences change no decision; while nothing changes, placements of
 * sets that do not fit are not searched again. */
static void live_with_notes(bool layered)
{
    uint64_t seed = 9, searched = 0, repeated = 0;
    for (int round = 0; round < TEST_DRAWN(300); round++) {
        struct cluster *c = draw_queue(&seed, 4, layered);
        struct plan_notes notes = {0};
        for (uint32_t step = 0; step < 12; step++) {
            uint64_t first, again, fresh;
            _cleanup_free_ char *expected = pass_counting(c, NULL, &fresh);
            _cleanup_free_ char *got = pass_counting(c, &notes, &first);
            _cleanup_free_ char *same = pass_counting(c, &notes, &again);
            if (!str_eq(got, expected) || !str_eq(same, expected))
                fail_msg("round %d, step %u: expected '%s', got '%s', then '%s'", round, step,
                         expected, got, same);
            searched += first;
            repeated += again;
            change_something(c, &seed, 1000 + step);
        }
        plan_notes_done(&notes);
        test_cluster_free(c);
    }
    print_message("%llu choices of nodes, %llu of them again\n", (unsigned long long)searched,
                  (unsigned long long)repeated);
    assert_true(searched > 1000 && repeated < searched / 3);
}

static void remembered_sets_are_decided_the_same(void **state)
{
    (void)state;
    live_with_notes(false);
}

static void remembered_sets_with_layers_are_decided_the_same(void **state)
{
    (void)state;
    live_with_notes(true);
}

/* Runs a job on each node that ends later; each job may hold a licence. */
static void fill_nodes(struct cluster *c, uint64_t *seed)
{
    static const char *const words[] = {"", "L=a:1", "L=b:1"}, *const nodes[] = {"n1", "n2", "n3",
                                                                                 "n4"};
    for (uint32_t i = 0; i < COUNT(nodes); i++) {
        _cleanup_free_ char *where = mem_printf("%s:4", nodes[i]);
        struct job *j = test_job(c, 1000 + i, words[test_between(seed, 0, 2)]);
        test_run_job(c, j, where, NOW + (int64_t)test_between(seed, 1, 3) * 40);
    }
}

/* While nothing changes, planned starts of sets with layers or alternatives are not searched again,
 * and keep the licences and layers of all components. */
static void planned_starts_with_choices_are_remembered(void **state)
{
    uint64_t seed = 5;
    uint32_t later = 0;
    (void)state;
    for (uint32_t round = 0; round < TEST_DRAWN(400); round++) {
        struct cluster *c = draw_queue(&seed, 3, false);
        struct plan_notes notes = {0};
        bool found, again;
        for (uint32_t node = 0; round % 2 && node < 4; node++)
            add_layer(c, node, test_between(&seed, 1, 2));
        if (round % 2)
            queue_set(c, 20, 2, (const char *[]){"n=1 L=power:1|a:1", "n=1 L=b:1|a:1"});
        if (round % 4 == 1)
            queue_set(c, 30, 2, (const char *[]){"n=1 L=power:1", "n=2"});
        if (round % 8 > 4)
            queue_set(c, 40, 2, (const char *[]){"n=1", "n=1 L=power:1"});
        fill_nodes(c, &seed);
        _cleanup_free_ char *first = run_waiting_pass(c, &notes, &found);
        _cleanup_free_ char *second = run_waiting_pass(c, &notes, &again);
        if (!str_eq(first, second) || again)
            fail_msg("round %u: '%s', then '%s'%s", round, first, second, again ? " anew" : "");
        later += strchr(first, '@') && found;
        plan_notes_done(&notes);
        test_cluster_free(c);
    }
    assert_true(later > TEST_DRAWN(400) / 2);
}

/* Identical components do not cause an exponential search. */
static void many_components_choose_quickly(void **state)
{
    static const char *words[JOB_SET_MAX];
    struct cluster *c = test_cluster("Licenses=a:60,b:68,c:1\n" NODES);
    (void)state;
    test_up(c);
    for (uint32_t i = 0; i < JOB_SET_MAX; i++)
        words[i] = "n=1 overcommit L=c:2|a:1|b:1";
    queue_set(c, 1, JOB_SET_MAX, words);
    struct plan p;
    struct joint_choice choice;
    plan_begin(&p, c, NULL, NOW, true);
    joint_choice_begin(&choice, &p);
    joint_choose(&p, cluster_find_job(c, 1), &choice);
    uint32_t of[3] = {0};
    for (uint32_t i = 0; i < JOB_SET_MAX; i++)
        of[choice.of[i]]++;
    assert_int_equal(of[1], 60);
    assert_int_equal(of[2], 68);
    assert_true(p.choice_tries < 1000);
    joint_choice_end(&choice, &p);
    plan_end(&p);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exhaustive_search_finds_the_same_choice),
        cmocka_unit_test(planned_start_reserves_its_chosen_licences),
        cmocka_unit_test(layers_are_an_alternative),
        cmocka_unit_test(planned_start_claims_no_layer_instead),
        cmocka_unit_test(planned_start_claims_the_layers_of_its_components),
        cmocka_unit_test(other_alternative_is_awaited),
        cmocka_unit_test(layers_of_several_components_are_searched),
        cmocka_unit_test(remembered_sets_are_decided_the_same),
        cmocka_unit_test(remembered_sets_with_layers_are_decided_the_same),
        cmocka_unit_test(many_components_choose_quickly),
        cmocka_unit_test(planned_starts_with_choices_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
