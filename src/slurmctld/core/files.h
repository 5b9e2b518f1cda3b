/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that the process needs before it can serve: directories, keys, its log and pid file. */
#pragma once

#include "slurmctld/core/ctld.h"

/* As root, for SlurmUser. log_file: in the place of SlurmctldLogFile; may be NULL. */
int files_prepare(const struct conf *conf, const char *log_file, struct err *err);
int files_become_user(const struct conf *conf, struct err *err);
int files_load_keys(struct ctld *c, const struct conf *conf, struct err *err);
/* Whether a start could read the key of JSON Web Tokens, if it needs one. -EACCES: this user may
 * not read it; a start as root may. */
int files_check_jwt_key(const struct conf *conf, struct err *err);
int files_load_signer(struct ctld *c, const char *dir, uid_t owner, struct err *err);
/* Whether this process could be begun anew as the user it has become (lead/reexec.c). */
int files_check_again(const struct conf *conf, struct err *err);
/* The pid file, locked while this process lives; a backup's is named after it. The caller frees the
 * path. A failure to open it is told and survived. */
char *files_pid_path(const struct conf *conf, const struct conf_host *me);
int files_pid_open(const struct conf *conf, const char *path);
void files_pid_write(int fd);
void files_pid_remove(int fd, const char *path);

/* Opens the log, or opens it again. While starting, errors go to the caller's terminal too. */
void files_open_log(struct ctld *c, const struct conf *conf, bool starting);
/* Again, with the level that slurm.conf has by now; the rest of the file is not used. */
void files_reopen_log(struct ctld *c);
/* Logs what was read from resources.yaml. */
void files_log_resources(const struct conf *conf);
