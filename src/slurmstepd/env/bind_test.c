/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "slurmstepd/env/bind.h"

#define MAP(each_, threads_, per_socket_)                                                          \
    {                                                                                              \
        .base = PROTOBUF_C_MESSAGE_INIT(&pb__cpu_map__descriptor), .has_each = 1, .each = each_,   \
        .has_threads = 1, .threads = threads_, .has_per_socket = 1, .per_socket = per_socket_,     \
        .n_number = 16, .number = numbers, .n_numa = 16, .numa = numa                              \
    }

/* Two sockets of four cores of two threads: the kernel counts the second threads from 8 on. */
static uint32_t numbers[] = {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15};
static uint32_t numa[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
static const Pb__CpuMap threads = MAP(1, 2, 8), cores = MAP(2, 1, 4);

#define AUTO PB__BIND_KIND__BIND_AUTO
#define NONE PB__BIND_KIND__BIND_NONE
#define THREADS PB__BIND_KIND__BIND_THREADS
#define CORES PB__BIND_KIND__BIND_CORES
#define SOCKETS PB__BIND_KIND__BIND_SOCKETS
#define LDOMS PB__BIND_KIND__BIND_LDOMS
#define RANK PB__BIND_KIND__BIND_RANK
#define RANK_LDOM PB__BIND_KIND__BIND_RANK_LDOM
#define LIST PB__BIND_KIND__BIND_MAP
#define MASK PB__BIND_KIND__BIND_MASK
#define MAP_LDOM PB__BIND_KIND__BIND_MAP_LDOM
#define MASK_LDOM PB__BIND_KIND__BIND_MASK_LDOM
#define BLOCK DIST_BLOCK
#define FCYCLIC DIST_FCYCLIC

static const struct {
    const char *what;
    const Pb__CpuMap *map;
    uint32_t mine; /* CPUs of the configuration */
    uint32_t tasks, cpus;
    Pb__BindKind kind;
    enum dist_order sockets;
    bool one_thread;
    const char *list[4];
    const char *expect; /* sets of the kernel's numbers */
} rows[] = {
    {"none", &threads, 0xffff, 2, 1, NONE, 0, false, {0}, "free"},
    {"nothing is the step's", &threads, 0, 2, 1, CORES, 0, false, {0}, "free"},
    {"all of them", &threads, 0xffff, 3, 1, AUTO, 0, false, {0}, "0xffff 0xffff 0xffff"},
    {"of some", &threads, 0x0f, 3, 1, AUTO, 0, false, {0}, "0x303 0x303 0x303"},
    {"a thread each, by itself", &threads, 0x0f, 4, 1, AUTO, 0, false, {0}, "0x1 0x2 0x100 0x200"},
    {"a core each, by itself",
     &threads,
     0xff,
     4,
     1,
     AUTO,
     0,
     false,
     {0},
     "0x101 0x202 0x404 0x808"},
    {"a socket each, by itself", &threads, 0xffff, 2, 1, AUTO, 0, false, {0}, "0xf0f 0xf0f0"},
    {"all threads of two", &threads, 0xffff, 2, 8, AUTO, 0, false, {0}, "0xf0f 0xf0f0"},
    {"cores, from socket to socket",
     &threads,
     0xffff,
     4,
     1,
     CORES,
     0,
     false,
     {0},
     "0x101 0x1010 0x202 0x2020"},
    {"cores, socket after socket",
     &threads,
     0xffff,
     4,
     1,
     CORES,
     BLOCK,
     false,
     {0},
     "0x101 0x202 0x404 0x808"},
    {"two CPUs are a core", &threads, 0xffff, 2, 2, CORES, BLOCK, false, {0}, "0x101 0x202"},
    {"three CPUs are two cores", &threads, 0xffff, 2, 3, CORES, BLOCK, false, {0}, "0x303 0xc0c"},
    {"from socket to socket within a task",
     &threads,
     0xffff,
     2,
     2,
     CORES,
     FCYCLIC,
     false,
     {0},
     "0x1111 0x2222"},
    {"threads", &threads, 0xffff, 3, 1, THREADS, BLOCK, false, {0}, "0x1 0x100 0x2"},
    {"more tasks than cores share them",
     &threads,
     0x0f,
     4,
     1,
     CORES,
     0,
     false,
     {0},
     "0x101 0x202 0x101 0x202"},
    {"more tasks than CPUs begin again",
     &threads,
     0x03,
     3,
     1,
     THREADS,
     0,
     false,
     {0},
     "0x1 0x100 0x1"},
    {"a task that needs more than there is", &threads, 0x03, 1, 4, CORES, 0, false, {0}, "0x101"},
    {"sockets", &threads, 0xf0ff, 3, 1, SOCKETS, 0, false, {0}, "0xf0f 0xc0c0 0xf0f"},
    {"memory nodes", &threads, 0xffff, 2, 1, LDOMS, 0, false, {0}, "0xf0f 0xf0f0"},
    {"one thread of each core", &threads, 0xffff, 2, 1, AUTO, 0, true, {0}, "0xf 0xf0"},
    {"the same of what is mine", &threads, 0xfe, 2, 1, CORES, BLOCK, true, {0}, "0x100 0x2"},
    {"CPUs that are cores", &cores, 0x3, 2, 1, AUTO, 0, false, {0}, "0x101 0x202"},
    {"threads of CPUs that are cores", &cores, 0xff, 2, 1, THREADS, 0, false, {0}, "0x101 0x1010"},
    {"by rank", &threads, 0x0e, 4, 1, RANK, 0, false, {0}, "0x100 0x2 0x200 0x100"},
    {"by rank to memory nodes",
     &threads,
     0xffff,
     3,
     1,
     RANK_LDOM,
     0,
     false,
     {0},
     "0xf0f 0xf0f0 0xf0f"},
    {"a map", &threads, 0xffff, 3, 1, LIST, 0, false, {"3", "0x0a"}, "0x8 0x400 0x8"},
    {"a map beyond", &threads, 0x0f, 2, 1, LIST, 0, false, {"0", "7"}, "0x1 0x303 complaint"},
    {"masks", &threads, 0xffff, 2, 1, MASK, 0, false, {"0xF0", "f"}, "0xf0 0xf"},
    {"masks beyond", &threads, 0xff, 1, 1, MASK, 0, false, {"0xf0"}, "0xf0f complaint"},
    {"a map of memory nodes",
     &threads,
     0xffff,
     2,
     1,
     MAP_LDOM,
     0,
     false,
     {"1", "0"},
     "0xf0f0 0xf0f"},
    {"a memory node beyond", &threads, 0x00ff, 1, 1, MAP_LDOM, 0, false, {"1"}, "0xf0f complaint"},
    {"masks of memory nodes",
     &threads,
     0xffff,
     2,
     1,
     MASK_LDOM,
     0,
     false,
     {"3", "2"},
     "0xffff 0xf0f0"},
    {"no number", &threads, 0xffff, 1, 1, LIST, 0, false, {"x"}, "refused"},
    {"a number with a tail", &threads, 0xffff, 1, 1, LIST, 0, false, {"1x"}, "refused"},
    {"a negative one", &threads, 0xffff, 1, 1, LIST, 0, false, {"-1"}, "refused"},
    {"a huge one", &threads, 0xffff, 1, 1, LIST, 0, false, {"99999999999999999999"}, "refused"},
    {"no mask", &threads, 0xffff, 1, 1, MASK, 0, false, {"0xg"}, "refused"},
    {"an empty mask", &threads, 0xffff, 1, 1, MASK, 0, false, {"0x"}, "refused"},
    {"an empty list", &threads, 0xffff, 1, 1, MASK, 0, false, {0}, "refused"},
    {"a mask of nothing", &threads, 0xf, 1, 1, MASK, 0, false, {"0"}, "0x303 complaint"},
};

/* One thread per core, four cores per socket: the nodes of the CPU management guide, whose tables
 * these are. */
static uint32_t plain_numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const Pb__CpuMap plain = {.base = PROTOBUF_C_MESSAGE_INIT(&pb__cpu_map__descriptor),
                                 .each = 1,
                                 .threads = 1,
                                 .per_socket = 4,
                                 .n_number = 8,
                                 .number = plain_numbers,
                                 .n_numa = 8,
                                 .numa = numa};

static const struct {
    const char *dist;
    const Pb__CpuMap *map;
    uint32_t mine, tasks, cpus;
    Pb__BindKind kind;
    const char *expect;
} orders[] = {
    {"*", &plain, 0x77, 6, 1, CORES, "0x1 0x10 0x2 0x20 0x4 0x40"},   /* example 10, */
    {"*", &plain, 0x77, 6, 1, SOCKETS, "0x7 0x70 0x7 0x70 0x7 0x70"}, /* 11, */
    {"block:block", &plain, 0x3f, 2, 3, SOCKETS, "0xf 0x3f"},         /* 12, */
    {"block:fcyclic", &plain, 0x3f, 2, 3, SOCKETS, "0x3f 0x3f"},      /* 13: of before fcyclic, */
    {"block:cyclic", &plain, 0x3f, 2, 3, SOCKETS, "0xf 0x3f"},        /* as srun's page has it, */
    {"cyclic:block", &plain, 0x3f, 6, 1, CORES, "0x1 0x2 0x4 0x8 0x10 0x20"}, /* 14, */
    {"*", &plain, 0x07, 1, 3, CORES, "0x7"},                                  /* 15 */
    {"block:block", &plain, 0xff, 2, 3, CORES, "0x7 0x38"},
    {"block:cyclic", &plain, 0xff, 2, 3, CORES, "0x7 0x70"},
    {"block:fcyclic", &plain, 0xff, 2, 3, CORES, "0x13 0x64"},
    /* threads of two sockets with four cores of two threads */
    {"*", &threads, 0xffff, 6, 1, THREADS, "0x1 0x10 0x2 0x20 0x4 0x40"},
    {"block:cyclic:cyclic", &threads, 0xffff, 6, 1, THREADS, "0x1 0x10 0x2 0x20 0x4 0x40"},
    {"block:cyclic:block", &threads, 0xffff, 6, 1, THREADS, "0x1 0x10 0x100 0x1000 0x2 0x20"},
    {"block:cyclic:fcyclic", &threads, 0xffff, 3, 2, THREADS, "0x3 0x30 0xc"},
    {"block:cyclic:cyclic", &threads, 0xffff, 3, 2, THREADS, "0x101 0x1010 0x202"},
    {"block:block:cyclic", &threads, 0xffff, 6, 1, THREADS, "0x1 0x2 0x4 0x8 0x100 0x200"},
    {"block:block:block", &threads, 0xffff, 6, 1, THREADS, "0x1 0x100 0x2 0x200 0x4 0x400"},
    {"block:block", &threads, 0xffff, 3, 1, THREADS, "0x1 0x100 0x2"},
    {"block:block:fcyclic", &threads, 0xffff, 2, 3, THREADS, "0x7 0x308"},
    {"block:fcyclic:block", &threads, 0xffff, 2, 3, THREADS, "0x111 0x1022"},
    /* without a third one bound tasks begin cores of their own; to use cores up has to be said */
    {"block:block", &threads, 0xffff, 3, 1, CORES, "0x101 0x202 0x404"},
    {"block:block:block", &threads, 0xffff, 3, 1, CORES, "0x101 0x101 0x202"},
    {"block:cyclic:fcyclic", &threads, 0xffff, 2, 2, CORES, "0x303 0x3030"},
    {"block:cyclic:cyclic", &threads, 0x0f, 3, 1, CORES, "0x101 0x202 0x101"},
};

static void format_set(const struct bind_set *set, struct str *out)
{
    if (!set->bound)
        str_puts(out, "free");
    for (uint32_t i = 0; set->bound && i < set->tasks; i++) {
        str_puts(out, i ? " " : "");
        bind_format(set->cpus[i], out);
    }
    str_puts(out, set->complaint ? " complaint" : "");
}

static void test_binding_follows_the_request(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t bytes[4] = {(uint8_t)rows[i].mine, (uint8_t)(rows[i].mine >> 8)};
        Pb__Bind bind = PB__BIND__INIT;
        struct bind_set set;
        struct err err = {0};
        _cleanup_str_ struct str got = STR_INIT;
        bind.kind = rows[i].kind;
        bind.one_thread = rows[i].one_thread;
        bind.list = (char **)rows[i].list;
        while (bind.n_list < 4 && rows[i].list[bind.n_list])
            bind.n_list++;
        const struct bind_want want = {.map = rows[i].map,
                                       .cpus = {sizeof(bytes), bytes},
                                       .cpu_bind = &bind,
                                       .sockets = rows[i].sockets,
                                       .tasks = rows[i].tasks,
                                       .cpus_per_task = rows[i].cpus};
        if (bind_find(&want, &set, &err)) {
            assert_int_equal(err.code, -ERR_BIND);
            str_puts(&got, "refused");
        } else {
            format_set(&set, &got);
            bind_set_done(&set);
        }
        if (strcmp(str_cstr(&got), rows[i].expect) != 0)
            fail_msg("%s: %s", rows[i].what, str_cstr(&got));
    }
}

