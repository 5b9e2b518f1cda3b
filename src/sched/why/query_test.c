/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queries (sluice why, --test-only) change nothing: the bytes of the cluster and of the planner's
 * notes are equal before and after 10,000 queries, on random clusters with switches, several
 * partitions, preemption, licences, arrays and reservations.
 */
#include "base/test_drawn.h"
#include "sched/sched_test_util.h"
#include "sched/why/relax.h"
#include "sched/why/why.h"

enum { NOW = 100000, JOBS = 30, LIVES = 100, QUERIES = 100 };

#define T "TopologyConf=1 "
static const char conf[] =
    CONS "TopologyPlugin=topology/tree\nGresTypes=gpu\nLicenses=lic:3\n"
         "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
         "NodeName=n[1-6] CPUs=4 RealMemory=400 Gres=gpu:2\nNodeName=m[1-2] CPUs=8 RealMemory=800\n"
         "PartitionName=p Nodes=ALL\nPartitionName=q Nodes=n[3-6],m1 PriorityTier=2\n"
         "PartitionName=r Nodes=n[1-2],m2 MaxTime=5\n" T "SwitchName=a Nodes=n[1-3]\n" T
         "SwitchName=b Nodes=n[4-6]\n" T "SwitchName=c Nodes=m[1-2]\n" T
         "SwitchName=top Switches=a,b,c\n";

static const char *const requests[] = {"",
                                       "n=3",
                                       "N=2",
                                       "N=4 switches=1",
                                       "N=3 switches=1 n=9",
                                       "exclusive",
                                       "mem=350",
                                       "gres=gpu:2",
                                       "p=p,q",
                                       "p=q,p,r N=2",
                                       "p=p,r n=4",
                                       "p=q N=4",
                                       "c=2 n=3",
                                       "N=5 switches=2 p=q,p",
                                       "p=q exclusive",
                                       "w=n1",
                                       "x=n[1-3] n=4",
                                       "N=7 n=9",
                                       "N=3 contiguous",
                                       "gres=gpu:1 N=3",
                                       "p=r,p n=20",
                                       "exclusive N=3",
                                       "N=6 switches=1"};

struct life {
    struct cluster *c;
    struct plan_notes notes;
    uint64_t chance;
    size_t asked, explained;
};

static void put_bytes(struct str *out, const void *from, size_t size)
{
    if (size)
        str_append(out, from, size);
}

static void put_set(struct str *out, const struct bitset *set)
{
    for (ptrdiff_t i = set ? bitset_next(set, 0) : -1; i >= 0; i = bitset_next(set, (size_t)i + 1))
        put_bytes(out, &i, sizeof i);
}

static void put_job(struct str *out, const struct job *j)
{
    const struct job_partitions *s = j->partitions;
    put_bytes(out, j, sizeof *j);
    put_set(out, j->want.req);
    put_set(out, j->want.exc);
    put_bytes(out, j->want.gres.list.data,
              j->want.gres.list.len * sizeof j->want.gres.list.data[0]);
    put_bytes(out, j->resvs.data, j->resvs.len * sizeof j->resvs.data[0]);
    put_bytes(out, s, s ? sizeof *s + s->count * sizeof s->of[0] : 0);
    put_bytes(out, j->array, j->array ? sizeof *j->array : 0);
    put_bytes(out, j->attempt, j->attempt ? sizeof *j->attempt : 0);
    vec_foreach (&attempt_of(j)->alloc, a) {
        put_bytes(out, a, sizeof *a);
        put_set(out, a->busy);
    }
    job_pack_record(j, out);
}

/* Dumps everything that a query could reach as bytes, including state that only pointers show, such
 * as a queue link that was removed and inserted elsewhere. */
static void dump_cluster(const struct life *l, struct str *out)
{
    const struct cluster *c = l->c;
    const struct pool *pool = &c->pool;
    size_t n = c->nodes.len;
    put_bytes(out, c, sizeof *c);
    vec_foreach (&c->jobs, j)
        put_job(out, *j);
    vec_foreach (&c->nodes, node) {
        put_bytes(out, *node, sizeof **node);
        put_bytes(out, (*node)->use, (*node)->use ? (*node)->units * sizeof(*node)->use[0] : 0);
        put_bytes(out, (*node)->gres.data, (*node)->gres.len * sizeof(*node)->gres.data[0]);
    }
    vec_foreach (&c->parts, part) {
        put_bytes(out, *part, sizeof **part);
        put_set(out, (*part)->nodes);
    }
    vec_foreach (&c->resvs, r) {
        put_bytes(out, *r, sizeof **r);
        put_set(out, (*r)->nodes);
    }
    put_bytes(out, c->licenses.list.data, c->licenses.list.len * sizeof c->licenses.list.data[0]);
    put_bytes(out, pool->now.units, n * sizeof pool->now.units[0]);
    put_bytes(out, pool->now.amounts, n * sizeof pool->now.amounts[0]);
    put_bytes(out, pool->now.whole, n * sizeof pool->now.whole[0]);
    put_bytes(out, pool->now.gres, n * pool->gres_kinds * sizeof pool->now.gres[0]);
    put_bytes(out, pool->now.users, n * sizeof pool->now.users[0]);
    put_set(out, pool->usable);
    put_set(out, pool->spare.open);
    put_bytes(out, &l->notes, sizeof l->notes);
    put_bytes(out, l->notes.list.data, l->notes.list.len * sizeof l->notes.list.data[0]);
}

