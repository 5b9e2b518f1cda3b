/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links= of gres.conf: devices with many connections to each other are given together. The sum of
 * the connections of all pairs is what a choice is worth.
 */
#pragma once

#include <stddef.h>

struct bitset;
struct conf_gres;

/* Connections between two devices of the kind; 0: none, or none are known. */
unsigned gres_link_count(const struct conf_gres *g, size_t a, size_t b);
/* Adds 'count' of the devices 'among', which has at least 'count' and none of 'devices': those with
 * the most connections to each other and to what is in 'devices', and of such choices the lowest
 * numbers. Of very many devices they are chosen one after the other. 'g' NULL: no connections are
 * known. */
void gres_link_choose(const struct conf_gres *g, const struct bitset *among, size_t count,
                      struct bitset *devices);
