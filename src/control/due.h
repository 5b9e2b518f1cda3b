/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes due with time. */
#pragma once

struct control;

/* Finds out whether this process or the machine was stopped, because the timer came too late: the
 * silence of nodes in that time does not count. To be called before wake_at_ms is set again. */
void control_note_awake(struct control *c);
