/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --test-only: in random queues the job is submitted right after the query, and the planner's
 * decision agrees with the reply. The reply always arrives, whatever happens meanwhile, and the job
 * is invisible to others.
 */
#include <string.h>

#include "base/hostlist.h"
#include "base/test_drawn.h"
#include "base/timefmt.h"
#include "cluster/cluster_test_util.h"
#include "control/fixture.h"
#include "control/internal.h"
#include "control/life/depend.h"

enum { SEEDS = TEST_DRAWN(300), QUEUE = 14, TURNS = 4000 };

#define SMALL                                                                                      \
    "NodeName=n[1-2] CPUs=2 RealMemory=1000\nPartitionName=p Nodes=ALL Default=YES\n"              \
    "PartitionName=q Nodes=n2\n"

static uint64_t ask_set(struct fixture *f, const struct caller *who, const Pb__JobSpec *spec,
                        Pb__JobSpec *second)
{
    Pb__SubmitRequest r = PB__SUBMIT_REQUEST__INIT;
    r.spec = (Pb__JobSpec *)spec;
    r.components = &second;
    r.n_components = second ? 1 : 0;
    r.has_test_only = r.test_only = true;
    control_submit(f->control, ++f->last_call, who, &r);
    return f->last_call;
}

static uint64_t ask_test_only(struct fixture *f, const struct caller *who, const Pb__JobSpec *spec)
{
    return ask_set(f, who, spec, NULL);
}

static const Pb__SubmitReply *get_reply(struct fixture *f, struct arena *arena, uint64_t call)
{
    for (int i = 0; i < TURNS && fixture_code(f, call) < 0; i++)
        fixture_turn(f);
    vec_foreach (&f->replies, r)
        if (r->call == call && !r->code)
            return arena_unpack(arena, &pb__submit_reply__descriptor, r->data.data, r->data.len);
    return NULL;
}

static const Pb__SubmitReply *get_estimate(struct fixture *f, struct arena *arena,
                                           const Pb__JobSpec *spec)
{
    return get_reply(f, arena, ask_test_only(f, &FIXTURE_USER, spec));
}

static int get_refusal_code(struct fixture *f, const Pb__JobSpec *spec)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint64_t call = ask_test_only(f, &FIXTURE_USER, spec);
    assert_null(get_reply(f, &arena, call));
    return fixture_code(f, call);
}

/* --- random queues -------------------------------------------------------------------------------
 */

static const char world[] =
    "SlurmdTimeout=65000\nGresTypes=gpu\nLicenses=lic:3\n"
    "NodeName=n[1-4] CPUs=4 RealMemory=400 Gres=gpu:2 Feature=a\n"
    "NodeName=m[1-2] CPUs=4 RealMemory=400 Feature=b\nNodeName=big CPUs=8 RealMemory=1600 "
    "Weight=3\n"
    "PartitionName=p Nodes=ALL Default=YES\nPartitionName=q Nodes=n[3-4],big PriorityTier=2\n"
    "PartitionName=r Nodes=n[1-2],m1\n";
static const char *const rules[] = {
    "", "SchedulerType=sched/builtin\n", "SchedulerParameters=bf_job_part_count_reserve=5\n",
    ("PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\nPriorityWeightPartition=40\n"
     "SchedulerParameters=bf_job_part_count_reserve=100\n")};

struct kind { /* of a world */
    bool several, licensed, arrays;
};

static struct kind draw_kind(uint64_t seed)
{
    return (struct kind){seed % 3 == 0, seed % 7 == 0, seed % 5 == 0};
}

