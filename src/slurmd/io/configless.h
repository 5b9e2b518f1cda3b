/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A node without its own slurm.conf (--conf-server). It has the controller's configuration as one
 * file in SlurmdSpoolDir/conf-cache, which SLURM_CONF of its steps names. The first line of the
 * file is a hash of the rest, so that a truncated or edited file is rejected. A link beside the
 * cluster key locates the file while no controller answers.
 */
#pragma once

#include "slurmd/node/slurmd.h"

#define CONFIGLESS_PORT 6817 /* default port of --conf-server */

struct configless;

/* servers: "HOST[:PORT],..."; an IPv6 address with a port is in brackets. key_dir: the directory
 * of the cluster key. node NULL: found by the name of this host. */
int configless_new(const char *servers, const char *key_dir, const char *node,
                   struct configless **out, struct err *err);
void configless_free(struct configless *c);

/* Before the event loop exists: asks the servers, and returns the path of the file to read; if no
 * server answers, the path of the previous file. The caller frees *path. Requires d->key; d->conf
 * is not set yet. */
int configless_begin(struct slurmd *d, char **path, struct err *err);
/* After d->conf was read from the file: checks that the file is what a controller once sent. */
int configless_check(struct slurmd *d, struct err *err);

/* The configuration may have changed: asks the connected controller, if there is one. */
void configless_ask(struct slurmd *d);
void configless_take(struct slurmd *d, const Pb__NodeConfig *m);
/* Compares this configuration with the hash of the controller's. */
void configless_compare(struct slurmd *d, uint64_t hash);
/* The session has closed: an open request will not be answered. */
void configless_closed(struct slurmd *d);

/* For tests: parses the list of addresses. The caller frees each addr and the array. */
int configless_parse(const char *servers, struct rpc_target **out, size_t *count, struct err *err);
