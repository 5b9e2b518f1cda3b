/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PMIx between steps of which one has spawned another: groups with processes of several steps meet
 * (PMIx_Connect, fences), and processes of one step get values that processes of another have put.
 * Each step's srun knows only its own nodes. Messages go up the links of spawned.h to the first
 * srun, which joins the parts of a group, and down the links of spawns.h. Bounded.
 */
#pragma once

#include <stdint.h>

#include "proto/io.pb-c.h"

/* As a link number: the link to the srun that has requested this step. */
#define ACROSS_UP UINT32_MAX

struct run;
struct across;

struct across *across_new(struct run *run);
void across_free(struct across *a);

/* The nodes and tasks of this step, for the servers of other steps. Owned by the object. */
Pb__PmixJob *across_job(struct across *a);

/* All nodes of this step have entered a meeting with other steps. */
void across_meet(struct across *a, const Pb__PmixFence *mine, const Pb__PmixFence *last_part);
/* A request or reply of which one side is a task of this step, and the other a task of any step. */
void across_get(struct across *a, const Pb__PmixGet *m);
void across_got(struct across *a, const Pb__PmixGot *m);

/* From the link with this number in spawns.h. */
void across_on_fence(struct across *a, uint32_t link, const Pb__PmixFence *m);
void across_on_gone(struct across *a, uint32_t link);
