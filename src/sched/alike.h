/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs whose requests meet the same answer: what was found of one need not be looked for again.
 * Of a hundred thousand jobs in a thousand shapes a thousand are looked at.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct job;

/* Where 'b' does not fit 'a' does not: an equal request, which runs no shorter. */
bool alike_covers(const struct job *a, const struct job *b);

struct alike { /* zeroed: empty */
    VEC(struct alike_entry) list;
    uint32_t *first;  /* by hash: the place in the list of the last one of that hash, and one */
    size_t room;      /* of 'first', a power of two; 0: none was made */
    bool by_licenses; /* requests of other licences have other answers */
};

struct alike_entry {
    const struct job *job;
    uint64_t hash;
    uint32_t next; /* as in 'first'; 0: none */
};

/* 'of_user': only what was found of jobs of the same user counts. The hash is equal for jobs that
 * cover each other; whoever asks several sets makes it once. */
uint64_t alike_hash(const struct job *j, bool of_user);
bool alike_has(const struct alike *set, const struct job *j, bool of_user, uint64_t hash);
/* One that is there and covered by it is not, from then on. */
void alike_add(struct alike *set, const struct job *j, bool of_user, uint64_t hash);
void alike_clear(struct alike *set);
void alike_done(struct alike *set);
