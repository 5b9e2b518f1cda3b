/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals to srun. Waiting for resources, most of them give up. Later Ctrl-C says how the tasks
 * are; twice within a second it ends the step, once more and srun ends at once. SIGTERM, SIGHUP and
 * SIGQUIT end the step, what else can be caught goes to the tasks.
 */
#pragma once

struct run;
struct signals;

struct signals *signals_start(struct run *run);
void signals_free(struct signals *s);
