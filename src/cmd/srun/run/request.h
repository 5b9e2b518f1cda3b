/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gets the step: with a job of its own in one request, or in the job in which srun runs. Ends with
 * run->on->step() or run->on->refused(), never from within request_start().
 */
#pragma once

struct run;
struct request;

struct request *request_start(struct run *run);
/* A signal while waiting, or 0: stops waiting and cancels srun's own job. */
void request_interrupt(struct request *r, int signo);
void request_free(struct request *r);
