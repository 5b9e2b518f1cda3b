/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advance reservations: nodes, or some cores or generic resources of nodes, that are kept from a
 * time on and for so long for the jobs that may use them. They belong to the cluster; nodes are
 * those of its configuration, and the names of others are kept for when they come back. No clock:
 * whoever asks gives the time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "proto/resv.pb-c.h"

struct cluster;
struct job;

#define RESV_NEVER INT64_MAX /* as an end: it has none */
#define RESV_PURGE_SEC 300   /* PURGE_COMP without a time */

enum resv_flag {
#define RESV_FLAG(id, bit, shown, other, changeable) RESV_##id = 1u << (bit),
#include "cluster/resv/resv_flag.def"
#undef RESV_FLAG
};
#define RESV_REPEATS (RESV_HOURLY | RESV_DAILY | RESV_WEEKDAY | RESV_WEEKEND | RESV_WEEKLY)
#define RESV_FIRST (RESV_MAINT | RESV_OVERLAP) /* over others that have the same nodes */

enum resv_hook { RESV_HOOK_PROLOG = 1, RESV_HOOK_EPILOG = 2 };

struct resv_license {
    int32_t at; /* in cluster.licenses */
    uint32_t count;
    uint64_t used; /* by its jobs; may be more */
};

struct resv_gres { /* of a node */
    size_t at;     /* the node, in the order of node_names */
    char *name, *type;
    uint64_t count;
};

struct resv {
    char *name;
    uint32_t number; /* of its creation */
    uint32_t flags;
    int64_t start_at, end_at; /* wall seconds, of the occurrence that is or comes next */
    int64_t float_sec;        /* TIME_FLOAT: it begins so long from now, always, */
    int64_t float_length_sec; /* and is so long; 0: to end_at */
    int64_t purge_sec, delay_sec, idle_at;
    char *node_names;     /* all of them, also those not configured now */
    struct bitset *nodes; /* of these, those that are configured */
    /* Of nodes that it has in parts, see resv_in_parts(): */
    uint32_t *units;                 /* by node: how many it keeps; NULL: none */
    VEC(uint32_t) cores;             /* the same in cores, in the order of the nodes; empty: none */
    uint64_t *gres;                  /* by node, then by kind of generic resource; NULL: none */
    uint64_t gres_mask;              /* kinds that have the name of one that it keeps */
    VEC(struct resv_gres) node_gres; /* the same by name, in the order of the nodes */
    uint32_t node_count;             /* wanted */
    char *core_count;                /* wanted in all, as given; NULL: none */
    uint32_t cores_per_node;         /* wanted of each node; 0: none */
    char *gres_total, *gres_per_node; /* wanted, as requests of jobs write them; NULL: none */
    char *part, *features, *users, *accounts, *groups, *licenses, *allowed_parts; /* NULL: none */
    VEC(struct resv_license) stock; /* of 'licenses', those configured */
    const struct time_zone *zone;   /* in which it repeats; borrowed; NULL: UTC */
    uint32_t pending, running;      /* jobs that are bound to it */
    uint64_t refill_stamp; /* pool.freed, when nodes were last looked for to replace some */
    bool active;           /* as what follows from it knows: see control/life/resv.c */
    int64_t begun_at;      /* the start_at of the occurrence that began last; 0: none */
    uint32_t hooks_due;    /* of enum resv_hook: programs that run, or are to be run again */
    struct str newer;      /* of its record, what only a newer version knows */
};

/* --- flags ------------------------------------------------------------------------------------ */

/* What may become of a flag by an update. */
enum resv_change {
    RESV_CHANGE_ALWAYS,
    RESV_CHANGE_ADDED,
    RESV_CHANGE_AT_CREATION,
    RESV_CHANGE_NEVER
};

/* "MAINT,PURGE_COMP=10": -ERR_PARSE names the word. purge_sec is touched only when a time is given,
 * or PURGE_COMP without one. */
int resv_parse_flags(const char *list, uint32_t *flags, int64_t *purge_sec, struct err *err);
void resv_format_flags(const struct resv *r, struct str *out);
/* Whether these flags may be set (added), or taken away, by an update; -ERR_CANNOT_UPDATE. */
int resv_check_change(uint32_t flags, bool added, struct err *err);

/* --- time ------------------------------------------------------------------------------------- */

struct resv_time {
    int64_t begin, end;
};

/* Its first occurrence that ends after 'at'. False: there is none. */
bool resv_occurs(const struct resv *r, int64_t at, struct resv_time *out);
/* Whether it takes something of the time from 'from' to 'until'. */
bool resv_overlaps(const struct resv *r, int64_t from, int64_t until);
/* Whether it is at the time 'at', as it is foreseen at 'from'. */
bool resv_is_at(const struct resv *r, int64_t from, int64_t at);
/* The next occurrence takes the place of one that is over. False: it was the last one. */
bool resv_advance(struct resv *r, int64_t now);
int64_t resv_period(const struct resv *r); /* RESV_NEVER: it does not repeat */
static inline bool resv_is_now(const struct resv *r, int64_t now)
{
    return !(r->flags & RESV_TIME_FLOAT) && r->start_at <= now && now < r->end_at;
}

/* --- those there are -------------------------------------------------------------------------- */

struct resv *resv_find(const struct cluster *c, const char *name);
struct resv *resv_new(const char *name);
void resv_free(struct resv *r); /* of one that is not the cluster's */
void resv_add(struct cluster *c, struct resv *r);
/* It is not the cluster's any more, but the caller's; jobs are still bound to it. */
void resv_take(struct cluster *c, struct resv *r);

/* Finds the nodes of node_names, how much of them, and its licences. */
void resv_resolve(const struct cluster *c, struct resv *r);
/* All nodes of its partition, with PART_NODES. True: there are others than before; what it keeps of
 * those that stay is the same, and of new ones it keeps cores, and generic resources only after
 * resv_pick_added(). */
bool resv_follow_part(const struct cluster *c, struct resv *r);
void resv_set_nodes(const struct cluster *c, struct resv *r, const struct bitset *nodes);
/* Whether it takes some cores or generic resources of its nodes, and not the whole nodes. */
static inline bool resv_in_parts(const struct resv *r)
{
    return r->units || r->gres;
}
/* What it keeps of generic resources is to be dealt out anew. */
void resv_clear_gres(struct resv *r);
/* Keeps 'count' of the kind on its node number 'at', from 0. */
void resv_keep_gres(const struct cluster *c, struct resv *r, size_t at, uint32_t kind,
                    uint64_t count);
uint64_t resv_wanted_cores(const struct resv *r); /* all numbers of core_count */
/* Cores, and CPUs, that it takes. */
void resv_count(const struct cluster *c, const struct resv *r, uint32_t *cores, uint32_t *cpus);
/* "cpu=2,gres/gpu:a=4": what it keeps of its nodes together; nothing for whole nodes. */
void resv_format_kept(const struct cluster *c, const struct resv *r, struct str *out);
/* Names of those of its nodes that are configured: "n[1-2]". */
void resv_format_nodes(const struct cluster *c, const struct resv *r, struct str *out);

void resv_pack(const struct resv *r, struct str *out); /* the stored ResvRecord */
/* As listings show it. */
void resv_pack_shown(const struct cluster *c, const struct resv *r, int64_t now, struct str *out);
struct resv *resv_restore(const struct cluster *c, const Pb__ResvRecord *m, struct err *err);
