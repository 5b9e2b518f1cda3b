/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elements of an array of job sets that wait, shown as those of an ordinary array are: a
 * line for each component, "123_[0-9]+1". The controller has a record for each component of each
 * element; records that differ in nothing but the element are one line.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/idset.h"
#include "base/vec.h"
#include "proto/job.pb-c.h"

struct fold_line {
    Pb__JobRecord *job; /* in the arena; its text of elements is made by fold_finish() */
    struct str key;     /* what the records have in common, packed */
    struct idset tasks;
};

struct fold { /* zeroed: empty, but for the arena */
    struct arena arena;
    VEC(struct fold_line) lines;
};

void fold_init(struct fold *f);
void fold_done(struct fold *f);

/* True: it is a component that waits, of an element of an array, and belongs to one of the lines.
 */
bool fold_take(struct fold *f, const Pb__JobRecord *job);
/* All records were taken: the lines are complete. */
void fold_finish(struct fold *f);
