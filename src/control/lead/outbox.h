/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The queue of outgoing items, in order, each with the record changes that it waits for (DESIGN
 * rule 3).
 *
 * A turn collects changes (in their owner) and items (outbox_add). At its end outbox_turn() binds
 * the turn's items to the changes made so far, in this or earlier turns, and starts a commit unless
 * one is running; changes of further turns then gather in the next batch. An item leaves when its
 * batch is durable, and never before an item that was added earlier. An item without changes leaves
 * at the end of its turn, unless another process may have taken the lead meanwhile (outbox_prove):
 * then every item waits for a commit, possibly of an empty batch, that began after the item was
 * added, and does not leave if the lead was lost.
 *
 * A commit costs the same for one change as for fifty. Changes for which only acknowledgements to
 * nodes wait (such as the end of a job) are therefore deferred if outbox_ops has 'defer': until an
 * item of another kind needs a commit, or until outbox_hurry().
 *
 * Independent of store and sockets: both are behind outbox_ops, which the daemon and the simulator
 * implement. Owner's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum outbox_kind {
    OUTBOX_REPLY,     /* data: a packed reply, or a part with 'more' */
    OUTBOX_ERROR,     /* data: the text */
    OUTBOX_ANSWER,    /* number: an answer of answers.c */
    OUTBOX_ORDERS,    /* data: packed NodeOrders for a node's session */
    OUTBOX_ACK,       /* number: the sequence number */
    OUTBOX_WELCOME,   /* number: the epoch */
    OUTBOX_SCRIPT,    /* number: the job whose script is the reply */
    OUTBOX_UNKNOWN,   /* sessions of nodes that are not configured may close */
    OUTBOX_RUN,       /* data: a packed ScriptRun for the helper */
    OUTBOX_RUN_END,   /* data: a packed ScriptRun to end early */
    OUTBOX_JOB_ENDED, /* data: a line for the job completion store */
    OUTBOX_STOP,      /* all earlier items have left */
};

struct outbox_item {
    struct outbox_item *next;
    uint64_t gate; /* the batch that it waits for */
    enum outbox_kind kind;
    int code;         /* for an error */
    bool more;        /* another part follows */
    uint64_t call;    /* the request that it answers */
    uint64_t session; /* the session that it is for */
    uint64_t number;
    size_t len;
    char data[]; /* followed by a NUL */
};

struct outbox_ops {
    void (*send)(void *ctx, const struct outbox_item *item);
    bool (*changed)(void *ctx); /* whether there are uncommitted changes */
    void (*commit)(void *ctx);  /* commits them, or an empty batch; outbox_durable() follows */
    void (*defer)(void *ctx);   /* calls outbox_hurry() soon; NULL: every commit begins at once */
    void *ctx;
};

struct outbox;
struct outbox *outbox_new(const struct outbox_ops *ops);
void outbox_free(struct outbox *o); /* drops waiting items: they were not promised to anyone */

/* data NULL: zeroes, which the caller fills in. */
struct outbox_item *outbox_item_new(enum outbox_kind kind, const void *data, size_t len);
void outbox_add(struct outbox *o, struct outbox_item *item); /* takes ownership */
void outbox_turn(struct outbox *o);
/* From now on every item needs a commit before it leaves. */
void outbox_prove(struct outbox *o);
/* Forces a commit at the end of this turn, even without changes and items. */
void outbox_check(struct outbox *o);
/* Ends the deferral: changes are committed at the end of this turn. */
void outbox_hurry(struct outbox *o);
void outbox_durable(struct outbox *o); /* the running commit has succeeded */

bool outbox_is_idle(const struct outbox *o); /* no item waits and no commit is running */
