/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A PostgreSQL server for a test: in a new directory, on a UNIX socket there, as an unprivileged
 * user, stopped with the test. Without a server program the test is skipped with a one-line
 * message; if CI is set in the environment, it fails.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Exits with status 77 if the test has to be skipped. 'name' is the test's name. */
void store_test_pg_start(const char *name);
void store_test_pg_stop(void); /* at the end: stops the server and removes its directory */
/* SIGINT: closes connections; SIGQUIT: simulates a crash. Waits for the server's end. */
void store_test_pg_halt(int signo);
void store_test_pg_resume(void); /* after a halt */
pid_t store_test_pg_pid(void);
const char *store_test_pg_dir(void); /* directory of the socket */
const char *store_test_pg_url(void);

/* Runs SQL as the server's administrator; returns the first column of the first row, "" if there
 * is none. The caller frees it. The test fails if the server refuses. */
char *store_test_pg_sql(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Returns the schema of a cluster's records; the caller frees it. */
char *store_test_pg_schema(const char *cluster);

/* From now on every write of a record of kind 9 with a number above 65535 (epoch << 16 | number of
 * the batch), and every change of the lead (number 0), adds a row (id, epoch, number) to the table
 * 'log' of the cluster's schema, in the order in which they take effect: a trigger writes the row
 * in the same transaction, under its locks. */
#define STORE_TEST_PG_LOGGED 9
void store_test_pg_log(const char *cluster);
struct store_test_pg_entry {
    unsigned long long epoch, number;
};
/* Returns the log; the caller frees it. */
struct store_test_pg_entry *store_test_pg_log_read(const char *cluster, size_t *count);
