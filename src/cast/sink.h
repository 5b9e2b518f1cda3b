/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file that a receiver creates. The process has become the user before any function here is
 * called, so no path is opened with other privileges.
 *
 * While it is being received, the file has no name (O_TMPFILE), so that nothing is left of it
 * however the process ends. If the file system does not support that, it has a hidden name beside
 * its destination and is removed when the process ends, unless the process is killed. Its
 * directory is held open. A symbolic link at the end of the path is never followed: it is treated
 * as the existing file, or replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/cast.pb-c.h"

struct cast_sink;

/* -EEXIST, -EISDIR, -EPERM: the destination exists and may not be replaced; -ENOSPC, -EDQUOT as
 * early as the file system reports it. node: its name, for CastFile.per_node. */
int cast_sink_open(const Pb__CastFile *file, const char *node, struct cast_sink **out,
                   struct err *err);
void cast_sink_free(struct cast_sink *s); /* an uncommitted file vanishes */

uint64_t cast_sink_at(const struct cast_sink *s); /* number of bytes received */
/* Appends bytes; bytes beyond the announced size are refused. */
int cast_sink_write(struct cast_sink *s, const void *data, size_t len, struct err *err);
int cast_sink_read(struct cast_sink *s, uint64_t at, void *buf, size_t len, struct err *err);

/* All bytes are received: checks that they are what was sent, and that a full disk cannot lose
 * them. Called once; nothing is written afterwards, and a program can be executed as soon as it has
 * its name. */
int cast_sink_check(struct cast_sink *s, uint32_t crc, struct err *err);
/* Puts the file in place, once; a repeated call succeeds. Without 'force' a file that has appeared
 * there since opening is kept, unless it is the same file (a directory that several nodes share).
 */
int cast_sink_place(struct cast_sink *s, struct err *err);
