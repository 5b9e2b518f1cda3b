/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The message about an exceeded time limit reaches the user once, in whatever form a step runs.
 * Started with the directory of the built programs.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmstepd/test/fake.h"

#define LIMIT " ON n1 CANCELLED AT 20"
#define DUE " DUE TO TIME LIMIT ***"

static const char *programs;

static unsigned count_messages(const char *text, const char *name)
{
    _cleanup_free_ char *begin = mem_printf("*** %s" LIMIT, name);
    unsigned count = 0;

    for (const char *s = text; (s = strstr(s, begin)); s++, count++)
        assert_non_null(strstr(s, DUE));
    return count;
}

/* Orders are repeated, as a controller does that has no answer yet, with the reason or without. */
static void order_end(struct bench *b, uint32_t job_id)
{
    bench_terminate(b, job_id, 0, 30, "TIME LIMIT");
    bench_terminate(b, job_id, 0, 30, NULL);
    bench_terminate(b, job_id, 0, 30, "TIME LIMIT");
}

static void step_reports_the_time_limit_once(void **state)
{
    static const struct {
        const char *script;
        uint32_t tasks;
        bool pty, is_starting, is_silent;
    } rows[] = {
        {"echo up; exec sleep 1000", 1},
        {"[ $SLURM_PROCID = 0 ] && exec 2>&-; echo up; exec sleep 1000", 2},
        {"exec 2>&-; echo up; exec sleep 1000", 2},
        {"echo up; [ $SLURM_PROCID = 0 ] && exit; exec sleep 1000 >&-", 2},
        {"echo up; exec sleep 1000", 1, .pty = true},
        {"echo no", 2, .is_starting = true},
        {"echo no", 1, .is_silent = true},
    };
    _cleanup_free_ char *fifo = NULL;
    struct bench b;

    bench_init(&b, programs, "");
    bench_start(&b);
    fifo = mem_printf("%s/fifo", b.dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct bench_cred c = {.job_id = 5 + i, .step_id = 3, .tasks = rows[i].tasks};
        Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
        _cleanup_str_ struct str all = STR_INIT;
        char name[32];
        struct fake f;

        fake_init(&f, &b);
        f.holds = rows[i].is_silent;
        m.has_pty = m.pty = rows[i].pty;
        m.std_out = rows[i].is_starting ? fifo : NULL;
        fake_launch(&f, &c, &m, rows[i].script);
        assert_true(bench_until(&b,
                                rows[i].is_silent     ? fake_is_heard
                                : rows[i].is_starting ? fake_is_heard
                                                      : fake_has_output,
                                &f));
        if (!rows[i].is_silent && !rows[i].is_starting)
            assert_true(bench_until(&b, fake_is_answered, &f));
        order_end(&b, c.job_id);
        assert_true(bench_until(
            &b, rows[i].is_silent || rows[i].is_starting ? fake_is_failed : fake_is_done, &f));
        assert_non_null(bench_job_gone(&b, c.job_id));
        for (int t = 0; t < FAKE_TASKS_MAX; t++) {
            str_puts(&all, str_cstr(&f.err[t]));
            str_puts(&all, str_cstr(&f.out[t]));
        }
        str_puts(&all, f.text);
        snprintf(name, sizeof(name), "STEP %u.3", c.job_id);
        if (count_messages(str_cstr(&all), name) != 1)
            fail_msg("row %u: %s", i, str_cstr(&all));
        fake_done(&f);
    }
    bench_done(&b);
}

struct reader {
    int fd;
    struct str text;
};

static bool has_message(struct bench *b, void *ctx)
{
    struct reader *r = ctx;
    char chunk[4096];
    ssize_t n;

    while ((n = read(r->fd, chunk, sizeof(chunk))) > 0)
        str_append(&r->text, chunk, (size_t)n);
    return strstr(str_cstr(&r->text), DUE) != NULL;
}

/* The order overtakes the opening of the script's output, which waits for a reader. */
static void starting_script_reports_the_time_limit(void **state)
{
    struct bench_cred c = {.job_id = 42, .nodes = 2};
    struct reader r = {.text = STR_INIT};
    _cleanup_free_ char *fifo = NULL;
    struct bench b;

    bench_init(&b, programs, "");
    bench_start(&b);
    fifo = mem_printf("%s/slurm-42.out", b.dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    bench_launch(&b, &c, "#!/bin/sh\nexec sleep 1000\n");
    assert_true(bench_until(&b, bench_has_claim, NULL));
    order_end(&b, 42);
    bench_terminate(&b, 7, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 7)); /* so it has the orders before this one, too */
    r.fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(r.fd >= 0);
    assert_true(bench_until(&b, has_message, &r));
    assert_non_null(bench_job_gone(&b, 42));
    has_message(&b, &r);
    assert_int_equal(count_messages(str_cstr(&r.text), "JOB 42"), 1);
    close(r.fd);
    str_done(&r.text);
    bench_done(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_reports_the_time_limit_once),
        cmocka_unit_test(starting_script_reports_the_time_limit),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: limit_test DIRECTORY [TEST]\n");
        return 1;
    }
    programs = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
