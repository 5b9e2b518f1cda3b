/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a command line to a process that is ready to serve: options, files and the user. */
#pragma once

#include <stdbool.h>

#include "conf/conf.h"
#include "slurmctld/ctld.h"

/* options.c. Returns true to go on; false: over, with *status (--help, -V, a wrong option). */
bool options_parse(int argc, char **argv, struct ctld_options *o, int *status);

/* check.c: --check. Reads everything, starts nothing; every error and warning that it finds goes to
 * stderr. Returns the status. */
int check_run(const struct ctld_options *o);
/* Which of the controllers this process is: the one named 'as', or with NULL the first whose
 * SlurmctldHost is this host. */
int check_host(const struct conf *conf, const char *as, size_t *me, struct err *err);

/* files.c. */
/* As root, for SlurmUser. log_file: in the place of SlurmctldLogFile; may be NULL. */
int files_prepare(const struct conf *conf, const char *log_file, struct err *err);
int files_become_user(const struct conf *conf, struct err *err);
int files_load_keys(struct ctld *c, const struct conf *conf, struct err *err);
int files_load_signer(struct ctld *c, const char *dir, uid_t owner, struct err *err);
/* Whether this process could be begun anew as the user it has become (lead/reexec.c). */
int files_check_again(const struct conf *conf, struct err *err);
/* The pid file, locked while this process lives; a backup's is named after it. The caller frees the
 * path. A failure to open it is told and survived. */
char *files_pid_path(const struct conf *conf, const struct conf_host *me);
int files_pid_open(const struct conf *conf, const char *path);
void files_pid_write(int fd);
void files_pid_remove(int fd, const char *path);

/* reexec.c: this process from its beginning, with a clean slate. Returns only when that fails. At
 * the start reexec_begun() tells whether it is such a beginning, in o->is_reexec, o->waits and
 * o->yielded. */
enum reexec { REEXEC_CLAIMS, REEXEC_WAITS, REEXEC_YIELDED }; /* it led, and waits now */
void reexec_start(const struct ctld_options *o, const char *conf_path, enum reexec how);
void reexec_begun(struct ctld_options *o);
