/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The descriptors of a process as a whole. */
#pragma once

/* What a daemon does before anything else: its three standard descriptors are open (on /dev/null if
 * nobody gave them), and of those from 'keep_below' on, which a shell or a service manager has left
 * it, none. Returns 0 or -errno. */
int fd_begin(int keep_below);

/* As many descriptors as we may have, at most 'most'. Returns the limit as it was: what programs
 * that we run are used to, and some cannot do with more. */
unsigned fd_raise_limit(unsigned most);
void fd_set_limit(unsigned soft);
