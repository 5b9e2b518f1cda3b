/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The helper process and the controller's side of it: this test is its own helper. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "slurmctld/script/scriptd.h"
#include "slurmctld/script/scripts.h"
#include "slurmctld/script/scriptwire.h"

#define DEADLINE_MS 20000
#define PROLOG PB__SCRIPT_KIND__SCRIPT_PROLOG
#define MAIL PB__SCRIPT_KIND__SCRIPT_MAIL
#define RECORD PB__SCRIPT_KIND__SCRIPT_JOB_COMP

struct world {
    struct loop *loop;
    struct loop_timer *deadline;
    struct scripts *s;
    char dir[64];
    unsigned ended, until, failed;
    int last_status;
    char last_text[200];
};

static char logged[2000];

static void on_log(enum log_level level, const char *room, const char *text)
{
    size_t len = strlen(logged);
    snprintf(logged + len, sizeof logged - len, "%s\n", text);
}

static void on_ended(void *ctx, const Pb__ScriptEnded *m)
{
    struct world *w = ctx;
    w->ended++;
    w->failed += m->wait_status != 0;
    w->last_status = m->wait_status;
    snprintf(w->last_text, sizeof w->last_text, "%s", m->text ? m->text : "");
    if (w->ended >= w->until)
        loop_stop(w->loop);
}

static void on_deadline(void *ctx)
{
    fail_msg("a script did not end");
}

static void setup_leased(struct world *w, bool leased)
{
    *w = (struct world){.loop = loop_new(0)};
    logged[0] = '\0';
    snprintf(w->dir, sizeof w->dir, "/tmp/scripts-test-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    w->deadline = loop_timer_new(w->loop, on_deadline, w);
    loop_timer_set(w->deadline, DEADLINE_MS);
    struct scripts_options o = {
        .loop = w->loop, .leased = leased, .dir = w->dir, .on_ended = on_ended, .ctx = w};
    w->s = scripts_new(&o);
}

static void set_up_world(struct world *w)
{
    setup_leased(w, false);
}

static void tear_down_world(struct world *w)
{
    char path[96];
    scripts_free(w->s);
    loop_timer_free(w->deadline);
    loop_free(w->loop);
    snprintf(path, sizeof path, "%s/scripts.lock", w->dir);
    unlink(path);
    assert_int_equal(rmdir(w->dir), 0);
}

static void run_script(struct world *w, Pb__ScriptKind kind, uint32_t job, const char *path,
                       const char *shell, int64_t limit_sec)
{
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    char *argv[] = {(char *)"-c", (char *)shell}, *env[] = {(char *)"A=b"};
    uint32_t owner = 0;
    m.kind = kind;
    m.job_id = job;
    m.path = (char *)path;
    m.argv = argv;
    m.n_argv = shell ? 2 : 0;
    m.env = env;
    m.n_env = 1;
    m.owner = &owner;
    m.n_owner = 1;
    m.has_limit_sec = limit_sec > 0;
    m.limit_sec = limit_sec;
    scripts_run(w->s, &m);
}

static void run_until_ended(struct world *w, unsigned count)
{
    w->until = count;
    if (w->ended < count)
        loop_run(w->loop);
}

static void stop_scripts(struct world *w, uint32_t job)
{
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    m.kind = PROLOG;
    m.job_id = job;
    scripts_stop(w->s, &m);
}

/* --- tests
 * ---------------------------------------------------------------------------------------- */

#define SHORT_MS 300

struct leases {
    struct world *w;
    struct loop_timer *timer;
    int64_t until_ms;
    char *file;
    unsigned expired;
};

/* The pid that the program has written, 0 before that. */
static int pid_of_program(const struct leases *l)
{
    int pid = 0;
    FILE *f = fopen(l->file, "r");
    if (!f)
        return 0;
    assert_int_equal(fscanf(f, "%d", &pid), 1);
    fclose(f);
    return pid;
}

/* Short leases until the program has begun; the next one when a lease that expired has ended it. */
static void on_lease_timer(void *ctx)
{
    struct leases *l = ctx;
    int64_t now_ms = loop_mono_ms();
    int pid = pid_of_program(l);
    bool has_ended = pid && kill(pid, 0);
    if (now_ms >= l->until_ms && (!pid || has_ended)) {
        l->expired += has_ended;
        l->until_ms = now_ms + (has_ended ? SCRIPTS_LEASE_MS : SHORT_MS);
        scripts_renew(l->w->s, l->until_ms - SCRIPTS_LEASE_MS);
    }
    loop_timer_set(l->timer, 50);
}

static void script_ends_with_the_lease_and_runs_again(void **state)
{
    struct world w;
    setup_leased(&w, true);
    struct leases l = {.w = &w, .file = mem_printf("%s/began", w.dir)};
    _cleanup_free_ char *shell =
        mem_printf("[ -e %s ] && exit 0; trap '' TERM; echo $$ >%s.new; mv %s.new %s;"
                   " while :; do sleep 1000; done",
                   l.file, l.file, l.file, l.file);
    l.timer = loop_timer_new(w.loop, on_lease_timer, &l);
    run_script(&w, PROLOG, 1, "/bin/sh", shell, 0);
    loop_timer_set(l.timer, 0);
    run_until_ended(&w, 1);
    assert_int_equal(w.failed, 0);
    assert_int_equal(l.expired, 1);
    loop_timer_free(l.timer);
    unlink(l.file);
    free(l.file);
    tear_down_world(&w);
}

static void invalid_lines_of_the_helper_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        int rc;
    } v[] = {
        {"", 0, 0},
        {"\x05\0\0", 3, 0},
        {"\x05\0\0\0ab", 6, 0},
        {"\xff\xff\xff\xff", 4, -1},
        {"\x01\0\0\x04", 4, -1},       /* a byte more than may be */
        {"\x02\0\0\0\xff\xff", 6, -1}, /* no message */
        {"\x02\0\0\0\x0a\x00", 6, -1}, /* a run without a required field */
        {"\x00\0\0\0", 4, 1},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        _cleanup_arena_ struct arena arena;
        _cleanup_str_ struct str in = STR_INIT;
        Pb__ScriptMessage *m = NULL;
        arena_init(&arena, 0);
        str_append(&in, v[i].bytes, v[i].len);
        assert_int_equal(scriptwire_take(&in, &arena, &m), v[i].rc);
    }
}

