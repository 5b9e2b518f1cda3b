/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every command does alike: messages with its name before them, the configuration, the one
 * client, and output in one piece. A command is one thread that makes one request, so this is
 * process-wide state.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "rpc/client.h"

/* First thing in main(): name is the prefix of all messages. */
void cmd_start(const char *name);
const char *cmd_name(void);
void cmd_set_level(bool quiet, unsigned verbose);

/* "NAME: error: TEXT" on standard error, control characters escaped. */
void cmd_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "NAME: TEXT", unless quiet. */
void cmd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same with -v only (level 1), -vv (2)... */
void cmd_detail(unsigned level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line on standard error as it is, control characters escaped. */
void cmd_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The configuration, read at the first call. When it cannot be read the process ends with a
 * message. */
const struct conf *cmd_conf(void);
/* The same, or NULL when it cannot be read, which is not said. */
const struct conf *cmd_conf_if_any(void);
/* What JSON output says of this command: its name, and the cluster of cmd_conf(). */
struct json_out_source;
const struct json_out_source *cmd_source(void);

/* The client, made at the first call; lives as long as the process. */
struct rpc_client *cmd_client(void);

/* One call, its reply in an arena that lives as long as the process. */
int cmd_call(enum rpc_number rpc, const ProtobufCMessage *request, void *reply, struct err *err);
/* The same for one that is answered when its turn comes. */
int cmd_call_long(enum rpc_number rpc, const ProtobufCMessage *request, void *reply,
                  struct err *err);

/* Appends to the output; all of it leaves in one write when the process ends well. */
struct str *cmd_out(void);
/* Writes it. 0, or 1 after a message when it could not be written (a reader that has left is no
 * error). */
int cmd_flush(void);

/* The status for an error: SLURM_EXIT_ERROR, or 1. */
int cmd_exit_error(void);

/* Refuses a --clusters list that names another cluster than the configured one. */
int cmd_check_clusters(const char *list, struct err *err);
