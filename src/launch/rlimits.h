/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The resource limits of this process, to be set on the nodes too.
 */
#pragma once

#include <stddef.h>

#include "conf/conf.h"
#include "proto/common.pb-c.h"

#define RLIMITS_MAX 10

struct rlimits {
    struct Pb__Rlimit *list[RLIMITS_MAX]; /* of items: not to be copied */
    struct Pb__Rlimit items[RLIMITS_MAX];
    size_t count;
};

/* Those that --propagate names; without it (NULL) those of the configuration. */
void rlimits_init(struct rlimits *l, const char *given, const struct conf *conf);
