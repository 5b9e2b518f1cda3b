/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gang scheduling and preemption of drawn plans: PreemptMode and related options. */
#include "sim/plan/draw.h"

/* PreemptMode=GANG alone, and its options for shared jobs; most partitions share cores in this
 * case. */
static void draw_gang(struct draw *d)
{
    d->shares = true;
    conf(d, "PreemptMode=GANG");
    conf(d, "SchedulerTimeSlice=%lld", (long long)ONE_OF(d, 5, 5, 7, 30));
    bool het = chance(d, 50);
    if (het)
        conf(d, "GangHet=yes");
    if (chance(d, 50))
        conf(d, "GangDevices=yes");
    if (chance(d, 30) && !het)
        conf(d, "GangOverlap=no");
}

void sim_draw_preemption(struct draw *d)
{
    if (!chance(d, 35)) {
        if (chance(d, 25))
            draw_gang(d);
        return;
    }
    d->preempts = true;
    conf(d, "PreemptType=preempt/partition_prio");
    conf(d, "PreemptMode=%s",
         WORD(d, "CANCEL,GANG", "REQUEUE,GANG", "REQUEUE,GANG", "SUSPEND,GANG", "SUSPEND,GANG"));
    if (chance(d, 30))
        conf(d, "PreemptExemptTime=%s", WORD(d, "0:05", "0:30"));
    if (chance(d, 30))
        conf(d, "PreemptParameters=%s", WORD(d, "youngest_first", "strict_order"));
}
