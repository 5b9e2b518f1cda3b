/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a job has of reservations: those that it waits for, and the one in which it runs. */
#pragma once

struct cluster;
struct job;
struct resv;

void resv_unbind(struct job *j); /* it waits for none any more */
/* Its spec names it, or it is drawn by it: it may run there, after those it was bound to before. */
void resv_bind(struct job *j, struct resv *r);
/* Where it runs; NULL: outside. */
void resv_enter(const struct cluster *c, struct job *j, struct resv *r);
void resv_leave(const struct cluster *c, struct job *j);
void resv_count_licenses(const struct cluster *c, struct resv *r); /* anew */
