/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's orders. Each may come twice and is then answered as it was the first time.
 */
#pragma once

#include "slurmd/node/slurmd.h"

/* 'closed': the controller has closed their session meanwhile, so that nothing new begins. */
void order_take(struct slurmd *d, const Pb__NodeOrders *orders, bool closed);
void order_acknowledged(struct slurmd *d, uint64_t seq);
