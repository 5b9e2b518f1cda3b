/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dependencies of a job (--dependency): the text, its items, and the state of each item. Pure:
 * it does not know the cluster. The state of an item is kept in the dependent job, because the job
 * that the item names may be purged before. Counts over the items give the state of the whole, so
 * that a change of one item costs the same with a thousand items as with one.
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

#define DEPEND_WHOLE UINT32_MAX /* the element of an item that names a whole job */
/* Aftercorr: each element depends on the element with its own number. */
#define DEPEND_CORR (UINT32_MAX - 2)
#define DEPEND_ITEMS_MAX 10000 /* maximum items of one job in a stored record */

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

enum depend_state { /* of an item, and of all items together */
                    DEPEND_UNFULFILLED,
                    DEPEND_FULFILLED,
                    DEPEND_FAILED /* can never be fulfilled */
};

struct depend_sets { /* the elements of a group record for which the item is fulfilled, or has
                        failed */
    struct idset good, bad;
};

struct depend_item {
    struct order_link link; /* depend_index.h: in the order of the jobs that items name */
    uint32_t job_id, element, delay_min;
    uint8_t kind, state; /* enum depend_kind, enum depend_state */
    bool owed;           /* the item is decided but not yet written; the link is in 'owed' */
    bool of_array : 1;   /* the named job is a job array, and is displayed as one */
    /* The request named component 'offset' of the job set 'job_id'; depend_format_request() writes
     * the component's own job id. */
    bool has_offset : 1;
    uint8_t offset;
    /* Each element depends on the element with its number (depend_corr.h): 'element' in a record
     * with one element, 'sets' in a group record. */
    bool corr : 1;
    struct depend_sets *sets; /* NULL unless corr */
    int64_t from_at; /* AFTER with a delay: start of the delay, wall seconds; 0: not started */
};

struct depend {
    VEC(struct depend_item) items; /* items do not move in memory */
    bool any;                      /* one fulfilled item suffices ("?") */

    /* Counts of the items that apply to the whole record, by depend_count(). */
    uint32_t by_state[3]; /* by enum depend_state, without singletons */
    uint32_t singletons;
    uint32_t delayed;            /* fulfilled items with a delay, */
    int64_t first_due, last_due; /* and the first and the last end of these delays; 0: none */

    /* An item differs between elements; 'ready' and 'failed' are then the elements, out of 'of',
     * for which such items are fulfilled or have failed. */
    bool parted;
    uint32_t of;
    struct idset ready, failed;
};

static inline bool depend_is_parted(const struct depend_item *item)
{
    return item->corr && item->element == DEPEND_WHOLE;
}

struct depend_outcome { /* the facts about a job that decide the items of its dependents */
    uint32_t job_id;
    bool of_element; /* it stands for one element of an array */
    uint32_t element;
    /* Begun: it has started, or ended before a start; over: it has ended and its nodes are
     * clean. */
    bool begun, over;
    enum _Pb__JobState state;
    int64_t begun_at; /* wall seconds */
};

/* Parses "afterok:12:13_4:20+1:15_2+1,after:14+10?..." with up to 'most' items (at most
 * DEPEND_ITEMS_MAX); an empty text has none. A number behind "+" is a delay in minutes for "after",
 * otherwise a component of a job set. -ERR_DEPENDENCY describes the error. 'out' is always
 * initialized. */
int depend_parse(const char *text, size_t most, struct depend *out, struct err *err);
void depend_done(struct depend *d);
void depend_free(struct depend *d); /* 'd' was allocated, or is NULL */
/* Keeps the first of equal items of a parsed text; false: no two are equal. */
bool depend_drop_repeats(struct depend *d);
/* Updates the counts after items were changed without depend_apply(). */
void depend_count(struct depend *d);
/* Turns the item into an aftercorr between arrays. */
void depend_set_corr(struct depend_item *item);

/* Decides the item if the outcome determines its state. Returns true if its state or its time has
 * changed. */
bool depend_apply(struct depend *d, struct depend_item *item, const struct depend_outcome *o);
/* Whether a purged job fulfils the item: its kind requires only that the job has begun or ended. An
 * unknown job has been purged and so has ended. */
bool depend_is_met_by_unknown(const struct depend_item *item);
/* Decides an item whose job, and so the job's final state, is unknown. */
void depend_apply_unknown(struct depend *d, struct depend_item *item);
/* Returns the state of the item at that time; a delay may not have expired. */
enum depend_state depend_item_at(const struct depend_item *item, int64_t now_sec);
/* Returns the state of all items together. 'alone': no other job of the same name and user blocks a
 * singleton. */
enum depend_state depend_at(const struct depend *d, int64_t now_sec, bool alone);
/* Whether some elements of the record could start although the whole is unfulfilled. */
bool depend_is_partly_met(const struct depend *d, int64_t now_sec, bool alone);
/* Returns the end of the delay that can decide the whole: the first one if any item suffices,
 * otherwise the last one. 0: no delay is running. */
int64_t depend_next_at(const struct depend *d, int64_t now_sec);
static inline bool depend_is_singleton(const struct depend *d)
{
    return d->singletons > 0;
}
/* Whether items can become unfulfilled again: by a job of the same name, or because the job to
 * expand has ended. */
bool depend_may_wait_again(const struct depend *d);

/* Writes the remaining items: "afterok:12(unfulfilled),after:13+5(unfulfilled)"; all items if the
 * whole can never be fulfilled; nothing if none remain. A component is written with its offset,
 * "afterok:20+1", while the cluster has its record; with 'c' NULL by its own job id. */
void depend_format(const struct cluster *c, const struct depend *d, int64_t now_sec, bool alone,
                   struct str *out);

/* Appends the whole request for depend_parse(), with job ids only. */
void depend_format_request(const struct depend *d, struct str *out);

/* Packs one letter per item for the stored record: u f x, or c for an unfulfilled 'corr' item; and
 * unpacks them. A text of another length returns false. */
void depend_pack(const struct depend *d, struct str *out);
bool depend_unpack(struct depend *d, const char *states);
