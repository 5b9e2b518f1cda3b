/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Common to all drivers. The argument "postgresql" selects that driver. */
#include "store/store_test.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/loop.h"
#include "store/store_test_pg.h"

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

/* A place that cannot be one is refused, makes no directory, and no error shows a password. */
static void invalid_store_urls_are_refused(void **state)
{
    static const char *const places[] = {
        "",
        "postgresql:/db",
        "postgres:db",
        "mysql://u:secret@h/db",
        "postgresql://u:se cret@h/db",
        "postgresql://u:secret@x@h/db",
        "postgresql://u:secret%@h/db",
        "postgresql://u:secret@h/db?no_such_parameter=1",
        "postgresql://u:secret@127.0.0.1:1/db",
        "postgres://u@127.0.0.1:1/db?password=secret",
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct store_where where = {.at = places[i], .cluster = "c"};
        struct store *s = NULL;
        struct err err = {0};
        uint64_t epoch = 0;
        char *holder = NULL;
        assert_true(store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, &err) < 0);
        assert_null(s);
        assert_true(err.code < 0 && err.text[0]);
        assert_null(strstr(err.text, "secret"));
        assert_true(store_lead(&where, &epoch, &holder, &err) < 0);
        assert_null(strstr(err.text, "secret"));
        assert_null(holder);
    }
}

/* Without the lead a store reads, and commits nothing. */
static void on_lost(void *ctx, const struct err *why)
{
    assert_int_equal(why->code, -ERR_LEAD);
    (*(int *)ctx)++;
}

static void never(void *ctx)
{
    fail_msg("a commit was made that must not be");
}

static void store_without_the_lead_writes_nothing(void **state)
{
    struct store *s = open_ok(*state, 0);
    assert_true(store_epoch(s) > 0);
    struct store_batch *b = store_batch_new();
    put_text(b, 2, 1, NULL, "one");
    commit_ok(s, b);
    store_close(s);

    int lost = 0;
    struct store_where where = test_where(*state);
    struct store_events events = {.on_lost = on_lost, .ctx = &lost};
    assert_int_equal(store_open(&where, 0, NULL, &events, &s, NULL), 0);
    assert_int_equal(store_epoch(s), 0);
    struct err err = {0};
    b = store_batch_new();
    put_text(b, 2, 2, NULL, "two");
    assert_int_equal(store_commit_sync(s, b, &err), -ERR_LEAD);
    assert_non_null(strstr(err.text, "reading"));
    for (int i = 0; i < 2; i++) {
        b = store_batch_new();
        put_text(b, 2, 3, NULL, "three");
        store_commit(s, b, never, NULL);
    }
    assert_int_equal(lost, 1);
    struct seen seen = {0};
    assert_int_equal(store_load(s, 0, seen_record, seen_damaged, &seen, NULL), 0);
    assert_string_equal(str_cstr(&seen.records), "2/1=one\n");
    seen_done(&seen);
    store_close(s);
}

static void holder_of_the_lead_is_reported(void **state)
{
    struct store_where where = test_where(*state);
    where.holder = "controller 'one'";
    uint64_t epoch = 9;
    char *holder = NULL;
    assert_int_equal(store_lead(&where, &epoch, &holder, NULL), 0);
    assert_int_equal(epoch, 0);
    assert_null(holder);
    struct store *s = NULL;
    assert_int_equal(store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, NULL), 0);
    assert_int_equal(store_lead(&where, &epoch, &holder, NULL), 0);
    assert_int_equal(epoch, store_epoch(s));
    assert_string_equal(holder, "controller 'one'");
    free(take_ptr(holder));
    store_close(s);
    assert_int_equal(store_lead(&where, &epoch, &holder, NULL), 0);
    assert_null(holder);
}

static void records_are_read_back(void **state)
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

static void get_returns_one_record(void **state)
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

/* Whatever the bytes are, they come back. */
static void arbitrary_bytes_are_read_back(void **state)
{
    static const char *const names[] = {
        "'; DROP TABLE named; --", "a\nb\tc", "\xff\xc0\x80", "\\x41", "%s%n", "", "\"quoted\""};
    char data[512];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)i;
    struct store *s = open_ok(*state, 0);
    struct store_batch *b = store_batch_new();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        store_put(b, 4, 0, names[i], names[i], strlen(names[i]));
    store_put(b, UINT32_MAX, UINT64_MAX, NULL, data, sizeof(data));
    store_put(b, 0x80000000u, UINT64_C(1) << 63, NULL, "", 0);
    commit_ok(s, b);
    void *back = NULL;
    size_t len = 0;
    assert_int_equal(store_get(s, UINT32_MAX, UINT64_MAX, &back, &len, NULL), 0);
    assert_int_equal(len, sizeof(data));
    assert_memory_equal(back, data, len);
    free(back);
    struct seen seen = {0};
    assert_int_equal(store_load(s, UINT32_MAX, seen_record, seen_damaged, &seen, NULL), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        _cleanup_free_ char *line = mem_printf("4:%s=%s\n", names[i], names[i]);
        assert_non_null(strstr(str_cstr(&seen.records), line));
    }
    assert_non_null(strstr(str_cstr(&seen.records), "2147483648/9223372036854775808=\n"));
    assert_string_equal(str_cstr(&seen.damaged), "");
    seen_done(&seen);
    b = store_batch_new();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        store_delete(b, 4, 0, names[i]);
    store_delete(b, UINT32_MAX, UINT64_MAX, NULL);
    store_delete(b, 0x80000000u, UINT64_C(1) << 63, NULL);
    commit_ok(s, b);
    store_close(s);
    assert_records(*state, "");
}

