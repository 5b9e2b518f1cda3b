/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Per-job directories on this node: /tmp, /dev/shm and the directories in job_container.conf, in a
 * mount namespace shared by all tasks of the job and by the programs that run beside them as the
 * user. The first shepherd of the job creates it, the others find it:
 *
 *   BasePath/JOB/       owned by root, 0700: no other user can see the job's files
 *     .ns               the namespace, mounted here, so that it exists without a process in it
 *     0, 1...           mounted over the first of Dirs, the second, and so on
 *
 * /dev/shm is a tmpfs that only this namespace has. After the job's epilog the daemon has
 * everything removed (jobtmp_remove_main()).
 */
#pragma once

#include "base/err.h"
#include "proto/common.pb-c.h"

/* Creates or finds the namespace; *fd is the argument of jobtmp_enter(), and -1 if m is NULL.
 * Returns -ERR_NODE_FAULT. */
int jobtmp_open(const Pb__StepTmp *m, int *fd, struct err *err);

/* Called as root in a single-threaded process that is about to become the user. fd -1: no
   effect. */
int jobtmp_enter(int fd, struct err *err);

/* Main function of the program that removes a job's directory. Returns the exit status. */
int jobtmp_remove_main(const char *dir);
