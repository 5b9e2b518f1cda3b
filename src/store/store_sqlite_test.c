/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Specific to SQLite: the directory, its lock, the file and its log. */
#include "store/store_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Two open stores of one directory: the second is refused; the error names the holder. */
static void second_owner_is_refused(void **state)
{
    struct store *s = open_ok(*state, 0), *second = NULL;
    struct store_where where = {.at = *state};
    struct err err = {0};
    assert_int_equal(store_open(&where, 0, NULL, NULL, &second, &err), -ERR_LEAD);
    assert_null(second);
    char pid[32];
    snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    assert_non_null(strstr(err.text, pid));
    assert_non_null(strstr(err.text, "/lock"));
    assert_non_null(strstr(err.text, *state));
    store_close(s);
    store_close(open_ok(*state, 0));
}

/* The holder is another process with a given name. */
static void holder_is_named(void **state)
{
    int ready[2], end[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(end), 0);
    struct store_where where = {.at = *state, .holder = "controller one"};
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store *s = NULL;
        close(end[1]);
        char byte = store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, NULL) ? 'n' : 'y';
        if (write(ready[1], &byte, 1) == 1)
            _exit(read(end[0], &byte, 1) != 0);
        _exit(1);
    }
    char byte = 0;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    struct store *s = NULL;
    struct err err = {0};
    where.holder = "controller two";
    assert_int_equal(store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, &err), -ERR_LEAD);
    assert_non_null(strstr(err.text, "controller one"));
    uint64_t epoch = 0;
    _cleanup_free_ char *holder = NULL;
    assert_int_equal(store_lead(&where, &epoch, &holder, NULL), 0);
    assert_int_equal(epoch, 1);
    assert_string_equal(holder, "controller one");
    close(end[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, &err), 0);
    store_close(s);
    close(ready[0]);
    close(ready[1]);
    close(end[0]);
}

/* A newer format is refused, and not one byte of the directory's files changes. */
static void newer_format_is_refused_unchanged(void **state)
{
    struct store *s = open_ok(*state, 0);
    struct store_batch *b = store_batch_new();
    put_text(b, 2, 1, NULL, "one");
    commit_ok(s, b);
    store_close(s);
    _cleanup_free_ char *path = in_dir(*state, "state.db");
    const char next[] = {0, 0, 0, STORE_FORMAT + 1};
    _cleanup_free_ char *told = mem_printf("format %d", STORE_FORMAT + 1);
    write_at(path, 60, next, sizeof(next));
    _cleanup_str_ struct str before = STR_INIT, after = STR_INIT;
    assert_int_equal(path_read_file(path, 1 << 20, &before, NULL), 0);

    static const unsigned flags[] = {0, STORE_IGNORE_DAMAGE};
    struct store_where where = {.at = *state};
    for (size_t i = 0; i < 2; i++) {
        struct err err = {0};
        assert_int_equal(store_open(&where, flags[i], NULL, NULL, &s, &err), -ERR_VERSION);
        assert_non_null(strstr(err.text, told));
        str_clear(&after);
        assert_int_equal(path_read_file(path, 1 << 20, &after, NULL), 0);
        assert_int_equal(after.len, before.len);
        assert_memory_equal(after.data, before.data, before.len);
    }
}

static void missing_directory_is_an_error(void **state)
{
    _cleanup_free_ char *file = in_dir(*state, "file"), *dir = in_dir(*state, "file/state");
    write_at(file, 0, "x", 1);
    struct store *s = NULL;
    struct store_where where = {.at = dir};
    struct err err = {0};
    assert_true(store_open(&where, 0, NULL, NULL, &s, &err) < 0);
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

#define CHILD_FAILED 100
#define GROWTH (1 << 20) /* bytes that the log gets at a time */

struct log_growth {
    off_t size;
    unsigned count; /* number of commits that extended the log */
};

/* For a child process, which ends without closing the store, as if it was killed. It asserts
 * nothing: after a failed assertion cmocka would run the next test in the child. */
static void commit_and_end(const char *dir, const char *log, int report)
{
    struct store_where where = test_where(dir);
    struct store *s = NULL;
    struct log_growth growth = {0};
    struct stat st;
    if (store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, NULL))
        _exit(CHILD_FAILED);
    for (uint64_t i = 1; i <= 400; i++) {
        struct store_batch *b = store_batch_new();
        put_text(b, 2, i, NULL, "text");
        if (store_commit_sync(s, b, NULL) || stat(log, &st))
            _exit(CHILD_FAILED);
        growth.count += st.st_size != growth.size;
        growth.size = st.st_size;
    }
    _exit(write(report, &growth, sizeof(growth)) == sizeof(growth) ? 0 : CHILD_FAILED);
}

/* Few of 400 commits extend the file, and the log ends after the records. */
static void few_commits_make_the_log_longer(void **state)
{
    _cleanup_free_ char *log = in_dir(*state, "state.db-wal");
    struct log_growth growth = {0};
    int status = 0, report[2];
    assert_int_equal(pipe(report), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        commit_and_end(*state, log, report[1]);
    close(report[1]);
    assert_int_equal(read(report[0], &growth, sizeof(growth)), sizeof(growth));
    close(report[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(growth.size > 2 * GROWTH);
    assert_in_range(growth.count, 2, growth.size / GROWTH + 1);
    struct store *s = open_ok(*state, 0);
    void *data = NULL;
    size_t len = 0;
    for (uint64_t i = 1; i <= 400; i++) {
        assert_int_equal(store_get(s, 2, i, &data, &len, NULL), 0);
        assert_int_equal(len, 4);
        assert_memory_equal(data, "text", 4);
        free(data);
    }
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(second_owner_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(holder_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(newer_format_is_refused_unchanged, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_directory_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(directory_is_made_private, setup, teardown),
        cmocka_unit_test_setup_teardown(clean_start_keeps_the_old_file, setup, teardown),
        cmocka_unit_test_setup_teardown(log_is_kept_short, setup, teardown),
        cmocka_unit_test_setup_teardown(few_commits_make_the_log_longer, setup, teardown),
    };
    return cmocka_run_group_tests_name("store_sqlite", tests, NULL, NULL);
}