static void add_job(struct life *l, uint32_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const char *words = requests[test_between(&l->chance, 0, COUNT(requests) - 1)];
    Pb__JobSpec spec = test_spec(&arena, words);
    struct job *j = test_job(l->c, id, words);
    spec.has_time_limit_sec = true;
    spec.time_limit_sec = test_between(&l->chance, 1, 40) * 60;
    if (test_between(&l->chance, 0, 5) == 0)
        spec.licenses = (char *)"lic:2";
    j->limit_sec = spec.time_limit_sec;
    assert_int_equal(job_read_spec(l->c, j, &spec, NULL), 0);
    job_repack(&j->spec, &spec.base);
    if (test_between(&l->chance, 0, 4) == 0) {
        struct idset tasks = {0};
        assert_int_equal(idset_parse("1-3", 10, &tasks, NULL), 0);
        array_make(l->c, j, &tasks, 0);
    }
    if (l->c->resvs.len && test_between(&l->chance, 0, 4) == 0)
        resv_bind(j, l->c->resvs.data[0]);
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        j->priority = test_between(&l->chance, 1, 4);
        job_partitions_queue(j);
    }
    job_partitions_select_first(j);
}

static void start_job(struct life *l, const struct decision *d)
{
    struct job *j = test_follow(l->c, d);
    if (j->tasks.count) /* part of an array starts: the rest stays in the queue */
        return;
    job_partitions_end(j);
    vec_foreach (&d->where.shares, share) {
        struct alloc_want want = share_want(&d->where, share);
        assert_int_equal(alloc_place(l->c, j, &want, NULL), 0);
    }
    assert_int_equal(job_set_state(l->c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    order_insert(&l->c->ends, &attempt_make(j)->ends, NOW + job_limit_sec(j), j->id);
}

static void run_pass(struct life *l)
{
    struct plan p;
    struct decision d;
    plan_begin(&p, l->c, &l->notes, NOW, true);
    for (int i = 0; i < 4 * JOBS && plan_next(&p, &d); i++) {
        if (d.kind == PLAN_START)
            start_job(l, &d);
        else
            test_follow(l->c, &d);
        plan_decision_done(&d);
        free(d.detail);
    }
    plan_end(&p);
}

static void ask_about_job(struct life *l, const struct job *j, bool as_guest)
{
    struct why_question q = {.job_id = j->id, .notes = &l->notes, .backfill = true};
    struct job_copy guest;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (as_guest) {
        const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
        if (relax_make(l->c, j, spec, NULL, 0, &guest) != 0)
            return;
        guest.job.id = 0;
        guest.job.array = NULL;
        guest.job.spec = j->spec; /* borrowed */
        q.job_id = 0;
        q.guest = &guest.job;
        q.key = -2;
    }
    struct why *w = why_new(l->c, &q);
    while (why_step(w, NOW))
        ;
    const Pb__WhyReply *reply = as_guest ? NULL : why_answer(w);
    l->explained += reply && reply->n_changes;
    l->asked++;
    why_free(w);
    if (as_guest)
        relax_done(&guest);
}

static void make_reservation(struct life *l)
{
    struct resv *r = resv_new("kept");
    r->start_at = NOW + 600;
    r->end_at = NOW + 3600;
    r->node_names = mem_strdup("n1,n6");
    resv_resolve(l->c, r);
    resv_add(l->c, r);
}

static void queries_change_nothing(void **state)
{
    size_t asked = 0, explained = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(LIVES); seed++) {
        struct str before = STR_INIT, after = STR_INIT;
        struct life l = {.c = test_cluster(conf), .chance = seed};
        test_up(l.c);
        if (seed % 2)
            make_reservation(&l);
        for (uint32_t id = 1; id <= JOBS; id++)
            add_job(&l, id);
        run_pass(&l);
        run_pass(&l);
        dump_cluster(&l, &before);
        for (size_t i = 0; l.asked < QUERIES; i++) {
            const struct job *j = l.c->jobs.data[i % l.c->jobs.len];
            if (j->state != PB__JOB_STATE__PENDING)
                continue;
            ask_about_job(&l, j, i / JOBS % 2);
        }
        dump_cluster(&l, &after);
        if (before.len != after.len || memcmp(before.data, after.data, before.len) != 0)
            fail_msg("seed %llu: a query has changed the cluster", (unsigned long long)seed);
        asked += l.asked;
        explained += l.explained;
        str_done(&before);
        str_done(&after);
        plan_notes_done(&l.notes);
        test_cluster_free(l.c);
    }
    assert_int_equal(asked, TEST_DRAWN(LIVES) * QUERIES);
    assert_true(explained > asked / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(queries_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
