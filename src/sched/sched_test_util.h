/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers for the tests of this room: jobs that run on nodes given as text, and selections as
 * text. */
#pragma once

#include "cluster/cluster_test_util.h"
#include "cluster/job/license_tied.h"
#include "sched/plan.h"
#include "sched/plan/timeline.h"
#include "sched/select/resv.h"

/* Makes the job hold "n1:2/100 n2:4" (cores, and MiB if given) and run until 'end_at'. */
static inline void test_run_job(struct cluster *c, struct job *j, const char *where, int64_t end_at)
{
    struct err err = {0};

    for (const char *at = where; *at;) {
        char name[64], *end;
        size_t len = strcspn(at, ":");
        assert_true(len < sizeof name && at[len] == ':');
        memcpy(name, at, len);
        name[len] = 0;
        const struct node *n = cluster_find_node(c, name);
        assert_non_null(n);
        uint32_t units = (uint32_t)strtoul(at + len + 1, &end, 10);
        uint64_t mem = *end == '/' ? strtoull(end + 1, &end, 10) : 0;
        if (alloc_take(c, j, n->index, units, mem, &err) != 0)
            fail_msg("job %u on %s: %s", j->id, where, err.text);
        at = *end == ' ' ? end + 1 : end;
    }
    assert_int_equal(job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    order_insert(&c->ends, &attempt_make(j)->ends, end_at, j->id);
}

/* Like test_run_job(), with a selection and its devices and pools. */
static inline void test_run_selection(struct cluster *c, struct job *j,
                                      const struct selection *where, int64_t end_at)
{
    struct err err = {0};
    vec_foreach (&where->shares, share) {
        const struct alloc_want want = share_want(where, share);
        if (alloc_place(c, j, &want, &err) != 0)
            fail_msg("job %u: %s", j->id, err.text);
    }
    vec_foreach (&where->payers, payer)
        license_set_payer(j, *payer);
    test_run_job(c, j, "", end_at);
}

static inline struct job *test_run(struct cluster *c, uint32_t id, const char *where,
                                   int64_t end_at)
{
    struct job *j = test_job(c, id, "");
    test_run_job(c, j, where, end_at);
    return j;
}

/* Returns the job of a decision after it has been carried out as the controller does: values to be
 * stored are stored, and the partition of the start is selected. */
static inline struct job *test_follow(const struct cluster *c, const struct decision *d)
{
    struct job *j = cluster_find_job(c, d->job->id);
    assert_non_null(j);
    if (d->kind == PLAN_RESUME)
        return j;
    j->switches_since = d->switches_since;
    j->switches_waived = d->switches_waived;
    j->preempt_look_at = d->preempt_look_at;
    j->expected_at = d->kind == PLAN_WAIT ? d->start_at : 0;
    if (d->kind != PLAN_START)
        return j;
    assert_true(job_partitions_select_part(j, d->part));
    license_choose_alternative(j, d->license);
    return j;
}

/* Returns a selection in the form that test_run() reads, "n1:2/100 n2:4/0", with GRES as "+gpu=2".
 * The caller frees the text. */
static inline char *test_selection(const struct cluster *c, const struct selection *s)
{
    struct str out = STR_INIT;

    vec_foreach (&s->shares, at) {
        str_printf(&out, "%s%s:%u/%llu", out.len ? " " : "", c->nodes.data[at->node]->name,
                   at->units, (unsigned long long)at->amounts.mem_mib);
        for (size_t i = 0; i < at->gres_len; i++) {
            const struct gres_amount *g = &s->gres.data[at->gres_at + i];
            const struct gres_kind *k = &c->gres_kinds.data[g->kind];
            str_printf(&out, "+%s%s%s=%llu", k->name, k->type ? ":" : "", k->type ? k->type : "",
                       (unsigned long long)g->count);
        }
    }
    char *text = mem_strdup(str_cstr(&out));
    str_done(&out);
    return text;
}

/* Returns the first start of the job if no other job waits, and its nodes. The start is
 * CLUSTER_NO_LIMIT_SEC beyond now if none is foreseeable. */
static inline int64_t test_earliest(const struct cluster *c, const struct job *j,
                                    const struct bitset *allowed, int64_t now_sec,
                                    struct selection *where)
{
    struct timeline t;
    struct resv_plan resv;
    struct selection there = {0};
    int64_t first = INT64_MAX;
    timeline_init(&t, c, now_sec);
    resv_plan_init(&resv, c, now_sec);
    timeline_set_resv(&t, &resv);
    for (size_t i = 0; resv_place(j, i, &t.in); i++) {
        _cleanup_bitset_ struct bitset *set = bitset_dup(allowed);
        resv_restrict(t.in, set);
        int64_t at = timeline_find(&t, j, set, &there);
        if (at >= first)
            continue;
        first = at;
        struct selection other = *where;
        *where = there;
        there = other;
    }
    select_done(&there);
    resv_plan_done(&resv);
    timeline_done(&t);
    return first < now_sec + CLUSTER_NO_LIMIT_SEC ? first : now_sec + CLUSTER_NO_LIMIT_SEC;
}

/* Returns the nodes selected for the job now as a bit mask of the first 32 nodes; 0: the job
 * waits. */
static inline uint32_t test_choose_set(const struct cluster *c, const struct job *j)
{
    _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
    struct selection s = {0};
    uint32_t set = 0;
    bitset_and(allowed, c->pool.usable);
    select_nodes(c, j, allowed, NULL, &s);
    vec_foreach (&s.shares, share)
        set |= 1u << share->node;
    select_done(&s);
    return set;
}

/* Returns the names of the nodes selected for the job now; "": the job waits. */
static inline char *test_choose_names(const struct cluster *c, const struct job *j)
{
    _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();
    _cleanup_str_ struct str text = STR_INIT;
    struct selection s = {0};
    bitset_and(allowed, c->pool.usable);
    select_nodes(c, j, allowed, NULL, &s);
    vec_foreach (&s.shares, share)
        hostlist_push(names, c->nodes.data[share->node]->name);
    select_done(&s);
    hostlist_format(names, &text);
    return mem_strdup(str_cstr(&text));
}

struct test_choice {
    const char *words, *names; /* the words of a request, and the expected nodes; "": it waits */
};

/* Checks the selection for each row while the nodes in 'busy' (as for test_run(); NULL: none) are
 * in use. */
static inline void test_check_choices(const char *conf, const char *busy,
                                      const struct test_choice *rows, size_t count)
{
    struct cluster *c = test_cluster(conf);
    test_up(c);
    if (busy)
        test_run(c, 1000, busy, 2000);
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *names =
            test_choose_names(c, test_job(c, (uint32_t)i + 1, rows[i].words));
        if (!str_eq(names, rows[i].names))
            fail_msg("'%s': '%s', not '%s'", rows[i].words, names, rows[i].names);
    }
    test_cluster_free(c);
}