static void test_task_order_decides_cpus(void **state)
{
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        uint8_t bytes[2] = {(uint8_t)orders[i].mine, (uint8_t)(orders[i].mine >> 8)};
        Pb__Bind bind = PB__BIND__INIT;
        struct bind_set set;
        struct dist d;
        _cleanup_str_ struct str got = STR_INIT;
        bind.kind = orders[i].kind;
        assert_int_equal(dist_parse(orders[i].dist, &d), 0);
        const struct bind_want want = {.map = orders[i].map,
                                       .cpus = {sizeof(bytes), bytes},
                                       .cpu_bind = &bind,
                                       .sockets = d.sockets,
                                       .cores = d.cores,
                                       .tasks = orders[i].tasks,
                                       .cpus_per_task = orders[i].cpus};
        assert_int_equal(bind_find(&want, &set, NULL), 0);
        format_set(&set, &got);
        bind_set_done(&set);
        if (strcmp(str_cstr(&got), orders[i].expect) != 0)
            fail_msg("row %zu, %s: %s", i, orders[i].dist, str_cstr(&got));
    }
}

/* Cores limited by --threads-per-core, and tasks that match nothing, with Autobind. */
static void test_threads_per_core_limits_bound_cpus(void **state)
{
    static const struct {
        uint32_t threads_per_core, tasks;
        Pb__BindKind kind, otherwise;
        const char *expect;
    } limits[] = {
        {1, 4, THREADS, 0, "0x1 0x10 0x2 0x20"},    {1, 2, CORES, 0, "0x1 0x10"},
        {2, 2, CORES, 0, "0x101 0x1010"},           {9, 2, CORES, 0, "0x101 0x1010"},
        {0, 3, AUTO, AUTO, "0xffff 0xffff 0xffff"}, {0, 3, AUTO, CORES, "0x101 0x1010 0x202"},
        {0, 3, AUTO, THREADS, "0x1 0x10 0x2"},      {0, 3, AUTO, SOCKETS, "0xf0f 0xf0f0 0xf0f"},
        {0, 2, AUTO, THREADS, "0xf0f 0xf0f0"}, /* it matches */
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        uint8_t bytes[2] = {0xff, 0xff};
        Pb__Bind bind = PB__BIND__INIT;
        struct bind_set set;
        _cleanup_str_ struct str got = STR_INIT;
        bind.kind = limits[i].kind;
        bind.otherwise = limits[i].otherwise;
        bind.has_threads_per_core = 1;
        bind.threads_per_core = limits[i].threads_per_core;
        const struct bind_want want = {.map = &threads,
                                       .cpus = {sizeof(bytes), bytes},
                                       .cpu_bind = &bind,
                                       .tasks = limits[i].tasks,
                                       .cpus_per_task = 1};
        assert_int_equal(bind_find(&want, &set, NULL), 0);
        format_set(&set, &got);
        bind_set_done(&set);
        if (strcmp(str_cstr(&got), limits[i].expect) != 0)
            fail_msg("row %zu: %s", i, str_cstr(&got));
    }
}

