/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The owner of the file: starts a receiver on each node of a grant, sends to the first ones, and
 * decides. The file is put in place on all nodes or on none: when every remaining node has all of
 * it, the nodes are told to commit. A node that cannot accept the file (its disk is full, another
 * file is in the way) prevents the commit; a lost node does not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/hostlist.h"
#include "conf/conf.h"
#include "loop/loop.h"
#include "proto/cast.pb-c.h"

struct cast_source {
    int fd;
    const char *path;
    struct stat stat;
};
/* Opens a regular file that we may read. */
int cast_source_open(const char *path, struct cast_source *out, struct err *err);
void cast_source_close(struct cast_source *s);

struct cast_send_options {
    struct loop *loop;
    const struct conf *conf;
    const Pb__CastGrant *grant;
    const struct cast_source *source;
    Pb__CastFile file; /* destination and options; size, mode and times come from the source */
    bool preserve;     /* preserve the times */
    mode_t umask;      /* bits removed from the mode */
    uint32_t width, block;
    bool pack;
    int64_t timeout_ms;
    /* A node does not have the file, for this reason; called once per node. */
    void (*on_node)(void *ctx, const char *node, int code, const char *text);
    /* The end: err is 0, or an error that is not the fault of a single node. 'failed' nodes do not
     * have the file; if nothing was committed, no node has it. May free the send. */
    void (*on_done)(void *ctx, size_t failed, bool committed, const struct err *err);
    void *ctx;
};

struct cast_send;
/* Data referenced by the options is borrowed until on_done(), which is never called from within
   this function. */
struct cast_send *cast_send_start(const struct cast_send_options *o);
/* Adds the nodes that have confirmed that the file is in place. */
void cast_send_placed(const struct cast_send *s, struct hostlist *nodes);
void cast_send_free(struct cast_send *s); /* before the end: no node gets the file */

#define CAST_TIMEOUT_MAX_MS INT64_C(3600000)
