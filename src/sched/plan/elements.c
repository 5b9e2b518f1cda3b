/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/elements.h"

uint32_t elements_may_start(const struct job *j)
{
    const struct depend *d = j->waits.on;
    uint32_t n = d && d->parted ? d->ready.count : j->tasks.count;
    uint32_t most = j->array ? j->array->throttle : 0;
    if (!j->tasks.count)
        return 1;
    uint32_t room = !most ? n : j->array->running < most ? most - j->array->running : 0;
    return room < n ? room : n;
}
