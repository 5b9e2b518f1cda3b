/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A starting daemon: its descriptors and limits, its parent process, the service manager and the
 * machine. Main thread only. Daemons hold keys and credentials: dump_forbid() prevents their memory
 * from reaching a core file or another user's debugger.
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

/* Sends a line of sd_notify(3) to the service manager, if NOTIFY_SOCKET is set. Returns 0 (also
 * without a service manager), or -errno. */
int service_notify(const char *state);

/* Option -n: text is a nice value, -20 to 19. Returns 0 or -errno; -EINVAL: invalid value. */
int service_set_nice(const char *text);

/* Option -s: changes to the directory of log_file (may be NULL), or else to dir, or else to
 * /var/tmp. Returns that directory, or NULL if none is accessible. The caller frees it. */
char *service_change_dir(const char *log_file, const char *dir);

/*
 * Becomes a daemon; call before any thread is created. Returns in a child process, with the
 * descriptor for service_ready(). The caller's process never returns: it exits with status 0 when
 * the daemon is ready, and with status 1 if the daemon ends before. Until then standard error is
 * the caller's terminal.
 */
int service_detach(const char *program);

/* Detaches from the terminal and from the starting process. */
void service_ready(int starter);

/* Called first in a daemon: opens missing standard descriptors on /dev/null, and closes all
 * descriptors from 'keep_below' on, which a shell or a service manager may have left open. Returns
 * 0 or -errno. */
int fd_begin(int keep_below);

/* Raises the limit of open files as far as allowed, at most to 'most'. Returns the previous limit,
 * which programs that we run expect; some do not work with a higher one. */
unsigned fd_raise_limit(unsigned most);
void fd_set_limit(unsigned soft);

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
