/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Failures that a pass records for jobs with layers, or with licences that reservations hold back,
 * change no decision: on random clusters with queues of similar jobs, some of them in two
 * partitions, a pass decides like a pass that records no failures.
 */
#include "sched/plan/failed.h"

#include "base/test_drawn.h"
#include "sched/layers_test_util.h"

enum { WORLDS = TEST_DRAWN(1500), RUNNING = 4, WAITING = 30, SHAPES = 5, NOW = 1000 };

static const char conf[] =
    CONS "SchedulerParameters=bf_job_part_count_reserve=3\nLicenses=x:2\n"
         "NodeName=n[1-6] CPUs=4\nPartitionName=p Nodes=ALL\nPartitionName=q Nodes=n[1-4] "
         "PriorityTier=2\n";

struct shape {
    const char *words, *licenses;
};

struct known { /* failures recorded by passes, counted after each decision */
    size_t by_licenses, closed;
};

static struct job *add_job(struct cluster *c, uint32_t id, const struct shape *shape,
                           const char *parts, int64_t limit_sec)
{
    _cleanup_free_ char *words = mem_printf("%s p=%s", shape->words, parts);
    struct job *j = test_job(c, id, words);
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        j->limit_sec = limit_sec;
    }
    job_partitions_select_first(j);
    assert_int_equal(license_read(c, shape->licenses, &j->want.licenses, NULL), 0);
    return j;
}

static struct shape draw_shape(uint64_t *chance)
{
    static const char *const words[] = {"", "n=3", "N=2", "N=3", "N=1-3 n=6", "N=2 exclusive"};
    static const char *const licenses[] = {
        "one:1",       "one:2",        "flat:1",       "flat:2", "power:1",       "power:2",
        "x:1,power:1", "one:1,flat:1", "one:1|flat:1", "x:1",    "power:1,flat:1"};
    return (struct shape){words[test_between(chance, 0, COUNT(words) - 1)],
                          licenses[test_between(chance, 0, COUNT(licenses) - 1)]};
}

static void start_job(struct cluster *c, const struct decision *d)
{
    struct job *j = test_follow(c, d);
    job_partitions_end(j);
    test_run_selection(c, j, &d->where, NOW + job_limit_sec(j));
}

/* Reserves licences, which jobs that run into the reservation's time cannot get. */
static void draw_reservation(struct cluster *c, uint64_t *chance)
{
    static const char *const licenses[] = {"x:1", "x:2", "flat:1", "one:1"};
    struct resv *r = resv_new("r");
    r->flags = RESV_ANY_NODES;
    r->start_at = NOW + test_between(chance, 0, 4) * 100;
    r->end_at = r->start_at + test_between(chance, 1, 4) * 100;
    r->licenses = mem_strdup(licenses[test_between(chance, 0, COUNT(licenses) - 1)]);
    r->node_names = mem_strdup("");
    resv_resolve(c, r);
    resv_add(c, r);
}

/* The order of the jobs may differ between the queues of two partitions. */
static void queue_job(struct job *j, uint64_t *chance)
{
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        j->priority = j->id <= RUNNING ? 100 : test_between(chance, 1, 3);
        job_partitions_queue(j);
    }
    job_partitions_select_first(j);
}

static struct cluster *draw_world(uint64_t *chance)
{
    struct cluster *c = test_cluster(conf);
    static const char *const parts[] = {"p", "q", "p,q"};
    struct shape shapes[SHAPES];
    uint32_t id = 0;
    test_draw_layers(c, chance, "one", CONF_HRES_ONE_LAYER);
    test_draw_layers(c, chance, "flat", CONF_HRES_EACH_LAYER);
    test_draw_layers(c, chance, "power", CONF_HRES_PER_NODE);
    test_up(c);
    if (test_between(chance, 0, 1))
        draw_reservation(c, chance);
    for (size_t i = 0; i < SHAPES; i++)
        shapes[i] = draw_shape(chance);
    while (id < RUNNING + WAITING) {
        struct job *j = add_job(c, ++id, &shapes[test_between(chance, 0, SHAPES - 1)],
                                parts[test_between(chance, 0, COUNT(parts) - 1)],
                                test_between(chance, 1, 6) * 100);
        if (select_possible(c, j, NULL) == 0)
            queue_job(j, chance);
    }
    return c;
}

static void describe_decision(const struct cluster *c, const struct decision *d, struct str *out)
{
    _cleanup_free_ char *where = test_selection(c, &d->where);
    str_printf(out, "%u: %d %d %u %lld %s\n", d->job->id, d->kind, d->reason, d->license,
               (long long)d->start_at, d->kind == PLAN_START ? where : "");
}

/* Writes the decisions of two passes; the second one continues with the result of the first. */
static void run_passes(uint64_t seed, bool remembers, struct str *out, struct known *known)
{
    uint64_t chance = seed;
    struct cluster *c = draw_world(&chance);
    struct plan_notes notes = {0};
    for (int n = 0; n < 2; n++) {
        struct plan p;
        struct decision d;
        plan_begin(&p, c, &notes, NOW, seed % 4);
        while (plan_next(&p, &d)) {
            describe_decision(c, &d, out);
            if (d.kind == PLAN_START)
                start_job(c, &d);
            else if (d.kind == PLAN_WAIT)
                test_follow(c, &d);
            plan_decision_done(&d);
            free(d.detail);
            known->by_licenses += p.failures.by_licenses.list.len;
            known->closed += p.failures.closed.list.len;
            if (!remembers)
                failed_forget_licenses(&p);
        }
        plan_end(&p);
    }
    assert_int_equal(resource_license.check(c, NULL), 0);
    plan_notes_done(&notes);
    test_cluster_free(c);
}

static void memory_of_failures_for_licenses_changes_no_decision(void **state)
{
    struct known known = {0}, none = {0};
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        _cleanup_str_ struct str with = STR_INIT, without = STR_INIT;
        run_passes(seed, true, &with, &known);
        run_passes(seed, false, &without, &none);
        if (!str_eq(str_cstr(&with), str_cstr(&without)))
            fail_msg("seed %llu: with memory\n%swithout\n%s", (unsigned long long)seed,
                     str_cstr(&with), str_cstr(&without));
    }
    assert_true(known.by_licenses > 2 * WORLDS);
    assert_true(known.closed > 2 * WORLDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_failures_for_licenses_changes_no_decision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
