/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * plugstack.conf: which plugins are loaded, in which order (X-32). A line is
 *
 *   required|optional PLUGIN [ARGUMENT...]      include GLOB
 *
 * "#" begins a comment. A plugin without a "/" is looked for in PluginDir. Root follows no file,
 * and loads no plugin, that others than it and the configured users could have written.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "proto/common.pb-c.h"

#define PLUGSTACK_FILE_MAX (1u << 20) /* bytes of a file */
#define PLUGSTACK_DEPTH_MAX 8         /* of includes */
#define PLUGSTACK_PLUGINS_MAX 256

struct plugstack {
    VEC(Pb__SpankPlugin *) plugins; /* owned; each with all fields set */
};

/* Reads the file that PlugStackConfig names, else plugstack.conf beside slurm.conf. Empty when
 * there is none, or it names nothing. The text of a failure (-ERR_CONFIG, -ERR_ACCESS) begins with
 * the file and the line. A plugin that is not there fails only if it is required. */
int plugstack_load(const struct conf *c, struct plugstack *out, struct err *err);
void plugstack_done(struct plugstack *p);

/* The file it is; the caller frees. */
char *plugstack_path(const struct conf *c);
