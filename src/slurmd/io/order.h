/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Handles the controller's orders. A repeated order gets the same answer as the first.
 */
#pragma once

#include "slurmd/node/slurmd.h"

/* 'closed': the controller has closed the session of these orders, so nothing new is started. */
void order_take(struct slurmd *d, const Pb__NodeOrders *orders, bool closed);
void order_acknowledged(struct slurmd *d, uint64_t seq);