static void end_of_a_script_is_reported(void **state)
{
    static const struct {
        const char *path, *shell, *text;
        int64_t limit_sec;
        int status;
    } v[] = {
        {"/bin/sh", "[ $A = b ]", "", 0, 0},
        {"/bin/sh", "exit 3", "PrologSlurmctld /bin/sh exited with status 3", 0, 3 << 8},
        {"/bin/sh", "kill -KILL $$", "PrologSlurmctld /bin/sh was ended by signal 9", 0, 9},
        {"/bin/sh", "sleep 60", "PrologSlurmctld /bin/sh did not end within 1 s", 1, SIGTERM},
        {"/nowhere/x", NULL, "PrologSlurmctld /nowhere/x cannot be run: No such file or directory",
         0, 127 << 8},
        {"/etc/passwd", NULL, "PrologSlurmctld /etc/passwd cannot be run: Permission denied", 0,
         127 << 8},
    };
    struct world w;
    set_up_world(&w);
    for (unsigned i = 0; i < sizeof v / sizeof v[0]; i++) {
        run_script(&w, PROLOG, i + 1, v[i].path, v[i].shell, v[i].limit_sec);
        run_until_ended(&w, i + 1);
        assert_int_equal(w.last_status, v[i].status);
        assert_string_equal(w.last_text, v[i].text);
    }
    tear_down_world(&w);
}

static void root_does_not_run_a_script_that_others_may_write(void **state)
{
    char path[96], why[300];
    struct world w;
    bool root = geteuid() == 0; /* of others it is their own affair */
    set_up_world(&w);
    snprintf(path, sizeof path, "%s/open", w.dir);
    FILE *f = fopen(path, "w");
    fputs("#!/bin/sh\n", f);
    fclose(f);
    assert_int_equal(chmod(path, 0777), 0);
    run_script(&w, PROLOG, 1, path, NULL, 0);
    run_until_ended(&w, 1);
    assert_int_equal(w.last_status, root ? 127 << 8 : 0);
    snprintf(why, sizeof why, "PrologSlurmctld %s cannot be run: %s", path, path);
    if (root)
        assert_memory_equal(w.last_text, why, strlen(why));
    unlink(path);
    tear_down_world(&w);
}

static void scripts_beyond_the_limit_wait(void **state)
{
    struct world w;
    set_up_world(&w);
    for (uint32_t i = 1; i <= 3 * SCRIPTS_AT_ONCE; i++)
        run_script(&w, PROLOG, i, "/bin/true", NULL, 0);
    run_until_ended(&w, 3 * SCRIPTS_AT_ONCE);
    assert_int_equal(w.failed, 0);
    tear_down_world(&w);
}

