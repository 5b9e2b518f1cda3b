/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several concurrent stores of one cluster: the lead changes while all of them commit as fast as
 * they can, and no batch of an old epoch takes effect after the newer one has taken over. */
#include "store/store_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/vec.h"
#include "store/store_test_pg.h"

#define SWITCHES 200
#define MOST_BATCHES 200 /* batches per epoch; then another store may lead */

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

/* Threads cannot fail a test, so errors are recorded for its end. */
struct writer {
    pthread_t thread;
    const char *dir, *name;
    atomic_uint *switches, *batches;      /* shared by both threads */
    VEC(struct store_test_pg_entry) made; /* done() ran, or store_commit_sync() said so */
    size_t refused;
    struct err wrong;
};

static void note_failure(struct writer *w, const char *what, const struct err *err)
{
    if (!w->wrong.code)
        err_set(&w->wrong, -ERR_GENERIC, "%s: %s: %s", w->name, what, err->text);
}

static struct store_batch *make_batch(uint64_t epoch, uint64_t number)
{
    char text[64];
    snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)epoch,
             (unsigned long long)number);
    struct store_batch *b = store_batch_new();
    put_text(b, STORE_TEST_PG_LOGGED, epoch << 16 | number, NULL, text);
    put_text(b, 9, 1, NULL, text);
    return b;
}

static void note_commit(struct writer *w, const struct store_test_pg_entry *e)
{
    vec_push(&w->made, *e);
    (*w->batches)++;
}

/* Commits until the lead is lost, and then some more batches, none of which may succeed. */
static void lead_until_lost(struct writer *w, struct store *s)
{
    struct store_test_pg_entry e = {.epoch = store_epoch(s)};
    struct err err = {0};
    for (int lost = 0; lost < 3;) {
        e.number++;
        int rc = store_commit_sync(s, make_batch(e.epoch, e.number), &err);
        if (rc == 0 && lost)
            note_failure(w, "a commit after the lead was lost", &err);
        else if (rc == 0)
            note_commit(w, &e);
        else if (rc != -ERR_LEAD)
            note_failure(w, "a commit", &err);
        lost += rc != 0;
        w->refused += rc != 0;
        if (rc == 0 && (*w->switches >= SWITCHES || e.number >= MOST_BATCHES))
            return;
    }
}

/* The other one leads now, and commits some batches before it loses the lead in the middle of
   one. */
static void let_lead(struct writer *w, unsigned batches)
{
    for (unsigned until = *w->batches + batches; *w->batches < until;) {
        if (*w->switches >= SWITCHES)
            break;
        sched_yield();
    }
}

static void *writer_run(void *arg)
{
    struct writer *w = arg;
    while ((*w->switches)++ < SWITCHES && !w->wrong.code) {
        struct store_where where = test_where(w->dir);
        struct store *s = NULL;
        struct err err = {0};
        where.holder = w->name;
        if (store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, &err)) {
            note_failure(w, "taking the lead", &err);
            break;
        }
        lead_until_lost(w, s);
        let_lead(w, store_epoch(s) % 16);
        store_close(s);
    }
    return NULL;
}

static int by_batch(const void *a, const void *b)
{
    const struct store_test_pg_entry *x = a, *y = b;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Epochs rise by one, each begins when the last is over, and its batches are 1, 2, 3... */
static void log_check(const struct store_test_pg_entry *log, size_t count)
{
    struct store_test_pg_entry last = log[0];
    for (size_t i = 1; i < count; i++) {
        bool next_batch = log[i].epoch == last.epoch && log[i].number == last.number + 1;
        bool next_lead = log[i].epoch == last.epoch + 1 && log[i].number == 0;
        if (!next_batch && !next_lead)
            fail_msg("batch %llu of epoch %llu took effect after %llu of %llu", log[i].number,
                     log[i].epoch, last.number, last.epoch);
        last = log[i];
    }
}

static void batches_of_an_old_epoch_are_refused(void **state)
{
    store_close(open_ok(*state, 0));
    store_test_pg_log(test_where(*state).cluster);
    store_close(open_ok(*state, 0));
    atomic_uint switches = 0, batches = 0;
    struct writer writers[2] = {{.name = "one"}, {.name = "two"}};
    for (int i = 0; i < 2; i++) {
        writers[i].dir = *state;
        writers[i].switches = &switches;
        writers[i].batches = &batches;
        assert_int_equal(pthread_create(&writers[i].thread, NULL, writer_run, &writers[i]), 0);
    }
    size_t count = 0, refused = 0, confirmed = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
    _cleanup_free_ struct store_test_pg_entry *log =
        store_test_pg_log_read(test_where(*state).cluster, &count);
    log_check(log, count);
    assert_true(log[count - 1].epoch >= SWITCHES);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(writers[i].wrong.text, "");
        vec_foreach (&writers[i].made, e)
            if (!bsearch(e, log, count, sizeof(*e), by_batch))
                fail_msg("batch %llu of epoch %llu was confirmed and is not there", e->number,
                         e->epoch);
        confirmed += writers[i].made.len;
        refused += writers[i].refused;
        vec_done(&writers[i].made);
    }
    print_message("%u changes of the lead, %zu batches made, %zu refused\n", SWITCHES, confirmed,
                  refused);
    assert_true(refused >= SWITCHES / 4);

    /* And the record that all of them wrote is the last one's. */
    struct store *s = open_ok(*state, 0);
    void *data = NULL;
    size_t len = 0;
    for (size_t i = count; i-- > 0;)
        if (log[i].number > 0) {
            _cleanup_free_ char *text = mem_printf("%llu %llu", log[i].epoch, log[i].number);
            assert_int_equal(store_get(s, 9, 1, &data, &len, NULL), 0);
            assert_int_equal(len, strlen(text));
            assert_memory_equal(data, text, len);
            free(data);
            break;
        }
    store_close(s);
}

/* Many at once in a database without the cluster's schema: each gets its own epoch. */
#define OPENERS 8
static void *open_once(void *arg)
{
    struct writer *w = arg;
    struct store_where where = test_where(w->dir);
    struct store *s = NULL;
    struct err err = {0};
    if (store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, &err)) {
        note_failure(w, "taking the lead", &err);
        return NULL;
    }
    struct store_test_pg_entry e = {.epoch = store_epoch(s)};
    vec_push(&w->made, e);
    store_close(s);
    return NULL;
}

static void first_use_by_many_controllers_creates_one_store(void **state)
{
    struct writer writers[OPENERS] = {0};
    bool taken[OPENERS] = {false};
    for (int i = 0; i < OPENERS; i++) {
        writers[i].dir = *state;
        writers[i].name = "opener";
        assert_int_equal(pthread_create(&writers[i].thread, NULL, open_once, &writers[i]), 0);
    }
    for (int i = 0; i < OPENERS; i++)
        assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
    for (int i = 0; i < OPENERS; i++) {
        assert_string_equal(writers[i].wrong.text, "");
        unsigned long long epoch = writers[i].made.data[0].epoch;
        assert_true(epoch >= 1 && epoch <= OPENERS && !taken[epoch - 1]);
        taken[epoch - 1] = true;
        vec_done(&writers[i].made);
    }
}

int main(void)
{
    store_test_pg_start("store_pg_race");
    test_url = store_test_pg_url();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_of_an_old_epoch_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(first_use_by_many_controllers_creates_one_store, setup,
                                        teardown),
    };
    int failed = cmocka_run_group_tests_name("store_pg_race", tests, NULL, NULL);
    store_test_pg_stop();
    return failed;
}
