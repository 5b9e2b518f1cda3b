/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/squeue/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/pb.h"
#include "show/job_ids.h"

struct row {
    uint32_t task, offset; /* of array 5 */
    Pb__JobState state;
    const char *reason;
};

/* "5_[0-2]+0 5_3+0*": the folded lines, then the records that are listed separately. */
static void expect_folded(const struct row *rows, size_t count, const char *expected)
{
    _cleanup_str_ struct str out = STR_INIT;
    struct fold f;
    fold_init(&f);
    for (size_t i = 0; i < count; i++) {
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        Pb__JobRecord job = PB__JOB_RECORD__INIT;
        job.spec = &spec;
        job.live = &live;
        live.job_id = 5 + 2 * rows[i].task + rows[i].offset;
        live.state = rows[i].state;
        live.reason = (char *)rows[i].reason;
        SET(&live, array_job_id, 5);
        SET(&live, array_task_id, rows[i].task);
        SET(&live, set_id, 5 + 2 * rows[i].task);
        SET(&live, set_offset, rows[i].offset);
        if (fold_take(&f, &job))
            continue;
        job_ids_put(&live, &out);
        str_puts(&out, "* ");
    }
    fold_finish(&f);
    vec_foreach (&f.lines, line) {
        job_ids_put(line->job->live, &out);
        str_putc(&out, ' ');
    }
    assert_string_equal(str_cstr(&out), expected);
    fold_done(&f);
}

/* HET-36: components of pending elements are folded; a record that differs in another field, or
 * that is running or has ended, has its own line. */
static void waiting_components_are_folded(void **state)
{
    const Pb__JobState wait = PB__JOB_STATE__PENDING, run = PB__JOB_STATE__RUNNING;
    (void)state;
    expect_folded((const struct row[]){{0, 0, wait, "Priority"},
                                       {0, 1, wait, "Priority"},
                                       {1, 0, wait, "Priority"},
                                       {1, 1, wait, "Priority"},
                                       {2, 0, wait, "Priority"},
                                       {2, 1, wait, "Priority"}},
                  6, "5_[0-2]+0 5_[0-2]+1 ");
    expect_folded((const struct row[]){{0, 0, run, NULL},
                                       {0, 1, run, NULL},
                                       {1, 0, wait, "Resources"},
                                       {1, 1, wait, "Resources"},
                                       {2, 0, wait, "JobHeldUser"},
                                       {2, 1, wait, "Dependency"},
                                       {3, 0, wait, "Resources"},
                                       {3, 1, wait, "Resources"}},
                  8, "5_0+0* 5_0+1* 5_[1,3]+0 5_[1,3]+1 5_2+0 5_2+1 ");
    expect_folded(NULL, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(waiting_components_are_folded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
