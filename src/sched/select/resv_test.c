/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The effect of reservations on a plan, as texts: the reservations, the queue, the decisions. A job
 * is "ID LIMIT WORDS [in NAME|near NAME]": it requests a reservation, or is attracted by it.
 */
#include "sched/sched_test_util.h"
#include "sched/select/resv.h"
#include "sched/select/resv_pick.h"

enum { NOW = 100000 };

#define CONF                                                                                       \
    CONS "NodeName=n[1-4] CPUs=4 RealMemory=100 Feature=a\nPartitionName=p Nodes=ALL "             \
         "Default=YES\n"

struct given {
    const char *name;
    int64_t from, until; /* relative to NOW */
    uint32_t flags;
    const char *nodes, *cores;
};

static struct resv *reserve(struct cluster *c, const struct given *g)
{
    struct resv *r = resv_new(g->name);
    r->flags = g->flags;
    r->start_at = NOW + g->from;
    r->end_at = g->until == RESV_NEVER ? RESV_NEVER : NOW + g->until;
    r->float_sec = g->from;
    r->float_length_sec = g->until - g->from;
    r->node_names = mem_strdup(g->nodes);
    if (g->cores)
        assert_true(resv_parse_cores(g->cores, r));
    resv_resolve(c, r);
    resv_add(c, r);
    return r;
}

static struct job *queue(struct cluster *c, uint32_t id, int64_t limit_sec, const char *words,
                         const char *in, bool asked)
{
    struct job *j = test_job(c, id, words);
    j->limit_sec = limit_sec;
    j->priority = 1000 - id;
    j->resv_asked = asked;
    if (in)
        resv_bind(j, resv_find(c, in));
    order_insert(&j->part->queue, &j->queued, -(int64_t)j->priority - (asked ? 5000 : 0), id);
    return j;
}

static void commit(struct cluster *c, struct decision *d, struct str *out)
{
    _cleanup_free_ char *where = test_selection(c, &d->where);
    str_printf(out, "%s%s%s", d->in ? d->in->name : "", d->in ? "/" : "", where);
    struct job *j = test_follow(c, d);
    order_remove(&j->part->queue, &j->queued);
    resv_unbind(j);
    resv_enter(c, j, d->in ? resv_find(c, d->in->name) : NULL);
    test_run_job(c, j, where, job_ends_at(j, NOW));
}

/* Expects "1: r/n1:1/0" for a start in r, "2: Reservation@60" for a job that waits until then. */
static void expect(struct cluster *c, bool backfill, const char *decisions)
{
    struct plan p;
    struct decision d;
    struct str out = STR_INIT;
    plan_begin(&p, c, NULL, NOW, backfill);
    while (plan_next(&p, &d)) {
        str_printf(&out, "%s%u: ", out.len ? ", " : "", d.job->id);
        if (d.kind == PLAN_START)
            commit(c, &d, &out);
        else
            str_puts(&out, d.detail ? d.detail : reason_word(d.reason));
        if (d.start_at)
            str_printf(&out, "@%lld", (long long)d.start_at - NOW);
        if (d.kind == PLAN_WAIT)
            test_follow(c, &d);
        plan_decision_done(&d);
        free(d.detail);
    }
    plan_end(&p);
    test_sound(c);
    if (!str_eq(str_cstr(&out), decisions))
        fail_msg("expected '%s'\n     got '%s'", decisions, str_cstr(&out));
    str_done(&out);
}

static struct cluster *cluster_up(void)
{
    struct cluster *c = test_cluster(CONF);
    test_up(c);
    return c;
}

static struct cluster *with(const struct given *g)
{
    struct cluster *c = cluster_up();
    for (; g->name; g++)
        reserve(c, g);
    return c;
}

/* --- outside --- */

