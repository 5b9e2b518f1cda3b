/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "slurmd/attempt/note.h"

static char dir[] = "/tmp/note-test.XXXXXX", jobs[64], path[80];

static int set_up(void **state)
{
    if (!mkdtemp(dir))
        return 1;
    snprintf(jobs, sizeof(jobs), "%s/jobs", dir);
    snprintf(path, sizeof(path), "%s/42.3", jobs);
    return mkdir(jobs, 0700);
}

static int tear_down(void **state)
{
    return rmdir(jobs) || rmdir(dir);
}

static void make_note(const char *line)
{
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;
    Pb__JobFacts facts = PB__JOB_FACTS__INIT;

    about.job_id = 42;
    about.restarts = 3;
    about.uid = 1000;
    about.facts = &facts;
    facts.job_name = "a name\nwith G 1\nlines";
    assert_int_equal(note_create(dir, &about, line, NULL), 0);
}

/* Limits the size of files: writes fail, the last one in the middle. */
static void limit_files(rlim_t bytes)
{
    static struct rlimit before;
    struct rlimit now;

    if (bytes == RLIM_INFINITY) {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        return;
    }
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    now = before;
    now.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
}

/* RELIABILITY D5: a line that was not written completely does not exist, and later lines are
   complete again. */
static void test_full_disk_leaves_a_whole_note(void **state)
{
    static const char first[] = "S 1 a\n", lost[] = "S 2 b\n", next[] = "S 3 c\n";
    struct note n = {0};
    struct stat st;
    int rc;

    limit_files(4);
    rc = note_create(dir, &(Pb__NodeAttempt)PB__NODE_ATTEMPT__INIT, "", NULL);
    limit_files(RLIM_INFINITY);
    assert_int_equal(rc, -ERR_NODE_FAULT);
    make_note(first);
    assert_int_equal(stat(path, &st), 0);
    limit_files((rlim_t)st.st_size + 3);
    rc = note_append(dir, 42, 3, lost, NULL);
    limit_files(RLIM_INFINITY);
    assert_int_equal(rc, -ERR_NODE_FAULT);
    assert_int_equal(note_append(dir, 42, 3, next, NULL), 0);
    assert_int_equal(note_load(path, &n, NULL), 0);
    assert_int_equal(n.steps.len, 2);
    assert_int_equal(n.steps.data[1].id, 3);
    note_done(&n);
    note_remove(dir, 42,
                3); /* and of the first there is nothing: tear_down() finds the folder empty */
}

static void test_note_truncated_at_any_byte_is_read(void **state)
{
    _cleanup_str_ struct str whole = STR_INIT;

    make_note(NOTE_SINGLE);
    assert_int_equal(note_append(dir, 42, 3, NOTE_BATCH, NULL), 0);
    assert_int_equal(path_read_file(path, 4096, &whole, NULL), 0);
    for (size_t len = 0; len <= whole.len; len++) {
        struct note n = {0};
        int rc;

        assert_int_equal(path_write_file(path, whole.data, len, 0600, NULL), 0);
        rc = note_load(path, &n, NULL);
        assert_int_equal(rc, len < whole.len - 4 ? -ERR_STORE_DAMAGED : 0);
        assert_true((n.batch == NOTE_BATCH_STARTED) == (len == whole.len));
        note_done(&n);
    }
    note_remove(dir, 42, 3);
}

/* Kept signals of a script: CORE-184. */
static void test_early_signals_are_kept(void **state)
{
    struct note n = {0};

    make_note("k 10 1 18446744073709551615\nk 64 0 7\nk 12\nk x 0 1\n");
    assert_int_equal(note_load(path, &n, NULL), 0);
    assert_int_equal(n.early.len, 2);
    assert_int_equal(n.early.data[0].signo, 10);
    assert_true(n.early.data[0].leader_only);
    assert_true(n.early.data[0].nonce == UINT64_MAX);
    assert_false(n.early.data[1].leader_only);
    note_done(&n);
    note_remove(dir, 42, 3);
    make_note("k 10 1 5\nk 12 1 6\nK\nk 64 0 7\n"); /* signals that it has received are not */
    assert_int_equal(note_load(path, &n, NULL), 0);
    assert_int_equal(n.early.len, 1);
    assert_int_equal(n.early.data[0].signo, 64);
    note_done(&n);
    note_remove(dir, 42, 3);
}

