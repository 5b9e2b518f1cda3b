/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What squeue prints, made of records of jobs and steps: the rows of a table, or JSON. */
#pragma once

#include <stdbool.h>

#include "cmd/squeue/fold.h"
#include "cmd/squeue/options.h"
#include "show/json_out.h"
#include "show/listing.h"

struct list_tier { /* of a partition */
    char *part;
    uint32_t tier;
};

struct list_start { /* that "sluice why" expects of a pending job */
    uint32_t job_id;
    bool is_answered;
    int64_t at_sec; /* 0: none can be foreseen */
    char *nodes;    /* NULL: not known */
};

struct list {
    const struct options *options;
    struct listing listing;
    json_t *json;                  /* NULL: lines are listed */
    VEC(struct list_tier) tiers;   /* with --priority */
    VEC(struct list_start) starts; /* with --start */
    struct fold fold;
    size_t seen;
    bool bad_format; /* the columns that are known are listed, and the status says so */
};

void list_init(struct list *l, const struct options *o); /* the options are borrowed */
void list_done(struct list *l);

/* False after a message: the sort keys are invalid, or no column is known. */
bool list_set_format(struct list *l);

/* Add the records of a message to the list that 'ctx' is. The tiers of partitions are known before
 * the jobs are added. */
int list_on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err);
int list_on_steps(void *ctx, const ProtobufCMessage *message, struct err *err);
int list_on_parts(void *ctx, const ProtobufCMessage *message, struct err *err);

/* Adds the rows that stand for several records, after the last job. */
void list_add_folded(struct list *l);
