/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job's record: packed, stored, and restored by another controller. */
#include "cluster/cluster_test_util.h"

#define NODES CONS "NodeName=n[1-6] CPUs=4 RealMemory=1000\n"
#define FEWER CONS "NodeName=n[1-4] CPUs=4 RealMemory=1000\n"
#define PARTS "PartitionName=p Nodes=ALL Default=YES\nPartitionName=q Nodes=ALL\n"

enum { STATES = PB__JOB_STATE__OUT_OF_MEMORY + 1 };

/* Returns a job that stores its spec, as control does. */
static struct job *make_job_with_spec(struct cluster *c, uint32_t id, const char *words)
{
    struct job *j = test_job(c, id, words);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec spec = test_spec(&arena, words);
    spec.name = (char *)"a name";
    spec.has_uid = spec.has_gid = true;
    spec.uid = j->uid = 1000 + id;
    spec.gid = j->gid = 100;
    job_repack(&j->spec, &spec.base);
    return j;
}

static const Pb__JobRecord *record_of(const struct cluster *c, struct job *j, struct arena *arena)
{
    struct str packed = STR_INIT;
    job_pack_live(c, j);
    job_pack_record(j, &packed);
    const Pb__JobRecord *r =
        arena_unpack(arena, &pb__job_record__descriptor, packed.data, packed.len);
    assert_non_null(r);
    str_done(&packed);
    return r;
}

static struct job *restore_job(struct cluster *to, const Pb__JobRecord *r)
{
    struct err err = {0};
    struct job *j = cluster_add_job(to, r->live->job_id);
    assert_non_null(j);
    if (job_restore(to, j, r, &err) != 0)
        fail_msg("job %u: %s", j->id, err.text);
    assert_int_equal(err.code, 0);
    assert_int_equal(j->dirty, j->lost_node);
    return j;
}

/* --- damaged and outdated records --- */

static void unknown_state_is_refused(void **state)
{
    static const int bad[] = {STATES, 31, 32, 77, INT32_MAX};
    struct cluster *c = test_cluster(NODES PARTS);
    struct job *j = make_job_with_spec(c, 1, "");
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    const Pb__JobRecord *r = record_of(c, j, &arena);
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct err err = {0};
        struct job *k = cluster_add_job(c, 2);
        r->live->state = (Pb__JobState)bad[i];
        assert_int_equal(job_restore(c, k, r, &err), -ERR_STORE_DAMAGED);
        assert_non_null(strstr(err.text, "job 2"));
        cluster_remove_job(c, k);
        assert_int_equal(c->pending, 1);
        assert_int_equal(c->running, 0);
    }
    test_cluster_free(c);
}

/* Inconsistent records of one job: each is rejected with a reason. */
static void contradictory_records_are_refused(void **state)
{
    struct cluster *c = test_cluster(NODES PARTS);
    struct job *j = make_job_with_spec(c, 1, "N=2");
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    assert_int_equal(alloc_take(c, j, 0, 1, 10, NULL), 0);
    assert_int_equal(alloc_take(c, j, 1, 1, 10, NULL), 0);
    const Pb__JobRecord *good = record_of(c, j, &arena);
    struct err err = {0};
    assert_int_equal(job_record_check(good, 1, &err), 0);
    assert_int_equal(job_record_check(good, 2, &err), -ERR_STORE_DAMAGED);
    for (int i = 0; i < 10; i++) {
        static const char *const says[] = {"not whole",
                                           "not whole",
                                           "whose it is",
                                           "unknown state",
                                           "pending and has nodes",
                                           "runs and has no nodes",
                                           "completing and has not ended",
                                           "a node twice",
                                           "configuring and does not run",
                                           "given its cores away"};
        Pb__JobLive live = *good->live;
        Pb__JobSpec spec = *good->spec;
        Pb__JobRecord r = *good;
        Pb__NodeAlloc *twice[] = {live.alloc[1], live.alloc[1]};
        r.live = i == 0 ? NULL : &live;
        r.spec = i == 1 ? NULL : &spec;
        spec.has_uid = i != 2;
        if (i == 3 || i == 4)
            live.state = i == 3 ? (Pb__JobState)77 : PB__JOB_STATE__PENDING;
        live.n_alloc = i == 5 ? 0 : 2;
        live.has_completing = live.completing = i == 6;
        live.alloc = i == 7 ? twice : live.alloc;
        live.has_configuring = live.configuring = i == 8;
        if (i == 8)
            live.state = PB__JOB_STATE__FAILED;
        live.alloc[0]->has_parked = live.alloc[0]->parked = i == 9;
        assert_int_equal(job_record_check(&r, 1, &err), -ERR_STORE_DAMAGED);
        if (!strstr(err.text, says[i]) || !strstr(err.text, "job 1"))
            fail_msg("case %d: %s", i, err.text);
    }
    test_cluster_free(c);
}

