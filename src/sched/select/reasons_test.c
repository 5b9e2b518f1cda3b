/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Complete passes over random queues, each decision compared with a model that tries everything: a
 * waiting job could not have started, for its stated reason; a starting job delays no announced
 * start of a job before it; and announced starts are the earliest ones. The model knows the sizes
 * of nodes and jobs, and none of the planner's methods.
 */
#include "base/test_drawn.h"
#include "sched/sched_test_util.h"

enum {
    NODES = 5,
    CPUS = 4,
    MEM = 400,
    PARTS = 3,
    LICENCES = 2,
    STATES = TEST_DRAWN(10000),
    NOW = 1000,
    HEADS = PARTS * 3
};

static const char conf[] = CONS "Licenses=lic:2\nNodeName=n[1-5] CPUs=4 RealMemory=400\n"
                                "PartitionName=p Nodes=ALL\nPartitionName=q Nodes=n[3-5] "
                                "PriorityTier=2\nPartitionName=r Nodes=n[1-3]\n";
static const uint32_t part_nodes[PARTS] = {0x1f, 0x1c, 0x07};

struct need { /* of a job: the same on each of its nodes */
    uint32_t count, cpus, mem, licences;
    uint32_t required, excluded; /* masks of nodes */
    bool whole;
    int64_t limit;
    uint32_t part, priority;
};

struct held { /* held by a running job, or from a time on by a waiting one */
    uint32_t id, nodes;
    int64_t from, until;
};

struct world {
    struct cluster *c;
    struct plan_notes notes;
    uint64_t seed;
    bool backfill;
    uint32_t usable;
    VEC(struct need) needs; /* by job id - 1 */
    VEC(struct held) held;  /* by running jobs */
    VEC(struct held) heads; /* announced starts in their order; nodes: unknown */
    VEC(uint32_t) waiting;  /* ids of waiting jobs in the order of the pass */
    bool blocked[PARTS];
};

/* Over all worlds: number of decisions of each kind. */
static size_t seen_starts, seen_behind, seen_kept;
static struct {
    enum reason reason;
    size_t seen;
} seen_reasons[] = {{REASON_RESOURCES},
                    {REASON_PRIORITY},
                    {REASON_LICENSES},
                    {REASON_REQ_NODE_NOT_AVAIL},
                    {REASON_BAD_CONSTRAINTS}};

static void wrong(const struct world *w, uint32_t id, enum reason reason, const char *what)
{
    fail_msg("seed %llu, job %u, %s: %s", (unsigned long long)w->seed, id,
             reason ? reason_word(reason) : "start", what);
}

static const struct need *need_of(const struct world *w, uint32_t id)
{
    return &w->needs.data[id - 1];
}

/* --- the model: free resources, and every choice of nodes ---------------------------------------
 */

static bool fits_at(const struct world *w, const struct held *more, size_t n_more, uint32_t node,
                    int64_t at, const struct need *need)
{
    uint32_t cpus = 0, mem = 0;
    size_t all = w->held.len + n_more;
    for (size_t i = 0; i < all; i++) {
        const struct held *h = i < w->held.len ? &w->held.data[i] : &more[i - w->held.len];
        const struct need *of = need_of(w, h->id);
        if (!(h->nodes >> node & 1) || at < h->from || at >= h->until)
            continue;
        cpus += of->whole ? CPUS : of->cpus;
        mem += of->mem;
    }
    return cpus + (need->whole ? CPUS : need->cpus) <= CPUS && mem + need->mem <= MEM;
}

/* Whether it fits all the time: usage changes only when something begins. */
static bool fits_during(const struct world *w, const struct held *more, size_t n_more,
                        uint32_t node, const struct held *h)
{
    const struct need *need = need_of(w, h->id);
    if (!fits_at(w, more, n_more, node, h->from, need))
        return false;
    for (size_t i = 0; i < n_more; i++)
        if (more[i].from > h->from && more[i].from < h->until &&
            !fits_at(w, more, n_more, node, more[i].from, need))
            return false;
    return true;
}