static void job_must_end_before_a_reservation(void **state)
{
    struct cluster *c = with((struct given[]){{"r", 600, 1200, 0, "n[1-2]", NULL}, {0}});
    queue(c, 1, 600, "w=n1 n=4", NULL, false); /* ends when the reservation begins */
    queue(c, 2, 601, "n=4", NULL, false);      /* on other nodes */
    queue(c, 3, 601, "w=n2 n=1", NULL, false); /* must wait until the reservation has ended */
    queue(c, 4, 60, "w=n2 n=4", NULL, false);  /* overtakes it */
    expect(c, true,
           "1: n1:4/0, 2: n3:4/0, 3: ReqNodeNotAvail, May be reserved for other job@1200, "
           "4: n2:4/0");
    test_cluster_free(c);
}

static void maintenance_is_named(void **state)
{
    struct cluster *c =
        with((struct given[]){{"m", 600, 1200, RESV_MAINT | RESV_SPEC_NODES, "n[1-4]", NULL}, {0}});
    queue(c, 1, 3600, "N=4 n=16", NULL, false);
    queue(c, 2, 60, "n=1", NULL, false);
    expect(c, true, "1: ReqNodeNotAvail, Reserved for maintenance@1200, 2: n1:1/0");
    test_cluster_free(c);
    c = with((struct given[]){{"m", 600, 1200, RESV_MAINT, "n[1-4]", NULL}, {0}});
    queue(c, 1, 3600, "n=1", NULL, false);
    queue(c, 2, 60, "n=1", NULL, false);
    expect(c, false,
           "1: ReqNodeNotAvail, Reserved for maintenance, 2: n1:1/0"); /* not blocked by it */
    test_cluster_free(c);
}

static void unlimited_jobs_meet_every_one(void **state)
{
    struct cluster *c = with((struct given[]){{"r", 86400, 90000, 0, "n[1-3]", NULL}, {0}});
    queue(c, 1, INT64_MAX, "n=1", NULL, false);
    queue(c, 2, INT64_MAX, "N=2 n=2", NULL, false);
    expect(c, true,
           "1: n4:1/0, 2: Nodes required for job are DOWN, DRAINED or reserved for jobs in higher "
           "priority partitions@90000");
    test_cluster_free(c);
}

static void repeated_reservation_is_respected(void **state)
{
    struct cluster *c =
        with((struct given[]){{"r", -3600, -1800, RESV_HOURLY, "n[1-4]", NULL}, {0}});
    queue(c, 1, 1801, "n=1", NULL, false); /* half an hour is free each time */
    queue(c, 2, 60, "n=1", NULL, false);
    expect(c, true,
           "1: Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
           "partitions, 2: Priority"); /* the reservation is active */
    test_cluster_free(c);
    c = with((struct given[]){{"r", -1800, -900, RESV_DAILY, "n[1-4]", NULL}, {0}});
    queue(c, 1, 84600, "n=1", NULL, false);
    queue(c, 2, 84601, "n=1", NULL, false);
    expect(c, true,
           "1: n1:1/0, 2: Nodes required for job are DOWN, DRAINED or reserved for jobs in higher "
           "priority partitions@85500"); /* nor before the next one */
    test_cluster_free(c);
}

static void floating_reservation_is_respected(void **state)
{
    struct cluster *c =
        with((struct given[]){{"f", 3600, 7200, RESV_TIME_FLOAT, "n[1-4]", NULL}, {0}});
    queue(c, 1, 3600, "n=1", NULL, false);
    queue(c, 2, 3601, "n=1", NULL, false);
    expect(c, true,
           "1: n1:1/0, 2: Nodes required for job are DOWN, DRAINED or reserved for jobs in higher "
           "priority partitions");
    test_cluster_free(c);
}

/* --- inside --- */

