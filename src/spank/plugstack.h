/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * plugstack.conf: the list of plugins in loading order (X-32). A line is
 *
 *   required|optional PLUGIN [ARGUMENT...]      include GLOB
 *
 * "#" begins a comment. A plugin without a "/" is searched for in PluginDir. Root reads no file,
 * and loads no plugin, that users other than root and the configured ones could have written.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "proto/common.pb-c.h"

#define PLUGSTACK_FILE_MAX (1u << 20) /* bytes per file */
#define PLUGSTACK_DEPTH_MAX 8         /* nested includes */
#define PLUGSTACK_PLUGINS_MAX 256

struct plugstack {
    VEC(Pb__SpankPlugin *) plugins; /* owned; each with all fields set */
};

/* Reads the file named by PlugStackConfig, or plugstack.conf beside slurm.conf. The result is
 * empty if the file is missing or names no plugin. Error messages (-ERR_CONFIG, -ERR_ACCESS) begin
 * with the file and the line. A missing plugin is an error only if it is required. */
int plugstack_load(const struct conf *c, struct plugstack *out, struct err *err);
void plugstack_done(struct plugstack *p);

/* Returns the path of the file; the caller frees it. */
char *plugstack_path(const struct conf *c);
