/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A waiting job with one constraint less, or with less of it: which there are, the job as it would
 * be, and the command that makes it so. Pure: the job itself is not touched.
 */
#pragma once

#include "base/str.h"
#include "cluster/cluster.h"

#define RELAX_NO_EXCLUDE "no node that it excludes" /* the saying of RELAX_EXCLUDE */

enum relax_kind {
#define RELAX(id, word, operator_) RELAX_##id,
#include "sched/why/relax.def"
#undef RELAX
    RELAX_KINDS
};
#define RELAX_BIT(id) (UINT32_C(1) << RELAX_##id)
/* Those that are of the request itself. */
#define RELAX_OF_REQUEST                                                                           \
    (RELAX_BIT(TIME_LIMIT) | RELAX_BIT(CONTIGUOUS) | RELAX_BIT(SWITCHES) | RELAX_BIT(NODELIST) |   \
     RELAX_BIT(EXCLUDE) | RELAX_BIT(GRES_TYPE) | RELAX_BIT(EXCLUSIVE) | RELAX_BIT(FEATURES) |      \
     RELAX_BIT(LICENSES) | RELAX_BIT(MEMORY) | RELAX_BIT(CPUS) | RELAX_BIT(TASKS) |                \
     RELAX_BIT(NODES) | RELAX_BIT(GRES))
/* Those by which a request may fit on no nodes at all; the last ones are in no command. */
#define RELAX_OF_FIT                                                                               \
    ((RELAX_OF_REQUEST & ~(RELAX_BIT(TIME_LIMIT) | RELAX_BIT(LICENSES))) | RELAX_BIT(GPUS) |       \
     RELAX_BIT(TASK_GRES) | RELAX_BIT(GPU_CPUS) | RELAX_BIT(SHAPE) | RELAX_BIT(CORE_SPEC) |        \
     RELAX_BIT(TASKS_PER))

#define RELAX_SLACK_SEC 30 /* a shorter limit still serves when it is given so much later */

struct relax {
    enum relax_kind kind;
    uint64_t least, most; /* of its number, which is nearest to what was asked for at 'most'; both
                             0: it has none. TIME_LIMIT: minutes */
    uint64_t guess;       /* the number to tell a start of when none starts it now */
    const struct part *part; /* PARTITION: borrowed */
};

struct relax_list {
    VEC(struct relax) list;
};

const char *relax_word(enum relax_kind kind);
bool relax_by_operator(enum relax_kind kind);

/* Those of the job out of 'kinds' (RELAX_BIT), but for PARTITION and PRIORITY. The caller frees
 * out->list. */
void relax_find(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
                uint32_t kinds, struct relax_list *out);

/* The job as it would be; r NULL: as it is. It is in no list of the cluster. Negative: it would be
 * refused, and out is nothing. */
int relax_make(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
               const struct relax *r, uint64_t number, struct job_copy *copy);
void relax_done(struct job_copy *copy);

/* After select_possible() refused the request without a detail (ERR_NODE_CONFIG), adds
 * the first change of an option by which it would be possible. Returns err->code; other refusals
 * stay as they are. It costs 64 looks at most, as anybody may ask. */
int relax_explain_misfit(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
                         struct err *err);

/* "a time limit of 10:00", "scontrol update JobId=7 TimeLimit=10:00". */
void relax_say(const struct job *j, const Pb__JobSpec *spec, const struct relax *r, uint64_t number,
               struct str *what, struct str *command);
