/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RebootProgram: run when the controller says so, and once at a time. */
#pragma once

struct slurmd;

void reboot_run(struct slurmd *d);
