/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the store that a backup would take over with is the leader's: while the leader answers,
 * somebody must lead in it. Looks at once and then now and again, in a worker. */
#pragma once

#include "slurmctld/core/ctld.h"

struct shared;
struct shared *shared_open(struct ctld *c);
void shared_close(struct shared *s);
void shared_look(struct shared *s, const char *leader); /* who has just said that it leads */
/* Looks for signs of the leader's work that often; what was seen since the last call. */
enum shared_sign { SHARED_UNSEEN, SHARED_SAME, SHARED_CHANGED };
enum shared_sign shared_sign(struct shared *s, int64_t every_ms);
bool shared_is_good(const struct shared *s);      /* it was seen to be */
const char *shared_fault(const struct shared *s); /* NULL: none is known */
