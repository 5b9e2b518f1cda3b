/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reason why a job is pending, or why it has ended. The words are Slurm's; they are stored and
 * printed, and never compared. */
#pragma once

enum reason {
    REASON_NONE, /* "None" */
#define REASON(id, word) REASON_##id,
#define WAITS(id, word, rule, kinds, sentence) REASON_##id,
#include "cluster/job/reason.def"
    REASON_NEWER, /* a word of a newer version's record that this version does not know */
};

const char *reason_word(enum reason r);    /* static; NULL for REASON_NONE and REASON_NEWER */
enum reason reason_find(const char *word); /* NULL: REASON_NONE */
