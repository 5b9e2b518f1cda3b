/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a request comes from: what every job of this process has in common, whatever its options.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "proto/job.pb-c.h"

#define ORIGIN_LINE_MAX 4096 /* bytes of the submit line that are kept */

/* Sets work_dir (chdir, or where we are), alloc_host, alloc_sid, submit_line and a fresh
 * request_id. Everything is in the arena. The key of a partition, which spec has by then, is left
 * out of the line and taken out of the environment. Fails when the working directory is gone. */
int origin_fill(struct arena *a, int argc, char *const argv[], const char *chdir,
                struct Pb__JobSpec *spec, struct err *err);
