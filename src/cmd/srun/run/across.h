/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PMIx between steps that have spawned one another: groups with processes of several of them meet
 * (PMIx_Connect, fences), and processes of one get what those of another have put. Each step's srun
 * knows its own nodes; these messages go up the links of spawned.h to the first srun, which brings
 * the steps of a group together, and down again those of spawns.h. Bounded.
 */
#pragma once

#include <stdint.h>

#include "proto/io.pb-c.h"

#define ACROSS_UP UINT32_MAX /* as the number of a link: that to who has asked for this step */

struct run;
struct across;

struct across *across_new(struct run *run);
void across_free(struct across *a);

/* Where the tasks of this step run: to be told to servers of others. The object's. */
Pb__PmixJob *across_job(struct across *a);

/* All nodes of this step are in a meeting that has other steps. */
void across_meet(struct across *a, const Pb__PmixFence *mine, const Pb__PmixFence *last_part);
/* From or for a task of this step, of whatever step the other one is. */
void across_get(struct across *a, const Pb__PmixGet *m);
void across_got(struct across *a, const Pb__PmixGot *m);

/* From a link, spawns.h's number of it. */
void across_on_fence(struct across *a, uint32_t link, const Pb__PmixFence *m);
void across_on_gone(struct across *a, uint32_t link);
