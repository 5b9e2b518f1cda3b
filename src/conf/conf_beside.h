/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of the files beside slurm.conf. Private to src/conf. */
#pragma once

#include "conf/conf_internal.h"

/* Reads the file with this name in the directory of path, if it exists, with the prefix before
   each line. */
int conf_lines_read_beside(struct conf_loader *l, const char *path, const char *name,
                           const char *prefix, struct err *err);
/* Parses rows of a file with one key per line into *base. written[] gets, by key, the value in
 * force: the last one. */
int conf_rows_take_last(struct conf_loader *l, const struct conf_rows *rows, void *base,
                        struct conf_value *written, struct err *err);

/* Prefix that distinguishes lines of gres.conf from those of slurm.conf. */
#define CONF_GRES_PREFIX "GresConf=1 "

#define CONF_CGROUP_PREFIX "CgroupConf=1 "
int conf_cgroup_build(struct conf_loader *l, struct err *err); /* sets conf->cgroup */
void conf_cgroup_format(const struct conf *c, struct str *out);
