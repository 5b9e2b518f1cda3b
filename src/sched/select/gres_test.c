/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generic resources in the selection of nodes, now and on the timeline. */
#include "sched/plan/shadow.h"
#include "sched/plan/timeline.h"
#include "sched/sched_test_util.h"
#include "sched/select/resv.h"
#include "sched/why/relax.h"

#define CONF CONS CONF_NODES
#define CONF_NODES                                                                                 \
    "GresTypes=gpu,nic,license\n"                                                                  \
    "NodeName=a[1-2] CPUs=8 RealMemory=8000 Gres=gpu:a100:4,nic:2\n"                               \
    "NodeName=b[1-2] CPUs=8 RealMemory=8000 Gres=gpu:v100:2\n"                                     \
    "NodeName=c[1-2] CPUs=16 RealMemory=8000\n"                                                    \
    "PartitionName=all Nodes=ALL Default=YES OverSubscribe=NO\n"                                   \
    "GresConf=1 NodeName=a[1-2] Name=gpu Type=a100 File=/dev/g[0-1] Cores=0-3\n"                   \
    "GresConf=1 NodeName=a[1-2] Name=gpu Type=a100 File=/dev/g[2-3] Cores=4-7\n"

/* Expects the job's allocation, or "busy", or the reason why it never fits; then removes the
 * job. */
static void given(struct cluster *c, const char *words, const char *expected)
{
    struct selection s = {0};
    struct err err = {0};
    struct job *j = test_try_job(c, 1000, words);
    if (!j) {
        assert_string_equal("refused", expected);
        return;
    }
    if (select_possible(c, j, &err) != 0) {
        assert_string_equal("never", expected);
    } else {
        struct bitset *set = select_candidates(c, j);
        int rc = select_nodes(c, j, set, NULL, &s);
        char *text = rc == 0 ? test_selection(c, &s) : mem_strdup("busy");
        if (strcmp(text, expected) != 0)
            fail_msg("%s: got %s, expected %s", words, text, expected);
        free(text);
        bitset_free(set);
    }
    select_done(&s);
    cluster_remove_job(c, j);
}

/* SelectTypeParameters=ENFORCE_BINDING_GRES: like the flag, unless the job says otherwise. */
static void binding_is_the_default(void **state)
{
    static const struct {
        const char *words, *expected;
    } cases[] = {
        {"gres=gpu:a100:1 c=5", "never"},
        {"gres=gpu:a100:1 c=4", "a1:4/0+gpu:a100=1"},
        {"gres=gpu:a100:1 c=5 gres-flags=disable-binding", "a1:5/0+gpu:a100=1"},
        {"c=5", "a1:5/0"},
    };
    struct cluster *c =
        test_cluster("SelectTypeParameters=CR_Core_Memory,ENFORCE_BINDING_GRES\n" CONF_NODES);

    (void)state;
    test_up(c);
    for (size_t i = 0; i < COUNT(cases); i++)
        given(c, cases[i].words, cases[i].expected);
    test_cluster_free(c);
}

