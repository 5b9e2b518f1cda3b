/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program of a user, in a child of the helper: it becomes the user, with the groups that the
 * name service says, before it looks at any path of the user's.
 */
#pragma once

#include <sys/types.h>

#include "proto/script.pb-c.h"

/* Ends with the parent. What keeps the program from being begun is written to 'report', which is
 * closed when it begins; then the exit status is 127. */
_Noreturn void asuser_exec(const Pb__ScriptRun *m, char **argv, char **env, pid_t parent,
                           int report);
