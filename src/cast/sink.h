/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file that a receiver makes. The process has become the user before anything here is called:
 * no path is opened with more rights than his.
 *
 * While it comes it has no name (O_TMPFILE), where the file system can do that, so nothing is left
 * of it whatever ends the process; else a hidden one beside its place, which ends with the process
 * unless that is killed. Its directory is held open, and a link at the end of the path is never
 * followed: it is what is in the way, or what is replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/cast.pb-c.h"

struct cast_sink;

/* -EEXIST, -EISDIR, -EPERM: its place is taken and may not be replaced; -ENOSPC, -EDQUOT as early
 * as the file system tells. node: its name, for CastFile.per_node. */
int cast_sink_open(const Pb__CastFile *file, const char *node, struct cast_sink **out,
                   struct err *err);
void cast_sink_free(struct cast_sink *s); /* what was not placed vanishes */

uint64_t cast_sink_at(const struct cast_sink *s); /* bytes that are there */
/* The next bytes; more than the file is to have are refused. */
int cast_sink_write(struct cast_sink *s, const void *data, size_t len, struct err *err);
int cast_sink_read(struct cast_sink *s, uint64_t at, void *buf, size_t len, struct err *err);

/* All of it is there: whether it is what was sent, and safe from a full disk. Once; nothing is
 * written from then on, and what is a program can be run as soon as it has its name. */
int cast_sink_check(struct cast_sink *s, uint32_t crc, struct err *err);
/* Under its name, once; again is no failure. Without 'force' a file that has come there since it
 * was opened is left alone, unless it is the same one (a directory that several nodes share). */
int cast_sink_place(struct cast_sink *s, struct err *err);
