/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When the members of a rotation end, if each of them runs for as long as it may. Pure: the
 * rotation is carried out ahead of time, slice by slice, and rounds are skipped in which no member
 * ends.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sched/gang/rotation.h"

/* Sets 'ends_ms' of each member from 'left_ms'; both are counted from now. The next switch is in
 * switch_ms. 'looks' is how often a member may be looked at: after that, members that still take
 * turns are said to end when all of those that they are connected with have ended, which is not too
 * early. Members that are pinned are left out. */
void forecast_ends(struct rotation *r, int64_t switch_ms, int64_t slice_ms, size_t looks);
