/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions that become due. */
#pragma once

struct control;

/* Detects by a late timer that this process or the machine was suspended: unresponsiveness of nodes
 * in that time does not count. To be called before wake_at_ms is set again. */
void control_note_awake(struct control *c);
