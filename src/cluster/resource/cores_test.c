/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The units of a node that a job gets. */
#include "cluster/cluster_test_util.h"
#include "cluster/resource/spec.h"

#define CONF(cr, node)                                                                             \
    "SelectType=select/cons_tres\nSelectTypeParameters=" cr "\nNodeName=n " node                   \
    " RealMemory=1000\nPartitionName=p Nodes=ALL\n"
#define TWO "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2"

/* Returns a cluster of one node, with this end of its configuration line. */
static struct cluster *make_cluster(const char *cr, const char *node)
{
    _cleanup_free_ char *text =
        mem_printf("SelectType=select/cons_tres\nSelectTypeParameters=%s\nNodeName=n %s\n"
                   "PartitionName=p Nodes=ALL\n",
                   cr, node);
    return test_cluster(text);
}

static struct node *get_only_node(struct cluster *c)
{
    return c->nodes.data[0];
}

/* Marks units as busy by a text such as "0101". */
static void mark_busy(struct node *n, const char *busy)
{
    bitset_zero(n->busy);
    for (size_t i = 0; busy[i]; i++)
        if (busy[i] == '1')
            bitset_set(n->busy, i);
    n->free_units = n->units - (uint32_t)bitset_count(n->busy);
}

static void put_units(const struct node *n, const struct bitset *units, char *text)
{
    for (size_t i = 0; i < n->units; i++)
        text[i] = bitset_test(units, i) ? '1' : '0';
    text[n->units] = 0;
}

static void make_idle(struct node *n)
{
    n->free_units = n->units;
    bitset_zero(n->busy);
}

static void check_choice(const char *busy, uint32_t units, uint32_t per_socket, const char *near,
                         const char *expected)
{
    struct cluster *c = test_cluster(CONF("CR_Core", TWO));
    struct node *n = get_only_node(c);
    char text[64] = "none";
    _cleanup_bitset_ struct bitset *out = bitset_new(n->units), *list = bitset_new(n->units);
    mark_busy(n, busy);
    cores_of_list(n, near, list);
    const struct cores_want want = {
        .units = units, .per_socket = per_socket, .near = near ? list : NULL};
    if (cores_choose(n, &want, out))
        put_units(n, out, text);
    if (strcmp(text, expected) != 0)
        fail_msg("%u of %s: %s, expected %s", units, busy, text, expected);
    make_idle(n);
    test_cluster_free(c);
}

static void units_are_chosen_near_each_other(void **state)
{
    (void)state;
    check_choice("00000000", 2, 0, NULL, "11000000");
    check_choice("11000000", 2, 0, NULL, "00110000"); /* the tighter socket */
    check_choice("11000000", 3, 0, NULL, "00001110"); /* one socket rather than two */
    check_choice("11001000", 5, 0, NULL, "00110111");
    check_choice("11100000", 5, 0, NULL, "00011111");
    check_choice("11111110", 1, 0, NULL, "00000001");
    check_choice("11111110", 2, 0, NULL, "none");
    check_choice("00000000", 4, 2, NULL, "11001100");
    check_choice("00000000", 5, 2, NULL, "none");
    check_choice("11100000", 3, 2, NULL, "00011100");
    check_choice("00000000", 2, 0, "4-7", "00001100");
    check_choice("00000000", 2, 0, "6", "00001010"); /* the near one, and one on its socket */
    check_choice("00000000", 8, 0, "6", "11111111");
    check_choice("00000000", 0, 0, NULL, "00000000");
}

/* Units beyond those that per_socket limits. */
static void units_beyond_the_limit_of_sockets_are_refused(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(CONF("CR_Core", TWO));
    struct node *n = get_only_node(c);
    _cleanup_bitset_ struct bitset *out = bitset_new(n->units);
    assert_false(cores_choose(n, &(struct cores_want){5, 1, 2}, out)); /* three from two sockets */
    assert_true(bitset_empty(out));
    assert_true(cores_choose(n, &(struct cores_want){7, 1, 5}, out));
    assert_int_equal(bitset_count(out), 7);
    bitset_zero(out);
    const uint32_t left[] = {2, 1};
    assert_false(cores_choose(n, &(struct cores_want){4, 1, 3, left}, out));
    assert_true(cores_choose(n, &(struct cores_want){3, 1, 2, left}, out));
    assert_int_equal(bitset_count(out), 3);
    assert_int_equal(cores_room(n, NULL, 1, NULL, 1), 2);
    assert_int_equal(cores_room(n, NULL, 3, left, 1), 3);
    /* one task for each unit of a socket with four, not for each of its CPUs */
    assert_int_equal(cores_tasks(n, &(struct cores_pack){9, 2, 1, 1, NULL}), 8);
    test_cluster_free(c);
}

