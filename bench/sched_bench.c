/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long planning takes on a large cluster, in time of one core: what else runs does not count.
 *
 * usage: sched_bench [NODES [RUNNING [PENDING [LEAF [RESERVATIONS]]]]]   (10000 5000 10000 0 0)
 *
 * First the decision about one more job while RUNNING others run: checked as at its submission,
 * planned, allocated, and ended again. Then one pass over PENDING waiting jobs of different
 * requests on a full cluster, each of which is looked at (bf_max_job_part). In between, what a job
 * array of a million elements costs.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cluster/cluster.h"
#include "conf/conf.h"
#include "sched/plan.h"
#include "sched/why.h"

#define DISPLACED 500
#define ARRAYS 200
#define NOW INT64_C(1000000000)
#define CORES 32
#define ONE_MORE 2000
#define PASSES 21
#define QUESTIONS 20

static uint32_t between(uint64_t *seed, uint32_t first, uint32_t last)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return first + (uint32_t)((z ^ z >> 31) % (last - first + UINT64_C(1)));
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* A tree of three levels: so many nodes on a leaf switch, and 16 leaves on each above; 0: none. */
static void put_network(unsigned nodes, unsigned leaf, struct str *text)
{
    unsigned n = nodes - nodes / 4, leaves = 0;
    if (!leaf)
        return;
    str_puts(text, "TopologyPlugin=topology/tree\n");
    for (unsigned first = 1; first <= n; first += leaf)
        str_printf(text, "TopologyConf=1 SwitchName=l%u Nodes=n[%u-%u]\n", leaves++, first,
                   first + leaf - 1 < n ? first + leaf - 1 : n);
    for (unsigned first = 1; first <= nodes / 4; first += leaf)
        str_printf(text, "TopologyConf=1 SwitchName=l%u Nodes=m[%u-%u]\n", leaves++, first,
                   first + leaf - 1 < nodes / 4 ? first + leaf - 1 : nodes / 4);
    for (unsigned i = 0; i < leaves; i += 16)
        str_printf(text, "TopologyConf=1 SwitchName=m%u Switches=l[%u-%u]\n", i / 16, i,
                   i + 15 < leaves ? i + 15 : leaves - 1);
    str_printf(text, "TopologyConf=1 SwitchName=top Switches=m[0-%u]\n", (leaves - 1) / 16);
}

static struct cluster *make_cluster(unsigned nodes, unsigned leaf)
{
    _cleanup_str_ struct str network = STR_INIT;
    put_network(nodes, leaf, &network);
    struct conf *conf = NULL;
    struct err err = {0};
    _cleanup_free_ char *text = mem_printf(
        "SlurmctldHost=ctl\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
        "SchedulerParameters=bf_max_job_part=1000000\n"
        "NodeName=n[1-%u] CPUs=%u RealMemory=128000 Weight=1 Feature=a\n"
        "NodeName=m[1-%u] CPUs=%u RealMemory=512000 Weight=5 Feature=a,b\n"
        "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
        "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE\n"
        "PartitionName=q Nodes=ALL PriorityTier=2 MaxTime=INFINITE\n%s",
        nodes - nodes / 4, CORES, nodes / 4, CORES * 2, str_cstr(&network));
    if (conf_load_text(text, strlen(text), "bench.conf", CONF_FULL, NULL, &conf, NULL, &err) != 0) {
        fprintf(stderr, "sched_bench: %s\n", err.text);
        exit(1);
    }
    struct cluster *c = cluster_new(conf);
    vec_foreach (&c->nodes, n) {
        (*n)->registered = (*n)->connected = true;
        pool_update(c, *n);
    }
    return c;
}

/* Reservations of some nodes in a row, for others: begun, to come, daily, and of four cores a node.
 */
static void add_reservations(struct cluster *c, unsigned count, uint64_t *seed)
{
    for (unsigned i = 0; i < count; i++) {
        _cleanup_free_ char *name = mem_printf("r%u", i);
        struct resv *r = resv_new(name);
        _cleanup_bitset_ struct bitset *set = bitset_new(c->nodes.len);
        uint32_t last = (uint32_t)c->nodes.len - 1, first = between(seed, 0, last);
        for (uint32_t n = 0, nodes = between(seed, 1, 1 + last / 200); n < nodes; n++) {
            bitset_set(set, first + n <= last ? first + n : first + n - last - 1);
            if (i % 10 == 0)
                vec_push(&r->cores, 4);
        }
        r->start_at = NOW + (int64_t)between(seed, 0, 72) * 3600 - 7200;
        r->end_at = r->start_at + (int64_t)between(seed, 1, 24) * 3600;
        r->flags = i % 3 == 0 ? RESV_DAILY : 0;
        resv_set_nodes(c, r, set);
        resv_add(c, r);
    }
}

