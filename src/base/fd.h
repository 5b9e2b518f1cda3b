/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file descriptors of a process as a whole. */
#pragma once

/* Called first in a daemon: opens missing standard descriptors on /dev/null, and closes all
 * descriptors from 'keep_below' on, which a shell or a service manager may have left open. Returns
 * 0 or -errno. */
int fd_begin(int keep_below);

/* Raises the limit of open files as far as allowed, at most to 'most'. Returns the previous limit,
 * which programs that we run expect; some do not work with a higher one. */
unsigned fd_raise_limit(unsigned most);
void fd_set_limit(unsigned soft);
