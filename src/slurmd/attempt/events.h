/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The queue of events that the controller must learn of, in order of occurrence, in memory and in
 * a file. Events are kept until they are acknowledged. The queue survives the end of this process
 * at any moment, but not a crash of the machine, which ends the jobs as well. Event numbers
 * increase for as long as the file exists.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/node.pb-c.h"

#define EVENTS_REPORT_MAX 512 /* events per report */

struct events;

/* Opens or creates the file. A new file numbers from first_seq, which should be higher than every
 * number in a lost file. A damaged end of the file is dropped: notes and exit files have the same
 * information. */
int events_open(const char *path, uint64_t first_seq, struct events **out, struct err *err);
void events_close(struct events *e);

/* Queues a copy and assigns the next number. */
void events_push(struct events *e, const Pb__NodeEvent *event);

/* Writes the events queued since the last call. Events must not be sent before. */
int events_flush(struct events *e, struct err *err);

/* Returns a list of flushed events that were not sent yet, at most EVENTS_REPORT_MAX, for a
 * report, and marks them as sent. The list is valid until the next call. */
size_t events_take_unsent(struct events *e, Pb__NodeEvent ***list);
void events_resend(struct events *e); /* for a new session: marks all events as unsent */

/* The controller has all events up to seq on disk. forget() is called for each event before it is
   removed. */
typedef void events_fn(void *ctx, const Pb__NodeEvent *event);
void events_ack(struct events *e, uint64_t seq, events_fn *forget, void *ctx);
void events_each(const struct events *e, events_fn *fn, void *ctx);
