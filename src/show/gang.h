/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rotation of gang scheduling. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "proto/gang.pb-c.h"

/* Prints the rotation of all partitions, or of one. Returns false if no job of the partition takes
 * part, or no job shares although the partition allows sharing. */
bool show_gang_text(const Pb__GangReply *gang, const char *partition, struct str *out);
/* The text for the case that show_gang_text() returns false, without a newline. */
void show_gang_none(const Pb__GangReply *gang, const char *partition, struct str *out);
/* Whether the cluster has the partition; NULL: true. */
bool show_gang_has_partition(const Pb__GangReply *gang, const char *partition);
/* Prints when the suspended job, or the job set with this leader, will run again. */
void show_gang_turn(const Pb__GangReply *gang, uint32_t job, struct str *out);
json_t *show_gang_json(const Pb__GangReply *gang, const char *partition);
