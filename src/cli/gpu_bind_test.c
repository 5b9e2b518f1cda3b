/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/gpu_bind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_gpu_bind_texts_are_parsed(void **state)
{
    static const struct {
        const char *text;
        Pb__GpuBindKind kind;
        uint32_t count;
        size_t list;
        bool verbose;
    } rows[] = {
        {"none", PB__GPU_BIND_KIND__GPU_ALL, 0, 0, false},
        {"verbose,closest", PB__GPU_BIND_KIND__GPU_CLOSEST, 0, 0, true},
        {"per_task:2", PB__GPU_BIND_KIND__GPU_PER_TASK, 2, 0, false},
        {"Single:3", PB__GPU_BIND_KIND__GPU_SINGLE, 3, 0, false},
        {"single", PB__GPU_BIND_KIND__GPU_SINGLE, 1, 0, false},
        {"map_gpu:0*4,1*4", PB__GPU_BIND_KIND__GPU_MAP, 0, 8, false},
        {"map:0,1", PB__GPU_BIND_KIND__GPU_MAP, 0, 2, false},
        {"mask:0x3", PB__GPU_BIND_KIND__GPU_MASK, 0, 1, false},
        {"VERBOSE,mask_gpu:0x0f,f0", PB__GPU_BIND_KIND__GPU_MASK, 0, 2, true},
    };
    static const char *const bad[] = {
        "",          "verbose",     "verbose,",         "nearest",
        "none:1",    "per_task:0",  "single:x",         "map_gpu",
        "map_gpu:",  "map_gpu:0*x", "mask_gpu:1*65537", "single:65536",
        "closest:0", "mask_gpu:zz", "mask_gpu:0x",      "map_gpu:0,f"};
    _cleanup_arena_ struct arena arena;
    Pb__GpuBind *b;
    struct err err;

    arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(gpu_bind_read(rows[i].text, &arena, &b, &err), 0);
        assert_int_equal(b->kind, rows[i].kind);
        assert_int_equal(b->count, rows[i].count);
        assert_int_equal(b->n_list, rows[i].list);
        assert_int_equal(b->verbose, rows[i].verbose);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(gpu_bind_read(bad[i], &arena, &b, &err), -ERR_BIND);
        assert_non_null(strstr(err.text, "Invalid --gpu-bind argument: "));
    }
}

static void test_gpu_requests_imply_a_binding(void **state)
{
    static const struct {
        const char *gres;
        uint32_t tasks_per_gpu;
        int kind; /* -1: none */
        uint32_t count;
    } rows[] = {
        {NULL, 0, -1, 0},
        {"", 0, -1, 0},
        {"nic:2,gpus:1,mygpu:1", 0, -1, 0},
        {"gpu", 0, PB__GPU_BIND_KIND__GPU_PER_TASK, 1},
        {"gpu:2", 0, PB__GPU_BIND_KIND__GPU_PER_TASK, 2},
        {"gpu:a100", 0, PB__GPU_BIND_KIND__GPU_PER_TASK, 1},
        {"nic:1,gpu:a100:2,gpu:h100:1", 0, PB__GPU_BIND_KIND__GPU_PER_TASK, 3},
        {"gres/gpu:4", 7, PB__GPU_BIND_KIND__GPU_PER_TASK, 4},
        {"gpu:0", 0, -1, 0},
        {"nic:1", 4, PB__GPU_BIND_KIND__GPU_SINGLE, 4},
    };
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const Pb__GpuBind *b = gpu_bind_implied(rows[i].gres, rows[i].tasks_per_gpu, &arena);

        assert_int_equal(b != NULL ? (int)b->kind : -1, rows[i].kind);
        assert_int_equal(b != NULL ? b->count : 0, rows[i].count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu_bind_texts_are_parsed),
        cmocka_unit_test(test_gpu_requests_imply_a_binding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
