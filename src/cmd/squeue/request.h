/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What squeue asks the controller for. The replies are added to the list. */
#pragma once

#include "base/err.h"
#include "cmd/squeue/list.h"

int request_tiers(struct list *l, struct err *err); /* of the partitions, for --priority */
int request_jobs(struct list *l, struct err *err);
int request_steps(struct list *l, struct err *err);