static void inside_its_nodes_and_time(void **state)
{
    struct cluster *c = with((struct given[]){{"r", -600, 600, 0, "n[2-3]", NULL}, {0}});
    queue(c, 1, 600, "n=4", "r", true);
    /* Longer than the rest of the reservation: it is ended then. */
    queue(c, 2, 601, "n=1", "r", true);
    queue(c, 3, 60, "N=2 n=8", "r", true);
    queue(c, 4, 60, "n=4", "r", true);
    queue(c, 5, 60, "N=3 n=3", NULL, false); /* there are two */
    queue(c, 6, 60, "n=1", NULL, false);
    expect(c, true,
           "1: r/n2:4/0, 2: r/n3:1/0, 3: Resources, 4: Priority, 5: Nodes required for job are "
           "DOWN, DRAINED or reserved for jobs in higher priority partitions@600, 6: n1:1/0");
    test_cluster_free(c);
}

/* Only jobs before it in its reservation block a job. */
static void the_queue_of_a_reservation(void **state)
{
    struct cluster *c = with((struct given[]){
        {"r", -600, 6000, 0, "n[1-2]", NULL}, {"s", -600, 6000, 0, "n3", NULL}, {0}});
    test_run_job(c, ({
                     struct job *j = test_job(c, 9, "");
                     resv_enter(c, j, resv_find(c, "r"));
                     j;
                 }),
                 "n1:4", NOW + 500);
    queue(c, 1, 60, "N=2 n=8", "r", true);
    queue(c, 2, 501, "n=1", "r", true); /* would delay it */
    queue(c, 3, 500, "n=1", "r", true);
    queue(c, 4, 60, "n=1", "s", true);
    queue(c, 5, 60, "n=1", NULL, false);
    expect(c, true, "1: Resources@500, 2: Priority, 3: r/n2:1/0, 4: s/n3:1/0, 5: n4:1/0");
    test_cluster_free(c);
    c = with((struct given[]){{"r", -600, 6000, 0, "n1", NULL}, {0}});
    queue(c, 1, 60, "n=3", "r", true);
    queue(c, 2, 60, "n=2", "r", true);
    /* First in, first out: it does not overtake the second job. */
    queue(c, 3, 60, "n=1", "r", true);
    queue(c, 4, 60, "n=1", NULL, false);
    expect(c, false, "1: r/n1:3/0, 2: Resources, 3: Priority, 4: n2:1/0");
    test_cluster_free(c);
}

static void flex_reaches_out(void **state)
{
    struct cluster *c = with((struct given[]){
        {"f", 600, 1200, RESV_FLEX, "n1", NULL}, {"r", 0, 6000, 0, "n4", NULL}, {0}});
    /* Before, after and beyond the reservation; not into another one. */
    queue(c, 1, 3600, "N=3 n=12", "f", true);
    queue(c, 2, 3600, "N=4 n=4", "f", true);
    expect(c, true, "1: f/n1:4/0 n2:4/0 n3:4/0, 2: Resources@6000");
    test_cluster_free(c);
}

static void magnetic_reservation_attracts_jobs(void **state)
{
    struct cluster *c = with((struct given[]){{"m", -60, 6000, RESV_MAGNETIC, "n3", NULL}, {0}});
    queue(c, 1, 60, "n=3", "m", false);
    queue(c, 2, 60, "n=2", "m", false); /* no space there */
    queue(c, 3, 60, "n=1", "m", false);
    queue(c, 4, 60, "n=1", NULL, false);
    expect(c, true, "1: m/n3:3/0, 2: n4:2/0, 3: m/n3:1/0, 4: n4:1/0");
    test_cluster_free(c);
}

static void several_reservations_are_tried_in_order(void **state)
{
    struct cluster *c = with(
        (struct given[]){{"a", -60, 6000, 0, "n1", NULL}, {"b", -60, 6000, 0, "n2", NULL}, {0}});
    struct job *first = queue(c, 1, 60, "n=4", "a", true);
    resv_bind(first, resv_find(c, "b"));
    struct job *second = queue(c, 2, 60, "n=4", "a", true);
    resv_bind(second, resv_find(c, "b"));
    expect(c, true, "1: a/n1:4/0, 2: b/n2:4/0");
    test_cluster_free(c);
}