/* Earlier versions accepted a total of GPUs that contradicts whole nodes. */
static void contradictory_gpus_are_kept(void **state)
{
    struct cluster *c = test_cluster(CONS "GresTypes=gpu\nNodeName=n[1-2] CPUs=4 Gres=gpu:4\n"
                                          "PartitionName=p Nodes=ALL\n");
    _cleanup_arena_ struct arena arena;
    Pb__JobRecord r = PB__JOB_RECORD__INIT;
    Pb__JobLive live = PB__JOB_LIVE__INIT;

    (void)state;
    arena_init(&arena, 0);
    Pb__JobSpec spec = test_spec(&arena, "per-job=gpu:3 gres=gpu:2");
    assert_null(test_try_job(c, 3, "per-job=gpu:3 gres=gpu:2"));
    spec.has_uid = spec.has_gid = true;
    r.spec = &spec;
    r.live = &live;
    live.job_id = 3;
    live.state = PB__JOB_STATE__PENDING;
    const struct job *j = restore_job(c, &r);
    assert_int_equal(gres_wanted(&j->want.gres, "gpu", GRES_PER_NODE), 2);
    assert_int_equal(gres_wanted(&j->want.gres, "gpu", GRES_PER_JOB), 0);
    test_cluster_free(c);
}

/* A record with the required fields only. */
static void record_with_required_fields_only_is_restored(void **state)
{
    struct cluster *c = test_cluster(NODES PARTS);
    Pb__JobRecord r = PB__JOB_RECORD__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobLive live = PB__JOB_LIVE__INIT;

    (void)state;
    r.spec = &spec;
    r.live = &live;
    live.job_id = 3;
    live.state = PB__JOB_STATE__RUNNING;
    const struct job *j = restore_job(c, &r);
    assert_null(j->part);
    assert_null(j->reason);
    assert_true(j->limit_sec == INT64_MAX);
    assert_int_equal(j->want.min_nodes, 1);
    assert_int_equal(j->want.cpus_per_task, 1);
    assert_int_equal(j->uid | j->gid | j->priority | j->restarts | attempt_of(j)->next_step, 0);
    assert_int_equal(c->running, 1);
    assert_int_equal(c->pending, 0);
    test_sound(c);
    test_cluster_free(c);
}

/* The nodes that a job names are no longer configured. Everything else is unchanged. */
static void job_on_removed_nodes_is_restored(void **state)
{
    static const struct {
        const char *words;
        uint32_t req, exc;
        bool gone;
    } cases[] = {
        {"N=2 n=3 c=2 batch x=n5", 0, 0, false},
        {"N=2 n=3 c=2 batch x=n[3-6]", 0, 2, false},
        {"N=2 n=3 c=2 batch w=n5", 0, 0, true},
        {"N=2 n=3 c=2 batch w=n4,n5", 1, 0, true},
        {"N=2 n=3 c=2 batch w=n[1-2] x=n6", 2, 0, false},
        {"N=2 n=3 c=2 batch w=n5 x=n1,n6", 0, 1, true},
    };
    struct cluster *from = test_cluster(NODES PARTS), *to = test_cluster(FEWER PARTS);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        struct job *a = make_job_with_spec(from, 5, cases[i].words);
        struct job *b = restore_job(to, record_of(from, a, &arena));
        const struct request *r = &b->want;
        assert_int_equal(r->min_nodes, 2);
        assert_int_equal(r->max_nodes, 2);
        assert_int_equal(r->tasks, 3);
        assert_int_equal(r->cpus_per_task, 2);
        assert_true(b->batch && b->may_requeue);
        assert_int_equal(b->uid, 1005);
        assert_int_equal(r->req ? bitset_count(r->req) : 0, cases[i].req);
        assert_int_equal(r->exc ? bitset_count(r->exc) : 0, cases[i].exc);
        if (r->req_gone != cases[i].gone)
            fail_msg("'%s'", cases[i].words);
        /* The record keeps the request: the nodes may return. */
        assert_int_equal(a->spec.len, b->spec.len);
        assert_memory_equal(a->spec.data, b->spec.data, a->spec.len);
        cluster_remove_job(from, a);
        a = restore_job(from, record_of(to, b, &arena));
        assert_false(a->want.req_gone);
        cluster_remove_job(from, a);
        cluster_remove_job(to, b);
    }
    test_cluster_free(from);
    test_cluster_free(to);
}

