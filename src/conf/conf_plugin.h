/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The site's job_submit plugins as files on the controller's host. */
#pragma once

#include "conf/conf.h"

/* The site's job_submit plugins in order, with their files on the controller's host: beside
 * slurm.conf, or in PluginDir. */
struct conf_submit {
    char *plugin, *path, *place; /* "job_submit/NAME"; place: "FILE:LINE: JobSubmitPlugins=NAME" */
};
struct conf_submits { /* used as a VEC */
    struct conf_submit *data;
    size_t len, room;
};
/* -ERR_CONFIG or -ERR_ACCESS: a plugin in C is missing, or other users could have replaced it. */
int conf_submit_list(const struct conf *c, struct conf_submits *out, struct err *err);
void conf_submits_done(struct conf_submits *s);
int conf_submit_check(const struct conf *c, struct err *err);
