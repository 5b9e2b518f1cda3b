/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the configuration again. */
#pragma once

#include "slurmctld/core/ctld.h"

/* Call 0: by a signal, without a caller. */
void reload_start(struct ctld *c, uint64_t call, bool preview);
