/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This process from its beginning, with a clean slate. Returns only when that fails. At
 * the start reexec_begun() tells whether it is such a beginning, in o->is_reexec, o->waits and
 * o->yielded. */
#pragma once

#include "slurmctld/core/ctld.h"

enum reexec { REEXEC_CLAIMS, REEXEC_WAITS, REEXEC_YIELDED }; /* it led, and waits now */
void reexec_start(const struct ctld_options *o, const char *conf_path, enum reexec how);
void reexec_begun(struct ctld_options *o);
