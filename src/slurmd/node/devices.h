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

/* "gpu:a100:4,nic:1": how many of each kind there are, those whose file is missing left out. */
void devices_count(const struct conf *c, struct str *out);

/* What a shepherd is to know of the GPUs here: the numbers of the job's and of the step's, as
 * programs know them (those that end their files' names), the cores near to each of the step's, and
 * how tasks are to be told. Lives in the arena, and in the configuration. */
void devices_fill(const struct conf *c, const char *node, const Pb__Cred *cred, uint32_t node_index,
                  Pb__StepdStart *m, struct arena *arena);

/* The node's devices that are not in a share, by the numbers of their files; a file that is no
 * device is left out, and so is one that a device of the share is as well. */
struct devices_number {
    bool block;
    dev_t number;
};
struct devices_denied {
    VEC(struct devices_number) list;
};
void devices_deny(const struct conf *c, Pb__GresAlloc *const *share, size_t count,
                  struct devices_denied *out);
