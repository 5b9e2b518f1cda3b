/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Directories that the job has for itself on this node: /tmp, /dev/shm and what job_container.conf
 * names, in a mount namespace that all its tasks are in, and what runs beside them as the user. The
 * first shepherd of the job makes it, the others find it:
 *
 *   BasePath/JOB/       root's, 0700: nobody else can look at the job's files
 *     .ns               the namespace, mounted there, so that it lives without a process in it
 *     0, 1...           what is seen in the place of the first of Dirs, the second...
 *
 * /dev/shm is a file system in memory, of the namespace alone. The daemon has all of it removed
 * when the job's epilog is over (jobtmp_remove_main()).
 */
#pragma once

#include "base/err.h"
#include "proto/common.pb-c.h"

/* Makes or finds it; *fd is what jobtmp_enter() takes, -1 with nothing to do where m is NULL.
 * -ERR_NODE_FAULT. */
int jobtmp_open(const Pb__StepTmp *m, int *fd, struct err *err);

/* In a process that is to become the user, as root, with one thread. fd -1: nothing. */
int jobtmp_enter(int fd, struct err *err);

/* The program that removes a job's directory. Returns the exit status. */
int jobtmp_remove_main(const char *dir);
