/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/loop.h"

static int setup(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int teardown(void **state)
{
    test_dir_free(*state);
    return 0;
}

static char *in_dir(const char *dir, const char *name)
{
    return mem_printf("%s/%s", dir, name);
}

static void write_at(const char *path, long at, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, len, at), len);
    close(fd);
}

/* Two open stores of one directory: the second is refused and told by whom. */
static void second_owner_is_refused(void **state)
{
    struct store *s = open_ok(*state, 0), *second = NULL;
    struct err err = {0};
    assert_int_equal(store_open(*state, 0, NULL, NULL, &second, &err), -ERR_BUSY);
    assert_null(second);
    char pid[32];
    snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    assert_non_null(strstr(err.text, pid));
    assert_non_null(strstr(err.text, "/lock"));
    assert_non_null(strstr(err.text, *state));
    store_close(s);
    store_close(open_ok(*state, 0));
}

/* A newer format is refused, and not one byte of the directory's files changes. */
static void newer_format_is_left_alone(void **state)
{
    struct store *s = open_ok(*state, 0);
    struct store_batch *b = store_batch_new();
    put_text(b, 2, 1, NULL, "one");
    commit_ok(s, b);
    store_close(s);
    _cleanup_free_ char *path = in_dir(*state, "state.db");
    write_at(path, 60, "\0\0\0\x63", 4);
    _cleanup_str_ struct str before = STR_INIT, after = STR_INIT;
    assert_int_equal(path_read_file(path, 1 << 20, &before, NULL), 0);

    static const unsigned flags[] = {0, STORE_IGNORE_DAMAGE};
    for (size_t i = 0; i < 2; i++) {
        struct err err = {0};
        assert_int_equal(store_open(*state, flags[i], NULL, NULL, &s, &err), -ERR_VERSION);
        assert_non_null(strstr(err.text, "format 99"));
        str_clear(&after);
        assert_int_equal(path_read_file(path, 1 << 20, &after, NULL), 0);
        assert_int_equal(after.len, before.len);
        assert_memory_equal(after.data, before.data, before.len);
    }
}

static void no_directory_is_an_error(void **state)
{
    _cleanup_free_ char *file = in_dir(*state, "file"), *dir = in_dir(*state, "file/state");
    write_at(file, 0, "x", 1);
    struct store *s = NULL;
    struct err err = {0};
    assert_true(store_open(dir, 0, NULL, NULL, &s, &err) < 0);
    assert_non_null(strstr(err.text, "file"));
    assert_null(s);
}

