/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GPUs of a step that each task gets. */
#include "slurmstepd/env/gpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define COUNT 4

static const uint32_t numbers[COUNT] = {2, 3, 6, 7};

/* "0,1": the places that task 'local' gets; CPUs 0 and 1 are near to the first two, 2 and 3 to the
 * others. */
static char *choose_gpus(const Pb__GpuBind *b, uint32_t local, long cpu, bool relative, int *code)
{
    struct bitset *near[COUNT], *cpus = cpu >= 0 ? bitset_new(8) : NULL,
                                *chosen = bitset_new(COUNT);
    struct str out = STR_INIT;
    struct err err;

    for (size_t i = 0; i < COUNT; i++) {
        near[i] = bitset_new(8);
        bitset_set_range(near[i], i / 2 * 2, 2);
    }
    if (cpus)
        bitset_set(cpus, (size_t)cpu);
    const struct gpus_want want = {.bind = b,
                                   .numbers = numbers,
                                   .count = COUNT,
                                   .near = near,
                                   .cpus = cpus,
                                   .local = local,
                                   .relative = relative};
    *code = gpus_choose(&want, chosen, &err);
    if (*code)
        assert_non_null(strstr(err.text, "--gpu-bind: "));
    bitset_foreach (chosen, i)
        str_printf(&out, "%s%ld", out.len ? "," : "", i);
    for (size_t i = 0; i < COUNT; i++)
        bitset_free(near[i]);
    bitset_free(cpus);
    bitset_free(chosen);
    return out.data ? out.data : mem_strdup("");
}

static void test_gpus_of_tasks_are_chosen(void **state)
{
    static char *maps[] = {"3", "6"}, *relative[] = {"1", "0"}, *wrong[] = {"5", "x", "-1", ""};
    static char *masks[] = {"0xc", "c0"}, *bad_masks[] = {"0x3", "0", "zz"};
    static const struct {
        Pb__GpuBindKind kind;
        uint32_t count;
        char **list;
        size_t entries;
        bool relative;
        long cpu; /* -1: runs anywhere */
        const char *tasks[5];
        bool fails;
    } rows[] = {
        {PB__GPU_BIND_KIND__GPU_ALL, 0, NULL, 0, false, 0, {"0,1,2,3", "0,1,2,3"}, false},
        {PB__GPU_BIND_KIND__GPU_PER_TASK, 1, NULL, 0, false, 0, {"0", "1", "2", "3", "0"}, false},
        {PB__GPU_BIND_KIND__GPU_PER_TASK,
         3,
         NULL,
         0,
         false,
         -1,
         {"0,1,2", "0,1,3", "0,2,3"},
         false},
        {PB__GPU_BIND_KIND__GPU_PER_TASK, 9, NULL, 0, false, -1, {"0,1,2,3", "0,1,2,3"}, false},
        {PB__GPU_BIND_KIND__GPU_SINGLE, 1, NULL, 0, false, -1, {"0", "1", "2", "3", "0"}, false},
        {PB__GPU_BIND_KIND__GPU_SINGLE, 2, NULL, 0, false, -1, {"0", "0", "1", "1", "2"}, false},
        {PB__GPU_BIND_KIND__GPU_SINGLE, 1, NULL, 0, false, 2, {"2", "3", "2"}, false},
        {PB__GPU_BIND_KIND__GPU_SINGLE, 0, NULL, 0, false, 6, {"0", "1", "2"}, false},
        {PB__GPU_BIND_KIND__GPU_CLOSEST, 0, NULL, 0, false, 1, {"0,1", "0,1"}, false},
        {PB__GPU_BIND_KIND__GPU_CLOSEST, 0, NULL, 0, false, 3, {"2,3"}, false},
        {PB__GPU_BIND_KIND__GPU_CLOSEST, 0, NULL, 0, false, 7, {"0,1,2,3"}, false},
        {PB__GPU_BIND_KIND__GPU_CLOSEST, 0, NULL, 0, false, -1, {"0,1,2,3"}, false},
        {PB__GPU_BIND_KIND__GPU_MAP, 0, maps, 2, false, 0, {"1", "2", "1"}, false},
        {PB__GPU_BIND_KIND__GPU_MAP, 0, relative, 2, true, 0, {"1", "0", "1"}, false},
        {PB__GPU_BIND_KIND__GPU_MAP,
         0,
         wrong,
         4,
         false,
         0,
         {"0,1,2,3", "0,1,2,3", "0,1,2,3", "0,1,2,3"},
         true},
        {PB__GPU_BIND_KIND__GPU_MASK, 0, masks, 2, false, 0, {"0,1", "2,3", "0,1"}, false},
        {PB__GPU_BIND_KIND__GPU_MASK, 0, masks, 1, true, 0, {"2,3"}, false},
        {PB__GPU_BIND_KIND__GPU_MASK,
         0,
         bad_masks,
         3,
         false,
         0,
         {"0,1,2,3", "0,1,2,3", "0,1,2,3"},
         true},
        {PB__GPU_BIND_KIND__GPU_MAP, 0, NULL, 0, false, 0, {"0,1,2,3"}, true},
        {(Pb__GpuBindKind)77, 0, NULL, 0, false, 0, {"0,1,2,3"}, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        Pb__GpuBind b = PB__GPU_BIND__INIT;

        b.kind = rows[i].kind;
        b.count = rows[i].count;
        b.list = rows[i].list;
        b.n_list = rows[i].entries;
        for (uint32_t t = 0; t < 5 && rows[i].tasks[t]; t++) {
            int code;
            char *got = choose_gpus(&b, t, rows[i].cpu, rows[i].relative, &code);

            if (strcmp(got, rows[i].tasks[t]) != 0)
                fail_msg("row %zu, task %u: %s, not %s", i, t, got, rows[i].tasks[t]);
            assert_int_equal(code, rows[i].fails ? -ERR_BIND : 0);
            free(got);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpus_of_tasks_are_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
