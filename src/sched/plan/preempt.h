/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preemption (PreemptType=preempt/partition_prio): for a pending job, jobs of partitions with a
 * lower PriorityTier are cancelled, requeued or suspended, as PreemptMode of their partition says.
 * Part of the planner, and pure like it.
 *
 * A decision keeps no state between passes: jobs that are about to end, for any reason, count as
 * gone before victims are chosen, and the nodes that a preemptor waits for are reserved for it
 * against all later jobs of the pass. So no victim is chosen in vain while other jobs are ending.
 */
#pragma once

#include "sched/plan.h"

enum preempt_mode { PREEMPT_OFF, PREEMPT_CANCEL, PREEMPT_REQUEUE, PREEMPT_SUSPEND };

enum preempt_mode preempt_mode_of(const struct conf *conf, const struct conf_part *p);
/* PreemptMode=PRIORITY: only jobs with a higher priority preempt jobs of the partition. */
bool preempt_needs_priority(const struct conf *conf, const struct conf_part *p);
/* Returns how the job is preempted. All components of a job set are preempted in the same way, by
 * the highest mode of their partitions; PREEMPT_OFF if the mode of one partition is PREEMPT_OFF. */
enum preempt_mode preempt_mode_of_job(const struct conf *conf, const struct job *j);
/* Returns how jobs of the partition are preempted in this pass. */
enum preempt_mode preempt_mode_in(const struct plan *p, const struct part *part);
/* Whether an option is set: NAME in PreemptParameters, or preempt_NAME in SchedulerParameters. */
bool preempt_has(const struct conf *conf, const char *name);

/* Tier of its partition; INT64_MAX: the partition was removed. */
int64_t preempt_tier(const struct job *j);

void preempt_begin(struct plan *p);
void preempt_end(struct plan *p);

/* Whether the job can start by preemption: victims (p->victims first) are chosen now, or none is
 * needed because enough jobs are ending. Its nodes are then reserved in p->kept. 'look_at': time
 * from which more jobs can be preempted; 0: none. */
bool preempt_look(struct plan *p, const struct job *j, int64_t *look_at);
/* Whether the job can also get licences of pools that victims return. A job with alternative
 * licences cannot. */
bool preempt_may_reclaim(const struct plan *p, const struct job *j);

/* Like preempt_look(), for a job set, whose components start together. 'sum': its leader with the
 * licences of all components. */
bool preempt_look_set(struct plan *p, const struct job *leader, const struct job *sum,
                      int64_t *look_at);

/* After preempt_look() has reserved nodes: whether victims may be chosen for another element of the
 * same record. Only if no two elements would share a node; otherwise the other element might have
 * started with the first one. */
bool preempt_goes_on(struct plan *p, const struct job *j);

/* Returns the next job suspended by preemption that can resume before the pass reaches partitions
 * of this tier. For a job that cannot resume yet the nodes are reserved, unless jobs of a higher
 * tier hold them. */
const struct job *preempt_next_resumed(struct plan *p, int64_t tier);