static void directory_is_made_private(void **state)
{
    _cleanup_free_ char *dir = in_dir(*state, "a/b"), *db = in_dir(*state, "a/b/state.db");
    store_close(open_ok(dir, 0));
    struct stat st;
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(db, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void records_come_back(void **state)
{
    struct store *s = open_ok(*state, 0);
    struct store_batch *b = store_batch_new();
    assert_true(store_batch_empty(b));
    put_text(b, 4, 0, "n2", "two");
    put_text(b, 4, 0, "n1", "one");
    put_text(b, 2, 300, NULL, "c");
    put_text(b, 2, 7, NULL, "a");
    put_text(b, 3, 7, NULL, "payload");
    put_text(b, 1, 0, NULL, "");
    put_text(b, 2, 40, NULL, "b");
    assert_false(store_batch_empty(b));
    commit_ok(s, b);
    store_close(s);
    assert_records(*state, "4:n1=one\n4:n2=two\n1/0=\n2/7=a\n2/40=b\n2/300=c\n3/7=payload\n");

    s = open_ok(*state, 0);
    struct seen seen = {0};
    assert_int_equal(store_load(s, 3, seen_record, seen_damaged, &seen, NULL), 0);
    assert_string_equal(str_cstr(&seen.records),
                        "4:n1=one\n4:n2=two\n1/0=\n2/7=a\n2/40=b\n2/300=c\n");
    store_close(s);
    seen_done(&seen);
}

static void last_change_of_a_batch_wins(void **state)
{
    struct store *s = open_ok(*state, 0);
    struct store_batch *b = store_batch_new();
    put_text(b, 2, 1, NULL, "first");
    put_text(b, 2, 2, NULL, "gone");
    put_text(b, 4, 0, "n", "first");
    for (int i = 0; i < 100; i++) /* the table of slots grows in between */
        put_text(b, 5, (uint64_t)i, NULL, "x");
    store_delete(b, 2, 1, NULL);
    put_text(b, 2, 1, NULL, "last");
    store_delete(b, 2, 2, NULL);
    put_text(b, 4, 0, "n", "last");
    for (int i = 0; i < 100; i++)
        store_delete(b, 5, (uint64_t)i, NULL);
    store_delete(b, 2, 999, NULL); /* never was */
    store_delete(b, 4, 0, "never");
    commit_ok(s, b);
    store_close(s);
    assert_records(*state, "4:n=last\n2/1=last\n");
}

static void later_batches_replace_and_delete(void **state)
{
    struct store *s = open_ok(*state, 0);
    for (int round = 0; round < 3; round++) {
        struct store_batch *b = store_batch_new();
        char text[16];
        snprintf(text, sizeof(text), "round %d", round);
        put_text(b, 2, 1, NULL, text);
        put_text(b, 2, 10 + (uint64_t)round, NULL, text);
        if (round == 2)
            store_delete(b, 2, 10, NULL);
        commit_ok(s, b);
    }
    store_close(s);
    assert_records(*state, "2/1=round 2\n2/11=round 1\n2/12=round 2\n");
}

static void get_gives_one_record(void **state)
{
    struct store *s = open_ok(*state, 0);
    void *data = NULL;
    size_t len = 0;
    assert_int_equal(store_get(s, 3, 5, &data, &len, NULL), -ENOENT); /* no such kind yet */
    struct store_batch *b = store_batch_new();
    _cleanup_free_ char *big = mem_alloc(200000);
    memset(big, 'x', 200000);
    store_put(b, 3, 5, NULL, big, 200000);
    store_put(b, 3, 6, NULL, "", 0);
    commit_ok(s, b);
    assert_int_equal(store_get(s, 3, 4, &data, &len, NULL), -ENOENT);
    assert_null(data);
    assert_int_equal(store_get(s, 3, 5, &data, &len, NULL), 0);
    assert_int_equal(len, 200000);
    assert_memory_equal(data, big, len);
    free(data);
    assert_int_equal(store_get(s, 3, 6, &data, &len, NULL), 0);
    assert_int_equal(len, 0);
    free(data);
    store_close(s);
}

static void clean_start_keeps_the_old_file(void **state)
{
    struct store *s = open_ok(*state, 0);
    struct store_batch *b = store_batch_new();
    put_text(b, 2, 1, NULL, "one");
    commit_ok(s, b);
    store_close(s);
    store_close(open_ok(*state, STORE_CLEAN));
    assert_records(*state, "");
    _cleanup_free_ char *old = in_dir(*state, "state.db.old"), *path = in_dir(*state, "state.db");
    assert_int_equal(rename(old, path), 0);
    assert_records(*state, "2/1=one\n");
}

/* What was committed is there after the process ends without closing; what was not is not. */
static void committed_work_survives_a_kill(void **state)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store *s = NULL;
        if (store_open(*state, 0, NULL, NULL, &s, NULL))
            _exit(1);
        for (uint64_t i = 0; i < 20; i++) {
            struct store_batch *b = store_batch_new();
            put_text(b, 2, i, NULL, "x");
            if (store_commit_sync(s, b, NULL))
                _exit(1);
        }
        put_text(store_batch_new(), 2, 99, NULL, "not committed");
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    _cleanup_str_ struct str expected = STR_INIT;
    for (int i = 0; i < 20; i++)
        str_printf(&expected, "2/%d=x\n", i);
    assert_records(*state, str_cstr(&expected));
}

/* On a loop: done() comes after the sync, in order, and reads see what is committed. */
struct order {
    struct loop *loop;
    struct store *s;
    int done;
};

static void on_done(void *ctx)
{
    struct order *o = ctx;
    o->done++;
    void *data = NULL;
    size_t len = 0;
    assert_int_equal(store_get(o->s, 2, (uint64_t)o->done, &data, &len, NULL), 0);
    free(data);
    if (o->done == 50)
        loop_stop(o->loop);
}

static void commits_end_in_order(void **state)
{
    struct order o = {.loop = loop_new(2)};
    assert_int_equal(store_open(*state, 0, o.loop, NULL, &o.s, NULL), 0);
    for (uint64_t i = 1; i <= 50; i++) {
        struct store_batch *b = store_batch_new();
        put_text(b, 2, i, NULL, "x");
        store_commit(o.s, b, on_done, &o);
    }
    loop_run(o.loop);
    assert_int_equal(o.done, 50);
    store_close(o.s);
    loop_free(o.loop);
}

/* The log is brought home by itself and does not grow without bound. */
static void log_is_kept_short(void **state)
{
    struct store *s = open_ok(*state, 0);
    _cleanup_free_ char *big = mem_alloc(1 << 20), *log = in_dir(*state, "state.db-wal");
    for (uint64_t i = 0; i < 100; i++) {
        struct store_batch *b = store_batch_new();
        memset(big, (int)i, 1 << 20);
        store_put(b, 3, i % 4, NULL, big, 1 << 20);
        commit_ok(s, b);
    }
    struct stat st;
    assert_int_equal(stat(log, &st), 0);
    assert_true(st.st_size < (24 << 20));
    void *data = NULL;
    size_t len = 0;
    assert_int_equal(store_get(s, 3, 3, &data, &len, NULL), 0);
    assert_memory_equal(data, big, len);
    free(data);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(second_owner_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(newer_format_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(no_directory_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(directory_is_made_private, setup, teardown),
        cmocka_unit_test_setup_teardown(records_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(last_change_of_a_batch_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(later_batches_replace_and_delete, setup, teardown),
        cmocka_unit_test_setup_teardown(get_gives_one_record, setup, teardown),
        cmocka_unit_test_setup_teardown(clean_start_keeps_the_old_file, setup, teardown),
        cmocka_unit_test_setup_teardown(committed_work_survives_a_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(commits_end_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(log_is_kept_short, setup, teardown),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