/* The share on this node, which arrives later than the job; valid and invalid. */
static void test_share_of_the_node_is_kept(void **state)
{
    static const char *const bad[] = {"N \n", "N 0\n", "N zz\n", "N 0a02\n", "N 0A\n"};
    Pb__NodeShare share = PB__NODE_SHARE__INIT;
    _cleanup_str_ struct str bytes = STR_INIT, hex = STR_INIT;
    char line[200];

    share.node = "n1";
    share.cpus = 7;
    pb_pack(&share.base, &bytes);
    note_put_hex(&bytes, &hex);
    snprintf(line, sizeof(line), NOTE_SHARE, str_cstr(&hex));
    for (size_t i = 0; i <= sizeof(bad) / sizeof(bad[0]); i++) {
        bool good = i == sizeof(bad) / sizeof(bad[0]);
        struct note n = {0};

        make_note(good ? line : bad[i]);
        assert_int_equal(note_load(path, &n, NULL), 0);
        assert_true(good == (n.about->share != NULL));
        assert_true(!good || (n.about->share->cpus == 7 && !strcmp(n.about->share->node, "n1")));
        note_done(&n);
        note_remove(dir, 42, 3);
    }
}

static void test_note_with_flipped_bits_is_survived(void **state)
{
    _cleanup_str_ struct str whole = STR_INIT;

    make_note("");
    assert_int_equal(path_read_file(path, 4096, &whole, NULL), 0);
    for (size_t bit = 0; bit < 8 * whole.len; bit++) {
        struct note n = {0};

        whole.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(path_write_file(path, whole.data, whole.len, 0600, NULL), 0);
        whole.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(note_load(path, &n, NULL), -ERR_STORE_DAMAGED);
        note_done(&n);
    }
    note_remove(dir, 42, 3);
}

static void test_completed_stages_are_restored(void **state)
{
    static const char *const lines[] = {"nonsense\n",
                                        NOTE_PREPARED,
                                        "p 0\n",
                                        "p 815\n",
                                        NOTE_PROLOG_DONE,
                                        "S 0 ff\n",
                                        "S 17 123456789abcdef0\n",
                                        "s 17\n",
                                        "s 99\n",
                                        "d 256\n",
                                        "d 768\n",
                                        "T 30 TIME LIMIT\n",
                                        "T 5 \n",
                                        "E 0\n",
                                        "E 4711\n",
                                        "H 1 1\n",
                                        "H 4 0\n",
                                        "H 5 1\n",
                                        NOTE_CONTAIN,
                                        "a 17 99999999999\n",
                                        "a 18\n"};
    struct note n = {0};

    make_note(NOTE_SINGLE);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(note_append(dir, 42, 3, lines[i], NULL), 0);
    assert_int_equal(note_load(path, &n, NULL), 0);
    assert_int_equal(n.about->uid, 1000);
    assert_true(n.single_node && n.epilog_begun);
    assert_true(n.about->has_derived_status && n.about->derived_status == 768);
    assert_int_equal(n.phase, ATTEMPT_ENDING);
    assert_int_equal(n.batch, NOTE_BATCH_NONE);
    assert_int_equal(n.steps.len, 2);
    assert_true(n.steps.data[1].id == 17 && n.steps.data[1].key == 0x123456789abcdef0);
    assert_true(n.steps.data[1].over && !n.steps.data[0].over);
    assert_int_equal(n.grace_sec, 5);
    assert_string_equal(n.why, "");
    assert_int_equal(n.epilog_pid, 4711);
    assert_true(n.halt_number == 5 && n.halted);
    assert_true(n.prepared && n.prolog_pid == 815);
    assert_true(n.contain && n.ever_adopted && n.adopted.len == 1);
    assert_true(n.adopted.data[0].pid == 17 && n.adopted.data[0].started_ticks == 99999999999);
    note_done(&n);
    assert_int_equal(note_append(dir, 42, 3, "G 256\n", NULL), 0);
    assert_int_equal(note_load(path, &n, NULL), 0);
    assert_int_equal(n.phase, ATTEMPT_GONE);
    assert_int_equal(n.epilog_status, 256);
    note_done(&n);
    note_remove(dir, 42, 3);
}

