/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rule that keeps a job from its start: by its reason, or by what the planner finds. */
#include "cluster/job/license_layer.h"
#include "sched/why/why_state.h"
#include "sched/why/why_test_util.h"

enum { NOW = 1000, EXEMPT_SEC = 60 };

#define TWO CONS "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n"
#define TREE                                                                                       \
    CONS "TopologyPlugin=topology/tree\nNodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL\n"       \
         "TopologyConf=1 SwitchName=a Nodes=n[1-2]\nTopologyConf=1 SwitchName=b Nodes=n[3-4]\n"    \
         "TopologyConf=1 SwitchName=top Switches=a,b\n"
#define TORUS                                                                                      \
    CONS "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL\nTopologyConf=net:torus3d\n"           \
         "TopologyConf=1 TorusName=t Dims=4x1x1 Nodes=n[1-4]\nTopologyConf=1 Placement=2x1x1\n"
#define TIERS                                                                                      \
    CONS "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nPreemptExemptTime=1\n"           \
         "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n"                                     \
         "PartitionName=high Nodes=ALL PriorityTier=2\n"

/* Each reason that a gate can give is explained, by a rule of its own. */
static void each_reason_of_a_gate_has_its_rule(void **state)
{
    static const struct {
        enum reason reason;
        const char *rule;
    } cases[] = {
        {REASON_SYSTEM_FAILURE, "missing_component"},
        {REASON_BURST_BUFFER_OPERATION, "burst_buffer_failed"},
        {REASON_JOB_HOLD_MAX_REQUEUE, "held_requeued"},
        {REASON_JOB_HELD_ADMIN, "held_admin"},
        {REASON_RESERVATION_DELETED, "reservation_deleted"},
        {REASON_JOB_HELD_USER, "held"},
        {REASON_DEPENDENCY, "dependency"},
        {REASON_DEPENDENCY_NEVER_SATISFIED, "dependency_never"},
        {REASON_BEGIN_TIME, "begin"},
        {REASON_DEADLINE, "deadline"},
        {REASON_RESERVATION, "reservation"},
        {REASON_BURST_BUFFER_RESOURCES, "burst_buffer_pool"},
        {REASON_BURST_BUFFER_STAGE_IN, "burst_buffer_stage_in"},
        {REASON_PARTITION_DOWN, "partition_down"},
        {REASON_PARTITION_INACTIVE, "partition_inactive"},
        {REASON_ACCOUNT_NOT_ALLOWED, "partition_account"},
        {REASON_PARTITION_TIME_LIMIT, "partition_time"},
        {REASON_PARTITION_NODE_LIMIT, "partition_nodes"},
        {REASON_MAX_MEM_PER_LIMIT, "partition_memory"},
        {REASON_PARTITION_NODE_LIMIT, "partition_nodes"},
        {REASON_PARTITION_CONFIG, "partition_config"},
        {REASON_BAD_CONSTRAINTS, "bad_constraints"},
        {REASON_REQ_NODE_NOT_AVAIL, "required_nodes"},
        {REASON_CONSTRAINTS, "constraints"},
        {REASON_JOB_ARRAY_TASK_LIMIT, "array_throttle"},
        {REASON_LICENSES, "licenses"},
    };
    static const enum reason reasons[] = {
#define GATE_JOB(name, find, update, always, ...) __VA_ARGS__
#define GATE_PARTITION(name, find, update, refuse, refusal, ...) __VA_ARGS__
#define GATE_START(name, find, keeps_place, ...) __VA_ARGS__
#include "cluster/job/reason.def"
    };
    (void)state;
    assert_int_equal(COUNT(reasons), COUNT(cases));
    for (size_t i = 0; i < COUNT(reasons); i++) {
        enum why_rule rule;
        assert_int_equal(reasons[i], cases[i].reason);
        if (!why_rule_of_reason(reasons[i], &rule))
            fail_msg("no rule stands for %s", reason_word(reasons[i]));
        assert_string_equal(why_word(rule), cases[i].rule);
        assert_true(rule > WHY_OTHER);
        assert_true(strlen(why_sentence(rule)) > 10);
    }
}

