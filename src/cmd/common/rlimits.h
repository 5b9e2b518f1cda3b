/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The resource limits of this process, to be set on the nodes too.
 */
#pragma once

#include <stddef.h>

#include "proto/common.pb-c.h"

#define RLIMITS_MAX 10

struct rlimits {
    struct Pb__Rlimit *list[RLIMITS_MAX]; /* of items: not to be copied */
    struct Pb__Rlimit items[RLIMITS_MAX];
    size_t count;
};

/* Those that the list of --propagate names; NULL: all. */
void rlimits_init(struct rlimits *l, const char *propagate);