static void draw_spec(uint64_t *chance, struct kind k, struct arena *arena, Pb__JobSpec *spec)
{
    static const char *const words[] = {
        "",          "n=3",     "N=2",        "N=4",     "N=1-3 n=6", "c=4",           "N=2 n=7",
        "exclusive", "mem=350", "gres=gpu:2", "c=2 n=3", "N=3",       "exclusive N=2", "w=n1"};
    static const char *const parts[] = {"p", "q", "r", "p,q", "q,r", "r,p,q"};
    *spec = test_spec(arena, words[test_between(chance, 0, COUNT(words) - 1)]);
    spec->partition = (char *)parts[test_between(chance, 0, k.several ? COUNT(parts) - 1 : 2)];
    spec->has_time_limit_sec = true;
    spec->time_limit_sec = test_between(chance, 1, 40) * 60;
    if (k.licensed && test_between(chance, 0, 2) == 0)
        spec->licenses = (char *)"lic:2";
}

static struct fixture *make_world(uint64_t seed, uint64_t *chance)
{
    static const char *const nodes[] = {"n1", "n2", "n3", "n4", "m1", "m2", "big"};
    struct str lines = STR_INIT;
    str_printf(&lines, "%s%s", rules[seed % COUNT(rules)], world);
    struct fixture *f = fixture_new(str_cstr(&lines));
    str_done(&lines);
    for (size_t i = 0; i < COUNT(nodes); i++)
        fixture_register(f, nodes[i], "i");
    for (uint32_t i = test_between(chance, 0, QUEUE); i > 0; i--) {
        _cleanup_arena_ struct arena arena;
        Pb__JobSpec spec;
        arena_init(&arena, 0);
        draw_spec(chance, draw_kind(seed), &arena, &spec);
        if (draw_kind(seed).arrays && test_between(chance, 0, 3) == 0)
            spec.array_inx = (char *)(test_between(chance, 0, 1) ? "0-3" : "0-5%2");
        fixture_submit(f, &FIXTURE_USER, &spec); /* some are impossible */
    }
    return f;
}

struct count {
    size_t now, later, places, kept; /* kept: started in that second */
    size_t others; /* jobs of several partitions or with licences whose start differs */
};

static bool starts_as_predicted(const struct fixture *f, const Pb__SubmitReply *told,
                                const struct job *j)
{
    _cleanup_str_ struct str nodes = STR_INIT;
    job_format_nodes(f->control->cluster, j, &nodes);
    return told->start_at == f->wall_ms / 1000 && str_eq(told->nodes, str_cstr(&nodes)) &&
           told->num_cpus == job_alloc_cpus(j) && str_eq(told->partition, j->part->conf.name);
}

/* A planned start equals the reply; without a planned start there is no start. In several queues
 * the job displaces planned starts of others, and the time of licences depends on earlier plans. */
static bool is_as_told(const struct fixture *f, const Pb__SubmitReply *told, const struct job *j,
                       struct count *n)
{
    int64_t now = f->wall_ms / 1000;
    if (j->state != PB__JOB_STATE__PENDING) {
        n->now++;
        return starts_as_predicted(f, told, j);
    }
    n->later++;
    if (!told->has_start_at || !told->nodes[0] ||
        (!told->start_not_before && told->start_at <= now))
        return false;
    if (!j->expected_at || job_partitions_count(j) > 1)
        return true;
    n->places++;
    return told->start_at == j->expected_at;
}

static void compare_start(struct fixture *f, uint64_t seed, const Pb__SubmitReply *told,
                          uint32_t id, struct count *n)
{
    bool exact = !draw_kind(seed).several && !draw_kind(seed).licensed;
    const struct job *j = cluster_find_job(f->control->cluster, id);
    int64_t now = f->wall_ms / 1000;
    bool as_told = is_as_told(f, told, j, n);
    n->others += !as_told && !exact;
    if (!as_told && exact)
        fail_msg("seed %llu: told %lld on %s in %s; it is %s, planned %lld",
                 (unsigned long long)seed, (long long)(told->start_at - now), told->nodes,
                 told->partition, j->state == PB__JOB_STATE__PENDING ? "waiting" : "started",
                 (long long)(j->expected_at - now));
}

