/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Daemons hold keys and credentials: their memory reaches neither a core file nor another user's
 * debugger. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

/* Sets the soft limit of core files to 0 and, as root, makes the process undumpable: no core file,
 * no ptrace(2), and /proc/PID belongs to root. exec() makes a program dumpable again, so that
 * children are not affected except by the limit. Returns the soft limit as it was, for
 * dump_set_limit() in what is run for users. A process that is not root stays dumpable: its user
 * can read its keys anyway, and finds it by /proc/PID/exe. */
rlim_t dump_forbid(void);
/* Whether a process that gives up root's rights stays undumpable, and with it all that share its
 * memory, by the kernel's fs.suid_dumpable. Unknown: no. */
bool dump_outlasts_rights(void);
void dump_set_limit(rlim_t soft); /* at most the hard limit */
/* A daemon cannot go on: with ABORT_ON_FATAL in its environment it aborts here, and may leave a
 * core file with all that it holds; otherwise returns 'status', for exit(). */
int dump_on_fatal(int status);
/* Allows a core file, and aborts. */
_Noreturn void dump_abort(void);
