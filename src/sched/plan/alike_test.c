/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/alike.h"

#include "base/pb.h"
#include "sched/sched_test_util.h"

#define MANY 2000

static const char conf[] =
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
    "GresTypes=gpu\nNodeName=n[1-4] CPUs=64 RealMemory=10000 Feature=a,b Gres=gpu:4\n"
    "PartitionName=p Nodes=ALL Default=YES OverSubscribe=YES:4\nPartitionName=q Nodes=ALL\n";

static struct job *job(struct cluster *c, uint32_t id, const char *words, int64_t limit_sec,
                       uint32_t uid)
{
    struct job *j = test_job(c, id, words);
    j->limit_sec = limit_sec;
    j->uid = uid;
    return j;
}

static bool is_known(const struct alike *set, const struct job *j, bool of_user)
{
    return alike_has(set, j, of_user, alike_hash(j, of_user));
}

static void add_job(struct alike *set, const struct job *j, bool of_user)
{
    alike_add(set, j, of_user, alike_hash(j, of_user));
}

static void known_request_covers_equal_and_larger_ones(void **state)
{
    static const struct {
        const char *a, *b;
        int64_t a_limit, b_limit;
        bool does;
    } cases[] = {
        {"", "", 60, 60, true},
        {"", "", 61, 60, true},
        {"", "", 59, 60, false},
        {"N=1-4 sizes=1,4", "N=1-4 sizes=1,4", 60, 60, true},
        {"N=1-4 sizes=1,4", "N=1-4 sizes=1,2,4", 60, 60, false},
        {"N=1-4 sizes=1,4", "N=1-4", 60, 60, false},
        {"n=2", "n=3", 60, 60, false},
        {"n=2", "n=2", 60, 60, true},
        {"C=a", "", 60, 60, false},
        {"C=a", "C=b", 60, 60, false},
        {"C=a", "C=a", 60, 60, true},
        {"w=n1", "", 60, 60, false},
        {"w=n1", "w=n1", 60, 60, true},
    };
    struct cluster *c = test_cluster(conf);

    for (uint32_t i = 0; i < COUNT(cases); i++) {
        struct job *a = job(c, 2 * i + 1, cases[i].a, cases[i].a_limit, 1);
        struct job *b = job(c, 2 * i + 2, cases[i].b, cases[i].b_limit, 1);
        struct alike set = {0};
        assert_int_equal(alike_covers(a, b), cases[i].does);
        assert_false(is_known(&set, a, false));
        add_job(&set, b, false);
        assert_true(is_known(&set, b, false));
        assert_int_equal(is_known(&set, a, false), cases[i].does);
        alike_clear(&set);
        assert_false(is_known(&set, b, false));
        alike_done(&set);
    }
    test_cluster_free(c);
}

/* The shortest job represents all jobs with an equal request. */
static void shortest_job_represents_equal_requests(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct alike set = {0};

    for (uint32_t i = 0; i < 100; i++) {
        struct job *j = job(c, i + 1, "n=3", 1000 - i, 1);
        assert_false(is_known(&set, j, false));
        add_job(&set, j, false);
        assert_int_equal(set.list.len, 1);
    }
    assert_true(is_known(&set, job(c, 200, "n=3", 901, 1), false));
    assert_false(is_known(&set, job(c, 201, "n=3", 900, 1), false));
    alike_done(&set);
    test_cluster_free(c);
}

static void requests_of_each_user_are_distinguished(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct alike set = {0};

    add_job(&set, job(c, 1, "n=3", 60, 1), true);
    assert_true(is_known(&set, job(c, 2, "n=3", 60, 1), true));
    assert_false(is_known(&set, job(c, 3, "n=3", 60, 2), true));
    alike_done(&set);
    test_cluster_free(c);
}

/* The result equals a comparison of each job with all before it. */
static void known_requests_agree_with_exhaustive_comparison(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct alike set = {0};
    struct job *jobs[MANY];
    uint64_t chance = 5;

    for (uint32_t i = 0; i < MANY; i++) {
        char words[32];
        bool known = false;
        snprintf(words, sizeof words, "n=%u", test_between(&chance, 1, 600));
        jobs[i] = job(c, i + 1, words, test_between(&chance, 1, 50), 1);
        jobs[i]->part = c->parts.data[test_between(&chance, 0, 1)];
        for (uint32_t k = 0; k < i; k++)
            known = known || alike_covers(jobs[i], jobs[k]);
        assert_int_equal(is_known(&set, jobs[i], false), known);
        if (!known)
            add_job(&set, jobs[i], false);
    }
    alike_done(&set);
    test_cluster_free(c);
}