static void job_of_a_removed_partition_is_restored(void **state)
{
    struct cluster *from = test_cluster(NODES PARTS);
    struct cluster *to = test_cluster(NODES "PartitionName=p Nodes=ALL\n");
    struct job *j = make_job_with_spec(from, 1, "N=2");
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    j->part = from->parts.data[1];
    struct job *k = restore_job(to, record_of(from, j, &arena));
    assert_null(k->part);
    /* Kept in case the partition returns. */
    assert_string_equal(record_of(to, k, &arena)->live->partition, "q");
    test_cluster_free(from);
    test_cluster_free(to);
}

/* A running job loses a removed node and its steps there. */
static void running_job_loses_a_removed_node(void **state)
{
    struct cluster *from = test_cluster(NODES PARTS), *to = test_cluster(FEWER PARTS);
    struct job *j = make_job_with_spec(from, 1, "N=2 w=n3,n6");
    Pb__StepRecord step = PB__STEP_RECORD__INIT;
    Pb__StepNode where[2] = {PB__STEP_NODE__INIT, PB__STEP_NODE__INIT}, *layout[2];
    uint32_t tasks[] = {0, 1, 2};
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    job_set_state(from, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    assert_int_equal(alloc_take(from, j, 2, 3, 100, NULL), 0);
    assert_int_equal(alloc_take(from, j, 5, 2, 100, NULL), 0);
    for (int i = 0; i < 2; i++) {
        where[i].node = (char *)(i ? "n3" : "n6");
        where[i].addr = (char *)"addr";
        where[i].cpus = i ? 2 : 1;
        where[i].task_ids = tasks;
        where[i].n_task_ids = i ? 3 : 2;
        layout[i] = &where[i];
    }
    step.job_id = 1;
    step.step_id = 4;
    step.layout = layout;
    step.n_layout = 2;
    step.has_request_id = true;
    step.request_id = (ProtobufCBinaryData){16, (uint8_t *)"0123456789abcdef"};
    vec_push(&attempt_make(j)->steps, ((struct step){.id = 4, .ending = true, .exit_status = 9}));
    vec_push(&attempt_make(j)->steps.data[0].nodes, ((struct step_node){.tasks = 2}));
    vec_push(&attempt_make(j)->steps.data[0].nodes,
             ((struct step_node){.at = 1, .place = 1, .tasks = 3, .ended = true}));
    pb_pack(&step.base, &attempt_of(j)->steps.data[0].record);
    const struct job *k = restore_job(to, record_of(from, j, &arena));
    assert_int_equal(attempt_of(k)->alloc.len, 1);
    assert_int_equal(attempt_of(k)->alloc.data[0].node, 2);
    assert_int_equal(attempt_of(k)->alloc.data[0].units, 3);
    assert_int_equal(attempt_of(k)->alloc.data[0].step_cpus, 2);
    assert_int_equal(attempt_of(k)->steps.len, 1);
    const struct step *s = &attempt_of(k)->steps.data[0];
    assert_int_equal(s->id, 4);
    assert_int_equal(s->nodes.len, 1);
    assert_int_equal(s->nodes.data[0].at, 0);
    assert_int_equal(s->nodes.data[0].tasks, 3);
    assert_int_equal(s->nodes.data[0].place, 1);
    assert_true(s->nodes.data[0].ended);
    assert_true(s->ending);
    assert_int_equal(s->exit_status, 9);
    assert_memory_equal(s->request_id, "0123456789abcdef", 16);
    assert_int_equal(s->record.len, attempt_of(j)->steps.data[0].record.len);
    test_sound(to);
    test_cluster_free(from);
    test_cluster_free(to);
}

/* --- there and back --- */

static int64_t draw_time(uint64_t *seed)
{
    return test_between(seed, 0, 3) ? 1700000000 + (int64_t)test_between(seed, 0, 1000000) : 0;
}

static void draw_flags(bool *const flags[], size_t count, uint64_t *seed)
{
    for (size_t i = 0; i < count; i++)
        *flags[i] = test_between(seed, 0, 3) == 0;
}

/* A pending job has no attempt. */
static void draw_attempt(struct job *j, uint64_t *seed)
{
    if (j->state == PB__JOB_STATE__PENDING)
        return;
    struct attempt *t = attempt_make(j);
    bool *const flags[] = {&t->launched,         &t->backfilled, &t->requeue_after, &t->warned,
                           &t->interactive_step, &t->had_shell,  &t->script_ending};
    draw_flags(flags, COUNT(flags), seed);
    t->next_step = test_between(seed, 0, 9);
    t->cancelled_by = test_between(seed, 0, 1) * 4000000000u;
    t->exit_status = (int)test_between(seed, 0, 65535);
    t->derived_status = (int)test_between(seed, 0, 65535);
    t->start_at = draw_time(seed);
    if (job_is_final(j))
        t->end_at = draw_time(seed);
}

static void draw_facts(struct job *j, uint64_t *seed)
{
    static const enum reason reasons[] = {REASON_NONE, REASON_TIME_LIMIT, REASON_NONZERO_EXIT_CODE,
                                          REASON_JOB_HELD_USER};
    bool *const flags[] = {&j->held, &j->admin_hold};
    draw_flags(flags, COUNT(flags), seed);
    j->priority = j->held || j->admin_hold ? 0 : test_between(seed, 0, UINT32_MAX);
    j->restarts = test_between(seed, 0, 3);
    j->auto_requeues = test_between(seed, 0, 3);
    j->submit_at = draw_time(seed);
    j->eligible_at = draw_time(seed);
    j->sched_at = draw_time(seed);
    j->limit_sec = test_between(seed, 0, 2) ? (int64_t)test_between(seed, 1, 100000) : INT64_MAX;
    j->reason = reasons[test_between(seed, 0, COUNT(reasons) - 1)];
    j->reason_detail = test_between(seed, 0, 2) ? NULL : mem_strdup("because: it is so");
    draw_attempt(j, seed);
}

/* Nodes for a running job, or for an ended job that is completing. */
static void draw_alloc(struct cluster *c, struct job *j, uint64_t *seed)
{
    bool ended = job_is_final(j);

    if (j->state == PB__JOB_STATE__PENDING)
        return;
    for (uint32_t node = test_between(seed, 0, 2); node < 6; node += test_between(seed, 1, 3))
        if (alloc_take(c, j, node, test_between(seed, 1, 3), test_between(seed, 0, 300), NULL) == 0)
            vec_last(&attempt_of(j)->alloc).incarnation = node % 2 ? mem_strdup("boot") : NULL;
    if (ended && test_between(seed, 0, 1))
        alloc_begin_completing(c, j);
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!attempt_of(j)->completing ? ended : test_between(seed, 0, 2) == 0)
            alloc_release(c, j, a);
}