/* Maintenance overrides other reservations, unless these overlap too. */
static void maintenance_overrides_other_reservations(void **state)
{
    struct cluster *c = with((struct given[]){
        {"r", -60, 6000, 0, "n[1-2]", NULL}, {"m", 600, 1200, RESV_MAINT, "n1", NULL}, {0}});
    queue(c, 1, 3600, "n=1", "r", true);
    queue(c, 2, 600, "N=2 n=2", "r", true);
    queue(c, 3, 601, "N=2 n=2", "r", true);
    expect(c, true, "1: r/n2:1/0, 2: r/n1:1/0 n2:1/0, 3: Resources@1200");
    test_cluster_free(c);
    c = with((struct given[]){
        {"r", -60, 6000, RESV_OVERLAP, "n1", NULL}, {"m", -60, 6000, RESV_MAINT, "n1", NULL}, {0}});
    queue(c, 1, 60, "n=1", "r", true);
    queue(c, 2, 60, "n=1", "m", true);
    expect(c, true, "1: r/n1:1/0, 2: m/n1:1/0");
    test_cluster_free(c);
}

/* --- cores --- */

static void some_cores_of_a_node(void **state)
{
    struct cluster *c = with((struct given[]){
        {"r", -60, 6000, 0, "n[1-2]", "3,1"}, {"all", -60, 6000, 0, "n[3-4]", NULL}, {0}});
    queue(c, 1, 60, "N=1 w=n1 n=2", "r", true);
    queue(c, 2, 60, "N=1 w=n1 n=2", "r", true); /* one of three is left */
    queue(c, 3, 60, "N=1 w=n1 n=1", "r", true);
    queue(c, 4, 60, "N=1 w=n1 n=1", NULL, false); /* the fourth core */
    queue(c, 5, 60, "N=1 w=n1 n=1", NULL, false);
    queue(c, 6, 60, "n=3", NULL, false);
    expect(c, true,
           "1: r/n1:2/0, 2: Resources@60, 3: r/n1:1/0, 4: n1:1/0, 5: Resources@120, 6: "
           "n2:3/0");
    test_cluster_free(c);
}

static void no_more_than_its_cores_later(void **state)
{
    struct cluster *c = with((struct given[]){{"r", 600, 6000, 0, "n[1-4]", "1,1,1,1"}, {0}});
    queue(c, 1, 601, "n=3", NULL, false);
    queue(c, 2, 601, "w=n1 n=1", NULL, false); /* its core would overlap the reservation */
    queue(c, 3, 60, "w=n1 n=1", NULL, false);
    queue(c, 4, 601, "N=1 n=4", NULL, false); /* a whole node: after the reservation */
    expect(c, true, "1: n1:3/0, 2: Resources@601, 3: n1:1/0, 4: Priority");
    test_cluster_free(c);
}

/* Jobs outside leave all simultaneous reservations their amounts, and no more. */
static void cores_of_several_reservations_are_kept(void **state)
{
    struct cluster *c =
        with((struct given[]){{"a", 0, 600, 0, "n1", "1"}, {"b", 300, 900, 0, "n1", "1"}, {0}});
    queue(c, 1, 3600, "N=1 w=n1 n=3", NULL, false);
    queue(c, 2, 600, "N=1 w=n1 n=2", NULL, false);
    expect(c, true, "1: Resources@600, 2: n1:2/0");
    test_cluster_free(c);
    c = with((struct given[]){{"a", 0, 600, 0, "n1", "2"}, {"b", 600, 900, 0, "n1", "2"}, {0}});
    queue(c, 1, 3600, "N=1 w=n1 n=2", NULL, false);
    expect(c, true, "1: n1:2/0");
    test_cluster_free(c);
}

