/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reservations of a job: those that it waits for, and the one in which it runs. */
#pragma once

struct cluster;
struct job;
struct resv;

void resv_unbind(struct job *j); /* removes all reservations that the job waits for */
/* Adds a reservation behind the job's other reservations: the job's spec names it, or the
 * reservation attracts the job. The job may run there. */
void resv_bind(struct job *j, struct resv *r);
/* Sets the reservation in which the job runs; NULL: none. */
void resv_enter(const struct cluster *c, struct job *j, struct resv *r);
void resv_leave(const struct cluster *c, struct job *j);
void resv_count_licenses(const struct cluster *c, struct resv *r); /* recomputes the count */
