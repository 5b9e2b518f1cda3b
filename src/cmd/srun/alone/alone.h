/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun is two programs with the same main(): "srun" is linked statically and starts with far less
 * work (docs/adr/0054); "srun-dynamic" has all shared libraries of the host at hand, as plugins and
 * name services are. The first becomes the second, with the arguments and the environment that it
 * was started with, before it has requested anything, when
 *
 *   - a library is preloaded, by LD_PRELOAD, LD_AUDIT or /etc/ld.so.preload;
 *   - plugstack.conf names plugins, or CliFilterPlugins filters;
 *   - a user or group is looked up that /etc/passwd or /etc/group does not have;
 *   - a controller has to be reached by a host name that /etc/hosts does not have.
 *
 * After alone_forbid_leaving(), users and groups that are in no file are unknown, and host names
 * that are not in /etc/hosts are asked of getent(1). The files count only where
 * /etc/nsswitch.conf names them first. In srun-dynamic, and where srun is not linked statically,
 * these functions do nothing.
 */
#pragma once

#include "conf/conf.h"

/* Before anything changes the arguments or the environment, which are borrowed. */
void alone_begin(char **argv);

/* The configuration is there; NULL: it cannot be read. */
void alone_check(const struct conf *conf);

/* Before the first request, which the other program would make once more. */
void alone_forbid_leaving(void);
