/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pending job with one constraint removed or reduced: the possible changes, the changed job, and
 * the command for each change. Pure: the job itself is unchanged.
 */
#pragma once

#include "base/str.h"
#include "cluster/cluster.h"

#define RELAX_NO_EXCLUDE "no node that it excludes" /* the text of RELAX_EXCLUDE */

enum relax_kind {
#define RELAX(id, word, operator_) RELAX_##id,
#include "sched/why/relax.def"
#undef RELAX
    RELAX_KINDS
};
#define RELAX_BIT(id) (UINT32_C(1) << RELAX_##id)
/* The kinds that change the request itself. */
#define RELAX_OF_REQUEST                                                                           \
    (RELAX_BIT(TIME_LIMIT) | RELAX_BIT(CONTIGUOUS) | RELAX_BIT(SWITCHES) | RELAX_BIT(NODELIST) |   \
     RELAX_BIT(EXCLUDE) | RELAX_BIT(GRES_TYPE) | RELAX_BIT(EXCLUSIVE) | RELAX_BIT(FEATURES) |      \
     RELAX_BIT(LICENSES) | RELAX_BIT(MEMORY) | RELAX_BIT(CPUS) | RELAX_BIT(TASKS) |                \
     RELAX_BIT(NODES) | RELAX_BIT(GRES))
/* The kinds by which a request may fit on no node at all; the last ones have no command. */
#define RELAX_OF_FIT                                                                               \
    ((RELAX_OF_REQUEST & ~(RELAX_BIT(TIME_LIMIT) | RELAX_BIT(LICENSES))) | RELAX_BIT(GPUS) |       \
     RELAX_BIT(TASK_GRES) | RELAX_BIT(GPU_CPUS) | RELAX_BIT(SHAPE) | RELAX_BIT(CORE_SPEC) |        \
     RELAX_BIT(TASKS_PER))

/* A shorter limit must still serve this many seconds later. */
#define RELAX_SLACK_SEC 30

struct relax {
    enum relax_kind kind;
    /* Range of the new value; 'most' is nearest to the request; both 0: the kind has no value.
     * TIME_LIMIT: minutes. */
    uint64_t least, most;
    /* The value for which a later start is reported if no value permits a start now. */
    uint64_t guess;
    const struct part *part; /* PARTITION: borrowed */
};

struct relax_list {
    VEC(struct relax) list;
};

const char *relax_word(enum relax_kind kind);
bool relax_by_operator(enum relax_kind kind);

/* Finds the possible changes of the job among 'kinds' (RELAX_BIT), except PARTITION and PRIORITY.
 * The caller frees out->list. */
void relax_find(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
                uint32_t kinds, struct relax_list *out);

/* Creates a copy of the job with the change; r NULL: without a change. The copy is in no list of
 * the cluster. Negative: the changed job is invalid, and 'copy' is unused. */
int relax_make(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
               const struct relax *r, uint64_t number, struct job_copy *copy);
void relax_done(struct job_copy *copy);

/* After select_possible() has rejected a request without a detail (ERR_NODE_CONFIG): adds the first
 * change of an option that would make it possible. Returns err->code; other errors are unchanged.
 * It makes at most 64 checks, because any user can trigger it. */
int relax_explain_misfit(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
                         struct err *err);

/* Writes "a time limit of 10:00" and "scontrol update JobId=7 TimeLimit=10:00". */
void relax_say(const struct job *j, const Pb__JobSpec *spec, const struct relax *r, uint64_t number,
               struct str *what, struct str *command);