/* More rows and more bytes than one statement takes. */
static void count_record(void *ctx, uint32_t kind, uint64_t number, const char *name,
                         const void *data, size_t len)
{
    size_t *seen = ctx;
    assert_int_equal(len, number % 100 == 0 ? 300000 : number % 100);
    seen[0]++;
    seen[1] += len;
}

static void large_batches_are_whole(void **state)
{
    enum { COUNT = 20000 };
    _cleanup_free_ char *bytes = mem_alloc(300000);
    memset(bytes, 'x', 300000);
    struct store *s = open_ok(*state, 0);
    struct store_batch *b = store_batch_new();
    size_t total = 0;
    for (uint64_t i = 1; i <= COUNT; i++) {
        size_t len = i % 100 == 0 ? 300000 : i % 100;
        store_put(b, 2 + i % 2, i, NULL, bytes, len);
        total += len;
    }
    commit_ok(s, b);
    size_t seen[2] = {0};
    assert_int_equal(store_load(s, 0, count_record, seen_damaged, seen, NULL), 0);
    assert_int_equal(seen[0], COUNT);
    assert_int_equal(seen[1], total);
    b = store_batch_new();
    for (uint64_t i = 1; i <= COUNT; i++)
        if (i != 777)
            store_delete(b, 2 + i % 2, i, NULL);
    commit_ok(s, b);
    memset(seen, 0, sizeof(seen));
    assert_int_equal(store_load(s, 0, count_record, seen_damaged, seen, NULL), 0);
    assert_int_equal(seen[0], 1);
    store_close(s);
}

/* An empty batch is a question, and is answered. */
static void mark(void *ctx)
{
    (*(int *)ctx)++;
}

static void empty_batch_is_answered(void **state)
{
    int done = 0;
    struct store *s = open_ok(*state, 0);
    store_commit(s, store_batch_new(), mark, &done);
    assert_int_equal(done, 1);
    assert_int_equal(store_commit_sync(s, store_batch_new(), NULL), 0);
    store_close(s);
}

/* Committed changes are there after the process ends without closing; others are not. */
static void committed_work_survives_a_kill(void **state)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store *s = NULL;
        struct store_where where = test_where(*state);
        if (store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, NULL))
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

/* On a loop: done() is called after the sync, in order, and reads see committed changes. */
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
    struct store_where where = test_where(*state);
    assert_int_equal(store_open(&where, STORE_TAKE_LEAD, o.loop, NULL, &o.s, NULL), 0);
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

static void stop_loop(void *ctx)
{
    loop_stop(ctx);
}

static void read_on_loop(struct store *s, struct loop *l, struct store_read *reads, size_t count,
                         size_t most)
{
    store_read(s, reads, count, most, stop_loop, l);
    loop_run(l);
}

/* Several records, one of them missing; limited in bytes, except for the first one. */
static void worker_reads_records(void **state)
{
    struct loop *l = loop_new(2);
    struct store_where where = test_where(*state);
    struct store *s = NULL;
    struct store_batch *b = store_batch_new();
    assert_int_equal(store_open(&where, STORE_TAKE_LEAD, l, NULL, &s, NULL), 0);
    put_text(b, 3, 1, NULL, "one");
    put_text(b, 3, 2, NULL, "three");
    assert_int_equal(store_commit_sync(s, b, NULL), 0);

    struct store_read reads[3] = {
        {.kind = 3, .number = 2}, {.kind = 3, .number = 7}, {.kind = 3, .number = 1}};
    read_on_loop(s, l, reads, 3, 100);
    assert_int_equal(reads[0].rc, 0);
    assert_int_equal(reads[0].len, 5);
    assert_memory_equal(reads[0].data, "three", 5);
    assert_int_equal(reads[1].rc, -ENOENT);
    assert_int_equal(reads[1].err.code, -ENOENT);
    assert_memory_equal(reads[2].data, "one", 3);
    free(reads[0].data);
    free(reads[2].data);

    struct store_read few[3] = {
        {.kind = 3, .number = 1}, {.kind = 3, .number = 2}, {.kind = 3, .number = 1}};
    read_on_loop(s, l, few, 3, 4);
    assert_true(few[0].was_read && few[1].was_read);
    assert_false(few[2].was_read);
    free(few[0].data);
    free(few[1].data);
    store_close(s);
    loop_free(l);
}

static int reads_done;

static void count_reads(void *ctx)
{
    reads_done++;
}

