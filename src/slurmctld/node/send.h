/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to slurmctld: sends messages that may leave, with payloads (scripts and environments)
 * from the store. send.c sends an item at once if it needs nothing from the store. send_queue.c
 * holds an item that does, and all later items of the same session in order, until a worker has
 * read the records. Items of other sessions and replies do not wait.
 *
 * Memory is limited: for records, to CTLD_ORDERS_MESSAGE bytes plus one record; for messages, to
 * SEND_QUEUE_MOST bytes. Beyond that a launch is dropped, as if its script were unreadable
 * (control/ repeats an unconfirmed launch), and a request for a script is refused. Runs on the
 * loop's thread.
 */
#pragma once

#include "slurmctld/core/ctld.h"

#define SEND_QUEUE_MOST (16u << 20)
#define SEND_READS_MOST 256 /* records per turn of the worker */

struct send_reads { /* the records that the worker has read */
    struct store_read *reads;
    size_t count;
};

/* Returns the number of the payload that the launch needs. */
uint64_t send_payload_number(const Pb__LaunchBatch *launch);

/* Tries to send an item. Returns 0: sent or dropped. Positive: a payload must be read first; *sent
 * counts its orders that were sent and must not be sent again. reads NULL: nothing has been read.
 */
int send_try(struct ctld *c, const struct outbox_item *item, const struct send_reads *reads,
             size_t *sent);

/* Called by the outbox for an item that may leave. */
void send_item(void *ctx, const struct outbox_item *item);

/* Waiting items. send_queue_holds() is true for an item that must not overtake others. */
struct send_queues *send_queues_new(void);
void send_queues_free(struct send_queues *s);
bool send_queue_holds(const struct ctld *c, const struct outbox_item *item);
void send_queue_add(struct ctld *c, const struct outbox_item *item, size_t sent);
/* After the outbox has released items: lets a worker read the records that waiting items need. */
void send_queue_read(struct ctld *c);
