/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests of commands that make one request: a process that plays a controller with
 *
 *   jobs 1 (running on n[1-2]), 2 (held, of user 4242, with a name that tries to drive the
 *   terminal) and 3 (failed), 42 once it was submitted; steps 1.0 and 1.batch;
 *   nodes n1, n2 (mixed), n3 (idle), n4 (drained); partitions main (default) and off (down);
 *
 * that says yes to every change of those and refuses every other. What it was asked for is in a
 * file: the number of each request's RPC and the message's text fields that matter.
 */
#pragma once

/* cmocka's group functions: SLURM_CONF leads to it in between. */
int test_controller_start(void **state);
int test_controller_stop(void **state);

extern char test_controller_dir[];
/* What the last change asked for, as one line. The caller frees. */
char *test_controller_asked(void);

#define TEST_CONTROLLER_NOW 1000000015 /* the wall clock of its replies */
