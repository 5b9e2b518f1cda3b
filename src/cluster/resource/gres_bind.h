/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --gres-flags=enforce-binding: a job's CPUs of a node are near its devices there, and each of its
 * devices has some of them near (gres.conf's Cores=).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "cluster/resource/cores.h"
#include "cluster/resource/gres.h"

struct node;

struct gres_bind {
    const struct gres_amount *amounts;
    size_t count;
    struct cores_want want; /* of the node, that go with them; 'only' and 'near' are set here */
};

/* Whether the node has such units and devices; 'idle': were nothing in use. */
bool gres_bind_fits(const struct node *n, const struct gres_bind *b, bool idle);

/* Which they are now: adds units to 'out', and puts the devices of each amount into 'devices',
 * where nothing is for those that lie nowhere. False, and nothing is touched: there are none. The
 * caller frees the sets. */
bool gres_bind_choose(const struct node *n, const struct gres_bind *b, struct bitset *out,
                      struct bitset **devices);
