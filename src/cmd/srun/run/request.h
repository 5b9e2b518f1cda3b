/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gets the step: with a job of its own in one request, or in the job srun runs in. Ends in
 * run->on->step() or run->on->refused(), never from within request_start().
 */
#pragma once

struct run;
struct request;

struct request *request_start(struct run *run);
void request_interrupt(struct request *r); /* Ctrl-C while waiting: gives up, cancels its job */
void request_free(struct request *r);
