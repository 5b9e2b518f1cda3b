/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executes this program again in this process, to start with clean state. Returns only on failure.
 * At start, reexec_begun() tells in o->is_reexec, o->waits and o->yielded whether the process was
 * started in this way. */
#pragma once

#include "slurmctld/core/ctld.h"

/* WAITS: it led before, and must not claim the lead */
enum reexec { REEXEC_CLAIMS, REEXEC_WAITS, REEXEC_YIELDED };
void reexec_start(const struct ctld_options *o, const char *conf_path, enum reexec how);
void reexec_begun(struct ctld_options *o);
