/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The change of one job by "scontrol update job", hold, release or requeue. It goes through the
 * stages of a submission (submit.c): it is authorised, field by field; the site's plugins may
 * change it; then it is merged into the job's spec, which is parsed, completed for the job's
 * partitions and checked, and the job is queued again.
 */
#pragma once

#include "cluster/cluster.h"
#include "cluster/resv/license_kept.h"
#include "control/control.h"
#include "control/core/reply.h"

struct job_change_moved { /* what a job had before it was moved to other partitions */
    struct part *part;
    struct job_partitions *partitions;
    int64_t limit_sec;
    bool moved;
};

struct job_change_applied { /* a changed request, which can be taken back until it is settled */
    bool is_applied;
    Pb__JobSpec set, old, *spec; /* in the arena */
    struct job_change_moved before;
    struct depend *depend;
    struct license_swap licenses; /* of a job that runs */
};

struct job_change {   /* of one record */
    Pb__JobSpec *set; /* as the plugins leave it */
    int rc;           /* of that, and of all that is checked after it */
    struct err why;
    bool with_set; /* it is refused because another component of its set is */
    bool in_set, may_differ;
    uint32_t offset;
    struct bitset *dropped;
    int32_t nice_before;
    struct job_change_applied applied;
};

/* The stages up to the plugins: *set is what they make of the change, in the arena. */
int job_change_prepare(struct control *c, const struct caller *who, const struct job *j,
                       const Pb__JobUpdate *r, Pb__JobSpec **set, struct arena *arena,
                       struct err *err);

/* Checks all that can be refused. The request of the job is changed, and can be taken back. */
int job_change_begin(struct control *c, const struct caller *who, struct job *j,
                     const Pb__JobUpdate *r, struct job_change *one, struct arena *arena,
                     struct err *err);

/* Settles the change, or takes it back when rc says that the change of this job, or of another
 * component of its set, is refused. */
int job_change_end(struct control *c, const struct caller *who, struct job *j,
                   const Pb__JobUpdate *r, struct job_change *one, int rc);