static uint32_t licences_at(const struct world *w, const struct held *more, size_t n_more,
                            int64_t at)
{
    uint32_t used = 0;
    for (size_t i = 0; i < w->held.len + n_more; i++) {
        const struct held *h = i < w->held.len ? &w->held.data[i] : &more[i - w->held.len];
        used += at >= h->from && at < h->until ? need_of(w, h->id)->licences : 0;
    }
    return used;
}

static bool has_licences(const struct world *w, const struct held *more, size_t n_more,
                         const struct held *h)
{
    uint32_t wants = need_of(w, h->id)->licences;
    bool has = !wants || licences_at(w, more, n_more, h->from) + wants <= LICENCES;
    for (size_t i = 0; i < n_more; i++)
        if (wants && more[i].from > h->from && more[i].from < h->until)
            has = has && licences_at(w, more, n_more, more[i].from) + wants <= LICENCES;
    return has;
}

static uint32_t allowed(const struct world *w, const struct need *need)
{
    return part_nodes[need->part] & w->usable & ~need->excluded;
}

static bool is_choice(const struct need *need, uint32_t set, uint32_t among)
{
    return (set & ~among) == 0 && (need->required & ~set) == 0 &&
           (uint32_t)__builtin_popcount(set) == need->count;
}

/* Whether it can run from that time to its limit. 'among': where it would fit. */
static bool can_be(const struct world *w, const struct held *more, size_t n_more, struct held *h)
{
    const struct need *need = need_of(w, h->id);
    uint32_t among = 0, ok = allowed(w, need);
    h->until = h->from + need->limit;
    for (uint32_t i = 0; i < NODES; i++)
        if (ok >> i & 1 && fits_during(w, more, n_more, i, h))
            among |= 1u << i;
    h->nodes = among;
    if (!has_licences(w, more, n_more, h))
        return false;
    return (need->required & ~among) == 0 && (uint32_t)__builtin_popcount(among) >= need->count;
}

/* Whether some placement of all announced starts satisfies 'good'. */
static bool some_keeping(const struct world *w, struct held *placed, size_t n, const struct held *j,
                         bool beside)
{
    if (n == w->heads.len) {
        struct held h = *j;
        return j->id == 0 || can_be(w, placed, n, &h) == beside;
    }
    struct held h = w->heads.data[n];
    if (!can_be(w, placed, n, &h))
        return false;
    uint32_t among = h.nodes;
    for (uint32_t set = 0; set < 1u << NODES; set++) {
        if (!is_choice(need_of(w, h.id), set, among))
            continue;
        placed[n] = h;
        placed[n].nodes = set;
        if (some_keeping(w, placed, n + 1, j, beside))
            return true;
    }
    return false;
}

static bool promises_can_be_kept(const struct world *w)
{
    struct held placed[HEADS + 1];
    return some_keeping(w, placed, 0, &(struct held){0}, true);
}

/* Whether the announced starts may be placed so that the job does not fit beside them now. */
static bool may_be_in_the_way(const struct world *w, uint32_t id)
{
    struct held placed[HEADS + 1];
    return some_keeping(w, placed, 0, &(struct held){.id = id, .from = NOW}, false);
}

static bool fits_now(const struct world *w, uint32_t id)
{
    return can_be(w, NULL, 0, &(struct held){.id = id, .from = NOW});
}

/* Returns the earliest start by ends of running jobs only; 0: never. */
static int64_t earliest(const struct world *w, uint32_t id)
{
    int64_t best = 0;
    for (size_t i = 0; i <= w->held.len; i++) {
        int64_t at = i < w->held.len ? w->held.data[i].until : NOW;
        if ((!best || at < best) && can_be(w, NULL, 0, &(struct held){.id = id, .from = at}))
            best = at;
    }
    return best;
}

static uint32_t licences_free(const struct world *w)
{
    return LICENCES - licences_at(w, NULL, 0, NOW);
}

/* --- each decision ------------------------------------------------------------------------------
 */

