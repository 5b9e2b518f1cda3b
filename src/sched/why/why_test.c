/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random clusters and queues: every change proposed for a waiting job is made with the proposed
 * command, and the planner then starts the job when promised and announces the predicted start.
 */
#include "sched/why/why.h"

#include "base/test_drawn.h"
#include "base/timefmt.h"
#include "sched/plan/prio.h"
#include "sched/sched_test_util.h"
#include "sched/why/why_state.h"

enum { JOBS = 24, NOW = 100000 };

static const char conf[] =
    CONS "GresTypes=gpu\nLicenses=lic:3\n"
         "NodeName=n[1-4] CPUs=4 RealMemory=400 Gres=gpu:2 Feature=a\n"
         "NodeName=m[1-2] CPUs=4 RealMemory=400 Feature=b\n"
         "NodeName=big CPUs=8 RealMemory=1600 Weight=3\n"
         "PartitionName=p Nodes=ALL\nPartitionName=q Nodes=n[3-4],big PriorityTier=2\n"
         "PartitionName=r Nodes=n[1-2],m1 MaxTime=5\n";
static const char factors[] =
    "PriorityType=priority/multifactor\nPriorityWeightJobSize=40\nPriorityWeightPartition=4\n"
    "PriorityWeightTRES=cpu=9,mem=5\n";

struct life {
    struct cluster *c;
    struct plan_notes notes;
    uint64_t seed, chance;
    size_t asked, begun, moved;
    bool backfill, ranked;
    struct prio_rule rule;
    VEC(struct job *) jobs;
};

static void wrong(const struct life *l, uint32_t id, const char *command, const char *what)
{
    fail_msg("seed %llu, job %u, %s: %s", (unsigned long long)l->seed, id, command, what);
}

static const char *const specs[] = {"",
                                    "n=3",
                                    "N=2",
                                    "N=4",
                                    "N=1-3 n=6",
                                    "c=4",
                                    "N=2 n=7",
                                    "exclusive",
                                    "mem=350",
                                    "gres=gpu:2",
                                    "mem-per-cpu=90 n=4",
                                    "c=2 n=3",
                                    "N=5",
                                    "N=3 contiguous",
                                    "C=b n=2",
                                    "exclusive N=2",
                                    "w=n1",
                                    "x=n[1-3],big n=4",
                                    "gres=gpu:1 N=3",
                                    "w=m1 n=4",
                                    "N=7 n=9"};

static void rank(struct life *l, struct job *j)
{
    struct prio_factors f;
    if (!l->ranked || j->rank.given)
        return;
    prio_find(&l->rule, j, NOW, &f);
    j->priority = f.priority;
}

static void add_job(struct life *l, uint32_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    for (;;) { /* until the partition can hold it */
        const char *words = specs[test_between(&l->chance, 0, COUNT(specs) - 1)];
        Pb__JobSpec spec = test_spec(&arena, words);
        struct job *j = test_job(l->c, id, words);
        j->part = l->c->parts.data[test_between(&l->chance, 0, 2)];
        j->uid = 7;
        j->priority = test_between(&l->chance, 1, 4);
        j->limit_sec = test_between(&l->chance, 1, 40) * 60;
        if (j->part->conf.max_time_sec < j->limit_sec)
            j->limit_sec = j->part->conf.max_time_sec;
        if (test_between(&l->chance, 0, 6) == 0)
            spec.licenses = (char *)"lic:2";
        spec.has_site_factor = l->ranked;
        spec.site_factor = (int32_t)test_between(&l->chance, 0, 9);
        job_read_spec(l->c, j, &spec, NULL);
        spec.has_time_limit_sec = true;
        spec.time_limit_sec = j->limit_sec;
        job_repack(&j->spec, &spec.base);
        rank(l, j);
        if (select_possible(l->c, j, NULL) == 0) {
            order_insert(&j->part->queue, &j->queued, -(int64_t)j->priority, id);
            vec_push(&l->jobs, j);
            return;
        }
        cluster_remove_job(l->c, j);
    }
}

