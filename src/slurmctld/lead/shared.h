/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks whether a backup's store is the one that the leader uses: while the leader answers, the
 * store must show a lead. A worker checks at once and then periodically. */
#pragma once

#include "slurmctld/core/ctld.h"

struct shared;
struct shared *shared_open(struct ctld *c);
void shared_close(struct shared *s);
/* Leader: the controller that has just reported that it leads. */
void shared_look(struct shared *s, const char *leader);
/* Checks for signs of the leader's work at that interval; returns the result since the last
   call. */
enum shared_sign { SHARED_UNSEEN, SHARED_SAME, SHARED_CHANGED };
enum shared_sign shared_sign(struct shared *s, int64_t every_ms);
bool shared_is_good(const struct shared *s);      /* the store was found to be the leader's */
const char *shared_fault(const struct shared *s); /* NULL: no fault is known */