#define ALIKE false
#define APART true
#define NEVER
#define PENDING(key)
#define ALWAYS(key)
#define JOB_LIVE(member, text, json, columns, why)
#define JOB_SPEC(member, options, update, lua, lua_name, alike, text, json, columns, why)          \
    {#member, alike},
static const struct {
    const char *member;
    bool apart;
} rows[] = {
#include "proto/job_field.def"
};

static bool may_be_apart(const char *member)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_eq(rows[i].member, member))
            return rows[i].apart;
    fail_msg("proto/job_field.def has no row %s", member);
    return false;
}

/* Sets a field to one of several values of its kind, including 0 and false. */
static bool set_value(Pb__JobSpec *s, const ProtobufCFieldDescriptor *f, size_t i)
{
    static const char *const texts[] = {"a",     "n[1-2]",          "1,3",    "q",
                                        "gpu:1", "enforce-binding", "cyclic", "block,pack"};
    static const int64_t numbers[] = {1, 2, 3, 100, 0};
    void *at = (char *)s + f->offset;
    if (f->label == PROTOBUF_C_LABEL_REPEATED || f->type == PROTOBUF_C_TYPE_BYTES)
        return false;
    if (f->type == PROTOBUF_C_TYPE_STRING) {
        if (i < COUNT(texts))
            *(const char **)at = texts[i];
        return i < COUNT(texts);
    }
    if (i >= COUNT(numbers))
        return false;
    memcpy(at, &numbers[i], pb_value_size(f)); /* little endian */
    *(protobuf_c_boolean *)((char *)s + f->quantifier_offset) = 1;
    return true;
}

static struct job *job_of_spec(struct cluster *c, uint32_t id, const Pb__JobSpec *spec)
{
    struct job *j = cluster_add_job(c, id);
    j->part = c->parts.data[0];
    bool good = (!spec->partition || job_partitions_resolve(c, j, spec->partition)) &&
                job_read_spec(c, j, spec, NULL) == 0;
    j->limit_sec = spec->has_time_limit_sec ? spec->time_limit_sec : 60;
    j->uid = spec->uid;
    if (good)
        return j;
    cluster_remove_job(c, j);
    return NULL;
}

/* Whether two jobs that differ in this field only are distinguished. */
static bool are_apart(struct cluster *c, const Pb__JobSpec *base, const ProtobufCFieldDescriptor *f)
{
    bool apart = false;
    for (size_t i = 0;; i++) {
        Pb__JobSpec other = *base;
        if (!set_value(&other, f, i))
            return apart;
        struct job *a = job_of_spec(c, 1, base), *b = job_of_spec(c, 2, &other);
        assert_non_null(a);
        apart = apart || (b && (!alike_covers(a, b) || !alike_covers(b, a)));
        if (b)
            cluster_remove_job(c, b);
        cluster_remove_job(c, a);
    }
}

/* Compares with the table of fields. */
static void each_field_distinguishes_requests(void **state)
{
    struct cluster *c = test_cluster(conf);
    Pb__JobSpec plain = PB__JOB_SPEC__INIT, wide = PB__JOB_SPEC__INIT;
    size_t wrong = 0;

    SET(&wide, min_nodes, 1);
    SET(&wide, max_nodes, 4);
    SET(&wide, exclusive, true);
    SET(&wide, exclusive_user, true);
    SET(&wide, sockets_per_node, 1);
    wide.gres = (char *)"gpu:2";
    pb_each_field (&pb__job_spec__descriptor, f) {
        bool apart = are_apart(c, &plain, f) || are_apart(c, &wide, f);
        if (apart == may_be_apart(f->name))
            continue;
        print_error("job_field.def: %s: jobs that differ in it are %s\n", f->name,
                    apart ? "APART" : "ALIKE");
        wrong++;
    }
    assert_int_equal(wrong, 0);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_request_covers_equal_and_larger_ones),
        cmocka_unit_test(shortest_job_represents_equal_requests),
        cmocka_unit_test(requests_of_each_user_are_distinguished),
        cmocka_unit_test(known_requests_agree_with_exhaustive_comparison),
        cmocka_unit_test(each_field_distinguishes_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