/* Two CPUs on each core, two sockets with four cores: pairs of free CPUs are taken together. */
static void cpus_of_a_core_are_taken_together(void **state)
{
    static const struct {
        const char *busy;
        uint32_t units, per_socket, room;
        bool cyclic;
        const char *expected;
    } cases[] = {
        {"0000000000000000", 4, 0, 16, false, "1111000000000000"},
        {"0000000000000000", 4, 0, 16, true, "1100000011000000"},
        {"1000000000000000", 4, 0, 14, false, "0011110000000000"},
        {"0100000000000001", 6, 0, 12, true, "0011110011000000"},
        {"1010101011111100", 2, 0, 2, false, "0000000000000011"},
        {"1010101010101010", 2, 0, 0, false, "none"},
        {"0000000000000000", 4, 2, 16, false, "1100000011000000"},
        {"0000000000000000", 6, 2, 16, true, "none"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cluster *c = test_cluster(CONF("CR_CPU", TWO));
        struct node *n = get_only_node(c);
        char text[64] = "none";
        _cleanup_bitset_ struct bitset *out = bitset_new(n->units);
        mark_busy(n, cases[i].busy);
        const struct cores_want want = {.units = cases[i].units,
                                        .per_socket = cases[i].per_socket,
                                        .cyclic = cases[i].cyclic,
                                        .together = 2};
        if (cores_choose(n, &want, out))
            put_units(n, out, text);
        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("case %zu: %s", i, text);
        assert_int_equal(cores_room(n, NULL, 0, NULL, 2), cases[i].room);
        make_idle(n);
        test_cluster_free(c);
    }
}

/* Each socket gives at most its remaining units. */
static void each_socket_gives_at_most_its_cap(void **state)
{
    static const struct {
        const char *busy;
        uint32_t units, left[2];
        const char *expected;
        uint32_t room;
    } cases[] = {
        {"00000000", 4, {2, 3}, "10001110", 5},
        {"00000000", 3, {2, 3}, "00001110", 5}, /* one sufficient socket */
        {"00000000", 6, {2, 3}, "none", 5},
        {"00000000", 5, {2, 3}, "11001110", 5},
        {"11110000", 3, {4, 2}, "none", 2},
        {"00000000", 8, {4, 4}, "11111111", 8},
        {"00000000", 1, {0, 0}, "none", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cluster *c = test_cluster(CONF("CR_Core", TWO));
        struct node *n = get_only_node(c);
        char text[64] = "none";
        _cleanup_bitset_ struct bitset *out = bitset_new(n->units);
        mark_busy(n, cases[i].busy);
        const struct cores_want want = {.units = cases[i].units, .socket_left = cases[i].left};
        if (cores_choose(n, &want, out))
            put_units(n, out, text);
        assert_string_equal(text, cases[i].expected);
        assert_int_equal(cores_room(n, NULL, 0, cases[i].left, 1), cases[i].room);
        make_idle(n);
        test_cluster_free(c);
    }
}

static void units_of_a_node_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *cr, *node;
        uint32_t units, cpus_per_unit, per_socket, cpus, spec;
    } cases[] = {
        {"CR_Core", TWO, 8, 2, 4, 16, 0},
        {"CR_CPU", TWO, 16, 1, 8, 16, 0},
        {"CR_Socket", TWO, 2, 8, 1, 16, 0},
        {"CR_Core", TWO " CoreSpecCount=2", 6, 2, 4, 12, 4},
        {"CR_CPU", TWO " CoreSpecCount=1", 14, 1, 8, 14, 2},
        {"CR_Core", TWO " CpuSpecList=0,8-9", 6, 2, 4, 12, 4},
        {"CR_Core", "CPUs=4", 4, 1, 1, 4, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cluster *c = make_cluster(cases[i].cr, cases[i].node);
        const struct node *n = get_only_node(c);
        assert_int_equal(n->units, cases[i].units);
        assert_int_equal(n->cpus_per_unit, cases[i].cpus_per_unit);
        assert_int_equal(n->units_per_socket, cases[i].per_socket);
        assert_int_equal(n->cpus, cases[i].cpus);
        assert_int_equal(n->spec_cpus, cases[i].spec);
        test_cluster_free(c);
    }
}

/* The reserved CPUs, the socket of each unit, and the units of a list of cores. */
static void specialised_cpus_are_those_of_the_node_line(void **state)
{
    (void)state;
    static const struct {
        const char *cr, *node, *kept, *sockets, *near;
    } cases[] = {
        {"CR_Core", TWO " CoreSpecCount=1", "14-15", "0000111", "0000111"},
        {"CR_Core", TWO " CoreSpecCount=2", "6-7,14-15", "000111", "000111"},
        {"CR_Core", TWO " CoreSpecCount=3", "6-7,12-15", "00011", "00011"},
        {"CR_Core,CR_Pack_Nodes", TWO " CpuSpecList=0,8-9", "0-1,8-9", "000111", "000111"},
        {"CR_Core", TWO " CpuSpecList=0-7", "0-7", "1111", "1111"},
        {"CR_CPU", TWO " CoreSpecCount=1", "14-15", "00000000111111", "00000000111111"},
        {"CR_CPU", TWO " CpuSpecList=3", "2-3", "00000011111111", "00000011111111"},
        {"CR_Socket", TWO " CoreSpecCount=2", "8-15", "0", "0"},
        {"CR_Core\nSchedulerParameters=spec_cores_first", TWO " CoreSpecCount=3", "0-3,8-9",
         "00111", "00111"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cluster *c = make_cluster(cases[i].cr, cases[i].node);
        const struct node *n = get_only_node(c);
        _cleanup_str_ struct str kept = STR_INIT, sockets = STR_INIT, near = STR_INIT;
        _cleanup_bitset_ struct bitset *list = bitset_new(n->units);
        spec_put_list(n, &kept);
        assert_string_equal(str_cstr(&kept), cases[i].kept);
        cores_of_list(n, "4-7", list); /* the second socket */
        for (size_t unit = 0; unit < n->units; unit++) {
            str_printf(&sockets, "%u", cores_socket(n, unit));
            str_printf(&near, "%d", bitset_test(list, unit));
            assert_true(spec_has_unit_at(n, spec_place(n, unit)));
            assert_int_equal(spec_units_before(n, spec_place(n, unit)), unit);
        }
        assert_string_equal(str_cstr(&sockets), cases[i].sockets);
        assert_string_equal(str_cstr(&near), cases[i].near);
        test_cluster_free(c);
    }
}

static void tasks_are_packed_on_units(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(CONF("CR_Core", TWO));
    struct node *n = get_only_node(c);
    assert_int_equal(cores_tasks(n, &(struct cores_pack){1, 2, 1, 0, NULL}), 2);
    assert_int_equal(cores_tasks(n, &(struct cores_pack){9, 2, 1, 0, NULL}), 16);
    assert_int_equal(cores_tasks(n, &(struct cores_pack){9, 1, 1, 0, NULL}), 8);
    assert_int_equal(cores_tasks(n, &(struct cores_pack){9, 1, 3, 0, NULL}), 2);
    mark_busy(n, "11100000");
    assert_int_equal(cores_tasks(n, &(struct cores_pack){2, 1, 1, 0, NULL}), 3);
    assert_int_equal(cores_tasks(n, &(struct cores_pack){2, 1, 2, 0, NULL}), 2);
    mark_busy(n, "00000000");
    test_cluster_free(c);
}

/* Jobs of users that exclude other users. */
static void jobs_exclude_units_of_other_users(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(CONF("CR_Core", TWO));
    test_up(c);
    struct job *a = test_job(c, 1, "exclusive-user"), *b = test_job(c, 2, ""),
               *own = test_job(c, 3, "");
    a->uid = own->uid = 1;
    b->uid = 2;
    assert_int_equal(alloc_take(c, a, 0, 1, 0, NULL), 0);
    assert_int_equal(alloc_take(c, b, 0, 1, 0, NULL), -ERR_NODES_BUSY);
    assert_int_equal(alloc_take(c, own, 0, 1, 0, NULL), 0);
    job_set_state(c, a, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    job_set_state(c, own, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    test_sound(c);
    assert_int_equal(c->pool.locked, 1);
    uint64_t freed = c->pool.freed;
    cluster_remove_job(c, a); /* the other job of the same user shares */
    assert_true(c->pool.freed > freed);
    assert_int_equal(c->pool.locked, 0);
    assert_int_equal(alloc_take(c, b, 0, 1, 0, NULL), 0);
    a = test_job(c, 4, "exclusive-user");
    a->uid = 1;
    assert_int_equal(alloc_take(c, a, 0, 1, 0, NULL), -ERR_NODES_BUSY);
    cluster_remove_job(c, b);
    assert_int_equal(alloc_take(c, a, 0, 1, 0, NULL), 0);
    job_set_state(c, a, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    test_sound(c);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(units_are_chosen_near_each_other),
        cmocka_unit_test(units_beyond_the_limit_of_sockets_are_refused),
        cmocka_unit_test(each_socket_gives_at_most_its_cap),
        cmocka_unit_test(cpus_of_a_core_are_taken_together),
        cmocka_unit_test(units_of_a_node_are_counted),
        cmocka_unit_test(specialised_cpus_are_those_of_the_node_line),
        cmocka_unit_test(tasks_are_packed_on_units),
        cmocka_unit_test(jobs_exclude_units_of_other_users)};
    return cmocka_run_group_tests(list, NULL, NULL);
}
