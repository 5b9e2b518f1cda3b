/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a command line to a process that is ready to serve: options, the daemon's detachment, its
 * files and its user. */
#pragma once

#include <stdbool.h>

#include "conf/conf.h"
#include "slurmctld/ctld.h"

/* options.c. Returns true to go on; false: over, with *status (--help, -V, a wrong option). */
bool options_parse(int argc, char **argv, struct ctld_options *o, int *status);

/* check.c: --check. Reads everything, starts nothing; its texts go to stderr. Returns the status.
 */
int check_run(const struct ctld_options *o);
/* Whether this host is the one that may run the controller of this configuration. */
int check_host(const struct conf *conf, struct err *err);

/*
 * daemon.c. daemon_detach() goes on in a child and keeps the caller's process waiting for
 * daemon_ready(), which ends it with status 0, or for the child's end, which ends it with status 1.
 * Until then standard error is the caller's terminal. To be called before any thread is made.
 */
void daemon_detach(void);
void daemon_ready(void);

/* files.c. */
int files_prepare(const struct conf *conf, struct err *err); /* as root, for SlurmUser */
int files_become_user(const struct conf *conf, struct err *err);
int files_load_keys(struct ctld *c, const struct conf *conf, struct err *err);
int files_load_signer(struct ctld *c, const char *dir, uid_t owner, struct err *err);
/* The pid file, locked while this process lives. A failure is told and survived. */
int files_pid_open(const struct conf *conf);
void files_pid_write(int fd);
void files_pid_remove(int fd, const char *path);
