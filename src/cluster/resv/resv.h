/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Advance reservations: nodes, or cores or generic resources of nodes, that are reserved for
 * certain jobs for a time. The cluster owns them. Their nodes are nodes of the configuration; names
 * of nodes that are not configured are kept in case they return. The functions take the time as an
 * argument.
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

#define RESV_NEVER INT64_MAX /* end of a reservation without an end */
#define RESV_PURGE_SEC 300   /* PURGE_COMP without a time */

enum resv_flag {
#define RESV_FLAG(id, bit, shown, other, changeable) RESV_##id = 1u << (bit),
#include "cluster/resv/resv_flag.def"
#undef RESV_FLAG
};
#define RESV_REPEATS (RESV_HOURLY | RESV_DAILY | RESV_WEEKDAY | RESV_WEEKEND | RESV_WEEKLY)
/* May overlap other reservations of the same nodes. */
#define RESV_FIRST (RESV_MAINT | RESV_OVERLAP)

enum resv_hook { RESV_HOOK_PROLOG = 1, RESV_HOOK_EPILOG = 2 };

struct resv_license {
    int32_t at; /* index into cluster.licenses */
    uint32_t count;
    uint64_t used; /* by jobs of the reservation; may exceed 'count' */
};

struct resv_gres { /* GRES of one node */
    size_t at;     /* index of the node in node_names */
    char *name, *type;
    uint64_t count;
};

struct resv {
    char *name;
    uint32_t number; /* creation number */
    uint32_t flags;
    int64_t start_at, end_at; /* wall seconds, of the current or next occurrence */
    int64_t float_sec; /* TIME_FLOAT: seconds from now to its begin, which moves with the clock */
    int64_t float_length_sec; /* its length in seconds; 0: until end_at */
    int64_t purge_sec, delay_sec, idle_at;
    char *node_names;     /* all nodes, including nodes that are not configured */
    struct bitset *nodes; /* the configured nodes */
    /* For reservations of parts of nodes, see resv_in_parts(): */
    uint32_t *units;                 /* reserved units by node; NULL: none */
    VEC(uint32_t) cores;             /* the same as cores, in the order of the nodes; empty: none */
    uint64_t *gres;                  /* reserved counts by node, then by GRES kind; NULL: none */
    uint64_t gres_mask;              /* kinds with the name of a reserved kind */
    VEC(struct resv_gres) node_gres; /* the same by name, in the order of the nodes */
    uint32_t node_count;             /* requested */
    char *core_count;                /* requested in all, as written; NULL: none */
    uint32_t cores_per_node;         /* requested on each node; 0: none */
    char *gres_total, *gres_per_node; /* requested, in the syntax of job requests; NULL: none */
    char *part, *features, *users, *accounts, *groups, *licenses, *allowed_parts; /* NULL: none */
    VEC(struct resv_license) stock; /* the configured licences of 'licenses' */
    const struct time_zone *zone;   /* time zone of the repetitions; borrowed; NULL: UTC */
    uint32_t pending, running;      /* number of jobs bound to it */
    uint64_t refill_stamp;          /* pool.freed at the last search for replacement nodes */
    bool active;                    /* state known to its dependents, see control/life/resv.c */
    int64_t begun_at;               /* start_at of the occurrence that began last; 0: none */
    uint32_t hooks_due; /* mask of enum resv_hook: programs that run or must be run again */
    struct str newer;   /* stored fields that only a newer version knows */
};

/* --- flags ------------------------------------------------------------------------------------ */

/* When an update may change a flag. */
enum resv_change {
    RESV_CHANGE_ALWAYS,
    RESV_CHANGE_ADDED,
    RESV_CHANGE_AT_CREATION,
    RESV_CHANGE_NEVER
};

/* Parses "MAINT,PURGE_COMP=10". -ERR_PARSE names the word. purge_sec changes only if the list has a
 * time, or PURGE_COMP without a time. */
int resv_parse_flags(const char *list, uint32_t *flags, int64_t *purge_sec, struct err *err);
void resv_format_flags(const struct resv *r, struct str *out);
/* Whether an update may set (added) or clear these flags; -ERR_CANNOT_UPDATE. */
int resv_check_change(uint32_t flags, bool added, struct err *err);

/* --- time ------------------------------------------------------------------------------------- */

struct resv_time {
    int64_t begin, end;
};

/* Returns the first occurrence that ends after 'at'. False: there is none. */
bool resv_occurs(const struct resv *r, int64_t at, struct resv_time *out);
/* Whether an occurrence overlaps the time between 'from' and 'until'. */
bool resv_overlaps(const struct resv *r, int64_t from, int64_t until);
/* Whether it is active at 'at', as seen at 'from'. */
bool resv_is_at(const struct resv *r, int64_t from, int64_t at);
/* Replaces a past occurrence by the next one. False: it was the last one. */
bool resv_advance(struct resv *r, int64_t now);
int64_t resv_period(const struct resv *r); /* RESV_NEVER: it does not repeat */
static inline bool resv_is_now(const struct resv *r, int64_t now)
{
    return !(r->flags & RESV_TIME_FLOAT) && r->start_at <= now && now < r->end_at;
}

/* --- the reservations of a cluster ------------------------------------------------------------ */

struct resv *resv_find(const struct cluster *c, const char *name);
struct resv *resv_new(const char *name);
void resv_free(struct resv *r); /* only for a reservation that no cluster owns */
void resv_add(struct cluster *c, struct resv *r);
/* Removes it from the cluster; the caller owns it afterwards. Jobs are still bound to it. */
void resv_take(struct cluster *c, struct resv *r);

/* Resolves the names of its nodes, the reserved amounts and its licences. */
void resv_resolve(const struct cluster *c, struct resv *r);
/* Updates a PART_NODES reservation to all nodes of its partition. Returns true when its nodes
 * changed. Amounts on nodes that stay are kept; on new nodes it reserves cores at once, and generic
 * resources only after resv_pick_added(). */
bool resv_follow_part(const struct cluster *c, struct resv *r);
void resv_set_nodes(const struct cluster *c, struct resv *r, const struct bitset *nodes);
/* Whether it reserves cores or generic resources of its nodes instead of whole nodes. */
static inline bool resv_in_parts(const struct resv *r)
{
    return r->units || r->gres;
}
/* Clears its generic resources, to be chosen again. */
void resv_clear_gres(struct resv *r);
/* Reserves 'count' of the kind on its node number 'at', counted from 0. */
void resv_keep_gres(const struct cluster *c, struct resv *r, size_t at, uint32_t kind,
                    uint64_t count);
uint64_t resv_wanted_cores(const struct resv *r); /* all numbers of core_count */
/* Counts the cores and CPUs that it reserves. */
void resv_count(const struct cluster *c, const struct resv *r, uint32_t *cores, uint32_t *cpus);
/* Writes the resources that it reserves on all nodes together, "cpu=2,gres/gpu:a=4"; nothing for
 * whole nodes. */
void resv_format_kept(const struct cluster *c, const struct resv *r, struct str *out);
/* Writes the names of its configured nodes: "n[1-2]". */
void resv_format_nodes(const struct cluster *c, const struct resv *r, struct str *out);

void resv_pack(const struct resv *r, struct str *out); /* the stored ResvRecord */
/* Packs it for listings. */
void resv_pack_shown(const struct cluster *c, const struct resv *r, int64_t now, struct str *out);
struct resv *resv_restore(const struct cluster *c, const Pb__ResvRecord *m, struct err *err);
