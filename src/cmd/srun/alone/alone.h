/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun is two programs with the same main(). "srun" is linked statically and starts with far less
 * work (docs/adr/0054). "srun-dynamic" can use all shared libraries of the host, which plugins and
 * name services need. The first executes the second, with its original arguments and environment
 * and before it has sent a request, when
 *
 *   - a library is preloaded, by LD_PRELOAD, LD_AUDIT or /etc/ld.so.preload;
 *   - plugstack.conf names plugins, or CliFilterPlugins filters;
 *   - a user or group is looked up that /etc/passwd or /etc/group does not have;
 *   - a controller has to be reached by a host name that /etc/hosts does not have.
 *
 * After alone_forbid_leaving(), users and groups that are in no file count as unknown, and host
 * names that are not in /etc/hosts are resolved by getent(1). The files are used only if
 * /etc/nsswitch.conf names them first. In srun-dynamic, and where srun is not linked statically,
 * these functions do nothing.
 */
#pragma once

#include "conf/conf.h"

/* Call before the arguments or the environment change; both are borrowed. */
void alone_begin(char **argv);

/* Call when the configuration has been read; NULL: it cannot be read. */
void alone_check(const struct conf *conf);

/* Call before the first request, which srun-dynamic would repeat. */
void alone_forbid_leaving(void);