/* Whether the reservation has its nodes at that time, as seen at 'now'. */
static inline bool test_is_reserved(const struct resv *r, int64_t at, int64_t now)
{
    int64_t length = r->end_at - r->start_at, since = at - r->start_at;
    if (r->flags & RESV_TIME_FLOAT)
        return at >= now + r->float_sec && at < now + r->float_sec + r->float_length_sec;
    if (r->flags & RESV_HOURLY)
        return since >= 0 && since % 3600 < length;
    return since >= 0 && since < length;
}

/* Makes random nodes busy, each with this number of CPUs. Returns the mask of the other nodes. */
static inline uint32_t test_draw_busy(struct cluster *c, uint64_t *at, uint32_t nodes,
                                      uint32_t cpus)
{
    uint32_t fits = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        char busy[24];
        snprintf(busy, sizeof(busy), "n%u:%u", i + 1, cpus);
        if (test_between(at, 0, 4) == 0)
            test_run(c, 1000 + i, busy, 2000);
        else
            fits |= 1u << i;
    }
    return fits;
}

/* Adds two random required nodes to the words with some probability. Returns their mask, or 0. */
static inline uint32_t test_draw_required(uint64_t *at, uint32_t nodes, struct str *words)
{
    if (test_between(at, 0, 2) != 0)
        return 0;
    uint32_t one = test_between(at, 1, nodes), other = test_between(at, 1, nodes);
    str_printf(words, " w=n%u,n%u", one, other);
    return 1u << (one - 1) | 1u << (other - 1);
}

/* holds: the selected set satisfies the request; could: some set of the free nodes does. */
static inline void test_compare_choice(uint64_t seed, const char *words, uint32_t set,
                                       uint32_t fits, bool holds, bool could)
{
    if (set && !holds)
        fail_msg("seed %llu, '%s': %x of %x does not hold it", (unsigned long long)seed, words, set,
                 fits);
    if (!set && could)
        fail_msg("seed %llu, '%s': waits, and could run on %x", (unsigned long long)seed, words,
                 fits);
}
