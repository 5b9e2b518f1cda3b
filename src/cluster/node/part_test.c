/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Partitions as listed, and as changed live (part.c, part_change.c). */
#include "base/pb.h"
#include "cluster/cluster_test_util.h"
#include "cluster/part_change.h"

static const char conf[] =
    CONS "NodeName=n[1-4] CPUs=2 RealMemory=100\nNodeName=m CPUs=8 RealMemory=1000\n"
         "PartitionName=p Nodes=n[1-3],m MaxTime=60 DefaultTime=30 MinNodes=1 MaxNodes=3 "
         "OverSubscribe=FORCE:7 AllowGroups=staff Default=YES PriorityTier=9 Hidden=YES "
         "DefMemPerCPU=10 MaxMemPerNode=90 QOS=q GraceTime=8 OverTimeLimit=2\n"
         "PartitionName=q Nodes=ALL OverSubscribe=YES:5\n"
         "PartitionName=r Nodes= State=INACTIVE OverSubscribe=EXCLUSIVE\n";

static const Pb__PartRecord *list_part(const struct cluster *c, const struct part *p,
                                       struct arena *arena)
{
    struct str packed = STR_INIT;
    part_pack(c, p, &packed);
    const Pb__PartRecord *m =
        arena_unpack(arena, &pb__part_record__descriptor, packed.data, packed.len);
    assert_non_null(m);
    str_done(&packed);
    return m;
}

static void configured_partition_is_listed(void **state)
{
    struct cluster *c = test_cluster(conf);
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    const Pb__PartRecord *p = list_part(c, c->parts.data[0], &arena);
    assert_string_equal(p->name, "p");
    assert_string_equal(p->nodes, "n[1-3],m");
    assert_string_equal(p->state, "UP");
    assert_string_equal(p->share, "FORCE:7");
    assert_string_equal(p->allow_groups, "staff");
    assert_string_equal(p->qos, "q");
    assert_true(p->is_default && p->hidden && !p->root_only && !p->key && !p->lln);
    assert_int_equal(p->max_time_sec, 3600);
    assert_int_equal(p->default_time_sec, 1800);
    assert_int_equal(p->min_nodes, 1);
    assert_int_equal(p->max_nodes, 3);
    assert_int_equal(p->priority_tier, 9);
    assert_int_equal(p->def_mem_per_cpu_mib, 10);
    assert_int_equal(p->max_mem_per_node_mib, 90);
    assert_int_equal(p->grace_time_sec, 8);
    assert_int_equal(p->over_time_limit_sec, 120);
    assert_int_equal(p->total_nodes, 4);
    assert_int_equal(p->total_cpus, 14);
    assert_int_equal(p->total_mem_mib, 1300);
    test_cluster_free(c);
}

static void node_sets_are_listed(void **state)
{
    struct cluster *c =
        test_cluster(CONS "NodeName=n[1-4] CPUs=2\nNodeSet=s Nodes=n[1-2]\nNodeSet=t Nodes=n3\n"
                          "PartitionName=p Nodes=s,n4,t\nPartitionName=q Nodes=all\n"
                          "PartitionName=r Nodes=n1\n");
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    assert_string_equal(list_part(c, c->parts.data[0], &arena)->node_sets, "s,t");
    assert_string_equal(list_part(c, c->parts.data[0], &arena)->nodes, "n[1-4]");
    assert_string_equal(list_part(c, c->parts.data[1], &arena)->node_sets, "all");
    assert_null(list_part(c, c->parts.data[2], &arena)->node_sets);
    test_cluster_free(c);
}

static void partition_takes_defaults(void **state)
{
    struct cluster *c = test_cluster(conf);
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    const Pb__PartRecord *q = list_part(c, c->parts.data[1], &arena);
    assert_string_equal(q->share, "YES:5");
    assert_string_equal(q->nodes, "n[1-4],m");
    assert_true(q->max_time_sec == CONF_UNLIMITED);
    assert_true(q->max_nodes == UINT32_MAX && q->max_cpus_per_node == UINT32_MAX);
    assert_false(q->is_default || q->has_over_time_limit_sec || q->allow_groups);
    assert_int_equal(q->grace_time_sec, 0);
    const Pb__PartRecord *r = list_part(c, c->parts.data[2], &arena);
    assert_string_equal(r->share, "EXCLUSIVE");
    assert_string_equal(r->state, "INACTIVE");
    assert_string_equal(r->nodes, "");
    assert_int_equal(r->total_nodes + r->total_cpus + r->total_mem_mib, 0);
    test_cluster_free(c);
}

