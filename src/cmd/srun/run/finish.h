/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report to the controller that the step, or the job with it, is over; and its word when the
 * job has ended otherwise.
 */
#pragma once

struct run;
struct finish;

/* Asks to be told when the job ends, from a second after the launch on. */
struct finish *finish_watch(struct run *run);

/* Reports once; run->on->reported() follows when the controller has confirmed it or does not answer
 * within FINISH_TRY_MS: then the nodes' own reports must do. */
void finish_report(struct finish *f, int wait_status);
void finish_free(struct finish *f);

#define FINISH_TRY_MS 5000
