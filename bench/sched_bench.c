/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long planning takes on a large cluster, in time of one core: what else runs does not count.
 *
 * usage: sched_bench [NAME...]                  worlds of the table below; without a name, all
 *        sched_bench --nodes=N [--running=N] [--pending=N] [--shapes=N] [--leaf=N] [--licenses=N]
 *                    [--reservations=N] [--small]                      one of one's own
 *
 * In each the decision about one more job while others run: checked as at its submission, planned,
 * allocated, and ended again. Then passes over the jobs that wait for a full cluster, each of which
 * is looked at (bf_max_job_part): after something has become free, so that all are looked at anew,
 * and after nothing has. Besides, what a job array of a million elements costs, questions why, and
 * whom a job of a higher tier displaces; and heterogeneous jobs, beside their components as jobs of
 * their own. Aims stand beside the figures that have one.
 */
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sched/plan.h"
#include "sched/why/why.h"
#include "world.h"

#define DISPLACED 500
#define ARRAYS 200
#define ONE_MORE 2000
#define PASSES 11
#define QUESTIONS 20
#define SET_COMPONENTS 3
#define SETS_PENDING 1000
#define SET_RATIO 3      /* a pass over sets, to one over their components as jobs */
#define EITHER_RATIO 4   /* a pass over sets with -L a|b of layers, to one over sets without */
#define LAYERS_RATIO 4   /* the same with -L a */
#define HRES_RATIO 1.5   /* a pass over jobs with hierarchical resources, to one without them */
#define TWO_MODE_RATIO 4 /* a pass in two modes, to one that places sets jointly */
#define NO_AIM 0

static const struct world_rule worlds[] = {
    {.name = "usual", .nodes = 10000, .running = 5000, .pending = 10000},
    {.name = "tree", .nodes = 10000, .running = 5000, .pending = 10000, .leaf = 32},
    {.name = "torus", .nodes = 4096, .running = 100, .pending = 1000, .torus = true},
    {.name = "corners",
     .nodes = 4096,
     .running = 100,
     .pending = 1000,
     .torus = true,
     .anywhere = true},
    {.name = "licenses", .nodes = 10000, .running = 5000, .pending = 10000, .licenses = 4},
    {.name = "hres", .nodes = 10000, .running = 5000, .pending = 10000, .hres = true},
    {.name = "combined",
     .nodes = 10000,
     .running = 5000,
     .pending = 10000,
     .hres = true,
     .combined = true},
    {.name = "powers",
     .nodes = 10000,
     .running = 5000,
     .pending = 10000,
     .hres = true,
     .combined = true,
     .per_node = true},
    {.name = "layers",
     .nodes = 10000,
     .running = 5000,
     .pending = 10000,
     .hres = true,
     .scarce = true,
     .small = true},
    {.name = "waiting",
     .nodes = 10000,
     .running = 5000,
     .pending = 50000,
     .hres = true,
     .scarce = true,
     .small = true,
     .shapes = 200},
    {.name = "reservations",
     .nodes = 10000,
     .running = 5000,
     .pending = 10000,
     .reservations = 100},
    {.name = "full", .nodes = 10000, .running = 20000, .pending = 10000, .small = true},
    {.name = "shapes", .nodes = 10000, .running = 5000, .pending = 100000, .shapes = 1000},
};
/* Heterogeneous jobs, beside their components as jobs of their own. */
static const struct world_rule sets_rule = {.name = "sets", .nodes = 1000, .small = true};
/* The same jobs in two modes. */
static const struct world_rule two_mode_rule = {
    .name = "sets", .nodes = 1000, .small = true, .two_mode = true};
/* The same jobs, of which each has layers, or alternative layers, beside those without. */
static const struct world_rule layers_rule = {
    .name = "sets", .nodes = 1000, .small = true, .layers = "each:2"};
static const struct world_rule either_rule = {
    .name = "sets", .nodes = 1000, .small = true, .layers = "each:2|one:1"};
static bool missed; /* an aim */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts them. Aims in microseconds; NO_AIM: none. */
static void row(const char *what, double *took, size_t n, double median_aim, double high_aim)
{
    qsort(took, n, sizeof *took, by_size);
    double median = took[n / 2], high = took[n * 99 / 100];
    printf("  %-44s median %9.0f us, 99%% %9.0f us, most %9.0f us", what, median, high,
           took[n - 1]);
    if (median_aim > 0 || high_aim > 0) {
        bool kept = (median_aim <= 0 || median < median_aim) && (high_aim <= 0 || high < high_aim);
        missed = missed || !kept;
        printf("   aim:");
        if (median_aim > 0)
            printf(" median < %.0f us", median_aim);
        if (high_aim > 0)
            printf("%s 99%% < %.0f us", median_aim > 0 ? "," : "", high_aim);
        printf(": %s", kept ? "kept" : "MISSED");
    }
    printf("\n");
    fflush(stdout);
}

