/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measures commits per second, their latency, and the time to load, for both drivers: SQLite in
 * the given directory (or a new one in /tmp), PostgreSQL on a private server. */
#include "store/store_test.h"

#include <time.h>

#include "store/store_test_pg.h"

#define RECORD 1500 /* bytes; the size of a pending job */
#define LOADED 50000

static double read_clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static struct store_batch *batch_of(uint64_t first, uint64_t count)
{
    char data[RECORD];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(first * 31 + i * i);
    struct store_batch *b = store_batch_new();
    for (uint64_t i = 0; i < count; i++)
        store_put(b, 2, first + i, NULL, data, sizeof(data));
    return b;
}

static void measure_commits(struct store *s, const char *driver, uint64_t records, size_t rounds)
{
    _cleanup_free_ double *ms = mem_new_array(double, rounds);
    double begin = read_clock_ms();
    for (size_t i = 0; i < rounds; i++) {
        struct store_batch *b = batch_of(i * records, records);
        double start = read_clock_ms();
        if (store_commit_sync(s, b, NULL))
            exit(1);
        ms[i] = read_clock_ms() - start;
    }
    double all = read_clock_ms() - begin;
    qsort(ms, rounds, sizeof(*ms), by_value);
    printf("%-10s batches of %4llu: %7.0f commits/s, median %6.2f ms, p99 %6.2f ms\n", driver,
           (unsigned long long)records, (double)rounds * 1e3 / all, ms[rounds / 2],
           ms[rounds * 99 / 100]);
}

static void count_record(void *ctx, uint32_t kind, uint64_t number, const char *name,
                         const void *data, size_t len)
{
    (*(size_t *)ctx)++;
}

static void measure_driver(const char *dir, const char *driver)
{
    struct store_where where = test_where(dir);
    struct store *s = NULL;
    struct err err = {0};
    size_t count = 0;
    if (store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    measure_commits(s, driver, 0, 1000);
    measure_commits(s, driver, 1, 2000);
    measure_commits(s, driver, 1000, LOADED / 1000);
    store_close(s);
    double start = read_clock_ms();
    if (store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, NULL) ||
        store_load(s, 0, count_record, NULL, &count, NULL))
        exit(1);
    printf("%-10s load of %zu records: %.0f ms\n", driver, count, read_clock_ms() - start);
    store_close(s);
}

int main(int argc, char **argv)
{
    char *dir = mem_strdup(argc > 1 ? argv[1] : "/tmp");
    char *place = mem_printf("%s/store-bench-XXXXXX", dir);
    if (!mkdtemp(place))
        return 1;
    measure_driver(place, "sqlite");
    fflush(stdout);
    store_test_pg_start("bench");
    test_url = store_test_pg_url();
    measure_driver(place, "postgresql");
    store_test_pg_stop();
    test_dir_free(place);
    free(dir);
    return 0;
}
