/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Becoming a daemon: the caller's terminal waits until it is up, and hears why when it is not.
 */
#pragma once

#include "base/err.h"

/* In the calling process it does not return: it exits with what the daemon says. In the daemon it
 * returns the descriptor for detach_ready(). */
int detach_begin(const char *program);

/* Lets go of the terminal and lets the caller go, with success. */
void detach_ready(int fd, int null_fd);

int detach_write_pid(const char *path, struct err *err);
