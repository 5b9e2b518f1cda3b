/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SLUIDs, Slurm's lexicographically sortable unique identifiers of jobs: "s" and 13 digits of base
 * 32 (0-9 and A-Z without I, L, O and U). Here one is the submit time in seconds, 38 bits, and the
 * job id, 26 bits. Nothing more is stored: it stays the same for the life of the job, also after a
 * requeue, sorts by submit time, and is unique as long as job ids are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLUID_LEN 14 /* bytes of its text, without the 0 */
#define SLUID_TEXT_MAX (SLUID_LEN + 1)

/* The text in buf. submit_at_sec: wall seconds, 0 to 2^38 - 1; others count as the nearest. */
const char *sluid_text(uint32_t job_id, int64_t submit_at_sec, char buf[SLUID_TEXT_MAX]);

/* The same for one use in the block it stands in. */
#define SLUID_TEXT(job_id, submit_at_sec)                                                          \
    sluid_text((job_id), (submit_at_sec), (char[SLUID_TEXT_MAX]){0})

/* Reads the SLUID that the text begins with; digits may be lower case. False: the text begins with
 * none, and the outputs are untouched. */
bool sluid_parse(const char *text, uint32_t *job_id, int64_t *submit_at_sec);
