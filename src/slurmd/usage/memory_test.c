/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/usage/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define STEPS 4
#define GIB (UINT64_C(1) << 20) /* KiB */

static void steps_and_jobs_over_their_memory_are_ended(void **state)
{
    static const struct {
        const char *what;
        struct memory_grant steps[STEPS]; /* step, job, used, peak; was_over, ended */
        size_t count;
        const char *verdicts; /* . fits, ? doubted, S step, J job */
        uint64_t used;        /* by steps that are not to end because of their own limits */
    } v[] = {
        {"no step", {{0}}, 0, "", 0},
        {"no limit", {{0, 0, 9 * GIB, 0, true, false}}, 1, ".", 9 * GIB},
        {"as much as it has", {{GIB, GIB, GIB, 0, true, false}}, 1, ".", GIB},
        {"a page more", {{GIB, GIB, GIB + 4, 0, true, false}}, 1, "S", 0},
        {"what it once used is nobody's concern", {{GIB, GIB, 4, 2 * GIB, true, false}}, 1, ".", 4},
        {"a share of its own",
         {{GIB, 4 * GIB, GIB + 4, 0, true, false}, {4 * GIB, 4 * GIB, 2 * GIB, 0, true, false}},
         2,
         "S.",
         2 * GIB},
        {"none is over, all of them are",
         {{4 * GIB, 4 * GIB, 2 * GIB, 0, true, false},
          {2 * GIB, 4 * GIB, 2 * GIB, 0, true, false},
          {4 * GIB, 4 * GIB, 4, 0, true, false}},
         3,
         "JJJ",
         4 * GIB + 4},
        {"what ends frees enough for the others",
         {{GIB, 4 * GIB, 3 * GIB, 0, true, false}, {4 * GIB, 4 * GIB, 4 * GIB, 0, true, false}},
         2,
         "S.",
         4 * GIB},
        {"and not enough",
         {{GIB, 4 * GIB, 3 * GIB, 0, true, false},
          {4 * GIB, 4 * GIB, 2 * GIB, 0, true, false},
          {4 * GIB, 4 * GIB, 2 * GIB + 4, 0, true, false}},
         3,
         "SJJ",
         4 * GIB + 4},
        {"who was told is not told again, and counts for nothing",
         {{GIB, 4 * GIB, 3 * GIB, 0, true, true}, {4 * GIB, 4 * GIB, 2 * GIB, 0, true, false}},
         2,
         "..",
         2 * GIB},
        {"seen for the first time",
         {{GIB, 4 * GIB, GIB + 4, 0, false, false}, {4 * GIB, 4 * GIB, 5 * GIB, 0, true, false}},
         2,
         "?S",
         0},
        {"all of them, of whom one is new",
         {{4 * GIB, 4 * GIB, 3 * GIB, 0, true, false},
          {4 * GIB, 4 * GIB, 2 * GIB, 0, false, false}},
         2,
         "JJ",
         5 * GIB},
        {"all of them for the first time",
         {{4 * GIB, 4 * GIB, 3 * GIB, 0, false, false},
          {4 * GIB, 4 * GIB, 2 * GIB, 0, false, false}},
         2,
         "??",
         5 * GIB},
        {"a credential that could not be read is no limit for its step",
         {{0, 0, 2 * GIB, 0, true, false}, {GIB, GIB, 4, 0, true, false}},
         2,
         "JJ",
         2 * GIB + 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        enum memory_verdict got[STEPS];
        struct memory_grant steps[STEPS];

        print_message("%s\n", v[i].what);
        memcpy(steps, v[i].steps, sizeof(steps));
        assert_int_equal(memory_judge(steps, v[i].count, got), v[i].used);
        for (size_t k = 0; k < v[i].count; k++) {
            assert_int_equal(".?SJ"[got[k]], v[i].verdicts[k]);
            assert_int_equal(steps[k].was_over, got[k] != MEMORY_FITS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_jobs_over_their_memory_are_ended)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