/* One job may run, others wait; the last one is asked about. */
static void the_planner_finds_the_rule(void **state)
{
    static const struct {
        const char *rule, *conf, *runs;
        int64_t ran_sec; /* -1: it is preempted */
        const char *waits[3];
        bool in_order, is_announced;
    } cases[] = {
        {"now", TWO, NULL, 0, {"N=1"}, false, false},
        {"resources", TWO, "n1:4", 0, {"N=2"}, false, false},
        {"behind", TWO, "n1:4 n2:4", 0, {"N=2", "N=1"}, false, false},
        {"kept", TWO, "n1:4", 0, {"N=2 exclusive", "N=1"}, false, false},
        {"order", TWO, "n1:4", 0, {"N=2", "N=1"}, true, false},
        {"depth",
         "SchedulerParameters=default_queue_depth=1\n" TWO,
         "n1:4",
         0,
         {"N=2", "N=2", "N=1"},
         false,
         false},
        {"switches", TREE, "n1:4 n3:4", 0, {"N=2 switches=1"}, false, false},
        {"topology", TORUS, "n1:4 n4:4", 0, {"N=2"}, false, false},
        {"resources", TORUS, "n1:4 n2:4 n3:4", 0, {"N=2"}, false, false},
        {"displaces", TIERS, "n1:4 n2:4", EXEMPT_SEC, {"p=high N=1"}, false, false},
        {"exempt", TIERS, "n1:4 n2:4", 0, {"p=high N=1"}, false, false},
        {"making_room", TIERS, "n1:4 n2:4", -1, {"p=high N=1"}, false, false},
        {"shutdown", TWO, NULL, 0, {"N=1"}, false, true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = test_cluster(cases[i].conf);
        uint32_t id = 1;
        test_up(c);
        if (cases[i].runs) {
            bool is_preempted = cases[i].ran_sec < 0;
            struct job *j = test_run(c, id, cases[i].runs, is_preempted ? NOW : NOW + 100);
            attempt_make(j)->start_at = NOW - cases[i].ran_sec;
            attempt_make(j)->preempted_at = is_preempted ? NOW : 0;
        }
        for (size_t k = 0; k < COUNT(cases[i].waits) && cases[i].waits[k]; k++)
            test_queue_job(c, ++id, cases[i].waits[k]);
        struct why *w = why_new(c, &(struct why_question){.job_id = id,
                                                          .backfill = !cases[i].in_order,
                                                          .announced = cases[i].is_announced,
                                                          .key = -1});
        while (why_step(w, NOW))
            ;
        if (!str_eq(why_answer(w)->rule, cases[i].rule))
            fail_msg("case %zu: %s, not %s", i, why_answer(w)->rule, cases[i].rule);
        why_free(w);
        test_cluster_free(c);
    }
}

/* A job of a removed partition waits for the same reason as one whose partition is down. */
static void a_removed_partition_is_told_from_one_that_is_down(void **state)
{
    (void)state;
    for (int removed = 0; removed < 2; removed++) {
        struct cluster *c = test_cluster(TWO);
        test_up(c);
        struct job *j = test_job(c, 1, "N=1");
        j->reason = REASON_PARTITION_DOWN;
        j->part = removed ? NULL : j->part;
        struct why *w = why_new(c, &(struct why_question){.job_id = 1, .backfill = true});
        while (why_step(w, NOW))
            ;
        assert_string_equal(why_answer(w)->rule, removed ? "partition_removed" : "partition_down");
        why_free(w);
        test_cluster_free(c);
    }
}

/* A job runs on n1; the one that is asked about fits on an idle node. */
static void a_node_is_short_of_what_the_job_would_fit_with(void **state)
{
    static const char conf[] = CONS "GresTypes=gpu\nNodeName=n1 CPUs=4 RealMemory=400 Gres=gpu:2\n"
                                    "PartitionName=p Nodes=ALL\n";
    static const struct {
        const char *cause, *resource, *runs, *waits;
    } cases[] = {
        {"cpus", "nodes with enough CPUs", "c=3", "c=2"},
        {"cpus", "nodes with enough CPUs", "c=3 mem=300", "c=2 mem=200"}, /* before all others */
        {"memory", "nodes with enough memory", "mem=300", "mem=200"},
        {"gres", "nodes with enough gres", "gres=gpu:1", "gres=gpu:2"},
        {"several", "nodes", "mem=300 gres=gpu:1", "mem=200 gres=gpu:2"},
        {"whole", "idle nodes", "c=1", "exclusive"},
    };
    static const char *const kinds[] = {
#define NODE_RESOURCE(id, word, scarce, ...) word, scarce,
#include "cluster/resource/resource_kind.def"
    };
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i += 2) { /* each has a case of its own */
        size_t at = 0;
        while (at < COUNT(cases) && !str_eq(cases[at].cause, kinds[i]))
            at++;
        assert_true(at < COUNT(cases));
        assert_string_equal(cases[at].resource, kinds[i + 1]);
    }
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = test_cluster(conf);
        struct selection where = {0};
        test_up(c);
        struct job *first = test_job(c, 1, cases[i].runs);
        _cleanup_bitset_ struct bitset *could = select_candidates(c, first);
        assert_true(select_nodes(c, first, could, NULL, &where) == 0);
        test_run_selection(c, first, &where, NOW + 100);
        test_queue_job(c, 2, cases[i].waits);
        struct why *w = why_new(c, &(struct why_question){.job_id = 2, .backfill = true});
        while (why_step(w, NOW))
            ;
        const Pb__WhyReply *answer = why_answer(w);
        assert_int_equal(answer->n_groups, 1);
        if (!str_eq(answer->groups[0]->cause, cases[i].cause))
            fail_msg("case %zu: %s, not %s", i, answer->groups[0]->cause, cases[i].cause);
        assert_string_equal(answer->resource, cases[i].resource);
        assert_int_equal(answer->need, 1);
        why_free(w);
        select_done(&where);
        test_cluster_free(c);
    }
}

