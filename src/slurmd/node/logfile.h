/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the daemon's log goes, by SlurmdLogFile, SlurmdDebug and the command line.
 */
#pragma once

#include "base/log.h"
#include "slurmd/node/slurmd.h"

/* Opens; called again, follows a changed configuration or a file that was moved away. */
int logfile_open(struct slurmd *d, struct err *err);
enum log_level logfile_level(const struct slurmd *d);
void logfile_detach(struct slurmd *d); /* nothing to the terminal any more */
