/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Specific to PostgreSQL: the schema, privileges and settings of the server, the lead, a server
 * that stops or freezes. */
#include "store/store_test.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "store/store_pg_link.h"
#include "store/store_test_pg.h"

struct told {
    atomic_uint fatal, trouble, lost, done;
    struct err first, last; /* errors; 'last' may also be of a lost lead or fatal */
    struct loop *loop;
};

static void on_fatal(void *ctx, const struct err *why)
{
    struct told *t = ctx;
    t->last = *why;
    t->fatal++;
}

static void on_trouble(void *ctx, const struct err *why)
{
    struct told *t = ctx;
    if (t->trouble == 0)
        t->first = *why;
    t->last = *why;
    t->trouble++;
}

static void on_lost(void *ctx, const struct err *why)
{
    struct told *t = ctx;
    t->last = *why;
    t->lost++;
    if (t->loop)
        loop_stop(t->loop);
}

static void on_done(void *ctx)
{
    struct told *t = ctx;
    t->done++;
    if (t->loop)
        loop_stop(t->loop);
}

/* A test's place, its schema, and a loop with a worker. */
struct place {
    char *dir, *schema;
    struct store_where where;
    struct told told;
    struct store_events events;
};

static int setup(void **state)
{
    struct place *p = mem_new(struct place);
    p->dir = test_dir_new();
    p->where = test_where(p->dir);
    p->schema = store_test_pg_schema(p->where.cluster);
    p->told.loop = loop_new(1);
    p->events = (struct store_events){
        .on_fatal = on_fatal, .on_trouble = on_trouble, .on_lost = on_lost, .ctx = &p->told};
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    test_dir_free(p->dir);
    loop_free(p->told.loop);
    free(p->schema);
    free(p);
    return 0;
}