/* A job of a drawn request: most are small, one in ten takes several nodes. */
static struct job *add_job(struct cluster *c, uint32_t id, uint64_t *seed)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    struct err err = {0};
    struct job *j = cluster_add_job(c, id);
    j->part = c->parts.data[0];
    s.has_num_tasks = s.has_mem_per_cpu_mib = true;
    s.num_tasks = between(seed, 1, 24);
    s.mem_per_cpu_mib = between(seed, 100, 3000);
    if (between(seed, 0, 9) == 0) {
        s.has_min_nodes = s.has_max_nodes = true;
        s.min_nodes = s.max_nodes = between(seed, 2, 64);
        s.num_tasks = s.min_nodes * between(seed, 1, 16);
    }
    if (between(seed, 0, 4) == 0)
        s.features = between(seed, 0, 1) ? "a" : "b";
    if (job_read_spec(c, j, &s, &err) != 0 || select_possible(c, j, &err) != 0) {
        fprintf(stderr, "sched_bench: %s\n", err.text);
        exit(1);
    }
    j->limit_sec = between(seed, 10, 3000) * 60;
    order_insert(&j->part->queue, &j->queued, -(int64_t)id, id);
    return j;
}

static bool start(struct cluster *c, const struct decision *d)
{
    struct err err = {0};
    vec_foreach (&d->where.shares, s) {
        const struct alloc_want want = share_want(&d->where, s);
        if (alloc_place(c, d->job, &want, &err) != 0)
            return false;
    }
    order_remove(&d->job->part->queue, &d->job->queued);
    job_set_state(c, d->job, PB__JOB_STATE__RUNNING);
    order_insert(&c->ends, &job_make_run(d->job)->ends, NOW + d->job->limit_sec, d->job->id);
    return true;
}

/* One pass; the number of jobs that it started. */
static unsigned pass(struct cluster *c)
{
    struct plan p;
    struct decision d;
    unsigned started = 0;
    plan_begin(&p, c, NOW, true);
    while (plan_next(&p, &d)) {
        if (d.kind == PLAN_START && !start(c, &d)) {
            fprintf(stderr, "sched_bench: job %u: the plan does not hold\n", d.job->id);
            exit(1);
        }
        started += d.kind == PLAN_START;
        select_done(&d.where);
        free(d.detail);
    }
    plan_end(&p);
    return started;
}