static void end_job(struct cluster *c, struct job *j)
{
    job_set_state(c, j, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL);
    cluster_remove_job(c, j);
}

static void one_more(struct world *w)
{
    _cleanup_free_ double *took = mem_new_array(double, ONE_MORE);
    unsigned started = 0;
    for (size_t i = 0; i < ONE_MORE; i++) {
        double from = now_us();
        struct job *j = world_add(w);
        unsigned now = world_pass(w);
        took[i] = now_us() - from;
        started += now;
        if (!now)
            order_remove(&j->part->queue, &j->queued);
        end_job(w->c, j);
    }
    _cleanup_free_ char *what = mem_printf("one more job (%u of %u start)", started, ONE_MORE);
    bool full = started < ONE_MORE; /* what starts is planned for, beside what is full */
    if (w->rule->anywhere)
        row(what, took, ONE_MORE, NO_AIM, NO_AIM);
    else
        row(what, took, ONE_MORE, full || w->rule->scarce ? NO_AIM : 200, 1000);
}

/* The queue stays: what can start has started in the first pass. 'freed': as if something had ended
 * before each of them. */
static void passes(struct world *w, bool freed)
{
    double took[PASSES];
    unsigned started = 0;
    for (size_t i = 0; i < PASSES; i++) {
        w->c->pool.freed += freed;
        double from = now_us();
        started += world_pass(w);
        took[i] = now_us() - from;
    }
    _cleanup_free_ char *what = mem_printf("a pass over %zu jobs, %s (%u start)", w->c->pending,
                                           freed ? "all anew" : "nothing new", started);
    row(what, took, PASSES, 1e6, 1e6);
}

/* A job array as the controller takes it, from the text to the record on disk, and what it costs in
 * memory beside the job that it is. */
static void array(struct world *w)
{
    double took[ARRAYS];
    size_t bytes = 0, record = 0, most = sizeof(struct job) + 1000000 / 8;
    for (int i = 0; i < ARRAYS; i++) {
        struct idset tasks = {0};
        struct str packed = STR_INIT;
        uint32_t throttle;
        struct job *j = world_add(w);
        order_remove(&j->part->queue, &j->queued);
        size_t before = mallinfo2().uordblks;
        double at = now_us();
        if (array_parse("0-999999", ARRAY_SIZE_MAX, &tasks, &throttle, NULL) != 0)
            exit(1);
        array_make(w->c, j, &tasks, throttle);
        job_pack_live(w->c, j);
        job_pack_record(j, &packed);
        took[i] = now_us() - at;
        record = packed.len;
        str_done(&packed);
        bytes = mallinfo2().uordblks - before;
        cluster_remove_job(w->c, j);
    }
    row("an array of 1,000,000 elements, packed", took, ARRAYS, 5000, 5000);
    missed = missed || bytes > most;
    printf("  %-44s %zu bytes, and its record %zu   aim: < another job and a bitmap, %zu: %s\n",
           "   memory beside that of its job", bytes, record, most,
           bytes > most ? "MISSED" : "kept");
}

/* Why the first ones of the queue wait: the controller answers others between two steps. */
static void questions(struct world *w)
{
    VEC(double) steps = {0};
    double took[QUESTIONS];
    size_t n = 0;
    for (struct order_link *l = order_first(&w->c->parts.data[0]->queue); l && n < QUESTIONS;
         l = order_next(l)) {
        struct why_question q = {.job_id = job_partitions_job_of(l)->id, .backfill = true};
        double begin = now_us();
        struct why *why = why_new(w->c, &q);
        bool more = true;
        while (more) {
            double from = now_us();
            more = why_step(why, WORLD_NOW);
            vec_push(&steps, now_us() - from);
        }
        took[n++] = now_us() - begin;
        why_free(why);
    }
    if (!n)
        return;
    row("a question why", took, n, NO_AIM, NO_AIM);
    row("   a step of it", steps.data, steps.len, NO_AIM, 5000);
    vec_done(&steps);
}