static void assert_same_job(const struct job *a, const struct job *b)
{
    assert_int_equal(a->state, b->state);
    assert_true(a->reason == b->reason && str_eq(a->reason_detail, b->reason_detail));
    assert_string_equal(a->part->conf.name, b->part->conf.name);
    assert_true(a->held == b->held && a->admin_hold == b->admin_hold);
    assert_true(attempt_of(a)->launched == attempt_of(b)->launched &&
                attempt_of(a)->backfilled == attempt_of(b)->backfilled);
    assert_true(attempt_of(a)->completing == attempt_of(b)->completing &&
                attempt_of(a)->requeue_after == attempt_of(b)->requeue_after);
    assert_true(attempt_of(a)->interactive_step == attempt_of(b)->interactive_step &&
                attempt_of(a)->warned == attempt_of(b)->warned &&
                attempt_of(a)->script_ending == attempt_of(b)->script_ending &&
                attempt_of(a)->had_shell == attempt_of(b)->had_shell);
    assert_int_equal(attempt_of(a)->cancelled_by, attempt_of(b)->cancelled_by);
    assert_int_equal(a->priority, b->priority);
    assert_int_equal(a->restarts, b->restarts);
    assert_int_equal(a->auto_requeues, b->auto_requeues);
    assert_int_equal(attempt_of(a)->next_step, attempt_of(b)->next_step);
    assert_true(a->submit_at == b->submit_at && a->eligible_at == b->eligible_at);
    assert_true(attempt_of(a)->start_at == attempt_of(b)->start_at &&
                attempt_of(a)->end_at == attempt_of(b)->end_at);
    assert_true(a->sched_at == b->sched_at && a->limit_sec == b->limit_sec);
    assert_int_equal(attempt_of(a)->exit_status, attempt_of(b)->exit_status);
    assert_int_equal(attempt_of(a)->derived_status, attempt_of(b)->derived_status);
    assert_true(a->uid == b->uid && a->gid == b->gid && a->nice == b->nice);
    assert_int_equal(job_alloc_cpus(a), job_alloc_cpus(b));
    assert_int_equal(job_nodes_left(a), job_nodes_left(b));
}