/* In every order in which a daemon can have written the lines. */
static void note_lines_restore_the_phase(void **state)
{
    static const struct {
        const char *lines;
        enum attempt_phase phase;
    } rows[] = {
        {"", ATTEMPT_NEW},
        {"1\nA\nC\n", ATTEMPT_NEW},
        {"p 0\n", ATTEMPT_PROLOG},
        {"p 0\np 815\n", ATTEMPT_PROLOG},
        {"p 0\np 815\np 0\np 816\n", ATTEMPT_PROLOG}, /* run again after a restart */
        {"p 0\np 815\nP\nB\n", ATTEMPT_READY},
        {"P\nB\n", ATTEMPT_READY},
        {"B\nT 30 \n", ATTEMPT_ENDING},
        {"B\nT 30 \nT 0 late\n", ATTEMPT_ENDING},
        {"p 0\np 815\nP\nT 30 \n", ATTEMPT_ENDING},
        {"p 0\nT 30 \np 815\n", ATTEMPT_ENDING_PROLOG},
        {"T 30 \np 0\np 815\n", ATTEMPT_ENDING_PROLOG}, /* it was queued */
        {"p 0\np 815\nT 30 \nP\n", ATTEMPT_ENDING},
        {"p 0\np 815\nT 30 \nE 0\n", ATTEMPT_ENDING}, /* the prolog failed */
        {"p 0\np 815\nP\nT 30 \nE 0\nE 816\nT 0 late\n", ATTEMPT_ENDING},
        {"1\nB\nE 0\n", ATTEMPT_NEW}, /* the script's end is in its exit file */
        {"T 30 \nE 0\nE 816\nG 0\n", ATTEMPT_GONE},
        {"T 30 \nG 0\n", ATTEMPT_GONE},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct note n = {0};

        make_note(rows[i].lines);
        assert_int_equal(note_load(path, &n, NULL), 0);
        assert_int_equal(n.phase, rows[i].phase);
        note_done(&n);
        note_remove(dir, 42, 3);
    }
}

/* An older daemon has written the order that introduced the attempt, with the same numbers. */
static void note_of_an_older_daemon_is_read(void **state)
{
    Pb__Terminate old = PB__TERMINATE__INIT;
    Pb__NodeAttempt now = PB__NODE_ATTEMPT__INIT;
    Pb__JobFacts facts = PB__JOB_FACTS__INIT;
    _cleanup_str_ struct str bytes = STR_INIT;
    struct note n = {0};

    old.job_id = now.job_id = 42;
    old.restarts = now.restarts = 3;
    old.uid = now.uid = 1000;
    old.gid = now.gid = 100;
    old.has_grace_sec = old.has_step_id = old.has_exit_status = old.has_derived_status = true;
    old.grace_sec = old.step_id = 30;
    old.why = "late";
    old.exit_status = 256;
    old.derived_status = 512;
    old.facts = &facts;
    facts.job_name = "name";
    now.has_cpus = now.has_known_at_ms = now.has_unallocated = now.unallocated = true;
    now.cpus = 4;
    now.known_at_ms = 17;
    pb_pack(&old.base, &bytes); /* then the fields that were in its own notes only */
    pb_pack(&now.base, &bytes);
    Pb__NodeAttempt *whole = pb_unpack(&pb__node_attempt__descriptor, str_cstr(&bytes), bytes.len);
    assert_non_null(whole);
    assert_int_equal(note_create(dir, whole, NOTE_BATCH, NULL), 0);
    pb__node_attempt__free_unpacked(whole, NULL);
    assert_int_equal(note_load(path, &n, NULL), 0);
    assert_int_equal(n.about->uid, 1000);
    assert_int_equal(n.about->gid, 100);
    assert_int_equal(n.about->exit_status, 256);
    assert_int_equal(n.about->derived_status, 512);
    assert_int_equal(n.about->cpus, 4);
    assert_int_equal(n.about->known_at_ms, 17);
    assert_true(n.about->unallocated);
    assert_string_equal(n.about->facts->job_name, "name");
    note_done(&n);
    note_remove(dir, 42, 3);
}

static void test_note_is_created_once(void **state)
{
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;

    make_note("");
    about.job_id = 42;
    about.restarts = 3;
    assert_int_not_equal(note_create(dir, &about, "", NULL), 0);
    note_remove(dir, 42, 3);
    assert_int_not_equal(note_append(dir, 42, 3, NOTE_BATCH, NULL), 0); /* not made by a line */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_disk_leaves_a_whole_note),
        cmocka_unit_test(test_note_truncated_at_any_byte_is_read),
        cmocka_unit_test(test_early_signals_are_kept),
        cmocka_unit_test(test_share_of_the_node_is_kept),
        cmocka_unit_test(test_note_with_flipped_bits_is_survived),
        cmocka_unit_test(test_completed_stages_are_restored),
        cmocka_unit_test(note_lines_restore_the_phase),
        cmocka_unit_test(note_of_an_older_daemon_is_read),
        cmocka_unit_test(test_note_is_created_once),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
