/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals to srun. While srun waits for resources, most signals make it give up. Later Ctrl-C
 * prints the states of the tasks; a second one within a second ends the step; a third one ends srun
 * at once. SIGTERM, SIGHUP and SIGQUIT end the step; other signals that can be caught are forwarded
 * to the tasks.
 */
#pragma once

struct run;
struct signals;

struct signals *signals_start(struct run *run);
void signals_free(struct signals *s);
