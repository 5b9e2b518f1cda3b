/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Another configuration takes the place of the old one. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* The packed NodeRecord of a node that is not configured now: it has it again when it is. */
void reconfig_keep_gone(struct cluster *c, const void *data, size_t len);
/* The new configuration takes the place of the old one, which node daemons do not read. */
void reconfig_swap(struct control *c, struct conf *conf);
/* Whether the job (of the old cluster) holds a node that the next one does not have; 'host': its
 * job_host(), too. */
bool reconfig_lost_node(const struct cluster *old, const struct cluster *next, uint32_t job_id,
                        bool *host);
/* Lines on hidden features and on jobs that are touched. c->cluster and c->conf are new. */
void reconfig_report(struct control *c, struct cluster *old, struct str *out);
