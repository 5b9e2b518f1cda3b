/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gang scheduling and preemption of drawn plans: PreemptMode and related options. */
#include "sim/plan/draw.h"

/* PreemptMode=GANG alone, and its options for shared jobs; most partitions share cores in this
 * case. */
static void draw_gang(struct draw *d)
{
    d->shares = true;
    add_conf(d, "PreemptMode=GANG");
    add_conf(d, "SchedulerTimeSlice=%lld", (long long)ONE_OF(d, 5, 5, 7, 30));
    bool het = draw_chance(d, 50);
    if (het)
        add_conf(d, "GangHet=yes");
    if (draw_chance(d, 50))
        add_conf(d, "GangDevices=yes");
    if (draw_chance(d, 30) && !het)
        add_conf(d, "GangOverlap=no");
}

void sim_draw_preemption(struct draw *d)
{
    if (!draw_chance(d, 35)) {
        if (draw_chance(d, 25))
            draw_gang(d);
        return;
    }
    d->preempts = true;
    add_conf(d, "PreemptType=preempt/partition_prio");
    add_conf(
        d, "PreemptMode=%s",
        WORD(d, "CANCEL,GANG", "REQUEUE,GANG", "REQUEUE,GANG", "SUSPEND,GANG", "SUSPEND,GANG"));
    if (draw_chance(d, 30))
        add_conf(d, "PreemptExemptTime=%s", WORD(d, "0:05", "0:30"));
    if (draw_chance(d, 30))
        add_conf(d, "PreemptParameters=%s", WORD(d, "youngest_first", "strict_order"));
}

/* In some versions of the file each partition has a rotation of its own, and operators change the
 * version while jobs take turns. */
void sim_draw_gang_changes(struct draw *d)
{
    const struct sim_item *mode = sim_draw_find_conf(d, "PreemptMode=");
    struct sim_item *overlap = sim_draw_find_conf(d, "GangOverlap=no");
    if (!mode || !strstr(mode->text, "GANG") || sim_draw_find_conf(d, "GangHet=yes") ||
        !draw_chance(d, 50))
        return;
    if (!overlap)
        add_conf(d, "GangOverlap=no");
    overlap = sim_draw_find_conf(d, "GangOverlap=no");
    overlap->files = draw_between(d, 1, SIM_ALL_FILES - 1);
    for (int64_t count = draw_skewed(d, 1, 6); count > 0; count--) {
        struct sim_item *a = add_item(d, SIM_ITEM_DO);
        a->what = SIM_DO_RECONFIGURE;
        a->at_ms = draw_between(d, 1, d->span_ms);
        a->value = draw_between(d, 0, SIM_FILES - 1);
        a->root = 1;
    }
}