static void end_job(struct cluster *c, struct job *j)
{
    job_set_state(c, j, PB__JOB_STATE__COMPLETED);
    cluster_remove_job(c, j);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void one_more(struct cluster *c, uint32_t *id, uint64_t *seed)
{
    _cleanup_free_ double *took = mem_new_array(double, ONE_MORE);
    unsigned started = 0;
    for (size_t i = 0; i < ONE_MORE; i++) {
        double from = now_us();
        struct job *j = add_job(c, ++*id, seed);
        unsigned now = pass(c);
        took[i] = now_us() - from;
        started += now;
        if (!now)
            order_remove(&j->part->queue, &j->queued);
        end_job(c, j);
    }
    qsort(took, ONE_MORE, sizeof *took, by_size);
    printf(
        "one more job: median %.0f us, 99th percentile %.0f us, most %.0f us (%u of %u started)\n",
        took[ONE_MORE / 2], took[ONE_MORE * 99 / 100], took[ONE_MORE - 1], started, ONE_MORE);
}

/* The queue stays: nothing ends, and what can start has started in the first pass. */
static void passes(struct cluster *c)
{
    double took[PASSES];
    unsigned started = 0;
    for (size_t i = 0; i < PASSES; i++) {
        double from = now_us();
        started += pass(c);
        took[i] = now_us() - from;
    }
    qsort(took, PASSES, sizeof *took, by_size);
    printf(
        "one pass, %zu pending and %zu running jobs: median %.1f ms, most %.1f ms (%u started)\n",
        c->pending, c->running, took[PASSES / 2] / 1e3, took[PASSES - 1] / 1e3, started);
}

/* A job array as the controller takes it, from the text to the record on disk, and what it costs in
 * memory beside the job that it is. */
static void array(struct cluster *c, uint32_t id, uint64_t *seed)
{
    double took[ARRAYS];
    size_t bytes = 0, record = 0;
    for (int i = 0; i < ARRAYS; i++) {
        struct idset tasks = {0};
        struct str packed = STR_INIT;
        uint32_t throttle;
        struct job *j = add_job(c, id + 1, seed);
        size_t before = mallinfo2().uordblks;
        double at = now_us();
        if (array_parse("0-999999", ARRAY_SIZE_MAX, &tasks, &throttle, NULL) != 0)
            exit(1);
        array_make(c, j, &tasks, throttle);
        job_pack_live(c, j);
        job_pack_record(j, &packed);
        took[i] = now_us() - at;
        record = packed.len;
        str_done(&packed);
        bytes = mallinfo2().uordblks - before;
        cluster_remove_job(c, j);
    }
    qsort(took, ARRAYS, sizeof took[0], by_size);
    printf(
        "array of 1,000,000 elements: made and packed in %.0f us, 99%% %.0f us; %zu bytes beside "
        "its job of %zu, record %zu bytes\n",
        took[ARRAYS / 2], took[ARRAYS * 99 / 100], bytes, sizeof(struct job), record);
}

/* Why the first ones of the queue wait: the controller answers others between two steps. */
static void questions(struct cluster *c)
{
    VEC(double) steps = {0};
    double took[QUESTIONS];
    size_t n = 0, changes = 0;
    for (struct order_link *l = order_first(&c->parts.data[0]->queue); l && n < QUESTIONS;
         l = order_next(l)) {
        struct why_question q = {.job_id = several_job_of(l)->id, .backfill = true};
        double begin = now_us();
        struct why *w = why_new(c, &q);
        bool more = true;
        while (more) {
            double from = now_us();
            more = why_step(w, NOW);
            vec_push(&steps, now_us() - from);
        }
        took[n++] = now_us() - begin;
        changes += why_answer(w) ? why_answer(w)->n_changes : 0;
        why_free(w);
    }
    if (!n)
        return;
    qsort(took, n, sizeof *took, by_size);
    qsort(steps.data, steps.len, sizeof *steps.data, by_size);
    printf(
        "%zu questions why: median %.1f ms, most %.1f ms; of their %zu steps the median %.0f us, "
        "99th percentile %.0f us, most %.0f us (%zu changes found)\n",
        n, took[n / 2] / 1e3, took[n - 1] / 1e3, steps.len, steps.data[steps.len / 2],
        steps.data[steps.len * 99 / 100], steps.data[steps.len - 1], changes);
    vec_done(&steps);
}

/* A decision about a job of a higher tier on the full cluster: whom it displaces. */
static void displace(struct cluster *c, uint32_t id, uint64_t *seed)
{
    double took[DISPLACED];
    size_t victims = 0, asked = 0;
    for (int i = 0; i < DISPLACED; i++) {
        struct decision d;
        struct plan p;
        struct job *j = add_job(c, ++id, seed);
        order_remove(&j->part->queue, &j->queued);
        j->part = c->parts.data[1];
        order_insert(&j->part->queue, &j->queued, 0, id);
        double at = now_us();
        plan_begin(&p, c, NOW, true);
        bool any = plan_next(&p, &d);
        took[i] = now_us() - at;
        victims += any ? d.n_victims : 0;
        asked += any && d.n_victims;
        select_done(&d.where);
        free(d.detail);
        plan_end(&p);
        order_remove(&j->part->queue, &j->queued);
        cluster_remove_job(c, j);
    }
    qsort(took, DISPLACED, sizeof took[0], by_size);
    printf("whom to displace, of %zu jobs: median %.0f us, 99th percentile %.0f us (%zu of %d "
           "displace %zu)\n",
           c->running, took[DISPLACED / 2], took[DISPLACED * 99 / 100], asked, DISPLACED, victims);
}

int main(int argc, char **argv)
{
    unsigned nodes = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10000;
    unsigned running = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5000;
    unsigned pending = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 10000;
    uint32_t id = 0;
    uint64_t seed = 7;
    unsigned leaf = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    unsigned reservations = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 0;
    if (nodes < 64 || argc > 6) {
        fprintf(stderr, "usage: sched_bench [NODES [RUNNING [PENDING [LEAF [RESERVATIONS]]]]], at "
                        "least 64 nodes\n");
        return 2;
    }
    struct cluster *c = make_cluster(nodes, leaf);
    while (c->running < running) {
        add_job(c, ++id, &seed);
        if (!pass(c))
            break;
    }
    add_reservations(c, reservations, &seed);
    printf("%u nodes, %zu running jobs, %zu reservations\n", nodes, c->running, c->resvs.len);
    one_more(c, &id, &seed);
    array(c, id, &seed);
    while (c->pending == 0 || pass(c) > 0)
        for (int i = 0; i < 1000; i++)
            add_job(c, ++id, &seed);
    while (c->pending < pending)
        add_job(c, ++id, &seed);
    passes(c);
    questions(c);
    displace(c, id, &seed);
    struct conf *conf = (struct conf *)c->conf;
    cluster_free(c);
    conf_free(conf);
    return 0;
}