static void cores_of_several_that_repeat(void **state)
{
    struct cluster *c = with((struct given[]){
        {"a", -3600, -1800, RESV_DAILY, "n1", "2"}, {"b", -7200, 600, RESV_DAILY, "n1", "2"}, {0}});
    queue(c, 1, 7200, "N=1 w=n1 n=2", NULL, false);
    queue(c, 2, 79200, "w=n1 n=1", NULL, false); /* both are active tomorrow from 82800 to 84600 */
    expect(c, true, "1: n1:2/0, 2: Resources@84600");
    test_cluster_free(c);
    c = with((struct given[]){
        {"a", 600, 1200, RESV_TIME_FLOAT, "n1", "2"}, {"b", 900, 1000, 0, "n1", "2"}, {0}});
    queue(c, 1, 901, "w=n1 n=1", NULL, false); /* both are active at 900, no longer at 1500 */
    queue(c, 2, 900, "N=1 w=n1 n=2", NULL, false);
    expect(c, true, "1: Resources@900, 2: n1:2/0");
    test_cluster_free(c);
}

/* Random reservations leave a job the minimum over its run time. */
static void cores_at_any_moment(void **state)
{
    static const uint32_t kinds[] = {0, 0, RESV_HOURLY, RESV_TIME_FLOAT};
    size_t bound = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        uint64_t chance = seed;
        struct cluster *c = cluster_up();
        struct resv_plan plan;
        for (uint32_t n = test_between(&chance, 1, 4); n > 0; n--) {
            int64_t from = 600 * (int64_t)test_between(&chance, 0, 12) - 1800;
            uint32_t kind = kinds[test_between(&chance, 0, 3)];
            int64_t until = from + 600 * (int64_t)test_between(&chance, 1, 5);
            from = kind == RESV_TIME_FLOAT && from <= 0 ? 600 : from;
            until = until <= from ? from + 600 : until;
            reserve(c, &(struct given){(const char[]){(char)('a' + n), 0}, from, until, kind,
                                       test_between(&chance, 0, 1) ? "n[1-2]" : "n[2-3]", "1,2"});
        }
        struct job *j = test_job(c, 1, "");
        j->limit_sec = 600 * test_between(&chance, 1, 30);
        resv_plan_init(&plan, c, NOW);
        const struct free_view *view = resv_view(&plan, j, NULL, NOW, &c->pool.now);
        for (uint32_t node = 0; node < 4; node++) {
            uint32_t left = 4, got = view->most && view->most[node] < 4 ? view->most[node] : 4;
            for (int64_t at = NOW; at < NOW + j->limit_sec; at += 600) {
                uint32_t kept = 0;
                vec_foreach (&c->resvs, r)
                    kept += test_is_reserved(*r, at, NOW) ? (*r)->units[node] : 0;
                left = kept >= 4 ? 0 : 4 - kept < left ? 4 - kept : left;
            }
            if (got != left)
                fail_msg("seed %llu, node %u: %u, not %u", (unsigned long long)seed, node, got,
                         left);
            bound += left < 4;
        }
        resv_plan_done(&plan);
        test_cluster_free(c);
    }
    assert_true(bound > 2000);
}

/* --- licences --- */

/* A repeating reservation takes so many licences that the job can never begin: this is detected
 * after some occurrences. */
static void licences_that_are_never_free(void **state)
{
    struct cluster *c = test_cluster("Licenses=lic:10\n" CONF);
    struct given g = {"r", 0, 3600, RESV_HOURLY | RESV_ANY_NODES, "", NULL};
    uint64_t work = 0;
    test_up(c);
    struct resv *r = reserve(c, &g);
    r->licenses = mem_strdup("lic:8");
    resv_resolve(c, r);
    struct job *j = test_job(c, 1, "");
    j->limit_sec = 60;
    assert_int_equal(license_read(c, "lic:5", &j->want.licenses, NULL), 0);
    assert_int_equal(license_earliest(NULL, c, j, NOW, &work), 0);
    assert_true(work < 1000);
    test_cluster_free(c);
}

