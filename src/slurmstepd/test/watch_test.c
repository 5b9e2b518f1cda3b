/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watchers that are slow to say hello. Started with the directory of the built programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmstepd/test/fake.h"

#define GATE "until [ -e go ]; do sleep 0.01; done; "

static const char *programs;

static void begin_watched_step(struct bench *b, struct fake *f, struct fake *watcher,
                               const char *script)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;

    fake_begin(b, f, programs);
    fake_init(watcher, b);
    fake_launch(f, &c, &m, script);
    assert_true(bench_until(b, fake_has_output, f));
    watcher->holds = true;
    fake_attach(watcher, 0);
    assert_true(bench_until(b, fake_is_greeted, watcher));
    assert_int_equal(watcher->code, 0);
}

static void open_gate(struct bench *b)
{
    _cleanup_free_ char *go = mem_printf("%s/go", b->dir);

    assert_int_equal(path_write_file(go, "", 0, 0644, NULL), 0);
}

static void end_watched_step(struct bench *b, struct fake *f, struct fake *watcher)
{
    fake_done(watcher);
    fake_end(b, f, 5);
}

/* The step ends before the watcher answers: the watcher was accepted, and gets everything. */
static void test_watcher_gets_everything_of_a_step_that_ended(void **state)
{
    struct bench b;
    struct fake f, w;

    begin_watched_step(&b, &f, &w, "echo early; " GATE "echo late; exit 3");
    open_gate(&b);
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_false(w.closed);
    fake_greet(&w);
    assert_true(bench_until(&b, fake_is_done, &w));
    assert_string_equal(str_cstr(&w.out[0]), "early\nlate\n");
    assert_true(w.eof[0]);
    assert_int_equal(w.exited, 1);
    assert_int_equal(w.status[0], 3 << 8);
    end_watched_step(&b, &f, &w);
}

/* A watcher that never answers is not waited for until the step's directory is removed. */
static void test_silent_watcher_does_not_delay_the_end(void **state)
{
    struct bench b;
    struct fake f, w;

    begin_watched_step(&b, &f, &w, "echo early; " GATE);
    open_gate(&b);
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_true(bench_until(&b, fake_is_closed, &w));
    assert_false(w.done);
    end_watched_step(&b, &f, &w);
}

/* Tasks that read no input do not delay the hello of a watcher. */
static void test_watcher_is_accepted_while_input_waits(void **state)
{
    static uint8_t much[65536];
    Pb__IoData m = PB__IO_DATA__INIT;
    struct bench b;
    struct fake f, w;

    begin_watched_step(&b, &f, &w, "echo early; " GATE "cat >/dev/null; echo late");
    m.task = 0;
    m.has_data = true;
    m.data = (ProtobufCBinaryData){sizeof(much), much};
    for (int i = 0; i < 64; i++)
        rpc_session_send(f.session, RPC_IO_DATA, &m.base);
    m.has_data = false;
    m.data.len = 0;
    rpc_session_send(f.session, RPC_IO_DATA, &m.base);
    fake_greet(&w);
    assert_true(bench_until(&b, fake_has_output, &w));
    open_gate(&b);
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_true(bench_until(&b, fake_is_done, &w));
    assert_string_equal(str_cstr(&w.out[0]), "early\nlate\n");
    end_watched_step(&b, &f, &w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_watcher_gets_everything_of_a_step_that_ended),
        cmocka_unit_test(test_silent_watcher_does_not_delay_the_end),
        cmocka_unit_test(test_watcher_is_accepted_while_input_waits),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: watch_test DIRECTORY\n");
        return 1;
    }
    programs = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