/* --- live changes --- */

static Pb__PartRecord make_changes(void)
{
    Pb__PartRecord m = PB__PART_RECORD__INIT;
    m.name = (char *)"p";
    return m;
}

/* What is listed of two partitions is the same but for this field; NULL: altogether. */
static void assert_same_but(const Pb__PartRecord *a, const Pb__PartRecord *b, const char *but)
{
    pb_each_field (&pb__part_record__descriptor, field) {
        if (field->label == PROTOBUF_C_LABEL_REQUIRED || str_starts(field->name, "total_") ||
            str_eq(field->name, "preempt_in_force"))
            continue;
        bool expected = !str_eq(field->name, but);
        if (pb_same_field(&a->base, &b->base, field) != expected)
            fail_msg("%s: %s %s", but ? but : "nothing", field->name,
                     expected ? "has changed, too" : "has not changed");
    }
}

static void assert_change_refused(struct cluster *c, const Pb__PartRecord *set, int code,
                                  const char *says)
{
    struct part *p = c->parts.data[0];
    struct err err = {0};
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__PartRecord *before = list_part(c, p, &arena);
    uint64_t stamp = c->stamp;
    size_t len = p->changes.len;

    int rc = part_change(c, p, set, &err);
    if (rc != -code || err.code != rc || !strstr(err.text, says))
        fail_msg("expected '%s', got %d: %s", says, rc, err.text);
    assert_int_equal(part_change(c, p, set, NULL), rc);
    assert_same_but(before, list_part(c, p, &arena), NULL);
    assert_int_equal(c->stamp, stamp);
    assert_int_equal(p->changes.len, len);
}

static void invalid_changes_are_refused(void **state)
{
    struct cluster *c = test_cluster(conf);
    Pb__PartRecord m;

    (void)state;
    for (int after = 0; after < 2; after++) { /* over the row, and over a change before */
        m = make_changes(), m.state = (char *)"OPEN";
        assert_change_refused(c, &m, ERR_PARSE, "OPEN");
        m = make_changes(), m.state = (char *)"";
        assert_change_refused(c, &m, ERR_PARSE, "partition state");
        m = make_changes(), m.share = (char *)"FORCE:0";
        assert_change_refused(c, &m, ERR_PARSE, "FORCE:0");
        m = make_changes(), m.preempt_mode = (char *)"GANG";
        assert_change_refused(c, &m, ERR_PARSE, "GANG is of the whole cluster");
        m = make_changes(), m.preempt_mode = (char *)"CANCEL,REQUEUE";
        assert_change_refused(c, &m, ERR_PARSE, "expected OFF, CANCEL, REQUEUE or SUSPEND");
        m = make_changes(), m.preempt_mode = (char *)"suspend";
        assert_change_refused(c, &m, ERR_PARSE, "needs GANG");
        m = make_changes(), m.has_grace_time_sec = true, m.grace_time_sec = -1;
        assert_change_refused(c, &m, ERR_RANGE, "GraceTime");
        m = make_changes(), m.nodes = (char *)"n[1-5]";
        assert_change_refused(c, &m, ERR_NO_NODE, "n5");
        m = make_changes(), m.nodes = (char *)"n[1-";
        assert_change_refused(c, &m, ERR_PARSE, "bracket");
        m = make_changes(), m.has_min_nodes = true, m.min_nodes = 4;
        assert_change_refused(c, &m, ERR_RANGE, "MinNodes=4");
        m = make_changes(), m.has_max_nodes = true, m.max_nodes = 0;
        assert_change_refused(c, &m, ERR_RANGE, "MaxNodes=0");
        m = make_changes(), m.has_max_time_sec = true, m.max_time_sec = 60;
        assert_change_refused(c, &m, ERR_RANGE, "DefaultTime");
        m = make_changes(), m.has_max_time_sec = m.has_default_time_sec = true;
        assert_change_refused(c, &m, ERR_RANGE, "MaxTime");
        m.max_time_sec = m.default_time_sec = -5;
        assert_change_refused(c, &m, ERR_RANGE, "MaxTime");
        m = make_changes(), m.state = (char *)"DOWN", m.nodes = (char *)"n9"; /* all or nothing */
        assert_change_refused(c, &m, ERR_NO_NODE, "n9");
        m = make_changes(), m.has_hidden = true, m.allow_groups = (char *)"x";
        assert_int_equal(part_change(c, c->parts.data[0], &m, NULL), 0);
    }
    test_cluster_free(c);
}

