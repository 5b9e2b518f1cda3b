/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What daemons have to do with their starter, the service manager and the machine when they start.
 * Main thread.
 */
#pragma once

/* Sends a line of sd_notify(3) to the service manager, if one listens at NOTIFY_SOCKET. Returns 0
 * (also without a service manager), or -errno. */
int service_notify(const char *state);

/* Option -n: text is a nice value, -20 to 19. Returns 0 or -errno; -EINVAL: not a nice value. */
int service_set_nice(const char *text);

/* Option -s: changes to the directory of log_file (may be NULL), otherwise to dir, otherwise to
 * /var/tmp. Returns the directory, or NULL when none can be entered. The caller frees. */
char *service_change_dir(const char *log_file, const char *dir);

/*
 * Becomes a daemon, before any thread is made. The daemon is a child, and gets the descriptor for
 * service_ready(). The caller's process never returns: it exits with status 0 when the daemon is
 * ready, and with status 1 when the daemon ends before. Until then standard error is the caller's
 * terminal.
 */
int service_detach(const char *program);

/* Lets go of the terminal and of the starter. */
void service_ready(int starter);
