/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections cut at every byte, sessions ended and servers crashed during commits: every batch
 * whose done() was called is stored, none is stored twice, and the order is kept. */
#include "store/store_test.h"

#include <pthread.h>
#include <signal.h>

#include "base/vec.h"
#include "store/store_test_pg.h"
#include "store/store_test_proxy.h"

#define SOCKET ".s.PGSQL.5432"

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

static void ignore(void *ctx, const struct err *why)
{
}

static const struct store_events quiet = {.on_trouble = ignore};

static struct store_batch *make_batch(const struct store *s, uint64_t number)
{
    struct store_batch *b = store_batch_new();
    char text[32];
    snprintf(text, sizeof(text), "batch %llu", (unsigned long long)number);
    put_text(b, 2, number, NULL, text);
    put_text(b, 4, 0, "last", text);
    if (number > 1)
        store_delete(b, 3, number - 1, NULL);
    put_text(b, 3, number, NULL, text);
    put_text(b, STORE_TEST_PG_LOGGED, store_epoch(s) << 16 | number, NULL, "");
    return b;
}

/* The log is batch 1 to count, each once, in order; and so are the records. */
static void assert_log(const char *dir, uint64_t count)
{
    size_t entries = 0;
    _cleanup_free_ struct store_test_pg_entry *log =
        store_test_pg_log_read(test_where(dir).cluster, &entries);
    assert_int_equal(entries, count);
    for (size_t i = 0; i < entries; i++)
        if (log[i].number != i + 1)
            fail_msg("batch %llu took effect as number %zu", log[i].number, i + 1);
    _cleanup_str_ struct str expected = STR_INIT;
    str_printf(&expected, "4:last=batch %llu\n", (unsigned long long)count);
    for (uint64_t i = 1; i <= count; i++)
        str_printf(&expected, "2/%llu=batch %llu\n", (unsigned long long)i, (unsigned long long)i);
    str_printf(&expected, "3/%llu=batch %llu\n", (unsigned long long)count,
               (unsigned long long)count);
    for (uint64_t i = 1; i <= count; i++)
        str_printf(&expected, "9/%llu=\n", (unsigned long long)(1 << 16 | i));
    assert_records(dir, str_cstr(&expected));
}

