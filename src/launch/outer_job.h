/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variables of the job, step and task that a command runs in: a job that the command creates
 * must not get them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether the variable describes a job, a step or a task. var: "NAME=VALUE"; name_len: the length
 * of its name. */
bool outer_job_has(const char *var, size_t name_len);
