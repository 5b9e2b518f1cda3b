/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The change of one job by "scontrol update job", hold, release or requeue. It goes through the
 * stages of a submission (submit.c): each field is authorised; the site's plugins may change the
 * request; the request is merged into the job's spec, which is parsed, completed for the job's
 * partitions and checked; then the job is queued again.
 */
#pragma once

#include "cluster/cluster.h"
#include "cluster/resv/license_kept.h"
#include "control/control.h"
#include "control/core/reply.h"

struct job_change_moved { /* state of a job before it was moved to other partitions */
    struct part *part;
    struct job_partitions *partitions;
    int64_t limit_sec;
    bool moved;
};

struct job_change_applied { /* a changed request that can be undone until it is final */
    bool is_applied;
    Pb__JobSpec set, old, *spec; /* in the arena */
    struct job_change_moved before;
    struct depend *depend;
    struct license_swap licenses; /* for a running job */
};

struct job_change {   /* the change of one record */
    Pb__JobSpec *set; /* the request after the plugins */
    int rc;           /* result of the plugins and of all later checks */
    struct err why;
    bool with_set; /* rejected because the change of another component of its set is rejected */
    bool in_set, may_differ;
    uint32_t offset;
    struct bitset *dropped;
    int32_t nice_before;
    struct job_change_applied applied;
};

/* Runs the stages up to the plugins: *set is the resulting change, in the arena. */
int job_change_prepare(struct control *c, const struct caller *who, const struct job *j,
                       const Pb__JobUpdate *r, Pb__JobSpec **set, struct arena *arena,
                       struct err *err);

/* Runs all checks that can fail. The request of the job is changed, and the change can be
 * undone. */
int job_change_begin(struct control *c, const struct caller *who, struct job *j,
                     const Pb__JobUpdate *r, struct job_change *one, struct arena *arena,
                     struct err *err);

/* Completes the change, or undoes it if rc is an error of this job or of another component of its
 * set. */
int job_change_end(struct control *c, const struct caller *who, struct job *j,
                   const Pb__JobUpdate *r, struct job_change *one, int rc);
