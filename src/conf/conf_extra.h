/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that other modules read, for nodes without them, as lines "FileConf=NAME LINE", with %xx
 * for characters that have a meaning in a line.
 */
#pragma once

#include "conf/conf_internal.h"

#define CONF_EXTRA_PREFIX "FileConf="

/* Handles the text after the mark. */
int conf_extra_line(struct conf_loader *l, const char *line, struct conf_place at, struct err *err);
void conf_extra_done(struct conf_private *p);

/* Adds the line to the hash. */
void conf_line_hash(struct conf *c, const char *line, size_t len);
