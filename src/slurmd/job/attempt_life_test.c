/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/attempt_life.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/step_id.h"
#include "slurmd/attempt/events.h"
#include "slurmd/attempt/revoked.h"
#include "slurmd/step/step.h"
#include "slurmd/usage/usage.h"

#define JOB 42

static struct conf conf;
static struct slurmd d;

static char *make_path_below(const char *name)
{
    return mem_printf("%s/%s", d.spool, name);
}

static int set_up(void **state)
{
    char dir[] = "/tmp/job-test.XXXXXX";

    d = (struct slurmd){.conf = &conf, .name = "n1"};
    if (!mkdtemp(dir))
        return 1;
    d.spool = mem_strdup(dir);
    _cleanup_free_ char *jobs = make_path_below("jobs"), *steps = make_path_below("steps"),
                        *events = make_path_below("events"), *revoked = make_path_below("revoked");
    conf.path = d.spool; /* no plugstack.conf beside it */
    d.loop = loop_new(0);
    assert_int_equal(usage_open(&d, NULL), 0);
    return mkdir(jobs, 0700) || mkdir(steps, 0700) || events_open(events, 1, &d.events, NULL) ||
           revoked_open(revoked, &d.revoked, NULL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static int tear_down(void **state)
{
    int rc;

    attempt_free_all(&d);
    usage_close(&d);
    events_close(d.events);
    revoked_close(d.revoked);
    loop_free(d.loop);
    usage_done(&d);
    rc = nftw(d.spool, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(d.spool);
    return rc;
}

static Pb__StepdEnded end_of(uint32_t step_id)
{
    Pb__StepdEnded m = PB__STEPD_ENDED__INIT;

    m.job_id = JOB;
    m.step_id = step_id;
    return m;
}

static void has_written_down(const Pb__StepdEnded *m)
{
    _cleanup_free_ char *path = step_file(&d, JOB, 0, m->step_id, "exit");
    _cleanup_free_ char *claim = step_file(&d, JOB, 0, m->step_id, "sock");
    _cleanup_str_ struct str bytes = STR_INIT;

    pb_pack(&m->base, &bytes);
    assert_int_equal(path_write_file(path, bytes.data, bytes.len, 0600, NULL), 0);
    assert_int_equal(path_write_file(claim, "", 0, 0600, NULL), 0);
}

static int listen_as_shepherd(uint32_t step_id)
{
    _cleanup_free_ char *path = step_file(&d, JOB, 0, step_id, "sock");
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static struct attempt *adopt_attempt(const char *lines)
{
    _cleanup_free_ char *path = mem_printf("%s/jobs/%d.0", d.spool, JOB);
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;
    struct note note = {0};

    about.job_id = JOB;
    assert_int_equal(note_create(d.spool, &about, lines, NULL), 0);
    assert_int_equal(note_load(path, &note, NULL), 0);
    attempt_adopt(&d, &note);
    return attempt_find(&d, JOB, 0);
}

static struct attempt *make_attempt(uint32_t restarts)
{
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;

    about.job_id = JOB;
    about.restarts = restarts;
    return attempt_new_unnoted(&d, &about);
}

/* Steps are found one after another: an ended step must not end the job while others live. */
static void epilog_waits_for_all_steps(void **state)
{
    static const char *const notes[] = {
        NOTE_SINGLE NOTE_BATCH "S 3 1\n",       /* the script of a single-node job has ended */
        NOTE_BATCH "S 2 1\nS 3 1\nT 30 late\n", /* or the job was ordered to end */
    };
    const Pb__StepdEnded script = end_of(STEP_ID_BATCH), other = end_of(2);

    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        set_up(NULL);
        int fd = listen_as_shepherd(3);
        has_written_down(&script);
        has_written_down(&other);
        const struct attempt *a = adopt_attempt(notes[i]);
        assert_int_equal(a->phase, ATTEMPT_ENDING);
        assert_int_equal(a->steps.len, 1);
        assert_int_equal(a->steps.data[0]->id, 3);
        close(fd);
        tear_down(NULL);
    }
}

static void count_failures(void *ctx, const Pb__NodeEvent *e)
{
    if (e->launched && e->launched->code == ERR_USER_ENV)
        ++*(int *)ctx;
}

/* Reported once, whether this daemon has started its shepherd, an earlier one, or it is
   unknown. */
static void a_failed_start_is_reported(void **state)
{
    enum { OURS, FOUND, GONE };
    Pb__StepdEnded m = end_of(STEP_ID_BATCH);

    m.has_launch_code = true;
    m.launch_code = ERR_USER_ENV;
    for (int how = OURS; how <= GONE; how++) {
        set_up(NULL);
        int count = 0, fd = listen_as_shepherd(STEP_ID_BATCH);
        struct attempt *a = adopt_attempt(NOTE_BATCH);
        struct step *s = step_find(a, STEP_ID_BATCH);
        assert_non_null(s);
        s->started = s->answered = how == FOUND;
        attempt_step_ended(a, &m, how == GONE ? NULL : s);
        events_each(d.events, count_failures, &count);
        assert_int_equal(count, 1);
        close(fd);
        tear_down(NULL);
    }
}

/* A job is requeued to the node on which one of its attempts was given up. */
static void next_attempt_keeps_its_script(void **state)
{
    struct attempt *first, *second;

    set_up(NULL);
    _cleanup_free_ char *dir = make_path_below("job00042"),
                        *script = make_path_below("job00042/slurm_script");
    first = make_attempt(0);
    second = make_attempt(1);
    assert_int_equal(mkdir(dir, 0711), 0);
    assert_int_equal(path_write_file(script, "#!", 2, 0700, NULL), 0);
    attempt_forget(first);
    assert_int_equal(access(script, F_OK), 0);
    attempt_forget(second);
    assert_int_equal(access(dir, F_OK), -1);
    tear_down(NULL);
}

/* A controller that has not learned of an end repeats the order, possibly without a reason. */
static void repeated_end_order_keeps_its_reason(void **state)
{
    static const struct {
        const char *first, *then, *kept;
        uint32_t first_sec, then_sec, kept_sec;
    } rows[] = {
        {"TIME LIMIT", NULL, "TIME LIMIT", 30, 30, 30},
        {"TIME LIMIT", "", "TIME LIMIT", 30, 10, 10},
        {"TIME LIMIT", "TIME LIMIT", "TIME LIMIT", 30, 60, 30},
        {NULL, "TIME LIMIT", "TIME LIMIT", 30, 60, 30},
        {NULL, NULL, "", 30, 30, 30},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_up(NULL);
        _cleanup_free_ char *path = mem_printf("%s/jobs/%d.0", d.spool, JOB);
        int fd = listen_as_shepherd(3);
        struct attempt *a = adopt_attempt("S 3 1\n");
        struct note read = {0};
        attempt_terminate(a, rows[i].first_sec, rows[i].first);
        attempt_terminate(a, rows[i].then_sec, rows[i].then);
        assert_int_equal(note_load(path, &read, NULL), 0); /* what the next daemon reads */
        const struct note *notes[] = {&a->note, &read};
        for (size_t k = 0; k < 2; k++) {
            assert_string_equal(notes[k]->why, rows[i].kept);
            assert_int_equal(notes[k]->grace_sec, rows[i].kept_sec);
        }
        note_done(&read);
        close(fd);
        tear_down(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epilog_waits_for_all_steps),
        cmocka_unit_test(a_failed_start_is_reported),
        cmocka_unit_test(repeated_end_order_keeps_its_reason),
        cmocka_unit_test(next_attempt_keeps_its_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
