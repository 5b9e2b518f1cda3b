/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pending elements of an array of job sets, shown like those of an ordinary array: one line for
 * each component, "123_[0-9]+1". The controller has a record for each component of each element;
 * records that differ only in the element become one line.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/idset.h"
#include "base/vec.h"
#include "proto/job.pb-c.h"

struct fold_line {
    Pb__JobRecord *job; /* in the arena; fold_finish() sets the text of its elements */
    struct str key;     /* the packed fields that the records have in common */
    struct idset tasks;
};

struct fold { /* all zero: empty; needs an arena */
    struct arena arena;
    VEC(struct fold_line) lines;
};

void fold_init(struct fold *f);
void fold_done(struct fold *f);

/* Returns true if the job is a pending component of an array element and was added to a line. */
bool fold_take(struct fold *f, const Pb__JobRecord *job);
/* Completes the lines after the last record. */
void fold_finish(struct fold *f);
