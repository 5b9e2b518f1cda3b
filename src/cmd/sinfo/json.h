/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line of sinfo as a group of "sinfo --json": nodes of one partition that are alike. */
#pragma once

#include <jansson.h>

#include "cmd/sinfo/rows.h"

json_t *json_row(const struct row *row, const char *cluster);
