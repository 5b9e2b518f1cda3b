/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets of jobs whose requests have the same outcome, so that a result for one job is reused for the
 * others. Of a hundred thousand jobs with a thousand different requests, a pass examines a
 * thousand.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct job;

/* Whether 'b' cannot fit where 'a' does not: the requests are equal, and 'b' runs at least as
 * long. */
bool alike_covers(const struct job *a, const struct job *b);

struct alike { /* zeroed: empty */
    VEC(struct alike_entry) list;
    uint32_t *first;  /* by hash: 1 + index in 'list' of the last entry with that hash */
    size_t room;      /* size of 'first': a power of two; 0: not allocated */
    bool by_licenses; /* requests with different licences have different outcomes */
};

struct alike_entry {
    const struct job *job;
    uint64_t hash;
    uint32_t next; /* 1 + index of the next entry; 0: none */
};

/* 'of_user': only entries of jobs of the same user match. Jobs that cover each other have equal
 * hashes; a caller that queries several sets computes the hash once. */
uint64_t alike_hash(const struct job *j, bool of_user);
bool alike_has(const struct alike *set, const struct job *j, bool of_user, uint64_t hash);
/* Adds a job. An entry that the job covers is replaced. */
void alike_add(struct alike *set, const struct job *j, bool of_user, uint64_t hash);
void alike_clear(struct alike *set);
void alike_done(struct alike *set);