static void waiting_and_running_scripts_can_be_ended(void **state)
{
    struct world w;
    set_up_world(&w);
    for (uint32_t i = 1; i <= SCRIPTS_AT_ONCE; i++)
        run_script(&w, PROLOG, i, "/bin/sleep", NULL, 0); /* fails at once: no operand */
    run_script(&w, PROLOG, 999, "/bin/true", NULL, 0);
    stop_scripts(&w, 999);
    assert_int_equal(w.ended, 0); /* never from within the call */
    run_until_ended(&w, SCRIPTS_AT_ONCE + 1);
    run_script(&w, PROLOG, 1000, "/bin/sh", "exec sleep 60", 0);
    stop_scripts(&w, 1000);
    run_until_ended(&w, SCRIPTS_AT_ONCE + 2);
    assert_int_equal(w.last_status, SIGTERM);
    stop_scripts(&w, 5); /* no longer running */
    tear_down_world(&w);
}

/* The prolog ends when the completion record's program has run. */
static void mail_does_not_keep_others_waiting(void **state)
{
    struct world w;
    char pipe[96], write[128], read[128];
    set_up_world(&w);
    snprintf(pipe, sizeof pipe, "%s/pipe", w.dir);
    snprintf(write, sizeof write, "echo done > %s", pipe);
    snprintf(read, sizeof read, "read text < %s", pipe);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    for (uint32_t i = 1; i <= 100; i++)
        run_script(&w, MAIL, i, "/bin/sh", "exec sleep 60", 0);
    run_script(&w, RECORD, 1, "/bin/sh", write, 0);
    run_script(&w, PROLOG, 1, "/bin/sh", read, 0);
    run_until_ended(&w, 1);
    assert_int_equal(w.last_status, 0);
    unlink(pipe);
    tear_down_world(&w); /* running programs end with the helper */
    assert_non_null(strstr(logged, "92 mails and 0 completion records were not run"));
}

/* Runs a program that ignores SIGTERM; returns its pid when it does so. */
static int run_stubborn(struct world *w)
{
    char path[96], shell[400];
    snprintf(path, sizeof path, "%s/there", w->dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(shell, sizeof shell, "trap '' TERM; echo $$ > %s; while :; do sleep 1; done", path);
    run_script(w, PROLOG, 1, "/bin/sh", shell, 0);
    run_script(w, PROLOG, 2, "/bin/true", NULL, 0); /* begun after the first */
    run_until_ended(w, 1);
    FILE *f = fopen(path, "r"); /* until it writes there */
    int pid = 0;
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%d", &pid), 1);
    fclose(f);
    unlink(path);
    return pid;
}

/* The kernel kills it when the helper has gone; the controller does not wait for that. */
static void assert_gone(int pid)
{
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd end = {.fd = handle, .events = POLLIN};
    assert_true(handle >= 0 ? poll(&end, 1, 60000) == 1 : errno == ESRCH);
    if (handle >= 0)
        close(handle);
}

/* No process that it started survives, and the log names the killed ones. */
static void scripts_end_with_the_controller(void **state)
{
    struct world w;
    set_up_world(&w);
    int pid = run_stubborn(&w);
    tear_down_world(&w);
    assert_gone(pid);
    assert_non_null(strstr(logged, "job 1: PrologSlurmctld /bin/sh was ended by signal 9 when "
                                   "this controller stopped\n"));
    assert_null(strstr(logged, "job 2"));
    assert_int_equal(w.ended, 1); /* nothing follows from the end */
}

static int pid_of_helper(void)
{
    char path[64];
    _cleanup_str_ struct str text = STR_INIT;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    assert_int_equal(path_read_file(path, 1000, &text, NULL), 0);
    return atoi(str_cstr(&text));
}

static void hanging_helper_is_killed(void **state)
{
    struct world w;
    set_up_world(&w);
    int pid = run_stubborn(&w);
    assert_int_equal(kill(pid_of_helper(), SIGSTOP), 0);
    tear_down_world(&w);
    assert_gone(pid);
    assert_string_equal(logged, "the helper that runs scripts did not end within 4 s and is "
                                "killed, with what it runs\n");
}

int main(int argc, char **argv)
{
    if (scriptd_is_wanted(argv[0]))
        return scriptd_main();
    log_open(&(struct log_options){.program = "test", .sink = on_log, .sink_level = LOG_LVL_ERROR});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_lines_of_the_helper_are_refused),
        cmocka_unit_test(end_of_a_script_is_reported),
        cmocka_unit_test(root_does_not_run_a_script_that_others_may_write),
        cmocka_unit_test(scripts_beyond_the_limit_wait),
        cmocka_unit_test(script_ends_with_the_lease_and_runs_again),
        cmocka_unit_test(waiting_and_running_scripts_can_be_ended),
        cmocka_unit_test(mail_does_not_keep_others_waiting),
        cmocka_unit_test(scripts_end_with_the_controller),
        cmocka_unit_test(hanging_helper_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
