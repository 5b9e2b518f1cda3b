/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests of commands that send one request: a process that acts as a controller with
 *
 *   jobs 1 (running on n[1-2]), 2 (held, of user 4242, with terminal control characters in its
 *   name) and 3 (failed), 42 after it was submitted; steps 1.0 and 1.batch;
 *   nodes n1, n2 (mixed), n3 (idle), n4 (drained); partitions main (default) and off (down).
 *
 * It accepts every change of those and rejects every other one. It writes to a file what it was
 * asked: the number of each request's RPC and the relevant text fields of the message.
 */
#pragma once

/* cmocka's group functions: SLURM_CONF points to the controller in between. */
int test_controller_start(void **state);
int test_controller_stop(void **state);

extern char test_controller_dir[];
/* The contents of the last change request, as one line. The caller frees it. */
char *test_controller_asked(void);

#define TEST_CONTROLLER_NOW 1000000015 /* the wall clock of its replies */