/* Runs the jobs to their limits. */
static void run_on(struct fixture *f, uint32_t id)
{
    const struct cluster *c = f->control->cluster;
    for (int i = 0; i < 60 * 100 && fixture_state(f, id) == PB__JOB_STATE__PENDING; i++) {
        fixture_pass(f, 10000);
        for (size_t k = 0; k < c->jobs.len; k++) {
            const struct job *j = c->jobs.data[k];
            if (!attempt_of(j)->completing)
                continue;
            _cleanup_str_ struct str nodes = STR_INIT;
            struct hostlist *list;
            char name[HOSTLIST_NAME_MAX + 1];
            uint32_t over = j->id;
            job_format_nodes(c, j, &nodes);
            assert_int_equal(hostlist_parse(str_cstr(&nodes), &list, NULL), 0);
            for (size_t h = 0; h < hostlist_count(list); h++)
                fixture_gone(f, hostlist_nth(list, h, name), over, 0);
            hostlist_free(list);
        }
    }
}

static void job_starts_when_test_only_predicted(void **state)
{
    struct count n = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t chance = seed;
        struct fixture *f = make_world(seed, &chance);
        _cleanup_arena_ struct arena arena;
        Pb__JobSpec spec;
        arena_init(&arena, 0);
        draw_spec(&chance, draw_kind(seed), &arena, &spec);
        uint64_t call = ask_test_only(f, &FIXTURE_USER, &spec);
        const Pb__SubmitReply *told = get_reply(f, &arena, call);
        int64_t id = fixture_submit(f, &FIXTURE_USER, &spec);
        if (id < 0) {
            assert_null(told);
            assert_int_equal(fixture_code(f, call), -id);
        } else if (!told && cluster_find_job(f->control->cluster, (uint32_t)id)->is_unfit) {
            assert_true(fixture_code(f, call) == ERR_NODE_COUNT ||
                        fixture_code(f, call) == ERR_TOO_MANY_CPUS); /* accepted, and waits */
        } else {
            if (!told)
                fail_msg("seed %llu: refused: %s", (unsigned long long)seed, fixture_text(f, call));
            assert_int_equal(told->job_id, id);
            compare_start(f, seed, told, (uint32_t)id, &n);
            run_on(f, (uint32_t)id);
            const struct job *j = cluster_find_job(f->control->cluster, (uint32_t)id);
            assert_int_not_equal(j->state, PB__JOB_STATE__PENDING);
            n.kept += attempt_of(j)->start_at == told->start_at;
        }
        fixture_free(f);
    }
    assert_true(n.now > SEEDS / 10 && n.later > SEEDS / 4 && n.places > SEEDS / 10);
    assert_true(n.others <= SEEDS / 50);
    assert_true((n.kept - n.now) * 10 > n.later * 7); /* jobs behind others may change the rest */
}

/* --- one at a time -------------------------------------------------------------------------------
 */

static Pb__JobSpec make_whole_node_spec(uint32_t nodes, int64_t limit_sec)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.has_min_nodes = spec.has_exclusive = spec.exclusive = spec.has_time_limit_sec = true;
    spec.min_nodes = nodes;
    spec.time_limit_sec = limit_sec;
    return spec;
}

/* Both nodes have a job for ten minutes, and other jobs wait for both nodes, each for ten more. */
static struct fixture *make_crowded_fixture(int waiting)
{
    struct fixture *f = fixture_new(SMALL);
    Pb__JobSpec spec = make_whole_node_spec(2, 600);
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "a");
    for (int i = 0; i <= waiting; i++)
        assert_int_equal(fixture_submit(f, &FIXTURE_USER, &spec), i + 1);
    return f;
}

static struct fixture *make_full_fixture(void)
{
    return make_crowded_fixture(1);
}

static size_t count_listed_jobs(struct fixture *f)
{
    _cleanup_arena_ struct arena arena;
    struct str out = STR_INIT;
    Pb__JobFilter all = PB__JOB_FILTER__INIT;
    uint64_t cursor = 0;
    arena_init(&arena, 0);
    while (control_list_jobs(f->control, &FIXTURE_ROOT, &all, &cursor, 1 << 20, &out))
        ;
    const Pb__JobList *list = arena_unpack(&arena, &pb__job_list__descriptor, out.data, out.len);
    size_t n = list->n_jobs;
    str_done(&out);
    return n;
}