/* A decision about a job of a higher tier on the full cluster: whom it displaces. */
static void displace(struct world *w)
{
    struct cluster *c = w->c;
    double took[DISPLACED];
    size_t victims = 0, asked = 0;
    for (int i = 0; i < DISPLACED; i++) {
        struct decision d;
        struct plan p;
        struct job *j = world_add(w);
        order_remove(&j->part->queue, &j->queued);
        j->part = c->parts.data[1];
        order_insert(&j->part->queue, &j->queued, 0, j->id);
        double at = now_us();
        plan_begin(&p, c, NULL, WORLD_NOW, true);
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
    _cleanup_free_ char *what =
        mem_printf("whom to displace (%zu of %d: %zu)", asked, DISPLACED, victims);
    row(what, took, DISPLACED, NO_AIM, 1000);
}

/* --- two worlds, pass by pass --------------------------------------------------------------------
 */

struct pass_pair {
    struct {
        struct world *w;
        const char *name;
    } first, second;
    double aim; /* the first takes so many times as long for a job; NO_AIM: none */
};

static double time_pass(struct world *w, bool freed)
{
    w->c->pool.freed += freed;
    double from = now_us();
    world_pass(w);
    return now_us() - from;
}

/* In turn, so that what else the machine does counts for both. */
static void compare_passes(const struct pass_pair *p, bool freed)
{
    double took[2][PASSES], ratio[PASSES],
        jobs[] = {(double)p->first.w->c->pending, (double)p->second.w->c->pending};
    for (size_t i = 0; i < PASSES; i++) {
        took[0][i] = time_pass(p->first.w, freed);
        took[1][i] = time_pass(p->second.w, freed);
        ratio[i] = took[0][i] / took[1][i] * jobs[1] / jobs[0];
    }
    _cleanup_free_ char *first = mem_printf("a pass over %zu %s, %s", p->first.w->c->pending,
                                            p->first.name, freed ? "all anew" : "nothing new");
    _cleanup_free_ char *second =
        mem_printf("a pass over %zu %s", p->second.w->c->pending, p->second.name);
    row(first, took[0], PASSES, NO_AIM, NO_AIM);
    row(second, took[1], PASSES, NO_AIM, NO_AIM);
    qsort(ratio, PASSES, sizeof *ratio, by_size);
    double median = ratio[PASSES / 2];
    bool kept = p->aim <= 0 || median <= p->aim;
    missed = missed || !kept;
    printf("  %-44s least %10.1f, median %10.1f", "   times as long for a job", ratio[0], median);
    if (p->aim > 0)
        printf("   aim: median <= %.1f: %s", p->aim, kept ? "kept" : "MISSED");
    printf("\n");
}

static void fill_world(struct world *w, const struct world_rule *rule)
{
    world_init(w, rule);
    world_fill(w);
    world_queue(w);
}

/* The same jobs with hierarchical resources and without. In both worlds the cluster is filled until
 * none of the pending jobs can start: with resources because layers or nodes have too little for
 * each of them, without because nodes have. So a pass decides the same about as many jobs, and the
 * difference is the price of the resources. */
static void compare_with_plain(const struct world_rule *rule, struct world *with)
{
    struct world without;
    struct world_rule plain = *rule;
    plain.hres = false;
    fill_world(&without, &plain);
    struct pass_pair pair = {
        {with, "jobs with resources"}, {&without, "jobs without them"}, HRES_RATIO};
    compare_passes(&pair, true);
    compare_passes(&pair, false);
    world_done(&without);
}

/* Compares with the same jobs that request licences of the cluster instead. Running jobs hold all
 * of these licences, so no job starts: each waiting job is refused for its licences, before its
 * nodes are examined. */
static void compare_with_flat(const struct world_rule *rule, struct world *with)
{
    struct world flat;
    struct world_rule licensed = *rule;
    licensed.flat = true;
    licensed.running = (unsigned)with->c->running;
    world_init(&flat, &licensed);
    world_fill(&flat);
    world_exhaust_licenses(&flat);
    world_queue(&flat);
    struct pass_pair pair = {{with, "jobs with resources"}, {&flat, "jobs with licences"}, NO_AIM};
    compare_passes(&pair, true);
    world_done(&flat);
}

static void compare_resources(const struct world_rule *rule)
{
    struct world with;
    fill_world(&with, rule);
    compare_with_plain(rule, &with);
    if (rule->combined)
        compare_with_flat(rule, &with);
    world_done(&with);
}

static void measure(const struct world_rule *rule, bool all)
{
    struct world w;
    world_init(&w, rule);
    world_fill(&w);
    world_reserve(&w);
    printf("%s: %u nodes%s, %zu jobs run, %zu reservations, %u kinds of licences\n", rule->name,
           rule->nodes, rule->leaf ? " in a tree" : "", w.c->running, w.c->resvs.len,
           rule->licenses);
    one_more(&w);
    if (all)
        array(&w);
    world_queue(&w);
    passes(&w, true);
    passes(&w, false);
    if (all || rule->hres)
        questions(&w);
    if (all)
        displace(&w);
    world_done(&w);
    if (rule->hres && !rule->scarce)
        compare_resources(rule);
}

/* --- heterogeneous jobs -------------------------------------------------------------------------
 */

/* A set on an idle cluster: its three requests are read, planned, allocated, and ended again. */
static void start_sets(void)
{
    _cleanup_free_ double *took = mem_new_array(double, ONE_MORE);
    struct world w;
    world_init(&w, &sets_rule);
    for (size_t i = 0; i < ONE_MORE; i++) {
        struct job *set[SET_COMPONENTS];
        double from = now_us();
        world_add_set(&w, set, SET_COMPONENTS, true);
        if (world_pass(&w) != 1)
            exit(1);
        took[i] = now_us() - from;
        for (size_t k = SET_COMPONENTS; k-- > 0;)
            end_job(w.c, set[k]);
    }
    row("one more set on an idle cluster", took, ONE_MORE, 1000, 1000);
    world_done(&w);
}

/* A cluster where few components would fit, and sets or their components that wait. */
static void queue_sets(struct world *w, const struct world_rule *rule, bool joined)
{
    world_init(w, rule);
    for (unsigned failed = 0; failed < SETS_PENDING;) {
        struct job *j = world_add(w);
        if (world_pass(w))
            continue;
        order_remove(&j->part->queue, &j->queued);
        end_job(w->c, j);
        failed++;
    }
    w->seed = 11;
    for (unsigned i = 0; i < SETS_PENDING; i++) {
        struct job *set[SET_COMPONENTS];
        world_add_set(w, set, SET_COMPONENTS, joined);
    }
    while (world_pass(w))
        continue;
}

/* Sets of this rule, beside those without layers that are placed jointly. */
static void compare_sets(struct world *sets, const struct world_rule *rule, const char *name,
                         double aim)
{
    struct world layered;
    queue_sets(&layered, rule, true);
    struct pass_pair pair = {{&layered, name}, {sets, "components without"}, aim};
    compare_passes(&pair, true);
    compare_passes(&pair, false);
    world_done(&layered);
}

static void measure_sets(void)
{
    struct world sets, jobs;
    printf("%s: %u nodes, heterogeneous jobs with %d components\n", sets_rule.name, sets_rule.nodes,
           SET_COMPONENTS);
    start_sets();
    queue_sets(&sets, &sets_rule, true);
    queue_sets(&jobs, &sets_rule, false);
    struct pass_pair pair = {{&sets, "components in sets"}, {&jobs, "of them as jobs"}, SET_RATIO};
    compare_passes(&pair, true);
    compare_passes(&pair, false);
    world_done(&jobs);
    compare_sets(&sets, &either_rule, "components, -L a|b", EITHER_RATIO);
    compare_sets(&sets, &layers_rule, "components, -L a", LAYERS_RATIO);
    compare_sets(&sets, &two_mode_rule, "components in two modes", TWO_MODE_RATIO);
    world_done(&sets);
}

static int usage(void)
{
    fprintf(stderr, "usage: sched_bench [NAME...] | --nodes=N [--running=N] [--pending=N] "
                    "[--shapes=N] [--leaf=N] [--licenses=N] [--reservations=N] [--small]\n"
                    "with at least 64 nodes; names:");
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        fprintf(stderr, " %s", worlds[i].name);
    fprintf(stderr, " %s", sets_rule.name);
    fprintf(stderr, "\n");
    return 2;
}

static bool read_options(int argc, char **argv, struct world_rule *own)
{
    enum { NODES, RUNNING, PENDING, SHAPES, LEAF, LICENSES, RESERVATIONS, SMALL };
    static const struct option options[] = {{"nodes", 1, 0, NODES},
                                            {"running", 1, 0, RUNNING},
                                            {"pending", 1, 0, PENDING},
                                            {"shapes", 1, 0, SHAPES},
                                            {"leaf", 1, 0, LEAF},
                                            {"licenses", 1, 0, LICENSES},
                                            {"reservations", 1, 0, RESERVATIONS},
                                            {"small", 0, 0, SMALL},
                                            {0}};
    unsigned *to[] = {&own->nodes, &own->running,  &own->pending,     &own->shapes,
                      &own->leaf,  &own->licenses, &own->reservations};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == '?')
            return false;
        if (c == SMALL)
            own->small = true;
        else
            *to[c] = (unsigned)strtoul(optarg, NULL, 10);
    }
    return true;
}

static bool is_asked(const char *name, int argc, char **argv)
{
    bool asked = optind == argc;
    for (int k = optind; k < argc; k++)
        asked = asked || str_eq(argv[k], name);
    return asked;
}

int main(int argc, char **argv)
{
    struct world_rule own = {.name = "own"};
    size_t known = 0;
    if (!read_options(argc, argv, &own) || (own.nodes && (own.nodes < 64 || optind < argc)))
        return usage();
    if (own.nodes)
        measure(&own, true);
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds && !own.nodes; i++)
        if (is_asked(worlds[i].name, argc, argv)) {
            known++;
            measure(&worlds[i], i == 0);
        }
    if (!own.nodes && is_asked(sets_rule.name, argc, argv)) {
        known++;
        measure_sets();
    }
    if (!own.nodes && !known)
        return usage();
    if (missed)
        printf("an aim is MISSED\n");
    return missed;
}
