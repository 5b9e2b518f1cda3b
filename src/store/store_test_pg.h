/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A PostgreSQL server of a test's own: in a new directory, on a UNIX socket there, as an ordinary
 * user, ended with the test. Where there is no server program the test is skipped with one line
 * that says so, unless CI is set in the environment: there it fails.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Ends the process with 77 when it has to be skipped. 'name' is that of the test. */
void store_test_pg_start(const char *name);
void store_test_pg_stop(void); /* at the end: stops the server and removes its directory */
/* SIGINT: closes connections; SIGQUIT: as a crash would. Waits for its end. */
void store_test_pg_halt(int signo);
void store_test_pg_resume(void); /* after a halt */
pid_t store_test_pg_pid(void);
const char *store_test_pg_dir(void); /* of the socket */
const char *store_test_pg_url(void);

/* Runs SQL as the server's administrator; the first column of the first row, "" when there is
 * none. The caller frees. Fails the test when the server refuses. */
char *store_test_pg_sql(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Of a cluster's records; the caller frees. */
char *store_test_pg_schema(const char *cluster);

/* From now on every writing of a record of kind 9 whose number is above 65535 (epoch << 16 | number
 * of the batch), and every change of the lead (number 0), leaves a row (id, epoch, number) in the
 * table 'log' of the cluster's schema, in the order of their taking effect: a trigger writes it in
 * the same transaction, under the locks that it holds. */
#define STORE_TEST_PG_LOGGED 9
void store_test_pg_log(const char *cluster);
struct store_test_pg_entry {
    unsigned long long epoch, number;
};
/* The log; the caller frees. */
struct store_test_pg_entry *store_test_pg_log_read(const char *cluster, size_t *count);
