/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A node without a slurm.conf of its own (--conf-server): it has the controller's, as one file in
 * SlurmdSpoolDir/conf-cache, which its steps' SLURM_CONF names. The first line of that file tells
 * the hash of what follows, so that a file that was cut short or edited is not followed. A link
 * beside the cluster key finds it again while no controller answers.
 */
#pragma once

#include "slurmd/node/slurmd.h"

#define CONFIGLESS_PORT 6817 /* of --conf-server, where it is not given */

struct configless;

/* "HOST[:PORT],..."; an IPv6 address with a port is in brackets. key_dir: where the cluster key is.
 * node NULL: it is found by this host's name. */
int configless_new(const char *servers, const char *key_dir, const char *node,
                   struct configless **out, struct err *err);
void configless_free(struct configless *c);

/* Before the daemon's loop is there: asks the servers, and gives the path of the file to read;
 * while none of them answers, that of the last time. The caller frees. d->key is there, d->conf is
 * not. */
int configless_begin(struct slurmd *d, char **path, struct err *err);
/* When d->conf was read of it: whether it is what a controller once sent. */
int configless_check(struct slurmd *d, struct err *err);

/* The configuration may be another: asks the controller that is connected, if one is. */
void configless_ask(struct slurmd *d);
void configless_take(struct slurmd *d, const Pb__NodeConfig *m);
/* The controller's is this one. */
void configless_compare(struct slurmd *d, uint64_t hash);
void configless_closed(struct slurmd *d); /* what was asked will not be answered */

/* For the tests: the addresses of a list; the caller frees each addr and the array. */
int configless_parse(const char *servers, struct rpc_target **out, size_t *count, struct err *err);
