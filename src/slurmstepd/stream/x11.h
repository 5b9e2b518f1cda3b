/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * X11 forwarding: a display on this node's loopback interface for the step's tasks. Its
 * connections go through the session with srun to the display there. The cookie of the display is
 * made for this step; only srun knows the cookie of the real display, and it accepts connections
 * that present the step's cookie.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* Sets up DISPLAY and XAUTHORITY for the tasks if srun has requested it on this node. */
int x11_start(struct step *step, struct err *err);
#define X11_PENDING 1 /* resume_start() or fail_start() follows: the home directory may be slow */
void x11_message(struct step *step, const Pb__TunnelData *m);
void x11_drained(struct step *step); /* srun's connection has space again, or is gone */
void x11_end(struct step *step);     /* no effect if there is none */

/* Called after the end of the step was reported, since the home directory may be unreachable. */
void x11_done(struct step *step);
