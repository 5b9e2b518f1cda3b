/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Daemons hold keys and credentials: prevents their memory from reaching a core file or another
 * user's debugger. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

/* Sets the soft limit of core files to 0 and, as root, makes the process undumpable: no core file,
 * no ptrace(2), and /proc/PID belongs to root. exec() makes a program dumpable again, so children
 * are only affected by the limit. Returns the previous soft limit, for dump_set_limit() in
 * programs run for users. A process that is not root stays dumpable: its user can read its keys
 * anyway, and finds it by /proc/PID/exe. */
rlim_t dump_forbid(void);
/* Whether a process that drops root privileges, and all processes that share its memory, stay
 * undumpable, by the kernel's fs.suid_dumpable. Returns false if unknown. */
bool dump_outlasts_rights(void);
void dump_set_limit(rlim_t soft); /* limited by the hard limit */
/* A daemon cannot continue: with ABORT_ON_FATAL in its environment it aborts here, and may leave a
 * core file with everything it holds; otherwise returns 'status', for exit(). */
int dump_on_fatal(int status);
/* Enables a core file, and aborts. */
_Noreturn void dump_abort(void);
