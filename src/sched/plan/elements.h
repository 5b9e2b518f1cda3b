/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The elements of an array that wait in one record. */
#pragma once

#include "cluster/cluster.h"

/* So many of them may start now, as far as the array and what it waits for go; of another job 1. */
uint32_t elements_may_start(const struct job *j);