/* For any request: each task has some CPUs, all of the step; no two tasks share CPUs while there
 * are enough, except where cores, sockets and NUMA nodes are shared. */
static void test_random_bindings_keep_the_rules(void **state)
{
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        uint32_t r[6];
        for (size_t k = 0; k < 6; k++)
            r[k] = (seed = seed * 1664525u + 1013904223u) >> 8;
        uint8_t bytes[2] = {(uint8_t)(r[0] | 1), (uint8_t)(r[0] >> 8)};
        Pb__Bind bind = PB__BIND__INIT;
        struct bind_set set;
        uint32_t all = 0, sum = 0;
        bind.kind =
            (Pb__BindKind[]){AUTO, THREADS, CORES, SOCKETS, LDOMS, RANK, RANK_LDOM}[r[1] % 7];
        bind.one_thread = r[5] % 4 == 0;
        const struct bind_want want = {.map = &threads,
                                       .cpus = {2, bytes},
                                       .cpu_bind = &bind,
                                       .sockets = (enum dist_order)(r[2] % 4),
                                       .cores = (enum dist_order)(r[2] / 4 % 4),
                                       .tasks = r[3] % 20,
                                       .cpus_per_task = r[4] % 6};
        for (uint32_t i = 0; i < 16; i++)
            all |= bytes[i / 8] >> i % 8 & 1 ? 1u << numbers[i] : 0;
        assert_int_equal(bind_find(&want, &set, NULL), 0);
        assert_true(set.bound && !set.complaint);
        uint32_t needed = want.tasks * (want.cpus_per_task ? want.cpus_per_task : 1), seen = 0;
        for (uint32_t i = 0; i < set.tasks; i++) {
            uint32_t mask = (uint32_t)set.cpus[i]->word[0];
            assert_true(mask && !(mask & ~all) && bitset_last(set.cpus[i]) < 16);
            sum += (uint32_t)__builtin_popcount(mask);
            seen |= mask;
        }
        bool enough = needed <= (uint32_t)__builtin_popcount(all) && !bind.one_thread;
        if (bind.kind == THREADS && enough)
            assert_int_equal(__builtin_popcount(seen), sum);
        if (bind.kind == THREADS && enough)
            assert_int_equal(sum, needed);
        bind_set_done(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binding_follows_the_request),
        cmocka_unit_test(test_task_order_decides_cpus),
        cmocka_unit_test(test_threads_per_core_limits_bound_cpus),
        cmocka_unit_test(test_random_bindings_keep_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
