/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sizes and counts as people write them: "2048", "4G", "1.5T", "512K", "10k". Memory options count
 * in MiB.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define SIZE_TEXT_MAX 24
#define SIZE_MIB_MAX (UINT64_C(1) << 44) /* 2^64 bytes: no node has more */

/* Memory in MiB; a bare number is MiB; suffix K M G T (any case, optional B); fractions of a MiB
 * round up. -ERR_RANGE: above SIZE_MIB_MAX. */
int size_parse_mib(const char *text, uint64_t *mib, struct err *err);

/* Slurm's short form of MiB, in the largest unit without a fraction: "4G", "1536M"; zero is "0". */
const char *size_format_mib(uint64_t mib, char buf[SIZE_TEXT_MAX]);

/* A count with optional k, m, g, t, p suffix (powers of 1024), as in "-N 1k". */
int size_parse_count(const char *text, uint64_t max, uint64_t *count, struct err *err);
