/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Common functions of all commands: messages with the command's name, the configuration, the one
 * client, and output in one piece. A command is one thread that makes one request, so this state is
 * process-wide.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "rpc/client.h"

/* Call first in main(): name is the prefix of all messages. */
void cmd_start(const char *name);
const char *cmd_name(void);
void cmd_set_level(bool quiet, unsigned verbose);

/* Prints "NAME: error: TEXT" to standard error, control characters escaped. */
void cmd_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints "NAME: TEXT", unless --quiet is set. */
void cmd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Like cmd_say(), only with -v (level 1), -vv (2)... */
void cmd_detail(unsigned level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints a line to standard error without prefix, control characters escaped. */
void cmd_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The configuration, read at the first call. If it cannot be read, the process ends with a message.
 */
const struct conf *cmd_conf(void);
/* The configuration, or NULL without a message if it cannot be read. */
const struct conf *cmd_conf_if_any(void);
/* The command's name and the cluster of cmd_conf(), for JSON output. */
struct json_out_source;
const struct json_out_source *cmd_source(void);

/* The client, created at the first call; lives as long as the process. */
struct rpc_client *cmd_client(void);

/* Makes one call; the reply is in an arena that lives as long as the process. */
int cmd_call(enum rpc_number rpc, const ProtobufCMessage *request, void *reply, struct err *err);
/* Like cmd_call(), for a request that the controller may answer late. */
int cmd_call_long(enum rpc_number rpc, const ProtobufCMessage *request, void *reply,
                  struct err *err);

/* The output buffer; it is written in one piece when the process succeeds. */
struct str *cmd_out(void);
/* Writes the output. Returns 0, or 1 after a message if it could not be written. A closed pipe is
 * not an error. */
int cmd_flush(void);

/* The exit status of errors: SLURM_EXIT_ERROR, or 1. */
int cmd_exit_error(void);

/* The uid of a name or number in a list of users; false: a message names it. The other users of the
 * list count. */
bool cmd_find_user(const char *name, uint32_t *uid);

/* Rejects a --clusters list that names a cluster other than the configured one. */
int cmd_check_clusters(const char *list, struct err *err);