/* Gives the field another value than it has. */
static void set_other(Pb__PartRecord *m, const Pb__PartRecord *now,
                      const ProtobufCFieldDescriptor *field)
{
    static const char *const texts[][2] = {
        {"nodes", "n1,m"},         {"state", "DRAIN"},
        {"share", "EXCLUSIVE"},    {"allow_groups", "a,b"},
        {"alloc_nodes", "login"},  {"preempt_mode", "REQUEUE"},
        {"cpu_bind", "core"},      {"tres_billing_weights", "CPU=2,Mem=0.5G"},
        {"alternate", "other"},    {"topology", "net"},
        {"allow_accounts", "a,b"}, {"deny_accounts", "a"},
    };
    char *to = (char *)m + field->offset;
    const char *from = (const char *)now + field->offset;

    if (field->type == PROTOBUF_C_TYPE_STRING) {
        for (size_t i = 0; i < COUNT(texts); i++)
            if (str_eq(texts[i][0], field->name))
                *(const char **)to = texts[i][1];
        return;
    }
    *(protobuf_c_boolean *)((char *)m + field->quantifier_offset) = true;
    if (field->type == PROTOBUF_C_TYPE_BOOL)
        *(protobuf_c_boolean *)to = !*(const protobuf_c_boolean *)from;
    else if (field->type == PROTOBUF_C_TYPE_UINT32)
        *(uint32_t *)to = 2;
    else
        *(int64_t *)to = 2000;
}

/* Each field that may be changed is, and nothing else with it; the next change takes it back. */
static void each_field_is_changed_alone(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct part *p = c->parts.data[0];
    _cleanup_arena_ struct arena arena;
    size_t count = 0;

    (void)state;
    arena_init(&arena, 0);
    const Pb__PartRecord *before = list_part(c, p, &arena);
    pb_each_field (&pb__part_record__descriptor, field) {
        const char *shown;
        bool may = part_may_change(field->name, &shown);
        assert_non_null(shown); /* every field has a name for people */
        if (!may || str_eq(field->name, "name"))
            continue;
        Pb__PartRecord m = make_changes();
        set_other(&m, before, field);
        /* These take another field's place, or are shown in two. */
        bool coupled = str_eq(field->name, "def_mem_per_node_mib") ||
                       str_eq(field->name, "max_mem_per_cpu_mib") || str_eq(field->name, "key") ||
                       str_eq(field->name, "tres_billing_weights");
        assert_int_equal(part_change(c, p, &m, NULL), 0);
        assert_false(pb_same_field(&before->base, &list_part(c, p, &arena)->base, field));
        if (!coupled)
            assert_same_but(before, list_part(c, p, &arena), field->name);
        m = make_changes();
        assert_int_equal(part_change(c, p, &m, NULL), 0);
        assert_same_but(before, list_part(c, p, &arena), NULL);
        count++;
    }
    assert_true(count >= 20);
    const char *shown = "x";
    assert_false(part_may_change("nonsense", &shown));
    assert_null(shown);
    assert_false(part_may_change("total_cpus", &shown));
    assert_string_equal(shown, "TotalCPUs");
    test_cluster_free(c);
}

/* Of memory per CPU and per node the one named last is in force. */
static void last_set_of_memory_per_cpu_and_per_node_counts(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct part *p = c->parts.data[0];
    Pb__PartRecord m = make_changes();

    (void)state;
    m.has_def_mem_per_node_mib = m.has_max_mem_per_cpu_mib = true;
    m.def_mem_per_node_mib = 50;
    m.max_mem_per_cpu_mib = 60;
    assert_int_equal(part_change(c, p, &m, NULL), 0);
    assert_int_equal(p->conf.def_mem_per_cpu_mib, 0);
    assert_int_equal(p->conf.def_mem_per_node_mib, 50);
    assert_int_equal(p->conf.max_mem_per_node_mib, 0);
    assert_int_equal(p->conf.max_mem_per_cpu_mib, 60);
    m.def_mem_per_node_mib = m.max_mem_per_cpu_mib = 0; /* unset: the others stay */
    assert_int_equal(part_change(c, p, &m, NULL), 0);
    assert_int_equal(p->conf.def_mem_per_cpu_mib, 10);
    assert_int_equal(p->conf.max_mem_per_node_mib, 90);
    test_cluster_free(c);
}

