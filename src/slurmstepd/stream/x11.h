/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * X11 forwarding: a display on this node's loopback for the step's tasks, whose connections
 * go through the session with srun to the display there. Its cookie is made for this step; only
 * srun knows that of the real display, and lets in whoever shows this one.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* DISPLAY and XAUTHORITY for the tasks, when srun has asked for it on this node. */
int x11_start(struct step *step, struct err *err);
#define X11_PENDING                                                                                \
    1 /* resume_start() or fail_start() follows: nobody knows how long the home                    \
         directory takes */
void x11_message(struct step *step, const Pb__TunnelData *m);
void x11_drained(struct step *step); /* srun has room again, or is gone */
void x11_end(struct step *step);     /* also when there is none */

/* After the end of the step was reported, since the home directory may not be reachable. */
void x11_done(struct step *step);