static void run_decision(struct life *l, const struct decision *d)
{
    struct job *j = test_follow(l->c, d);
    order_remove(&j->part->queue, &j->queued);
    vec_foreach (&d->where.shares, share) {
        struct alloc_want want = share_want(&d->where, share);
        assert_int_equal(alloc_place(l->c, j, &want, NULL), 0);
    }
    assert_int_equal(job_set_state(l->c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    order_insert(&l->c->ends, &attempt_make(j)->ends, NOW + j->limit_sec, j->id);
}

/* Drops announced starts, which other jobs may have changed. */
static void forget_starts(struct life *l)
{
    vec_foreach (&l->notes.list, note)
        note->has_start = false;
}

/* Runs a pass; returns the decision about 'id'. 'starts': starts are carried out; 'change': the
 * change may start other jobs. */
static struct decision pass(struct life *l, uint32_t id, bool starts, bool change)
{
    struct plan p;
    struct decision d, found = {0};
    plan_begin(&p, l->c, &l->notes, NOW, l->backfill);
    while (plan_next(&p, &d)) {
        if (d.job->id == id)
            found = d;
        if (d.kind == PLAN_START && starts) {
            run_decision(l, &d);
        } else if (d.kind == PLAN_START && d.job->id == id) {
            plan_decision_done(&d);
            free(d.detail);
            break;
        } else if (d.kind == PLAN_START && change) {
            plan_suppose(&p, &d);
        } else if (d.kind == PLAN_START) {
            wrong(l, d.job->id, "nothing was changed", "it starts");
        }
        if (d.kind == PLAN_WAIT)
            test_follow(l->c, &d);
        else
            cluster_find_job(l->c, d.job->id)->expected_at = 0;
        plan_decision_done(&d);
        free(d.detail);
        if (d.job->id == id)
            found.detail = NULL;
    }
    plan_end(&p);
    return found;
}

static struct why *ask(struct life *l, const struct job *j)
{
    struct why_question q = {
        .job_id = j->id, .notes = &l->notes, .backfill = l->backfill, .key = j->queued.key};
    q.rank = l->ranked ? &l->rule : NULL;
    q.rank_at_sec = NOW;
    vec_foreach (&l->c->parts, part)
        if (*part != j->part)
            vec_push(&q.may, *part);
    struct why *w = why_new(l->c, &q);
    while (why_step(w, NOW))
        ;
    return w;
}

struct made { /* a job before a change */
    Pb__JobSpec spec;
    struct part *part;
    int64_t limit_sec;
    uint32_t priority;
};

static void put_key(struct life *l, struct job *j, Pb__JobSpec *s, char *key, char *value)
{
    uint32_t number = (uint32_t)strtoul(value, NULL, 10);
    if (str_eq(key, "TimeLimit")) {
        assert_int_equal(time_parse_limit(value, &j->limit_sec, NULL), 0);
    } else if (str_eq(key, "Partition")) {
        j->part = cluster_find_part(l->c, value);
    } else if (str_eq(key, "Priority")) {
        j->priority = number;
        j->rank.given = true;
    } else if (str_eq(key, "NumNodes")) {
        s->has_min_nodes = s->has_max_nodes = true;
        s->min_nodes = s->max_nodes = number;
    } else if (str_eq(key, "NumTasks")) {
        s->num_tasks = number;
    } else if (str_eq(key, "CPUsPerTask")) {
        s->cpus_per_task = number;
    } else if (str_eq(key, "MinMemoryNode")) {
        s->mem_per_node_mib = number;
    } else if (str_eq(key, "MinMemoryCPU")) {
        s->mem_per_cpu_mib = number;
    } else if (str_eq(key, "Contiguous")) {
        s->contiguous = false;
    } else if (str_eq(key, "OverSubscribe")) {
        s->exclusive = false;
        s->has_oversubscribe = s->oversubscribe = true;
    } else if (str_eq(key, "Gres")) {
        s->gres = value;
    } else if (str_eq(key, "Features")) {
        s->features = NULL;
    } else if (str_eq(key, "Licenses")) {
        s->licenses = NULL;
    } else if (str_eq(key, "ReqNodeList")) {
        s->req_nodes = NULL;
    } else if (str_eq(key, "ExcNodeList")) {
        s->exc_nodes = NULL;
    } else {
        wrong(l, j->id, key, "what is this?");
    }
}

/* Carries out the command by independent code. */
static void obey(struct life *l, struct job *j, Pb__JobSpec *s, char *command)
{
    char *save = NULL;
    assert_true(str_starts(command, "scontrol update JobId="));
    strtok_r(command, " ", &save);
    strtok_r(NULL, " ", &save);
    assert_int_equal(strtoul(strtok_r(NULL, " ", &save) + strlen("JobId="), NULL, 10), j->id);
    for (char *word = strtok_r(NULL, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(word, '=');
        assert_non_null(equals);
        *equals = 0;
        put_key(l, j, s, word, equals + 1);
    }
}

static void place(struct life *l, struct job *j, const Pb__JobSpec *s)
{
    assert_int_equal(job_read_spec(l->c, j, s, NULL), 0);
    rank(l, j);
    order_insert(&j->part->queue, &j->queued, -(int64_t)j->priority, j->id);
}

/* The planner has predicted its start. */
static bool is_head(const struct decision *d)
{
    return d->job && d->start_at && d->reason == REASON_RESOURCES;
}

static void keep_word(struct life *l, struct job *j, const Pb__WhyChange *change)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec *old = job_unpack_spec(j, &arena), changed = *old;
    struct made before = {*old, j->part, j->limit_sec, j->priority};
    order_remove(&j->part->queue, &j->queued);
    obey(l, j, &changed, arena_strdup(&arena, change->command));
    place(l, j, &changed);
    forget_starts(l);
    struct decision d = pass(l, j->id, false, true);
    forget_starts(l);
    if (change->now && d.kind != PLAN_START)
        wrong(l, j->id, change->command, "it does not start it");
    if (!change->now && d.job && d.kind == PLAN_START)
        wrong(l, j->id, change->command, "it starts it, and a later start is told");
    if (!change->now && is_head(&d) && d.start_at != change->start_at)
        wrong(l, j->id, change->command, "another start is told than the planner tells");
    if (change->now)
        l->begun++;
    else
        l->moved++;
    order_remove(&j->part->queue, &j->queued);
    j->part = before.part;
    j->limit_sec = before.limit_sec;
    j->priority = before.priority;
    j->rank.given = false;
    place(l, j, &before.spec);
}

static void live(struct life *l)
{
    l->chance = l->seed;
    _cleanup_free_ char *text = mem_printf("%s%s", l->ranked ? factors : "", conf);
    l->c = test_cluster(text);
    test_up(l->c);
    if (l->ranked)
        prio_rule_init(&l->rule, l->c);
    for (uint32_t id = 1; id <= JOBS; id++)
        add_job(l, id);
    for (size_t ran = SIZE_MAX; ran != l->c->running;) {
        ran = l->c->running;
        pass(l, 0, true, false);
    }
    test_sound(l->c);
    vec_foreach (&l->jobs, at) {
        struct job *j = *at;
        if (j->state != PB__JOB_STATE__PENDING)
            continue;
        struct why *w = ask(l, j);
        const Pb__WhyReply *m = why_answer(w);
        struct decision d = pass(l, j->id, false, false);
        assert_non_null(m);
        assert_false(m->starts_now);
        if (is_head(&d) && m->has_start_at)
            assert_int_equal(d.start_at, m->start_at);
        for (size_t i = 0; i < m->n_changes; i++)
            keep_word(l, j, m->changes[i]);
        why_free(w);
        l->asked++;
    }
    vec_done(&l->jobs);
    if (l->ranked)
        prio_rule_done(&l->rule);
    plan_notes_done(&l->notes);
    test_cluster_free(l->c);
}

static void promises(void **state, bool backfill, bool ranked)
{
    size_t asked = 0, begun = 0, moved = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(300); seed++) {
        struct life l = {.seed = seed, .backfill = backfill, .ranked = ranked};
        live(&l);
        asked += l.asked;
        begun += l.begun;
        moved += l.moved;
    }
    assert_true(asked > TEST_DRAWN(300) * 3);
    assert_true(begun > TEST_DRAWN(300));
    assert_true(moved > TEST_DRAWN(100));
}

static void promised_changes_hold_with_backfill(void **state)
{
    promises(state, true, false);
}

static void promised_changes_hold_without_backfill(void **state)
{
    promises(state, false, false);
}

/* A reduced request may put the job behind others, and in another partition before them. */
static void promised_changes_hold_with_priorities(void **state)
{
    promises(state, true, true);
}

/* A job that has ended or been purged, or that starts. */
static void ended_or_purged_job_is_not_explained(void **state)
{
    struct cluster *c = test_cluster(conf);
    (void)state;
    test_up(c);
    struct why *w = why_new(c, &(struct why_question){.job_id = 5, .backfill = true});
    assert_false(why_step(w, NOW));
    assert_null(why_answer(w));
    why_free(w);
    struct job *j = test_job(c, 5, "");
    order_insert(&j->part->queue, &j->queued, -1, 5);
    w = why_new(c, &(struct why_question){.job_id = 5, .backfill = true});
    while (why_step(w, NOW))
        ;
    assert_true(why_answer(w)->starts_now);
    assert_string_equal(why_answer(w)->rule, "now");
    why_free(w);
    w = why_new(c, &(struct why_question){.job_id = 5, .backfill = true});
    assert_true(why_step(w, NOW));
    order_remove(&j->part->queue, &j->queued);
    test_run_job(c, j, "n1:1", NOW + 5);
    assert_false(why_step(w, NOW));
    assert_null(why_answer(w));
    why_free(w);
    why_free(NULL);
    test_cluster_free(c);
}

/* The job is removed from its queues during the walk, and is back in its place afterwards. */
static void explaining_keeps_the_queues_of_each_partition(void **state)
{
    struct cluster *c = test_cluster(conf);
    (void)state;
    test_up(c);
    struct job *j = test_job(c, 5, "p=p,q");
    for (uint32_t i = 0; i < 2; i++) {
        job_partitions_select(j, i);
        job_partitions_queue(j);
    }
    job_partitions_select_first(j);
    struct why *w = why_new(c, &(struct why_question){.job_id = 5, .backfill = true});
    while (why_step(w, NOW))
        for (uint32_t i = 0; i < 2; i++) {
            struct order_link *l = order_first(&j->partitions->of[i].part->queue);
            assert_ptr_equal(job_partitions_request_of(l), &j->partitions->of[i]);
            assert_ptr_equal(job_partitions_job_of(l), j);
        }
    assert_true(why_answer(w)->starts_now);
    why_free(w);
    assert_true(job_partitions_keys_hold(j));
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ended_or_purged_job_is_not_explained),
        cmocka_unit_test(explaining_keeps_the_queues_of_each_partition),
        cmocka_unit_test(promised_changes_hold_with_backfill),
        cmocka_unit_test(promised_changes_hold_without_backfill),
        cmocka_unit_test(promised_changes_hold_with_priorities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
