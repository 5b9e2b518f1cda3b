/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What waits to leave, in order, and the record changes it waits for (DESIGN rule 3).
 *
 * A turn collects changes (their owner does) and items (outbox_add). At its end outbox_turn() binds
 * the turn's items to the changes made up to now, this turn's or an earlier one's, and starts a
 * commit unless one is under way; then the changes of further turns gather in the next batch. An
 * item leaves when its batch is durable, never before an item that was added before it. With
 * nothing to make durable it leaves at the end of its turn, unless another process may have taken
 * the lead meanwhile (outbox_prove): then every item waits for a commit that began after it was
 * added, of an empty batch if need be, and does not leave when the lead was lost.
 *
 * A commit costs the same for one change as for fifty. Changes for which only acknowledgements to
 * nodes wait (a job ended, say) are therefore deferred where outbox_ops has 'defer': until an item
 * of another kind needs a commit, or until outbox_hurry().
 *
 * Knows neither store nor sockets: both are behind outbox_ops, which the daemon and the simulator
 * have of their own. Owner's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum outbox_kind {
    OUTBOX_REPLY,     /* data: a packed reply, or a part with 'more' */
    OUTBOX_ERROR,     /* data: the text */
    OUTBOX_ANSWER,    /* number: one of answers.c */
    OUTBOX_ORDERS,    /* data: packed NodeOrders for a node's session */
    OUTBOX_ACK,       /* number: the sequence number */
    OUTBOX_WELCOME,   /* number: the epoch */
    OUTBOX_SCRIPT,    /* number: the job whose script answers the call */
    OUTBOX_UNKNOWN,   /* sessions of nodes that the configuration does not have may close */
    OUTBOX_RUN,       /* data: a packed ScriptRun for the helper */
    OUTBOX_RUN_END,   /* data: a packed ScriptRun that is to end early */
    OUTBOX_JOB_ENDED, /* data: a line for the job completion store */
    OUTBOX_STOP,      /* what was added before it has left */
};

struct outbox_item {
    struct outbox_item *next;
    uint64_t gate; /* the batch it waits for */
    enum outbox_kind kind;
    int code;         /* of an error */
    bool more;        /* another part follows */
    uint64_t call;    /* which request it answers */
    uint64_t session; /* which session it is for */
    uint64_t number;
    size_t len;
    char data[]; /* with a NUL behind it */
};

struct outbox_ops {
    void (*send)(void *ctx, const struct outbox_item *item);
    bool (*changed)(void *ctx); /* there are changes that no commit has taken */
    void (*commit)(void *ctx);  /* takes them, or none; outbox_durable() follows */
    void (*defer)(void *ctx);   /* calls outbox_hurry() soon; NULL: every commit begins at once */
    void *ctx;
};

struct outbox;
struct outbox *outbox_new(const struct outbox_ops *ops);
void outbox_free(struct outbox *o); /* what waits is dropped: it was not promised to anybody */

/* data NULL: zeroes, to be filled in by the caller. */
struct outbox_item *outbox_item_new(enum outbox_kind kind, const void *data, size_t len);
void outbox_add(struct outbox *o, struct outbox_item *item); /* takes it */
void outbox_turn(struct outbox *o);
/* From now on nothing leaves without the proof of a commit. */
void outbox_prove(struct outbox *o);
/* At the end of this turn there is a commit, with or without changes and items. */
void outbox_check(struct outbox *o);
/* Changes are deferred no longer: they are committed at the end of this turn. */
void outbox_hurry(struct outbox *o);
void outbox_durable(struct outbox *o); /* the commit under way has ended well */

bool outbox_is_idle(const struct outbox *o); /* nothing waits, nothing is under way */