/* Jobs return licences at their ends, and a repeating reservation takes some for a time. */
static void licences_between(void **state)
{
    struct cluster *c = test_cluster("Licenses=lic:10\n" CONF);
    struct given g = {"r", -60, 3000, RESV_HOURLY | RESV_ANY_NODES, "", NULL};
    uint64_t work = 0;
    test_up(c);
    struct resv *r = reserve(c, &g);
    r->licenses = mem_strdup("lic:4");
    resv_resolve(c, r);
    for (uint32_t id = 1; id <= 200; id++) {
        struct job *j = test_job(c, id, "");
        assert_int_equal(license_read(c, "lic:1", &j->want.licenses, NULL), 0);
        if (id % 100)
            license_needs_done(&j->want.licenses);
        test_run_job(c, j, "", NOW + id * 3600 - 10);
    }
    static const struct {
        const char *wants;
        int64_t limit_sec, at;
    } cases[] = {
        {"lic:4", 100, 0},       {"lic:5", 100, 3000},
        {"lic:8", 540, 3000},    {"lic:8", 541, -NOW}, /* never free for that long */
        {"lic:9", 540, 363000},  /* after the end of the first reservation with some */
        {"lic:10", 540, 723000}, /* and of the second one */
        {"lic:6", 3600, 719990}, /* beside it */
        {"nosuch:1", 100, -NOW},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct job *j = test_job(c, 1000 + (uint32_t)i, "");
        j->limit_sec = cases[i].limit_sec;
        assert_int_equal(license_read(c, cases[i].wants, &j->want.licenses, NULL), 0);
        assert_int_equal(license_earliest(NULL, c, j, NOW, &work), NOW + cases[i].at);
    }
    test_cluster_free(c);
}

/* --- nodes chosen for a reservation --- */

static void pick(struct cluster *c, struct resv *r, const char *nodes, int code)
{
    struct resv_pick p = {c, NULL, NOW};
    struct err err = {0};
    assert_int_equal(resv_pick(&p, r, NULL, &err), -code);
    if (!code)
        assert_string_equal(r->node_names, nodes);
    resv_free(r);
}

static struct resv *draft(struct cluster *c, uint32_t count, const char *cores, const char *nodes)
{
    struct resv *r = resv_new("new");
    r->start_at = NOW + 100;
    r->end_at = NOW + 200;
    r->node_count = count;
    r->core_count = mem_strdup(cores);
    r->nodes = bitset_new(c->nodes.len);
    if (cores)
        assert_true(resv_parse_cores(cores, r));
    if (!nodes)
        return r;
    r->flags = RESV_SPEC_NODES;
    r->node_names = mem_strdup(nodes);
    resv_resolve(c, r);
    return r;
}

static void reservation_chooses_free_nodes(void **state)
{
    struct cluster *c =
        with((struct given[]){{"r", 0, 101, 0, "n1", NULL}, {"s", 200, 300, 0, "n2", NULL}, {0}});
    test_run(c, 1, "n3:1", NOW + 101); /* it may still run then */
    pick(c, draft(c, 2, NULL, NULL), "n[2,4]", 0);
    pick(c, draft(c, 3, NULL, NULL), NULL, ERR_NODES_BUSY);
    struct resv *r = draft(c, 3, NULL, NULL);
    r->flags |= RESV_IGNORE_JOBS;
    pick(c, r, "n[2-4]", 0);
    r = draft(c, 4, NULL, NULL);
    r->flags |= RESV_MAINT | RESV_IGNORE_JOBS;
    pick(c, r, "n[1-4]", 0);
    pick(c, draft(c, 2, "3", NULL), "n[2,4]", 0);
    pick(c, draft(c, 2, "9", NULL), NULL, ERR_NODES_BUSY);
    pick(c, draft(c, 2, "1,2,3", NULL), NULL, ERR_RESV_INVALID);
    pick(c, draft(c, 0, "1,2", NULL), NULL, ERR_RESV_INVALID);
    pick(c, draft(c, 5, NULL, NULL), NULL, ERR_NODE_COUNT);
    pick(c, draft(c, UINT32_MAX, "1", NULL), NULL, ERR_NODE_COUNT); /* no core is left to deal */
    pick(c, draft(c, 0, "6", NULL), "n[2,4]", 0);
    pick(c, draft(c, 0, "9", NULL), NULL, ERR_NODES_BUSY);
    pick(c, draft(c, 0, NULL, NULL), "n[2,4]", 0); /* all remaining nodes */
    pick(c, draft(c, 1, NULL, "n1"), NULL, ERR_RESV_OVERLAP);
    pick(c, draft(c, 1, NULL, "n2"), "n2", 0);
    pick(c, draft(c, 1, NULL, "n3"), NULL, ERR_NODES_BUSY);
    pick(c, draft(c, 2, "1", "n[2,4]"), NULL, ERR_RESV_INVALID);
    pick(c, draft(c, 1, "1", "n3"), "n3", 0); /* others of its cores are free */
    r = draft(c, 1, NULL, NULL);
    r->features = mem_strdup("nosuch");
    pick(c, r, NULL, ERR_FEATURE);
    r = draft(c, 1, NULL, NULL);
    r->part = mem_strdup("nosuch");
    pick(c, r, NULL, ERR_NO_PARTITION);
    test_cluster_free(c);
}

