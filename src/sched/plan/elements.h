/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pending array elements that share one record. */
#pragma once

#include "cluster/cluster.h"

/* Returns the number of elements that may start now as far as the array and its dependencies
 * permit; 1 for a job that is not an array. */
uint32_t elements_may_start(const struct job *j);
