/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SLUIDs, Slurm's lexicographically sortable unique job identifiers: "s" and 13 digits of base 32
 * (0-9 and A-Z without I, L, O and U). Here a SLUID is the submit time in seconds (38 bits) and
 * the job id (26 bits), so it need not be stored. It stays the same for the life of the job, also
 * after a requeue, sorts by submit time, and is as unique as job ids are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLUID_LEN 14 /* bytes of its text, without NUL */
#define SLUID_TEXT_MAX (SLUID_LEN + 1)

/* Writes the text to buf. submit_at_sec: wall-clock seconds, 0 to 2^38 - 1; other values are
   clamped. */
const char *sluid_text(uint32_t job_id, int64_t submit_at_sec, char buf[SLUID_TEXT_MAX]);

/* The same, in a temporary buffer of the enclosing block. */
#define SLUID_TEXT(job_id, submit_at_sec)                                                          \
    sluid_text((job_id), (submit_at_sec), (char[SLUID_TEXT_MAX]){0})

/* Parses the SLUID at the beginning of the text; letters may be lower case. False: there is none,
 * and the outputs are unchanged. */
bool sluid_parse(const char *text, uint32_t *job_id, int64_t *submit_at_sec);