/* The store connects through the proxy, the checker directly. */
static struct store *open_through(const char *dir)
{
    _cleanup_free_ char *url = mem_printf("postgresql://admin@/postgres?host=%s", dir);
    struct store_where where = test_where(dir);
    where.at = url;
    struct store *s = NULL;
    struct err err = {0};
    if (store_open(&where, STORE_TAKE_LEAD, NULL, &quiet, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static void mark(void *ctx)
{
    (*(int *)ctx)++;
}

/* How many bytes one commit moves. */
static void commit_measure(struct store *s, uint64_t number, size_t bytes[STORE_PROXY_WAYS])
{
    for (int way = 0; way < STORE_PROXY_WAYS; way++)
        bytes[way] = store_test_proxy_passed((enum store_proxy_way)way);
    commit_ok(s, make_batch(s, number));
    for (int way = 0; way < STORE_PROXY_WAYS; way++)
        bytes[way] = store_test_proxy_passed((enum store_proxy_way)way) - bytes[way];
}

/* A cut on the way to the server leaves a part of the batch there; a cut on the way back loses the
 * reply, or a part of it, to a committed batch. */
static void batch_is_committed_once_despite_a_cut_connection(void **state)
{
    store_test_proxy_start(*state, store_test_pg_dir(), SOCKET);
    struct store *s = open_through(*state);
    store_test_pg_log(test_where(*state).cluster);
    uint64_t number = 1;
    int done = 0;
    commit_ok(s, make_batch(s, number));
    size_t bytes[STORE_PROXY_WAYS];
    commit_measure(s, ++number, bytes);
    assert_true(bytes[STORE_PROXY_UP] > 100 && bytes[STORE_PROXY_DOWN] > 50);
    static const size_t step[STORE_PROXY_WAYS] = {13, 5};
    for (int way = 0; way < STORE_PROXY_WAYS; way++) {
        for (size_t at = 0; at < bytes[way]; at += step[way]) {
            size_t cuts = store_test_proxy_cuts();
            store_test_proxy_cut((enum store_proxy_way)way, at);
            done = 0;
            store_commit(s, make_batch(s, ++number), mark, &done); /* repeated until it is made */
            assert_int_equal(done, 1);
            if (store_test_proxy_cuts() != cuts + 1)
                fail_msg("no cut at byte %zu", at);
        }
    }
    store_close(s);
    store_test_proxy_stop();
    assert_log(*state, number);
}

/* A batch is committed when the previous one is durable; at random moments something happens to
 * the server. */
#define BATCHES 500
struct run {
    struct loop *loop;
    struct store *s;
    uint64_t asked;
    uint64_t done;
    const char *cluster;
    void (*between)(struct run *r); /* while a commit is under way; may be NULL */
};

static void commit_next(struct run *r);

static void on_done(void *ctx)
{
    struct run *r = ctx;
    r->done++;
    if (r->done == BATCHES) {
        loop_stop(r->loop);
        return;
    }
    commit_next(r);
    if (r->between)
        r->between(r);
}

static void commit_next(struct run *r)
{
    store_commit(r->s, make_batch(r->s, ++r->asked), on_done, r);
}

static void run_batches(void **state, void *(*beside)(void *), void (*between)(struct run *))
{
    struct run r = {.loop = loop_new(1), .between = between};
    struct store_where where = test_where(*state);
    pthread_t thread;
    r.cluster = where.cluster;
    assert_int_equal(store_open(&where, STORE_TAKE_LEAD, r.loop, &quiet, &r.s, NULL), 0);
    store_test_pg_log(where.cluster);
    if (beside)
        assert_int_equal(pthread_create(&thread, NULL, beside, &r), 0);
    commit_next(&r);
    loop_run(r.loop);
    if (beside)
        assert_int_equal(pthread_join(thread, NULL), 0);
    store_close(r.s);
    loop_free(r.loop);
    assert_log(*state, BATCHES);
}

/* Ends the leader's session at a random moment, each time it has made some progress, and counts. */
static void *end_sessions(void *arg)
{
    struct run *r = arg;
    _cleanup_free_ char *schema = store_test_pg_schema(r->cluster);
    free(store_test_pg_sql(
        "SET search_path = \"%s\"; CREATE TABLE ended(n bigint);"
        "DO $$ DECLARE seen bigint := 0; now_at bigint; n bigint := 0; BEGIN LOOP"
        " SELECT number INTO now_at FROM last_batch;"
        " EXIT WHEN now_at >= %d;"
        " IF now_at = seen THEN CONTINUE; END IF;"
        " seen := now_at;"
        " PERFORM pg_sleep(random() * 0.003), pg_stat_clear_snapshot();"
        " SELECT n + count(pg_terminate_backend(pid)) INTO n FROM pg_stat_activity"
        "  WHERE application_name ~ '^sluice/[1-9]';"
        " END LOOP; INSERT INTO ended VALUES (n); END $$",
        schema, BATCHES));
    return NULL;
}

static void ended_sessions_cost_nothing(void **state)
{
    run_batches(state, end_sessions, NULL);
    _cleanup_free_ char *schema = store_test_pg_schema(test_where(*state).cluster);
    _cleanup_free_ char *count = store_test_pg_sql("SELECT n FROM \"%s\".ended", schema);
    if (atoi(count) < 20)
        fail_msg("only %s sessions were ended", count);
}

/* A crash or an orderly stop each quarter of the way, while a commit is under way. */
static void server_restart(struct run *r)
{
    static const int how[] = {SIGQUIT, SIGINT, SIGQUIT};
    if (r->done % (BATCHES / 4) == 0) {
        store_test_pg_halt(how[r->done / (BATCHES / 4) - 1]);
        store_test_pg_resume();
    }
}

static void restarts_of_the_server_cost_nothing(void **state)
{
    run_batches(state, NULL, server_restart);
}

int main(void)
{
    store_test_pg_start("store_pg_fault");
    test_url = store_test_pg_url();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batch_is_committed_once_despite_a_cut_connection, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(ended_sessions_cost_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(restarts_of_the_server_cost_nothing, setup, teardown),
    };
    int failed = cmocka_run_group_tests_name("store_pg_fault", tests, NULL, NULL);
    store_test_pg_stop();
    return failed;
}