static void node_list_of_a_partition_is_changed(void **state)
{
    static const struct {
        const char *expr;
        size_t count;
    } cases[] = {{"n4", 1}, {"ALL", 5}, {"all", 5}, {"", 0}, {"m,n[1-4],m", 5}, {"n[2-3]", 2}};
    struct cluster *c = test_cluster(conf);
    struct part *p = c->parts.data[0];
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        Pb__PartRecord m = make_changes();
        m.nodes = mem_strdup(cases[i].expr);
        uint64_t stamp = c->stamp;
        assert_int_equal(part_change(c, p, &m, NULL), 0);
        free(m.nodes); /* it was copied */
        assert_int_equal(bitset_count(p->nodes), cases[i].count);
        assert_string_equal(p->conf.nodes, cases[i].expr);
        assert_int_equal(list_part(c, p, &arena)->total_nodes, cases[i].count);
        assert_true(c->stamp > stamp);
    }
    Pb__PartRecord none = make_changes();
    assert_int_equal(part_change(c, p, &none, NULL), 0);
    assert_int_equal(bitset_count(p->nodes), 4);
    assert_int_equal(bitset_count(p->row->node_set), 4);
    test_cluster_free(c);
}

/* A limit is set, changed and removed while jobs run. */
static void maximum_of_cpus_per_node_is_kept(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct part *p = c->parts.data[0];
    struct job *j = test_job(c, 1, ""), *k = test_job(c, 2, ""), *other = test_job(c, 3, "");
    Pb__PartRecord m = make_changes();

    (void)state;
    other->part = c->parts.data[1];
    assert_int_equal(alloc_take(c, j, 4, 3, 0, NULL), 0);
    assert_int_equal(alloc_take(c, k, 4, 2, 0, NULL), 0);
    assert_int_equal(alloc_take(c, other, 4, 1, 0, NULL), 0);
    assert_null(p->used_cpus);
    m.has_max_cpus_per_node = true;
    m.max_cpus_per_node = 6;
    assert_int_equal(part_change(c, p, &m, NULL), 0);
    assert_int_equal(p->used_cpus[4], 5);
    alloc_clear(c, j);
    assert_int_equal(p->used_cpus[4], 2);
    m.max_cpus_per_node = 0; /* as scontrol says UNLIMITED */
    assert_int_equal(part_change(c, p, &m, NULL), 0);
    assert_null(p->used_cpus);
    assert_true(p->conf.max_cpus_per_node == UINT32_MAX);
    alloc_clear(c, k);
    test_cluster_free(c);
}

/* What is kept of a change makes the same partition of its row again. */
static void recorded_change_is_applied_again(void **state)
{
    struct cluster *c = test_cluster(conf), *next = test_cluster(conf);
    struct part *p = c->parts.data[0], *q = next->parts.data[0];
    _cleanup_arena_ struct arena arena;
    Pb__PartRecord m = make_changes();

    (void)state;
    arena_init(&arena, 0);
    assert_int_equal(p->changes.len, 0);
    m.nodes = (char *)"n4";
    m.state = (char *)"down";
    m.alloc_nodes = (char *)"login[1-2]";
    m.has_max_time_sec = true;
    m.max_time_sec = INT64_MAX;
    assert_int_equal(part_change(c, p, &m, NULL), 0);
    assert_int_equal(p->conf.state, CONF_PART_DOWN);
    const Pb__PartRecord *r =
        arena_unpack(&arena, &pb__part_record__descriptor, p->changes.data, p->changes.len);
    assert_non_null(r);
    assert_int_equal(part_change(next, q, r, NULL), 0);
    assert_same_but(list_part(c, p, &arena), list_part(next, q, &arena), NULL);
    assert_int_equal(p->changes.len, q->changes.len);
    assert_memory_equal(p->changes.data, q->changes.data, p->changes.len);
    test_cluster_free(c);
    test_cluster_free(next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_sets_are_listed),
        cmocka_unit_test(invalid_changes_are_refused),
        cmocka_unit_test(configured_partition_is_listed),
        cmocka_unit_test(partition_takes_defaults),
        cmocka_unit_test(each_field_is_changed_alone),
        cmocka_unit_test(last_set_of_memory_per_cpu_and_per_node_counts),
        cmocka_unit_test(node_list_of_a_partition_is_changed),
        cmocka_unit_test(maximum_of_cpus_per_node_is_kept),
        cmocka_unit_test(recorded_change_is_applied_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
