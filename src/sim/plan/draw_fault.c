/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The faults of a plan. */
#include "sim/plan/draw.h"

void sim_draw_crash(struct draw *d, struct sim_item *f)
{
    f->point = between(d, SIM_POINT_INPUT, SIM_POINT_SENDING);
    f->for_ms = chance(d, 70) ? between(d, 10, 2000) : skewed(d, 10, 120000);
    f->keep = between(d, 0, 99);
    if (chance(d, 20))
        f->then = between(d, SIM_POINT_INPUT, SIM_POINT_SENDING);
    f->boot = chance(d, 5);
}

void sim_draw_clock(struct draw *d, struct sim_item *f)
{
    f->value = ONE_OF(d, 3600000, -3600000, -60000, 90000, 2147483640000, 4291747200000);
}

static void draw_node_fault(struct draw *d, struct sim_item *f)
{
    static const uint8_t often[] = {SIM_FAULT_BREAK, SIM_FAULT_BREAK,  SIM_FAULT_BREAK,
                                    SIM_FAULT_KILL,  SIM_FAULT_REBOOT, SIM_FAULT_REBOOT,
                                    SIM_FAULT_STOP,  SIM_FAULT_SLOW,   SIM_FAULT_REPEAT,
                                    SIM_FAULT_LIE,   SIM_FAULT_SKEW};
    f->what = often[between(d, 0, (int64_t)sizeof often - 1)];
    f->node = between(d, 1, d->nodes);
    f->for_ms = skewed(d, 1, f->what == SIM_FAULT_BREAK || d->storm ? 20000 : 120000);
    if (f->what == SIM_FAULT_BREAK)
        f->keep = skewed(d, 0, 30000);
    if (f->what == SIM_FAULT_SLOW)
        f->value = skewed(d, 10, 15000);
    if (f->what == SIM_FAULT_LIE && chance(d, 70))
        f->cpus = chance(d, 70) ? 1 : 64;
    if (f->what == SIM_FAULT_SKEW)
        f->value = ONE_OF(d, -3600000, -90000, 5000, 110000, 400000, 3600000);
    if (f->what == SIM_FAULT_LIE && chance(d, 50))
        f->value = chance(d, 70) ? between(d, 1, 400) : 1000000;
}

void sim_draw_faults(struct draw *d)
{
    bool clock = chance(d, 15);
    int64_t count = d->storm ? between(d, 10, 80) : chance(d, 10) ? 0 : skewed(d, 1, 40);
    unsigned crashes = (unsigned)(d->storm ? between(d, 2, 15) : between(d, 10, 60));
    for (int64_t i = 0; i < count; i++) {
        struct sim_item *f = add(d, SIM_ITEM_FAULT);
        f->at_ms = between(d, 1, d->span_ms);
        if (chance(d, crashes)) {
            f->what = SIM_FAULT_CRASH;
            sim_draw_crash(d, f);
        } else if (clock && chance(d, 20)) {
            f->what = SIM_FAULT_CLOCK;
            sim_draw_clock(d, f);
        } else if (chance(d, 10)) {
            f->what = SIM_FAULT_DISK;
            f->for_ms = between(d, 1000, 20000);
            f->value = between(d, 10, 2000);
        } else if (chance(d, 10)) {
            f->what = SIM_FAULT_NET;
            f->for_ms = skewed(d, 100, 30000);
            f->value = skewed(d, 1, 10000);
            f->keep = between(d, 0, 60);
        } else if (chance(d, 15)) {
            f->what = SIM_FAULT_CLIENT;
            f->id = sim_draw_job_at(d, f->at_ms);
            f->value = chance(d, 50);
        } else {
            draw_node_fault(d, f);
        }
    }
}

void sim_draw_controllers(struct draw *d)
{
    if (!chance(d, 20))
        return;
    struct sim_item *c = add(d, SIM_ITEM_CTL);
    c->count = ONE_OF(d, 2, 2, 3);
    c->timeout_ms = ONE_OF(d, 1000, 2000, 5000, 10000, 30000);
    const struct sim_item ctl = *c;
    for (int64_t count = between(d, 0, 12); count > 0; count--) {
        static const uint8_t often[] = {SIM_FAULT_PAUSE, SIM_FAULT_PAUSE, SIM_FAULT_CUT,
                                        SIM_FAULT_CUT,   SIM_FAULT_DOWN,  SIM_FAULT_ORDER};
        struct sim_item *f = add(d, SIM_ITEM_FAULT);
        f->what = often[between(d, 0, (int64_t)sizeof often - 1)];
        f->at_ms = between(d, 1, d->span_ms);
        f->value = chance(d, 60) && f->what != SIM_FAULT_ORDER ? 0 : between(d, 1, ctl.count);
        f->for_ms = skewed(d, 10, chance(d, 70) ? ctl.timeout_ms * 3 : 60000);
        if (f->what == SIM_FAULT_CUT)
            f->keep = chance(d, 30) ? SIM_CUT_ALL : between(d, 1, SIM_CUT_ALL);
    }
}
