/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the controller must learn: a queue in order of happening, in memory and in a file, kept
 * until acknowledged. It survives the end of this process at any moment; not the end of the
 * machine, which ends the jobs as well. Numbers rise for as long as the file exists.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/node.pb-c.h"

#define EVENTS_REPORT_MAX 512 /* of one report */

struct events;

/* Opens or makes the file; a new one numbers from first_seq, which should be above whatever a lost
 * file held. A damaged end of it is dropped: what it said is found again in notes and
 * exit files. */
int events_open(const char *path, uint64_t first_seq, struct events **out, struct err *err);
void events_close(struct events *e);

/* Queues a copy; gives it the next number. */
void events_push(struct events *e, const Pb__NodeEvent *event);

/* Writes what was queued since; nothing may be sent before. */
int events_flush(struct events *e, struct err *err);

/* The flushed ones that were not sent yet, at most EVENTS_REPORT_MAX, as a list for a report; they
 * count as sent. The list is valid until the next call. */
size_t events_take_unsent(struct events *e, Pb__NodeEvent ***list);
void events_resend(struct events *e); /* a new session: everything is unsent */

/* Everything up to seq is on the controller's disk. forget() sees each before it goes. */
typedef void events_fn(void *ctx, const Pb__NodeEvent *event);
void events_ack(struct events *e, uint64_t seq, events_fn *forget, void *ctx);
void events_each(const struct events *e, events_fn *fn, void *ctx);
