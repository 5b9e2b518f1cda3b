/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration is read again. */
#pragma once

#include "slurmctld/core/ctld.h"

/* Call 0: by signal, there is nobody to answer. */
void reload_start(struct ctld *c, uint64_t call, bool preview);
