/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What making and removing private directories share. */
#pragma once

#include <stdbool.h>

#include "slurmstepd/task/jobtmp.h"

bool jobtmp_is_namespace(int fd);
/* The job's directory, held and locked; negative, -ENOENT also when it went while we waited. */
int jobtmp_lock(const char *dir, struct err *err);
/* Whether it still is what has that name. */
bool jobtmp_is_at(int dir_fd, const char *dir);
/* Its namespace; -1: there is none. */
int jobtmp_find(int dir_fd);

/* Runs a script of the site as root, with what it is told of the job. -ERR_NODE_FAULT. */
int jobtmp_script(const Pb__StepTmp *m, const char *key, const char *path, unsigned limit_sec,
                  const char *dir, struct err *err);
/* The same with an environment. */
int jobtmp_run(const char *key, const char *path, unsigned limit_sec, char **env, struct err *err);