/* All simultaneous reservations count together. */
static void cores_for_one_beside_others(void **state)
{
    struct cluster *c = with((struct given[]){{"a", 0, 150, 0, "n[1-2]", "2,1"},
                                              {"b", 0, 150, 0, "n[1-2]", "1,1"},
                                              {"c", 150, 1000, 0, "n[1-2]", "2,1"},
                                              {"d", 100, 200, 0, "n4", "1"},
                                              {0}});
    pick(c, draft(c, 1, "1", "n1"), "n1", 0);
    pick(c, draft(c, 1, "2", "n1"), NULL, ERR_RESV_OVERLAP);
    pick(c, draft(c, 1, "2", "n2"), "n2", 0);
    pick(c, draft(c, 1, "4", "n3"), "n3", 0);
    pick(c, draft(c, 1, "4", "n4"), NULL, ERR_RESV_OVERLAP);
    test_cluster_free(c);
}

static void nodes_for_one_that_repeats(void **state)
{
    struct cluster *c =
        with((struct given[]){{"later", 100 + 3 * 86400, 200 + 3 * 86400, 0, "n1", NULL}, {0}});
    pick(c, draft(c, 1, NULL, "n1"), "n1", 0);
    struct resv *r = draft(c, 1, NULL, "n1");
    r->flags |= RESV_DAILY;
    pick(c, r, NULL, ERR_RESV_OVERLAP);
    test_cluster_free(c);
    c = with((struct given[]){{"daily", -86400 + 150, -86400 + 160, RESV_DAILY, "n1", NULL}, {0}});
    pick(c, draft(c, 1, NULL, "n1"), NULL, ERR_RESV_OVERLAP);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_must_end_before_a_reservation),
        cmocka_unit_test(maintenance_is_named),
        cmocka_unit_test(unlimited_jobs_meet_every_one),
        cmocka_unit_test(repeated_reservation_is_respected),
        cmocka_unit_test(floating_reservation_is_respected),
        cmocka_unit_test(inside_its_nodes_and_time),
        cmocka_unit_test(the_queue_of_a_reservation),
        cmocka_unit_test(flex_reaches_out),
        cmocka_unit_test(magnetic_reservation_attracts_jobs),
        cmocka_unit_test(several_reservations_are_tried_in_order),
        cmocka_unit_test(maintenance_overrides_other_reservations),
        cmocka_unit_test(some_cores_of_a_node),
        cmocka_unit_test(no_more_than_its_cores_later),
        cmocka_unit_test(cores_of_several_reservations_are_kept),
        cmocka_unit_test(cores_of_several_that_repeat),
        cmocka_unit_test(cores_at_any_moment),
        cmocka_unit_test(licences_between),
        cmocka_unit_test(licences_that_are_never_free),
        cmocka_unit_test(reservation_chooses_free_nodes),
        cmocka_unit_test(cores_for_one_beside_others),
        cmocka_unit_test(nodes_for_one_that_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