static void prediction_follows_the_queue(void **state)
{
    struct fixture *f = make_full_fixture();
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(1, 600);
    int64_t now = f->wall_ms / 1000;
    (void)state;
    arena_init(&arena, 0);
    const Pb__SubmitReply *told = get_estimate(f, &arena, &spec);
    assert_int_equal(told->start_at, now + 1200);
    assert_false(told->start_not_before);
    assert_null(told->start_note);
    assert_string_equal(told->nodes, "n1");
    assert_int_equal(told->num_cpus, 2);
    assert_string_equal(told->partition, "p");
    assert_int_equal(told->job_id, 3);
    spec.array_inx = (char *)"0-9";
    assert_int_equal(get_estimate(f, &arena, &spec)->start_at, now + 1200);
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, NULL), 3);
    fixture_free(f);
}

static void prediction_uses_the_earliest_partition(void **state)
{
    struct fixture *f = fixture_new(SMALL "PartitionName=down Nodes=ALL State=DOWN\n");
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(1, 600);
    (void)state;
    arena_init(&arena, 0);
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "a");
    spec.req_nodes = (char *)"n1";
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &spec), 1);
    spec.req_nodes = NULL;
    spec.partition = (char *)"down,q";
    const Pb__SubmitReply *told = get_estimate(f, &arena, &spec);
    assert_string_equal(told->partition, "q");
    assert_int_equal(told->start_at, f->wall_ms / 1000);
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &spec), 2);
    spec.partition = (char *)"q,p";
    told = get_estimate(f, &arena, &spec);
    assert_int_equal(told->start_at, f->wall_ms / 1000 + 600);
    assert_string_equal(told->partition, "p"); /* the first of the two to be examined */
    spec.partition = (char *)"down";
    told = get_estimate(f, &arena, &spec);
    assert_false(told->has_start_at);
    assert_non_null(strstr(told->start_note, "down"));
    fixture_free(f);
}

/* Of very many partitions the first ones are examined. */
static void number_of_examined_partitions_is_bounded(void **state)
{
    struct str lines = STR_INIT, names = STR_INIT;
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(1, 600);
    (void)state;
    arena_init(&arena, 0);
    str_puts(&lines, SMALL);
    for (int i = 0; i < 40; i++) {
        str_printf(&lines, "PartitionName=part%d Nodes=%s\n", i, i < 39 ? "n1" : "n2");
        str_printf(&names, "%spart%d", i ? "," : "", i);
    }
    struct fixture *f = fixture_new(str_cstr(&lines));
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "a");
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &spec), 1);
    spec.partition = (char *)str_cstr(&names);
    const Pb__SubmitReply *told = get_estimate(f, &arena, &spec);
    assert_int_equal(told->start_at, f->wall_ms / 1000 + 600);
    assert_string_equal(told->partition, "part0");
    assert_non_null(strstr(told->start_note, "or sooner"));
    fixture_free(f);
    str_done(&lines);
    str_done(&names);
}

/* A job that waits for something else than its turn gets no predicted start. */
static void held_job_has_no_prediction(void **state)
{
    struct fixture *f = make_full_fixture();
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(1, 600);
    (void)state;
    arena_init(&arena, 0);
    spec.has_hold = spec.hold = true;
    const Pb__SubmitReply *told = get_estimate(f, &arena, &spec);
    assert_false(told->has_start_at);
    assert_non_null(strstr(told->start_note, "held"));
    assert_int_equal(told->job_id, 3);
    spec.hold = false;
    spec.dependency = (char *)"afterok:1";
    told = get_estimate(f, &arena, &spec);
    assert_false(told->has_start_at);
    assert_non_null(strstr(told->start_note, "afterok:1"));
    spec.dependency = NULL;
    control_announce(f->control, 3600);
    told = get_estimate(f, &arena, &spec);
    assert_false(told->has_start_at);
    assert_non_null(strstr(told->start_note, "shutdown"));
    fixture_free(f);
}