static void check_start(struct world *w, const struct decision *d)
{
    const struct need *need = need_of(w, d->job->id);
    struct held h = {.id = d->job->id, .from = NOW, .until = NOW + need->limit};
    vec_foreach (&d->where.shares, s) {
        h.nodes |= 1u << s->node;
        if (s->units != (need->whole ? CPUS : need->cpus) ||
            (uint64_t)s->amounts.mem_mib != need->mem)
            wrong(w, h.id, REASON_NONE, "gets another amount");
        if (!fits_at(w, NULL, 0, s->node, NOW, need))
            wrong(w, h.id, REASON_NONE, "gets what is not free");
    }
    if (!is_choice(need, h.nodes, allowed(w, need)))
        wrong(w, h.id, REASON_NONE, "gets nodes that are not for it");
    if (need->licences > licences_free(w))
        wrong(w, h.id, REASON_NONE, "gets licences that are not free");
    if (w->blocked[need->part] && !w->backfill)
        wrong(w, h.id, REASON_NONE, "overtakes another");
    vec_push(&w->held, h);
    seen_starts++;
    seen_behind += w->heads.len > 0;
    if (!promises_can_be_kept(w))
        wrong(w, h.id, REASON_NONE, "delays a start that was promised before");
}

static bool earlier_needs_licences(const struct world *w)
{
    vec_foreach (&w->waiting, id)
        if (need_of(w, *id)->licences)
            return true;
    return false;
}

/* The job waits for resources: it does not fit, or its resources may be reserved for others. */
static void check_needs(const struct world *w, uint32_t id, enum reason reason)
{
    bool fits = fits_now(w, id);
    seen_kept += fits;
    if (fits && !may_be_in_the_way(w, id))
        wrong(w, id, reason, "it could start");
}

static void promise(struct world *w, const struct decision *d)
{
    uint32_t id = d->job->id;
    int64_t first = earliest(w, id);
    if (!d->start_at) {
        if (first)
            wrong(w, id, d->reason, "is told no start, and has one");
        return;
    }
    if (d->start_at < first || !first)
        wrong(w, id, d->reason, "is told a start that can not be");
    if (!w->heads.len && d->start_at != first)
        wrong(w, id, d->reason, "is told a later start than the first");
    vec_push(&w->heads, ((struct held){.id = id, .from = d->start_at}));
    if (!promises_can_be_kept(w))
        wrong(w, id, d->reason, "is told a start that is another's");
}

/* The first waiting job of a partition blocks those behind it. */
static void block(struct world *w, const struct decision *d, uint32_t part)
{
    w->blocked[part] = true;
    if (w->backfill && !d->start_at) /* the others are in check_wait() */
        promise(w, d);
}

static void check_wait(struct world *w, const struct decision *d)
{
    uint32_t id = d->job->id;
    const struct need *need = need_of(w, id);
    bool behind = w->blocked[need->part];
    for (size_t i = 0; i < COUNT(seen_reasons); i++)
        seen_reasons[i].seen += seen_reasons[i].reason == d->reason;
    if (d->reason == REASON_LICENSES) {
        if (need->licences <= licences_free(w) && !earlier_needs_licences(w))
            wrong(w, id, d->reason, "there are enough");
        if (!need->licences)
            wrong(w, id, d->reason, "it needs none");
    } else if (d->reason == REASON_REQ_NODE_NOT_AVAIL) {
        if ((need->required & ~w->usable) == 0)
            wrong(w, id, d->reason, "all are available");
        if (!behind)
            block(w, d, need->part);
    } else if (d->reason == REASON_RESOURCES) {
        if (behind)
            wrong(w, id, d->reason, "it is not the first");
        check_needs(w, id, d->reason);
        block(w, d, need->part);
    } else if (d->reason == REASON_PRIORITY) {
        if (!behind)
            wrong(w, id, d->reason, "nobody is before it");
        if (need->required & ~w->usable)
            wrong(w, id, d->reason, "a node that it requires is down");
        if (w->backfill)
            check_needs(w, id, d->reason);
    } else if (d->reason == REASON_BAD_CONSTRAINTS) {
        VEC(struct held) none = {0};
        struct world idle = *w;
        memcpy(&idle.held, &none, sizeof none);
        idle.usable = (1u << NODES) - 1;
        if (fits_now(&idle, id))
            wrong(w, id, d->reason, "it could ever run");
    } else {
        wrong(w, id, d->reason, "what is this?");
    }
    if (w->backfill && d->start_at)
        promise(w, d);
    vec_push(&w->waiting, id);
}

