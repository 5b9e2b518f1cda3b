/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What PreemptMode=GANG, the keys that begin with Gang and OverSubscribe say together. */
#pragma once

#include "base/err.h"

struct conf_loader;

int conf_gang_check(struct conf_loader *l, struct err *err); /* after the check of preemption */
void conf_gang_parts_check(struct conf_loader *l);           /* when the partitions are there */
