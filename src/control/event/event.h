/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log of transitions of jobs and nodes (sluice events).
 *
 * An event is a record of its own. It is written in the commit of the change that it describes, and
 * deleted when all consumers have acknowledged it. Without a consumer no event is recorded and no
 * number is assigned. Numbers rise by 1 and are never reused, so that a consumer can continue after
 * any restart and can detect missing events: events beyond EVENT_KEEP_MAX, and events that were not
 * recorded because the state volume was full.
 *
 * A second log is the archive: one row for each ended attempt of a job and each ended step, with
 * all data that accounting stores (event/record.c). Without a consumer up to EVENT_KEEP_UNREAD
 * rows are kept for the first consumer.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/job/transition.h"
#include "proto/event.pb-c.h"

struct control;
struct node;

#define EVENT_KEEP_MAX 250000 /* events; the oldest ones are dropped */
#define EVENT_KEEP_UNREAD 100 /* rows of the archive while it has no consumer */
#define EVENT_KEEP_BYTES (256 << 20)
#define EVENT_CONSUMERS_MAX 64      /* of all users */
#define EVENT_CONSUMERS_RESERVED 16 /* of these, for operators and administrators */
#define EVENT_CONSUMERS_USER 4      /* of a user who is not an operator */
#define EVENT_CALLS_USER 16         /* waiting calls per user */
#define EVENT_NAME_MAX 64           /* bytes of a consumer's name */
/* A consumer is dropped after this time without a request. */
#define EVENT_FORGET_SEC 604800
/* After this time a waiting call is answered without events. */
#define EVENT_WAIT_MS 30000
#define EVENT_REPLY_MAX 1000 /* maximum events in a reply */
#define EVENT_REPLY_BYTES (256 << 10)

/* NodeTransition.from, .to */
#define NODE_IS_DOWN 1u
#define NODE_IS_DRAIN 2u
#define NODE_IS_FAIL 4u
#define NODE_IS_FUTURE 8u

struct event {
    uint64_t number;
    uint32_t uid; /* owner of the job */
    bool of_job;  /* otherwise of a node */
    struct str packed;
};

struct event_consumer {
    uint32_t uid;
    char *name;
    uint64_t acknowledged;
    int64_t seen_mono_ms; /* time of its last request */
};

struct event_call { /* a call that waits for an event */
    uint64_t call, since;
    uint32_t uid;
    bool is_operator, is_admin;
    int64_t until_ms; /* mono */
};

struct event_log {
    uint64_t last;          /* the last assigned number */
    VEC(struct event) kept; /* by rising number */
    size_t bytes;           /* total packed size of 'kept' */
    VEC(struct event_consumer) consumers;
    VEC(struct event_call) calls;
    uint64_t seen_by_calls;       /* 'last' when the waiting calls were last answered */
    bool was_full, was_low_space; /* the condition has been logged */
};

void event_done(struct event_log *log);
int event_restore(struct control *c, uint64_t number, const void *data, size_t len,
                  struct err *err);
int event_restore_row(struct control *c, uint64_t number, const void *data, size_t len,
                      struct err *err);
int event_restore_consumer(struct control *c, const void *data, size_t len, struct err *err);
void event_start(struct control *c);                /* when all records are restored */
void event_node(struct control *c, struct node *n); /* its flags may have changed */
void event_turn(struct control *c);                 /* answers waiting calls */
int64_t event_due_ms(const struct control *c);
bool event_call_gone(struct control *c, uint64_t call); /* false: not a call of this file */

enum event_row { EVENT_ROW_ATTEMPT = 5, EVENT_ROW_STEP = 6 }; /* fields of Event */
/* record: a packed JobRecord or StepRecord. */
void event_keep_row(struct control *c, uint32_t uid, enum event_row row, const struct str *record);

/* Subscribers of transitions: life/transition.def. */
void event_job(struct control *c, const struct transition *t);