/* --- random worlds ------------------------------------------------------------------------------
 */

static struct need random_need(uint64_t *chance, bool runs)
{
    struct need n = {.count = test_between(chance, 1, 3),
                     .cpus = test_between(chance, 1, 4),
                     .mem = test_between(chance, 0, 3) * 100 + 50,
                     .part = test_between(chance, 0, PARTS - 1),
                     .priority = test_between(chance, 1, 5),
                     .limit = test_between(chance, 1, 12) * 100};
    n.whole = test_between(chance, 0, 5) == 0;
    n.licences = test_between(chance, 0, 5) == 0 ? test_between(chance, 1, 2) : 0;
    if (!runs && test_between(chance, 0, 30) == 0)
        n.count = 4; /* two partitions are too small for it */
    uint32_t of_part = part_nodes[n.part], node = 1u << test_between(chance, 0, NODES - 1);
    if (!runs && test_between(chance, 0, 7) == 0 && of_part & node)
        n.required = node;
    else if (!runs && test_between(chance, 0, 7) == 0 &&
             (uint32_t)__builtin_popcount(of_part & ~node) >= n.count)
        n.excluded = node;
    return n;
}

static struct job *make_job(struct world *w, uint32_t id)
{
    const struct need *n = need_of(w, id);
    struct str words = STR_INIT;
    str_printf(&words, "N=%u per-node=%u mem=%u", n->count, n->cpus, n->mem);
    if (n->whole)
        str_puts(&words, " exclusive");
    if (n->required)
        str_printf(&words, " w=n%d", __builtin_ctz(n->required) + 1);
    if (n->excluded)
        str_printf(&words, " x=n%d", __builtin_ctz(n->excluded) + 1);
    struct job *j = test_job(w->c, id, str_cstr(&words));
    j->part = w->c->parts.data[n->part];
    j->limit_sec = n->limit;
    j->priority = n->priority;
    if (n->licences)
        assert_int_equal(
            license_read(w->c, n->licences == 2 ? "lic:2" : "lic:1", &j->want.licenses, NULL), 0);
    str_done(&words);
    return j;
}

/* Runs the job if it fits in the model. */
static void run_job(struct world *w, uint32_t id, uint64_t *chance)
{
    struct held h = {.id = id, .from = NOW};
    const struct need *need = need_of(w, id);
    bool fits = can_be(w, NULL, 0, &h) && need->licences <= licences_free(w);
    uint32_t among = h.nodes, set, tries = 0;
    do
        set = test_between(chance, 0, (1u << NODES) - 1);
    while (fits && !is_choice(need, set, among) && ++tries < 1000);
    if (!fits || tries == 1000)
        return;
    h.nodes = set;
    vec_push(&w->held, h);
}