#define LICENSED CONS "Licenses=a:1,b:1\nNodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n"

static void run_endless(struct cluster *c, uint32_t id, const char *words, const char *where)
{
    struct job *j = test_job(c, id, words);
    test_run_job(c, j, where, NOW + CLUSTER_NO_LIMIT_SEC);
    j->limit_sec = INT64_MAX;
}

/* Of alternatives that the job cannot have now, the one that it could ever have counts. */
static void alternative_in_use_is_told_before_one_that_is_too_few(void **state)
{
    static const struct {
        const char *words, *rule, *resource;
    } cases[] = {
        {"L=a:1|b:1", "licenses", "license:a"},
        {"L=b:2|a:1", "licenses", "license:a"},
        {"L=a:1|b:2", "licenses", "license:a"},
        {"L=b:2|a:2", "too_few", "license:b"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int gone = 0; gone < 2; gone++) {
            struct cluster *c = test_cluster(LICENSED);
            struct why *w;
            test_up(c);
            run_endless(c, 1, "L=a:1", "n1:1");
            run_endless(c, 2, "L=b:1", "n1:1");
            test_queue_job(c, 3, cases[i].words);
            struct license_needs *needs = &cluster_find_job(c, 3)->want.licenses;
            if (gone && needs->list.data[0].count == 2)
                needs->list.data[0].at = -1;
            const Pb__WhyReply *m = test_ask_why(c, 3, NOW, &w);
            bool is_gone = gone && str_eq(cases[i].rule, "too_few");
            if (!str_eq(m->rule, is_gone ? "license_gone" : cases[i].rule) ||
                !str_eq(m->resource, cases[i].resource))
                fail_msg("case %zu, %d: %s %s", i, gone, m->rule, m->resource);
            why_free(w);
            test_cluster_free(c);
        }
}

/* Not those that run on nodes that the job could have. */
static void jobs_without_a_limit_that_hold_the_licence_are_named(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(LICENSED);
    struct why *w;
    test_up(c);
    run_endless(c, 1, "", "n1:1");
    run_endless(c, 2, "L=a:1", "n2:1");
    test_queue_job(c, 3, "L=a:1");
    const Pb__WhyReply *m = test_ask_why(c, 3, NOW, &w);
    assert_string_equal(m->rule, "licenses");
    assert_int_equal(m->has_start_at, 0);
    assert_int_equal(m->n_without_limit, 1);
    assert_int_equal(m->without_limit[0], 2);
    why_free(w);
    test_cluster_free(c);
}

/* A change is proposed only where it is enough. */
static void count_is_proposed_when_it_lets_the_job_start(void **state)
{
    static const struct {
        const char *words;
        uint64_t base;
        const char *proposed; /* the resources that get a count; NULL: none */
    } cases[] = {
        {"L=power:5", 0, "power"},
        {"L=power:5,a:1", 0, "power"},
        {"L=power:5,a:2", 0, NULL},
        {"L=power:5,other:5", 0, "power other"},
        {"L=power:1,other:5", 0, "other"},
        {"L=power:5,other:5,a:2", 0, NULL},
        {"L=power:5", CONF_HRES_COUNT_MAX - 5, "power"},
        {"L=power:5", CONF_HRES_COUNT_MAX - 4, NULL},
        {"L=power:5,other:6", CONF_HRES_COUNT_MAX - 5, NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        static const char *const names[] = {"power", "other"};
        struct cluster *c = test_cluster(LICENSED);
        struct why *w;
        for (size_t k = 0; k < COUNT(names); k++) {
            struct bitset *nodes = bitset_new(c->nodes.len);
            bitset_fill(nodes);
            license_add_layer(c, names[k], CONF_HRES_EACH_LAYER, nodes, 2);
            vec_last(&c->licenses.list).base = cases[i].base;
        }
        test_up(c);
        test_queue_job(c, 1, cases[i].words);
        const Pb__WhyReply *m = test_ask_why(c, 1, NOW, &w);
        assert_string_equal(m->rule, "too_few");
        bool is_proposed = m->n_changes && str_eq(m->changes[0]->kind, "count");
        if (is_proposed != !!cases[i].proposed)
            fail_msg("case %zu: %d", i, is_proposed);
        _cleanup_str_ struct str commands = STR_INIT;
        for (size_t k = 0; k < COUNT(names); k++)
            if (cases[i].proposed && strstr(cases[i].proposed, names[k]))
                str_printf(&commands, "%sscontrol update license='%s' count=%llu",
                           commands.len ? " && " : "", names[k],
                           (unsigned long long)(5 + cases[i].base));
        if (is_proposed)
            assert_string_equal(m->changes[0]->command, str_cstr(&commands));
        why_free(w);
        test_cluster_free(c);
    }
}

static void add_layer(struct cluster *c, const char *name, enum conf_hres_mode mode, uint32_t first,
                      uint32_t end, uint64_t count)
{
    struct bitset *nodes = bitset_new(c->nodes.len);
    for (uint32_t i = first; i < end; i++)
        bitset_set(nodes, i);
    license_add_layer(c, name, mode, nodes, count);
}

/* A layer of mode 1 with enough for the job is sufficient, even where another layer has less. */
static void layer_with_too_little_is_not_named_beside_one_with_enough(void **state)
{
    static const struct {
        const char *words, *resource;
        uint64_t have, need;
    } cases[] = {
        {"N=2 L=debugger:2,power:7", "license:power(n[1-4])", 0, 14},
        {"N=2 L=power:7,debugger:2", "license:power(n[1-4])", 0, 14},
        {"w=n3 L=debugger:2,power:1", "license:debugger(n[1-4])", 1, 2}, /* it never has n1 */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c =
            test_cluster(CONS "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL\n");
        struct selection where = {0};
        struct why *w;
        add_layer(c, "debugger", CONF_HRES_ONE_LAYER, 0, 2, 2);
        add_layer(c, "debugger", CONF_HRES_ONE_LAYER, 0, 4, 1);
        add_layer(c, "power", CONF_HRES_PER_NODE, 0, 4, 21);
        test_up(c);
        struct job *first = test_job(c, 1, "N=3 L=power:7");
        _cleanup_bitset_ struct bitset *could = select_candidates(c, first);
        assert_int_equal(select_nodes(c, first, could, NULL, &where), 0);
        test_run_selection(c, first, &where, NOW + 100);
        test_queue_job(c, 2, cases[i].words);
        const Pb__WhyReply *m = test_ask_why(c, 2, NOW, &w);
        assert_string_equal(m->rule, "licenses");
        if (!str_eq(m->resource, cases[i].resource) || m->have != cases[i].have ||
            m->need != cases[i].need)
            fail_msg("case %zu: %s %llu of %llu", i, m->resource, (unsigned long long)m->have,
                     (unsigned long long)m->need);
        bool is_held = str_eq(m->resource, "license:power(n[1-4])");
        assert_int_equal(m->n_holders, is_held);
        if (is_held) {
            assert_int_equal(m->holders[0]->job_id, 1);
            assert_int_equal(m->holders[0]->count, 21);
        }
        why_free(w);
        select_done(&where);
        test_cluster_free(c);
    }
}

/* The name of a layer contains dynamic nodes and nodes that are no longer in slurm.conf. */
static void layer_is_named_with_nodes_that_do_not_exist(void **state)
{
    static const struct {
        const char *words, *rule, *resource;
    } cases[] = {{"w=n1 L=flat:5", "licenses", "license:flat(n[1-8])"},
                 {"w=n1 L=flat:9", "too_few", "license:flat(n[1-8])"},
                 {"w=n3 L=debugger:2", "licenses", "license:debugger(n[3-4,9])"}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster *c = test_cluster(
            CONS "MaxNodeCount=20\nNodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL\n"
                 "HresConf=flat Mode=MODE_2\nHresConf=flat Nodes=n[1-8] Count=8\n"
                 "HresConf=debugger Mode=MODE_1\nHresConf=debugger Nodes=n[3-4,9] Count=2\n");
        struct why *w;
        test_up(c);
        run_endless(c, 1, "L=flat:6", "n2:1");
        run_endless(c, 2, "L=debugger:1", "n4:1");
        test_queue_job(c, 3, cases[i].words);
        const Pb__WhyReply *m = test_ask_why(c, 3, NOW, &w);
        assert_string_equal(m->rule, cases[i].rule);
        assert_string_equal(m->resource, cases[i].resource);
        why_free(w);
        test_cluster_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_is_named_with_nodes_that_do_not_exist),
        cmocka_unit_test(each_reason_of_a_gate_has_its_rule),
        cmocka_unit_test(the_planner_finds_the_rule),
        cmocka_unit_test(a_removed_partition_is_told_from_one_that_is_down),
        cmocka_unit_test(a_node_is_short_of_what_the_job_would_fit_with),
        cmocka_unit_test(alternative_in_use_is_told_before_one_that_is_too_few),
        cmocka_unit_test(jobs_without_a_limit_that_hold_the_licence_are_named),
        cmocka_unit_test(count_is_proposed_when_it_lets_the_job_start),
        cmocka_unit_test(layer_with_too_little_is_not_named_beside_one_with_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
