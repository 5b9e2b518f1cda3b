/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines of files that other rooms read, for nodes that have none: "FileConf=NAME LINE", with %xx
 * for what means something in a line.
 */
#pragma once

#include "conf/conf_internal.h"

#define CONF_EXTRA_PREFIX "FileConf="

/* What is behind the mark. */
int conf_extra_line(struct conf_loader *l, const char *line, struct conf_place at, struct err *err);
void conf_extra_done(struct conf_private *p);

/* The line is one of those that the hash is of. */
void conf_line_hash(struct conf *c, const char *line, size_t len);
