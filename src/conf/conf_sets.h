/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Settings for job sets (cluster/job/job_set.h): limits that the site enforces (HetLimits;
 * conf_sets.def has a row for each), and the related words in SchedulerParameters. Other modules
 * use these functions and do not parse the words.
 */
#pragma once

#include <stdbool.h>

enum conf_sets_limit {
#define SET_LIMIT(name, text) CONF_SETS_##name,
#include "conf/conf_sets.def"
#undef SET_LIMIT
    CONF_SETS_LIMITS
};

/* The priority by which all components of a set are queued. */
enum conf_sets_rank { CONF_RANK_OWN, CONF_RANK_LEAST, CONF_RANK_MEAN, CONF_RANK_MOST };

struct conf;
struct conf_loader;
struct conf_place;
struct conf_sched;
struct err;

/* Private to src/conf: reads HetLimits. */
int conf_sets_check(struct conf_loader *l, struct err *err);
/* Adds the limits implied by SchedulerParameters, after all of them are read; 'at' is their
   place. */
void conf_sets_complete(struct conf_loader *l, struct conf_place at, struct conf_sched *s);

/* Whether the site enforces the limit. */
bool conf_sets_keep(const struct conf *c, enum conf_sets_limit limit);
/* If the site enforces the limit, refuses with 'code' and "WORDING: the limit's text
 * (HetLimits=NAME)"; otherwise returns 0. */
int conf_sets_refuse(const struct conf *c, enum conf_sets_limit limit, int code,
                     const char *wording, struct err *err);
/* A step across several components: returns 0, or -ERR_NOT_SUPPORTED if the site allows only one
 * component per step. */
int conf_sets_refuse_span(const struct conf *c, struct err *err);

/* The same for several parts of a step in one component. */
int conf_sets_refuse_shared(const struct conf *c, struct err *err);

enum conf_sets_rank conf_sets_rank_by(const struct conf *c);
/* Whether the components of a set are planned one by one, in passes of two modes. */
bool conf_sets_have_two_modes(const struct conf *c);
/* In two modes: whether a set starts in the middle of a pass. */
bool conf_sets_start_at_once(const struct conf *c);
/* Whether the job id of a component means the whole set in requests to cancel, hold or release
   it. */
bool conf_sets_are_meant_whole(const struct conf *c);
