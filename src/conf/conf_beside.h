/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of the files beside slurm.conf, for the rest of this room. */
#pragma once

#include "conf/conf_internal.h"

/* Reads the file of this name beside that path, if there is one, with the prefix before each line.
 */
int conf_lines_read_beside(struct conf_loader *l, const char *path, const char *name,
                           const char *prefix, struct err *err);
/* Parses rows of a file that has one key a line into *base, and leaves in written[], by key, the
 * value that holds: the last one. */
int conf_rows_take_last(struct conf_loader *l, const struct conf_rows *rows, void *base,
                        struct conf_value *written, struct err *err);

/* Lines of gres.conf are told from those of slurm.conf by a word before them. */
#define CONF_GRES_PREFIX "GresConf=1 "

#define CONF_CGROUP_PREFIX "CgroupConf=1 "
int conf_cgroup_build(struct conf_loader *l, struct err *err); /* conf->cgroup */
void conf_cgroup_format(const struct conf *c, struct str *out);
