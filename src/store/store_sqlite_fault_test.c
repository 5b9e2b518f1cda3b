/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every write and every sync of a commit fails once, and a real full disk. */
#include "store/store_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/loop.h"
#include "store/store_test_vfs.h"

struct told {
    unsigned fatal, trouble;
    struct err first, last; /* errors; 'last' may also be fatal */
};

static void on_fatal(void *ctx, const struct err *why)
{
    struct told *t = ctx;
    t->fatal++;
    t->last = *why;
}

static void on_trouble(void *ctx, const struct err *why)
{
    struct told *t = ctx;
    if (t->trouble++ == 0)
        t->first = *why;
    t->last = *why;
}

static struct store *open_told(const char *dir, struct loop *loop, struct told *told)
{
    struct store_events events = {.on_fatal = on_fatal, .on_trouble = on_trouble, .ctx = told};
    struct store *s = NULL;
    struct err err = {0};
    struct store_where where = {.at = dir};
    if (store_open(&where, STORE_TAKE_LEAD, loop, &events, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static int setup(void **state)
{
    store_test_vfs_install();
    store_test_vfs_fail(TEST_VFS_WRITE, 0, false, 0);
    store_test_vfs_fail(TEST_VFS_SYNC, 0, false, 0);
    *state = test_dir_new();
    return 0;
}

static int teardown(void **state)
{
    store_test_vfs_fail(TEST_VFS_WRITE, 0, false, 0);
    store_test_vfs_fail(TEST_VFS_SYNC, 0, false, 0);
    test_dir_free(*state);
    return 0;
}

static struct store_batch *make_batch(uint64_t number, const char *text)
{
    struct store_batch *b = store_batch_new();
    put_text(b, 2, number, NULL, text);
    put_text(b, 4, 0, "n", text);
    return b;
}

/* A failed sync: on_fatal is called, nothing is committed any longer, done() is never called. */
static void mark(void *ctx)
{
    (*(int *)ctx)++;
}

static void failed_sync_is_fatal(void **state)
{
    struct told told = {0};
    int done = 0;
    struct store *s = open_told(*state, NULL, &told);
    store_commit(s, make_batch(1, "first"), mark, &done);
    assert_int_equal(done, 1);
    store_test_vfs_fail(TEST_VFS_SYNC, 1, false, SQLITE_IOERR_FSYNC);
    store_commit(s, make_batch(2, "second"), mark, &done);
    assert_int_equal(done, 1);
    assert_int_equal(told.fatal, 1);
    assert_non_null(strstr(told.last.text, "state.db"));
    store_commit(s, make_batch(3, "third"), mark, &done); /* the next sync would report success */
    assert_int_equal(done, 1);
    struct err err = {0};
    assert_true(store_commit_sync(s, make_batch(4, "fourth"), &err) < 0);
    store_close(s);
    /* The second was written whole, so that it may be there; the later ones must not. */
    s = open_ok(*state, 0);
    struct seen seen = {0};
    assert_int_equal(store_load(s, 0, seen_record, seen_damaged, &seen, NULL), 0);
    assert_true(strstr(str_cstr(&seen.records), "2/1=first\n") != NULL);
    assert_null(strstr(str_cstr(&seen.records), "third"));
    assert_null(strstr(str_cstr(&seen.records), "fourth"));
    seen_done(&seen);
    store_close(s);
}

/* A failed sync of the log's way home is fatal too, though the commit before it stands. */
static void failed_checkpoint_sync_is_fatal(void **state)
{
    struct told told = {0};
    struct store *s = open_told(*state, NULL, &told);
    _cleanup_free_ char *big = mem_alloc(20 << 20);
    memset(big, 'x', 20 << 20);
    struct store_batch *b = store_batch_new();
    store_put(b, 3, 1, NULL, big, 20 << 20);
    store_test_vfs_fail(TEST_VFS_SYNC, 3, true, SQLITE_IOERR_FSYNC);
    assert_int_equal(store_commit_sync(s, b, NULL), 0);
    assert_int_equal(told.fatal, 1);
    store_close(s);
    store_test_vfs_fail(TEST_VFS_SYNC, 0, false, 0);
    s = open_ok(*state, 0);
    void *data = NULL;
    size_t len = 0;
    assert_int_equal(store_get(s, 3, 1, &data, &len, NULL), 0);
    assert_int_equal(len, 20 << 20);
    free(data);
    store_close(s);
}

/* Each write of a commit fails in turn: the commit fails as a whole, the retry succeeds, and the
 * file always has the state of whole batches. */
static void failed_writes_leave_whole_batches(void **state)
{
    static const int codes[] = {SQLITE_IOERR_WRITE, SQLITE_FULL};
    for (unsigned c = 0; c < 2; c++) {
        for (unsigned nth = 1;; nth++) {
            char *dir = test_dir_new();
            struct told told = {0};
            struct store *s = open_told(dir, NULL, &told);
            commit_ok(s, make_batch(1, "first"));
            store_test_vfs_fail(TEST_VFS_WRITE, nth, true, codes[c]);
            struct store_batch *b = make_batch(2, "second");
            put_text(b, 3, 2, NULL, "a new kind, so that a table is made");
            struct err err = {0};
            int rc = store_commit_sync(s, b, &err);
            assert_int_equal(told.fatal, 0);
            bool hit = store_test_vfs_count(TEST_VFS_WRITE) >= nth;
            store_test_vfs_fail(TEST_VFS_WRITE, 0, false, 0);
            if (hit) {
                assert_true(rc < 0);
                assert_non_null(strstr(err.text, "state.db"));
            }
            commit_ok(s, make_batch(5, "fifth"));
            store_close(s);
            assert_records(dir, hit ? "4:n=fifth\n2/1=first\n2/5=fifth\n"
                                    : "4:n=fifth\n2/1=first\n2/2=second\n2/5=fifth\n3/2=a new "
                                      "kind, so that a table is made\n");
            test_dir_free(dir);
            if (!hit)
                break;
            assert_true(nth < 100);
        }
    }
}

/* On a loop a write that fails once is repeated and then answered; on_trouble tells. */
struct repeat {
    struct loop *loop;
    int done;
};

static void on_repeated(void *ctx)
{
    struct repeat *r = ctx;
    r->done++;
    loop_stop(r->loop);
}

static void commit_is_repeated_after_a_temporary_failure(void **state)
{
    struct told told = {0};
    struct repeat r = {.loop = loop_new(1)};
    struct store *s = open_told(*state, r.loop, &told);
    store_test_vfs_fail(TEST_VFS_WRITE, 1, false, SQLITE_IOERR_WRITE);
    store_commit(s, make_batch(1, "first"), on_repeated, &r);
    loop_run(r.loop);
    assert_int_equal(r.done, 1);
    assert_false(store_is_stuck(s));
    assert_int_equal(told.trouble, 2); /* once for its begin, once for its end */
    assert_non_null(strstr(told.first.text, "nothing is answered"));
    assert_int_equal(told.last.code, 0);
    store_close(s);
    loop_free(r.loop);
    assert_records(*state, "4:n=first\n2/1=first\n");
}

/* Closing gives up a commit that cannot be made, and done() is never called. */
static void close_does_not_wait_for_ever(void **state)
{
    struct told told = {0};
    struct repeat r = {.loop = loop_new(1)};
    struct store *s = open_told(*state, r.loop, &told);
    store_test_vfs_fail(TEST_VFS_WRITE, 1, true, SQLITE_IOERR_WRITE);
    store_commit(s, make_batch(1, "first"), on_repeated, &r);
    store_close(s);
    store_test_vfs_fail(TEST_VFS_WRITE, 0, false, 0);
    struct loop_timer *end = loop_timer_new(r.loop, (loop_fn *)loop_stop, r.loop);
    loop_timer_set(end, 0);
    loop_run(r.loop);
    loop_timer_free(end);
    assert_int_equal(r.done, 0);
    loop_free(r.loop);
    assert_records(*state, "");
}

/* Commits after a commit that was given up are given up, too: there are no gaps. */
static void commits_after_an_abandoned_one_are_abandoned(void **state)
{
    struct told told = {0};
    struct repeat r = {.loop = loop_new(1)};
    struct store *s = open_told(*state, r.loop, &told);
    store_test_vfs_fail(TEST_VFS_WRITE, 1, false, SQLITE_IOERR_WRITE);
    store_commit(s, make_batch(1, "first"), on_repeated, &r);
    store_commit(s, make_batch(2, "second"), on_repeated, &r);
    store_close(s);
    struct loop_timer *end = loop_timer_new(r.loop, (loop_fn *)loop_stop, r.loop);
    loop_timer_set(end, 0);
    loop_run(r.loop);
    loop_timer_free(end);
    loop_free(r.loop);
    s = open_ok(*state, 0);
    struct seen seen = {0};
    assert_int_equal(store_load(s, 0, seen_record, seen_damaged, &seen, NULL), 0);
    if (strstr(str_cstr(&seen.records), "second"))
        assert_non_null(strstr(str_cstr(&seen.records), "first"));
    seen_done(&seen);
    store_close(s);
}

/* The reserve lets commits go on when the disk is full, and store_low() tells. */
static void commit_uses_the_reserve_on_a_full_disk(void **state)
{
    struct told told = {0};
    struct store *s = open_told(*state, NULL, &told);
    _cleanup_free_ char *reserve = mem_printf("%s/reserve", (char *)*state);
    struct stat st;
    assert_int_equal(stat(reserve, &st), 0);
    assert_int_equal(st.st_size, STORE_RESERVE);
    assert_false(store_low(s, 0));
    store_test_vfs_fail(TEST_VFS_WRITE, 1, false, SQLITE_FULL);
    commit_ok(s, make_batch(1, "first"));
    assert_true(told.trouble > 0);
    store_close(s);
    assert_records(*state, "4:n=first\n2/1=first\n");
}

/* A real full disk: a tmpfs of 16 MiB, filled by another file. */
static void fill_disk(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    _cleanup_free_ char *block = mem_alloc(65536);
    for (size_t step = 65536; step >= 4096;) {
        if (write(fd, block, step) <= 0)
            step /= 2;
    }
    close(fd);
}

static void full_disk_is_survived(void **state)
{
    assert_int_equal(mount("tmpfs", *state, "tmpfs", 0, "size=16m"), 0);
    struct told told = {0};
    struct store *s = open_told(*state, NULL, &told);
    commit_ok(s, make_batch(1, "first"));
    assert_false(store_low(s, 0));
    _cleanup_free_ char *filler = mem_printf("%s/filler", (char *)*state);
    fill_disk(filler);
    commit_ok(s, make_batch(2, "second"));
    assert_true(store_low(s, 0));
    assert_int_equal(told.trouble, 1);
    assert_int_equal(told.last.code, -ERR_STORE_FULL);

    /* More than the reserve holds: refused, and whole. */
    _cleanup_free_ char *big = mem_alloc(6 << 20);
    struct store_batch *b = store_batch_new();
    store_put(b, 3, 1, NULL, big, 6 << 20);
    struct err err = {0};
    assert_int_equal(store_commit_sync(s, b, &err), -ERR_STORE_FULL);
    assert_int_equal(told.fatal, 0);

    assert_int_equal(unlink(filler), 0);
    commit_ok(s, make_batch(3, "third"));
    assert_false(store_low(s, 0));
    store_close(s);
    assert_records(*state, "4:n=third\n2/1=first\n2/2=second\n2/3=third\n");
    assert_int_equal(umount2(*state, MNT_DETACH), 0);
}

/* Deleting many records needs little space: deleted records are not written again, and the log
 * does not take the space that the database needs to grow. */
static void deletions_leave_space_for_the_database(void **state)
{
    assert_int_equal(mount("tmpfs", *state, "tmpfs", 0, "size=40m"), 0);
    struct told told = {0};
    struct store *s = open_told(*state, NULL, &told);
    const size_t len = 3 << 20;
    _cleanup_free_ char *big = mem_alloc(len);
    memset(big, 'x', len);
    unsigned count = 0;
    for (; !store_low(s, len); count++) {
        struct store_batch *b = store_batch_new();
        store_put(b, 3, count + 1, NULL, big, len);
        commit_ok(s, b);
        assert_true(count < 20);
    }
    assert_true(count >= 5);
    assert_int_equal(told.trouble, 0);
    _cleanup_free_ char *log = mem_printf("%s/state.db-wal", (char *)*state);
    struct stat st;
    assert_int_equal(stat(log, &st), 0);
    assert_true(st.st_size < 2 << 20);

    _cleanup_free_ char *filler = mem_printf("%s/filler", (char *)*state);
    fill_disk(filler);
    struct store_batch *b = store_batch_new();
    for (unsigned i = 0; i < count; i++)
        store_delete(b, 3, i + 1, NULL);
    put_text(b, 2, 1, NULL, "after");
    commit_ok(s, b);
    assert_int_equal(stat(log, &st), 0);
    assert_true(st.st_size < 2 << 20);
    assert_int_equal(unlink(filler), 0);
    commit_ok(s, make_batch(2, "again"));
    assert_false(store_low(s, len)); /* in the space of deleted records */
    store_close(s);
    assert_records(*state, "4:n=again\n2/1=after\n2/2=again\n");
    assert_int_equal(umount2(*state, MNT_DETACH), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(failed_sync_is_fatal, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_checkpoint_sync_is_fatal, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_writes_leave_whole_batches, setup, teardown),
        cmocka_unit_test_setup_teardown(commit_is_repeated_after_a_temporary_failure, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(close_does_not_wait_for_ever, setup, teardown),
        cmocka_unit_test_setup_teardown(commits_after_an_abandoned_one_are_abandoned, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(commit_uses_the_reserve_on_a_full_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(full_disk_is_survived, setup, teardown),
        cmocka_unit_test_setup_teardown(deletions_leave_space_for_the_database, setup, teardown),
    };
    return cmocka_run_group_tests_name("store_sqlite_fault", tests, NULL, NULL);
}