/* The running read ends; done() is called when the loop ends, and the caller owns the records. */
static void closing_waits_for_a_read(void **state)
{
    struct loop *l = loop_new(2);
    struct store_where where = test_where(*state);
    struct store *s = NULL;
    struct store_read one = {.kind = 3, .number = 1};
    assert_int_equal(store_open(&where, STORE_TAKE_LEAD, l, NULL, &s, NULL), 0);
    reads_done = 0;
    store_read(s, &one, 1, 1, count_reads, NULL);
    store_close(s);
    assert_int_equal(reads_done, 0);
    loop_free(l);
    assert_int_equal(reads_done, 1);
    assert_true(one.was_read);
    assert_int_equal(one.rc, -ENOENT);
}

static void seen_aside(void *ctx, const struct store_aside *row)
{
    struct str *lines = ctx;
    seen_key(lines, row->kind, row->number, row->name);
    str_printf(lines, "=%.*s: %s\n", (int)row->len, (const char *)row->data, row->why);
}

static bool has_line(const struct str *lines, const char *line)
{
    return strstr(str_cstr(lines), line) != NULL;
}

/* Unchanged, with the reason; no effect on a missing record; another record with the key may
 * follow. */
static void set_aside_and_listed(void **state)
{
    struct store *s = open_ok(*state, 0);
    struct store_batch *b = store_batch_new();
    _cleanup_str_ struct str lines = STR_INIT;
    struct err err = {0};
    assert_int_equal(store_load_aside(s, seen_aside, &lines, &err), 0);
    assert_int_equal(lines.len, 0);
    put_text(b, 2, 1, NULL, "one");
    put_text(b, 2, 2, NULL, "two");
    put_text(b, 4, 0, "n1", "node");
    put_text(b, 4, 0, "n2", "");
    commit_ok(s, b);
    b = store_batch_new();
    store_set_aside(b, 2, 1, NULL, "it's \"odd\"");
    store_set_aside(b, 4, 0, "n1", "");
    store_set_aside(b, 4, 0, "n2", "empty");
    store_set_aside(b, 2, 7, NULL, "none");
    store_set_aside(b, 77, 7, NULL, "no such kind");
    store_set_aside(b, 4, 0, "n7", "none");
    put_text(b, 2, 3, NULL, "three");
    commit_ok(s, b);
    b = store_batch_new();
    put_text(b, 2, 1, NULL, "another");
    commit_ok(s, b);
    b = store_batch_new();
    put_text(b, 2, 1, NULL, "not this");
    store_set_aside(b, 2, 1, NULL, "the last change wins");
    store_set_aside(b, 2, 2, NULL, "no");
    put_text(b, 2, 2, NULL, "deux");
    commit_ok(s, b);
    store_close(s);

    s = open_ok(*state, 0);
    assert_int_equal(store_load_aside(s, seen_aside, &lines, &err), 0);
    assert_true(has_line(&lines, "2/1=one: it's \"odd\"\n"));
    assert_true(has_line(&lines, "4:n1=node: \n"));
    assert_true(has_line(&lines, "4:n2=: empty\n"));
    assert_true(has_line(&lines, "2/1=another: the last change wins\n"));
    size_t count = 0;
    for (const char *at = str_cstr(&lines); *at; at++)
        count += *at == '\n';
    assert_int_equal(count, 4);
    store_close(s);
    assert_records(*state, "2/2=deux\n2/3=three\n");
}

/* A store that is only looked for is not made. */
static void missing_store_is_not_created(void **state)
{
    struct store_where where = test_where(*state);
    struct store *s = NULL;
    struct err err = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_open(&where, STORE_EXISTING, NULL, NULL, &s, &err), -ENOENT);
        assert_non_null(strstr(err.text, "no saved state"));
    }
    store_close(open_ok(*state, 0));
    assert_int_equal(store_open(&where, STORE_EXISTING, NULL, NULL, &s, &err), 0);
    store_close(s);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "postgresql")) {
        store_test_pg_start("store_on_postgresql");
        test_url = store_test_pg_url();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(invalid_store_urls_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(store_without_the_lead_writes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(holder_of_the_lead_is_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_store_is_not_created, setup, teardown),
        cmocka_unit_test_setup_teardown(records_are_read_back, setup, teardown),
        cmocka_unit_test_setup_teardown(set_aside_and_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(last_change_of_a_batch_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(later_batches_replace_and_delete, setup, teardown),
        cmocka_unit_test_setup_teardown(get_returns_one_record, setup, teardown),
        cmocka_unit_test_setup_teardown(arbitrary_bytes_are_read_back, setup, teardown),
        cmocka_unit_test_setup_teardown(large_batches_are_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_batch_is_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(committed_work_survives_a_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(commits_end_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(worker_reads_records, setup, teardown),
        cmocka_unit_test_setup_teardown(closing_waits_for_a_read, setup, teardown),
    };
    int failed =
        cmocka_run_group_tests_name(test_url ? "store_on_postgresql" : "store", tests, NULL, NULL);
    store_test_pg_stop();
    return failed;
}