static struct store *open_place(struct place *p, unsigned flags)
{
    struct store *s = NULL;
    struct err err = {0};
    if (store_open(&p->where, flags, p->told.loop, &p->events, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static struct store_batch *make_batch(uint64_t number, const char *text)
{
    struct store_batch *b = store_batch_new();
    put_text(b, 2, number, NULL, text);
    return b;
}

static void assert_sql(const char *expected, const char *fmt, const char *schema)
{
    _cleanup_free_ char *value = store_test_pg_sql(fmt, schema);
    assert_string_equal(value, expected);
}

/* Waits until an error was reported. */
static void wait_for(const atomic_uint *what, unsigned count)
{
    while (*what < count)
        free(store_test_pg_sql("SELECT pg_sleep(0.01)"));
}

/* Refusals at opening. */

static void newer_format_is_refused_unchanged(void **state)
{
    struct place *p = *state;
    store_close(open_place(p, STORE_TAKE_LEAD));
    free(store_test_pg_sql("UPDATE \"%s\".about SET format = 99", p->schema));
    static const unsigned flags[] = {0, STORE_TAKE_LEAD, STORE_TAKE_LEAD | STORE_CLEAN};
    for (size_t i = 0; i < 3; i++) {
        struct store *s = NULL;
        struct err err = {0};
        assert_int_equal(store_open(&p->where, flags[i], NULL, NULL, &s, &err), -ERR_VERSION);
        assert_non_null(strstr(err.text, "format 99"));
    }
    assert_sql("1", "SELECT epoch FROM \"%s\".lead", p->schema);
}

static void server_without_durable_commits_is_refused(void **state)
{
    struct place *p = *state;
    static const char *const settings[] = {"synchronous_commit", "fsync"};
    for (size_t i = 0; i < 2; i++) {
        struct store *s = NULL;
        struct err err = {0};
        free(store_test_pg_sql("ALTER SYSTEM SET %s = off", settings[i]));
        free(store_test_pg_sql("SELECT pg_reload_conf(), pg_sleep(0.1)"));
        int rc = store_open(&p->where, STORE_TAKE_LEAD, NULL, NULL, &s, &err);
        free(store_test_pg_sql("ALTER SYSTEM RESET %s", settings[i]));
        free(store_test_pg_sql("SELECT pg_reload_conf(), pg_sleep(0.1)"));
        assert_int_equal(rc, -ERR_CONFIG);
        _cleanup_free_ char *what_to_do = mem_printf("set %s = on", settings[i]);
        assert_non_null(strstr(err.text, what_to_do));
    }
    store_close(open_place(p, STORE_TAKE_LEAD));
}

/* Without the privilege to create the schema the error gives the remedy, and the remedy works. */
static void missing_right_is_explained(void **state)
{
    struct place *p = *state;
    free(store_test_pg_sql("CREATE ROLE plain LOGIN"));
    _cleanup_free_ char *url =
        mem_printf("postgresql://plain:secret@/postgres?host=%s&port=5432", store_test_pg_dir());
    p->where.at = url;
    struct store *s = NULL;
    struct err err = {0};
    assert_int_equal(store_open(&p->where, STORE_TAKE_LEAD, NULL, NULL, &s, &err), -ERR_STORE);
    _cleanup_free_ char *what_to_do = mem_printf("CREATE SCHEMA \"%s\" AUTHORIZATION", p->schema);
    assert_non_null(strstr(err.text, what_to_do));
    assert_non_null(strstr(err.text, "plain:****@"));
    assert_null(strstr(err.text, "secret"));
    free(store_test_pg_sql("CREATE SCHEMA \"%s\" AUTHORIZATION plain", p->schema));
    s = open_place(p, STORE_TAKE_LEAD);
    commit_ok(s, make_batch(1, "one"));
    assert_non_null(strstr(store_name(s), "plain:****@"));
    store_close(s);
}

/* The records. */

static void wrong_checksum_is_set_aside(void **state)
{
    struct place *p = *state;
    struct store *s = open_place(p, STORE_TAKE_LEAD);
    struct store_batch *b = store_batch_new();
    for (uint64_t i = 1; i <= 20; i++)
        put_text(b, 2, i, NULL, "text");
    put_text(b, 4, 0, "n1", "node");
    commit_ok(s, b);
    store_close(s);
    free(store_test_pg_sql("SET search_path = \"%s\";"
                           "UPDATE numbered SET data = 'other' WHERE number = 7;"
                           "UPDATE numbered SET sum = sum + 1 WHERE number = 9;"
                           "UPDATE numbered SET number = 5000 WHERE number = 11;"
                           "UPDATE named SET name = 'n2'",
                           p->schema));
    for (int leads = 0; leads < 2; leads++) { /* a store that only reads moves nothing */
        struct seen seen = {0};
        s = open_place(p, leads ? STORE_TAKE_LEAD : 0);
        assert_int_equal(store_load(s, 0, seen_record, seen_damaged, &seen, NULL), 0);
        assert_string_equal(str_cstr(&seen.damaged), "4:n2\n2/7\n2/9\n2/5000\n");
        void *data = NULL;
        size_t len = 0;
        assert_int_equal(store_get(s, 2, 9, &data, &len, NULL),
                         leads ? -ENOENT : -ERR_STORE_DAMAGED);
        assert_null(data);
        seen_done(&seen);
        store_close(s);
    }
    assert_sql("4", "SELECT count(*) FROM \"%s\".damaged", p->schema);
    assert_sql("17", "SELECT count(*) FROM \"%s\".numbered", p->schema);
}

static void clean_start_keeps_the_old_records(void **state)
{
    struct place *p = *state;
    for (int round = 1; round <= 2; round++) {
        struct store *s = open_place(p, STORE_TAKE_LEAD | STORE_CLEAN);
        commit_ok(s, make_batch((uint64_t)round, "text"));
        store_close(s);
    }
    assert_records(p->dir, "2/2=text\n");
    assert_sql("1", "SELECT string_agg(number::text, ' ') FROM \"%s\".numbered_old", p->schema);
    assert_sql("3", "SELECT epoch FROM \"%s\".lead", p->schema); /* nodes remember it */
    struct store *s = NULL;
    assert_int_equal(store_open(&p->where, STORE_CLEAN, NULL, NULL, &s, NULL), -ERR_LEAD);
}

/* The lead. */

/* The store that lost the lead is told once, instead of done(), and commits nothing further, not
 * even an empty batch. */
static void lost_lead_is_reported_once(void **state)
{
    struct place *p = *state;
    struct store *old = open_place(p, STORE_TAKE_LEAD), *now = NULL;
    commit_ok(old, make_batch(1, "old"));
    struct store_where other = p->where;
    other.holder = "the other one";
    assert_int_equal(store_open(&other, STORE_TAKE_LEAD, NULL, NULL, &now, NULL), 0);
    assert_int_equal(store_epoch(now), store_epoch(old) + 1);
    commit_ok(now, make_batch(2, "new"));

    store_commit(old, store_batch_new(), on_done, &p->told); /* only the check of the lead */
    loop_run(p->told.loop);
    assert_int_equal(p->told.lost, 1);
    assert_int_equal(p->told.last.code, -ERR_LEAD);
    assert_non_null(strstr(p->told.last.text, "the other one leads since 2"));
    struct err err = {0};
    assert_int_equal(store_commit_sync(old, make_batch(1, "late"), &err), -ERR_LEAD);
    store_commit(old, make_batch(1, "late"), on_done, &p->told);
    store_close(old);
    assert_int_equal(p->told.done, 0);
    assert_int_equal(p->told.lost, 1);
    assert_int_equal(p->told.fatal, 0);

    uint64_t epoch = 0;
    char *holder = NULL;
    assert_int_equal(store_lead(&p->where, &epoch, &holder, NULL), 0);
    /* The old store gave back a lead that was not its own. */
    assert_int_equal(epoch, store_epoch(now));
    assert_string_equal(holder, "the other one");
    free(holder);

    /* Each commit changes the sign, also an empty one; without a leader there is none. */
    uint64_t sign = 0, before = 0;
    for (int i = 0; i < 3; i++, before = sign) {
        struct store_batch *b = i == 1 ? make_batch(2, "new") : store_batch_new();
        assert_int_equal(store_commit_sync(now, b, &err), 0);
        assert_int_equal(store_lead_sign(&p->where, &sign, NULL), 0);
        assert_true(sign > before);
    }
    assert_int_equal(store_lead_sign(&p->where, &sign, NULL), 0);
    assert_int_equal(sign, before);
    store_lead_settle(now);
    store_close(now);
    assert_int_equal(store_lead_sign(&p->where, &sign, NULL), 0);
    assert_int_equal(sign, 0);
    assert_records(p->dir, "2/1=old\n2/2=new\n");
}

static struct store *take_from(const struct place *p, const char *holder)
{
    struct store *s = NULL;
    struct store_where where = p->where;
    where.holder = holder;
    assert_int_equal(store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, NULL), 0);
    return s;
}

/* A leader's programs have ended when it gave the lead back, and may still run if the lead was
 * taken away: also during the next lead, until that one is settled, and after it. */
static void lead_taken_from_another_holder_is_not_settled(void **state)
{
    struct place *p = *state;
    struct store *first = take_from(p, "first");
    assert_true(store_lead_is_settled(first)); /* there was no leader before */
    store_close(first);
    first = take_from(p, "first");
    assert_true(store_lead_is_settled(first)); /* the lead was given back */

    struct store *second = take_from(p, "second");
    assert_false(store_lead_is_settled(second));
    store_close(second);
    assert_sql("second", "SELECT holder FROM \"%s\".lead", p->schema);
    struct store *third = take_from(p, "third");
    assert_false(store_lead_is_settled(third));
    store_lead_settle(third);
    store_close(first); /* has nothing to give */
    store_close(third);
    struct store *fourth = take_from(p, "fourth");
    assert_true(store_lead_is_settled(fourth));
    store_close(fourth);
}

/* A leader that froze or was cut off in the middle of a commit locks the row: its session is
 * ended. */
static void frozen_leader_is_ended(void **state)
{
    struct place *p = *state;
    struct store *s = open_place(p, STORE_TAKE_LEAD);
    unsigned long long epoch = store_epoch(s);
    store_close(s);
    const struct store_pq *pq = NULL;
    assert_int_equal(store_pq_get(&pq, NULL), 0);
    _cleanup_free_ char *name = mem_printf("sluice/%llu/%s", epoch, p->schema + strlen("sluice_"));
    PGconn *frozen =
        pq->PQconnectdbParams((const char *const[]){"dbname", "application_name", NULL},
                              (const char *const[]){store_test_pg_url(), name, NULL}, 1);
    _cleanup_free_ char *sql = mem_printf(
        "SET search_path = \"%s\"; BEGIN; SELECT batch_begin(%llu, 99)", p->schema, epoch);
    PGresult *r = pq->PQexec(frozen, sql);
    assert_int_equal(pq->PQresultStatus(r), PGRES_TUPLES_OK);
    pq->PQclear(r);
    s = open_place(p, STORE_TAKE_LEAD);
    assert_int_equal(store_epoch(s), epoch + 1);
    commit_ok(s, make_batch(1, "one"));
    r = pq->PQexec(frozen, "COMMIT");
    assert_int_equal(pq->PQresultStatus(r), PGRES_FATAL_ERROR);
    pq->PQclear(r);
    pq->PQfinish(frozen);
    store_close(s);
}

/* The server. */

/* Server stopped and restarted: one report, no commits meanwhile, no loss; reads fail at once. */
static void stopped_server_is_awaited(void **state)
{
    struct place *p = *state;
    struct store *s = open_place(p, STORE_TAKE_LEAD);
    commit_ok(s, make_batch(1, "one"));
    store_test_pg_halt(SIGINT);
    void *data = NULL;
    size_t len = 0;
    struct err err = {0};
    for (int i = 0; i < 3; i++)
        assert_int_equal(store_get(s, 2, 1, &data, &len, &err), -ERR_STORE);
    store_commit(s, make_batch(2, "two"), on_done, &p->told);
    while (!store_is_stuck(s))
        sched_yield();
    store_test_pg_resume();
    loop_run(p->told.loop);
    assert_int_equal(p->told.done, 1);
    assert_int_equal(p->told.trouble, 2);
    assert_non_null(strstr(p->told.first.text, "nothing is answered"));
    assert_int_equal(p->told.last.code, 0);
    assert_false(store_is_stuck(s));
    /* The worker opens a new connection for the reader, after the commit. */
    store_commit(s, make_batch(3, "three"), on_done, &p->told);
    loop_run(p->told.loop);
    while (store_get(s, 2, 1, &data, &len, &err))
        assert_int_equal(err.code, -ERR_STORE);
    assert_int_equal(len, 3);
    free(data);
    store_close(s);
    assert_records(p->dir, "2/1=one\n2/2=two\n2/3=three\n");
}

/* Closing gives up a commit that cannot be made, and the commits after it. */
static void close_does_not_wait_for_the_server(void **state)
{
    struct place *p = *state;
    struct store *s = open_place(p, STORE_TAKE_LEAD);
    store_test_pg_halt(SIGINT);
    for (uint64_t i = 1; i <= 5; i++)
        store_commit(s, make_batch(i, "text"), on_done, &p->told);
    store_close(s);
    store_test_pg_resume();
    assert_records(p->dir, "");
    assert_int_equal(p->told.done, 0);
}

/* The leader's session gets no processor. */
static void signal_session(struct place *p, int signo)
{
    _cleanup_free_ char *pid = store_test_pg_sql(
        "SELECT pid FROM pg_stat_activity WHERE application_name ~ '^sluice/[1-9][0-9]*/%s'",
        p->schema + strlen("sluice_"));
    assert_true(atoi(pid) > 1);
    assert_int_equal(kill(atoi(pid), signo), 0);
}

static void frozen_server_is_reported(void **state)
{
    struct place *p = *state;
    struct store *s = open_place(p, STORE_TAKE_LEAD);
    signal_session(p, SIGSTOP);
    store_commit(s, make_batch(1, "one"), on_done, &p->told);
    wait_for(&p->told.trouble, 1);
    assert_non_null(strstr(p->told.first.text, "has not answered"));
    assert_true(store_is_stuck(s));
    void *data = NULL;
    size_t len = 0;
    assert_int_equal(store_get(s, 2, 1, &data, &len, NULL), -ENOENT); /* reads go on */
    signal_session(p, SIGCONT);
    loop_run(p->told.loop);
    assert_int_equal(p->told.done, 1);
    assert_int_equal(p->told.trouble, 2);
    assert_false(store_is_stuck(s));

    signal_session(p, SIGSTOP);
    store_commit(s, make_batch(2, "two"), on_done, &p->told);
    store_close(s);
    assert_int_equal(p->told.done, 1);
    /* The next leader ends the frozen session, which is what lets it go on. */
    free(store_test_pg_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                           " WHERE application_name ~ '^sluice/[1-9][0-9]*/%s'",
                           p->schema + strlen("sluice_")));
    signal_session(p, SIGCONT);
}

/* Settings that are changed while it runs. */
static void unsafe_server_setting_is_detected_later(void **state)
{
    struct place *p = *state;
    struct store *s = open_place(p, STORE_TAKE_LEAD);
    free(store_test_pg_sql("ALTER SYSTEM SET synchronous_commit = off"));
    free(store_test_pg_sql("SELECT pg_reload_conf(), pg_sleep(0.1)"));
    store_commit(s, make_batch(1, "one"), on_done, &p->told);
    wait_for(&p->told.trouble, 1);
    assert_non_null(strstr(p->told.first.text, "synchronous_commit = on"));
    /* A new connection finds the same, and waits as well. */
    free(store_test_pg_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                           " WHERE application_name ~ '^sluice/[1-9][0-9]*/%s'",
                           p->schema + strlen("sluice_")));
    wait_for(&p->told.trouble, 2);
    assert_non_null(strstr(p->told.last.text, "set synchronous_commit = on"));
    assert_int_equal(p->told.fatal, 0);
    free(store_test_pg_sql("ALTER SYSTEM RESET synchronous_commit"));
    free(store_test_pg_sql("SELECT pg_reload_conf()"));
    assert_int_equal(p->told.done, 0);
    loop_run(p->told.loop);
    assert_int_equal(p->told.done, 1);
    store_close(s);
    assert_records(p->dir, "2/1=one\n");
}