static void check_round_trip(uint64_t seed)
{
    static const char *const specs[] = {"", "N=2-3 n=4 batch", "exclusive nice=-3",
                                        "w=n2 x=n4 C=a"};
    struct cluster *from = test_cluster(NODES PARTS), *to = test_cluster(NODES PARTS);

    for (uint32_t id = 1; id <= STATES; id++) {
        struct job *a =
            make_job_with_spec(from, id, specs[test_between(&seed, 0, COUNT(specs) - 1)]);
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        a->part = from->parts.data[test_between(&seed, 0, 1)];
        job_load_state(from, a, (enum _Pb__JobState)(id - 1));
        draw_facts(a, &seed);
        draw_alloc(from, a, &seed);
        struct job *b = restore_job(to, record_of(from, a, &arena));
        assert_same_job(a, b);
        assert_int_equal(a->live.len, b->live.len);
        assert_memory_equal(a->live.data, b->live.data, a->live.len);
        assert_memory_equal(a->spec.data, b->spec.data, a->spec.len);
    }
    for (size_t i = 0; i < 6; i++) {
        const struct node *a = from->nodes.data[i], *b = to->nodes.data[i];
        assert_true(bitset_equal(a->busy, b->busy));
        assert_true(a->jobs == b->jobs && a->completing == b->completing);
        assert_true(a->exclusive == b->exclusive && a->used.mem_mib == b->used.mem_mib);
    }
    assert_int_equal(from->pending, to->pending);
    assert_int_equal(from->running, to->running);
    test_sound(to);
    test_cluster_free(from);
    test_cluster_free(to);
}

static void job_in_any_state_is_restored(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++)
        check_round_trip(seed);
}

/* --- what is shown --- */

static const Pb__JobLive *pack_live(const struct cluster *c, struct job *j, struct arena *arena)
{
    return record_of(c, j, arena)->live;
}

static void pending_job_shows_its_request(void **state)
{
    struct cluster *c = test_cluster(NODES PARTS);
    struct job *j = make_job_with_spec(c, 1, "N=2-4 n=3 c=2");
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    j->priority = 9;
    const Pb__JobLive *m = pack_live(c, j, &arena);
    assert_int_equal(m->num_nodes, 2);
    assert_int_equal(m->num_cpus, 6);
    assert_int_equal(m->num_tasks, 3);
    assert_int_equal(m->priority, 9);
    assert_false(m->has_start_at || m->has_end_at || m->nodes || m->n_alloc || m->has_mem_mib);
    j->expected_at = 500;
    j->held = true;
    m = pack_live(c, j, &arena);
    assert_int_equal(m->start_at, 500);
    assert_int_equal(m->priority, 0);
    assert_true(m->user_hold && !m->has_admin_hold);
    const Pb__JobRecord *r = record_of(c, j, &arena);
    cluster_remove_job(c, j);
    assert_true(attempt_of(restore_job(c, r))->start_at == 0); /* it was only expected */
    m = pack_live(c, make_job_with_spec(c, 2, "N=4 n=2"), &arena);
    assert_int_equal(m->num_cpus, 4); /* every node has at least one */
    assert_int_equal(m->num_nodes, 4);
    m = pack_live(c, make_job_with_spec(c, 4, "n=9"), &arena);
    assert_int_equal(m->num_nodes, 3); /* with 4 CPUs each */
    m = pack_live(c, make_job_with_spec(c, 5, "n=9 c=2"), &arena);
    assert_int_equal(m->num_nodes, 5);
    m = pack_live(c, make_job_with_spec(c, 6, "n=65536 c=65536"), &arena);
    assert_int_equal(m->num_cpus, UINT32_MAX);
    assert_int_equal(m->num_nodes, 1u << 30);
    m = pack_live(c, make_job_with_spec(c, 3, "N=2 n=8 c=2 overcommit"), &arena);
    assert_int_equal(m->num_cpus, 4); /* one task on each node */
    test_cluster_free(c);
}