/* The error names the option that prevents the job, as users write it. */
static void missing_gres_are_explained(void **state)
{
    static const char fits[] = "it would fit with ";
    static const struct {
        const char *words, *says;
    } v[] = {
        {"gres=gpu:1K", "--gres=gpu:4"},
        {"gres=gpu:4294967296", "--gres=gpu:4"},
        {"gres=gres:gpu:a100:9", "--gres=gpu:a100:4"},
        {"gres=gpu:v100:2,nic:2", "--gres=gpu:2,nic:2"},
        {"gres=nic:1,gpu:1M", "--gres=nic:1,gpu:4"},
        {"gres=gres:gpu:9 gpus-per-node=9", "--gpus-per-node=4"},
        {"gres=gpu,gres:gpu:9 gpus-per-node=9", "--gres=gpu:1 --gpus-per-node=3"},
        {"gres=gres:gpu:a100:9 gpus-per-node=a100:9", "--gpus-per-node=a100:4"},
        {"N=3 gres=gpu:3 ntasks-per-gpu=1", "--gres=gpu:2"},
        {"N=5 gres=gpu:1 ntasks-per-gpu=2", "4 nodes"},
        {"N=3-3 n=3 mincpus=9", "2 nodes and 2 tasks"},
        {"N=3 mincpus=16", "2 nodes"},
        {"N=1 sockets=16 gres=gpu:1", "any number of sockets"},
        {"N=1 sockets=16 cores=1 gres=gpu:1", "any number of sockets, cores of a socket"},
    };
    struct cluster *c = test_cluster(CONF);
    (void)state;
    test_up(c);
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_arena_ struct arena arena;
        struct err err = {0};
        arena_init(&arena, 0);
        const Pb__JobSpec spec = test_spec(&arena, v[i].words);
        struct job *j = test_job(c, 1, v[i].words);
        assert_int_equal(select_possible(c, j, &err), -ERR_NODE_CONFIG);
        relax_explain_misfit(c, j, &spec, &err);
        const char *said = strstr(err.text, fits);
        if (!said || strcmp(said + strlen(fits), v[i].says) != 0)
            fail_msg("'%s': %s", v[i].words, err.text);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

/* Starts the job if it fits now. */
static struct job *start(struct cluster *c, uint32_t id, const char *words, int64_t end_at)
{
    struct selection s = {0};
    struct err err = {0};
    struct job *j = test_job(c, id, words);
    struct bitset *set = select_candidates(c, j);
    assert_int_equal(select_nodes(c, j, set, NULL, &s), 0);
    vec_foreach (&s.shares, at) {
        const struct alloc_want want = share_want(&s, at);
        if (alloc_place(c, j, &want, &err) != 0)
            fail_msg("%s: %s", words, err.text);
    }
    assert_int_equal(job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    order_insert(&c->ends, &attempt_make(j)->ends, end_at, id);
    bitset_free(set);
    select_done(&s);
    test_sound(c);
    return j;
}

static void held(const struct cluster *c, const struct job *j, const char *expected)
{
    struct str out = STR_INIT;
    vec_foreach (&attempt_of(j)->alloc, a)
        gres_held_format(c, a->gres.data, a->gres.len, true, &out);
    assert_string_equal(str_cstr(&out), expected);
    str_done(&out);
}

static void devices_are_chosen_near_cpus(void **state)
{
    (void)state;
    static const struct {
        const char *words, *given;
    } cases[] = {
        {"gres=gpu:1", "a1:1/0+gpu:a100=1"},
        {"gres=gpu:v100:1", "b1:1/0+gpu:v100=1"},
        {"gres=gpu:v100:1,nic:1", "never"},
        {"gres=gpu:a100:3,nic", "a1:1/0+gpu:a100=3+nic=1"},
        {"gres=gpu:5", "never"},
        {"gres=gpu:2 N=4", "a1:1/0+gpu:a100=2 a2:1/0+gpu:a100=2 b1:1/0+gpu:v100=2 "
                           "b2:1/0+gpu:v100=2"},
        {"gres=gpu:3 N=3", "never"},
        {"gres=gpu:0", "a1:1/0"},
        {"gres=gpu:two", "never"},
        {"gres=fpga:1", "never"},
        {"gres=gpu:h100:1", "never"},
        {"gres=gpu:a100:1:1", "refused"},
        {"gres=:", "refused"},
        {"per-job=gpu:4", "a1:1/0+gpu:a100=4"},
        {"per-job=gpu:6", "a1:1/0+gpu:a100=4 a2:1/0+gpu:a100=2"},
        {"per-job=gpu:12", "a1:1/0+gpu:a100=4 a2:1/0+gpu:a100=4 b1:1/0+gpu:v100=2 "
                           "b2:1/0+gpu:v100=2"},
        {"per-job=gpu:13", "never"},
        {"per-job=gpu:9 N=2", "never"},
        {"per-job=gpu:1 N=2", "refused"}, /* each node has one */
        {"per-job=gpu:2 N=1-3", "a1:1/0+gpu:a100=1 a2:1/0+gpu:a100=1"},
        {"per-job=gpu:4 N=2", "a1:1/0+gpu:a100=3 a2:1/0+gpu:a100=1"},
        {"per-task=gpu:1 n=2", "b1:2/0+gpu:v100=2"},
        {"per-task=gpu:2 n=3 N=2", "a1:2/0+gpu:a100=4 a2:1/0+gpu:a100=2"},
        {"per-task=gpu:1 n=4 N=2 mincpus=3", "a1:3/0+gpu:a100=3 a2:3/0+gpu:a100=1"},
        {"per-task=gpu:1 n=4 N=2 mincpus=3 spread", "a1:3/0+gpu:a100=2 a2:3/0+gpu:a100=2"},
        {"per-task=gpu:2 n=7", "never"},
        {"per-task=gpu:1 per-job=gpu:3", "a1:3/0+gpu:a100=3"},
        {"gres=gpu:2 per-task=gpu:1 n=2", "a1:2/0+gpu:a100=2"},
        {"gres=gpu:2 per-task=gpu:1", "a1:2/0+gpu:a100=2"},
        {"gres=gpu:4 per-task=gpu:2", "a1:2/0+gpu:a100=4"},
        {"gres=gpu:4 per-task=gpu:2 N=2", "a1:2/0+gpu:a100=4 a2:2/0+gpu:a100=4"},
        {"gres=gpu:4 per-task=gpu:2 n=1", "a1:1/0+gpu:a100=4"},
        {"gres=gpu:4 per-task=gpu:2 n=3", "a1:2/0+gpu:a100=4 a2:1/0+gpu:a100=4"},
        {"gres=gpu:4 per-task=gpu:2 n=3 N=1-1", "refused"},
        {"gres=gpu:4 per-task=gpu:2 per-node=1", "refused"},
        {"gres=gpu:4 per-task=gpu:2 per-node=3", "refused"},
        {"gres=gpu:4 per-task=gpu:2 per-job=gpu:8", "a1:2/0+gpu:a100=4 a2:2/0+gpu:a100=4"},
        {"gres=gpu:2 per-task=gpu:1 cpus-per-gpu=4", "a1:8/0+gpu:a100=2"},
        {"gres=gpu:2 per-task=gpu:v100:1", "b1:2/0+gpu:v100=2"},
        {"gres=gpu:a100:2 per-task=gpu:v100:1", "never"}, /* different GPUs */
        {"gres=gpu:1 per-task=gpu:2", "refused"},
        {"gres=gpu:3 per-task=gpu:2", "refused"},
        {"gres=gpu:1 per-job=gpu:3", "a1:1/0+gpu:a100=1 a2:1/0+gpu:a100=1 b1:1/0+gpu:v100=1"},
        {"gres=gpu:2 cpus-per-gpu=3", "a1:6/0+gpu:a100=2"},
        {"gres=gpu:4 cpus-per-gpu=3", "never"},
        {"gres=gpu:1 gres-flags=enforce", "refused"},
        {"gres=gpu:1 gres-flags=one-task-per-sharing,disable-binding", "a1:1/0+gpu:a100=1"},
        {"gres=gpu:a100:1 c=5", "a1:5/0+gpu:a100=1"},
        {"gres=gpu:a100:1 c=5 gres-flags=enforce-binding", "never"},
        {"gres=gpu:a100:1 c=4 gres-flags=enforce-binding", "a1:4/0+gpu:a100=1"},
        {"gres=gpu:a100:3 c=5 gres-flags=enforce-binding", "a1:5/0+gpu:a100=3"},
        {"gres=gpu:a100:3 c=1 gres-flags=enforce-binding", "never"},
        {"gres=gpu:a100:3 c=1 gres-flags=enforce-binding,disable-binding", "a1:1/0+gpu:a100=3"},
        {"gres=gpu:1 c=5 gres-flags=Enforce-Binding", "b1:5/0+gpu:v100=1"}, /* near every CPU */
        {"gres=gpu:a100:1 n=5 gres-flags=enforce-binding", "a1:4/0+gpu:a100=1 a2:1/0+gpu:a100=1"},
        {"gres=gpu:a100:1 n=5 N=1-1 gres-flags=enforce-binding", "never"},
        {"gres=gpu:a100:1 exclusive gres-flags=enforce-binding", "a1:8/0+gpu:a100=4+nic=2"},
        {"per-job=gpu:a100:4 c=1 N=1-1 gres-flags=enforce-binding", "never"},
        {"per-job=gpu:a100:4 c=2 N=1-1 gres-flags=enforce-binding", "a1:2/0+gpu:a100=4"},
        {"per-job=gpu:a100:4 c=1 gres-flags=enforce-binding",
         "a1:1/0+gpu:a100=2 a2:1/0+gpu:a100=2"},
        {"per-job=gpu:4 cpus-per-gpu=3", "a1:6/0+gpu:a100=2 a2:6/0+gpu:a100=2"},
        {"per-task=gpu:1 n=2 cpus-per-gpu=4", "a1:8/0+gpu:a100=2"},
        {"gres=gpu:2 mem-per-gpu=3000", "a1:1/6000+gpu:a100=2"},
        {"gres=gpu:3 mem-per-gpu=3000", "never"},
        {"per-job=gpu:3 mem-per-gpu=3000", "a1:1/6000+gpu:a100=2 a2:1/3000+gpu:a100=1"},
        {"per-task=gpu:1 n=3 mem-per-gpu=4000", "a1:2/8000+gpu:a100=2 a2:1/4000+gpu:a100=1"},
        {"cpus-per-gpu=1", "refused"},
        {"mem-per-gpu=1", "refused"},
        {"ntasks-per-gpu=2 gres=gpu:2", "a1:4/0+gpu:a100=2"},
        {"ntasks-per-gpu=2 n=4", "a1:4/0+gpu:a100=2"},
        {"w=b[1-2] per-job=gpu:4 ntasks-per-gpu=2", "b1:4/0+gpu:v100=2 b2:4/0+gpu:v100=2"},
        {"w=b[1-2] per-job=gpu:4 ntasks-per-gpu=1 n=4", "b1:2/0+gpu:v100=2 b2:2/0+gpu:v100=2"},
        {"w=a[1-2] per-job=gpu:4 ntasks-per-gpu=2", "a1:6/0+gpu:a100=3 a2:2/0+gpu:a100=1"},
        {"w=b1 per-job=gpu:2 ntasks-per-gpu=1 n=4", "b1:4/0+gpu:v100=2"}, /* more tasks */
        {"ntasks-per-gpu=2", "refused"},
        {"ntasks-per-gpu=2 per-task=gpu:1", "refused"},
        {"per-socket=gpu:1 sockets=2", "a1:1/0+gpu:a100=2"},
        {"per-socket=gpu:1", "refused"},
        {"exclusive", "a1:8/0+gpu:a100=4+nic=2"},
        {"gres=nic:2 exclusive", "a1:8/0+gpu:a100=4+nic=2"},
        {"gres=gpu:1 contiguous N=4", "a1:1/0+gpu:a100=1 a2:1/0+gpu:a100=1 b1:1/0+gpu:v100=1 "
                                      "b2:1/0+gpu:v100=1"},
        {"w=b2 gres=gpu:1", "b2:1/0+gpu:v100=1"},
        {"w=c1 gres=gpu:1", "never"},
    };
    struct cluster *c = test_cluster(CONF);
    test_up(c);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        given(c, cases[i].words, cases[i].given);
    test_cluster_free(c);
}

static void explicit_ones_are_no_part_of_a_whole_node(void **state)
{
    (void)state;
    struct cluster *c =
        test_cluster(CONF "GresConf=1 NodeName=a1 Name=nic Count=2 Flags=explicit\n");
    test_up(c);
    given(c, "exclusive w=a1", "a1:8/0+gpu:a100=4");
    given(c, "exclusive w=a2", "a2:8/0+gpu:a100=4"); /* the flag is global */
    given(c, "exclusive gres=nic:1", "a1:8/0+gpu:a100=4+nic=1");
    given(c, "gres=nic:2", "a1:1/0+nic=2");
    test_cluster_free(c);
}

static void devices_are_chosen_by_type(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(CONF);
    test_up(c);
    struct job *one = start(c, 1, "w=a1 c=4 gres=gpu:1", 100);
    held(c, one, "gpu:a100:1(IDX:0)");
    /* its cores are the last four, and so are those near its devices */
    struct job *two = start(c, 2, "w=a1 c=4 gres=gpu:2", 200);
    held(c, two, "gpu:a100:2(IDX:2-3)");
    given(c, "w=a1 gres=gpu:1", "busy"); /* no free core */
    cluster_remove_job(c, one);
    test_sound(c);
    given(c, "w=a1 gres=gpu:2", "a1:1/0+gpu:a100=2");
    given(c, "w=a1 gres=gpu:3", "busy");
    start(c, 3, "w=a1 gres=gpu:2", 300); /* the near one and the remaining one */
    given(c, "w=a1 gres=gpu:1", "busy");
    given(c, "gres=gpu:a100:1", "a2:1/0+gpu:a100=1");
    struct str out = STR_INIT;
    gres_held_format_node(c, c->nodes.data[0], true, &out);
    assert_string_equal(str_cstr(&out), "gpu:a100:4(IDX:0-3),nic:0(IDX:N/A)");
    str_clear(&out);
    gres_held_format_node(c, c->nodes.data[0], false, &out);
    assert_string_equal(str_cstr(&out), "gpu:a100:4,nic:2");
    str_done(&out);
    test_cluster_free(c);
}

/* A record restores what the job held, at most what the node has. */
static void device_records_are_restored(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena arena;
    struct str packed = STR_INIT;
    arena_init(&arena, 0);
    struct cluster *c = test_cluster(CONF);
    test_up(c);
    struct job *j = start(c, 2, "w=a1 gres=gpu:3,nic", 100);
    start(c, 1, "w=a1 gres=gpu:1", 100);
    held(c, j, "gpu:a100:3(IDX:0-2),nic:1(IDX:0)");
    job_pack_live(c, j);
    job_pack_record(j, &packed);
    Pb__JobRecord *r = arena_unpack(&arena, &pb__job_record__descriptor, packed.data, packed.len);
    assert_non_null(r);
    struct cluster *after = test_cluster(CONF);
    test_up(after);
    struct job *again = cluster_add_job(after, 2);
    assert_int_equal(job_restore(after, again, r, NULL), 0);
    held(after, again, "gpu:a100:3(IDX:0-2),nic:1(IDX:0)");
    test_sound(after);
    cluster_remove_job(after, again);
    test_sound(after);
    assert_int_equal(gres_find(after->nodes.data[0], 0)->used, 0);
    test_cluster_free(after);
    /* of a node that has lost its cards */
    struct cluster *poor = test_cluster("GresTypes=gpu\n" CONS
                                        "NodeName=a[1-2] CPUs=8 RealMemory=8000 Gres=gpu:a100:2\n"
                                        "PartitionName=all Nodes=ALL Default=YES\n");
    again = cluster_add_job(poor, 2);
    assert_int_equal(job_restore(poor, again, r, NULL), 0);
    held(poor, again, "gpu:a100:2(IDX:0-1)");
    test_sound(poor);
    test_cluster_free(poor);
    str_done(&packed);
    test_cluster_free(c);
}

static void planned_start_reserves_devices(void **state)
{
    (void)state;
    struct selection s = {0};
    struct timeline t;
    struct cluster *c = test_cluster(CONF);
    test_up(c);
    start(c, 1, "w=a1 gres=gpu:3", 100);
    start(c, 2, "w=a2 gres=gpu:2", 200);
    struct job *j = test_job(c, 3, "gres=gpu:a100:4"), *k = test_job(c, 4, "gres=gpu:a100:3");
    j->limit_sec = k->limit_sec = 50;
    struct bitset *set = select_candidates(c, j);
    timeline_init(&t, c, 10);
    assert_int_equal(timeline_find(&t, j, set, &s), 100);
    timeline_reserve(&t, j, &s, 100);
    select_clear(&s);
    /* a2 has two now, and four when job 2 has ended; a1 is reserved from 100 to 150 */
    assert_int_equal(timeline_find(&t, k, set, &s), 150);
    select_clear(&s);
    struct job *small = test_job(c, 5, "gres=gpu:a100:1 w=a1");
    small->limit_sec = 50;
    assert_true(timeline_fits_now(&t, small, set, &s));
    small->limit_sec = 91; /* until 101: it would delay the reservation */
    assert_false(timeline_fits_now(&t, small, set, &s));
    struct job *plain = test_job(c, 6, "w=a1");
    plain->limit_sec = 1000; /* needs no card: nothing blocks it */
    assert_true(timeline_fits_now(&t, plain, set, &s));
    timeline_start(&t, small, &s);
    select_done(&s);
    timeline_done(&t);
    bitset_free(set);
    test_cluster_free(c);
}

/* A suspended job keeps its cards beside a job with the whole node, and when that job ends. */
static void beside_a_suspended_job(void **state)
{
    static const struct {
        const char *words;
        int64_t suspended_until, at;
    } cases[] = {{"w=a1 gres=gpu:a100:4", 500, 500},
                 {"w=a1 gres=gpu:a100:2", 500, 100},
                 {"w=a1 gres=gpu:a100:4", 50, 100},
                 {"w=a1 gres=nic:2", 500, 100}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = test_cluster(CONF);
        struct selection s = {0};
        struct resv_plan resv;
        struct timeline t;
        struct shadow shadow;
        test_up(c);
        struct job *held = start(c, 1, "w=a1 gres=gpu:2", cases[i].suspended_until);
        job_set_state(c, held, PB__JOB_STATE__SUSPENDED, CAUSE_NONE, NULL);
        park_leave(c, held, &attempt_of(held)->alloc.data[0]);
        start(c, 2, "w=a1 exclusive", 100);
        struct job *j = test_job(c, 3, cases[i].words);
        j->limit_sec = 10;
        _cleanup_bitset_ struct bitset *set = select_candidates(c, j);
        timeline_init(&t, c, 10);
        assert_int_equal(timeline_find(&t, j, set, &s), cases[i].at);
        resv_plan_init(&resv, c, 10);
        int64_t at;
        shadow_begin(&shadow, c, &resv, 10);
        select_clear(&s);
        assert_true(calendar_find(&shadow.calendar, j, set, 0, &s, &at));
        assert_int_equal(at, cases[i].at);
        calendar_done(&shadow.calendar);
        resv_plan_done(&resv);
        timeline_done(&t);
        select_done(&s);
        test_cluster_free(c);
    }
}

/* Random jobs: a selection is free and sufficient, and the ledger agrees; a rejected request does
 * not fit. */
static void no_device_is_given_twice(void **state)
{
    (void)state;
    static const char *const words[] = {"gres=gpu:1",
                                        "gres=gpu:a100:2",
                                        "per-job=gpu:5",
                                        "per-task=gpu:1 n=3",
                                        "gres=nic:1,gpu:1",
                                        "n=4",
                                        "per-job=gpu:3 cpus-per-gpu=2",
                                        "exclusive gres=gpu:1"};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        struct cluster *c = test_cluster(CONF);
        test_up(c);
        for (uint32_t id = 1; id < 40; id++) {
            struct selection s = {0};
            struct job *j = test_job(c, id, words[test_between(&random, 0, 7)]);
            struct bitset *set = select_candidates(c, j);
            if (select_nodes(c, j, set, NULL, &s) == 0) {
                uint64_t total = 0;
                vec_foreach (&s.shares, at) {
                    const struct alloc_want want = share_want(&s, at);
                    assert_int_equal(alloc_place(c, j, &want, NULL), 0);
                }
                vec_foreach (&s.gres, g)
                    total += g->count;
                assert_true(total >= gres_wanted(&j->want.gres, "gpu", GRES_PER_JOB));
                assert_int_equal(job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
                order_insert(&c->ends, &attempt_make(j)->ends, test_between(&random, 10, 1000), id);
            } else {
                cluster_remove_job(c, j);
            }
            test_sound(c);
            select_done(&s);
            bitset_free(set);
            if (test_between(&random, 0, 2) == 0 && c->jobs.len)
                cluster_remove_job(
                    c, c->jobs.data[test_between(&random, 0, (uint32_t)c->jobs.len - 1)]);
            test_sound(c);
        }
        test_cluster_free(c);
    }
}

/* --- GPUs in parts -----------------------------------------------------------------------------
 */

#define PARTS_NODES                                                                                \
    "GresTypes=gpu,mps,shard\n"                                                                    \
    "NodeName=s1 CPUs=16 RealMemory=8000 Gres=gpu:a:1,gpu:b:2,shard:12,mps:300\n"                  \
    "PartitionName=all Nodes=ALL Default=YES OverSubscribe=NO\n"                                   \
    "GresConf=1 Name=gpu Type=a File=/dev/g0 Cores=0-3\n"                                          \
    "GresConf=1 Name=gpu Type=b File=/dev/g[1-2] Cores=4-15\n"
#define PARTS CONS PARTS_NODES

static void in_use(const struct cluster *c, const char *expected)
{
    struct str out = STR_INIT;
    gres_held_format_node(c, c->nodes.data[0], true, &out);
    assert_string_equal(str_cstr(&out), expected);
    str_done(&out);
}

static void parts_are_of_one_gpu(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(PARTS);
    test_up(c);
    given(c, "gres=shard:5", "never");
    given(c, "gres=shard:1,gpu:1", "never");
    given(c, "gres=shard:1,mps:1", "never");
    given(c, "per-task=shard:2 n=3", "never");
    given(c, "exclusive", "s1:16/0+gpu:a=1+gpu:b=2+gpu lock=1+gpu lock=1+gpu lock=1");
    given(c, "exclusive gres=shard:2", "s1:16/0+shard=2+gpu:b=2+gpu lock=1+gpu lock=1");
    held(c, start(c, 1, "gres=shard:3", 100), "shard:3(IDX:0)");
    held(c, start(c, 2, "gres=shard:2", 200), "shard:2(IDX:1)");
    held(c, start(c, 3, "gres=shard:1", 300), "shard:1(IDX:0)");
    in_use(c, "gpu:a:0(IDX:N/A),gpu:b:0(IDX:N/A),shard:6(4/4,2/4,0/4),mps:0(0/100,0/100,0/100)");
    given(c, "gres=gpu:a:1", "busy");
    given(c, "gres=gpu:2", "busy");
    given(c, "gres=gpu:1 gres-flags=enforce-binding", "s1:1/0+gpu:b=1+gpu lock=1");
    given(c, "per-job=shard:5", "never");
    given(c, "per-task=shard:2 n=2", "s1:2/0+shard=4");
    held(c, start(c, 4, "gres=gpu:1", 400), "gpu:b:1(IDX:1)");
    in_use(c, "gpu:a:0(IDX:N/A),gpu:b:1(IDX:1),shard:6(4/4,2/4,-/4),mps:0(0/100,0/100,-/100)");
    given(c, "gres=shard:3", "busy");
    given(c, "gres=shard:2", "s1:1/0+shard=2");
    given(c, "gres=mps:1", "busy");
    cluster_remove_job(c, cluster_find_job(c, 2));
    test_sound(c);
    held(c, start(c, 5, "gres=mps:50", 500), "mps:50(IDX:1)");
    given(c, "gres=shard:1", "busy");
    given(c, "gres=gpu:1", "busy");
    given(c, "gres=mps:51", "busy");
    cluster_remove_job(c, cluster_find_job(c, 4));
    given(c, "gres=mps:51", "busy"); /* mps parts are on one GPU at a time */
    given(c, "gres=gpu:1 gres-flags=enforce-binding", "s1:1/0+gpu:b=1+gpu lock=1");
    held(c, start(c, 6, "gres=gpu:1 gres-flags=enforce-binding", 500), "gpu:b:1(IDX:1)");
    test_cluster_free(c);
}

static void parts_by_parameters(void **state)
{
    (void)state;
    struct cluster *c = test_cluster("SelectTypeParameters=CR_Core,LL_SHARED_GRES\n" PARTS_NODES);
    test_up(c);
    held(c, start(c, 1, "gres=shard:1", 100), "shard:1(IDX:0)");
    held(c, start(c, 2, "gres=shard:1", 100), "shard:1(IDX:1)");
    held(c, start(c, 3, "gres=shard:4", 100), "shard:4(IDX:2)");
    held(c, start(c, 4, "gres=shard:1", 100), "shard:1(IDX:0)");
    test_cluster_free(c);
    c = test_cluster("SelectTypeParameters=CR_Core,MULTIPLE_SHARING_GRES_PJ\n" PARTS_NODES);
    test_up(c);
    held(c, start(c, 1, "gres=shard:6", 100), "shard:4(IDX:0),shard:2(IDX:1)");
    given(c, "gres=mps:150", "never"); /* also limited to one GPU */
    test_cluster_free(c);
    c = test_cluster("SelectTypeParameters=CR_Core,MULTIPLE_SHARING_GRES_PJ\n" PARTS_NODES);
    test_up(c);
    held(c, start(c, 1, "per-task=shard:2 n=2", 100), "shard:4(IDX:0)");
    held(c, start(c, 2, "per-task=shard:2 n=2 gres-flags=one-task-per-sharing", 100),
         "shard:2(IDX:1),shard:2(IDX:2)");
    cluster_remove_job(c, cluster_find_job(c, 1));
    held(c, start(c, 3, "per-task=shard:3 n=1 gres-flags=one-task-per-sharing", 100),
         "shard:3(IDX:0)"); /* the others have 2 left */
    given(c, "N=1 per-task=shard:2 n=3 gres-flags=one-task-per-sharing", "busy");
    given(c, "N=1 per-task=shard:1 n=5 gres-flags=one-task-per-sharing", "never");
    test_cluster_free(c);
    c = test_cluster("SelectTypeParameters=CR_Core,MULTIPLE_SHARING_GRES_PJ,"
                     "ONE_TASK_PER_SHARING_GRES\n" PARTS_NODES);
    test_up(c);
    held(c, start(c, 1, "per-task=shard:2 n=2", 100), "shard:2(IDX:0),shard:2(IDX:1)");
    held(c, start(c, 2, "per-task=shard:1 n=2 gres-flags=multiple-tasks-per-sharing", 100),
         "shard:2(IDX:0)");
    held(c, start(c, 3, "gres=shard:6", 100), "shard:2(IDX:1),shard:4(IDX:2)"); /* not per task */
    test_cluster_free(c);
    c = test_cluster("SelectTypeParameters=CR_Core,ONE_TASK_PER_SHARING_GRES\n" PARTS_NODES);
    test_up(c);
    held(c, start(c, 1, "per-task=shard:2 n=2", 100), "shard:4(IDX:0)"); /* only with the other */
    test_cluster_free(c);
    c = test_cluster(PARTS "GresConf=1 Name=mps Count=300 Flags=all_sharing\n"
                           "GresConf=1 Name=shard Count=12 Flags=one_sharing\n");
    test_up(c);
    held(c, start(c, 1, "gres=mps:60", 100), "mps:60(IDX:0)");
    held(c, start(c, 2, "gres=mps:60", 100), "mps:60(IDX:1)");
    held(c, start(c, 3, "gres=shard:3", 100), "shard:3(IDX:2)");
    cluster_remove_job(c, cluster_find_job(c, 1));
    given(c, "gres=shard:2", "busy");
    test_cluster_free(c);
}

/* The calendar knows which GPU is free, and from which time on. */
static void planned_start_reserves_gpu_shares(void **state)
{
    (void)state;
    struct selection s = {0};
    struct timeline t;
    struct cluster *c = test_cluster(PARTS);
    test_up(c);
    start(c, 1, "gres=shard:4", 100);
    start(c, 2, "gres=shard:2", 200);
    start(c, 3, "gres=gpu:1", 300);
    struct job *shard = test_job(c, 4, "gres=shard:3"), *gpu = test_job(c, 5, "gres=gpu:1");
    struct job *both = test_job(c, 6, "gres=gpu:2"), *few = test_job(c, 7, "gres=shard:2");
    shard->limit_sec = gpu->limit_sec = both->limit_sec = few->limit_sec = 50;
    struct bitset *set = select_candidates(c, shard);
    timeline_init(&t, c, 10);
    assert_true(timeline_fits_now(&t, few, set, &s));
    select_clear(&s);
    assert_int_equal(timeline_find(&t, gpu, set, &s), 100);
    select_clear(&s);
    assert_int_equal(timeline_find(&t, both, set, &s), 200);
    select_clear(&s);
    assert_int_equal(timeline_find(&t, shard, set, &s), 100);
    timeline_reserve(&t, shard, &s, 100); /* on the first GPU, to 150 */
    select_clear(&s);
    assert_int_equal(timeline_find(&t, gpu, set, &s), 150);
    timeline_reserve(&t, gpu, &s, 150); /* the first GPU, to 200 */
    select_clear(&s);
    assert_int_equal(timeline_find(&t, both, set, &s), 200);
    select_clear(&s);
    few->limit_sec = 191; /* to 201 on the second GPU */
    assert_true(timeline_fits_now(&t, few, set, &s));
    timeline_start(&t, few, &s);
    select_clear(&s);
    assert_int_equal(timeline_find(&t, both, set, &s), 201);
    select_done(&s);
    timeline_done(&t);
    bitset_free(set);
    test_cluster_free(c);
}

static void gpu_shares_are_restored_from_records(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena arena;
    struct str packed = STR_INIT;
    arena_init(&arena, 0);
    struct cluster *c = test_cluster(PARTS);
    test_up(c);
    start(c, 1, "gres=gpu:a:1", 100);
    struct job *j = start(c, 2, "gres=shard:3", 100);
    held(c, j, "shard:3(IDX:1)");
    job_pack_live(c, j);
    job_pack_record(j, &packed);
    Pb__JobRecord *r = arena_unpack(&arena, &pb__job_record__descriptor, packed.data, packed.len);
    assert_non_null(r);
    struct cluster *after = test_cluster(PARTS);
    test_up(after);
    struct job *again = cluster_add_job(after, 2);
    assert_int_equal(job_restore(after, again, r, NULL), 0);
    held(after, again, "shard:3(IDX:1)");
    in_use(after,
           "gpu:a:0(IDX:N/A),gpu:b:0(IDX:N/A),shard:3(0/4,3/4,0/4),mps:0(0/100,0/100,0/100)");
    given(after, "gres=gpu:b:2", "busy");
    test_sound(after);
    cluster_remove_job(after, again);
    test_sound(after);
    given(after, "gres=gpu:b:2", "s1:1/0+gpu:b=2+gpu lock=1+gpu lock=1");
    test_cluster_free(after);
    str_done(&packed);
    test_cluster_free(c);
}

/* Checks each GPU: one job has all of it, or jobs have parts of one name, at most as many as there
 * are. */
static void check_gpus(const struct cluster *c)
{
    uint64_t whole[3] = {0}, shards[3] = {0}, mps[3] = {0};
    vec_foreach (&c->jobs, j)
        vec_foreach (&attempt_of(*j)->alloc, a)
            vec_foreach (&a->gres, held) {
                const struct gres_kind *k = &c->gres_kinds.data[held->kind];
                if (k->role == GRES_PART)
                    (str_eq(k->name, "mps") ? mps : shards)[k->gpu] += held->count;
                else
                    bitset_foreach (held->devices, i)
                        whole[i + str_eq(k->type, "b")]++;
            }
    for (size_t i = 0; i < 3; i++) {
        assert_true(whole[i] <= 1 && shards[i] <= 4 && mps[i] <= 100);
        assert_true((whole[i] > 0) + (shards[i] > 0) + (mps[i] > 0) <= 1);
    }
}

static void no_gpu_is_given_whole_and_in_parts(void **state)
{
    (void)state;
    static const char *const words[] = {
        "gres=gpu:1",   "gres=gpu:b:1",           "gres=gpu:2 gres-flags=enforce-binding c=2",
        "gres=shard:1", "gres=shard:3",           "per-task=shard:1 n=3",
        "gres=mps:40",  "exclusive gres=shard:2", "per-job=shard:2"};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed;
        struct cluster *c = test_cluster(PARTS);
        test_up(c);
        for (uint32_t id = 1; id < 60; id++) {
            struct selection s = {0};
            struct job *j = test_job(c, id, words[test_between(&random, 0, COUNT(words) - 1)]);
            struct bitset *set = select_candidates(c, j);
            if (select_nodes(c, j, set, NULL, &s) == 0) {
                const struct alloc_want want = share_want(&s, s.shares.data);
                assert_int_equal(alloc_place(c, j, &want, NULL), 0);
                assert_int_equal(job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
                order_insert(&c->ends, &attempt_make(j)->ends, test_between(&random, 10, 1000), id);
            } else {
                cluster_remove_job(c, j);
            }
            test_sound(c);
            check_gpus(c);
            select_done(&s);
            bitset_free(set);
            if (test_between(&random, 0, 2) == 0 && c->jobs.len)
                cluster_remove_job(
                    c, c->jobs.data[test_between(&random, 0, (uint32_t)c->jobs.len - 1)]);
        }
        test_cluster_free(c);
    }
}

/* --- RestrictedCoresPerGPU ----------------------------------------------------------------------
 */

#define RESTRICTED                                                                                 \
    "SelectTypeParameters=CR_Core\nGresTypes=gpu,shard,nic\n"                                      \
    "NodeName=r1 Sockets=2 CoresPerSocket=4 Gres=gpu:a:1,gpu:b:1,nic:2 RestrictedCoresPerGPU=2\n"  \
    "NodeName=s1 CPUs=6 Gres=gpu:1,shard:4 RestrictedCoresPerGPU=3\n"                              \
    "PartitionName=all Nodes=ALL Default=YES OverSubscribe=NO\n"                                   \
    "PartitionName=force Nodes=ALL OverSubscribe=FORCE:2\n"                                        \
    "GresConf=1 NodeName=r1 Name=gpu Type=a File=/dev/g0 Cores=0-3\n"                              \
    "GresConf=1 NodeName=r1 Name=gpu Type=b File=/dev/g1 Cores=4-7\n"                              \
    "GresConf=1 NodeName=r1 Name=nic File=/dev/n[0-1] Cores=0-3\n"                                 \
    "GresConf=1 NodeName=s1 Name=gpu File=/dev/g0 Cores=2-5\n"

static void cores(const struct job *j, const char *expected)
{
    struct str out = STR_INIT;
    vec_foreach (&attempt_of(j)->alloc, a)
        bitset_foreach (a->busy, i)
            str_printf(&out, "%s%ld", out.len ? "," : "", i);
    assert_string_equal(str_cstr(&out), expected);
    str_done(&out);
}

static void restricted_cores_are_for_jobs_with_gpus(void **state)
{
    static const struct {
        const char *words, *expected;
    } cases[] = {
        {"n=4", "r1:4/0"},
        {"n=5 N=1", "never"},
        {"n=7", "r1:4/0 s1:3/0"},
        {"n=8", "never"},
        {"n=4 w=r1 gres=nic:1", "r1:4/0+nic=1"},
        {"n=3 w=r1 gres=nic:1 gres-flags=enforce-binding", "never"}, /* two of cores 0 to 3 */
        {"n=4 w=r1 cores=4", "r1:4/0"},
        {"tasks-per-socket=2 n=4 w=r1", "r1:4/0"},
        {"tasks-per-socket=3 n=4 w=r1", "r1:4/0"},
        {"gres=gpu:a:1 n=6", "r1:6/0+gpu:a=1+restricted cores=2"},
        {"gres=gpu:a:1 n=7 N=1", "never"}, /* the cores of the other GPU */
        {"gres=gpu:1 n=1 w=r1", "r1:1/0+gpu:a=1+restricted cores=1"},
        {"gres=gpu:2 n=8", "r1:8/0+gpu:a=1+gpu:b=1+restricted cores=4"},
        {"per-task=gpu:1 n=2 c=4 w=r1", "r1:8/0+gpu:a=1+gpu:b=1+restricted cores=4"},
        {"per-task=gpu:1 n=2 c=5 w=r1 N=1", "never"},
        {"per-job=gpu:2 n=8 w=r1", "r1:8/0+gpu:a=1+gpu:b=1+restricted cores=4"},
        {"exclusive w=r1", "r1:8/0+gpu:a=1+gpu:b=1+nic=2+restricted cores=4"},
        {"n=3 w=s1", "s1:3/0"},
        {"n=4 w=s1 N=1", "never"},
        {"gres=shard:1 n=6 w=s1", "s1:6/0+shard=1+restricted cores=3"},
        {"gres=gpu:1 n=6 w=s1", "s1:6/0+gpu=1+gpu lock=1+restricted cores=3"},
    };
    struct cluster *c = test_cluster(RESTRICTED);

    (void)state;
    test_up(c);
    for (size_t i = 0; i < COUNT(cases); i++)
        given(c, cases[i].words, cases[i].expected);
    cores(start(c, 1, "gres=gpu:b:1 w=r1 n=3", 900), "4,5,6"); /* its own first */
    cores(start(c, 2, "n=3 w=r1", 300), "2,3,7");
    given(c, "w=r1", "busy");
    given(c, "gres=gpu:1 w=r1 n=3 N=1", "busy");
    cores(start(c, 3, "gres=gpu:1 w=r1 n=2", 200), "0,1");
    cluster_remove_job(c, cluster_find_job(c, 1));
    given(c, "w=r1 n=2 N=1", "busy");
    given(c, "w=r1 n=1", "r1:1/0");
    assert_non_null(start(c, 4, "p=force w=s1 gres=shard:1 n=6", 100));
    given(c, "p=force w=s1 n=4 N=1", "never");
    given(c, "p=force w=s1 n=3", "s1:3/0");
    test_cluster_free(c);
}

/* A planned start counts the cores that will be free for the job. */
static void restricted_cores_are_planned_for(void **state)
{
    static const struct {
        const char *words;
        int64_t at;
    } cases[] = {
        {"w=r1 n=4 N=1", 300},           {"w=r1 n=1", 200},        {"w=r1 gres=gpu:b:1 n=3", 200},
        {"w=r1 gres=gpu:a:1 n=1", 9000}, {"w=r1 exclusive", 9000}, {"w=r1 gres=gpu:b:1 n=2", 100},
    };
    struct cluster *c = test_cluster(RESTRICTED);

    (void)state;
    test_up(c);
    start(c, 1, "w=r1 gres=gpu:a:1 n=2", 9000);
    start(c, 2, "w=r1 n=2", 200);
    start(c, 3, "w=r1 n=2", 300);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct selection s = {0};
        struct job *j = test_job(c, 9, cases[i].words);
        _cleanup_bitset_ struct bitset *set = select_candidates(c, j);
        j->limit_sec = 60;
        int64_t at = test_earliest(c, j, set, 100, &s);
        if (at != cases[i].at)
            fail_msg("%s: at %lld", cases[i].words, (long long)at);
        select_done(&s);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binding_is_the_default),
        cmocka_unit_test(missing_gres_are_explained),
        cmocka_unit_test(devices_are_chosen_near_cpus),
        cmocka_unit_test(explicit_ones_are_no_part_of_a_whole_node),
        cmocka_unit_test(devices_are_chosen_by_type),
        cmocka_unit_test(device_records_are_restored),
        cmocka_unit_test(planned_start_reserves_devices),
        cmocka_unit_test(no_device_is_given_twice),
        cmocka_unit_test(parts_are_of_one_gpu),
        cmocka_unit_test(parts_by_parameters),
        cmocka_unit_test(planned_start_reserves_gpu_shares),
        cmocka_unit_test(gpu_shares_are_restored_from_records),
        cmocka_unit_test(no_gpu_is_given_whole_and_in_parts),
        cmocka_unit_test(beside_a_suspended_job),
        cmocka_unit_test(restricted_cores_are_for_jobs_with_gpus),
        cmocka_unit_test(restricted_cores_are_planned_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
