/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replacement of the configuration. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* Keeps the packed NodeRecord of a node that is not configured now, for its return. */
void reconfig_keep_gone(struct cluster *c, const void *data, size_t len);
/* Replaces the configuration. Node daemons do not read the old one. */
void reconfig_swap(struct control *c, struct conf *conf);
/* Whether the job of the old cluster holds a node that the next cluster lacks; 'host': whether its
 * job_host() is such a node. */
bool reconfig_lost_node(const struct cluster *old, const struct cluster *next, uint32_t job_id,
                        bool *host);
/* Reports hidden features and affected jobs. c->cluster and c->conf are new. */
void reconfig_report(struct control *c, struct cluster *old, struct str *out);
