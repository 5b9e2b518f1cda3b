/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that draw plans share. Each part of a plan is drawn in a fixed order: a new part
 * is appended at the end, so that the earlier parts of a seed stay unchanged. */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "sim/plan/plan.h"

struct draw {
    struct sim_plan *plan;
    struct rng rng;
    int64_t nodes, files, span_ms, jobs, parts;
    int64_t first_dynamic; /* id of the first dynamic node; 0: none */
    bool files_differ, preempts, licenses;
    bool toruses; /* the network has toruses, whatever else is drawn */
    bool shares;  /* most partitions share their cores */
    bool storm;   /* nodes fail and return all the time, with many messages under way */
};

static inline int64_t draw_between(struct draw *d, int64_t first, int64_t last)
{
    return rng_between(&d->rng, first, last);
}

static inline bool draw_chance(struct draw *d, unsigned percent)
{
    return rng_chance(&d->rng, percent * 10);
}

/* Small numbers are more frequent than large ones. */
static inline int64_t draw_skewed(struct draw *d, int64_t first, int64_t last)
{
    return draw_between(d, first, draw_between(d, first, last));
}

#define ONE_OF(d, ...)                                                                             \
    ({                                                                                             \
        static const int64_t list_[] = {__VA_ARGS__};                                              \
        list_[draw_between(d, 0, (int64_t)(sizeof list_ / sizeof list_[0]) - 1)];                  \
    })

static inline const char *draw_word(struct draw *d, const char *const *words, size_t count)
{
    return words[draw_between(d, 0, (int64_t)count - 1)];
}
#define WORD(d, ...)                                                                               \
    ({                                                                                             \
        static const char *const words_[] = {__VA_ARGS__};                                         \
        draw_word(d, words_, sizeof words_ / sizeof words_[0]);                                    \
    })

static inline struct sim_item *add_item(struct draw *d, enum sim_item_kind kind)
{
    struct sim_item item;
    sim_plan_item(&item, kind);
    vec_push(&d->plan->items, item);
    return &vec_last(&d->plan->items);
}

__attribute__((format(printf, 3, 4))) static inline void put_text(char *to, size_t size,
                                                                  const char *fmt, ...)
{
    va_list ap;
    size_t len = strlen(to);
    va_start(ap, fmt);
    int more = vsnprintf(to + len, size - len, fmt, ap);
    va_end(ap);
    if (more < 0 || (size_t)more >= size - len)
        to[len] = 0; /* drop a text that does not fit */
}
#define PUT(member, ...) put_text(member, sizeof(member), __VA_ARGS__)

__attribute__((format(printf, 2, 3))) static inline void add_conf(struct draw *d, const char *fmt,
                                                                  ...)
{
    struct sim_item *item = add_item(d, SIM_ITEM_CONF);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(item->text, sizeof item->text, fmt, ap);
    va_end(ap);
}

#define DRAW(name) void sim_draw_##name(struct draw *d);
#include "sim/plan/draw.def"

/* draw_cluster.c */
struct sim_item *sim_draw_find_conf(struct draw *d, const char *key); /* NULL: there is none */
void sim_draw_some_nodes(struct draw *d, char *to, size_t size);
const char *sim_draw_share(struct draw *d);

/* draw_job.c */
int64_t sim_draw_job_at(struct draw *d, int64_t at_ms); /* a job that has been submitted by then */

/* draw_resv.c */
/* Names the reservation by its kind and number. */
struct sim_item *sim_draw_add_resv(struct draw *d, char kind, int64_t number);
/* Finds a reservation that exists at the job's start; it mostly is long enough and admits the user.
 * NULL: there is none. */
const struct sim_item *sim_draw_find_resv(struct draw *d, const struct sim_item *j);

/* draw_act.c */
void sim_draw_crash(struct draw *d, struct sim_item *f);