static void prediction_respects_the_begin_time(void **state)
{
    struct fixture *f = make_full_fixture();
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(1, 600);
    int64_t now = f->wall_ms / 1000;
    (void)state;
    arena_init(&arena, 0);
    spec.has_begin_at_sec = true;
    static const int64_t begins[][2] = {{300, 1200}, {1100, 1200}, {5000, 5000}};
    for (size_t i = 0; i < COUNT(begins); i++) {
        spec.begin_at_sec = now + begins[i][0];
        assert_int_equal(get_estimate(f, &arena, &spec)->start_at, now + begins[i][1]);
    }
    spec.begin_at_sec = now + INT64_C(10) * 365 * 86400;
    const Pb__SubmitReply *far = get_estimate(f, &arena, &spec);
    assert_int_equal(far->start_at, spec.begin_at_sec);
    assert_null(far->start_note); /* the start is exact */
    spec.has_begin_at_sec = false;
    spec.has_deadline_at_sec = true;
    spec.deadline_at_sec = now + 1500;
    const Pb__SubmitReply *told = get_estimate(f, &arena, &spec);
    assert_int_equal(told->start_at, now + 1200);
    assert_non_null(strstr(told->start_note, "deadline"));
    fixture_free(f);
}

static void prediction_needs_registered_nodes(void **state)
{
    struct fixture *f = fixture_new(SMALL);
    Pb__JobSpec spec = make_whole_node_spec(1, 600);
    (void)state;
    assert_int_equal(get_refusal_code(f, &spec), ERR_NODES_DOWN); /* none has ever registered */
    assert_non_null(strstr(fixture_text(f, f->last_call), ": n[1-2]"));
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "a");
    assert_int_equal(fixture_update_node(f, "n2", "DRAIN", "test"), 0);
    spec.req_nodes = (char *)"n2";
    assert_int_equal(get_refusal_code(f, &spec), ERR_NODES_DOWN);
    assert_non_null(strstr(fixture_text(f, f->last_call), ": n2"));
    spec.req_nodes = NULL;
    spec.min_nodes = 2;
    assert_int_equal(get_refusal_code(f, &spec), ERR_NODES_DOWN);
    spec.min_nodes = 1;
    spec.partition = (char *)"q";
    assert_int_equal(get_refusal_code(f, &spec), ERR_NODES_DOWN);
    spec.partition = (char *)"q,p";
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_string_equal(get_estimate(f, &arena, &spec)->nodes, "n1");
    fixture_free(f);
}

static void submit_array(struct fixture *f, const char *indexes)
{
    Pb__JobSpec spec = make_whole_node_spec(2, 600);
    spec.array_inx = (char *)indexes;
    assert_true(fixture_submit(f, &FIXTURE_USER, &spec) > 0);
}

/* Each element of an array takes its turn. Behind very many jobs a lower bound is reported and
 * labelled. */
static void prediction_behind_many_jobs_is_a_lower_bound(void **state)
{
    struct fixture *f = make_crowded_fixture(81);
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(2, 600);
    int64_t now = f->wall_ms / 1000;
    (void)state;
    arena_init(&arena, 0);
    const Pb__SubmitReply *told = get_estimate(f, &arena, &spec);
    assert_int_equal(told->start_at, now + 600 * 82);
    assert_false(told->start_not_before);
    submit_array(f, "0-19");
    told = get_estimate(f, &arena, &spec);
    assert_int_equal(told->start_at, now + 600 * 102);
    assert_false(told->start_not_before);
    submit_array(f, "0-1000");
    told = get_estimate(f, &arena, &spec);
    assert_true(told->start_not_before && told->start_at > now + 600 * 900);
    assert_true(told->start_at < now + 600 * 1103);
    assert_non_null(strstr(told->start_note, "not before"));
    fixture_free(f);
}

