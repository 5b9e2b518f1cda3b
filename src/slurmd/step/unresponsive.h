/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kills the processes of shepherds that do not answer, because they are stopped or stuck in the
 * kernel. A shepherd answers each signal. If it was ordered to kill its step and has not answered
 * within MessageTimeout after the kill was due, this daemon kills all processes below it or in its
 * control group. A stopped shepherd is killed with them; one that may only be busy, for example in
 * a plugin, is killed if it has not answered within UnkillableStepTimeout after that. While a
 * shepherd answers, it is asked again.
 */
#pragma once

#include <stdint.h>

struct step;

/* The shepherd is ordered to kill its step in grace_sec seconds; the earliest time takes
   effect. */
void unresponsive_watch(struct step *s, uint32_t grace_sec);
void unresponsive_heard(struct step *s); /* it has answered a signal */
void unresponsive_free(struct step *s);
