/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report to the controller that the step, or the job with it, is over; and the controller's
 * message if the job has ended for another reason.
 */
#pragma once

struct run;
struct finish;

/* Subscribes to the job's end, one second after the launch. */
struct finish *finish_watch(struct run *run);

/* Reports once. run->on->reported() follows when the controller has confirmed the report or has not
 * answered within FINISH_TRY_MS: the nodes report the end too. */
void finish_report(struct finish *f, int wait_status);
void finish_free(struct finish *f);

#define FINISH_TRY_MS 5000