static void prediction_respects_the_array_throttle(void **state)
{
    struct fixture *f = make_full_fixture();
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(2, 600);
    (void)state;
    arena_init(&arena, 0);
    submit_array(f, "0-9%1");
    const Pb__SubmitReply *told = get_estimate(f, &arena, &spec);
    assert_int_equal(told->start_at, f->wall_ms / 1000 + 600 * 3);
    assert_true(told->start_not_before);
    fixture_free(f);
}

/* With builtin no job overtakes the first, and the planner examines no more than configured. */
static void prediction_respects_the_limits_of_the_planner(void **state)
{
    static const char *const how[] = {"SchedulerType=sched/builtin\n" SMALL,
                                      "SchedulerParameters=default_queue_depth=1\n" SMALL};
    (void)state;
    for (size_t i = 0; i < COUNT(how); i++) {
        struct fixture *f = fixture_new(how[i]);
        _cleanup_arena_ struct arena arena;
        Pb__JobSpec one = make_whole_node_spec(1, 600), both = make_whole_node_spec(2, 600),
                    tiny = PB__JOB_SPEC__INIT;
        int64_t now = f->wall_ms / 1000;
        arena_init(&arena, 0);
        fixture_register(f, "n1", "a");
        fixture_register(f, "n2", "a");
        fixture_submit(f, &FIXTURE_USER, &one);
        fixture_submit(f, &FIXTURE_USER, &both);
        fixture_submit(f, &FIXTURE_USER, &both);
        tiny.has_time_limit_sec = true;
        tiny.time_limit_sec = 60; /* it would fit before the first waiting job */
        const Pb__SubmitReply *told = get_estimate(f, &arena, &tiny);
        assert_int_equal(told->start_at, i == 0 ? now + 1800 : now + 600);
        assert_int_equal(told->start_not_before, i == 1);
        int64_t id = fixture_submit(f, &FIXTURE_USER, &tiny);
        assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__PENDING);
        fixture_free(f);
    }
}

static void prediction_includes_preemption(void **state)
{
    struct fixture *f =
        fixture_new("PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n" SMALL
                    "PartitionName=high Nodes=ALL PriorityTier=9\n");
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(2, 600);
    (void)state;
    arena_init(&arena, 0);
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "a");
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &spec), 1);
    spec.partition = (char *)"high";
    spec.min_nodes = 1;
    const Pb__SubmitReply *told = get_estimate(f, &arena, &spec);
    assert_int_equal(told->start_at, f->wall_ms / 1000);
    assert_string_equal(told->nodes, "n1");
    assert_non_null(strstr(told->start_note, "made room"));
    assert_int_equal(fixture_state(f, 1), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* --- the queue of queries -----------------------------------------------------------------------
 */

static void test_only_leaves_no_trace(void **state)
{
    struct fixture *f = make_full_fixture();
    Pb__JobSpec spec = make_whole_node_spec(1, 600);
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    size_t puts = f->puts;
    (void)state;
    ask_test_only(f, &FIXTURE_USER, &spec);
    assert_int_equal(count_listed_jobs(f), 2);
    control_stats(f->control, &stats);
    assert_true(stats.jobs == 2 && stats.pending == 1);
    assert_int_equal(control_next_job_id(f->control), 3);
    fixture_turn(f);
    assert_int_equal(count_listed_jobs(f), 2);
    assert_int_equal(f->puts, puts);
    fixture_restart(f);
    fixture_pass(f, 1000);
    assert_int_equal(count_listed_jobs(f), 2);
    fixture_free(f);
}

/* Each user has two queries in the queue, and another job takes the announced id. */
static void several_test_only_calls_are_answered(void **state)
{
    struct fixture *f = make_full_fixture();
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(1, 600);
    int64_t now = f->wall_ms / 1000;
    (void)state;
    arena_init(&arena, 0);
    uint64_t first = ask_test_only(f, &FIXTURE_USER, &spec),
             second = ask_test_only(f, &FIXTURE_USER, &spec);
    uint64_t third = ask_test_only(f, &FIXTURE_USER, &spec),
             other = ask_test_only(f, &FIXTURE_OTHER, &spec);
    assert_int_equal(fixture_code(f, third), ERR_BACKOFF);
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &spec), 3);
    const Pb__SubmitReply *told = get_reply(f, &arena, first);
    assert_int_equal(told->job_id, 3);
    assert_string_equal(told->nodes, "n2"); /* beside the job that was submitted before the reply */
    assert_int_equal(told->start_at, now + 1200);
    assert_non_null(get_reply(f, &arena, second));
    assert_non_null(get_reply(f, &arena, other));
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &spec), 4);
    fixture_free(f);
}