/* A permanent failure ends the process: the tables are gone. */
static void dropped_tables_are_fatal(void **state)
{
    struct place *p = *state;
    struct store *s = open_place(p, STORE_TAKE_LEAD);
    free(store_test_pg_sql("DROP TABLE \"%s\".numbered", p->schema));
    assert_int_equal(store_commit_sync(s, make_batch(1, "one"), NULL), -ERR_STORE);
    assert_int_equal(p->told.fatal, 1);
    assert_int_equal(store_commit_sync(s, make_batch(2, "two"), NULL), -ERR_STORE);
    assert_int_equal(p->told.fatal, 1);
    store_close(s);
}

int main(void)
{
    store_test_pg_start("store_pg");
    test_url = store_test_pg_url();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(newer_format_is_refused_unchanged, setup, teardown),
        cmocka_unit_test_setup_teardown(server_without_durable_commits_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_right_is_explained, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_checksum_is_set_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(clean_start_keeps_the_old_records, setup, teardown),
        cmocka_unit_test_setup_teardown(lost_lead_is_reported_once, setup, teardown),
        cmocka_unit_test_setup_teardown(lead_taken_from_another_holder_is_not_settled, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(frozen_leader_is_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(stopped_server_is_awaited, setup, teardown),
        cmocka_unit_test_setup_teardown(close_does_not_wait_for_the_server, setup, teardown),
        cmocka_unit_test_setup_teardown(frozen_server_is_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(unsafe_server_setting_is_detected_later, setup, teardown),
        cmocka_unit_test_setup_teardown(dropped_tables_are_fatal, setup, teardown),
    };
    int failed = cmocka_run_group_tests_name("store_pg", tests, NULL, NULL);
    store_test_pg_stop();
    return failed;
}
