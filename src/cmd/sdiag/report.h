/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The controller's statistics as text and as JSON. */
#pragma once

#include "base/str.h"
#include "cmd/sdiag/options.h"
#include "proto/ctl.pb-c.h"

/* Replaces the numbers and names of RPCs that Slurm has by Slurm's, names users, and puts both
 * lists in order. The reply keeps the memory. */
void report_sort(Pb__DiagReply *reply, enum sdiag_order order);

void report_text(const Pb__DiagReply *reply, struct str *out);
void report_json(const Pb__DiagReply *reply, bool yaml, struct str *out);
