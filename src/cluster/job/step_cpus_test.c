/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CPUs of a job that its steps get: whole cores, no CPU twice while others are free. */
#include "cluster/job/step_cpus.h"

#include "cluster/cluster_test_util.h"

/* Four cores of two threads; units are cores, CPUs or sockets. */
static const char cores[] =
    CONS "NodeName=a Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=9\n"
         "PartitionName=p Nodes=ALL\n";
static const char cpus[] = "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
                           "NodeName=a Sockets=2 CoresPerSocket=2 ThreadsPerCore=2\n"
                           "PartitionName=p Nodes=ALL\n";
static const char sockets[] = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Socket\n"
                              "NodeName=a Sockets=2 CoresPerSocket=2 ThreadsPerCore=2\n"
                              "PartitionName=p Nodes=ALL\n";

static const char *show_cpus(const struct bitset *set)
{
    static char text[65];
    for (size_t i = 0; i < set->size; i++)
        text[i] = bitset_test(set, i) ? 'x' : '.';
    text[set->size] = '\0';
    return text;
}

struct bench {
    struct cluster *c;
    struct node *n;
    struct alloc_node *a;
};

static struct bench begin_bench(const char *conf, uint32_t units)
{
    struct bench b = {.c = test_cluster(conf)};
    struct job *j = test_job(b.c, 1, "p=p");
    test_up(b.c);
    job_load_state(b.c, j, PB__JOB_STATE__RUNNING);
    assert_int_equal(alloc_take(b.c, j, 0, units, 0, NULL), 0);
    b.n = b.c->nodes.data[0];
    b.a = &attempt_of(j)->alloc.data[0];
    return b;
}

static void cpus_of_a_job_are_those_of_its_units(void **state)
{
    static const struct {
        const char *conf;
        uint32_t units;
        const char *expect;
    } v[] = {{cores, 1, "xx......"},   {cores, 4, "xxxxxxxx"}, {cpus, 3, "xx..x..."},
             {sockets, 1, "xxxx...."}, {cpus, 8, "xxxxxxxx"},  {sockets, 2, "xxxxxxxx"}};
    for (size_t i = 0; i < COUNT(v); i++) {
        struct bench b = begin_bench(v[i].conf, v[i].units);
        _cleanup_bitset_ struct bitset *set = step_cpus_of_job(b.n, b.a);
        assert_string_equal(show_cpus(set), v[i].expect);
        test_cluster_free(b.c);
    }
}

static void steps_take_free_cpus_one_after_another(void **state)
{
    static const struct {
        const char *what;
        int gives_back; /* index of an earlier step; -1: none */
        uint32_t cpus;
        bool shares;
        const char *expect;
    } v[] = {
        {"a thread begins a core", -1, 1, false, "x......."},
        {"two are another core", -1, 2, false, "..xx...."},
        {"one more is the rest of the first", -1, 1, false, ".x......"},
        {"who shares takes what is idle", -1, 3, true, "....xxx."},
        {"and leaves it", -1, 3, false, "....xxx."},
        {"more than is idle, for who shares", -1, 2, true, "......xx"},
        {"what was given back", 1, 2, false, "..xx...."},
        {"the last one", -1, 1, false, ".......x"},
        {"all, for who shares", -1, 8, true, "xxxxxxxx"},
    };
    struct bench b = begin_bench(cores, 4);
    struct step_node s[COUNT(v)] = {0};
    for (size_t i = 0; i < COUNT(v); i++) {
        if (v[i].gives_back >= 0)
            step_cpus_give_back(b.a, &s[v[i].gives_back], v[v[i].gives_back].shares);
        s[i].cpus = v[i].cpus;
        step_cpus_take(b.n, b.a, &s[i], v[i].shares, (struct step_cpus_way){0});
        if (!str_eq(show_cpus(s[i].own), v[i].expect))
            fail_msg("%s: %s", v[i].what, show_cpus(s[i].own));
    }
    for (size_t i = 0; i < COUNT(v); i++)
        step_cpus_give_back(b.a, &s[i], v[i].shares);
    assert_true(bitset_empty(b.a->step_busy));
    test_cluster_free(b.c);
}

