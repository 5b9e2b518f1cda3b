/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The device files of this node's generic resources, as its gres.conf names them. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "proto/step.pb-c.h"

/* "gpu:a100:4,nic:1": how many of each kind there are, those whose file is missing left out. */
void devices_count(const struct conf *c, struct str *out);

/* "0,1": the numbers of the GPUs in a share, as programs know them: those that end their files'
 * names. 'env' gets how tasks are to be told, CONF_GRES_*. */
void devices_gpus(const struct conf *c, Pb__GresAlloc *const *share, size_t count, struct str *out,
                  unsigned *env);
/* Of each of these, in the same order, the cores near to it ("0-3,8"; "" for any); the
 * configuration's texts. Returns how many, at most 'most'. */
size_t devices_gpu_cores(const struct conf *c, Pb__GresAlloc *const *share, size_t count,
                         char **out, size_t most);

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
