/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who makes room for whom (PreemptType=preempt/partition_prio): a job that waits may have jobs of
 * partitions of a lower PriorityTier end, go back to the queue or be suspended, as their
 * partition's PreemptMode says. Part of the planner, and as pure.
 *
 * A decision keeps nothing in mind: jobs that are about to leave, for whatever reason, count as
 * gone before anybody is chosen, and the nodes that a job waits for in this way are kept from all
 * that come after it in the pass. So nobody is chosen in vain while others are on their way out.
 */
#pragma once

#include "sched/plan.h"

enum preempt_mode { PREEMPT_OFF, PREEMPT_CANCEL, PREEMPT_REQUEUE, PREEMPT_SUSPEND };

enum preempt_mode preempt_mode_of(const struct conf *conf, const struct conf_part *p);
/* How the job makes room. All components of a job set do in the same way, by the highest
 * mode of their partitions; PREEMPT_OFF where that of one is so. */
enum preempt_mode preempt_mode_of_job(const struct conf *conf, const struct job *j);
/* How jobs of the partition make room for others in this pass. */
enum preempt_mode preempt_mode_in(const struct plan *p, const struct part *part);
/* An option: NAME of PreemptParameters, or preempt_NAME of SchedulerParameters. */
bool preempt_has(const struct conf *conf, const char *name);

int64_t preempt_tier(const struct job *j); /* of its partition; INT64_MAX: that is no more */

void preempt_begin(struct plan *p);
void preempt_end(struct plan *p);

/* Whether it can wait for others to make room, those in p->victims first of all: they are chosen
 * now, or none is needed because enough are leaving. Then its nodes are kept, see p->kept.
 * 'look_at': the time from which it could displace more; 0: there is none. */
bool preempt_look(struct plan *p, const struct job *j, int64_t *look_at);
/* Whether victims may also return what they hold of pools to it. A job with alternative licences is
 * not eligible. */
bool preempt_may_reclaim(const struct plan *p, const struct job *j);

/* The same of a job set, whose components start together. 'sum': its leader with the
 * licences of all. */
bool preempt_look_set(struct plan *p, const struct job *leader, const struct job *sum,
                      int64_t *look_at);

/* After that, the nodes being kept: whether another element of its record is to have room made,
 * too. Only where no two of them would share a node; else it might have gone with the first one. */
bool preempt_goes_on(struct plan *p, const struct job *j);

/* The next job that was suspended for others and can go on before the pass looks at partitions of
 * this tier. Of one that cannot the nodes are kept, unless jobs of a higher tier have them. */
const struct job *preempt_next_resumed(struct plan *p, int64_t tier);