static void disconnected_caller_ends_its_test_only_call(void **state)
{
    struct fixture *f = make_crowded_fixture(60); /* takes several turns */
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(1, 600);
    (void)state;
    arena_init(&arena, 0);
    uint64_t first = ask_test_only(f, &FIXTURE_USER, &spec),
             second = ask_test_only(f, &FIXTURE_USER, &spec),
             other = ask_test_only(f, &FIXTURE_OTHER, &spec);
    control_call_gone(f->control, second);
    control_turn(f->control);
    control_call_gone(f->control, first);
    assert_non_null(get_reply(f, &arena, other));
    assert_int_equal(fixture_code(f, first), -1);
    assert_int_equal(fixture_code(f, second), -1);
    ask_test_only(f, &FIXTURE_USER, &spec); /* ends with the controller */
    control_turn(f->control);
    fixture_free(f);
}

/* At each point of its progress. */
static void test_only_call_survives_a_reconfiguration(void **state)
{
    static const char *const lines[] = {
        SMALL, "NodeName=n[1-2] CPUs=2 RealMemory=1000\nPartitionName=p Nodes=ALL Default=YES\n",
        "NodeName=n1 CPUs=2 RealMemory=1000\nPartitionName=p Nodes=ALL Default=YES\n",
        "NodeName=n[1-2] CPUs=2 RealMemory=1000\nPartitionName=other Nodes=ALL Default=YES\n"};
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++)
        for (int turns = 0; turns < 5; turns++) {
            struct fixture *f = make_crowded_fixture(60);
            _cleanup_arena_ struct arena arena;
            Pb__JobSpec spec = make_whole_node_spec(1, 600);
            arena_init(&arena, 0);
            spec.partition = (char *)"q,p";
            uint64_t call = ask_test_only(f, &FIXTURE_USER, &spec);
            for (int k = 0; k < turns && fixture_code(f, call) < 0; k++)
                fixture_turn(f);
            bool before = fixture_code(f, call) == 0;
            fixture_reconfigure(f, lines[i]);
            const Pb__SubmitReply *told = get_reply(f, &arena, call);
            if (i == 3 && !before)
                assert_int_equal(fixture_code(f, call), ERR_NO_PARTITION);
            else
                assert_string_equal(told->partition, before || i == 0 ? "q" : "p");
            fixture_free(f);
        }
}

static void prediction_respects_the_reservation(void **state)
{
    struct fixture *f = make_full_fixture();
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec spec = make_whole_node_spec(1, 600);
    Pb__ResvRecord set = PB__RESV_RECORD__INIT;
    Pb__ResvUpdate make = PB__RESV_UPDATE__INIT;
    int64_t now = f->wall_ms / 1000;
    (void)state;
    arena_init(&arena, 0);
    set.name = (char *)"r";
    set.users = (char *)"ann";
    set.nodes = (char *)"n2";
    set.has_start_at = set.has_duration_sec = true;
    set.start_at = now + 6000;
    set.duration_sec = 3600;
    make.set = &set;
    make.has_create = make.create = true;
    control_resv_update(f->control, ++f->last_call, &FIXTURE_ROOT, &make);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    spec.reservation = (char *)"r";
    const Pb__SubmitReply *told = get_estimate(f, &arena, &spec);
    assert_int_equal(told->start_at, now + 6000);
    assert_string_equal(told->nodes, "n2");
    uint64_t call = ask_test_only(f, &FIXTURE_USER, &spec);
    Pb__ResvDelete gone = PB__RESV_DELETE__INIT;
    gone.name = set.name;
    control_resv_delete(f->control, ++f->last_call, &FIXTURE_ROOT, &gone);
    assert_null(get_reply(f, &arena, call));
    assert_int_equal(fixture_code(f, call), ERR_RESV_INVALID);
    fixture_free(f);
}

