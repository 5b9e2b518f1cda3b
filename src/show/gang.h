/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rotation of gang scheduling. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "proto/gang.pb-c.h"

/* Of all partitions, or of one. False: no job of it takes part, or shares with nobody although its
 * partition lets jobs share. */
bool show_gang_text(const Pb__GangReply *gang, const char *partition, struct str *out);
/* The answer when show_gang_text() is false, without a newline. */
void show_gang_none(const Pb__GangReply *gang, const char *partition, struct str *out);
/* Whether the cluster has the partition; NULL: true. */
bool show_gang_has_partition(const Pb__GangReply *gang, const char *partition);
/* Of a suspended job, or of the job set with this leader: when its turn comes. */
void show_gang_turn(const Pb__GangReply *gang, uint32_t job, struct str *out);
json_t *show_gang_json(const Pb__GangReply *gang, const char *partition);