/* Records with and without CPU sets; sets of a node that was larger. */
static void step_cpus_are_restored_from_records(void **state)
{
    struct bench b = begin_bench(cores, 3);
    struct step_node was = {.cpus = 3}, is = {.cpus = 3}, old = {.cpus = 2}, large = {.cpus = 2};
    Pb__StepNode m = PB__STEP_NODE__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    step_cpus_take(b.n, b.a, &was, false, (struct step_cpus_way){0});
    m.has_cpu_set = true;
    m.cpu_set = step_cpus_pack(was.own, &arena);
    step_cpus_give_back(b.a, &was, false);
    step_cpus_retake(b.n, b.a, &is, false, &m);
    assert_string_equal(show_cpus(is.own), "xxx.....");
    m.has_cpu_set = false;
    step_cpus_retake(b.n, b.a, &old, false, &m);
    assert_string_equal(show_cpus(old.own), "....xx..");
    m.has_cpu_set = true;
    m.cpu_set =
        (ProtobufCBinaryData){4, (uint8_t *)"\x88\xff\xff\xff"}; /* some do not belong to the job */
    step_cpus_retake(b.n, b.a, &large, false, &m);
    assert_string_equal(show_cpus(large.own), "...x....");
    step_cpus_give_back(b.a, &large, false);
    m.cpu_set = (ProtobufCBinaryData){1, (uint8_t *)"\xc0"}; /* none belongs to the job */
    step_cpus_retake(b.n, b.a, &large, false, &m);
    assert_string_equal(show_cpus(large.own), "..xx....");
    assert_string_equal(show_cpus(b.a->step_busy), "xxxxxx..");
    step_cpus_give_back(b.a, &is, false);
    step_cpus_give_back(b.a, &old, false);
    step_cpus_give_back(b.a, &large, false);
    test_cluster_free(b.c);
}

static void cpu_sets_are_packed_and_unpacked(void **state)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    _cleanup_bitset_ struct bitset *set = bitset_new(130);
    assert_int_equal(step_cpus_pack(set, &arena).len, 0);
    bitset_set(set, 3);
    bitset_set(set, 70);
    ProtobufCBinaryData d = step_cpus_pack(set, &arena);
    assert_int_equal(d.len, 9);
    assert_memory_equal(d.data, "\x08\0\0\0\0\0\0\0\x40", 9);
}

static void step_takes_whole_cores_or_spreads_over_sockets(void **state)
{
    static const struct {
        uint32_t before, cpus; /* CPUs of another step, whole cores first */
        struct step_cpus_way way;
        const char *expect;
    } v[] = {
        {0, 1, {true, 0}, "x......."},  {0, 2, {true, 0}, "xx......"},
        {0, 3, {true, 0}, "xx..x..."},  {0, 4, {true, 0}, "xx..xx.."},
        {0, 6, {true, 0}, "xxxxxx.."},  {0, 9, {true, 0}, "xxxxxxxx"},
        {0, 2, {false, 1}, "x.x....."}, {0, 2, {true, 1}, "x...x..."},
        {0, 4, {true, 1}, "x.x.x.x."},  {0, 5, {true, 1}, "xxx.x.x."},
        {0, 6, {true, 1}, "xxx.xxx."},  {0, 8, {true, 1}, "xxxxxxxx"},
        {0, 4, {true, 2}, "xx..xx.."},  {0, 3, {true, 2}, "xx..x..."},
        {1, 2, {true, 1}, "..x.x..."},                                 /* one after the idle ones */
        {1, 4, {true, 1}, ".xx.x.x."},  {6, 3, {true, 1}, "x.....xx"}, /* one is shared */
    };
    for (size_t i = 0; i < COUNT(v); i++) {
        struct bench b = begin_bench(cores, 4);
        struct step_node was = {.cpus = v[i].before}, s = {.cpus = v[i].cpus};
        step_cpus_take(b.n, b.a, &was, false, (struct step_cpus_way){0});
        step_cpus_take(b.n, b.a, &s, false, v[i].way);
        if (strcmp(show_cpus(s.own), v[i].expect) != 0)
            fail_msg("row %zu: %s", i, show_cpus(s.own));
        step_cpus_give_back(b.a, &s, false);
        step_cpus_give_back(b.a, &was, false);
        test_cluster_free(b.c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpus_of_a_job_are_those_of_its_units),
        cmocka_unit_test(steps_take_free_cpus_one_after_another),
        cmocka_unit_test(step_takes_whole_cores_or_spreads_over_sockets),
        cmocka_unit_test(step_cpus_are_restored_from_records),
        cmocka_unit_test(cpu_sets_are_packed_and_unpacked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
