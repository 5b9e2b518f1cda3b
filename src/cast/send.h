/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one who has the file: starts a receiver on each node of a grant, feeds the first ones, and
 * decides. The file comes to its place everywhere or nowhere: when every node that is left has all
 * of it, they are told to commit. A node that cannot take it (its disk is full, a file is in the
 * way) keeps the others from getting it; one that is gone does not.
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
/* A regular file that we may read. */
int cast_source_open(const char *path, struct cast_source *out, struct err *err);
void cast_source_close(struct cast_source *s);

struct cast_send_options {
    struct loop *loop;
    const struct conf *conf;
    const Pb__CastGrant *grant;
    const struct cast_source *source;
    Pb__CastFile file; /* path and how; size, mode and times come from the source */
    bool preserve;     /* times */
    mode_t umask;      /* what is taken from the mode */
    uint32_t width, block;
    bool pack;
    int64_t timeout_ms;
    /* A node that does not have it, and why; each once. */
    void (*on_node)(void *ctx, const char *node, int code, const char *text);
    /* The end: 0, or that of all that is not the fault of one node; 'failed' nodes do not have it,
     * and where none was told to commit, nobody does. May free it. */
    void (*on_done)(void *ctx, size_t failed, bool committed, const struct err *err);
    void *ctx;
};

struct cast_send;
/* What the options point to is borrowed until on_done(), which is never called from within this. */
struct cast_send *cast_send_start(const struct cast_send_options *o);
/* Adds the nodes that have said that it is in its place. */
void cast_send_placed(const struct cast_send *s, struct hostlist *nodes);
void cast_send_free(struct cast_send *s); /* before the end: nobody gets it */

#define CAST_TIMEOUT_MAX_MS INT64_C(3600000)
