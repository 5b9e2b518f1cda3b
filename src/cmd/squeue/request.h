/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of squeue to the controller. The replies are added to the list. */
#pragma once

#include "base/err.h"
#include "cmd/squeue/list.h"

/* Priority tiers of the partitions, for --priority. */
int request_tiers(struct list *l, struct err *err);
int request_jobs(struct list *l, struct err *err);
int request_steps(struct list *l, struct err *err);
