/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a site says of jobs of several components (cluster/job/job_set.h): limits that it keeps
 * (HetLimits; conf_sets.def has a row for each), and the words of SchedulerParameters about them.
 * Other files ask here, and know none of these words.
 */
#pragma once

#include <stdbool.h>

enum conf_sets_limit {
#define SET_LIMIT(name, text) CONF_SETS_##name,
#include "conf/conf_sets.def"
#undef SET_LIMIT
    CONF_SETS_LIMITS
};

/* By whose priority all components of a set are queued. */
enum conf_sets_rank { CONF_RANK_OWN, CONF_RANK_LEAST, CONF_RANK_MEAN, CONF_RANK_MOST };

struct conf;
struct conf_loader;
struct conf_place;
struct conf_sched;
struct err;

/* Inside the room: reads HetLimits. */
int conf_sets_check(struct conf_loader *l, struct err *err);
/* The same for what SchedulerParameters imply, when all of them are read; 'at' is where they stand.
 */
void conf_sets_complete(struct conf_loader *l, struct conf_place at, struct conf_sched *s);

/* Whether the site keeps the limit. */
bool conf_sets_keep(const struct conf *c, enum conf_sets_limit limit);
/* What exceeds the limit is refused where the site keeps it: 'code' and "WORDING: the limit's text
 * (HetLimits=NAME)"; otherwise 0. */
int conf_sets_refuse(const struct conf *c, enum conf_sets_limit limit, int code,
                     const char *wording, struct err *err);
/* A step with parts in several components: 0, or -ERR_NOT_SUPPORTED where the site has one
 * component for each step. */
int conf_sets_refuse_span(const struct conf *c, struct err *err);

/* The same for several parts in one component of a set. */
int conf_sets_refuse_shared(const struct conf *c, struct err *err);

enum conf_sets_rank conf_sets_rank_by(const struct conf *c);
/* The components of a set are planned one by one, in passes of two modes. */
bool conf_sets_have_two_modes(const struct conf *c);
/* In two modes a set starts in the middle of a pass. */
bool conf_sets_start_at_once(const struct conf *c);
/* The own id of a component names all of its set in requests to cancel, hold or release it. */
bool conf_sets_are_meant_whole(const struct conf *c);
