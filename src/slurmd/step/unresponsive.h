/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shepherds that do not answer, stopped or stuck in the kernel, are no reason for their processes
 * to live on. A shepherd answers each signal. One that was to kill its step, MessageTimeout after
 * it should have begun, and has answered nothing: this daemon kills all that is below it or in its
 * control group. One that is stopped dies with them; one that may only be busy, by a plugin for
 * example, when it is silent UnkillableStepTimeout after that. While it answers, it is asked again.
 */
#pragma once

#include <stdint.h>

struct step;

/* It is told to kill its step so many seconds from now; the earliest time holds. */
void unresponsive_watch(struct step *s, uint32_t grace_sec);
void unresponsive_heard(struct step *s); /* its answer to any signal */
void unresponsive_free(struct step *s);