static void put_running(struct world *w, const struct held *h)
{
    const struct need *need = need_of(w, h->id);
    struct job *j = make_job(w, h->id);
    for (uint32_t i = 0; i < NODES; i++)
        if (h->nodes >> i & 1)
            assert_int_equal(
                alloc_take(w->c, j, i, need->whole ? CPUS : need->cpus, need->mem, NULL), 0);
    assert_int_equal(job_set_state(w->c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    order_insert(&w->c->ends, &attempt_make(j)->ends, h->until, j->id);
}

/* Adds running and waiting jobs in that order, or in reverse. */
static void build(struct world *w, bool backwards)
{
    w->c = test_cluster(conf);
    for (uint32_t i = 0; i < NODES; i++)
        w->c->nodes.data[i]->drain = !(w->usable >> i & 1);
    test_up(w->c);
    for (size_t i = 0; i < w->held.len; i++)
        put_running(w, &w->held.data[backwards ? w->held.len - 1 - i : i]);
    for (size_t i = 0; i < w->needs.len; i++) {
        uint32_t id = (uint32_t)(backwards ? w->needs.len - i : i + 1);
        if (cluster_find_job(w->c, id))
            continue;
        struct job *j = make_job(w, id);
        order_insert(&j->part->queue, &j->queued, -(int64_t)j->priority, id);
    }
}

static void draw(struct world *w, uint64_t seed)
{
    uint64_t chance = seed;
    *w = (struct world){.seed = seed, .usable = (1u << NODES) - 1, .backfill = seed % 4 != 0};
    uint32_t runs = test_between(&chance, 0, 6), waits = test_between(&chance, 1, 14);
    for (uint32_t id = 1; id <= runs + waits; id++) {
        vec_push(&w->needs, random_need(&chance, id <= runs));
        if (id <= runs)
            run_job(w, id, &chance);
    }
    if (seed % 3 == 0)
        w->usable &= ~(1u << test_between(&chance, 0, NODES - 1));
}

static void put_decision(struct world *w, const struct decision *d, struct str *said)
{
    _cleanup_free_ char *where = test_selection(w->c, &d->where);
    str_printf(said, "%u %s %s %lld\n", d->job->id, d->reason ? reason_word(d->reason) : "start",
               where, (long long)d->start_at);
}

static void commit(struct world *w, struct decision *d)
{
    struct job *j = test_follow(w->c, d);
    order_remove(&j->part->queue, &j->queued);
    vec_foreach (&d->where.shares, share) {
        struct alloc_want want = share_want(&d->where, share);
        assert_int_equal(alloc_place(w->c, j, &want, NULL), 0);
    }
    assert_int_equal(job_set_state(w->c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    order_insert(&w->c->ends, &attempt_make(j)->ends, NOW + j->limit_sec, j->id);
}

/* Runs a pass and writes all of its decisions. */
static char *pass(struct world *w, bool check)
{
    struct str said = STR_INIT;
    struct plan p;
    struct decision d;
    plan_begin(&p, w->c, &w->notes, NOW, w->backfill);
    while (plan_next(&p, &d)) {
        put_decision(w, &d, &said);
        if (check && d.kind == PLAN_START)
            check_start(w, &d);
        else if (check)
            check_wait(w, &d);
        if (d.kind == PLAN_START)
            commit(w, &d);
        if (d.kind == PLAN_WAIT)
            test_follow(w->c, &d);
        plan_decision_done(&d);
        free(d.detail);
    }
    plan_end(&p);
    test_sound(w->c);
    plan_notes_done(&w->notes);
    test_cluster_free(w->c);
    return str_take(&said);
}

static void world_done(struct world *w)
{
    vec_done(&w->needs);
    vec_done(&w->held);
    vec_done(&w->heads);
    vec_done(&w->waiting);
}

static void reasons_are_true(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= STATES; seed++) {
        struct world w;
        draw(&w, seed);
        build(&w, false);
        free(pass(&w, true));
        world_done(&w);
    }
    assert_true(seen_starts > STATES && seen_behind > STATES / 10 && seen_kept > STATES / 20);
    for (size_t i = 0; i < COUNT(seen_reasons); i++)
        if (seen_reasons[i].seen < STATES / 50)
            fail_msg("%s was seen %zu times only", reason_word(seen_reasons[i].reason),
                     seen_reasons[i].seen);
}

/* Equal states give equal decisions, in whatever order they were reached. */
static void equal_states(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= STATES / 4; seed++) {
        char *said[3];
        for (size_t i = 0; i < 3; i++) {
            struct world w;
            draw(&w, seed);
            build(&w, i == 2);
            said[i] = pass(&w, false);
            world_done(&w);
        }
        if (!str_eq(said[0], said[1]) || !str_eq(said[0], said[2]))
            fail_msg("seed %llu:\n%s--\n%s--\n%s", (unsigned long long)seed, said[0], said[1],
                     said[2]);
        for (size_t i = 0; i < 3; i++)
            free(said[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_are_true),
        cmocka_unit_test(equal_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
