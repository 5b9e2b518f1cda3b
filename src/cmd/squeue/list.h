/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of squeue from the records of jobs and steps: rows of a table, or JSON. */
#pragma once

#include <stdbool.h>

#include "cmd/squeue/fold.h"
#include "cmd/squeue/options.h"
#include "show/json_out.h"
#include "show/listing.h"

struct list_tier { /* priority tier of a partition */
    char *part;
    uint32_t tier;
};

struct list_start { /* start of a pending job that "sluice why" expects */
    uint32_t job_id;
    bool is_answered;
    int64_t at_sec; /* 0: unpredictable */
    char *nodes;    /* NULL: unknown */
};

struct list {
    const struct options *options;
    struct listing listing;
    json_t *json;                  /* NULL: the output is a table */
    VEC(struct list_tier) tiers;   /* with --priority */
    VEC(struct list_start) starts; /* with --start */
    struct fold fold;
    size_t seen;
    bool bad_format; /* some columns are unknown; the others are listed, and the exit status is 1 */
};

void list_init(struct list *l, const struct options *o); /* the options are borrowed */
void list_done(struct list *l);

/* Returns false after a message if the sort keys are invalid or all columns are unknown. */
bool list_set_format(struct list *l);

/* Add the records of a message to the list 'ctx'. The tiers of partitions must be set before jobs
 * are added. */
int list_on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err);
int list_on_steps(void *ctx, const ProtobufCMessage *message, struct err *err);
int list_on_parts(void *ctx, const ProtobufCMessage *message, struct err *err);

/* Adds the rows that stand for several records; call after the last job. */
void list_add_folded(struct list *l);
