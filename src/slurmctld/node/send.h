/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of slurmctld: messages that may leave, and payloads (scripts with their environments) that
 * some of them need from the store. send.c sends an item at once when it needs nothing from there.
 * send_queue.c keeps one that does, and all later items for the same session, in their order, until
 * a worker has read the records. Items for other sessions and answers do not wait for them.
 *
 * What is kept is bounded: of records, CTLD_ORDERS_MESSAGE bytes and one record at a time; of
 * messages, SEND_QUEUE_MOST bytes. Beyond that a launch is left out, as when its script cannot be
 * read (control/ repeats it while it is unconfirmed), and a question for a script is refused. The
 * loop's thread.
 */
#pragma once

#include "slurmctld/core/ctld.h"

#define SEND_QUEUE_MOST (16u << 20)
#define SEND_READS_MOST 256 /* records of one turn of the worker */

struct send_reads { /* what the worker has read */
    struct store_read *reads;
    size_t count;
};

/* Whose payload it needs. */
uint64_t send_payload_number(const Pb__LaunchBatch *launch);

/* 0: it has left, or is dropped. Positive: a payload must be read first; *sent counts those of its
 * orders that have left, and will not again. reads NULL: nothing has been read. */
int send_try(struct ctld *c, const struct outbox_item *item, const struct send_reads *reads,
             size_t *sent);

/* From the outbox: an item that may leave. */
void send_item(void *ctx, const struct outbox_item *item);

/* Items that wait. Of one that must not overtake others, send_queue_holds() is true. */
struct send_queues *send_queues_new(void);
void send_queues_free(struct send_queues *s);
bool send_queue_holds(const struct ctld *c, const struct outbox_item *item);
void send_queue_add(struct ctld *c, const struct outbox_item *item, size_t sent);
/* After the outbox has released items: a worker reads what those that wait need. */
void send_queue_read(struct ctld *c);
