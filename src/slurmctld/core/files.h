/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the process needs before it can serve: directories, keys, log and pid file, and its user.
 *
 * Ports below 1024 may only be bound by root's processes (CORE-230). A controller that listens on
 * such a port and becomes SlurmUser keeps one capability of root, CAP_NET_BIND_SERVICE, since it
 * listens again after each change of the lead. Programs that it starts do not inherit the
 * capability.
 */
#pragma once

#include "base/err.h"
#include "conf/conf.h"
#include "slurmctld/core/ctld.h"

/* As root: prepares files for SlurmUser. log_file overrides SlurmctldLogFile and may be NULL. */
int files_prepare(const struct conf *conf, const char *log_file, struct err *err);
int files_become_user(const struct conf *conf, struct err *err);
int files_load_keys(struct ctld *c, const struct conf *conf, struct err *err);
/* Checks that a start could read the key of JSON Web Tokens, if one is configured. -EACCES: this
 * user may not read it, but root may. */
int files_check_jwt_key(const struct conf *conf, struct err *err);
int files_load_signer(struct ctld *c, const char *dir, uid_t owner, struct err *err);
/* Checks that this process could execute itself again as its present user (lead/reexec.c). */
int files_check_again(const struct conf *conf, struct err *err);
/* Creates the pid file, which is locked while this process lives; a backup's has its host name.
 * The caller frees the path. Failures are logged only. */
char *files_pid_path(const struct conf *conf, const struct conf_host *me);
int files_pid_open(const struct conf *conf, const char *path);
void files_pid_write(int fd);
void files_pid_remove(int fd, const char *path);

/* Opens or reopens the log. While starting, errors are also written to the caller's terminal. */
void files_open_log(struct ctld *c, const struct conf *conf, bool starting);
/* Reopens the log with the present level in slurm.conf; the rest of the file is ignored. */
void files_reopen_log(struct ctld *c);
/* Logs the content of resources.yaml. */
void files_log_resources(const struct conf *conf);

/* When a non-root process executes itself again, it keeps this capability. Once running, it does
   not pass the capability to programs that it executes, even if a file capability requests it. */
void files_hand_on_lowport(void);
