/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log of transitions of jobs and nodes (sluice events).
 *
 * An event is a record of its own, put in the commit of what it tells of, and is deleted when all
 * consumers have acknowledged it. Without a consumer nothing is recorded, and no number is given.
 * Numbers rise by 1 and are never given twice, so that a consumer goes on where it was whatever
 * restarts meanwhile, and sees when events are missing: those beyond EVENT_KEEP_MAX, and those that
 * were not recorded because the state volume was full.
 *
 * A second log has the archive: a row for each attempt of a job and for each step that has ended,
 * with all that accounting stores (event/archive.c). Rows are kept without a consumer, too, but no
 * more than EVENT_KEEP_UNREAD of them: the first consumer gets these.
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
#define EVENT_CONSUMERS_MAX 64  /* of all users */
#define EVENT_CONSUMERS_USER 4  /* of one who is no operator */
#define EVENT_CALLS_USER 16     /* waiting calls of a user */
#define EVENT_NAME_MAX 64       /* bytes of a consumer's name */
#define EVENT_FORGET_SEC 604800 /* a consumer that is silent for so long is forgotten */
#define EVENT_WAIT_MS 30000     /* a waiting call is answered after so long, with no event */
#define EVENT_REPLY_MAX 1000    /* events in an answer, and */
#define EVENT_REPLY_BYTES (256 << 10)

/* NodeTransition.from, .to */
#define NODE_IS_DOWN 1u
#define NODE_IS_DRAIN 2u
#define NODE_IS_FAIL 4u
#define NODE_IS_FUTURE 8u

struct event {
    uint64_t number;
    uint32_t uid; /* whose job */
    bool of_job;  /* else of a node */
    struct str packed;
};

struct event_consumer {
    uint32_t uid;
    char *name;
    uint64_t acknowledged;
    int64_t seen_mono_ms; /* its last request */
};

struct event_call { /* waits for an event */
    uint64_t call, since;
    uint32_t uid;
    bool is_operator, is_admin;
    int64_t until_ms; /* mono */
};

struct event_log {
    uint64_t last;          /* the last number that was given */
    VEC(struct event) kept; /* by rising number */
    size_t bytes;           /* of these, packed */
    VEC(struct event_consumer) consumers;
    VEC(struct event_call) calls;
    uint64_t seen_by_calls;       /* the last number when the calls were last looked at */
    bool was_full, was_low_space; /* it was logged */
};

void event_done(struct event_log *log);
int event_restore(struct control *c, uint64_t number, const void *data, size_t len,
                  struct err *err);
int event_restore_row(struct control *c, uint64_t number, const void *data, size_t len,
                      struct err *err);
int event_restore_consumer(struct control *c, const void *data, size_t len, struct err *err);
void event_start(struct control *c);                /* all records are restored */
void event_node(struct control *c, struct node *n); /* its flags may have changed */
void event_turn(struct control *c);                 /* answers the calls that wait */
int64_t event_due_ms(const struct control *c);
bool event_call_gone(struct control *c, uint64_t call); /* false: it is no call of ours */

enum event_row { EVENT_ROW_ATTEMPT = 5, EVENT_ROW_STEP = 6 }; /* fields of Event */
/* record: a packed JobRecord or StepRecord. */
void event_keep_row(struct control *c, uint32_t uid, enum event_row row, const struct str *record);

/* Subscribers of transitions: life/transition.def. */
void event_job(struct control *c, const struct transition *t);
