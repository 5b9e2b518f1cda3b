/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --gres-flags=enforce-binding: the CPUs that a job gets on a node are near its devices there, and
 * each of the devices has some of these CPUs near it (Cores= of gres.conf).
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
    /* Units of the node to choose with the devices, of 'only'; gres_bind sets 'near'. */
    struct cores_want want;
};

/* Whether the node has such units and devices free; 'idle': assume that nothing is in use. */
bool gres_bind_fits(const struct node *n, const struct gres_bind *b, bool idle);

/* Chooses free units and devices: adds the units to 'out' and puts the devices of each amount into
 * 'devices' (NULL for devices without a location). False: no choice fits, and nothing is changed.
 * The caller frees the sets. */
bool gres_bind_choose(const struct node *n, const struct gres_bind *b, struct bitset *out,
                      struct bitset **devices);