/* A job requests the same CPUs before and after its start; GPUs say how many nodes it needs. */
static void gpus_of_a_job_are_shown(void **state)
{
    static const struct {
        const char *words;
        uint32_t nodes, cpus;
    } cases[] = {
        {"per-job=gpu:5", 3, 15},
        {"per-job=gpu:2", 1, 6},
        {"per-job=gpu:5 c=1", 3, 1},
        {"per-task=gpu:1 n=5", 3, 15},
        {"per-task=gpu:2 n=3", 3, 18},
        {"per-job=gpu:5 N=5", 5, 15},
        {"per-job=gpu:5 cpus-per-gpu=1", 3, 5},
        {"gres=gpu:1", 1, 1},
        {"per-job=gpu:big:7", 2, 21},
    };
    struct cluster *c =
        test_cluster(CONS "GresTypes=gpu\nDefCpuPerGPU=3\nNodeName=n[1-6] CPUs=16 Gres=gpu:2\n"
                          "NodeName=big[1-2] CPUs=64 Gres=gpu:big:4\n"
                          "PartitionName=p Nodes=n[1-6] Default=YES\nPartitionName=q Nodes=ALL\n");

    (void)state;
    for (uint32_t i = 0; i < COUNT(cases); i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        struct job *j = make_job_with_spec(c, i + 1, cases[i].words);
        if (strstr(cases[i].words, "big"))
            j->part = c->parts.data[1];
        const Pb__JobLive *m = pack_live(c, j, &arena);
        if (m->num_nodes != cases[i].nodes || m->num_cpus != cases[i].cpus || m->has_wanted_cpus)
            fail_msg("%s: %u nodes, %u CPUs", cases[i].words, m->num_nodes, m->num_cpus);
        job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
        assert_int_equal(alloc_take(c, j, 0, 2, 0, NULL), 0);
        m = pack_live(c, j, &arena);
        assert_int_equal(m->num_cpus, 2);
        assert_int_equal(m->wanted_cpus, cases[i].cpus);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

static void running_job_shows_its_allocation(void **state)
{
    struct cluster *c = test_cluster(NODES PARTS);
    struct job *j = make_job_with_spec(c, 1, "N=3");
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    for (uint32_t node = 2; node < 5; node++)
        assert_int_equal(alloc_take(c, j, node, node - 1, 10, NULL), 0);
    attempt_make(j)->start_at = 1000;
    j->limit_sec = 60;
    const Pb__JobLive *m = pack_live(c, j, &arena);
    assert_string_equal(m->nodes, "n[3-5]");
    assert_string_equal(m->batch_host, "n3");
    assert_int_equal(m->num_nodes, 3);
    assert_int_equal(m->num_cpus, 6);
    assert_int_equal(m->mem_mib, 30);
    assert_int_equal(m->start_at, 1000);
    assert_int_equal(m->end_at, 1060);
    assert_int_equal(m->n_alloc, 3);
    assert_int_equal(m->alloc[1]->cpus, 2);
    assert_int_equal(m->alloc[1]->cores.data[0], 3);
    j->limit_sec = INT64_MAX;
    assert_false(pack_live(c, j, &arena)->has_end_at);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contradictory_records_are_refused),
        cmocka_unit_test(unknown_state_is_refused),
        cmocka_unit_test(contradictory_gpus_are_kept),
        cmocka_unit_test(record_with_required_fields_only_is_restored),
        cmocka_unit_test(job_on_removed_nodes_is_restored),
        cmocka_unit_test(job_of_a_removed_partition_is_restored),
        cmocka_unit_test(running_job_loses_a_removed_node),
        cmocka_unit_test(job_in_any_state_is_restored),
        cmocka_unit_test(pending_job_shows_its_request),
        cmocka_unit_test(gpus_of_a_job_are_shown),
        cmocka_unit_test(running_job_shows_its_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
