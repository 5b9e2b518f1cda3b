/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's orders. Each may come twice and is then answered as it was the first time.
 */
#pragma once

#include "slurmd/slurmd.h"

void order_take(struct slurmd *d, const Pb__NodeOrders *orders);
void order_acknowledged(struct slurmd *d, uint64_t seq);
