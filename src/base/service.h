/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interaction of a starting daemon with its parent process, the service manager and the machine.
 * Main thread only.
 */
#pragma once

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
