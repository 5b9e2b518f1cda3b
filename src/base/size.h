/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sizes and counts in user notation: "2048", "4G", "1.5T", "512K", "10k". Memory options are in
 * MiB.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define SIZE_TEXT_MAX 24
#define SIZE_MIB_MAX (UINT64_C(1) << 44) /* 2^64 bytes: more than any node has */

/* Parses memory in MiB; a bare number is MiB; suffixes K M G T (case-insensitive, optional B);
 * fractions of a MiB are rounded up. -ERR_RANGE: above SIZE_MIB_MAX. */
int size_parse_mib(const char *text, uint64_t *mib, struct err *err);

/* Formats MiB in Slurm's short form, in the largest unit without a fraction: "4G", "1536M"; zero
   is "0". */
const char *size_format_mib(uint64_t mib, char buf[SIZE_TEXT_MAX]);

/* Parses a count with an optional suffix k, m, g, t, p (powers of 1024), as in "-N 1k". */
int size_parse_count(const char *text, uint64_t max, uint64_t *count, struct err *err);
