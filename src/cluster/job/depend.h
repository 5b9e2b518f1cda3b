/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a job waits for of other jobs (--dependency): the text, its items, and what became of each.
 * Pure: knows no cluster. What an item has come to is kept with the job that waits, since the job
 * it names may be purged before. What all of them come to follows from counts that each item keeps,
 * so that one that changes costs the same among a thousand as alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/idset.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/index/order.h"
#include "proto/job.pb-c.h"

#define DEPEND_WHOLE UINT32_MAX      /* the element of an item that names a whole job */
#define DEPEND_CORR (UINT32_MAX - 2) /* the one of its own number, of each element */
#define DEPEND_ITEMS_MAX 10000       /* of one job, in a stored record */

struct cluster;

enum depend_kind {
    DEPEND_AFTER,
    DEPEND_AFTERANY,
    DEPEND_AFTERBURSTBUFFER,
    DEPEND_AFTERCORR,
    DEPEND_AFTERNOTOK,
    DEPEND_AFTEROK,
    DEPEND_EXPAND,
    DEPEND_SINGLETON
};

enum depend_state { /* of an item, and of all of them */
                    DEPEND_UNFULFILLED,
                    DEPEND_FULFILLED,
                    DEPEND_FAILED /* it never will be */
};

struct depend_sets { /* of a record of several elements: those of them */
    struct idset good, bad;
};

struct depend_item {
    struct order_link link; /* depend_index.h: by the job that it names */
    uint32_t job_id, element, delay_min;
    uint8_t kind, state; /* enum depend_kind, enum depend_state */
    bool owed;           /* the link is among those that are decided and not yet written */
    bool of_array : 1;   /* the job is a job array, and shown as such */
    bool has_offset : 1; /* as it was asked for: 'offset' of the job set 'job_id';
                          * depend_format_request() has the component's own id */
    uint8_t offset;
    bool corr : 1;            /* each element waits for the one of its number (depend_corr.h):
                               * 'element' of a record of one, 'sets' of one of several */
    struct depend_sets *sets; /* NULL unless corr */
    int64_t from_at;          /* AFTER with a delay: wall seconds it counts from; 0: not yet */
};

struct depend {
    VEC(struct depend_item) items; /* they stay where they are */
    bool any;                      /* one of them is enough */

    /* Counts of the items that are so of the whole record: depend_count() */
    uint32_t by_state[3]; /* by enum depend_state, without singletons */
    uint32_t singletons;
    uint32_t delayed;            /* of those that are fulfilled: by a delay's end, */
    int64_t first_due, last_due; /* the first and the last of which are then; 0: none */

    bool parted; /* an item is not: of so many elements these are met, or failed, by such items */
    uint32_t of;
    struct idset ready, failed;
};

static inline bool depend_is_parted(const struct depend_item *item)
{
    return item->corr && item->element == DEPEND_WHOLE;
}

struct depend_outcome { /* of a job that others may wait for */
    uint32_t job_id;
    bool of_element; /* of an array: this one of it */
    uint32_t element;
    bool begun, over; /* it has started, or was ended before; it is over, and its nodes are clean */
    enum _Pb__JobState state;
    int64_t begun_at; /* wall seconds */
};

/* "afterok:12:13_4:20+1:15_2+1,after:14+10?..." of 'most' items (up to DEPEND_ITEMS_MAX); an empty
 * text: none. What follows "+" are minutes behind "after", and else a component of a job set.
 * -ERR_DEPENDENCY names what is wrong. 'out' is initialized in any case. */
int depend_parse(const char *text, size_t most, struct depend *out, struct err *err);
void depend_done(struct depend *d);
void depend_free(struct depend *d);  /* NULL is fine; d was allocated */
void depend_count(struct depend *d); /* its counts, after a change of items beside depend_apply() */
/* aftercorr between arrays, from now on. */
void depend_set_corr(struct depend_item *item);

/* Whether the outcome decides the item, which it then does. True: its state or its time has
 * changed. */
bool depend_apply(struct depend *d, struct depend_item *item, const struct depend_outcome *o);
/* These kinds need only a begin or an end. A job that is unknown has been purged, and so has ended.
 */
bool depend_is_met_by_unknown(const struct depend_item *item);
/* The job an item names is unknown, and so is how it ended. */
void depend_apply_unknown(struct depend *d, struct depend_item *item);
/* Of an item at that time: a delay may not be over. */
enum depend_state depend_item_at(const struct depend_item *item, int64_t now_sec);
/* Of all of them. 'alone': no other job of its name and user is in the way of a singleton. */
enum depend_state depend_at(const struct depend *d, int64_t now_sec, bool alone);
/* Of one that is unfulfilled: some elements of the record could start. */
bool depend_is_partly_met(const struct depend *d, int64_t now_sec, bool alone);
/* When the delay is over that can decide it: the first one where any item does, or else the last.
 * 0: none runs. */
int64_t depend_next_at(const struct depend *d, int64_t now_sec);
static inline bool depend_is_singleton(const struct depend *d)
{
    return d->singletons > 0;
}
/* Items may be met and not so later: by a job of its name, or because what it expands has ended. */
bool depend_may_wait_again(const struct depend *d);

/* What is left of it: "afterok:12(unfulfilled),after:13+5(unfulfilled)"; all of it when it can
 * never be met. Nothing is left: nothing is put. A component has its offset, "afterok:20+1", while
 * the cluster has its record; 'c' NULL: its own job id. */
void depend_format(const struct cluster *c, const struct depend *d, int64_t now_sec, bool alone,
                   struct str *out);

/* The whole request, for depend_parse(): by job ids alone. Appends. */
void depend_format_request(const struct depend *d, struct str *out);

/* A letter an item, for its record: u f x, c of one that is 'corr' and unfulfilled; and back. A
 * text of another length: false. */
void depend_pack(const struct depend *d, struct str *out);
bool depend_unpack(struct depend *d, const char *states);