/* HET-P50: a heterogeneous job is checked like a submission, and all of its components have one
 * start. */
static void each_component_of_a_set_is_checked(void **state)
{
    struct fixture *f = fixture_new(SMALL);
    _cleanup_arena_ struct arena arena;
    Pb__JobSpec first = make_whole_node_spec(1, 600), second = make_whole_node_spec(1, 600);
    (void)state;
    arena_init(&arena, 0);
    fixture_register(f, "n1", "a");
    fixture_register(f, "n2", "a");
    second.partition = (char *)"q";
    const Pb__SubmitReply *told = get_reply(f, &arena, ask_set(f, &FIXTURE_USER, &first, &second));
    assert_non_null(told);
    assert_int_equal(told->job_id, 1);
    assert_int_equal(told->start_at, f->wall_ms / 1000);
    assert_string_equal(told->nodes, "n[1-2]");
    assert_int_equal(told->num_cpus, 4);
    assert_null(told->start_note);
    int64_t blocker = fixture_submit(f, &FIXTURE_USER, &second); /* on n2, for 10 minutes */
    told = get_reply(f, &arena, ask_set(f, &FIXTURE_USER, &first, &second));
    assert_int_equal(told->start_at, f->wall_ms / 1000 + 600);
    assert_false(told->start_not_before);
    int64_t waits = fixture_submit(f, &FIXTURE_USER, &second);
    told = get_reply(f, &arena, ask_set(f, &FIXTURE_USER, &first, &second));
    assert_int_equal(told->start_at, f->wall_ms / 1000 + 600);
    assert_true(told->start_not_before);
    assert_non_null(strstr(told->start_note, "not before that"));
    first.has_hold = first.hold = true;
    told = get_reply(f, &arena, ask_set(f, &FIXTURE_USER, &first, &second));
    assert_false(told->has_start_at);
    assert_non_null(told->start_note);
    first.has_hold = first.hold = false;
    fixture_cancel(f, &FIXTURE_USER, waits, NULL, 0);
    fixture_cancel(f, &FIXTURE_USER, blocker, NULL, 0);
    second.partition = (char *)"none";
    uint64_t call = ask_set(f, &FIXTURE_USER, &first, &second);
    assert_null(get_reply(f, &arena, call));
    assert_int_equal(fixture_code(f, call), ERR_NO_PARTITION);
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &first), 3); /* the queries left no trace */
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_starts_when_test_only_predicted),
        cmocka_unit_test(prediction_follows_the_queue),
        cmocka_unit_test(prediction_uses_the_earliest_partition),
        cmocka_unit_test(number_of_examined_partitions_is_bounded),
        cmocka_unit_test(held_job_has_no_prediction),
        cmocka_unit_test(prediction_respects_the_begin_time),
        cmocka_unit_test(prediction_needs_registered_nodes),
        cmocka_unit_test(prediction_behind_many_jobs_is_a_lower_bound),
        cmocka_unit_test(prediction_respects_the_array_throttle),
        cmocka_unit_test(prediction_respects_the_limits_of_the_planner),
        cmocka_unit_test(prediction_includes_preemption),
        cmocka_unit_test(test_only_leaves_no_trace),
        cmocka_unit_test(several_test_only_calls_are_answered),
        cmocka_unit_test(disconnected_caller_ends_its_test_only_call),
        cmocka_unit_test(test_only_call_survives_a_reconfiguration),
        cmocka_unit_test(prediction_respects_the_reservation),
        cmocka_unit_test(each_component_of_a_set_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
