/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A world as a whole: its events and its faults. */
#pragma once

#include "sim/rule/rule.h"

/* fault.c */
void sim_fault(struct sim *s, unsigned index);
void sim_fault_heal(struct sim *s);
void sim_fault_settle(struct sim *s);
