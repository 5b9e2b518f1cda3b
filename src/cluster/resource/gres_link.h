/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links= of gres.conf: devices with many connections to each other are allocated together. The
 * value of a choice is the sum of the connections of all pairs.
 */
#pragma once

#include <stddef.h>

struct bitset;
struct conf_gres;

/* Returns the number of connections between two devices of the kind; 0: none, or unknown. */
unsigned gres_link_count(const struct conf_gres *g, size_t a, size_t b);
/* Adds 'count' devices from 'among' to 'devices': the devices with the most connections to each
 * other and to the devices already in the set; ties go to the lowest numbers. 'among' must have at
 * least 'count' devices and none of 'devices'. If 'among' is large, devices are chosen one by one.
 * 'g' NULL: connections are unknown. */
void gres_link_choose(const struct conf_gres *g, const struct bitset *among, size_t count,
                      struct bitset *devices);
