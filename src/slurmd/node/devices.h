/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The device files of this node's generic resources, as its gres.conf names them. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "proto/io.pb-c.h"
#include "proto/step.pb-c.h"

/* "gpu:a100:4,nic:1": the number of devices of each kind whose files exist. */
void devices_count(const struct conf *c, struct str *out);

/* Fills in for a shepherd the GPUs of this node: the numbers of the job's and of the step's GPUs
 * as programs know them (the digits at the end of the file names), the cores near each GPU of the
 * step, and how tasks are told. Allocated in the arena; borrows from the configuration. */
void devices_fill(const struct conf *c, const char *node, const Pb__Cred *cred, uint32_t node_index,
                  Pb__StepdStart *m, struct arena *arena);

/* The node's devices outside a share, by the device numbers of their files. Files that are no
 * devices are left out, and devices that are also in the share. */
struct devices_number {
    bool block;
    dev_t number;
};
struct devices_denied {
    VEC(struct devices_number) list;
};
void devices_deny(const struct conf *c, Pb__GresAlloc *const *share, size_t count,
                  struct devices_denied *out);
